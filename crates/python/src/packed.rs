//! Packed weights: reordered once for the kernel that runs them.

use std::collections::BTreeMap;

use blocktensor::dispatch;
use blocktensor::{
    Layout, Operand, Operator, PackedLinear, PackedOp, Source, StridedTensor, Tensor, TensorRef, counted,
};
use blocktensor_door::{Norm, Request};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::call::value;
use crate::errors::{Outcome, invalid, on_threads, released};
use crate::exchange;
use crate::name::{self, Mapped, Name};
use crate::number::{self, Number};
use crate::tensor::PyTensor;

/// Weights that were packed for one kind of source: call it on a tensor.
#[pyclass(frozen, name = "PackedWeights", module = "blocktensor")]
pub(crate) struct PyPacked {
    operator: PackedOp,
    threads: Option<usize>,
    text: String,
}

#[pymethods]
impl PyPacked {
    /// Runs on `x`, the residual of a `residual` post-op, and a vector for each post-op that takes one of channels (`mul_channel`).
    #[pyo3(signature = (x, residual = None, channel = None))]
    fn __call__(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        residual: Option<&Bound<'_, PyAny>>,
        channel: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        let op = self.operator.op();
        let tensors = self.operands(x, residual, channel).map_err(|e| e.raise(py))?;
        released(py, op, || {
            let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
            let mut results = on_threads(op, self.threads, || Ok(self.operator.run(&inputs)?))?;
            Ok(PyTensor(results.remove(0)))
        })
    }

    /// The op that it runs.
    #[getter]
    fn op(&self) -> &'static str {
        self.operator.op()
    }

    fn __repr__(&self) -> String {
        self.text.clone()
    }
}

impl PyPacked {
    /// The operands of a call, in the operator's order: one tensor for each of its names, several for `channel`.
    fn operands(
        &self,
        x: &Bound<'_, PyAny>,
        residual: Option<&Bound<'_, PyAny>>,
        channel: Option<&Bound<'_, PyAny>>,
    ) -> Outcome<Vec<Tensor>> {
        let (op, names) = (self.operator.op(), self.operator.inputs());
        let vectors = match channel {
            Some(list) if list.is_instance_of::<PyList>() || list.is_instance_of::<PyTuple>() => {
                list.try_iter()?.collect::<PyResult<Vec<_>>>()?
            }
            one => one.into_iter().cloned().collect(),
        };
        let given = [
            ("x", vec![x.clone()]),
            ("residual", residual.into_iter().cloned().collect()),
            ("channel", vectors),
        ];
        let mut tensors = Vec::with_capacity(names.len());
        for (name, list) in given {
            let wanted = names.iter().filter(|of| **of == name).count();
            if list.len() != wanted {
                let got = counted(list.len(), "tensor");
                let rule = format!("these packed weights take {}", names.join(", "));
                return Err(invalid(op, name, got, rule, &format!("pass {}", counted(wanted, "tensor"))));
            }
            for tensor in list {
                tensors.push(exchange::import(&tensor, op, name)?);
            }
        }
        Ok(tensors)
    }
}

fn packed(operator: PackedOp, threads: Option<usize>) -> PyPacked {
    let text = format!("PackedWeights({operator:?})");
    PyPacked { operator, threads, text }
}

fn strided(op: &'static str, argument: &'static str, x: &Bound<'_, PyAny>) -> Outcome<StridedTensor> {
    PyTensor(exchange::import(x, op, argument)?).strided(op).cloned()
}

/// The batch norm that a dictionary describes: `mean`, `var`, `weight`, `bias`, `eps`.
fn norm(py: Python<'_>, op: &'static str, norm: Mapped) -> Outcome<Norm> {
    let known = ["mean", "var", "weight", "bias", "eps"];
    let norm: BTreeMap<String, Bound<'_, PyAny>> =
        norm.of(py, op, "batch_norm", "tensors and `eps`")?.into_iter().collect();
    for name in norm.keys() {
        if !known.contains(&name.as_str()) {
            let rule = format!("a batch norm has {}", known.join(", "));
            return Err(invalid(op, "batch_norm", format!("`{name}`"), rule, "leave it out"));
        }
    }
    let vector = |name: &'static str| match norm.get(name) {
        Some(x) if !x.is_none() => strided(op, name, x).map(Some),
        _ => Ok(None),
    };
    let (Some(mean), Some(var)) = (vector("mean")?, vector("var")?) else {
        let (got, rule) = ("a part of one".to_string(), "a batch norm has a mean and a variance".to_string());
        return Err(invalid(op, "batch_norm", got, rule, "pass `mean` and `var`"));
    };
    let eps = match norm.get("eps") {
        Some(eps) => eps.extract::<Number<f64>>()?.of(op, "eps")?,
        None => Norm::EPS,
    };
    Ok(Norm { mean, var, weight: vector("weight")?, bias: vector("bias")?, eps })
}

