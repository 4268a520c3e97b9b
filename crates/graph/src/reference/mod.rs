//! Ops in f64, written from their definitions: what [`Plan::errors`](crate::Plan::errors) compares with.
//!
//! Values are row-major lists of f64, whatever the layout of the tensor was. Only ops that move elements use the library's
//! kernels, on tensors of positions ([`movement`]); all arithmetic is here. Sizes of results are known: `infer` gives them.
//!
//! Numbers among an op's parameters are rounded to f32 first, as the op itself does, except for the `eps` of norms.

mod binary;
mod conv;
mod functions;
mod linear;
mod movement;
mod norm;
mod order;
mod pool;
mod post_ops;
mod reduce;
mod resample;
mod softmax;
mod unary;

#[cfg(test)]
pub(crate) mod goldens;
#[cfg(test)]
mod gradients;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::{
    BoundOp, DType, MemoryFormat, Operand, Operator, ParamValue, Tensor, TensorDesc, TensorRef, memory,
};

use crate::error::{Error, Result};

pub(crate) use movement::only_moves;

/// A tensor in f64, row-major. Integers and Booleans are numbers too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values {
    pub(crate) dims: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

impl Values {
    /// The elements of a tensor in any layout.
    pub(crate) fn of(tensor: TensorRef<'_>) -> Result<Values> {
        let reordered;
        let strided = match tensor {
            TensorRef::Strided(x) => x,
            TensorRef::Blocked(x) => {
                reordered = x.to_strided(MemoryFormat::Contiguous)?;
                &reordered
            }
            TensorRef::Opaque(_) => {
                let plain = TensorDesc::strided(tensor.dims(), tensor.dtype(), MemoryFormat::Contiguous)?;
                match tensor.to_tensor().reorder(&plain)? {
                    Tensor::Strided(x) => {
                        reordered = x;
                        &reordered
                    }
                    other => return Err(unexpected(&other.tensor_ref().describe())),
                }
            }
        };
        let mut data = with_capacity(strided.numel())?;
        match strided.dtype() {
            DType::F32 => data.extend(strided.to_vec::<f32>()?.into_iter().map(f64::from)),
            DType::BF16 => {
                data.extend(strided.to_dtype(DType::F32)?.to_vec::<f32>()?.into_iter().map(f64::from))
            }
            DType::S32 => data.extend(strided.to_vec::<i32>()?.into_iter().map(f64::from)),
            DType::U8 => data.extend(strided.to_vec::<u8>()?.into_iter().map(f64::from)),
            DType::S8 => data.extend(strided.to_vec::<i8>()?.into_iter().map(f64::from)),
            other => return Err(unexpected(&format!("{other} elements"))),
        }
        Ok(Values { dims: strided.dims().to_vec(), data })
    }
}

/// Tensors of a plan are f32, bf16, s32, u8 or s8, and every backend's reorders lead to strided tensors.
fn unexpected(got: &str) -> Error {
    Error::Invalid {
        what: "a tensor of the plan".to_string(),
        got: got.to_string(),
        rule:
            "errors are computed of f32, bf16, s32, u8 and s8 tensors that can be reordered to strided ones"
                .into(),
        remedy: "leave this node out of the graph's outputs".into(),
    }
}

const CALL: &str = "the f64 version of a node";

/// An empty list with room for `count` numbers.
fn with_capacity(count: usize) -> Result<Vec<f64>> {
    Ok(memory::try_with_capacity(CALL, count)?)
}

/// A list of values.
fn collect<T>(values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    Ok(memory::try_collect(CALL, values)?)
}

/// `count` times the same number.
fn filled(count: usize, value: f64) -> Result<Vec<f64>> {
    let mut list = with_capacity(count)?;
    list.resize(count, value);
    Ok(list)
}

