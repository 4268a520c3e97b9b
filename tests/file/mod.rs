//! Files: state dicts and packed weights, valid, cut, changed and malicious.

mod damaged;
mod packed;
mod processes;
mod state_dict;

use std::path::{Path, PathBuf};

/// A temporary folder of one test, which is removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("blocktensor-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of the files in it.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Length of a safetensors header, and the header as JSON.
pub fn header(path: &Path) -> (usize, serde_json::Value) {
    let bytes = std::fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (length, serde_json::from_slice(&bytes[8..8 + length]).unwrap())
}