/// What a convolution of this kind, `conv` or `conv_transpose`, is packed of and for, and its op.
#[allow(clippy::too_many_arguments)]
fn request(
    op: &'static str,
    kind: &str,
    weights: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    like: &Bound<'_, PyAny>,
    batch_norm: Option<Mapped>,
    threads: Option<usize>,
    params: Option<&Bound<'_, PyDict>>,
) -> Outcome<(Request<'static>, String)> {
    let source = Source::of(&exchange::import(like, op, "like")?)?;
    let source = match threads {
        Some(threads) => source.threads(threads),
        None => source,
    };
    let conv = Request::op(op, kind, source.dims().len())?;
    let specs = dispatch::op(&conv).map_or(&[][..], |op| op.schema().args);
    let mut given = Vec::new();
    for (name, x) in params.into_iter().flat_map(|p| p.iter()) {
        let name = name.extract::<Name>()?.of(op, "params")?;
        let Some(spec) = specs.iter().find(|s| s.name == name && !s.kind.is_tensor()) else {
            let rule = "a convolution has no such parameter".to_string();
            return Err(invalid(op, "params", format!("`{name}`"), rule, "see `blocktensor.ops.conv2d`"));
        };
        given.push((spec.name, value(op, spec, &x)?));
    }
    let request = Request {
        weights: strided(op, "weights", weights)?,
        bias: bias.map(|b| strided(op, "bias", b)).transpose()?,
        norm: batch_norm.map(|n| norm(like.py(), op, n)).transpose()?,
        params: given,
        source,
    };
    Ok((request, conv))
}

/// Packs the weights of a convolution, [O, C / groups, k...], for sources like `like`, of any batch. `params` are the op's:
/// `stride`, `padding`, `dilation`, `groups`, `post_ops`, `allow_reference`. `batch_norm` is folded into weights and bias.
#[pyfunction]
#[pyo3(signature = (weights, bias = None, *, like, batch_norm = None, threads = None, **params))]
pub(crate) fn pack_conv(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    like: &Bound<'_, PyAny>,
    batch_norm: Option<Mapped>,
    threads: Option<Number<usize>>,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyPacked> {
    let op = "pack_conv";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    let (request, conv) =
        request(op, "conv", weights, bias, like, batch_norm, threads, params).map_err(|e| e.raise(py))?;
    released(py, op, || {
        let operator = on_threads(op, threads, || Ok(request.packer(&conv)?.pack_for(&request.source)?))?;
        Ok(packed(operator.into(), threads))
    })
}

/// As `pack_conv`, for a transposed convolution: weights [C, O / groups, k...]. It has `output_padding` too.
#[pyfunction]
#[pyo3(signature = (weights, bias = None, *, like, batch_norm = None, threads = None, **params))]
pub(crate) fn pack_conv_transpose(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    like: &Bound<'_, PyAny>,
    batch_norm: Option<Mapped>,
    threads: Option<Number<usize>>,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyPacked> {
    let op = "pack_conv_transpose";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    let (request, conv) = request(op, "conv_transpose", weights, bias, like, batch_norm, threads, params)
        .map_err(|e| e.raise(py))?;
    released(py, op, || {
        let operator = on_threads(op, threads, || Ok(request.packer(&conv)?.pack_for(&request.source)?))?;
        Ok(packed(operator.into(), threads))
    })
}

/// As `pack_conv`, for a network's stem: a row-major source of fewer channels than a block, and a blocked result.
#[pyfunction]
#[pyo3(signature = (weights, bias = None, *, like, layout = None, batch_norm = None, threads = None, **params))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn pack_stem(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    like: &Bound<'_, PyAny>,
    layout: Option<Name>,
    batch_norm: Option<Mapped>,
    threads: Option<Number<usize>>,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyPacked> {
    let op = "pack_stem";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    let (request, conv) =
        request(op, "conv", weights, bias, like, batch_norm, threads, params).map_err(|e| e.raise(py))?;
    released(py, op, || {
        let layout: Layout = match name::maybe(op, "layout", layout)? {
            Some(name) => name.parse()?,
            None => Layout::native_activation(request.source.dims().len())?,
        };
        let operator =
            on_threads(op, threads, || Ok(request.packer(&conv)?.pack_stem(&request.source, &layout)?))?;
        Ok(packed(operator.into(), threads))
    })
}

/// Packs the weights of a linear layer, [O, K], for inputs of `rows` rows.
#[pyfunction]
#[pyo3(signature = (weights, bias = None, *, rows = 1.into(), threads = None))]
pub(crate) fn pack_linear(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    rows: Number<usize>,
    threads: Option<Number<usize>>,
) -> PyResult<PyPacked> {
    let op = "pack_linear";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    let rows = rows.of(op, "rows").map_err(|e| e.raise(py))?;
    let weights = strided(op, "weights", weights).map_err(|e| e.raise(py))?;
    let bias = bias.map(|b| strided(op, "bias", b)).transpose().map_err(|e| e.raise(py))?;
    released(py, op, || {
        let operator = on_threads(op, threads, || Ok(PackedLinear::new(&weights, bias.as_ref(), rows)?))?;
        Ok(packed(operator.into(), threads))
    })
}
