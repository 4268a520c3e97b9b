//! Files of tensors: .npy with one, .safetensors with several by name.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use blocktensor::{StateDict, memory};
use blocktensor_graph::ElementType;

use crate::array::{Array, Values};
use crate::failure::{Failure, Result, one_line};
use crate::integers::Stored;
use crate::npy;

/// What a file name's ending says about its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Npy,
    Safetensors,
    Picture,
}

impl Kind {
    /// `None` for endings that the program does not know.
    pub fn of(path: &Path) -> Option<Kind> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "npy" => Some(Kind::Npy),
            "safetensors" => Some(Kind::Safetensors),
            "png" | "jpg" | "jpeg" => Some(Kind::Picture),
            _ => None,
        }
    }
}

/// The array of a .npy file, for an input or an output of this type.
pub fn read_npy(option: &str, path: &Path, wanted: Option<ElementType>) -> Result<Array> {
    npy::parse(&read(option, path)?, wanted).map_err(|text| Failure::file(option, path, text))
}

/// All tensors of a .safetensors file, by name.
pub fn read_safetensors(option: &str, path: &Path) -> Result<Vec<(String, Array)>> {
    let bytes = read(option, path)?;
    let bad = |text: String| Failure::file(option, path, text);
    let header = bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
    let header = usize::try_from(header).unwrap_or(usize::MAX).min(bytes.len());
    // What the parser makes of a byte of JSON, at most.
    memory::require("the header of a safetensors file", header.saturating_mul(32))
        .map_err(|e| bad(one_line(&e)))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| bad(format!("{e}; write the file again")))?;
    if let Some(name) = quantized(&bytes) {
        let why = "has scales and zero points, which inputs and outputs do not have";
        return Err(bad(format!("tensor `{name}` {why}; write its integers without them, or its numbers")));
    }
    // In the file's order: the parser gives them in another one at each start.
    let mut views: Vec<_> = file.iter().collect();
    views.sort_by_key(|(name, view)| (view.data().as_ptr(), *name));
    let arrays = views.into_iter().map(|(name, view)| match of_view(&view) {
        Ok(array) => Ok((name.to_string(), array)),
        Err(text) => Err(bad(format!("tensor `{name}`: {text}"))),
    });
    arrays.collect()
}

/// The first tensor of a file that has scales and zero points: a state dict of the library says so in the metadata.
fn quantized(bytes: &[u8]) -> Option<String> {
    let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
    let metadata = header.metadata().as_ref()?;
    metadata.keys().filter_map(|key| key.strip_prefix(StateDict::QUANTIZATION)).min().map(str::to_string)
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    check(path).and_then(|()| whole(path)).map_err(|text| Failure::file(option, path, text))
}

/// The bytes of a file.
fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let io = |e: std::io::Error| format!("{e}; check the path");
    let mut file = std::fs::File::open(path).map_err(io)?;
    let length = usize::try_from(file.metadata().map_err(io)?.len()).unwrap_or(usize::MAX);
    let mut bytes = memory::try_filled("a file's content", length, 0).map_err(|e| one_line(&e))?;
    file.read_exact(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Refuses what is no file on a disk: a pipe waits for its other end, a device has none.
pub fn check(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|e| format!("{e}; check the path"))?;
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err("it is a folder; check the path".to_string()),
        _ => Err("it is a pipe or a device; copy it into a file".to_string()),
    }
}

/// The text of a file.
pub fn read_text(option: &str, path: &Path) -> Result<String> {
    String::from_utf8(read(option, path)?)
        .map_err(|_| Failure::file(option, path, "it is no text in UTF-8; write it again"))
}

/// Numbers of a file.
pub fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>, String> {
    memory::try_collect("the numbers of a file", values).map_err(|e| one_line(&e))
}

fn of_view(view: &TensorView<'_>) -> Result<Array, String> {
    let data = view.data();
    let values = match view.dtype() {
        Dtype::F32 => Values::F32(collect(data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)))?),
        Dtype::F64 => Values::F64(collect(data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)))?),
        Dtype::BOOL => Values::Bool(collect(data.iter().map(|b| *b != 0))?),
        other => match Stored::find(|stored| stored.dtype == other) {
            Some(stored) => Values::Int(stored.of, stored.numbers(data)?),
            None => return Err(format!("it holds {other:?}; write it as F32, I64 or BOOL")),
        },
    };
    Ok(Array { dims: view.shape().to_vec(), values })
}

/// Refuses a file that could not be written after the run.
pub fn check_save(path: &Path, outputs: &[&str]) -> Result<()> {
    let bad = |text: &str| Err(Failure::file("--save", path, text));
    match Kind::of(path) {
        Some(Kind::Safetensors) if outputs.contains(&"__metadata__") => {
            return bad(
                "the format keeps the name `__metadata__` of an output for itself; write a .npy file of it, or choose other outputs with --outputs",
            );
        }
        Some(Kind::Npy) if outputs.len() != 1 => {
            return bad(
                "a .npy file holds one output; write a .safetensors file, or choose one with --outputs",
            );
        }
        Some(Kind::Npy | Kind::Safetensors) => {}
        _ => return bad("the ending is unknown; it is .npy for one output, .safetensors for all"),
    }
    Ok(())
}

