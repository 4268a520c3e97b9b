//! One case: an op with its arguments, on one backend.

use std::cell::RefCell;
use std::collections::BTreeMap;

use safetensors::SafeTensors;
use serde_json::Value as Json;

use super::{Backend, ConvWeights};
use crate::error::{Complaint, Error, Result};
use crate::op::Value;
use crate::op::schema::DTypes;
use crate::registry;
use crate::tensor::any::Tensor;
use crate::tensor::strided::StridedTensor;

pub type Call = (&'static str, Vec<(&'static str, Value)>);

/// One line of the index and its tensors.
pub struct Case<'a> {
    pub name: String,
    pub op: String,
    pub params: Json,
    pub shapes: BTreeMap<String, Vec<usize>>,
    pub file: &'a SafeTensors<'a>,
    pub backend: &'a dyn Backend,
    /// The first operand that could not be moved to the backend, or not be read.
    pub failed: RefCell<Option<Error>>,
}

impl Case<'_> {
    fn or<T>(&self, made: Result<T>, otherwise: T) -> T {
        made.unwrap_or_else(|e| {
            self.failed.borrow_mut().get_or_insert(e);
            otherwise
        })
    }

    fn absent(&self, what: &str) -> Error {
        let rule = "an index and its tensors must match";
        Error::CorruptFile(Complaint::new(
            "conformance",
            self.name.clone(),
            what.to_string(),
            rule,
            "copy both again",
        ))
    }

    /// A tensor of the case, contiguous. The file has f32 alone: an operand of another dtype by its meaning, such as indices, is cast.
    pub fn plain(&self, name: &str) -> Result<StridedTensor> {
        let view = self.file.tensor(&format!("{}.{name}", self.name)).map_err(|_| self.absent(name))?;
        let data: Vec<f32> = view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let t = StridedTensor::from_slice(&data, view.shape())?;
        let args = registry::op(&self.op).map_or(&[][..], |op| op.schema().args);
        match args.iter().find(|arg| arg.name == name).map(|arg| arg.dtypes) {
            Some(DTypes::Fixed(dtypes, _)) => t.to_dtype(dtypes[0]),
            _ => Ok(t),
        }
    }

    /// A data operand.
    pub fn data(&self, name: &str) -> Value {
        Value::Tensor(self.tensor(name))
    }

    /// A data operand of a list.
    pub fn tensor(&self, name: &str) -> Tensor {
        let empty = || Tensor::Strided(StridedTensor::from_slice(&[0f32], &[1]).expect("one number"));
        let rank = |t: &StridedTensor| self.shapes.get("x").map_or(t.rank(), Vec::len);
        self.or(self.plain(name).and_then(|t| self.backend.data(&t, rank(&t))), empty())
    }

    /// The weights of a convolution.
    pub fn weights(&self) -> Value {
        let empty = Tensor::Strided(StridedTensor::from_slice(&[0f32], &[1]).expect("one number"));
        Value::Tensor(self.or(self.weights_of("w"), empty))
    }

    /// A tensor of the case as weights of its convolution.
    pub fn weights_of(&self, name: &str) -> Result<Tensor> {
        let groups = self.params["groups"].as_u64().unwrap_or(1) as usize;
        let channels = self.shapes.get("x").and_then(|d| d.get(1)).copied().unwrap_or(0);
        let transposed = self.op.starts_with("conv_transpose");
        self.plain(name).and_then(|w| self.backend.weights(&w, ConvWeights { groups, channels, transposed }))
    }

    /// A parameter: 1-D.
    pub fn param(&self, name: &str) -> Value {
        let flat = self.plain(name).and_then(|t| t.reshape(&[t.numel()]));
        let empty = StridedTensor::from_slice(&[0f32], &[1]).expect("one number");
        self.or(flat, empty).into()
    }

    /// A strided tensor, whatever the backend.
    pub fn strided(&self, name: &str) -> Value {
        let empty = StridedTensor::from_slice(&[0f32], &[1]).expect("one number");
        self.or(self.plain(name), empty).into()
    }

    /// The names of the tensors that are operands: not the results (`y...`, `new_...`), and not gradients (`d...`).
    pub fn operands(&self) -> impl Iterator<Item = &String> {
        self.shapes.keys().filter(|name| !["y", "new_", "d"].iter().any(|prefix| name.starts_with(prefix)))
    }

    pub fn has(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    fn number<T>(&self, name: &str, read: impl Fn(&Json) -> Option<T>, otherwise: T) -> T {
        self.or(read(&self.params[name]).ok_or_else(|| self.absent(name)), otherwise)
    }

    pub fn ints(&self, name: &str) -> Value {
        let list = |v: &Json| match v {
            Json::Array(list) => list.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>(),
            one => one.as_i64().map(|v| vec![v]),
        };
        Value::Ints(self.number(name, list, Vec::new()))
    }

    pub fn int(&self, name: &str) -> Value {
        Value::Int(self.number(name, Json::as_i64, 0))
    }

    /// JSON has no NaN and no infinities: those are strings.
    pub fn float(&self, name: &str) -> Value {
        let read = |v: &Json| v.as_f64().or_else(|| v.as_str()?.parse().ok());
        Value::Float(self.number(name, read, 0.0))
    }

    pub fn flag(&self, name: &str) -> Value {
        Value::Bool(self.number(name, Json::as_bool, false))
    }

    pub fn word(&self, name: &str) -> Value {
        Value::Str(self.number(name, |v| v.as_str().map(str::to_string), String::new()))
    }
}
