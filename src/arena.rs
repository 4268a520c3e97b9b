//! `Arena`: one block of storage, lent to many tensors in pieces that do not overlap.
//!
//! An executor knows before a run how long each intermediate tensor lives. It takes one block for all of them, and puts
//! tensors that do not live at the same time in the same place.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::{ALIGN, Buffer};
use crate::error::{Result, fail};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::Tensor;
use crate::tensor::desc::TensorDesc;

/// One block of storage, lent to many tensors, strided and blocked, in pieces that do not overlap. A piece is free again when
/// the last tensor in it is dropped. Clones lend from the same block, which lives as long as a piece of it.
///
/// ```
/// use blocktensor::{Arena, DType, Layout, MemoryFormat, TensorDesc};
/// let arena = Arena::new(8192)?;
/// let blocked = TensorDesc::blocked(&[1, 16, 4, 4], DType::F32, &Layout::NCHW16C)?;
/// let plain = TensorDesc::strided(&[1, 16, 4, 4], DType::F32, MemoryFormat::ChannelsLast)?;
/// let first = arena.tensor(0, &blocked)?;
/// let second = arena.tensor(1024, &plain)?;
/// assert!(arena.tensor(512, &plain).is_err()); // the first tensor is there
/// drop(first);
/// arena.tensor(0, &plain)?;
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arena {
    block: Arc<Block>,
}

#[derive(Debug)]
struct Block {
    buffer: Buffer,
    /// Where pieces that are lent begin, and where they end, in **bytes**.
    lent: Mutex<BTreeMap<usize, usize>>,
}

/// Keeps the block while a tensor uses a piece of it, and ends the loan.
struct Loan {
    block: Arc<Block>,
    /// Where the piece begins, unless it is empty.
    start: Option<usize>,
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(start) = &self.start {
            self.block.lent.lock().unwrap_or_else(PoisonError::into_inner).remove(start);
        }
    }
}

