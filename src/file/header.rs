//! The header of a safetensors file: its length, and JSON that describes the tensors and their offsets.
//!
//! Definition: <https://github.com/huggingface/safetensors#format>.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Metadata, SafeTensorError, TensorInfo};

use super::{access, shown, shown_path};
use crate::buffer::has_room;
use crate::error::{Call, Complaint, Error, Result, Text};
use crate::memory;

/// The largest header that the format allows, in **bytes**.
pub(super) const MAX_HEADER: usize = 100_000_000;
/// The size of the header's length field, in **bytes**.
const LENGTH: usize = size_of::<u64>();

/// How many bytes tell a safetensors file from a model: the length of its header, and the brace that begins it.
pub(super) const START: usize = 9;

const CALL: &str = "header of a safetensors file";
/// Memory in **bytes** that a byte of JSON takes at most while it is parsed.
const PARSED: usize = 32;

/// The length of the header, of bytes that begin as safetensors files do.
pub(super) fn header_length(bytes: &[u8]) -> Option<usize> {
    let (length, [b'{', ..]) = bytes.split_first_chunk()? else { return None };
    usize::try_from(u64::from_le_bytes(*length)).ok().filter(|&length| length <= MAX_HEADER)
}

/// A valid header: its tensors follow each other without gap or overlap, and fill the file.
#[derive(Debug)]
pub(super) struct Header {
    /// The header with its length, exactly as in the file.
    pub bytes: Vec<u8>,
    pub metadata: HashMap<String, String>,
    /// In the file's order. Offsets count from the end of the header.
    pub tensors: Vec<(String, TensorInfo)>,
}

/// The parsed JSON. [`Metadata`] then checks it; if it parsed the JSON itself, its errors would say less.
#[derive(serde::Deserialize)]
struct Json {
    #[serde(rename = "__metadata__")]
    metadata: Option<HashMap<String, String>>,
    #[serde(flatten)]
    tensors: HashMap<String, TensorInfo>,
}

impl Header {
    /// Reads the header of a file of `file_bytes`, and checks it against that length. `file` is at its beginning, and
    /// afterwards at its first tensor. No more memory is allocated than the file's length.
    pub fn read(op: &'static str, path: &Path, file: &mut impl Read, file_bytes: usize) -> Result<Header> {
        let mut bytes = Vec::new();
        append(op, path, file, LENGTH.min(file_bytes), &mut bytes)?;
        let bad = |bytes: &[u8], e| Err(corrupt(op, path, bytes, file_bytes, &e));
        let Some(length) = bytes.first_chunk::<LENGTH>().map(|b| u64::from_le_bytes(*b)) else {
            return bad(&bytes, SafeTensorError::HeaderTooSmall);
        };
        let Some(length) = usize::try_from(length).ok().filter(|&n| n <= MAX_HEADER) else {
            return bad(&bytes, SafeTensorError::HeaderTooLarge);
        };
        if length > file_bytes - LENGTH {
            return bad(&bytes, SafeTensorError::InvalidHeaderLength);
        }
        append(op, path, file, length, &mut bytes)?;
        memory::require(CALL, length.saturating_mul(PARSED))?;
        match parse(&bytes[LENGTH..], file_bytes - LENGTH - length) {
            Ok((metadata, tensors)) => Ok(Header { bytes, metadata, tensors }),
            Err(e) => bad(&bytes, e),
        }
    }
}

type Parsed = (HashMap<String, String>, Vec<(String, TensorInfo)>);

/// The metadata, and the tensors in the file's order. The tensors must fill `data_bytes`.
fn parse(json: &[u8], data_bytes: usize) -> std::result::Result<Parsed, SafeTensorError> {
    let json = str::from_utf8(json).map_err(SafeTensorError::InvalidHeader)?;
    let json: Json = serde_json::from_str(json).map_err(SafeTensorError::InvalidHeaderDeserialization)?;
    let mut tensors: Vec<(String, TensorInfo)> = json.tensors.into_iter().collect();
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    // Fails unless each tensor begins at the end of the previous one, and its bytes match its shape and type.
    Metadata::new(None, tensors.clone())?;
    if tensors.last().map_or(0, |(_, info)| info.data_offsets.1) != data_bytes {
        return Err(SafeTensorError::MetadataIncompleteBuffer);
    }
    Ok((json.metadata.unwrap_or_default(), tensors))
}

