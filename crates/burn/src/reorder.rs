//! Reorders between burn's tensors and the library's.

use blocktensor::{BlockedTensor, DType, Layout, Operand, StridedTensor, TensorRef};
use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Tensor, bf16, f16};

use crate::error::{Error, Result};
use crate::memory::{self, Place};

/// The elements of a tensor in the blocked layout of this machine for activations of its rank. Makes one copy, whatever the strides.
///
/// ```
/// use blocktensor_burn::{to_blocked, to_burn};
/// use burn::tensor::{Device, Distribution, Tensor};
///
/// let x = Tensor::<4>::random([1, 4, 4, 3], Distribution::Default, &Device::flex()).permute([0, 3, 1, 2]); // channels last
/// let blocked = to_blocked(&x)?;
/// let back: Tensor<4> = to_burn(&blocked)?;
/// assert_eq!((back - x).abs().sum().into_scalar::<f32>(), 0.0);
/// # Ok::<(), blocktensor_burn::Error>(())
/// ```
///
/// # Errors
/// `Backend` for a tensor of another backend or one with autodiff, `DType`; `Invalid` for negative strides; `Engine` with `RankMismatch`
/// for ranks without such a layout, `ReorderDenied`, `OutOfMemory`.
#[track_caller]
pub fn to_blocked<const D: usize>(x: &Tensor<D>) -> Result<BlockedTensor> {
    to_blocked_in(x, &Layout::native_activation(D)?)
}

/// As [`to_blocked`], in any blocked layout.
///
/// # Errors
/// As `to_blocked`; `Engine` with `LayoutMismatch` for a layout without inner blocks.
#[track_caller]
pub fn to_blocked_in<const D: usize>(x: &Tensor<D>, layout: &Layout) -> Result<BlockedTensor> {
    let x = memory::share("to_blocked", &flex("to_blocked", x)?)?;
    Ok(x.to_blocked(layout)?)
}

/// The same elements as a strided tensor, without a copy: it has the tensor's own memory and strides.
///
/// # Errors
/// As [`to_blocked`], for any rank up to 8.
pub fn to_strided<const D: usize>(x: &Tensor<D>) -> Result<StridedTensor> {
    memory::share("to_strided", &flex("to_strided", x)?)
}

/// The elements of a tensor of the library as a new row-major tensor of `Flex`. Makes one copy, into its memory.
///
/// # Errors
/// `DType` unless it is f32, bf16 or f16; `Invalid` for another rank than `D`, and for a tensor of another crate's backend; `Engine` with
/// `ReorderDenied`.
#[track_caller]
pub fn to_burn<const D: usize, T: Operand>(x: &T) -> Result<Tensor<D>> {
    let x = x.tensor_ref();
    if x.dims().len() != D {
        return Err(Error::Invalid {
            call: "to_burn",
            got: x.describe(),
            rule: format!("the result has rank {D}"),
            remedy: "name a `Tensor` of its rank",
        });
    }
    let y = match x.dtype() {
        DType::F32 => written::<f32>(x)?,
        DType::BF16 => written::<bf16>(x)?,
        DType::F16 => written::<f16>(x)?,
        other => {
            return Err(Error::DType {
                call: "to_burn",
                got: other.name().to_string(),
                rule: "the result is a tensor of floats",
                remedy: "convert it with `to_dtype(DType::F32)?`",
            });
        }
    };
    Ok(Tensor::from_primitive::<Flex>(y))
}

/// The same tensor, row-major: a copy if its strides are others.
///
/// # Errors
/// `Backend` for a tensor of another backend or one with autodiff.
pub fn contiguous<const D: usize>(x: Tensor<D>) -> Result<Tensor<D>> {
    let x = flex("contiguous", &x)?;
    Ok(Tensor::from_primitive::<Flex>(x.to_contiguous()))
}

/// The elements in burn's order, in memory of `Flex`.
#[track_caller]
fn written<T: burn::tensor::Element + bytemuck::Pod>(x: TensorRef<'_>) -> Result<FlexTensor> {
    let mut place = Place::<T>::new("to_burn", x.dims())?;
    match x {
        TensorRef::Strided(x) => x.copy_into(place.tensor())?,
        TensorRef::Blocked(x) => x.to_strided_into(place.tensor())?,
        other => {
            return Err(Error::Invalid {
                call: "to_burn",
                got: other.describe(),
                rule: "only strided and blocked tensors can be written here".to_string(),
                remedy: "reorder it to a strided one with its backend's own call",
            });
        }
    }
    Ok(place.into_flex())
}

/// The backend's own tensor, which shares the memory.
fn flex<const D: usize>(call: &'static str, x: &Tensor<D>) -> Result<FlexTensor> {
    let device = x.device();
    let elsewhere = |_| Error::Backend { call, got: format!("{device:?}") };
    x.clone().try_into_primitive::<Flex>().map_err(elsewhere)
}
