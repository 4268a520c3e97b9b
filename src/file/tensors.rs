//! Tensors as a file stores them: row-major.

use std::borrow::Cow;
use std::sync::Arc;

use safetensors::tensor::Dtype;

use super::container::StoredTensor;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::strided::StridedTensor;

/// The stored tensor as a tensor; `None` if this crate does not support its type or rank.
pub(super) fn tensor(op: &'static str, part: &StoredTensor) -> Option<StridedTensor> {
    let dtype = DType::ALL.into_iter().find(|&d| file_dtype(d) == part.dtype)?;
    let dims = Dims::new(op, "dims", &part.shape).ok()?;
    StridedTensor::of_storage(op, Arc::clone(&part.data), dims, dtype).ok()
}

/// The file's name of a dtype.
pub(super) fn file_dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::F32 => Dtype::F32,
        DType::BF16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::U8 => Dtype::U8,
        DType::S8 => Dtype::I8,
        DType::S32 => Dtype::I32,
    }
}

/// The bytes of a tensor in row-major order.
pub(super) fn row_major(t: &StridedTensor) -> Result<Cow<'_, [u8]>> {
    fn of<E: Element>(t: &StridedTensor) -> Result<Cow<'_, [u8]>> {
        if t.is_contiguous(MemoryFormat::Contiguous) {
            return Ok(Cow::Borrowed(bytemuck::cast_slice(t.as_slice::<E>()?)));
        }
        Ok(Cow::Owned(bytemuck::cast_slice(&t.to_vec::<E>()?).to_vec()))
    }
    match t.dtype() {
        DType::F32 => of::<f32>(t),
        DType::BF16 => of::<half::bf16>(t),
        DType::F16 => of::<half::f16>(t),
        DType::U8 => of::<u8>(t),
        DType::S8 => of::<i8>(t),
        DType::S32 => of::<i32>(t),
    }
}
