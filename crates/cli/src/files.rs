//! Files of tensors: .npy with one, .safetensors with several by name.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blocktensor_graph::Integer;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::array::{Array, Values};
use crate::failure::{Failure, Result};
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

/// The array of a .npy file.
pub fn read_npy(option: &str, path: &Path) -> Result<Array> {
    npy::parse(&read(option, path)?).map_err(|text| Failure::file(option, path, text))
}

/// All tensors of a .safetensors file, by name.
pub fn read_safetensors(option: &str, path: &Path) -> Result<Vec<(String, Array)>> {
    let bytes = read(option, path)?;
    let bad = |text: String| Failure::file(option, path, text);
    let file = SafeTensors::deserialize(&bytes).map_err(|e| bad(format!("{e}; write the file again")))?;
    let arrays = file.iter().map(|(name, view)| match of_view(&view) {
        Ok(array) => Ok((name.to_string(), array)),
        Err(text) => Err(bad(format!("tensor `{name}`: {text}"))),
    });
    arrays.collect()
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    check(path)
        .and_then(|()| std::fs::read(path).map_err(|e| format!("{e}; check the path")))
        .map_err(|text| Failure::file(option, path, text))
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

fn of_view(view: &TensorView<'_>) -> Result<Array, String> {
    let data = view.data();
    let values = match view.dtype() {
        Dtype::F32 => Values::F32(data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Dtype::F64 => Values::F64(data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        Dtype::I64 => {
            Values::Int(Integer::I64, data.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect())
        }
        Dtype::I32 => Values::Int(
            Integer::I32,
            data.as_chunks().0.iter().map(|b| i64::from(i32::from_le_bytes(*b))).collect(),
        ),
        Dtype::BOOL => Values::Bool(data.iter().map(|b| *b != 0).collect()),
        other => return Err(format!("it holds {other:?}; write it as F32, I64 or BOOL")),
    };
    Ok(Array { dims: view.shape().to_vec(), values })
}

/// Refuses a file that could not be written after the run.
pub fn check_save(path: &Path, outputs: usize) -> Result<()> {
    let bad = |text: &str| Err(Failure::file("--save", path, text));
    match Kind::of(path) {
        Some(Kind::Npy) if outputs != 1 => {
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
        (Some(Kind::Npy), [(_, array)]) => npy::encode(array),
        _ => {
            let data: Vec<(Dtype, Vec<u8>)> = outputs.iter().map(|(_, array)| bytes_of(array)).collect();
            let views = outputs.iter().zip(&data).map(|((name, array), (dtype, data))| {
                TensorView::new(*dtype, array.dims.clone(), data).map(|view| (name.as_str(), view))
            });
            let views: Vec<_> = views.collect::<Result<_, _>>().map_err(|e| bad(e.to_string()))?;
            safetensors::serialize(views, None).map_err(|e| bad(e.to_string()))?
        }
    };
    write("--save", path, &bytes)
}

/// Refuses files that cannot be written, one that the program reads, and one that it writes twice.
pub fn check_targets(model: &Path, targets: &[(&str, Option<&PathBuf>)]) -> Result<()> {
    let mut taken = vec![model.canonicalize().unwrap_or_else(|_| model.to_path_buf())];
    for (option, path) in targets {
        let Some(path) = path else { continue };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().unwrap_or_default();
        let whole = path.file_name().map_or_else(|| path.to_path_buf(), |name| folder.join(name));
        let whole = whole.canonicalize().unwrap_or(whole);
        if taken.contains(&whole) {
            let text = "it is the model, or another option writes it; choose another file";
            return Err(Failure::file(option, path, text));
        }
        taken.push(whole);
        blocktensor::files::check(path).map_err(|e| unwritable(option, path, &e))?;
    }
    Ok(())
}

/// Writes a file that an option names: whole, or not at all.
pub fn write(option: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    blocktensor::files::write(path, |out| out.write_all(bytes)).map_err(|e| unwritable(option, path, &e))
}

fn unwritable(option: &str, path: &Path, why: &std::io::Error) -> Failure {
    let remedy = match why.kind() {
        ErrorKind::NotFound => "make it first, or choose another file",
        ErrorKind::StorageFull | ErrorKind::FileTooLarge => "make room, or choose another file",
        ErrorKind::TimedOut => "start the program that reads it first",
        _ => "choose another file",
    };
    Failure::file(option, path, format!("{why}; {remedy}"))
}

fn bytes_of(array: &Array) -> (Dtype, Vec<u8>) {
    match &array.values {
        Values::F32(v) => (Dtype::F32, v.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Values::F64(v) => (Dtype::F64, v.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Values::Int(_, v) => (Dtype::I64, v.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Values::Bool(v) => (Dtype::BOOL, v.iter().map(|v| u8::from(*v)).collect()),
    }
}
