//! `to_dtype`: the same numbers with another element type. The layout does not change.

use half::{bf16, f16};

use super::blocked::BlockedTensor;
use super::strided::StridedTensor;
use crate::dtype::{DType, Element};
use crate::elementwise::{MapDestination, map1_to};
use crate::error::Result;
use crate::layout::dims::Dims;
use crate::math;
use crate::tensor::any::{TensorMut, TensorRef};
use crate::tensor::quantization::refuse;
use crate::tensor::result_format::FormatRule;

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
    ($($half:ty, $widen:path, $round:path: $($plain:ty)*;)*) => {$(
        $(
            impl As<$plain> for $half {
                #[inline(always)]
                fn cast(self) -> $plain {
                    $widen(self) as $plain
                }
            }
            impl As<$half> for $plain {
                #[inline(always)]
                fn cast(self) -> $half {
                    $round(self as f32)
                }
            }
        )*
        impl As<bf16> for $half {
            #[inline(always)]
            fn cast(self) -> bf16 {
                math::to_bf16($widen(self))
            }
        }
        impl As<f16> for $half {
            #[inline(always)]
            fn cast(self) -> f16 {
                f16::from_f32($widen(self))
            }
        }
    )*};
}
halves! {
    bf16, math::widen, math::to_bf16: f32 u8 i8 i32;
    f16, f16::to_f32, f16::from_f32: f32 u8 i8 i32;
}

/// Writes the numbers of `x` as the elements of a result. With `saturate`, a finite number beyond the range of the result becomes the
/// nearest one in it.
pub(crate) fn cast_to(
    op: &'static str,
    dst: &mut StridedTensor,
    x: &StridedTensor,
    saturate: bool,
) -> Result<()> {
    cast(op, dst.dtype(), TensorMut::Strided(dst), x, saturate)
}

/// As [`cast_to`], for tensors of one layout.
pub(crate) fn cast_blocked_to(
    op: &'static str,
    dst: &mut BlockedTensor,
    x: &BlockedTensor,
    saturate: bool,
) -> Result<()> {
    // Zero is zero in every dtype, so the padding is converted with the rest.
    let elements = x.bytes() / x.dtype().size_bytes();
    let all = x.storage_view(op, Dims::from_slice(&[elements]))?;
    cast(op, dst.dtype(), TensorMut::Blocked(dst), &all, saturate)
}

/// A finite number within the range; an infinity or NaN as it is.
#[inline(always)]
fn within(x: f32, largest: f32) -> f32 {
    let limited = math::clamp(x, -largest, largest);
    if x.is_infinite() { x } else { limited }
}

fn cast(op: &'static str, to: DType, dst: TensorMut<'_>, x: &StridedTensor, saturate: bool) -> Result<()> {
    fn typed<A: Element + As<B>, B: Element>(
        op: &'static str,
        dst: TensorMut<'_>,
        x: &StridedTensor,
    ) -> Result<()> {
        mapped::<A, B>(op, dst, x, |a| a.cast())
    }
    fn mapped<A: Element, B: Element>(
        op: &'static str,
        dst: TensorMut<'_>,
        x: &StridedTensor,
        f: impl Fn(A) -> B + Sync,
    ) -> Result<()> {
        let to = match dst {
            TensorMut::Strided(t) => MapDestination::<B>::of_result(t),
            TensorMut::Blocked(t) => {
                let elements = t.data_mut::<B>().expect("a result that nobody else uses");
                MapDestination::dense(op, x.dims, elements, None)?
            }
            TensorMut::Opaque(_) => unreachable!("a result of our own"),
        };
        map1_to(op, to, x, f)
    }
    match (x.dtype(), to) {
        (DType::F32, DType::BF16) if saturate => {
            return mapped(op, dst, x, |a| math::to_bf16(within(a, math::widen(bf16::MAX))));
        }
        (DType::F32, DType::F16) if saturate => {
            return mapped(op, dst, x, |a| f16::from_f32(within(a, f32::from(f16::MAX))));
        }
        (DType::BF16, DType::F16) if saturate => {
            return mapped(op, dst, x, |a| f16::from_f32(within(math::widen(a), f32::from(f16::MAX))));
        }
        (DType::S32, DType::F16) if saturate => {
            return mapped(op, dst, x, |a: i32| f16::from_f32(within(a as f32, f32::from(f16::MAX))));
        }
        (DType::S32, DType::U8) if saturate => {
            return mapped(op, dst, x, |a: i32| a.clamp(0, u8::MAX.into()) as u8);
        }
        (DType::S32, DType::S8) if saturate => {
            return mapped(op, dst, x, |a: i32| a.clamp(i8::MIN.into(), i8::MAX.into()) as i8);
        }
        (DType::U8, DType::S8) if saturate => return mapped(op, dst, x, |a: u8| a.min(127).cast_signed()),
        (DType::S8, DType::U8) if saturate => return mapped(op, dst, x, |a: i8| a.max(0).cast_unsigned()),
        _ => {}
    }
    macro_rules! by_type {
        ($($from:ident $a:ty),*) => {
            match x.dtype() {
                $(DType::$from => by_type!(@ $a),)*
            }
        };
        (@ $a:ty) => {
            match to {
                DType::F32 => typed::<$a, f32>(op, dst, x),
                DType::BF16 => typed::<$a, bf16>(op, dst, x),
                DType::F16 => typed::<$a, f16>(op, dst, x),
                DType::U8 => typed::<$a, u8>(op, dst, x),
                DType::S8 => typed::<$a, i8>(op, dst, x),
                DType::S32 => typed::<$a, i32>(op, dst, x),
            }
        };
    }
    by_type!(F32 f32, BF16 bf16, F16 f16, U8 u8, S8 i8, S32 i32)
}

/// Why a quantised tensor has no other dtype.
const AS_NUMBERS: &str = "scales and zero points belong to its integers, and another dtype has others";

impl StridedTensor {
    /// The same numbers with another dtype, in the same memory format. Returns the tensor itself if it already has that
    /// dtype.
    ///
    /// As PyTorch's `Tensor.to(dtype)`. To bf16 and f16: round to nearest, ties to even (from s32 by way of f32). From
    /// floating point to integers: towards zero; numbers outside the range are clamped and NaN becomes 0 (PyTorch leaves both
    /// undefined). From integer to integer: the low bits.
    ///
    /// # Errors
    /// `Overflow`, `OutOfMemory`; `UnsupportedDType` for another dtype of a tensor with scales and zero points.
    pub fn to_dtype(&self, dtype: DType) -> Result<StridedTensor> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        refuse("to_dtype", "self", TensorRef::Strided(self), AS_NUMBERS)?;
        let mut dst = FormatRule::ElementWise.empty_result("to_dtype", &[self], &self.dims, dtype)?;
        cast_to("to_dtype", &mut dst, self, false)?;
        Ok(dst)
    }
}

impl BlockedTensor {
    /// The same numbers with another dtype, in the same layout: see [`StridedTensor::to_dtype`].
    ///
    /// # Errors
    /// As there.
    pub fn to_dtype(&self, dtype: DType) -> Result<BlockedTensor> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        refuse("to_dtype", "self", TensorRef::Blocked(self), AS_NUMBERS)?;
        let mut dst = BlockedTensor::for_result("to_dtype", &self.dims, &self.layout, dtype)?;
        cast_blocked_to("to_dtype", &mut dst, self, false)?;
        Ok(dst)
    }
}