impl Arena {
    /// A block of so many **bytes**, which begins at a multiple of [`ALIGN`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(bytes: usize) -> Result<Arena> {
        let block = Block { buffer: Buffer::zeroed(bytes)?, lent: Mutex::default() };
        Ok(Arena { block: Arc::new(block) })
    }

    /// **Bytes** of the block.
    pub fn bytes(&self) -> usize {
        self.block.buffer.len()
    }

    /// A tensor at so many **bytes** from the beginning, of **unspecified** content, its padding included: what was there before.
    /// It is for results: an operator and a reorder write every byte. `BLOCKTENSOR_CHECK_TAILS` checks that they do.
    ///
    /// # Errors
    /// `OutOfBounds` for a place that reaches past the end; `Misaligned` for one that is no multiple of [`ALIGN`]; `Aliasing`
    /// where a piece that is still lent is there; `KeyMismatch` for a tensor of another crate's backend.
    pub fn tensor(&self, offset: usize, desc: &TensorDesc) -> Result<Tensor> {
        let buffer = self.piece("Arena::tensor", offset, desc.bytes()?)?;
        Ok(desc.clone().with_storage(Arc::new(buffer)))
    }

    /// A scratchpad of so many **bytes** at a place. It does not grow while its bytes suffice.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub fn scratchpad(&self, offset: usize, bytes: usize) -> Result<Scratchpad> {
        self.piece("Arena::scratchpad", offset, bytes).map(Scratchpad::of_buffer)
    }

    #[allow(unsafe_code)]
    fn piece(&self, op: &'static str, offset: usize, bytes: usize) -> Result<Buffer> {
        let whole = self.bytes();
        let Some(end) = offset.checked_add(bytes).filter(|&end| end <= whole) else {
            let got = format!("{bytes} bytes from {offset} on");
            let rule = format!("the arena has {whole}");
            fail!(OutOfBounds, op, "offset", got, rule, "make a larger arena, or take another place")
        };
        if !offset.is_multiple_of(ALIGN) {
            let rule = format!("pieces begin at multiples of {ALIGN}");
            fail!(Misaligned, op, "offset", offset.to_string(), rule, "round it up");
        }
        let mut lent = self.block.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let before = lent.range(..end).next_back();
        if let Some((&start, &stop)) = before.filter(|&(_, &stop)| bytes > 0 && stop > offset) {
            let got = format!("bytes {offset} to {end}");
            let rule = format!("bytes {start} to {stop} are lent");
            fail!(Aliasing, op, "offset", got, rule, "drop the tensor that is there, or take another place");
        }
        // A piece without bytes overlaps nothing.
        let start = (bytes > 0).then_some(offset);
        if let Some(start) = start {
            lent.insert(start, end);
        }
        let loan = Arc::new(Loan { block: Arc::clone(&self.block), start });
        // SAFETY: the bytes lie in the block, which the loan keeps alive, and are initialised. No other piece overlaps them
        // while the loan lives, as `lent` shows, and the block itself is never read or written.
        unsafe {
            let start = NonNull::new_unchecked(self.block.buffer.as_ptr().add(offset));
            Ok(Buffer::foreign(start, bytes, loan, true))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::error::Error;
    use crate::layout::blocked::Layout;
    use crate::layout::memory_format::MemoryFormat;
    use crate::tensor::strided::StridedTensor;

    #[test]
    fn a_scratchpad_is_a_piece_until_more_is_asked_for() {
        let arena = Arena::new(512).unwrap();
        let row = TensorDesc::strided(&[32], DType::F32, MemoryFormat::Contiguous).unwrap();
        let mut scratchpad = arena.scratchpad(128, 256).unwrap();
        assert!(matches!(arena.tensor(128, &row), Err(Error::Aliasing(_))));
        let start = scratchpad.reserve(256).unwrap().as_ptr();
        assert_eq!(start.addr() - arena.block.buffer.as_ptr().addr(), 128);
        // It takes memory of its own, and gives its piece back.
        assert_eq!(scratchpad.reserve(257).unwrap().len(), 257);
        arena.tensor(128, &row).unwrap();
    }

    #[test]
    fn pieces_never_overlap_and_are_free_when_their_last_tensor_goes() {
        let arena = Arena::new(1024).unwrap();
        let row = |n| TensorDesc::strided(&[n], DType::F32, MemoryFormat::Contiguous).unwrap();
        let first = arena.tensor(128, &row(64)).unwrap();
        let again = first.clone();
        for (offset, n) in [(128, 1), (192, 16), (64, 32), (0, 200), (320, 16)] {
            assert!(matches!(arena.tensor(offset, &row(n)), Err(Error::Aliasing(_))), "{offset} {n}");
        }
        // A piece without bytes overlaps nothing, and its end ends no other loan.
        drop(arena.tensor(128, &row(0)).unwrap());
        arena.tensor(192, &row(0)).unwrap();
        arena.tensor(1024, &row(0)).unwrap();
        drop(first);
        assert!(arena.tensor(128, &row(1)).is_err(), "a clone is still there");
        arena.tensor(0, &row(32)).unwrap();
        arena.tensor(384, &row(160)).unwrap();
        drop(again);
        arena.tensor(0, &row(256)).unwrap();
        assert!(matches!(arena.tensor(64, &row(241)), Err(Error::OutOfBounds(_))));
        assert!(matches!(arena.tensor(4, &row(1)), Err(Error::Misaligned(_))));
        assert!(matches!(arena.tensor(usize::MAX - 63, &row(64)), Err(Error::OutOfBounds(_))));
    }

    #[test]
    fn a_blocked_tensor_is_clean_when_it_was_written_and_outlives_its_arena() {
        let arena = Arena::new(4096).unwrap();
        let dirty = TensorDesc::strided(&[1024], DType::F32, MemoryFormat::Contiguous).unwrap();
        let Tensor::Strided(mut dirty) = arena.tensor(0, &dirty).unwrap() else { panic!("it is strided") };
        dirty.result_data::<f32>().fill(f32::NAN);
        drop(dirty);
        let desc = TensorDesc::blocked(&[1, 3, 2, 2], DType::F32, &Layout::NCHW16C).unwrap();
        let Tensor::Blocked(mut blocked) = arena.tensor(0, &desc).unwrap() else { panic!("it is blocked") };
        drop(arena);
        // Nothing is cleared ahead: whoever writes the tensor writes its padding.
        assert!(blocked.data::<f32>().iter().all(|v| v.is_nan()) && blocked.check_tail().is_err());
        let x = StridedTensor::full(&[1, 3, 2, 2], 2f32, MemoryFormat::Contiguous).unwrap();
        x.to_blocked_into(&mut blocked).unwrap();
        blocked.check_tail().unwrap();
        assert_eq!(blocked.dims(), [1, 3, 2, 2]);
    }
}