/// Appends the next `count` bytes of a file.
fn append(op: &'static str, path: &Path, file: &mut impl Read, count: usize, to: &mut Vec<u8>) -> Result<()> {
    if !has_room(count) || to.try_reserve_exact(count).is_err() {
        return Err(Error::out_of_memory(count, CALL));
    }
    let from = to.len();
    to.resize(from + count, 0);
    fill(op, path, file, &mut to[from..])
}

/// Reads bytes until `to` is full.
pub(super) fn fill(op: &'static str, path: &Path, file: &mut impl Read, to: &mut [u8]) -> Result<()> {
    file.read_exact(to).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            let got = format!("`{}`: it became shorter while it was read", shown_path(path));
            let rule = "a file must not change while it is read";
            Error::CorruptFile(Complaint::new(
                op,
                "path",
                got,
                rule,
                "read it again after it is completely written",
            ))
        }
        _ => access(op, path, "read", &e),
    })
}

/// Whether bytes that are no safetensors file begin as ONNX models do: the field 1, the version of the format as one byte, and
/// the next field of a model that exporters write.
fn begins_as_onnx(bytes: &[u8]) -> bool {
    const FIELDS: [u8; 8] = [0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72];
    matches!(bytes, [0x08, 1..=63, field, ..] if FIELDS.contains(field))
}

fn corrupt(op: &'static str, path: &Path, bytes: &[u8], file_bytes: usize, why: &SafeTensorError) -> Error {
    let length = bytes.first_chunk::<LENGTH>().map_or(0, |b| u64::from_le_bytes(*b));
    let limits = format!("its header claims a length of {length} bytes, and the file has {file_bytes}");
    let why = match why {
        SafeTensorError::HeaderTooLarge => format!("{limits}; the format allows {MAX_HEADER}"),
        SafeTensorError::InvalidHeaderLength => limits,
        SafeTensorError::HeaderTooSmall => format!("{file_bytes} bytes, too few for a header"),
        SafeTensorError::InvalidOffset(name) => {
            format!("tensor `{}` does not begin where the one before ends", shown(name))
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            "its tensors do not fill it: it was truncated or extended".into()
        }
        SafeTensorError::TensorInvalidInfo => {
            let whose = misfit(bytes).map_or("a tensor".into(), |name| format!("tensor `{}`", shown(&name)));
            format!("{whose} has a shape that does not fit its place in the file")
        }
        other => shown(&other.to_string()),
    };
    let rule = "it must be a complete safetensors file";
    // What `torch.save` writes.
    let zip = bytes.starts_with(b"PK\x03\x04");
    let (why, remedy) = match zip {
        true => {
            let remedy = "write tensors with `safetensors.torch.save_file`, and plans with `save`";
            ("a zip archive, as of `torch.save`, which `torch.load` reads".into(), remedy.into())
        }
        false if begins_as_onnx(bytes) => {
            ("an ONNX model".into(), Text::from("read it as a model, with ") + Call::ReadModel)
        }
        false => (why, "write it again, or download it again".into()),
    };
    Error::CorruptFile(Complaint::new(op, "path", format!("`{}`: {why}", shown_path(path)), rule, remedy))
}

/// The first tensor whose number of bytes does not match its shape and type: the `safetensors` crate does not say which.
fn misfit(header: &[u8]) -> Option<String> {
    let header: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header.get(LENGTH..)?).ok()?;
    let fits = |value: serde_json::Value| -> Option<bool> {
        let info: TensorInfo = serde_json::from_value(value).ok()?;
        let bits = info.shape.iter().try_fold(info.dtype.bitsize(), |n, &d| n.checked_mul(d));
        let (start, end) = info.data_offsets;
        Some(end.checked_sub(start).and_then(|n| n.checked_mul(8)) == bits && bits.is_some())
    };
    header.into_iter().find_map(|(name, value)| (!fits(value).unwrap_or(true)).then_some(name))
}
