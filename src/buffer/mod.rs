//! Storage: 64-byte aligned, always initialised, and recycled if it holds results.
//!
//! Faulting in a fresh page costs more than most kernels need to fill it: a fresh result of 51 MB costs more than the relu that
//! fills it. So the storage of results returns to a bounded pool, and is handed out again *without* being cleared: the kernel
//! that requested it writes every byte. Storage is nevertheless always initialised memory: it comes zeroed from the system,
//! and later holds some earlier result. Storage may also be a part of a mapped file.

mod recycle;

use std::alloc::{Layout as AllocLayout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Complaint, Error, Result};
use crate::{fault, threads};

pub use recycle::{
    DEFAULT_RECYCLE_LIMIT, raise_recycle_limit, recycle_limit, recycled_bytes, set_recycle_limit,
    trim_recycled,
};

/// Alignment of every buffer, in **bytes**: one cache line, one 512-bit vector.
pub const ALIGN: usize = 64;

/// Memory of at least this many **bytes** is mapped (zero pages, huge pages if the system has them) instead of allocated.
const MAP_FROM: usize = 1 << 20;

/// Memory in **bytes** that large allocations leave free, for bookkeeping: Rust ends the process where a small allocation fails.
const MARGIN: usize = 4 << 20;

/// Allocations of at least this many **bytes** are large: they leave [`MARGIN`].
pub(crate) const LARGE: usize = 64 << 10;

/// The name of the call in errors about storage.
const STORAGE: &str = "tensor storage";

/// A block of memory. Shared between tensors through an `Arc`; written only through `&mut`.
pub(crate) struct Buffer {
    ptr: NonNull<u8>,
    /// **Bytes** that the tensor may use.
    len: usize,
    origin: Origin,
    writable: bool,
    /// A number unique in the process: it distinguishes storages that have had the same address one after the other.
    id: u64,
}

/// Where memory comes from, and so how it is freed. Capacities are in **bytes**.
enum Origin {
    System {
        capacity: usize,
    },
    Recycler {
        capacity: usize,
    },
    #[cfg(all(feature = "testing", unix))]
    Guarded,
    /// There is no memory.
    Nothing,
    /// Its owner keeps it alive: a mapped file, or another library's tensor.
    Foreign {
        _owner: Arc<dyn Any + Send + Sync>,
    },
}

/// A zero-sized type with the alignment of storage.
#[repr(align(64))]
struct Aligned;

/// The next storage's id; 0 is never used.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