/// Fills `data` part by part, on all threads. Parts have `size` elements, and the last may have fewer.
fn in_parts(data: &mut [f64], size: usize, fill: impl Fn(usize, &mut [f64]) + Sync) {
    /// More tasks would share the threads no better.
    const MOST_TASKS: usize = 1024;
    let size = size.max(1);
    let together = data.len().div_ceil(size).div_ceil(MOST_TASKS).max(1);
    let tasks: Vec<Mutex<&mut [f64]>> = data.chunks_mut(together * size).map(Mutex::new).collect();
    blocktensor::parallel_for(tasks.len(), |task| {
        let mut data = tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        data.chunks_mut(size).enumerate().for_each(|(i, part)| fill(task * together + i, part));
    });
}

/// Parts that are long enough for a thread.
const PART: usize = 1 << 14;

/// Element `i` of the result is `f(i)`.
fn each(count: usize, f: impl Fn(usize) -> f64 + Sync) -> Result<Vec<f64>> {
    let mut data = filled(count, 0.0)?;
    in_parts(&mut data, PART, |part, to| {
        to.iter_mut().enumerate().for_each(|(i, v)| *v = f(part * PART + i));
    });
    Ok(data)
}

/// A call of an op.
struct Call<'a> {
    op: &'a BoundOp,
    inputs: &'a [Arc<Values>],
    /// Sizes of the results.
    outputs: &'a [&'a [usize]],
}

impl<'a> Call<'a> {
    /// All inputs of this name.
    fn all(&self, name: &str) -> Vec<&'a Values> {
        let named = self.op.inputs().iter().zip(self.inputs).filter(|(n, _)| **n == name);
        named.map(|(_, values)| &**values).collect()
    }

    fn optional(&self, name: &str) -> Option<&'a Values> {
        self.all(name).first().copied()
    }

    fn input(&self, name: &str) -> Result<&'a Values> {
        self.optional(name).ok_or_else(|| self.lacks(name))
    }

    /// The sizes of the only result.
    fn result(&self) -> &'a [usize] {
        self.outputs.first().copied().unwrap_or_default()
    }

    fn param(&self, name: &str) -> Option<&'a ParamValue> {
        self.op.params().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// A number that the op takes as it is.
    fn double(&self, name: &str) -> Result<f64> {
        match self.param(name) {
            Some(ParamValue::Float(v)) => Ok(*v),
            Some(ParamValue::Int(v)) => Ok(*v as f64),
            _ => Err(self.lacks(name)),
        }
    }

    /// A number that the op rounds to f32.
    fn number(&self, name: &str) -> Result<f64> {
        Ok(f64::from(self.double(name)? as f32))
    }

    fn count(&self, name: &str) -> Result<usize> {
        match self.param(name) {
            Some(ParamValue::Int(v)) => usize::try_from(*v).map_err(|_| self.lacks(name)),
            _ => Err(self.lacks(name)),
        }
    }

    fn counts(&self, name: &str) -> Result<Vec<usize>> {
        match self.param(name) {
            Some(ParamValue::Ints(list)) => {
                list.iter().map(|&v| usize::try_from(v).map_err(|_| self.lacks(name))).collect()
            }
            Some(ParamValue::Int(_)) => Ok(vec![self.count(name)?]),
            _ => Err(self.lacks(name)),
        }
    }

    fn flag(&self, name: &str) -> Result<bool> {
        match self.param(name) {
            Some(ParamValue::Bool(v)) => Ok(*v),
            _ => Err(self.lacks(name)),
        }
    }

    fn word(&self, name: &str) -> Result<&'a str> {
        match self.param(name) {
            Some(ParamValue::Str(v)) => Ok(v),
            _ => Err(self.lacks(name)),
        }
    }

    /// One number for each spatial axis, with those of axes that are missing before them.
    fn spatial(&self, name: &str, rank: usize, missing: usize) -> Result<[usize; 3]> {
        let list = self.counts(name)?;
        self.each_axis(name, &list, rank, missing)
    }

    /// The numbers before and after each axis: one list for both, or all before all.
    fn sides(&self, name: &str, rank: usize) -> Result<[[usize; 3]; 2]> {
        let list = self.counts(name)?;
        let (before, after) = match list.len() {
            n if n == 2 * rank && n > 1 => list.split_at(rank),
            _ => (&list[..], &list[..]),
        };
        Ok([self.each_axis(name, before, rank, 0)?, self.each_axis(name, after, rank, 0)?])
    }

    fn each_axis(&self, name: &str, list: &[usize], rank: usize, missing: usize) -> Result<[usize; 3]> {
        let mut all = [missing; 3];
        let axes = all.len().checked_sub(rank).and_then(|first| all.get_mut(first..));
        match (axes, list) {
            (Some(axes), [one]) => axes.fill(*one),
            (Some(axes), _) if axes.len() == list.len() => axes.copy_from_slice(list),
            _ => return Err(self.lacks(name)),
        }
        Ok(all)
    }

    /// The integers of an operand less their zero point, which is this parameter.
    fn centred(&self, x: &'a Values, zero_point: &str) -> Result<Cow<'a, [f64]>> {
        Ok(match self.number(zero_point)? {
            0.0 => Cow::Borrowed(&x.data),
            zero_point => Cow::Owned(each(x.data.len(), |i| x.data[i] - zero_point)?),
        })
    }

    fn lacks(&self, name: &str) -> Error {
        Error::Invalid {
            what: format!("the f64 version of `{}`", self.op.registered().schema().name),
            got: format!("no `{name}` that it can read in {}", self.op),
            rule: "it reads every argument of the op".into(),
            remedy: "report this".into(),
        }
    }
}

