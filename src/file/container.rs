//! The safetensors format: a length, a header in JSON, and tensors one after the other without gaps.
//!
//! Definition: <https://github.com/huggingface/safetensors#format>. The `safetensors` crate parses and checks headers; what
//! is here maps the data, aligns it, and writes files whole.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, SafeTensorError, TensorInfo};
use serde_json::json;

use super::mapping::Mapping;
use super::{access, irregular, shown};
use crate::buffer::{ALIGN, Buffer};
use crate::error::{Complaint, Error, Result, fail};
use crate::threads::parallel_for;

/// One tensor of a file.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub data: Arc<Buffer>,
}

/// A file that was mapped, and whose header holds together.
pub(super) struct Container {
    pub metadata: HashMap<String, String>,
    /// In the order of the file.
    pub parts: Vec<Part>,
    /// The header with its length, as it lies in the file; and everything.
    map: Arc<Mapping>,
    header_bytes: usize,
}

impl Container {
    /// Maps a file and checks its header: that tensors follow each other without gap or overlap, and fill the file.
    pub fn open(op: &'static str, path: &Path) -> Result<Container> {
        let map = Arc::new(Mapping::open(op, path)?);
        let (header, mut tensors, metadata) = {
            let bytes = map.bytes();
            let (n, header) = SafeTensors::read_metadata(bytes).map_err(|e| corrupt(op, path, bytes, &e))?;
            let tensors: Vec<(String, TensorInfo)> =
                header.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
            (8 + n, tensors, header.metadata().clone().unwrap_or_default())
        };
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let ranges: Vec<(Range<usize>, usize)> = tensors
            .iter()
            .map(|(_, info)| {
                let (start, end) = info.data_offsets;
                // A header of odd length leaves all that follows between the elements of its type.
                (header + start..header + end, info.dtype.bitsize().div_ceil(8).max(1))
            })
            .collect();
        let overlap = || corrupt(op, path, map.bytes(), &SafeTensorError::MetadataIncompleteBuffer);
        let buffers = map.split(&ranges).ok_or_else(overlap)??;
        let parts = tensors.into_iter().zip(buffers).map(|((name, info), data)| {
            let TensorInfo { dtype, shape, .. } = info;
            Part { name, dtype, shape, data: Arc::new(data) }
        });
        let parts = parts.collect();
        Ok(Container { metadata, parts, map, header_bytes: header })
    }

    /// The header with its length, as it lies in the file.
    pub fn header(&self) -> &[u8] {
        &self.map.bytes()[..self.header_bytes]
    }
}

fn corrupt(op: &'static str, path: &Path, bytes: &[u8], why: &SafeTensorError) -> Error {
    let length = bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b));
    let limits = format!("its header says to be {length} bytes long, and the file has {}", bytes.len());
    let why = match why {
        SafeTensorError::HeaderTooLarge => format!("{limits}; the format allows {MAX_HEADER}"),
        SafeTensorError::InvalidHeaderLength => limits,
        SafeTensorError::HeaderTooSmall => format!("{} bytes, too few for a header", bytes.len()),
        SafeTensorError::InvalidOffset(name) => {
            format!("tensor `{}` does not begin where the one before ends", shown(name))
        }
        SafeTensorError::MetadataIncompleteBuffer => "its tensors do not fill it: it was cut, or grew".into(),
        SafeTensorError::TensorInvalidInfo => {
            let whose = misfit(bytes).map_or("a tensor".into(), |name| format!("tensor `{}`", shown(&name)));
            format!("{whose} has a shape that does not fit its place in the file")
        }
        other => shown(&other.to_string()),
    };
    let rule = "it must be a whole safetensors file";
    // What `torch.save` writes.
    let zip = bytes.starts_with(b"PK\x03\x04");
    let (why, remedy) = match zip {
        true => ("a zip archive, as of `torch.save`".into(), "write it with `safetensors.torch.save_file`"),
        false => (why, "write it again, or fetch it whole"),
    };
    Error::CorruptFile(Complaint::new(op, "path", format!("`{}`: {why}", path.display()), rule, remedy))
}

