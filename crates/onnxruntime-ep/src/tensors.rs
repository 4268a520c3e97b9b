//! ONNX Runtime's memory as tensors of a run.
#![allow(unsafe_code)]

use std::sync::Arc;

use blocktensor::{DType, Foreign, ForeignInput, MemoryFormat, StridedTensor};
use blocktensor_graph::ElementType;

use crate::failure::{Failure, Result};
use crate::ort::Held;

/// ONNX's numbers of the types that a run has here.
const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const INT8: i32 = 3;
const UINT16: i32 = 4;
const INT16: i32 = 5;
const INT32: i32 = 6;
const INT64: i32 = 7;
const BOOL: i32 = 9;
const UINT32: i32 = 12;
const UINT64: i32 = 13;

impl Held {
    /// The sizes.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.dims.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect()
    }

    fn elements(&self) -> usize {
        self.sizes().iter().product()
    }

    /// Whether this memory has elements of the dtype.
    fn has(&self, dtype: DType) -> bool {
        match dtype {
            DType::F32 => self.data_type == FLOAT,
            DType::S32 => self.data_type == INT32,
            DType::U8 => matches!(self.data_type, BOOL | UINT8),
            DType::S8 => self.data_type == INT8,
            _ => false,
        }
    }

    /// Whether a run writes elements of the dtype into this memory.
    fn is_held_as(&self, dtype: DType) -> bool {
        self.has(dtype) && self.data.addr().is_multiple_of(dtype.size_bytes())
    }

    fn refused(&self, what: &str, of: ElementType) -> Failure {
        Failure::invalid(format!(
            "{what}: got ONNX's type {}; the plan has {}; export the model again",
            self.data_type,
            of.as_stated()
        ))
    }

    fn memory(&self, dtype: DType, writable: bool) -> Foreign<'_> {
        Foreign { data: self.data, dtype, dims: &self.dims, strides: None, writable }
    }

    /// The elements, wherever they begin.
    ///
    /// # Safety
    /// The memory has the elements that the sizes say, of this type.
    unsafe fn values<T: Copy>(&self) -> impl Iterator<Item = T> {
        let (data, count) = (self.data.cast::<T>(), self.elements());
        // SAFETY: the caller's promise.
        (0..count).map(move |i| unsafe { data.add(i).read_unaligned() })
    }

    /// The tensor of a run for an input: this memory, or a copy where it is not aligned or has integers of another width.
    ///
    /// # Safety
    /// The memory has the elements that the sizes say, and stays while the tensor lives. Nobody else writes into it meanwhile.
    pub(crate) unsafe fn as_input(&self, name: &str, of: ElementType) -> Result<StridedTensor> {
        let dtype = of.dtype();
        if self.has(dtype) {
            // SAFETY: the caller's promise.
            let input = unsafe { ForeignInput::new(self.memory(dtype, false), Arc::new(())) }?;
            return Ok(input.tensor("Compute")?);
        }
        let what = format!("input `{name}`");
        let narrow = |value: i64| {
            i32::try_from(value).map_err(|_| {
                Failure::invalid(format!("{what}: got {value}; integers are below 2^31 here; pass such ones"))
            })
        };
        let dims = self.sizes();
        // SAFETY: the caller's promise, for each type.
        unsafe {
            let integers: Result<Vec<i32>> = match (dtype, self.data_type) {
                (DType::S32, INT64) => self.values::<i64>().map(narrow).collect(),
                (DType::S32, INT16) => Ok(self.values::<i16>().map(i32::from).collect()),
                (DType::S32, INT8) => Ok(self.values::<i8>().map(i32::from).collect()),
                (DType::S32, UINT8) => Ok(self.values::<u8>().map(i32::from).collect()),
                (DType::S32, UINT16) => Ok(self.values::<u16>().map(i32::from).collect()),
                _ => Err(self.refused(&what, of)),
            };
            Ok(StridedTensor::from_slice(&integers?, &dims)?)
        }
    }

    /// The tensor that a run writes into for an output: this memory where it fits.
    ///
    /// # Safety
    /// As for `as_input`, and nobody else reads the memory either.
    pub(crate) unsafe fn as_output(&self, dtype: DType) -> Result<StridedTensor> {
        match self.is_held_as(dtype) {
            // SAFETY: the caller's promise.
            true => Ok(unsafe { StridedTensor::from_foreign(self.memory(dtype, true), Arc::new(())) }?),
            false => Ok(StridedTensor::zeros(&self.sizes(), dtype, MemoryFormat::Contiguous)?),
        }
    }

    /// Writes a result into this memory, unless the run did.
    ///
    /// # Safety
    /// As for `as_output`; no tensor wraps the memory any more.
    pub(crate) unsafe fn take(&self, name: &str, of: ElementType, result: &StridedTensor) -> Result<()> {
        /// # Safety
        /// The memory has as many elements of the type as there are values.
        unsafe fn write<T>(data: *mut u8, values: impl Iterator<Item = T>) {
            for (i, value) in values.enumerate() {
                // SAFETY: the caller's promise.
                unsafe { data.cast::<T>().add(i).write_unaligned(value) };
            }
        }
        let dtype = of.dtype();
        if self.is_held_as(dtype) {
            return Ok(());
        }
        let what = format!("output `{name}`");
        if result.dims() != self.sizes() {
            return Err(self.refused(&what, of));
        }
        // SAFETY: the caller's promise; the sizes are the same.
        unsafe {
            match dtype {
                DType::F32 if self.data_type == FLOAT => {
                    write(self.data, result.to_vec::<f32>()?.into_iter())
                }
                DType::S32 => {
                    let values = result.to_vec::<i32>()?.into_iter();
                    match self.data_type {
                        INT64 => write(self.data, values.map(i64::from)),
                        INT32 => write(self.data, values),
                        UINT64 => write(self.data, values.map(i64::from).map(i64::cast_unsigned)),
                        UINT32 => write(self.data, values.map(i32::cast_unsigned)),
                        INT16 | UINT16 => write(self.data, values.map(|value| value as i16)),
                        INT8 | UINT8 => write(self.data, values.map(|value| value as i8)),
                        _ => return Err(self.refused(&what, of)),
                    }
                }
                _ => return Err(self.refused(&what, of)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blocktensor::ledger::{self, Cause};

    use super::*;

    /// What a session's run reads at any address, and what the ledger has of it.
    #[test]
    fn unaligned_inputs_are_copied_and_recorded() {
        let mut memory = [0u64; 4];
        let bytes = memory.as_mut_ptr().cast::<u8>();
        for (of, data_type, number, copies) in [
            (ElementType::F32, FLOAT, 3f32.to_le_bytes(), 1),
            (ElementType::Int(blocktensor_graph::Integer::I32), INT32, 3i32.to_le_bytes(), 1),
            (ElementType::Bool, BOOL, [1; 4], 0),
        ] {
            for start in [0, 1] {
                let held = Held { data_type, dims: vec![1, 1], data: bytes.wrapping_add(start) };
                // SAFETY: the memory has the bytes of one element there, and no tensor uses it now.
                let (x, book) = unsafe {
                    held.data.copy_from(number.as_ptr(), 4);
                    ledger::record(|| held.as_input("x", of))
                };
                let x = x.unwrap_or_else(|e| panic!("{of}: {}", e.text)).to_dtype(DType::F32).unwrap();
                assert_eq!(x.to_vec::<f32>().unwrap(), [if of == ElementType::Bool { 1.0 } else { 3.0 }]);
                let copied: Vec<_> = book.reorders.iter().map(|r| (&*r.op, r.cause)).collect();
                assert_eq!(copied, vec![("Compute", Cause::Unaligned); copies * start], "{of}");
            }
        }
    }

    /// Each type that a plan has for its results, beside ONNX's types for them: the memory itself, or a copy that is written back.
    #[test]
    fn results_reach_memory_of_each_type() {
        let cases = [
            (ElementType::F32, FLOAT),
            (ElementType::Bool, BOOL),
            (ElementType::Byte, UINT8),
            (ElementType::SignedByte, INT8),
            (ElementType::Int(blocktensor_graph::Integer::I32), INT32),
            (ElementType::Int(blocktensor_graph::Integer::I8), INT8),
            (ElementType::I64, INT64),
        ];
        for (of, data_type) in cases {
            let mut memory = [0u64; 3];
            let held = Held { data_type, dims: vec![1, 3], data: memory.as_mut_ptr().cast() };
            let one = StridedTensor::from_slice(&[1f32; 3], &[1, 3]).unwrap().to_dtype(of.dtype()).unwrap();
            // SAFETY: three elements of at most 8 bytes, which nobody else uses.
            let written = unsafe {
                let mut result = held.as_output(of.dtype()).unwrap();
                one.copy_into(&mut result).unwrap();
                held.take("y", of, &result)
            };
            assert!(written.is_ok(), "{of}: {written:?}");
            assert_ne!(memory[0], 0, "{of}");
        }
    }
}