/// Writes the outputs.
pub fn save(path: &Path, outputs: &[(String, Array)]) -> Result<()> {
    let bad = |text: String| Failure::file("--save", path, format!("{text}; choose another file"));
    let bytes = match (Kind::of(path), outputs) {
        (Some(Kind::Npy), [(_, array)]) => npy::encode(array)?,
        _ => {
            let data = outputs.iter().map(|(_, array)| bytes_of(array)).collect::<Result<Vec<_>>>()?;
            let total = data.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
            memory::require("the file of --save", total)?;
            let views = outputs.iter().zip(&data).map(|((name, array), (dtype, data))| {
                TensorView::new(*dtype, array.dims.clone(), data).map(|view| (name.as_str(), view))
            });
            let views: Vec<_> = views.collect::<Result<_, _>>().map_err(|e| bad(e.to_string()))?;
            safetensors::serialize(views, None).map_err(|e| bad(e.to_string()))?
        }
    };
    write("--save", path, &bytes)
}

/// A file that an option writes.
pub struct Target<'a> {
    pub option: &'static str,
    pub path: Option<&'a PathBuf>,
    /// Whether the option writes files with this content: only such a file is replaced.
    pub writes: fn(&mut dyn Read) -> std::io::Result<bool>,
}

/// Whether the content begins like this.
pub fn begins(content: &mut dyn Read, with: &[u8]) -> std::io::Result<bool> {
    let mut begin = Vec::new();
    content.take(with.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == with)
}

/// Whether `--save` writes files with this content: .npy, or .safetensors.
pub fn is_tensors(content: &mut dyn Read) -> std::io::Result<bool> {
    const NPY: &[u8] = b"\x93NUMPY";
    let mut begin = Vec::new();
    content.take(NPY.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == NPY || StateDict::recognises(&mut begin.chain(content))?)
}

/// The files that an option such as `[NAME=]FILE` may name.
pub fn named_files(options: &[OsString]) -> impl Iterator<Item = &Path> {
    options.iter().flat_map(|text| {
        let files = splits(text).map(|(_, file)| file);
        std::iter::once(text.as_os_str()).chain(files).map(Path::new)
    })
}

/// The ways to read `NAME=FILE`: names and files may have `=` in them.
fn splits(text: &OsStr) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'=');
    ends.map(|(i, _)| (OsStr::from_bytes(&bytes[..i]), OsStr::from_bytes(&bytes[i + 1..])))
}

/// The name and the file of `NAME=FILE`: the first split whose name is known counts, and without one the first of all.
pub fn split_name(text: &OsStr, is_known: impl Fn(&str) -> bool) -> Option<(&str, &OsStr)> {
    // A path is bytes, and a name text.
    let named = || splits(text).filter_map(|(name, file)| Some((name.to_str()?, file)));
    named().find(|(name, _)| is_known(name)).or_else(|| named().next())
}

/// Refuses files that cannot be written, those that the program reads, one that it writes twice, and one of another kind than the
/// option writes: it may be a model's weights.
pub fn check_targets<'p>(reads: impl IntoIterator<Item = &'p Path>, targets: &[Target<'_>]) -> Result<()> {
    check_reads(reads, targets)?;
    let mut taken = Vec::new();
    for target in targets {
        let Target { option, path: Some(path), .. } = target else { continue };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().unwrap_or_default();
        let whole = path.file_name().map_or_else(|| path.to_path_buf(), |name| folder.join(name));
        let whole = whole.canonicalize().unwrap_or(whole);
        if taken.contains(&whole) {
            return Err(Failure::file(option, path, "another option writes it; choose another file"));
        }
        taken.push(whole);
        blocktensor::files::check_kind(path, target.writes)
            .and_then(|()| blocktensor::files::check(path))
            .map_err(|e| unwritable(option, path, &e))?;
    }
    Ok(())
}

/// Refuses to write a file that the program reads. Files with a model's weights are known when it was read.
pub fn check_reads<'p>(reads: impl IntoIterator<Item = &'p Path>, targets: &[Target<'_>]) -> Result<()> {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let reads: Vec<_> = reads.into_iter().filter_map(identity).collect();
    for target in targets {
        let Target { option, path: Some(path), .. } = target else { continue };
        if identity(path).is_some_and(|own| reads.contains(&own)) {
            return Err(Failure::file(option, path, "the program reads this file; choose another one"));
        }
    }
    Ok(())
}

/// Writes a file that an option names: whole, or not at all.
pub fn write(option: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    blocktensor::files::write(path, |out| out.write_all(bytes)).map_err(|e| unwritable(option, path, &e))
}

pub fn unwritable(option: &str, path: &Path, why: &std::io::Error) -> Failure {
    let remedy = match why.kind() {
        ErrorKind::NotFound => "make it first, or choose another file",
        ErrorKind::AlreadyExists => "remove it, or choose another name",
        ErrorKind::StorageFull | ErrorKind::FileTooLarge => "make room, or choose another file",
        ErrorKind::TimedOut => "start the program that reads it first",
        _ => "choose another file",
    };
    Failure::file(option, path, format!("{why}; {remedy}"))
}

fn bytes_of(array: &Array) -> Result<(Dtype, Vec<u8>)> {
    let of = match &array.values {
        Values::F32(_) => Dtype::F32,
        Values::F64(_) => Dtype::F64,
        Values::Int(of, _) => Stored::of(*of).dtype,
        Values::Bool(_) => Dtype::BOOL,
    };
    Ok((of, array.values.to_bytes(Vec::new())?))
}
