//! `to_dtype`: the same numbers with another element type. The layout does not change.

use half::{bf16, f16};

use super::blocked::BlockedTensor;
use super::strided::StridedTensor;
use crate::dtype::{DType, Element};
use crate::elementwise::map1;
use crate::error::Result;
use crate::layout::dims::Dims;

/// A number as another type: the `as` conversion, with f16 and bf16 converted by way of f32.
trait As<T> {
    fn cast(self) -> T;
}

macro_rules! casts {
    ($($from:ty),* => $to:tt) => {$(
        casts!(@ $from => $to);
    )*};
    (@ $from:ty => [$($to:ty),*]) => {$(
        impl As<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                self as $to
            }
        }
    )*};
}
casts!(f32, u8, i8, i32 => [f32, u8, i8, i32]);

macro_rules! halves {
    ($($half:ty: $($plain:ty)*;)*) => {$(
        $(
            impl As<$plain> for $half {
                #[inline(always)]
                fn cast(self) -> $plain {
                    self.to_f32() as $plain
                }
            }
            impl As<$half> for $plain {
                #[inline(always)]
                fn cast(self) -> $half {
                    <$half>::from_f32(self as f32)
                }
            }
        )*
        impl As<bf16> for $half {
            #[inline(always)]
            fn cast(self) -> bf16 {
                bf16::from_f32(self.to_f32())
            }
        }
        impl As<f16> for $half {
            #[inline(always)]
            fn cast(self) -> f16 {
                f16::from_f32(self.to_f32())
            }
        }
    )*};
}
halves! {
    bf16: f32 u8 i8 i32;
    f16: f32 u8 i8 i32;
}

fn cast(x: &StridedTensor, to: DType) -> Result<StridedTensor> {
    fn typed<A: Element + As<B>, B: Element>(x: &StridedTensor) -> Result<StridedTensor> {
        map1("to_dtype", x, |a: A| -> B { a.cast() })
    }
    macro_rules! by_type {
        ($($from:ident $a:ty),*) => {
            match x.dtype() {
                $(DType::$from => by_type!(@ $a),)*
            }
        };
        (@ $a:ty) => {
            match to {
                DType::F32 => typed::<$a, f32>(x),
                DType::BF16 => typed::<$a, bf16>(x),
                DType::F16 => typed::<$a, f16>(x),
                DType::U8 => typed::<$a, u8>(x),
                DType::S8 => typed::<$a, i8>(x),
                DType::S32 => typed::<$a, i32>(x),
            }
        };
    }
    by_type!(F32 f32, BF16 bf16, F16 f16, U8 u8, S8 i8, S32 i32)
}

impl StridedTensor {
    /// The same numbers with another dtype, in the same memory format. Returns the tensor itself if it already has that
    /// dtype.
    ///
    /// As PyTorch's `Tensor.to(dtype)`. To bf16 and f16: round to nearest, ties to even (from s32 by way of f32). From
    /// floating point to integers: towards zero; numbers outside the range are clamped and NaN becomes 0 (PyTorch leaves both
    /// undefined). From integer to integer: the low bits.
    ///
    /// # Errors
    /// `Overflow`, `OutOfMemory`.
    pub fn to_dtype(&self, dtype: DType) -> Result<StridedTensor> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        cast(self, dtype)
    }
}

impl BlockedTensor {
    /// The same numbers with another dtype, in the same layout: see [`StridedTensor::to_dtype`].
    ///
    /// # Errors
    /// `Overflow`, `OutOfMemory`.
    pub fn to_dtype(&self, dtype: DType) -> Result<BlockedTensor> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        // Zero is zero in every dtype, so the padding is converted with the rest.
        let elements = self.bytes() / self.dtype().size_bytes();
        let all = cast(&self.storage_view("to_dtype", Dims::from_slice(&[elements]))?, dtype)?;
        Ok(BlockedTensor { storage: all.storage, dims: self.dims, layout: self.layout, dtype })
    }
}
