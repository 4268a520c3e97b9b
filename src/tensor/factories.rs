//! `empty`, `zeros`, `ones`, `full`, and their `*_like` variants.

use std::sync::Arc;

use half::{bf16, f16};

use super::any::TensorRef;
use super::blocked::{BlockedTensor, checked};
use super::formats::stated_only;
use super::quantization::refuse;
use super::reorder::same_dtype;
use super::strided::{StridedTensor, byte_count, element_count};
use crate::buffer::Buffer;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::reorder;

/// Evaluates `$make` with `$one` bound to the number one of the dtype.
macro_rules! with_one {
    ($dtype:expr, $one:ident => $make:expr) => {
        match $dtype {
            DType::F32 => {
                let $one = 1f32;
                $make
            }
            DType::BF16 => {
                let $one = bf16::ONE;
                $make
            }
            DType::F16 => {
                let $one = f16::ONE;
                $make
            }
            DType::U8 => {
                let $one = 1u8;
                $make
            }
            DType::S8 => {
                let $one = 1i8;
                $make
            }
            DType::S32 => {
                let $one = 1i32;
                $make
            }
        }
    };
}

/// Why a quantised tensor is not filled with a value.
const AS_NUMBER: &str = "the value could be the integer or the number that it stands for";

impl StridedTensor {
    /// A tensor whose content is **unspecified** (some earlier result, or zeros). PyTorch's `empty(memory_format)`.
    ///
    /// # Errors
    /// As [`MemoryFormat::strides`]; `Overflow`, `OutOfMemory`.
    pub fn empty(dims: &[usize], dtype: DType, format: MemoryFormat) -> Result<StridedTensor> {
        StridedTensor::made("empty", dims, dtype, format)
    }

    fn made(op: &'static str, dims: &[usize], dtype: DType, format: MemoryFormat) -> Result<StridedTensor> {
        let strides = format.strides(op, dims)?;
        let made = StridedTensor::for_result(op, Dims::new(op, "dims", dims)?, strides, dtype)?;
        Ok(StridedTensor { format_tag: stated_only(format), ..made })
    }

    /// A tensor of zeros. PyTorch's `zeros(memory_format)`.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn zeros(dims: &[usize], dtype: DType, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "zeros";
        let d = Dims::new(op, "dims", dims)?;
        let strides = format.strides(op, dims)?;
        let bytes = byte_count(op, element_count(op, &d)?, dtype)?;
        let storage = Arc::new(Buffer::zeroed(bytes)?);
        let format_tag = stated_only(format);
        Ok(StridedTensor { storage, dims: d, strides, offset: 0, dtype, format_tag, quantization: None })
    }

    /// A tensor of ones. PyTorch's `ones(memory_format)`.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn ones(dims: &[usize], dtype: DType, format: MemoryFormat) -> Result<StridedTensor> {
        with_one!(dtype, one => StridedTensor::full(dims, one, format))
    }

    /// A tensor filled with `value`. PyTorch's `full(memory_format)`.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn full<E: Element>(dims: &[usize], value: E, format: MemoryFormat) -> Result<StridedTensor> {
        Ok(StridedTensor::made("full", dims, E::DTYPE, format)?.filled(value))
    }

    /// A tensor of the same sizes and dtype whose content is **unspecified**, with the same scales and zero points if there are
    /// any. `Preserve` gives the strides of [`copy`](Self::copy). PyTorch's `empty_like(memory_format)`.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `OutOfMemory`.
    pub fn empty_like(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "empty_like";
        let (strides, tag) = self.like(op, format)?;
        let made = StridedTensor::for_result(op, self.dims, strides, self.dtype)?;
        Ok(StridedTensor { format_tag: tag, quantization: self.quantization.clone(), ..made })
    }

    /// As [`empty_like`](Self::empty_like), filled with zeros. PyTorch's `zeros_like(memory_format)`.
    ///
    /// # Errors
    /// As `empty_like`; `UnsupportedDType` for a tensor with scales and zero points.
    pub fn zeros_like(&self, format: MemoryFormat) -> Result<StridedTensor> {
        refuse("zeros_like", "self", TensorRef::Strided(self), AS_NUMBER)?;
        let mut zeros = self.empty_like(format)?;
        zeros.result_bytes().fill(0);
        Ok(zeros)
    }

    /// As [`empty_like`](Self::empty_like), filled with ones. PyTorch's `ones_like(memory_format)`.
    ///
    /// # Errors
    /// As `zeros_like`.
    pub fn ones_like(&self, format: MemoryFormat) -> Result<StridedTensor> {
        refuse("ones_like", "self", TensorRef::Strided(self), AS_NUMBER)?;
        with_one!(self.dtype, one => self.full_like(one, format))
    }

    /// As [`empty_like`](Self::empty_like), filled with `value`. PyTorch's `full_like(memory_format)`.
    ///
    /// # Errors
    /// As `zeros_like`; `DTypeMismatch` if `value` is not of the tensor's element type.
    pub fn full_like<E: Element>(&self, value: E, format: MemoryFormat) -> Result<StridedTensor> {
        refuse("full_like", "self", TensorRef::Strided(self), AS_NUMBER)?;
        same_dtype("full_like", "value", E::DTYPE, self.dtype)?;
        Ok(self.empty_like(format)?.filled(value))
    }

    /// Fills a new tensor with `value`.
    fn filled<E: Element>(mut self, value: E) -> StridedTensor {
        self.result_data::<E>().fill(value);
        self
    }
}

