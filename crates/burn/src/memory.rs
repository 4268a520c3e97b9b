//! `Flex`'s memory as strided tensors.
#![expect(unsafe_code, reason = "wraps memory of Flex without a copy")]

use std::sync::Arc;

use blocktensor::{DType, Foreign, StridedTensor};
use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Bytes, Shape};

use crate::error::{Error, Result};

/// Wraps a tensor without a copy, whatever its strides. The result shares the memory: as `Flex` copies what it shares before it writes,
/// both stay as they are.
pub(crate) fn share(call: &'static str, x: &FlexTensor) -> Result<StridedTensor> {
    let dtype = dtype_of(x.dtype()).ok_or_else(|| Error::DType {
        call,
        got: format!("{:?}", x.dtype()),
        rule: "blocktensor has F32, BF16 and F16",
        remedy: "convert it with `cast(DType::F32)`",
    })?;
    let (layout, bytes) = (x.layout(), x.bytes());
    let (dims, start) = (layout.shape().to_vec(), layout.start_offset());
    let strides: Vec<i64> = layout.strides().iter().map(|&s| s as i64).collect();
    if dims.iter().zip(&strides).any(|(&d, &s)| s < 0 && d > 1) {
        return Err(Error::Invalid {
            call,
            got: format!("sizes {dims:?} with strides {strides:?}"),
            rule: "negative strides are not supported".to_string(),
            remedy: "copy it with `blocktensor_burn::contiguous(x)?`",
        });
    }
    // burn makes such layouts, but anyone can make a tensor with any.
    let count = bytes.len() / dtype.size_bytes();
    let is_empty = dims.contains(&0);
    let reached = dims.iter().zip(&strides).try_fold(start, |at, (&d, &s)| {
        at.checked_add((d.checked_sub(1)?).checked_mul(usize::try_from(s).unwrap_or(0))?)
    });
    if dims.len() != strides.len() || (!is_empty && reached.is_none_or(|last| last >= count)) {
        return Err(Error::Invalid {
            call,
            got: format!("sizes {dims:?} with strides {strides:?} from element {start}"),
            rule: format!("the storage has {count} elements"),
            remedy: "make the tensor with a layout of its own storage",
        });
    }
    let at = if is_empty { bytes.as_ptr() } else { bytes.as_ptr().wrapping_add(start * dtype.size_bytes()) };
    let memory = Foreign {
        data: at.cast_mut(),
        dtype,
        dims: &signed(&dims),
        strides: Some(&strides),
        writable: false,
    };
    // SAFETY: all elements that sizes and strides reach are in the storage (checked above). The owner holds a reference to the storage
    // for as long as any tensor has it, and `Flex` writes only to storage with one reference.
    Ok(unsafe { StridedTensor::from_foreign(memory, Arc::new(x.data_arc())) }?)
}

/// New memory for a tensor of `Flex`, and a tensor to write into it. Fields are dropped in their order.
pub(crate) struct Place<T> {
    tensor: StridedTensor,
    memory: Vec<T>,
    dims: Vec<usize>,
}

impl<T: burn::tensor::Element + bytemuck::Pod> Place<T> {
    /// Row-major memory of these sizes, of zeros.
    pub(crate) fn new(call: &'static str, dims: &[usize]) -> Result<Place<T>> {
        let dtype = dtype_of(T::dtype()).ok_or_else(|| Error::DType {
            call,
            got: format!("{:?}", T::dtype()),
            rule: "blocktensor has F32, BF16 and F16",
            remedy: "convert it with `cast(DType::F32)`",
        })?;
        let mut memory = vec![T::zeroed(); dims.iter().product()];
        let place = Foreign {
            data: memory.as_mut_ptr().cast(),
            dtype,
            dims: &signed(dims),
            strides: None,
            writable: true,
        };
        // SAFETY: the memory has as many elements as the sizes say, and lives as long as the tensor, beside it. `into_flex` is the only
        // way to it, and ends the tensor first.
        let tensor = unsafe { StridedTensor::from_foreign(place, Arc::new(())) }?;
        Ok(Place { tensor, memory, dims: dims.to_vec() })
    }

    /// The tensor to write.
    pub(crate) fn tensor(&mut self) -> &mut StridedTensor {
        &mut self.tensor
    }

    /// The memory as a tensor of `Flex`.
    pub(crate) fn into_flex(self) -> FlexTensor {
        let Place { tensor, memory, dims } = self;
        drop(tensor);
        FlexTensor::new(Bytes::from_elems(memory), Layout::contiguous(Shape::from(dims)), T::dtype())
    }
}

/// The library's type for one of burn's floats.
fn dtype_of(dtype: burn::tensor::DType) -> Option<DType> {
    Some(match dtype {
        burn::tensor::DType::F32 => DType::F32,
        burn::tensor::DType::BF16 => DType::BF16,
        burn::tensor::DType::F16 => DType::F16,
        _ => return None,
    })
}

/// Sizes of memory are below 2^63.
fn signed(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
}
