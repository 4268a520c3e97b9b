//! Files: safetensors files, read, mapped, or written.
//!
//! `header` and `container` read and write the format, `tensors` the tensors in it, `state_dict` holds plain weights by name,
//! `packed` holds packed weights, and what belongs to them. `whole` writes files of any format.
//!
//! Reading copies a file into memory. Mapping does not copy, and is unsafe: the memory is the file itself, and Rust assumes
//! that nobody changes it.

mod container;
mod header;
#[allow(unsafe_code)]
mod mapping;
mod packed;
mod state_dict;
mod tensors;
pub mod whole;

pub use packed::{Loaded, Packable, PackedFile, PackedKind, PackedWriter, Saved};
pub(crate) use packed::{entry, sealed};
pub use state_dict::{Keys, LayerTensors, Module, NormTensors, StateDict};

use std::path::Path;

use crate::error::{Complaint, Error};

/// A path as errors write it: at most 160 characters of it, the beginning and the end, without control characters.
#[doc(hidden)]
pub fn shown_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let count = text.chars().count();
    if count <= 160 {
        return cut(&text, 160);
    }
    let end: String = text.chars().skip(count - 80).collect();
    format!("{}{}", cut(&text, 77), cut(&end, 80))
}

/// The error for a file that could not be opened, read, mapped or written: `OutOfMemory` where that is the reason.
fn access(op: &'static str, path: &Path, what: &str, why: &std::io::Error) -> Error {
    if why.kind() == std::io::ErrorKind::OutOfMemory {
        let bytes = std::fs::metadata(path).map_or(0, |m| usize::try_from(m.len()).unwrap_or(usize::MAX));
        return Error::out_of_memory(bytes, op);
    }
    let remedy = match why.kind() {
        std::io::ErrorKind::NotFound => "pass the path of an existing file",
        std::io::ErrorKind::PermissionDenied => "ask for its permissions, or pass another path",
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidFilename => {
            "pass the path of a file, not what is in it"
        }
        std::io::ErrorKind::TimedOut => "start the process that reads the pipe first",
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::FileTooLarge => {
            "make room, or pass a path on another disk"
        }
        _ => "check the path and the disk",
    };
    let (got, rule) = (format!("`{}`", shown_path(path)), format!("it could not be {what}: {why}"));
    Error::FileAccess(Complaint::new(op, "path", got, rule, remedy))
}

/// The error for a path to a folder, a device or a pipe.
fn irregular(op: &'static str, path: &Path, rule: &str) -> Error {
    let what = if path.is_dir() { "a directory" } else { "not a regular file" };
    let got = format!("`{}`, {what}", shown_path(path));
    Error::FileAccess(Complaint::new(op, "path", got, rule, "pass the path of a regular file"))
}

/// A name from a file, ready to be printed: escaped and shortened.
pub(crate) fn shown(name: &str) -> String {
    cut(name, 80)
}

/// The beginning of a text that quotes a file, without control characters.
fn cut(text: &str, most: usize) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    let mut shown: String = text.chars().take(most).map(escaped).collect();
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cut_in_their_middle() {
        let shown = |text: &str| shown_path(Path::new(text));
        assert_eq!(shown("a/b"), "a/b");
        let exact = "x".repeat(160);
        assert_eq!(shown(&exact), exact);
        let long = format!("begin{}end", "é".repeat(1000));
        assert_eq!(shown(&long).chars().count(), 160);
        assert!(shown(&long).starts_with("beginé") && shown(&long).ends_with("éend"), "{}", shown(&long));
        assert!(shown(&long).contains("é...é"), "{}", shown(&long));
        assert_eq!(shown("a\nb\u{8}"), "a\\nb\\u{8}");
    }

    #[test]
    fn reasons_have_their_remedies() {
        let of = |code| {
            access("StateDict::map", Path::new("none"), "mapped", &std::io::Error::from_raw_os_error(code))
        };
        assert!(matches!(of(libc::ENOMEM), Error::OutOfMemory { call: "StateDict::map", .. }));
        let text = of(libc::EIO).to_string();
        assert!(text.contains("got `none`, but it could not be mapped: Input/output error"), "{text}");
        for (code, remedy) in
            [(libc::EFBIG, "make room"), (libc::ENOSPC, "make room"), (libc::EIO, "the disk")]
        {
            assert!(of(code).to_string().contains(remedy), "{}", of(code));
        }
    }
}
