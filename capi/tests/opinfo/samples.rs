//! The stored samples: `tests/data/opinfo` (README.md there).

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::Value as Json;

/// Elements with sizes. If they have strides, the data reach over all elements that the strides do.
pub struct Array {
    pub dims: Vec<i64>,
    pub strides: Option<Vec<i64>>,
    /// The number of a `bt_dtype`.
    pub dtype: i32,
    /// Aligned for every type.
    data: Vec<u64>,
    pub bytes: usize,
}

impl Array {
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: as many bytes as were copied into it.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.bytes) }
    }
}

pub enum Operand {
    One(Array),
    List(Vec<Array>),
}

pub enum Param {
    Int(i64),
    Ints(Vec<i64>),
    Float(f64),
    Bool(bool),
    Word(String),
}

pub struct Sample {
    pub name: String,
    pub op: String,
    /// `opinfo`, `own` or `refused`.
    pub origin: String,
    pub operands: Vec<(String, Operand)>,
    pub params: Vec<(String, Param)>,
    /// PyTorch's answers; none for a result that PyTorch leaves open. Empty if PyTorch refuses.
    pub results: Vec<Option<Array>>,
}

impl Sample {
    pub fn int(&self, name: &str) -> Option<i64> {
        self.params.iter().find(|(n, _)| n == name).and_then(|(_, p)| match p {
            Param::Int(v) => Some(*v),
            _ => None,
        })
    }

    pub fn is_refused(&self) -> bool {
        self.origin == "refused"
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/opinfo")
}

/// The bytes that the folder's files have.
pub fn stored_bytes() -> u64 {
    std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

pub fn samples() -> Vec<Sample> {
    let bytes = std::fs::read(folder().join("samples.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let index = std::fs::read_to_string(folder().join("index.jsonl")).unwrap();
    index.lines().map(|line| sample(&serde_json::from_str(line).unwrap(), &tensors)).collect()
}

fn integers(list: &Json) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

fn array(key: &str, dims: &Json, strides: Option<&Json>, tensors: &SafeTensors<'_>) -> Array {
    let view = tensors.tensor(key).unwrap_or_else(|e| panic!("{key}: {e}"));
    let dtype = match view.dtype() {
        Dtype::F32 => 0,
        Dtype::U8 => 3,
        Dtype::I32 => 5,
        other => panic!("{key}: {other:?}"),
    };
    let mut data = vec![0u64; view.data().len().div_ceil(8)];
    // SAFETY: room for these bytes.
    unsafe {
        data.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(view.data().as_ptr(), view.data().len());
    }
    Array { dims: integers(dims), strides: strides.map(integers), dtype, data, bytes: view.data().len() }
}

fn param(value: &Json) -> Param {
    match value {
        Json::Bool(v) => Param::Bool(*v),
        Json::String(v) => Param::Word(v.clone()),
        Json::Array(_) => Param::Ints(integers(value)),
        Json::Object(o) => Param::Float(o["number"].as_str().unwrap().parse().unwrap()),
        Json::Number(n) => n.as_i64().map_or_else(|| Param::Float(n.as_f64().unwrap()), Param::Int),
        Json::Null => panic!("a parameter without a value"),
    }
}

fn sample(line: &Json, tensors: &SafeTensors<'_>) -> Sample {
    let text = |name: &str| line[name].as_str().unwrap().to_string();
    let id = text("sample");
    let one = |key: String, of: &Json| array(&key, &of["dims"], of.get("strides"), tensors);
    let operands = line["tensors"].as_object().unwrap().iter().map(|(name, value)| {
        let operand = match value.as_array() {
            Some(list) => Operand::List(
                list.iter().enumerate().map(|(i, of)| one(format!("{id}.{name}.{i}"), of)).collect(),
            ),
            None => Operand::One(one(format!("{id}.{name}"), value)),
        };
        (name.clone(), operand)
    });
    let none = Vec::new();
    let results = line.get("results").map_or(&none, |r| r.as_array().unwrap());
    let answer = |(i, dims): (usize, &Json)| {
        (!dims.is_null()).then(|| array(&format!("{id}.result.{i}"), dims, None, tensors))
    };
    Sample {
        op: text("op"),
        origin: text("origin"),
        operands: operands.collect(),
        params: line["params"].as_object().unwrap().iter().map(|(n, v)| (n.clone(), param(v))).collect(),
        results: results.iter().enumerate().map(answer).collect(),
        name: id,
    }
}