/// The f64 version of an op: its results, row-major.
type Evaluate = fn(&Call<'_>) -> Result<Vec<Vec<f64>>>;

/// The f64 versions by the name of the op, a file for each family.
const FAMILIES: [fn(&str) -> Option<Evaluate>; 10] = [
    binary::evaluator,
    conv::evaluator,
    linear::evaluator,
    norm::evaluator,
    order::evaluator,
    pool::evaluator,
    reduce::evaluator,
    resample::evaluator,
    softmax::evaluator,
    unary::evaluator,
];

fn evaluator(op: &BoundOp) -> Option<Evaluate> {
    let name = op.registered().schema().name;
    let computed = FAMILIES.iter().find_map(|family| family(name)).filter(|_| !resample::is_left_out(op));
    // Those that take s32 may be run on positions.
    computed.or_else(|| only_moves(name).then_some(movement::run as Evaluate))
}

/// Whether the op has an f64 version.
pub(crate) fn has(op: &BoundOp) -> bool {
    evaluator(op).is_some()
}

/// The results of an op in f64. `outputs` are their sizes. `None` for an op without an f64 version.
pub(crate) fn evaluate(
    op: &BoundOp,
    inputs: &[Arc<Values>],
    outputs: &[&[usize]],
) -> Result<Option<Vec<Values>>> {
    let Some(evaluate) = evaluator(op) else { return Ok(None) };
    let call = Call { op, inputs, outputs };
    let results = evaluate(&call)?;
    let fits = |(data, dims): (&Vec<f64>, &&[usize])| data.len() == dims.iter().product::<usize>();
    if results.len() != outputs.len() || !results.iter().zip(outputs).all(fits) {
        return Err(call.lacks("results"));
    }
    let values = results.into_iter().zip(outputs).map(|(data, dims)| Values { dims: dims.to_vec(), data });
    Ok(Some(values.collect()))
}

/// The sizes before an axis, of it, and after it, as products.
fn around(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    let after = dims.get(axis + 1..).unwrap_or_default();
    (dims.iter().take(axis).product(), dims.get(axis).copied().unwrap_or(1), after.iter().product())
}

/// The sizes of an image as N, C, D, H, W; sizes that it does not have are 1.
fn image(dims: &[usize]) -> [usize; 5] {
    let spatial = dims.get(2..).unwrap_or_default();
    let mut all = [1; 5];
    all.iter_mut().zip(dims.iter().take(2)).for_each(|(to, &d)| *to = d);
    all.iter_mut().rev().zip(spatial.iter().rev()).for_each(|(to, &d)| *to = d);
    all
}
