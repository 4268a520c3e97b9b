//! A call by name against the same op as an operator: what it says before a run, and what it writes into given tensors.

use crate::arena::Arena;
use crate::buffer::ALIGN;
use crate::dispatch::{self, DispatchKey, Value};
use crate::error::{Error, Result};
use crate::layout::memory_format::MemoryFormat;
use crate::ledger;
use crate::operator::{BoundOp, Operator};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::desc::TensorDesc;

/// Calls an op by name, asks it as an [`Operator`] what comes out and how much scratchpad it needs, runs it into tensors of an
/// [`Arena`] that hold NaN, and compares: descriptions, scratchpad and bits. What differs is the answer; nothing where all is
/// the same. Results of another crate's backend are compared by their descriptions alone.
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
    let said = bound.infer(&descs)?;
    let are: Vec<TensorDesc> = results.iter().map(|t| TensorDesc::of(t.tensor_ref())).collect();
    if said != are {
        return Ok(Some(format!("infer said {said:?}, and {are:?} came")));
    }
    let wanted = bound.scratchpad_bytes(&descs)?;
    if wanted != scratchpad_bytes {
        return Ok(Some(format!("{wanted} bytes of scratchpad were said, and {scratchpad_bytes} were used")));
    }
    if results.iter().any(|t| matches!(t, Tensor::Opaque(_))) {
        return Ok(None);
    }
    // A view may use an element twice, which nobody can write.
    let places: Vec<TensorDesc> = are
        .iter()
        .map(|desc| match desc.strides() {
            Some(strides) if crate::layout::overlap::has_own_memory(desc.dims(), strides) => Ok(desc.clone()),
            Some(_) => TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous),
            None => Ok(desc.clone()),
        })
        .collect::<Result<_>>()?;
    let mut outputs = dirty(&places)?;
    let into = outputs.iter_mut().map(Operand::tensor_mut).collect();
    let mut scratchpad = Scratchpad::with_bytes(wanted)?;
    let (done, book) = ledger::record(|| bound.run_into(&inputs, into, &mut scratchpad));
    done?;
    if scratchpad.bytes() > wanted.max(ALIGN) {
        return Ok(Some(format!("the scratchpad grew from {wanted} to {} bytes", scratchpad.bytes())));
    }
    if let Some(moved) = book.reorders.iter().find(|r| r.cause == ledger::Cause::Call) {
        return Ok(Some(format!("a run into given tensors moved data: {moved:?}")));
    }
    for (i, (got, want)) in outputs.iter().zip(results).enumerate() {
        if bits(got)? != bits(want)? {
            return Ok(Some(format!("result {i} differs where it is written into a given tensor")));
        }
    }
    Ok(None)
}

/// Tensors of these descriptions, one after the other in an arena whose bytes are those of NaN.
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

/// Every byte of a result; of a strided one in logical order.
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
