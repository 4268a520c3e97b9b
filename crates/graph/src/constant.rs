//! Constants of a graph.

use blocktensor::{DType, MemoryFormat, StridedTensor};

use crate::error::Result;

/// The type of a graph's value. Kernels compute in f32; integers and Booleans are mostly sizes and indices, which are
/// computed when the graph gets its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// 32-bit floating point.
    F32,
    /// Integers.
    I64,
    /// Booleans.
    Bool,
}

impl ElementType {
    /// The dtype of a tensor that holds such values during a run: integers are s32 there, Booleans u8.
    pub fn dtype(self) -> DType {
        match self {
            ElementType::F32 => DType::F32,
            ElementType::I64 => DType::S32,
            ElementType::Bool => DType::U8,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ElementType::F32 => "f32",
            ElementType::I64 => "i64",
            ElementType::Bool => "bool",
        })
    }
}

/// A value that is known before a run.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Numbers.
    F32(StridedTensor),
    /// Integers, row-major.
    I64 {
        /// Sizes.
        dims: Vec<usize>,
        /// As many as the product of the sizes.
        values: Vec<i64>,
    },
    /// Booleans, row-major.
    Bool {
        /// Sizes.
        dims: Vec<usize>,
        /// As many as the product of the sizes.
        values: Vec<bool>,
    },
}

impl Constant {
    /// A list of integers.
    pub fn ints(values: &[i64]) -> Constant {
        Constant::I64 { dims: vec![values.len()], values: values.to_vec() }
    }

    /// One integer, of rank 0.
    pub fn int(value: i64) -> Constant {
        Constant::I64 { dims: vec![], values: vec![value] }
    }

    /// Sizes.
    pub fn dims(&self) -> &[usize] {
        match self {
            Constant::F32(t) => t.dims(),
            Constant::I64 { dims, .. } | Constant::Bool { dims, .. } => dims,
        }
    }

    /// The type of its values.
    pub fn element_type(&self) -> ElementType {
        match self {
            Constant::F32(_) => ElementType::F32,
            Constant::I64 { .. } => ElementType::I64,
            Constant::Bool { .. } => ElementType::Bool,
        }
    }

    /// The integers, unless it has other values.
    pub fn as_ints(&self) -> Option<&[i64]> {
        match self {
            Constant::I64 { values, .. } => Some(values),
            _ => None,
        }
    }

    /// The Booleans, unless it has other values.
    pub fn as_bools(&self) -> Option<&[bool]> {
        match self {
            Constant::Bool { values, .. } => Some(values),
            _ => None,
        }
    }

    /// The tensor of numbers, unless it has other values.
    pub fn as_f32(&self) -> Option<&StridedTensor> {
        match self {
            Constant::F32(t) => Some(t),
            _ => None,
        }
    }

    /// The numbers in row-major order, whatever their type, as f64: Booleans are 0 and 1.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        Ok(match self {
            Constant::F32(t) => t.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
            Constant::I64 { values, .. } => values.iter().map(|&v| v as f64).collect(),
            Constant::Bool { values, .. } => values.iter().map(|&v| f64::from(u8::from(v))).collect(),
        })
    }

    /// The tensor that a kernel gets: f32, s32 for integers, u8 for Booleans.
    ///
    /// # Errors
    /// `InvalidArgument` for an integer that s32 cannot hold; `OutOfMemory`.
    pub fn to_tensor(&self) -> Result<StridedTensor> {
        Ok(match self {
            Constant::F32(t) => t.contiguous(MemoryFormat::Contiguous)?,
            Constant::I64 { dims, values } => {
                let narrow = values.iter().map(|&v| {
                    i32::try_from(v).map_err(|_| crate::Error::Invalid {
                        what: "a constant of integers".to_string(),
                        got: v.to_string(),
                        rule: "kernels take 32-bit integers".to_string(),
                        remedy: "keep it below 2^31".to_string(),
                    })
                });
                StridedTensor::from_slice(&narrow.collect::<Result<Vec<i32>>>()?, dims)?
            }
            Constant::Bool { dims, values } => {
                StridedTensor::from_slice(&values.iter().map(|&v| u8::from(v)).collect::<Vec<_>>(), dims)?
            }
        })
    }
}

impl From<StridedTensor> for Constant {
    fn from(t: StridedTensor) -> Constant {
        Constant::F32(t)
    }
}
