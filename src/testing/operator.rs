//! Compares a call by name with the same op as an operator: its answers before a run, and its results in given tensors.

use crate::arena::Arena;
use crate::buffer::ALIGN;
use crate::dispatch::schema::OutputDType;
use crate::dispatch::{self, DispatchKey, Op, Value};
use crate::error::{Error, Result};
use crate::layout::memory_format::MemoryFormat;
use crate::ledger;
use crate::op::Arg;
use crate::operator::{BoundOp, Operator};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::desc::TensorDesc;

/// Calls an op by name. Then asks the same op, as an [`Operator`], for the descriptors of its results and its scratchpad, and
/// runs it into tensors of an [`Arena`] that hold NaN. Compares descriptors, scratchpad and bits, and the results with the
/// outputs that the schema states. Returns the first
/// difference, or `None` if there is none. For another crate's backend only the descriptors of results are compared.
///
/// # Errors
/// What the call by name returns.
pub fn check_operator(op: &str, values: &[(&str, Value)]) -> Result<Option<String>> {
    let (results, book) = ledger::record(|| dispatch::call(op, values));
    let results = results?;
    let scratchpad_bytes = book.runs.iter().map(|r| r.scratchpad_bytes).max().unwrap_or(0);
    Ok(compare(op, values, &results, scratchpad_bytes)
        .unwrap_or_else(|e| Some(format!("as an operator: {e}"))))
}

fn compare(
    op: &str,
    values: &[(&str, Value)],
    results: &[Tensor],
    scratchpad_bytes: usize,
) -> Result<Option<String>> {
    let (bound, tensors) = BoundOp::of_call(op, values)?;
    let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
    let descs: Vec<TensorDesc> = inputs.iter().map(|&t| TensorDesc::of(t)).collect();
    let inferred = bound.infer(&descs)?;
    let actual: Vec<TensorDesc> = results.iter().map(|t| TensorDesc::of(t.tensor_ref())).collect();
    if inferred != actual {
        return Ok(Some(format!("infer returned {inferred:?}, and the call {actual:?}")));
    }
    if let Some(wrong) = compare_outputs(bound.registered(), values, results) {
        return Ok(Some(wrong));
    }
    let wanted = bound.scratchpad_bytes(&descs)?;
    if wanted != scratchpad_bytes {
        return Ok(Some(format!(
            "{wanted} bytes of scratchpad were announced, and {scratchpad_bytes} were used"
        )));
    }
    if results.iter().any(|t| matches!(t, Tensor::Opaque(_))) {
        return Ok(None);
    }
    // A view may contain an element twice, so it cannot be written to.
    let output_descs: Vec<TensorDesc> = actual
        .iter()
        .map(|desc| match desc.strides() {
            Some(strides) if crate::layout::overlap::has_own_memory(desc.dims(), strides) => Ok(desc.clone()),
            Some(_) => TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous),
            None => Ok(desc.clone()),
        })
        .collect::<Result<_>>()?;
    let mut outputs = dirty(&output_descs)?;
    let into = outputs.iter_mut().map(Operand::tensor_mut).collect();
    let mut scratchpad = Scratchpad::with_bytes(wanted)?;
    let (done, book) = ledger::record(|| bound.run_into(&inputs, into, &mut scratchpad));
    done?;
    if scratchpad.bytes() > wanted.max(ALIGN) {
        return Ok(Some(format!("the scratchpad grew from {wanted} to {} bytes", scratchpad.bytes())));
    }
    if let Some(moved) = book.reorders.iter().find(|r| r.cause == ledger::Cause::Call) {
        return Ok(Some(format!("a run into given tensors reordered data: {moved:?}")));
    }
    for (i, (got, want)) in outputs.iter().zip(results).enumerate() {
        if bits(got)? != bits(want)? {
            return Ok(Some(format!("result {i} differs when it is written into a given tensor")));
        }
    }
    Ok(None)
}

/// Compares results with the number and the dtypes that the schema or a kernel states; returns the first difference.
fn compare_outputs(op: &Op, values: &[(&str, Value)], results: &[Tensor]) -> Option<String> {
    let schema = op.schema();
    let stated = schema.outputs;
    let is_list = matches!(stated, [one] if one.is_list);
    if stated.is_empty() || !is_list && stated.len() != results.len() {
        let count = results.len();
        return (!stated.is_empty()).then(|| format!("{count} results of `{schema}`"));
    }
    let dtype_of = |name: &str| match values.iter().find(|(given, _)| *given == name) {
        Some((_, Value::Tensor(t))) => Some(t.tensor_ref().dtype()),
        Some((_, Value::Tensors(list))) => list.first().map(|t| t.tensor_ref().dtype()),
        _ => None,
    };
    results.iter().enumerate().find_map(|(i, result)| {
        let output = if is_list { &stated[0] } else { &stated[i] };
        let wanted = match output.dtype {
            OutputDType::Like(name) => dtype_of(name),
            OutputDType::Fixed(dtype) => Some(dtype),
            OutputDType::Stated(param) => {
                let given = values.iter().find(|(given, _)| *given == param);
                let default = schema.args.iter().find(|arg| arg.name == param).map(|arg| arg.kind.default());
                match (given, default) {
                    (Some((_, Value::Str(name))), _) => name.parse().ok(),
                    (None, Some(Arg::Str(name))) => name.parse().ok(),
                    _ => None,
                }
            }
        };
        let got = result.tensor_ref().dtype();
        let by_kernel = || {
            op.implementations().any(|(_, k)| k.dtypes.iter().any(|tuple| tuple.results.get(i) == Some(&got)))
        };
        (wanted != Some(got) && !by_kernel()).then(|| format!("result {i} of `{schema}` is {got}"))
    })
}

/// Tensors with these descriptors, side by side in an arena whose bytes are those of NaN.
fn dirty(descs: &[TensorDesc]) -> Result<Vec<Tensor>> {
    let mut places = Vec::new();
    let mut end = 0usize;
    for desc in descs {
        places.push(end);
        end += desc.bytes()?.next_multiple_of(ALIGN);
    }
    let arena = Arena::new(end)?;
    let whole = TensorDesc::strided(&[end], crate::DType::U8, MemoryFormat::Contiguous)?;
    if let Tensor::Strided(mut all) = arena.tensor(0, &whole)? {
        all.result_bytes().fill(0xff);
    }
    descs.iter().zip(places).map(|(desc, offset)| arena.tensor(offset, desc)).collect()
}

/// Every byte of a result; for a strided result, of its elements in logical order.
fn bits(t: &Tensor) -> Result<Vec<u8>> {
    match t {
        Tensor::Strided(t) => Ok(t.contiguous(MemoryFormat::Contiguous)?.bytes().to_vec()),
        Tensor::Blocked(t) => Ok(t.storage_bytes().to_vec()),
        Tensor::Opaque(t) => Err(Error::KeyMismatch(crate::Complaint::new(
            "check_operator",
            "result",
            format!("{t:?}"),
            format!("only key `{}` knows its bytes", DispatchKey::name(t.key())),
            "compare it there",
        ))),
    }
}
