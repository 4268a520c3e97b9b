//! Tensors as a file stores them: row-major.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::Dtype;

use super::container::StoredTensor;
use super::{shown, shown_path};
use crate::dtype::{DType, Element};
use crate::error::{Complaint, Error, Result};
use crate::layout::dims::{Dims, MAX_RANK};
use crate::layout::memory_format::MemoryFormat;
use crate::memory::try_copied;
use crate::tensor::quantization::Quantization;
use crate::tensor::strided::StridedTensor;

/// The stored tensor as a tensor.
///
/// # Errors
/// `UnsupportedDType` for a type that no tensor here has, `RankMismatch`, and `Overflow` for sizes whose product overflows, which
/// a file may hold beside a size of 0.
pub(super) fn tensor(op: &'static str, name: &str, part: &StoredTensor) -> Result<StridedTensor> {
    let complaint = |rule: String, remedy: &str| {
        let got = format!("{:?} {}", part.shape, part.dtype);
        Complaint::new(op, shown(name), got, rule, remedy)
    };
    let Some(dtype) = DType::ALL.into_iter().find(|&d| file_dtype(d) == part.dtype) else {
        let rule = "tensors are f32, bf16, f16, u8, s8 or s32".to_string();
        return Err(Error::UnsupportedDType(complaint(rule, "convert it before the file is written")));
    };
    if part.shape.len() > MAX_RANK {
        let rule = format!("a tensor has at most {MAX_RANK} dimensions");
        return Err(Error::RankMismatch(complaint(rule, "merge dimensions before the file is written")));
    }
    let dims = Dims::from_slice(&part.shape);
    let overflows = |_| {
        let rule = "the product of the sizes overflows, even without the size of 0".to_string();
        Error::Overflow(complaint(rule, "write it with smaller sizes"))
    };
    StridedTensor::of_storage(op, Arc::clone(&part.data), dims, dtype).map_err(overflows)
}

/// What precedes a tensor's name in the metadata's key for its scales and zero points.
pub(super) const QUANTIZATION: &str = "quantization:";

/// The metadata's entry for a tensor's scales and zero points, if it has any.
pub(super) fn quantization_entry(name: &str, t: &StridedTensor) -> Option<(String, String)> {
    let json = serde_json::to_string(t.quantization()?).expect("numbers and lists of them");
    Some((format!("{QUANTIZATION}{name}"), json))
}

/// The tensor with the scales and zero points of its entry.
///
/// # Errors
/// `CorruptFile` for a text that states none, and for some that the tensor cannot have.
pub(super) fn quantized(
    op: &'static str,
    path: &Path,
    name: &str,
    json: &str,
    t: Option<&StridedTensor>,
) -> Result<StridedTensor> {
    let bad = |why: &str| {
        let what = format!("scales and zero points `{}` of tensor `{}`", shown(json), shown(name));
        let got = format!("`{}`: {what}", shown_path(path));
        let remedy = "remove the entry from the metadata, or write the file again";
        Error::CorruptFile(Complaint::new(op, "path", got, shown(why), remedy))
    };
    let t = t.ok_or_else(|| bad("there is no such tensor"))?;
    let quantization: Quantization = serde_json::from_str(json).map_err(|e| bad(&e.to_string()))?;
    t.quantized(quantization).map_err(|e| bad(e.complaint().map_or("they do not fit", |c| &c.rule)))
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
        Ok(Cow::Owned(try_copied("the file of a tensor", bytemuck::cast_slice(&t.to_vec::<E>()?))?))
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
