//! Data of tensors in files beside the model.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use blocktensor::{Call, StridedTensor, Text, memory};
use rten_onnx::onnx::StringStringEntryProto;
use sha1_smol::Sha1;

use crate::adopt::{self, Maps};
use crate::declared::check_name;
use crate::error::{Error, Result};

/// Where external data is read from.
#[derive(Debug, Default)]
pub(crate) struct External {
    /// The model's folder; `None` for a model that is not a file.
    folder: Option<PathBuf>,
    /// The folder of the file that the model's path leads to, without links: another one if the path is a link.
    real: Option<PathBuf>,
    /// The files that are mapped instead of read, if they are.
    maps: Option<Maps>,
    /// The files that tensors were found in.
    files: RefCell<BTreeSet<PathBuf>>,
    /// The SHA-1 digests of files that a tensor states one for.
    digests: RefCell<HashMap<PathBuf, String>>,
}

/// The entry of a tensor that names its file.
#[doc(hidden)]
pub const LOCATION: &str = "location";

/// The bytes of a tensor: a part of a file.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    offset: u64,
    length: usize,
}

impl External {
    /// Data beside the model of this path.
    pub(crate) fn beside(model: &Path, maps: Option<Maps>) -> External {
        let folder = match model.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let real = model.canonicalize().ok().and_then(|file| file.parent().map(Path::to_path_buf));
        External { folder: Some(folder), real, maps, ..External::default() }
    }

    /// The files that tensors were found in, without links.
    pub(crate) fn into_files(self) -> Vec<PathBuf> {
        self.files.into_inner().into_iter().collect()
    }

    /// The f32 tensor in a part of a file.
    pub(crate) fn tensor(&self, part: &Part, dims: &[usize]) -> Result<StridedTensor> {
        if let Some(maps) = &self.maps
            && let Some(tensor) = maps.tensor(&part.path, part.offset, dims)?
        {
            return Ok(tensor);
        }
        adopt::tensor(self.read(part)?, dims)
    }

    /// Reads a part of a file.
    pub(crate) fn read(&self, part: &Part) -> Result<Vec<u8>> {
        let io = |source: std::io::Error| Error::Io { path: part.path.clone(), source: Arc::new(source) };
        let mut file = File::open(&part.path).map_err(io)?;
        file.seek(SeekFrom::Start(part.offset)).map_err(io)?;
        let mut bytes = memory::try_filled("the data of a model", part.length, 0u8)?;
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }

