//! Constants of a graph.

use blocktensor::{DType, MemoryFormat, StridedTensor, memory};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What errors about memory call the lists of constants.
pub(crate) const CONSTANT: &str = "a constant of the graph";

/// The type of a graph's value. Kernels compute in f32; integers and Booleans are mostly sizes and indices, which are
/// computed when the graph gets its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementType {
    /// 32-bit floating point.
    F32,
    /// Integers.
    Int(Integer),
    /// Booleans.
    Bool,
    /// Numbers from 0 to 255 that a run holds as u8: a program's operators make them. Integers of a model whose type is
    /// [`Integer::U8`] are s32 in a run.
    Byte,
    /// Numbers from -128 to 127 that a run holds as s8: quantised ones.
    SignedByte,
}

impl ElementType {
    /// Integers of 64 bits: sizes and indices.
    pub const I64: ElementType = ElementType::Int(Integer::I64);

    /// The dtype of a tensor that holds such values during a run: integers of all widths are s32 there, Booleans u8.
    pub fn dtype(self) -> DType {
        match self {
            ElementType::F32 => DType::F32,
            ElementType::Int(_) => DType::S32,
            ElementType::Bool | ElementType::Byte => DType::U8,
            ElementType::SignedByte => DType::S8,
        }
    }

    /// The type as models state it: whether a run holds integers of 8 bits as bytes is not theirs to say.
    pub fn as_stated(self) -> ElementType {
        match self {
            ElementType::Byte => ElementType::Int(Integer::U8),
            ElementType::SignedByte => ElementType::Int(Integer::I8),
            of => of,
        }
    }
}

/// The width and the sign of integers: what they wrap around at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Integer {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Integer {
    /// The lowest bits of an integer, as many as the type has: what is left where a result does not fit. Numbers of `U64`
    /// from 2^63 on are not supported anywhere, and come back negative.
    ///
    /// ```
    /// use blocktensor_graph::Integer;
    ///
    /// assert_eq!(Integer::U8.wrap(300), 44);
    /// assert_eq!(Integer::I8.wrap(200), -56);
    /// assert_eq!(Integer::I64.wrap(1 << 40), 1 << 40);
    /// ```
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            Integer::I8 => i64::from(value as i8),
            Integer::I16 => i64::from(value as i16),
            Integer::I32 => i64::from(value as i32),
            Integer::U8 => i64::from(value as u8),
            Integer::U16 => i64::from(value as u16),
            Integer::U32 => i64::from(value as u32),
            Integer::I64 | Integer::U64 => value,
        }
    }

    /// A number as an integer of the type, rounded towards zero. `None` for NaN and for a number outside the type: ONNX leaves
    /// the cast of both undefined.
    ///
    /// ```
    /// use blocktensor_graph::Integer;
    ///
    /// assert_eq!(Integer::U8.truncate(255.9), Some(255));
    /// assert_eq!(Integer::U8.truncate(256.0), None);
    /// assert_eq!(Integer::I64.truncate(f64::NAN), None);
    /// ```
    pub fn truncate(self, number: f64) -> Option<i64> {
        let ((least, largest), whole) = (self.range(), number.trunc());
        // 2^63 - 1 is 2^63 as f64, and so is the sum.
        (whole >= least as f64 && whole < largest as f64 + 1.0).then_some(whole as i64)
    }

    /// The least and the largest integer of the type, of `U64` below 2^63.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            Integer::I8 => (i8::MIN.into(), i8::MAX.into()),
            Integer::I16 => (i16::MIN.into(), i16::MAX.into()),
            Integer::I32 => (i32::MIN.into(), i32::MAX.into()),
            Integer::I64 => (i64::MIN, i64::MAX),
            Integer::U8 => (0, u8::MAX.into()),
            Integer::U16 => (0, u16::MAX.into()),
            Integer::U32 => (0, u32::MAX.into()),
            Integer::U64 => (0, i64::MAX),
        }
    }

    /// The least and the largest integer of the type that a tensor of s32 holds. `None` if it holds no others.
    pub(crate) fn range_in_s32(self) -> Option<(i32, i32)> {
        match self {
            Integer::I8 => Some((i8::MIN.into(), i8::MAX.into())),
            Integer::I16 => Some((i16::MIN.into(), i16::MAX.into())),
            Integer::U8 => Some((0, u8::MAX.into())),
            Integer::U16 => Some((0, u16::MAX.into())),
            Integer::U32 | Integer::U64 => Some((0, i32::MAX)),
            Integer::I32 | Integer::I64 => None,
        }
    }
}

