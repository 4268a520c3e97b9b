//! `ParamValue`: an argument that is not a tensor, for printing, comparing and files.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::op::args::{Arg, Value};

/// A parameter of an op: an argument that is not a tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    #[serde(with = "json_float")]
    Float(f64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A string.
    Str(String),
}

/// A parameter as a call by name takes it.
impl From<&ParamValue> for Value {
    fn from(value: &ParamValue) -> Value {
        match value {
            ParamValue::Bool(v) => Value::Bool(*v),
            ParamValue::Int(v) => Value::Int(*v),
            ParamValue::Float(v) => Value::Float(*v),
            ParamValue::Ints(v) => Value::Ints(v.clone()),
            ParamValue::Str(v) => Value::Str(v.clone()),
        }
    }
}

impl ParamValue {
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            ParamValue::Bool(v) => Arg::Bool(*v),
            ParamValue::Int(v) => Arg::Int(*v),
            ParamValue::Float(v) => Arg::Float(*v),
            ParamValue::Ints(v) => Arg::Ints(v),
            ParamValue::Str(v) => Arg::Str(v),
        }
    }

    /// That of a value that is no tensor.
    pub(crate) fn of_value(value: &Value) -> Option<ParamValue> {
        Some(match value {
            Value::Bool(v) => ParamValue::Bool(*v),
            Value::Int(v) => ParamValue::Int(*v),
            Value::Float(v) => ParamValue::Float(*v),
            Value::Ints(v) => ParamValue::Ints(v.clone()),
            Value::Str(v) => ParamValue::Str(v.clone()),
            Value::Tensor(_) | Value::Tensors(_) => return None,
        })
    }

    pub(crate) fn of(arg: Arg<'_>) -> Option<ParamValue> {
        Some(match arg {
            Arg::Bool(v) => ParamValue::Bool(v),
            Arg::Int(v) => ParamValue::Int(v),
            Arg::Float(v) => ParamValue::Float(v),
            Arg::Ints(v) => ParamValue::Ints(v.to_vec()),
            Arg::Sizes(v) => {
                ParamValue::Ints(v.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
            }
            Arg::Str(v) => ParamValue::Str(v.to_string()),
            Arg::PostOps(v) => ParamValue::Str(v.to_string()),
            Arg::Absent | Arg::Tensor(_) | Arg::Tensors(_) => return None,
        })
    }
}

/// JSON has no infinities and no NaN: those are written as `{"float": "inf"}`.
mod json_float {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Finite(f64),
        NonFinite { float: String },
    }

    pub(super) fn serialize<S: serde::Serializer>(v: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        let stored =
            if v.is_finite() { Stored::Finite(*v) } else { Stored::NonFinite { float: v.to_string() } };
        stored.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Stored::deserialize(deserializer)? {
            Stored::Finite(v) => Ok(v),
            Stored::NonFinite { float } => float.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// Floats compare by their bits, so that equal parameters have equal hashes.
impl PartialEq for ParamValue {
    fn eq(&self, other: &ParamValue) -> bool {
        match (self, other) {
            (ParamValue::Bool(a), ParamValue::Bool(b)) => a == b,
            (ParamValue::Int(a), ParamValue::Int(b)) => a == b,
            (ParamValue::Float(a), ParamValue::Float(b)) => a.to_bits() == b.to_bits(),
            (ParamValue::Ints(a), ParamValue::Ints(b)) => a == b,
            (ParamValue::Str(a), ParamValue::Str(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for ParamValue {}

impl std::hash::Hash for ParamValue {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            ParamValue::Bool(v) => v.hash(state),
            ParamValue::Int(v) => v.hash(state),
            ParamValue::Float(v) => v.to_bits().hash(state),
            ParamValue::Ints(v) => v.hash(state),
            ParamValue::Str(v) => v.hash(state),
        }
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(v) => write!(f, "{v}"),
            ParamValue::Int(v) => write!(f, "{v}"),
            ParamValue::Float(v) => write!(f, "{v}"),
            ParamValue::Ints(v) => write!(f, "{v:?}"),
            ParamValue::Str(v) => write!(f, "{v:?}"),
        }
    }
}