/// The first tensor whose shape and type do not make its number of bytes: the `safetensors` crate does not say which.
fn misfit(file: &[u8]) -> Option<String> {
    let length = usize::try_from(u64::from_le_bytes(*file.first_chunk::<8>()?)).ok()?;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(file.get(8..8usize.checked_add(length)?)?).ok()?;
    let fits = |value: serde_json::Value| -> Option<bool> {
        let info: TensorInfo = serde_json::from_value(value).ok()?;
        let bits = info.shape.iter().try_fold(info.dtype.bitsize(), |n, &d| n.checked_mul(d));
        let (start, end) = info.data_offsets;
        Some(end.checked_sub(start).and_then(|n| n.checked_mul(8)) == bits && bits.is_some())
    };
    header.into_iter().find_map(|(name, value)| (!fits(value).unwrap_or(true)).then_some(name))
}

/// A tensor to write.
pub(super) struct NewPart<'a> {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Cow<'a, [u8]>,
}

/// How tensors lie in a new file.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// As every tool writes them: those of wide elements first, so that each lies at a multiple of its element's size.
    Plain,
    /// In the order given, each at a multiple of 64 bytes, and checksums in a last tensor.
    Checked,
}

/// Writes a file; it is there whole, or what was there before still is.
pub(super) fn write(
    op: &'static str,
    path: &Path,
    metadata: &BTreeMap<String, String>,
    mut parts: Vec<NewPart<'_>>,
    form: Form,
) -> Result<()> {
    if form == Form::Plain {
        parts.sort_by(|a, b| (b.dtype.bitsize(), &a.name).cmp(&(a.dtype.bitsize(), &b.name)));
    }
    let mut sums = Vec::new();
    let mut header = serde_json::Map::new();
    if !metadata.is_empty() {
        header.insert("__metadata__".into(), json!(metadata));
    }
    let mut place = |name: &str, dtype: Dtype, shape: &[usize], range: Range<usize>| {
        if name == "__metadata__" {
            fail!(
                InvalidArgument,
                op,
                "name",
                "`__metadata__`",
                "the format keeps this name for itself",
                "give the tensor another"
            );
        }
        let info = json!({ "dtype": dtype, "shape": shape, "data_offsets": [range.start, range.end] });
        match header.insert(name.into(), info) {
            None => Ok(()),
            Some(_) => fail!(
                InvalidArgument,
                op,
                "name",
                format!("`{}` twice", shown(name)),
                "tensors of a file have names of their own",
                "give each another"
            ),
        }
    };
    let mut at = 0usize;
    // What fills the space before each part, and after the last.
    let mut gaps = Vec::with_capacity(parts.len() + 1);
    for i in 0..=parts.len() {
        let gap = if form == Form::Checked { at.next_multiple_of(ALIGN) - at } else { 0 };
        if gap > 0 {
            place(&format!("{FILLER}{i}"), Dtype::U8, &[gap], at..at + gap)?;
        }
        gaps.push(gap);
        at += gap;
        if let Some(part) = parts.get(i) {
            place(&part.name, part.dtype, &part.shape, at..at + part.bytes.len())?;
            at += part.bytes.len();
        }
    }
    if form == Form::Checked {
        let count = parts.len() + 1;
        place(CHECKSUMS, Dtype::U64, &[count], at..at + count * 8)?;
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    if header.len() + ALIGN > MAX_HEADER {
        fail!(
            InvalidArgument,
            op,
            "name",
            format!("a header of {} bytes", header.len()),
            format!("safetensors have at most {MAX_HEADER}"),
            "use shorter names, or several files"
        );
    }
    // Spaces at its end belong to the format: they align the first tensor.
    header.resize((8 + header.len()).next_multiple_of(ALIGN) - 8, b' ');
    header.splice(..0, (header.len() as u64).to_le_bytes());
    replace(op, path, |file| {
        sums.push(checksum(&header));
        file.write_all(&header)?;
        for (i, gap) in gaps.iter().enumerate() {
            file.write_all(&[0; ALIGN][..*gap])?;
            if let Some(part) = parts.get(i) {
                sums.push(checksum(&part.bytes));
                file.write_all(&part.bytes)?;
            }
        }
        if form == Form::Checked {
            sums.iter().try_for_each(|sum| file.write_all(&sum.to_le_bytes()))?;
        }
        Ok(())
    })
}

/// **Bytes** that the format allows a header.
const MAX_HEADER: usize = 100_000_000;
/// The tensor of a checked file that holds its checksums: of the header, then of each tensor in the order of the file.
const CHECKSUMS: &str = "checksums";
/// How the names of what only fills space begin.
const FILLER: &str = "_filler";

/// XXH3 in 64 bits: it finds accidents, not forgeries.
fn checksum(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

impl Container {
    /// Compares the checksums of a checked file, those of the tensors too if `data`, and takes checksums and fillers out of
    /// the parts.
    pub fn check_sums(&mut self, op: &'static str, path: &Path, data: bool) -> Result<()> {
        let bad = |what: String| {
            let rule = "every byte must be as it was written";
            let remedy = "write the file again from the plain weights, or fetch it whole";
            Error::CorruptFile(Complaint::new(
                op,
                "path",
                format!("`{}`: {what}", path.display()),
                rule,
                remedy,
            ))
        };
        let last = self.parts.pop_if(|p| p.name == CHECKSUMS && p.dtype == Dtype::U64);
        let Some(last) = last else { return Err(bad("it ends without checksums".into())) };
        // A packed op's tensors end with a dot and a word: none looks like a filler.
        let filler =
            |p: &Part| p.name.strip_prefix(FILLER).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        if self.parts.iter().any(|p| filler(p) && p.data.as_bytes().iter().any(|&b| b != 0)) {
            return Err(bad("what fills the space between its tensors is not zero".into()));
        }
        self.parts.retain(|p| !filler(p));
        let sums: Vec<u64> =
            last.data.as_bytes().as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        if sums.len() != self.parts.len() + 1 {
            return Err(bad(format!("{} checksums for {} tensors", sums.len(), self.parts.len())));
        }
        if checksum(self.header()) != sums[0] {
            return Err(bad("its header is not as it was written (checksum)".into()));
        }
        if !data {
            return Ok(());
        }
        // This also brings the pages in, on all threads.
        let wrong: Vec<AtomicBool> = self.parts.iter().map(|_| AtomicBool::new(false)).collect();
        parallel_for(self.parts.len(), |i| {
            let same = checksum(self.parts[i].data.as_bytes()) == sums[i + 1];
            wrong[i].store(!same, Relaxed);
        });
        match wrong.iter().position(|w| w.load(Relaxed)) {
            Some(i) => Err(bad(format!(
                "tensor `{}` is not as it was written (checksum)",
                shown(&self.parts[i].name)
            ))),
            None => Ok(()),
        }
    }
}

/// Writes a file so that a reader sees the old one or the whole new one: under another name in the same folder, brought to
/// the disk, and renamed.
fn replace(
    op: &'static str,
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let fail = |e: std::io::Error| access(op, path, "written", &e);
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() => return Err(irregular(op, path, "it is replaced by a new file")),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(fail(e)),
        _ => {}
    }
    // Of a link, what it leads to is replaced; one that leads nowhere stays.
    let target = match std::fs::symlink_metadata(path) {
        Ok(m) if m.is_symlink() => std::fs::canonicalize(path).map_err(fail)?,
        _ => path.to_path_buf(),
    };
    let path = target.as_path();
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".blocktensor-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: less what the umask takes away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let got = format!("`{}`: its folder is not there", path.display());
            let rule = "a file is written into a folder that exists";
            Error::FileAccess(Complaint::new(op, "path", got, rule, "create the folder first"))
        }
        _ => fail(e),
    })?;
    let mut buffered = std::io::BufWriter::with_capacity(1 << 20, file.as_file_mut());
    content(&mut buffered).and_then(|()| buffered.flush()).map_err(fail)?;
    drop(buffered);
    if let Ok(before) = std::fs::metadata(path) {
        // Who may read the old file may read the new one, and nobody else.
        file.as_file().set_permissions(before.permissions()).map_err(fail)?;
    }
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|e| fail(e.error))?;
    // The new name itself is on the disk only when the folder is.
    #[cfg(unix)]
    std::fs::File::open(folder).and_then(|f| f.sync_all()).map_err(fail)?;
    Ok(())
}
