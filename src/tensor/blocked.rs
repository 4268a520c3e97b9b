//! `BlockedTensor`: logical sizes, dtype and layout. The order of its bytes is private.

use std::sync::Arc;

use super::quantization::Shared;
use super::strided::StridedTensor;
use crate::buffer::Buffer;
use crate::dtype::{DType, Element};
use crate::error::{Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::reorder;

/// An opaque tensor in a blocked [`Layout`].
///
/// Its logical sizes, dtype and the name of its layout can be read. It has no strides, data pointer or views. To read its
/// elements, reorder it with [`to_strided`](BlockedTensor::to_strided), which copies. The padding of its layout (the *channel
/// tail*) is always zero. A blocked tensor is immutable once made, so clones are cheap and threads may share it.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 2, 1, 2])?;
/// let blocked = x.to_blocked(&Layout::NCHW16C)?;
/// assert_eq!((blocked.dims(), blocked.bytes()), (&[1, 2, 1, 2][..], 16 * 2 * 4));
/// assert_eq!(blocked.to_strided(MemoryFormat::Contiguous)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
/// A program that uses strides, a pointer or views does not compile:
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.strides();
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.as_slice::<f32>();
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.narrow(1, 0, 8);
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.permute(&[0, 2, 3, 1]);
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.view(&[16, 4]);
/// ```
/// ```compile_fail,E0624
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], blocktensor::DType::F32, &blocktensor::Layout::NCHW16C).unwrap();
/// x.data::<f32>();
/// ```
///
/// A layout without inner blocks is refused: strides can express it, so it belongs to a [`StridedTensor`].
#[derive(Clone)]
pub struct BlockedTensor {
    pub(crate) storage: Arc<Buffer>,
    pub(super) dims: Dims,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
    pub(crate) quantization: Shared,
}

/// Sizes and storage size in **bytes** of a blocked tensor, checked on behalf of `op`.
pub(crate) fn checked(
    op: &'static str,
    dims: &[usize],
    layout: &Layout,
    dtype: DType,
) -> Result<(Dims, usize)> {
    layout.check_blocks(op, "use a strided tensor and `to_memory_format`")?;
    let sizes = Dims::new(op, "dims", dims)?;
    let elements = layout.elements(op, dims)?;
    Ok((sizes, layout.bytes_of(op, dims, elements, dtype)?))
}

impl BlockedTensor {
    /// Recycled storage for a result. The caller writes every byte, padding included.
    pub(crate) fn for_result(
        op: &'static str,
        dims: &[usize],
        layout: &Layout,
        dtype: DType,
    ) -> Result<BlockedTensor> {
        let (dims, bytes) = checked(op, dims, layout, dtype)?;
        let storage = Arc::new(Buffer::for_result(bytes)?);
        Ok(BlockedTensor { storage, dims, layout: *layout, dtype, quantization: None })
    }

    /// The storage, padding included, as a dense strided tensor with these sizes: the outer dimensions and the inner blocks,
    /// in memory order. It does not have the scales and zero points.
    pub(crate) fn storage_view(&self, op: &'static str, dims: Dims) -> Result<StridedTensor> {
        StridedTensor::of_storage(op, Arc::clone(&self.storage), dims, self.dtype)
    }

    /// Runs [`check_tail`](Self::check_tail) if `BLOCKTENSOR_CHECK_TAILS` is set. The variable is for users who write kernels
    /// or suspect ours. Every blocked result of an op and of a packed convolution is then read once more.
    pub(crate) fn check_tail_if_asked(&self) -> Result<()> {
        static ASKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        let asked = *ASKED.get_or_init(|| {
            std::env::var_os("BLOCKTENSOR_CHECK_TAILS").is_some_and(|v| !v.is_empty() && v != "0")
        });
        if asked { self.check_tail() } else { Ok(()) }
    }

    /// Every byte, padding included, for a kernel to read.
    pub(crate) fn storage_bytes(&self) -> &[u8] {
        self.storage.as_bytes()
    }

    /// Every byte, for a kernel to write.
    ///
    /// # Panics
    /// If another tensor shares the storage: this is for new results only.
    pub(crate) fn storage_bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut().expect("a result that was just made")
    }

    /// As [`storage_bytes`](Self::storage_bytes); `None` while another tensor shares the storage.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(Buffer::exclusive(&mut self.storage)?.as_bytes_mut())
    }

    /// Sizes, in logical order.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Number of logical dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of logical elements, without padding.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The layout. It can be compared and hashed, and prints as its name.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// **Bytes** of storage, padding included.
    pub fn bytes(&self) -> usize {
        self.storage.len()
    }

    /// Checks that the padding is zero. Every kernel must leave it zero: a single NaN there spoils convolutions.
    ///
    /// # Errors
    /// `InvalidArgument` with the index of the first padding element that is not zero.
    pub fn check_tail(&self) -> Result<()> {
        let elem = self.dtype.size_bytes();
        match reorder::first_dirty_lane(elem, &self.layout, &self.dims, self.storage.as_bytes()) {
            None => Ok(()),
            Some(at) => fail!(
                InvalidArgument,
                "check_tail",
                "self",
                format!("element {at} of {self:?}, a padding element, which is not zero"),
                "the padding of a blocked tensor must be zero",
                "report the op that wrote it"
            ),
        }
    }

    /// The storage, padding included. The caller must know the dtype.
    pub(crate) fn data<E: Element>(&self) -> &[E] {
        debug_assert_eq!(E::DTYPE, self.dtype);
        self.storage.as_slice()
    }

    /// The storage, or `None` while another tensor shares it. A caller that writes it must leave the padding zero.
    pub(crate) fn data_mut<E: Element>(&mut self) -> Option<&mut [E]> {
        debug_assert_eq!(E::DTYPE, self.dtype);
        Some(Buffer::exclusive(&mut self.storage)?.as_mut_slice())
    }
}

impl std::fmt::Debug for BlockedTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quantization = self.quantization.as_ref().map_or(String::new(), |q| q.describe());
        write!(f, "BlockedTensor {{ {} {} {}{quantization} }}", self.dtype, self.dims, self.layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dirty_tail_is_found_and_told() {
        let mut x = BlockedTensor::full(&[1, 3, 2, 2], 1f32, &Layout::NCHW16C).unwrap();
        x.check_tail().unwrap();
        x.data_mut::<f32>().unwrap()[16 + 5] = f32::NAN;
        let e = x.check_tail().unwrap_err().to_string();
        assert!(e.contains("element 21") && e.contains("nChw16c"), "{e}");
        assert_eq!(x.data::<f32>()[16], 1.0);
        let shared = x.clone();
        assert!(x.data_mut::<f32>().is_none());
        drop(shared);
    }

    /// The variable is read once per process, so the test runs itself again with it set.
    #[test]
    fn the_environment_can_ask_for_a_check_of_every_result() {
        let mut x = BlockedTensor::full(&[1, 3, 2, 2], 1f32, &Layout::NCHW16C).unwrap();
        x.data_mut::<f32>().unwrap()[16 + 5] = 7.0;
        if std::env::var_os("BLOCKTENSOR_CHECK_TAILS").is_some() {
            let e = x.check_tail_if_asked().unwrap_err().to_string();
            assert!(e.contains("element 21"), "{e}");
            return;
        }
        x.check_tail_if_asked().unwrap();
        let this = "tensor::blocked::tests::the_environment_can_ask_for_a_check_of_every_result";
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", this])
            .env("BLOCKTENSOR_CHECK_TAILS", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
    }
}
