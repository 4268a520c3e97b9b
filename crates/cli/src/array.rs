//! Arrays as files hold them, and their way into tensors and back.

use blocktensor::{Element, Error, StridedTensor, memory};
use blocktensor_graph::{ElementType, Integer};

use crate::failure::Result;
use crate::integers::Stored;

/// What errors about memory call the lists of numbers.
const CALL: &str = "an array";

/// Row-major numbers with sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub dims: Vec<usize>,
    pub values: Values,
}

/// Numbers of one type. Integers are kept as i64, beside the type that they have in their file or the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Int(Integer, Vec<i64>),
    Bool(Vec<bool>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Int(_, v) => v.len(),
            Values::Bool(v) => v.len(),
        }
    }

    /// **Bytes** of one number in a file that this program writes.
    pub fn width(&self) -> usize {
        match self {
            Values::F32(_) => 4,
            Values::F64(_) => 8,
            Values::Bool(_) => 1,
            Values::Int(of, _) => Stored::of(*of).width,
        }
    }

    pub fn name(&self) -> String {
        match self {
            Values::F32(_) => "f32".to_string(),
            Values::F64(_) => "f64".to_string(),
            Values::Int(of, _) => of.to_string(),
            Values::Bool(_) => "bool".to_string(),
        }
    }

    /// Number `i` as f64. Booleans are 0 and 1.
    pub fn number(&self, i: usize) -> f64 {
        match self {
            Values::F32(v) => f64::from(v[i]),
            Values::F64(v) => v[i],
            Values::Int(_, v) => v[i] as f64,
            Values::Bool(v) => f64::from(u8::from(v[i])),
        }
    }

    /// Appends the numbers in little-endian order to bytes.
    pub fn to_bytes(&self, mut to: Vec<u8>) -> Result<Vec<u8>, Error> {
        let count = self.len() * self.width() + to.len();
        let mut bytes = memory::try_with_capacity(CALL, count)?;
        bytes.append(&mut to);
        match self {
            Values::F32(v) => v.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            Values::F64(v) => v.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            // A number that fits into the type has its value in the low bytes.
            Values::Int(_, v) => v.iter().for_each(|v| bytes.extend(&v.to_le_bytes()[..self.width()])),
            Values::Bool(v) => bytes.extend(v.iter().map(|v| u8::from(*v))),
        }
        Ok(bytes)
    }

    /// All numbers as f64.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        (0..self.len()).map(|i| self.number(i))
    }

    /// The numbers at these places.
    fn pick(&self, places: &[usize]) -> Result<Values, Error> {
        fn of<T: Copy>(values: &[T], places: &[usize]) -> Result<Vec<T>, Error> {
            memory::try_collect(CALL, places.iter().map(|&i| values[i]))
        }
        Ok(match self {
            Values::F32(v) => Values::F32(of(v, places)?),
            Values::F64(v) => Values::F64(of(v, places)?),
            Values::Int(kind, v) => Values::Int(*kind, of(v, places)?),
            Values::Bool(v) => Values::Bool(of(v, places)?),
        })
    }
}

/// What numpy calls the type of an input.
pub fn numpy_of(of: ElementType) -> &'static str {
    match of {
        ElementType::F32 => "float32",
        ElementType::Int(of) => Stored::of(of).numpy,
        ElementType::Bool => "bool",
        ElementType::Byte => "uint8",
        ElementType::SignedByte => "int8",
    }
}

impl Array {
    /// The array whose values are in column-major order so far, in row-major order.
    pub fn into_row_major(self) -> Result<Array, Error> {
        // Without elements there is nothing to move, however long the other axes are.
        if self.dims.contains(&0) {
            return Ok(self);
        }
        let mut places = vec![0];
        let mut stride = 1;
        for &size in &self.dims {
            // Each place so far, once for each index of this axis: later axes vary faster.
            let spread = places.iter().flat_map(|p| (0..size).map(move |i| p + i * stride));
            places = memory::try_collect(CALL, spread)?;
            stride *= size;
        }
        Ok(Array { values: self.values.pick(&places)?, dims: self.dims })
    }

