//! What the targets share: choices from the fuzzer's bytes, the state of the process, tensors and their numbers.

mod file;
mod input;
pub mod json;
pub mod numbers;
mod tensors;

pub use file::MemoryFile;
pub use input::Input;
pub use tensors::{Fill, blocked_layout, dims_of, strided};

use std::sync::Once;

use blocktensor::{Error, MemoryFormat, StridedTensor, set_recycle_limit};

/// Once a process: one thread, so that nothing waits.
pub fn setup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first to ask");
    });
}

/// **Bytes** that a run may map beyond what the process has when it begins: a result that is too large for them is an error of
/// the library's, not the end of the process.
const ROOM: libc::rlim_t = 64 << 20;

/// Limits what this run may map.
pub fn limit_memory() {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    // The sixth: data and stack, which is what the limit is of.
    let Some(pages) = pages.split(' ').nth(5).and_then(|n| n.parse::<libc::rlim_t>().ok()) else { return };
    let limit = libc::rlimit { rlim_cur: pages * 4096 + ROOM, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads a structure that lives through the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) }, 0);
}

/// An error must say something, not too much, and be of a kind that a user's mistake can have.
pub fn check_error(e: &Error) {
    let text = e.to_string();
    assert!(!text.is_empty() && text.len() < 4000, "{} bytes: {text}", text.len());
    assert!(!matches!(e, Error::Backend { .. } | Error::Panicked(_)), "{text}");
}

/// The storage that results are made of: fresh with every run, where the sanitizer sees each end of it, or what was used
/// before and holds NaN, where an element that a kernel left out shows.
pub fn storage(dirty: bool) {
    set_recycle_limit(0);
    if !dirty {
        return;
    }
    set_recycle_limit(16 << 20);
    let nan =
        |bytes: usize| StridedTensor::full(&[bytes / 4], f32::NAN, MemoryFormat::Contiguous).expect("small");
    // Of each size twice.
    drop((6..16).map(|i| (nan(1 << i), nan(1 << i))).collect::<Vec<_>>());
}
