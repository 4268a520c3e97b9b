//! candle's memory as strided tensors, for the length of a borrow.
#![expect(unsafe_code, reason = "wraps memory of candle's without a copy")]

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use blocktensor::{DType, Foreign, StridedTensor};
use candle_core::{CpuStorage, Layout, WithDType};

use crate::error::{Error, Result};

/// A tensor in borrowed storage of candle's. It cannot be moved out, so it ends before the lock of the storage does.
pub(crate) struct Borrowed<'a> {
    tensor: StridedTensor,
    storage: PhantomData<&'a CpuStorage>,
}

impl Deref for Borrowed<'_> {
    type Target = StridedTensor;

    fn deref(&self) -> &StridedTensor {
        &self.tensor
    }
}

/// Wraps storage without a copy, whatever the strides.
pub(crate) fn borrow<'a>(
    call: &'static str,
    storage: &'a CpuStorage,
    layout: &Layout,
) -> Result<Borrowed<'a>> {
    let (data, count) = match storage {
        CpuStorage::F32(v) => (v.as_ptr().cast::<u8>(), v.len()),
        CpuStorage::BF16(v) => (v.as_ptr().cast::<u8>(), v.len()),
        CpuStorage::F16(v) => (v.as_ptr().cast::<u8>(), v.len()),
        CpuStorage::U8(v) => (v.as_ptr(), v.len()),
        CpuStorage::I32(v) => (v.as_ptr().cast::<u8>(), v.len()),
        other => return Err(Error::unreadable(call, dtype_of_storage(other))),
    };
    let dtype =
        dtype_of(dtype_of_storage(storage)).ok_or(Error::unreadable(call, dtype_of_storage(storage)))?;
    let (dims, strides, start) = (layout.dims(), layout.stride(), layout.start_offset());
    // candle makes such layouts, but `CustomOp1::cpu_fwd` can be called with any.
    let is_empty = dims.contains(&0);
    let reached = dims
        .iter()
        .zip(strides)
        .try_fold(start, |at, (&d, &s)| at.checked_add(d.checked_sub(1)?.checked_mul(s)?));
    if dims.len() != strides.len() || (!is_empty && reached.is_none_or(|last| last >= count)) {
        return Err(Error::Invalid {
            call,
            got: format!("sizes {dims:?} with strides {strides:?} from element {start}"),
            rule: format!("the storage has {count} elements"),
            remedy: "pass the layout of the tensor that has the storage".to_string(),
        });
    }
    let at = if is_empty { data } else { data.wrapping_add(start * dtype.size_bytes()) };
    let memory = Foreign {
        data: at.cast_mut(),
        dtype,
        dims: &signed(dims),
        strides: Some(&signed(strides)),
        writable: false,
    };
    // SAFETY: all elements that sizes and strides reach are in the storage (checked above), which is borrowed for longer than the
    // tensor lives: it stays in `Borrowed`, and no caller in this crate keeps a clone. Nobody writes to borrowed storage.
    let tensor = unsafe { StridedTensor::from_foreign(memory, Arc::new(())) }?;
    Ok(Borrowed { tensor, storage: PhantomData })
}

/// New memory for a tensor of candle's, and a tensor to write into it. Fields are dropped in their order.
pub(crate) struct Place<T> {
    tensor: StridedTensor,
    memory: Vec<T>,
}

impl<T: WithDType> Place<T> {
    /// Row-major memory of these sizes, of zeros.
    pub(crate) fn new(call: &'static str, dims: &[usize]) -> Result<Place<T>> {
        let dtype = dtype_of(T::DTYPE).ok_or(Error::unreadable(call, T::DTYPE))?;
        let mut memory = vec![T::zero(); dims.iter().product()];
        let place = Foreign {
            data: memory.as_mut_ptr().cast(),
            dtype,
            dims: &signed(dims),
            strides: None,
            writable: true,
        };
        // SAFETY: the memory has as many elements as the sizes say, and lives as long as the tensor, beside it. `into_vec` is the only
        // way to it, and ends the tensor first.
        let tensor = unsafe { StridedTensor::from_foreign(place, Arc::new(())) }?;
        Ok(Place { tensor, memory })
    }

    /// The tensor to write.
    pub(crate) fn tensor(&mut self) -> &mut StridedTensor {
        &mut self.tensor
    }

    /// The memory, with what was written.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let Place { tensor, memory } = self;
        drop(tensor);
        memory
    }
}

/// The library's type for one of candle's.
fn dtype_of(dtype: candle_core::DType) -> Option<DType> {
    Some(match dtype {
        candle_core::DType::F32 => DType::F32,
        candle_core::DType::BF16 => DType::BF16,
        candle_core::DType::F16 => DType::F16,
        candle_core::DType::U8 => DType::U8,
        candle_core::DType::I32 => DType::S32,
        _ => return None,
    })
}

fn dtype_of_storage(storage: &CpuStorage) -> candle_core::DType {
    candle_core::backend::BackendStorage::dtype(storage)
}

/// Sizes and strides of memory are below 2^63.
fn signed(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
}
