//! A file in memory, which the library maps like a file on disk.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;

pub struct MemoryFile(File);

impl MemoryFile {
    /// A file with these bytes.
    pub fn of(bytes: &[u8]) -> MemoryFile {
        // SAFETY: a name that ends with NUL.
        let fd = unsafe { libc::memfd_create(c"blocktensor-fuzz".as_ptr(), 0) };
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: a descriptor that was just opened and is nobody else's.
        let mut file = unsafe { File::from_raw_fd(fd) };
        file.write_all(bytes).expect("memory for a small file");
        MemoryFile(file)
    }

    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}