    /// Finds the data of a tensor of `wanted` bytes, and checks that they are there.
    pub(crate) fn find(&self, what: &str, entries: &[StringStringEntryProto], wanted: usize) -> Result<Part> {
        // Readers differ in which of two they take.
        for (i, entry) in entries.iter().enumerate() {
            if entries[..i].iter().any(|other| other.key == entry.key) {
                let key = entry.key.as_deref().unwrap_or_default();
                let got = format!("two entries `{key}` about its data");
                return Err(Error::invalid(what, got, "each is there once", "export the model again"));
            }
        }
        entries.iter().flat_map(|e| [&e.key, &e.value]).flatten().try_for_each(|text| check_name(text))?;
        let entry = |key: &str| {
            entries.iter().find(|e| e.key.as_deref() == Some(key)).and_then(|e| e.value.as_deref())
        };
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| {
                Error::invalid(
                    what,
                    format!("{key} `{text}`"),
                    "it is a number of bytes",
                    "export the model again",
                )
            }),
        };
        let location = entry(LOCATION).unwrap_or_default();
        let path = self.file(what, LOCATION, location)?;
        let size = path.metadata().map_err(|e| Error::Io { path: path.clone(), source: Arc::new(e) })?.len();
        let offset = number("offset")?.unwrap_or(0);
        let length = number("length")?.unwrap_or(wanted as u64);
        if length != wanted as u64 {
            let rule = format!("its type and sizes take {wanted} bytes");
            return Err(Error::invalid(what, format!("{length} bytes"), rule, "export the model again"));
        }
        if offset.checked_add(length).is_none_or(|end| end > size) {
            let rule = format!("`{location}` has {size} bytes");
            let got = format!("{length} bytes at offset {offset}");
            return Err(Error::invalid(what, got, rule, "the file is incomplete: copy it again"));
        }
        if let Some(stated) = entry("checksum") {
            self.check_digest(what, location, &path, stated)?;
        }
        self.files.borrow_mut().insert(path.clone());
        Ok(Part { path, offset, length: wanted })
    }

    /// Compares a file with the checksum that a tensor states: ONNX has the SHA-1 digest of the whole file there.
    fn check_digest(&self, what: &str, location: &str, path: &Path, stated: &str) -> Result<()> {
        if stated.len() != 40 || !stated.bytes().all(|b| b.is_ascii_hexdigit()) {
            let got = format!("checksum `{}`", stated.escape_debug());
            let rule = "it is the SHA-1 digest of the file, 40 hexadecimal digits";
            return Err(Error::invalid(what, got, rule, "remove the entry, or export the model again"));
        }
        let known = self.digests.borrow().get(path).cloned();
        let digest = match known {
            Some(digest) => digest,
            None => {
                let digest = digest_of(path)
                    .map_err(|e| Error::Io { path: path.to_path_buf(), source: Arc::new(e) })?;
                self.digests.borrow_mut().insert(path.to_path_buf(), digest.clone());
                digest
            }
        };
        if digest.eq_ignore_ascii_case(stated) {
            return Ok(());
        }
        let rule = format!("the SHA-1 digest of `{location}` is {digest}");
        Err(Error::invalid(
            what,
            format!("checksum {stated}"),
            rule,
            "the file is another one: copy it again, or export the model again",
        ))
    }

    /// The regular file of this name, without links.
    fn file(&self, what: &str, named: &str, location: &str) -> Result<PathBuf> {
        let Some(folder) = &self.folder else {
            return Err(Error::unsupported(
                what,
                format!("data in the file `{location}` for a model from memory"),
                Text::from("read the model with ") + Call::ReadModel,
            ));
        };
        let rule = match named {
            LOCATION => "external data is in the model's folder or below it".to_string(),
            other => format!("the file that `{other}` names is in the model's folder or below it"),
        };
        let Some(path) = below(location) else {
            let remedy = format!(
                "write the file's place below that folder into the model as its `{named}`, and move the file there"
            );
            return Err(Error::invalid(what, format!("the file `{location}`"), rule, remedy));
        };
        let path = folder.join(path);
        let io = |source: std::io::Error| Error::Io { path: path.clone(), source: Arc::new(source) };
        let inside = folder.canonicalize().map_err(io)?;
        let path_of_file = path.canonicalize().map_err(|e| {
            let got = format!("the file `{location}`, which cannot be opened: {e}");
            Error::invalid(what, got, format!("`{named}` names a file"), "copy the file beside the model")
        })?;
        // Where the model is a link as well, its data may be links into the same folder: Hugging Face's cache keeps files so.
        let is_beside = path_of_file.parent() == self.real.as_deref();
        if !path_of_file.starts_with(&inside) && !is_beside {
            // No part of the name leads out of the folder.
            let got =
                format!("the file `{location}`, a link to `{}`", blocktensor::shown_path(&path_of_file));
            return Err(Error::invalid(what, got, rule, "replace the link by a copy of its target"));
        }
        let metadata = path_of_file.metadata().map_err(io)?;
        if !metadata.is_file() {
            let got = format!("`{location}`, which is no regular file");
            return Err(Error::invalid(what, got, format!("`{named}` names one"), "export the model again"));
        }
        Ok(path_of_file)
    }
}

/// The regular file that a model names, by the rules for external data: it is in the model's folder or below it. `what`, and `named`, which
/// is the entry or attribute with the name, are for errors.
///
/// # Errors
/// [`Error::Invalid`] for a name that breaks the rules; [`Error::Io`].
#[doc(hidden)]
pub fn file_beside(what: &str, model: &Path, named: &str, location: &str) -> Result<PathBuf> {
    External::beside(model, None).file(what, named, location)
}

/// The SHA-1 digest of a file, in hexadecimal digits.
fn digest_of(path: &Path) -> std::io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha1::new());
    let mut part = [0; 1 << 14];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(digest.digest().to_string()),
            count => digest.update(&part[..count]),
        }
    }
}

/// The path below the model's folder that a location names, without `.` and `..`. `None` if it leads out of the folder on its way,
/// or names nothing. Links are not followed here.
fn below(location: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(location).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    (!location.is_empty()).then_some(path)
}
