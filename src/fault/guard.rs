//! Storage that ends at a protected page: a kernel that accesses memory past its end crashes immediately.
//!
//! Tests switch it on for a whole process with `BLOCKTENSOR_GUARD_PAGES=1`. The storage begins at a multiple of
//! [`ALIGN`](crate::ALIGN), so up to 63 bytes are between its end and the page. They hold a pattern that is a NaN in every
//! floating-point type, and that is checked when the storage is released.

use std::ptr::NonNull;
use std::sync::LazyLock;

use crate::buffer::ALIGN;

const PATTERN: u8 = 0xff;

pub(crate) fn is_on() -> bool {
    static ON: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("BLOCKTENSOR_GUARD_PAGES").is_some_and(|v| v == "1"));
    *ON
}

fn page_bytes() -> usize {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Bytes of whole pages for `len` bytes, and the bytes between the first page's start and the storage.
fn extent(len: usize) -> Option<(usize, usize)> {
    let pages = len.max(1).checked_next_multiple_of(page_bytes())?;
    Some((pages, pages - len.next_multiple_of(ALIGN)))
}

/// Takes `len` bytes, each `content`, that end in front of a guard page.
pub(crate) fn take(len: usize, content: u8) -> Option<NonNull<u8>> {
    let (pages, before) = extent(len)?;
    let total = pages.checked_add(page_bytes()).filter(|&n| n <= isize::MAX as usize)?;
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: an anonymous private mapping at an address that the kernel chooses touches no existing memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), total, access, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the last page of the mapping just made.
    let refused = unsafe { libc::mprotect(start.byte_add(pages), page_bytes(), libc::PROT_NONE) };
    assert_eq!(refused, 0, "the guard page cannot be protected");
    // SAFETY: `before + len` rounded up to ALIGN is `pages`; the bytes from `len` on belong to the mapping.
    unsafe {
        let storage = start.byte_add(before).cast::<u8>();
        if content != 0 {
            storage.write_bytes(content, len);
        }
        storage.add(len).write_bytes(PATTERN, pages - before - len);
        Some(NonNull::new_unchecked(storage))
    }
}

/// Releases what [`take`] returned for `len` bytes.
///
/// # Panics
/// If something wrote past the end.
///
/// # Safety
/// `ptr` came from `take(len)`, and is not used afterwards.
pub(crate) unsafe fn release(ptr: NonNull<u8>, len: usize) {
    let (pages, before) = extent(len).expect("as when it was taken");
    // SAFETY: the bytes between the storage's end and the guard page, as `take` wrote them.
    let rest = unsafe { std::slice::from_raw_parts(ptr.as_ptr().add(len), pages - before - len) };
    let written = rest.iter().any(|&b| b != PATTERN);
    // SAFETY: exactly the mapping that `take` made.
    unsafe { libc::munmap(ptr.as_ptr().sub(before).cast(), pages + page_bytes()) };
    // If a test already panics, a second panic would abort without the first one's message.
    assert!(!written || std::thread::panicking(), "something wrote past the end of {len} bytes of storage");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_ends_at_a_page_that_nobody_may_touch() {
        for len in [0, 1, 63, 64, 65, 4095, 4096, 4097, 100_000] {
            let ptr = take(len, 7).unwrap();
            assert_eq!(ptr.as_ptr() as usize % ALIGN, 0);
            // SAFETY: the storage was just taken.
            let all = unsafe { std::slice::from_raw_parts(ptr.as_ptr(), len) };
            assert!(all.iter().all(|&b| b == 7));
            let guard = (ptr.as_ptr() as usize + len).next_multiple_of(ALIGN);
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let line = maps.lines().find(|l| l.starts_with(&format!("{guard:x}-")));
            assert!(line.is_some_and(|l| l.contains("---p")), "{guard:x}: {line:?}");
            // SAFETY: taken above for this length.
            unsafe { release(ptr, len) };
        }
    }

    #[test]
    fn a_byte_past_the_end_is_found() {
        for (len, past) in [(1, 1), (1, 63), (100, 100), (4097, 4100)] {
            let ptr = take(len, 0).unwrap();
            // SAFETY: within the page, past the storage's end: the write that `release` must detect.
            unsafe { ptr.as_ptr().add(past).write(1) };
            // SAFETY: taken above for this length.
            let found = std::panic::catch_unwind(|| unsafe { release(ptr, len) });
            assert!(found.is_err(), "{past} of {len}");
        }
    }
}