    /// The tensor that a model's input of this type takes. An error is the mistake with its remedy.
    pub fn to_tensor(&self, of: ElementType) -> Result<StridedTensor, String> {
        let tensor = match (of, &self.values) {
            (ElementType::F32, Values::F32(v)) => StridedTensor::from_slice(v, &self.dims),
            (ElementType::F32, Values::F64(v)) => {
                if let Some(v) = v.iter().find(|v| v.is_finite() && !(**v as f32).is_finite()) {
                    return Err(format!(
                        "the input is f32, and {v:e} does not fit into that; change the value"
                    ));
                }
                let narrow = memory::try_collect(CALL, v.iter().map(|&v| v as f32));
                narrow.and_then(|narrow| StridedTensor::from_slice(&narrow, &self.dims))
            }
            (ElementType::Int(of), Values::Int(_, v)) => {
                if let Some(v) = v.iter().find(|v| of.wrap(**v) != **v) {
                    return Err(format!(
                        "the input is {of}, and {v} does not fit into that; change the value"
                    ));
                }
                if let Some(v) = v.iter().find(|v| i32::try_from(**v).is_err()) {
                    return Err(format!(
                        "{v} does not fit into 32 bits, and kernels take no larger integers; change the value"
                    ));
                }
                let narrow = memory::try_collect(CALL, v.iter().map(|&v| v as i32));
                narrow.and_then(|narrow| StridedTensor::from_slice(&narrow, &self.dims))
            }
            (ElementType::Bool, Values::Bool(v)) => {
                let bytes = memory::try_collect(CALL, v.iter().map(|&v| u8::from(v)));
                bytes.and_then(|bytes| StridedTensor::from_slice(&bytes, &self.dims))
            }
            (ElementType::Byte, Values::Int(_, v)) => return self.narrowed::<u8>(v, of),
            (ElementType::SignedByte, Values::Int(_, v)) => return self.narrowed::<i8>(v, of),
            (of, values) => {
                let numpy = numpy_of(of);
                return Err(format!(
                    "it holds {}, and the input is {of}; write it as {numpy}",
                    values.name()
                ));
            }
        };
        tensor.map_err(|e| crate::failure::one_line(&e))
    }

    /// The tensor of an input of bytes.
    fn narrowed<E: Element + TryFrom<i64>>(
        &self,
        v: &[i64],
        of: ElementType,
    ) -> Result<StridedTensor, String> {
        let narrow = |&v: &i64| {
            let text = || format!("the input is {of}, and {v} does not fit into that; change the value");
            E::try_from(v).map_err(|_| text())
        };
        // Before memory is asked for.
        v.iter().try_for_each(|v| narrow(v).map(|_| ()))?;
        let narrow = memory::try_collect(CALL, v.iter().flat_map(narrow));
        let tensor = narrow.and_then(|narrow| StridedTensor::from_slice(&narrow, &self.dims));
        tensor.map_err(|e| crate::failure::one_line(&e))
    }

    /// The values of a result of this type.
    pub fn of_tensor(t: &StridedTensor, of: ElementType) -> Result<Array> {
        let values = match of {
            ElementType::Int(of) => {
                Values::Int(of, memory::try_collect(CALL, t.to_vec::<i32>()?.into_iter().map(i64::from))?)
            }
            ElementType::Byte => Values::Int(
                Integer::U8,
                memory::try_collect(CALL, t.to_vec::<u8>()?.into_iter().map(i64::from))?,
            ),
            ElementType::SignedByte => Values::Int(
                Integer::I8,
                memory::try_collect(CALL, t.to_vec::<i8>()?.into_iter().map(i64::from))?,
            ),
            ElementType::Bool => {
                Values::Bool(memory::try_collect(CALL, t.to_vec::<u8>()?.into_iter().map(|v| v != 0))?)
            }
            ElementType::F32 => Values::F32(t.to_vec::<f32>()?),
        };
        Ok(Array { dims: t.dims().to_vec(), values })
    }
}
