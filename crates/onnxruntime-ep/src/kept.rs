//! What ONNX Runtime holds pointers to.
#![allow(unsafe_code)]

use std::mem::offset_of;

/// A struct of ONNX Runtime's interface, `base`, with the provider's own data in front of it. Nothing is behind the struct: with the
/// feature `guard-pages`, and in tests, a page follows that nobody may touch, so that a read beyond its end crashes.
#[repr(C)]
pub(crate) struct Kept<T, B> {
    own: T,
    base: B,
}

impl<T, B> Kept<T, B> {
    const IS_LAST: () = assert!(offset_of!(Self, base) + size_of::<B>() == size_of::<Self>());

    /// Keeps both until `free`. The pointer is to the base.
    pub(crate) fn keep(own: T, base: B) -> *mut B {
        let () = Self::IS_LAST;
        let place = memory::keep(Kept { own, base });
        // SAFETY: the place holds both.
        unsafe { &raw mut (*place).base }
    }

    /// The provider's own data.
    ///
    /// # Safety
    /// `keep` made the pointer, `free` is not called while the reference lives, and nobody writes to the data.
    pub(crate) unsafe fn of<'a>(base: *const B) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { &(*base.byte_sub(offset_of!(Self, base)).cast::<Self>()).own }
    }

    /// Frees both.
    ///
    /// # Safety
    /// `keep` made the pointer, which nobody uses afterwards.
    pub(crate) unsafe fn free(base: *mut B) {
        // SAFETY: the caller's promise.
        unsafe { memory::drop_kept(base.byte_sub(offset_of!(Self, base)).cast::<Self>()) };
    }
}

#[cfg(not(any(test, feature = "guard-pages")))]
mod memory {
    pub(super) fn keep<T>(value: T) -> *mut T {
        Box::into_raw(Box::new(value))
    }

    /// # Safety
    /// `keep` made the pointer, which nobody uses afterwards.
    pub(super) unsafe fn drop_kept<T>(place: *mut T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(place) });
    }
}

#[cfg(any(test, feature = "guard-pages"))]
pub(crate) mod memory {
    use std::ffi::c_void;

    /// **Bytes** of a page on x86-64.
    const PAGE: usize = 4096;
    const READ_WRITE: i32 = 3;
    const PRIVATE_ANONYMOUS: i32 = 0x22;

    unsafe extern "C" {
        fn mmap(at: *mut c_void, len: usize, access: i32, flags: i32, file: i32, offset: i64) -> *mut c_void;
        fn mprotect(at: *mut c_void, len: usize, access: i32) -> i32;
    }

    /// Keeps a value that ends where a page begins that nobody may touch.
    pub(crate) fn keep<T>(value: T) -> *mut T {
        let len = size_of::<T>().next_multiple_of(PAGE);
        // SAFETY: a new mapping touches no memory that there is; its last page is protected.
        let start = unsafe {
            let start = mmap(std::ptr::null_mut(), len + PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
            assert!(
                start.addr() != usize::MAX && mprotect(start.byte_add(len), PAGE, 0) == 0,
                "no guard page"
            );
            start
        };
        // SAFETY: the place is in the mapping, and aligned: a size is a multiple of its alignment.
        unsafe {
            let place = start.byte_add(len - size_of::<T>()).cast::<T>();
            place.write(value);
            place
        }
    }

    /// Drops the value. Its memory stays mapped, and the test or the process ends soon.
    ///
    /// # Safety
    /// `keep` made the pointer, which nobody uses afterwards.
    pub(crate) unsafe fn drop_kept<T>(place: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { place.drop_in_place() };
    }
}
