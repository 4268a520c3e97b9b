//! Code that the targets share: choices from the fuzzer's bytes, the state of the process, tensors and their elements.

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

/// Called once in a process: limits the library to one thread, so that no call waits.
pub fn setup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first to ask");
    });
}

/// **Bytes** that a run may map beyond what the process has at its start. A larger result must be an error of the library, not
/// the end of the process.
const ROOM: libc::rlim_t = 64 << 20;

/// Limits what this run may map.
pub fn limit_memory() {
    limit_memory_to(ROOM);
}

/// As [`limit_memory`], with other room, in **bytes**.
pub fn limit_memory_to(room: libc::rlim_t) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    // The sixth field is data and stack, which the limit counts.
    let Some(pages) = pages.split(' ').nth(5).and_then(|n| n.parse::<libc::rlim_t>().ok()) else { return };
    let limit = libc::rlimit { rlim_cur: pages * 4096 + room, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads a structure that lives through the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) }, 0);
}

/// Fails if the text of an error is empty or too long, or if no mistake of a user can cause its kind.
pub fn check_error(e: &Error) {
    let text = e.to_string();
    assert!(!text.is_empty() && text.len() < 4000, "{} bytes: {text}", text.len());
    assert!(!matches!(e, Error::Backend { .. } | Error::Panicked(_)), "{text}");
}

/// Chooses the storage of results. Fresh storage lets the sanitizer see reads past each end. Recycled storage full of NaN
/// shows elements that a kernel did not write.
pub fn storage(dirty: bool) {
    set_recycle_limit(0);
    if !dirty {
        return;
    }
    set_recycle_limit(16 << 20);
    let nan =
        |bytes: usize| StridedTensor::full(&[bytes / 4], f32::NAN, MemoryFormat::Contiguous).expect("small");
    // Two buffers of each size.
    drop((6..16).map(|i| (nan(1 << i), nan(1 << i))).collect::<Vec<_>>());
}