impl BlockedTensor {
    /// A tensor whose content is **unspecified** (some earlier result, or zeros); its padding is zero.
    ///
    /// # Errors
    /// `RankMismatch` if the layout is for another rank, `LayoutMismatch` for a layout without inner blocks,
    /// `Overflow`, `OutOfMemory`.
    pub fn empty(dims: &[usize], dtype: DType, layout: &Layout) -> Result<BlockedTensor> {
        let mut made = BlockedTensor::for_result("empty", dims, layout, dtype)?;
        reorder::zero_padding(dtype.size_bytes(), layout, dims, made.storage_bytes_mut());
        Ok(made)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn zeros(dims: &[usize], dtype: DType, layout: &Layout) -> Result<BlockedTensor> {
        let (dims, bytes) = checked("zeros", dims, layout, dtype)?;
        let storage = Arc::new(Buffer::zeroed(bytes)?);
        Ok(BlockedTensor { storage, dims, layout: *layout, dtype, quantization: None })
    }

    /// A tensor of ones; its padding is zero.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn ones(dims: &[usize], dtype: DType, layout: &Layout) -> Result<BlockedTensor> {
        with_one!(dtype, one => BlockedTensor::full(dims, one, layout))
    }

    /// A tensor filled with `value`; its padding is zero.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn full<E: Element>(dims: &[usize], value: E, layout: &Layout) -> Result<BlockedTensor> {
        let mut made = BlockedTensor::for_result("full", dims, layout, E::DTYPE)?;
        let bytes = made.storage_bytes_mut();
        bytemuck::cast_slice_mut::<u8, E>(bytes).fill(value);
        reorder::zero_padding(size_of::<E>(), layout, dims, bytes);
        Ok(made)
    }

    /// A tensor of the same sizes, layout and dtype whose content is **unspecified**, with the same scales and zero points if
    /// there are any; its padding is zero.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn empty_like(&self) -> Result<BlockedTensor> {
        let made = BlockedTensor::empty(&self.dims, self.dtype, &self.layout)?;
        Ok(BlockedTensor { quantization: self.quantization.clone(), ..made })
    }

    /// A tensor of zeros of the same sizes, layout and dtype.
    ///
    /// # Errors
    /// `OutOfMemory`; `UnsupportedDType` for a tensor with scales and zero points.
    pub fn zeros_like(&self) -> Result<BlockedTensor> {
        refuse("zeros_like", "self", TensorRef::Blocked(self), AS_NUMBER)?;
        BlockedTensor::zeros(&self.dims, self.dtype, &self.layout)
    }

    /// A tensor of ones of the same sizes, layout and dtype.
    ///
    /// # Errors
    /// As `zeros_like`.
    pub fn ones_like(&self) -> Result<BlockedTensor> {
        refuse("ones_like", "self", TensorRef::Blocked(self), AS_NUMBER)?;
        BlockedTensor::ones(&self.dims, self.dtype, &self.layout)
    }

    /// A tensor filled with `value`, of the same sizes and layout.
    ///
    /// # Errors
    /// As `zeros_like`; `DTypeMismatch` if `value` is not of the tensor's element type.
    pub fn full_like<E: Element>(&self, value: E) -> Result<BlockedTensor> {
        refuse("full_like", "self", TensorRef::Blocked(self), AS_NUMBER)?;
        same_dtype("full_like", "value", E::DTYPE, self.dtype)?;
        BlockedTensor::full(&self.dims, value, &self.layout)
    }
}