impl std::fmt::Display for Integer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Integer::I8 => "i8",
            Integer::I16 => "i16",
            Integer::I32 => "i32",
            Integer::I64 => "i64",
            Integer::U8 => "u8",
            Integer::U16 => "u16",
            Integer::U32 => "u32",
            Integer::U64 => "u64",
        })
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementType::F32 => f.write_str("f32"),
            ElementType::Int(of) => of.fmt(f),
            ElementType::Bool => f.write_str("bool"),
            ElementType::Byte => f.write_str("byte"),
            ElementType::SignedByte => f.write_str("signed byte"),
        }
    }
}

/// A value that is known before a run.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Numbers.
    F32(StridedTensor),
    /// Integers, row-major.
    Int {
        /// Their type.
        of: Integer,
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
    /// Numbers from 0 to 255, in a tensor of u8.
    Byte(StridedTensor),
    /// Numbers from -128 to 127, in a tensor of s8.
    SignedByte(StridedTensor),
}

impl Constant {
    /// A list of 64-bit integers.
    pub fn ints(values: &[i64]) -> Constant {
        Constant::Int { of: Integer::I64, dims: vec![values.len()], values: values.to_vec() }
    }

    /// One 64-bit integer, of rank 0.
    pub fn int(value: i64) -> Constant {
        Constant::Int { of: Integer::I64, dims: vec![], values: vec![value] }
    }

    /// Sizes.
    pub fn dims(&self) -> &[usize] {
        match self {
            Constant::F32(t) | Constant::Byte(t) | Constant::SignedByte(t) => t.dims(),
            Constant::Int { dims, .. } | Constant::Bool { dims, .. } => dims,
        }
    }

    /// The type of its values.
    pub fn element_type(&self) -> ElementType {
        match self {
            Constant::F32(_) => ElementType::F32,
            Constant::Int { of, .. } => ElementType::Int(*of),
            Constant::Bool { .. } => ElementType::Bool,
            Constant::Byte(_) => ElementType::Byte,
            Constant::SignedByte(_) => ElementType::SignedByte,
        }
    }

    /// The integers, unless it has other values.
    pub fn as_ints(&self) -> Option<&[i64]> {
        match self {
            Constant::Int { values, .. } => Some(values),
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
            Constant::F32(t) => memory::try_collect(CONSTANT, t.to_vec::<f32>()?.into_iter().map(f64::from))?,
            Constant::Byte(t) => memory::try_collect(CONSTANT, t.to_vec::<u8>()?.into_iter().map(f64::from))?,
            Constant::SignedByte(t) => {
                memory::try_collect(CONSTANT, t.to_vec::<i8>()?.into_iter().map(f64::from))?
            }
            Constant::Int { values, .. } => memory::try_collect(CONSTANT, values.iter().map(|&v| v as f64))?,
            Constant::Bool { values, .. } => {
                memory::try_collect(CONSTANT, values.iter().map(|&v| f64::from(u8::from(v))))?
            }
        })
    }

    /// The tensor that a kernel gets: f32, s32 for integers, u8 for Booleans and bytes, s8 for signed bytes.
    ///
    /// # Errors
    /// `InvalidArgument` for an integer that s32 cannot hold; `OutOfMemory`.
    pub fn to_tensor(&self) -> Result<StridedTensor> {
        Ok(match self {
            Constant::F32(t) | Constant::Byte(t) | Constant::SignedByte(t) => {
                t.contiguous(MemoryFormat::Contiguous)?
            }
            Constant::Int { dims, values, .. } => {
                let narrow = values.iter().map(|&v| {
                    i32::try_from(v).map_err(|_| crate::Error::Invalid {
                        what: "a constant of integers".to_string(),
                        got: v.to_string(),
                        rule: "kernels take 32-bit integers".into(),
                        remedy: "keep it below 2^31".into(),
                    })
                });
                StridedTensor::from_slice(&memory::try_collect_results(CONSTANT, narrow)?, dims)?
            }
            Constant::Bool { dims, values } => {
                let bytes = memory::try_collect(CONSTANT, values.iter().map(|&v| u8::from(v)))?;
                StridedTensor::from_slice(&bytes, dims)?
            }
        })
    }
}

impl From<StridedTensor> for Constant {
    fn from(t: StridedTensor) -> Constant {
        Constant::F32(t)
    }
}
