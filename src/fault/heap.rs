//! Rust's heap, with large allocations that fail on purpose.

use std::alloc::{GlobalAlloc, Layout, System};

use super::on::heap_fails;

/// Allocations of at least this many **bytes** are large: those may fail ([`Fault::Heap`](super::Fault::Heap)). Smaller ones are
/// bookkeeping.
pub const LARGE: usize = crate::buffer::LARGE;

/// The system's allocator, with failures that [`inject`](super::inject) asks for. A list that was not reserved fallibly ends the
/// process.
///
/// ```
/// use blocktensor::testing::{Fault, TestAllocator, inject};
///
/// #[global_allocator]
/// static ALLOCATOR: TestAllocator = TestAllocator;
///
/// let list = || Vec::<u8>::new().try_reserve(1 << 20);
/// assert!(inject(None, list).0.is_ok());
/// assert!(inject(Some(Fault::Heap { nth: 0 }), list).0.is_err());
/// ```
#[derive(Debug)]
pub struct TestAllocator;

fn fails(bytes: usize) -> bool {
    bytes >= LARGE && heap_fails()
}

// SAFETY: every call is the system's, with the same arguments, or returns null, which is the answer of an allocator without memory.
// `heap_fails` neither allocates nor panics.
unsafe impl GlobalAlloc for TestAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Shrinking needs no memory, and lists shrink where nothing may fail.
        if new_size > layout.size() && fails(new_size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(ptr, layout) }
    }
}