// SAFETY: a Buffer is the only owner of its memory, or its creator promised as much; shared access only reads it, and writing
// needs `&mut`.
unsafe impl Send for Buffer {}
// SAFETY: as above: `&Buffer` gives out `&[u8]` only.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` zero bytes that return to the system when dropped: for data that a caller provides and may keep for long.
    pub(crate) fn zeroed(len: usize) -> Result<Buffer> {
        threads::check_process(STORAGE)?;
        let capacity = round_up(len)?;
        if let Some(guarded) = Buffer::in_test(len, capacity, 0)? {
            return Ok(guarded);
        }
        Ok(Buffer::of(take_from_system(capacity)?, len, Origin::System { capacity }, true))
    }

    /// `len` bytes of **unspecified but initialised** content, for a result whose every byte will be written.
    pub(crate) fn for_result(len: usize) -> Result<Buffer> {
        threads::check_process(STORAGE)?;
        let class = size_class(len)?;
        if let Some(guarded) = Buffer::in_test(len, class, 0xff)? {
            return Ok(guarded);
        }
        let (ptr, capacity) = match recycle::pool().take(class) {
            Some(found) => found,
            None => (take_from_system(class)?, class),
        };
        Ok(Buffer::of(ptr, len, Origin::Recycler { capacity }, true))
    }

    /// No memory, for a tensor without elements (a descriptor's).
    pub(crate) fn none() -> Buffer {
        let ptr = NonNull::<Aligned>::dangling().cast();
        Buffer { ptr, len: 0, origin: Origin::Nothing, writable: false, id: next_id() }
    }

    /// Whether it belongs to a tensor without elements (a descriptor's).
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.origin, Origin::Nothing)
    }

    /// For tests: an injected failure, or memory that ends at a guard page, filled with a poison pattern.
    fn in_test(len: usize, capacity: usize, content: u8) -> Result<Option<Buffer>> {
        if fault::allocation_fails() {
            return Err(out_of_memory(capacity));
        }
        #[cfg(all(feature = "testing", unix))]
        if fault::guard::is_on() {
            let taken = has_room(len).then(|| fault::guard::take(len, content)).flatten();
            let ptr = taken.ok_or_else(|| out_of_memory(len))?;
            return Ok(Some(Buffer::of(ptr, len, Origin::Guarded, true)));
        }
        let _ = (len, content);
        Ok(None)
    }

    fn of(ptr: NonNull<u8>, len: usize, origin: Origin, writable: bool) -> Buffer {
        fault::storage_made();
        Buffer { ptr, len, origin, writable, id: next_id() }
    }

    /// Another owner's memory, used in place; `owner` is dropped with the last tensor that uses it.
    ///
    /// # Safety
    /// `ptr` is valid for reading `len` initialised bytes for as long as `owner` lives, and for writing if `writable`. Until
    /// then nobody writes to it except through this buffer, and nobody reads it while this buffer is written.
    pub(crate) unsafe fn foreign(
        ptr: NonNull<u8>,
        len: usize,
        owner: Arc<dyn Any + Send + Sync>,
        writable: bool,
    ) -> Buffer {
        Buffer::of(ptr, len, Origin::Foreign { _owner: owner }, writable)
    }

    /// The buffer for writing: only if no other tensor shares it, and its owner allows writing.
    pub(crate) fn exclusive(shared: &mut Arc<Buffer>) -> Option<&mut Buffer> {
        Arc::get_mut(shared).filter(|b| b.writable)
    }

    /// The error for a destination `dst` that [`exclusive`](Self::exclusive) refuses.
    pub(crate) fn not_for_writing(op: &'static str) -> Error {
        Error::Aliasing(Complaint::new(
            op,
            "dst",
            "storage that another tensor shares, or that is read-only",
            "a destination must be writable, and the only owner of its storage",
            "drop the other tensor, pass a copy, or let the call make the result",
        ))
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Length in **bytes**.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The storage's own pointer, for passing the memory on. Writing through it is allowed only to a caller that has
    /// [exclusive](Self::exclusive) access.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: `ptr` is valid for at least `len` initialised bytes for as long as self lives.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        debug_assert!(self.writable);
        // SAFETY: as in `as_bytes`; `&mut self` makes the access exclusive, and buffers that are not writable are never lent
        // mutably (`exclusive`).
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    /// The elements. Storage is aligned for its tensor's dtype, to 64 bytes if this crate allocated it. Trailing bytes that
    /// do not fill an element are left out.
    pub(crate) fn as_slice<E: crate::dtype::Element>(&self) -> &[E] {
        let whole = self.len / size_of::<E>() * size_of::<E>();
        bytemuck::cast_slice(&self.as_bytes()[..whole])
    }

    pub(crate) fn as_mut_slice<E: crate::dtype::Element>(&mut self) -> &mut [E] {
        let whole = self.len / size_of::<E>() * size_of::<E>();
        bytemuck::cast_slice_mut(&mut self.as_bytes_mut()[..whole])
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !matches!(self.origin, Origin::Nothing) {
            fault::storage_dropped();
        }
        match self.origin {
            Origin::System { capacity } => give_to_system(self.ptr, capacity),
            Origin::Recycler { capacity } => {
                if !recycle::pool().put(self.ptr, capacity) {
                    give_to_system(self.ptr, capacity);
                }
            }
            // SAFETY: `in_test` took it for this length, and it is not used afterwards.
            #[cfg(all(feature = "testing", unix))]
            Origin::Guarded => unsafe { fault::guard::release(self.ptr, self.len) },
            Origin::Foreign { .. } | Origin::Nothing => {}
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

fn out_of_memory(bytes: usize) -> Error {
    Error::out_of_memory(bytes, STORAGE)
}

fn round_up(len: usize) -> Result<usize> {
    let page = if len >= MAP_FROM { 4096 } else { ALIGN };
    len.max(1)
        .checked_next_multiple_of(page)
        .filter(|&n| n <= isize::MAX as usize - 4096)
        .ok_or_else(|| out_of_memory(len))
}

/// Rounds up to one of eight steps per power of two, so that results of similar sizes share storage.
fn size_class(len: usize) -> Result<usize> {
    let len = round_up(len)?;
    let step = (len.next_power_of_two() / 16).max(if len >= MAP_FROM { 4096 } else { ALIGN });
    len.checked_next_multiple_of(step).filter(|&n| n <= isize::MAX as usize).ok_or_else(|| out_of_memory(len))
}

/// Whether the system has this many **bytes** now, and if they are many, some more for bookkeeping. Takes nothing.
pub(crate) fn has_room(bytes: usize) -> bool {
    bytes < LARGE || leaves_margin(bytes)
}

fn leaves_margin(bytes: usize) -> bool {
    bytes.checked_add(MARGIN).is_some_and(map::is_possible)
}

/// Whether the system has this many **bytes** now, and some more for bookkeeping. Takes nothing. Tests can make it fail.
pub(crate) fn is_available(bytes: usize) -> bool {
    !fault::allocation_fails() && leaves_margin(bytes)
}

fn take_from_system(capacity: usize) -> Result<NonNull<u8>> {
    if !has_room(capacity) {
        return Err(out_of_memory(capacity));
    }
    if capacity >= MAP_FROM
        && let Some(p) = map::anonymous(capacity)?
    {
        return Ok(p);
    }
    let layout = AllocLayout::from_size_align(capacity, ALIGN).map_err(|_| out_of_memory(capacity))?;
    // SAFETY: capacity is at least ALIGN (round_up starts at 1 byte), so the layout is not zero-sized.
    NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| out_of_memory(capacity))
}

fn give_to_system(ptr: NonNull<u8>, capacity: usize) {
    if capacity >= MAP_FROM && map::release(ptr, capacity) {
        return;
    }
    let layout = AllocLayout::from_size_align(capacity, ALIGN).expect("checked when it was taken");
    // SAFETY: `take_from_system` allocated this pointer with this very layout.
    unsafe { dealloc(ptr.as_ptr(), layout) }
}

#[cfg(all(unix, not(miri)))]
mod map {
    use super::*;

    fn map(bytes: usize) -> Option<*mut libc::c_void> {
        // SAFETY: an anonymous private mapping at an address that the kernel chooses touches no existing memory.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        (p != libc::MAP_FAILED).then_some(p)
    }

    /// Maps this many bytes, and unmaps them again.
    pub(super) fn is_possible(bytes: usize) -> bool {
        let mapped = map(bytes);
        if let Some(p) = mapped {
            // SAFETY: exactly the mapping just made, which nobody knows.
            unsafe { libc::munmap(p, bytes) };
        }
        mapped.is_some()
    }

    pub(super) fn anonymous(bytes: usize) -> Result<Option<NonNull<u8>>> {
        let p = map(bytes).ok_or_else(|| out_of_memory(bytes))?;
        #[cfg(target_os = "linux")]
        // SAFETY: the range was just mapped; the advice does not change its content, and a failure is harmless.
        unsafe {
            libc::madvise(p, bytes, libc::MADV_HUGEPAGE);
        }
        Ok(NonNull::new(p.cast()))
    }

    pub(super) fn release(ptr: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: `anonymous` mapped exactly this range, and its owner is being dropped.
        unsafe { libc::munmap(ptr.as_ptr().cast(), bytes) };
        true
    }
}

// Miri does not support `madvise`.
#[cfg(any(not(unix), miri))]
mod map {
    use super::*;

    pub(super) fn is_possible(_: usize) -> bool {
        true
    }

    pub(super) fn anonymous(_: usize) -> Result<Option<NonNull<u8>>> {
        Ok(None)
    }

    pub(super) fn release(_: NonNull<u8>, _: usize) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_aligned_and_fresh_storage_is_zero() {
        for len in [0, 1, 63, 64, 65, 4095, MAP_FROM - 1, MAP_FROM, MAP_FROM + 1] {
            let b = Buffer::zeroed(len).unwrap();
            assert_eq!(b.len(), len);
            assert_eq!(b.as_bytes().as_ptr() as usize % ALIGN, 0);
            assert!(b.as_bytes() == vec![0; len]);
        }
    }

    #[test]
    fn a_size_class_holds_its_size_and_wastes_little() {
        for len in [1, 64, 65, 1000, 4097, 70_000, 1 << 20, (1 << 20) + 1, 51_380_224] {
            let c = size_class(len).unwrap();
            assert!(c >= len && c <= (len + len / 8).max(len + 4096), "{len} -> {c}");
            assert_eq!(size_class(c).unwrap(), c);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where memory does")]
    fn an_impossible_size_is_an_error() {
        assert!(matches!(Buffer::zeroed(usize::MAX), Err(Error::OutOfMemory { .. })));
        assert!(matches!(Buffer::for_result(isize::MAX as usize), Err(Error::OutOfMemory { .. })));
        assert!(matches!(Buffer::for_result(1 << 60), Err(Error::OutOfMemory { .. })));
    }
}
