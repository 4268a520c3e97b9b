//! Ops that move elements and compute nothing: the op itself runs on tensors of positions, and says which element goes where.

use blocktensor::dispatch::{self, ArgKind, Value};
use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, ParamValue, StridedTensor, Tensor, TensorRef};

use super::{Call, with_capacity};
use crate::error::Result;

/// Whether the op only moves elements.
pub(crate) fn only_moves(op: &str) -> bool {
    dispatch::op(op).is_some_and(|op| op.schema().facts.movement.moves())
}

/// The op with 0 for what it puts beside its operand's elements.
fn without_value(op: &BoundOp) -> Result<BoundOp> {
    let value = |(name, value): (&'static str, &ParamValue)| {
        let value = match value {
            _ if name == "value" => Value::Float(0.0),
            value => value.into(),
        };
        (name, value)
    };
    let params: Vec<_> = op.params().map(value).collect();
    Ok(BoundOp::of(op.registered(), op.inputs(), &params)?)
}

/// Runs the op on s32 tensors: element `i` of all operands together is `i + 1`, and 0 is the value of a constant padding.
pub(super) fn run(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let args = call.op.registered().schema().args;
    let is_index = |name: &str| {
        args.iter().any(|arg| arg.name == name && (name == "index" || matches!(arg.kind, ArgKind::Plain)))
    };
    let padding = match call.param("value") {
        Some(_) => call.number("value")?,
        None => 0.0,
    };
    let mut moved = with_capacity(1)?;
    moved.push(padding);
    let mut tensors = Vec::with_capacity(call.inputs.len());
    for (name, values) in call.op.inputs().iter().zip(call.inputs) {
        let mut numbers: Vec<i32> = Vec::new();
        if is_index(name) {
            numbers.extend(values.data.iter().map(|&v| v as i32));
        } else {
            let end = moved.len() + values.data.len();
            let Ok(end) = i32::try_from(end) else { return Err(call.lacks("positions")) };
            numbers.extend(moved.len() as i32..end);
            moved.extend_from_slice(&values.data);
        }
        tensors.push(StridedTensor::from_slice(&numbers, &values.dims)?);
    }
    let refs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
    let results = without_value(call.op)?.run(&refs)?;
    let element = |&position: &i32| usize::try_from(position).ok().and_then(|i| moved.get(i)).copied();
    let result = |tensor: &Tensor| {
        let Tensor::Strided(positions) = tensor else { return Err(call.lacks("a strided result")) };
        let positions = positions.contiguous(MemoryFormat::Contiguous)?.to_vec::<i32>()?;
        let mut data = with_capacity(positions.len())?;
        data.extend(positions.iter().map(|p| element(p).unwrap_or(f64::NAN)));
        Ok(data)
    };
    results.iter().map(result).collect()
}
