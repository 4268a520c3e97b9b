//! Reorders between candle's tensors and the library's: the calls of this crate that move data, once each.

use blocktensor::{BlockedTensor, DType, Layout, MemoryFormat, Operand, StridedTensor, TensorRef};
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Storage, Tensor, WithDType};

use crate::error::{Error, Result};
use crate::memory::{self, Place};

/// The elements of a tensor in the blocked layout of this machine for activations of its rank. Makes one copy, whatever the strides:
/// candle's storage is read where it is, under its lock.
///
/// ```
/// use blocktensor_candle::{to_blocked, to_candle};
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::arange(0f32, 48.0, &Device::Cpu)?.reshape((1, 4, 4, 3))?.permute((0, 3, 1, 2))?; // channels last
/// let blocked = to_blocked(&x)?;
/// let back = to_candle(&blocked)?;
/// assert_eq!((back - x)?.abs()?.sum_all()?.to_scalar::<f32>()?, 0.0);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// `Device` for a tensor that is not the CPU's, `DType` for elements that the library does not have; `Engine` with `RankMismatch` for
/// ranks without such a layout, `ReorderDenied`, `OutOfMemory`.
#[track_caller]
pub fn to_blocked(x: &Tensor) -> Result<BlockedTensor> {
    to_blocked_in(x, &Layout::native_activation(x.rank())?)
}

/// As [`to_blocked`], in any blocked layout.
///
/// # Errors
/// As `to_blocked`; `Engine` with `LayoutMismatch` for a layout without inner blocks.
#[track_caller]
pub fn to_blocked_in(x: &Tensor, layout: &Layout) -> Result<BlockedTensor> {
    let (storage, of) = x.storage_and_layout();
    let x = memory::borrow("to_blocked", on_cpu("to_blocked", &storage)?, of)?;
    Ok(x.to_blocked(layout)?)
}

/// A row-major copy of a tensor, such as weights to pack.
///
/// # Errors
/// As [`to_blocked`], for any rank up to 8.
#[track_caller]
pub fn to_strided(x: &Tensor) -> Result<StridedTensor> {
    let (storage, of) = x.storage_and_layout();
    let x = memory::borrow("to_strided", on_cpu("to_strided", &storage)?, of)?;
    Ok(x.copy(MemoryFormat::Contiguous)?)
}

/// The elements of a tensor of the library as a new row-major tensor of candle's, on the CPU. Makes one copy, into candle's memory.
///
/// # Errors
/// `DType` for s8, which candle does not have; `Invalid` for a tensor of another crate's backend; `Engine` with `ReorderDenied`.
#[track_caller]
pub fn to_candle<T: Operand>(x: &T) -> Result<Tensor> {
    let x = x.tensor_ref();
    let storage = match x.dtype() {
        DType::F32 => CpuStorage::F32(written(x)?),
        DType::BF16 => CpuStorage::BF16(written(x)?),
        DType::F16 => CpuStorage::F16(written(x)?),
        DType::U8 => CpuStorage::U8(written(x)?),
        DType::S32 => CpuStorage::I32(written(x)?),
        other => {
            return Err(Error::DType {
                call: "to_candle",
                got: other.name().to_string(),
                rule: "candle has no such type",
                remedy: "convert it with `to_dtype(DType::S32)?`",
            });
        }
    };
    Ok(of_storage(storage, x.dims()))
}

/// The elements in candle's order, in memory that candle may own.
#[track_caller]
fn written<T: WithDType>(x: TensorRef<'_>) -> Result<Vec<T>> {
    let mut place = Place::<T>::new("to_candle", x.dims())?;
    match x {
        TensorRef::Strided(x) => x.copy_into(place.tensor())?,
        TensorRef::Blocked(x) => x.to_strided_into(place.tensor())?,
        other => {
            return Err(Error::Invalid {
                call: "to_candle",
                got: other.describe(),
                rule: "only strided and blocked tensors can be written here".to_string(),
                remedy: "reorder it to a strided one with its backend's own call".to_string(),
            });
        }
    }
    Ok(place.into_vec())
}

pub(crate) fn of_storage(storage: CpuStorage, dims: &[usize]) -> Tensor {
    Tensor::from_storage(Storage::Cpu(storage), dims, BackpropOp::none(), false)
}

/// Storage that can be read here.
pub(crate) fn on_cpu<'a>(call: &'static str, storage: &'a Storage) -> Result<&'a CpuStorage> {
    match storage {
        Storage::Cpu(storage) => Ok(storage),
        Storage::Cuda(_) => Err(Error::Device { call, got: "on a CUDA device" }),
        Storage::Metal(_) => Err(Error::Device { call, got: "on a Metal device" }),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{CudaStorage, MetalStorage};

    use super::*;

    /// Without its feature, candle makes no tensor of such storage.
    #[test]
    fn storage_of_other_devices_is_an_error() {
        let error = on_cpu("to_blocked", &Storage::Cuda(CudaStorage)).map(|_| ()).unwrap_err();
        let wanted = "`to_blocked`: got a tensor on a CUDA device; only memory of the CPU can be read here; move it with \
                      `to_device(&Device::Cpu)?`";
        assert_eq!(error.to_string(), wanted);
        // With RUST_BACKTRACE, candle adds one.
        assert!(candle_core::Error::from(error).to_string().starts_with(wanted));
        let error = on_cpu("to_blocked", &Storage::Metal(MetalStorage)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("on a Metal device"), "{error}");
    }
}
