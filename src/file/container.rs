//! Safetensors files: reading tensors from one, and writing whole files.
//!
//! `header` reads the descriptions of a file's tensors; this module reads the tensors into aligned memory, and writes files.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use safetensors::tensor::{Dtype, TensorInfo};
use serde_json::json;

use super::header::{Header, MAX_HEADER, START, fill, header_length};
use super::{access, irregular, shown, shown_path, whole};
use crate::buffer::{ALIGN, Buffer};
use crate::error::{Complaint, Error, Result, counted, fail};
use crate::memory;
use crate::threads::parallel_for;

/// One tensor of a file.
#[derive(Clone, Debug)]
pub(crate) struct StoredTensor {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub data: Arc<Buffer>,
}

impl StoredTensor {
    pub(super) fn new(name: String, info: TensorInfo, data: Buffer) -> StoredTensor {
        StoredTensor { name, dtype: info.dtype, shape: info.shape, data: Arc::new(data) }
    }
}

/// The tensors of a file whose header is valid.
#[derive(Debug)]
pub(super) struct Container {
    pub metadata: HashMap<String, String>,
    /// In the file's order.
    pub parts: Vec<StoredTensor>,
    /// The header with its length, exactly as in the file.
    pub(super) header: Vec<u8>,
}

impl Container {
    /// Reads a file into memory.
    pub fn read(op: &'static str, path: &Path) -> Result<Container> {
        let (mut file, bytes) = open(op, path, "it is read into memory")?;
        Container::read_from(op, path, &mut file, bytes)
    }

    /// Reads a file of `bytes` bytes. Each tensor gets its own memory; in total no more than the file's length.
    pub(super) fn read_from(
        op: &'static str,
        path: &Path,
        file: &mut impl Read,
        bytes: usize,
    ) -> Result<Container> {
        let mut header = Header::read(op, path, file, bytes)?;
        let mut parts = Vec::with_capacity(header.tensors.len());
        for (name, info) in std::mem::take(&mut header.tensors) {
            let (start, end) = info.data_offsets;
            let mut data = Buffer::zeroed(end - start)?;
            fill(op, path, file, data.as_bytes_mut())?;
            parts.push(StoredTensor::new(name, info, data));
        }
        Ok(Container { metadata: header.metadata, parts, header: header.bytes })
    }
}

/// Opens a regular file; also returns its length in **bytes**.
pub(super) fn open(op: &'static str, path: &Path, rule: &str) -> Result<(File, usize)> {
    let fail = |e: std::io::Error| access(op, path, "opened", &e);
    // Checked before opening: opening a pipe waits for its writer.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(irregular(op, path, rule));
    }
    let file = File::open(path).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    let too_long = |_| Error::out_of_memory(usize::MAX, "a file's content");
    Ok((file, usize::try_from(bytes).map_err(too_long)?))
}

/// A tensor to write.
pub(super) struct NewTensor<'a> {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Cow<'a, [u8]>,
}

/// The arrangement of tensors in a new file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileKind {
    /// As other tools write them: tensors with wide elements first, so that the offset of each is a multiple of its element's
    /// size.
    Plain,
    /// In the given order, each at a multiple of 64 bytes, with checksums in a last tensor.
    Checked,
    /// The same, and a text that makes it a plan.
    Plan,
}

/// What the metadata of a packed file has, as [`composed`] writes it.
const PACKED: &[u8] = br#""format":"blocktensor-packed""#;
/// The same of a plan. In a text, its quotes would be escaped.
const PLAN: &[u8] = br#""text:plan":"#;

impl FileKind {
    /// The kinds that a file may be of, none if it does not begin like a safetensors file. Nothing is parsed: a damaged file is
    /// still one of its kind, and of both kinds of packed files if the end of its header is missing.
    pub fn of(content: &mut dyn Read) -> std::io::Result<&'static [FileKind]> {
        let mut start = Vec::with_capacity(START);
        content.take(START as u64).read_to_end(&mut start)?;
        let Some(length) = header_length(&start) else { return Ok(&[]) };
        let mut header = content.take(length as u64);
        let (mut piece, mut seen) = (vec![0; 32 << 10], Vec::new());
        let (mut total, mut is_packed) = (0, false);
        loop {
            let read = header.read(&mut piece)?;
            seen.extend_from_slice(&piece[..read]);
            total += read;
            is_packed = is_packed || seen.windows(PACKED.len()).any(|part| part == PACKED);
            // The metadata is sorted: the format comes first.
            if is_packed && seen.windows(PLAN.len()).any(|part| part == PLAN) {
                return Ok(&[FileKind::Plan]);
            }
            if read == 0 {
                return Ok(match is_packed {
                    true if total < length => &[FileKind::Checked, FileKind::Plan],
                    true => &[FileKind::Checked],
                    false => &[FileKind::Plain],
                });
            }
            // An entry may lie across two pieces.
            seen.drain(..seen.len().saturating_sub(PACKED.len()));
        }
    }

    /// The kind, for errors.
    fn name(self) -> &'static str {
        match self {
            FileKind::Plain => "a safetensors file of plain tensors",
            FileKind::Checked => "a file of packed weights",
            FileKind::Plan => "a plan",
        }
    }

    fn is_checked(self) -> bool {
        self != FileKind::Plain
    }
}

/// A file's content.
pub(super) struct NewFile<'a> {
    header: Vec<u8>,
    parts: Vec<NewTensor<'a>>,
    /// The padding before each tensor, and after the last.
    gaps: Vec<usize>,
    kind: FileKind,
}

impl NewFile<'_> {
    /// Writes a file: whole, or on an error not at all. Replaces only a file of the same kind.
    pub(super) fn write(&self, op: &'static str, path: &Path) -> Result<()> {
        replace(op, path, self.kind, |file| self.write_to(file))
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let tensors = self.parts.iter().map(|part| part.bytes.len()).chain(self.gaps.iter().copied());
        let sums = if self.kind.is_checked() { (self.parts.len() + 1) * 8 } else { 0 };
        let mut bytes =
            memory::try_with_capacity("a file", self.header.len() + tensors.sum::<usize>() + sums)?;
        self.write_to(&mut bytes).map_err(|_| Error::out_of_memory(bytes.len(), "a file"))?;
        Ok(bytes)
    }

    fn write_to(&self, file: &mut dyn Write) -> std::io::Result<()> {
        let mut sums = vec![checksum(&self.header)];
        file.write_all(&self.header)?;
        for (i, gap) in self.gaps.iter().enumerate() {
            file.write_all(&[0; ALIGN][..*gap])?;
            if let Some(part) = self.parts.get(i) {
                sums.push(checksum(&part.bytes));
                file.write_all(&part.bytes)?;
            }
        }
        if self.kind.is_checked() {
            sums.iter().try_for_each(|sum| file.write_all(&sum.to_le_bytes()))?;
        }
        Ok(())
    }
}

/// The content of a file of these tensors.
pub(super) fn composed<'a>(
    op: &'static str,
    metadata: &BTreeMap<String, String>,
    mut parts: Vec<NewTensor<'a>>,
    kind: FileKind,
) -> Result<NewFile<'a>> {
    if kind == FileKind::Plain {
        parts.sort_by(|a, b| (b.dtype.bitsize(), &a.name).cmp(&(a.dtype.bitsize(), &b.name)));
    }
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
                "the format reserves this name",
                "give the tensor another name"
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
                "each tensor of a file needs its own name",
                "give each tensor another name"
            ),
        }
    };
    let mut at = 0usize;
    let mut gaps = Vec::with_capacity(parts.len() + 1);
    for i in 0..=parts.len() {
        let gap = if kind.is_checked() { at.next_multiple_of(ALIGN) - at } else { 0 };
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
    if kind.is_checked() {
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
    // The format allows spaces at the header's end: they align the first tensor.
    header.resize((8 + header.len()).next_multiple_of(ALIGN) - 8, b' ');
    header.splice(..0, (header.len() as u64).to_le_bytes());
    Ok(NewFile { header, parts, gaps, kind })
}

/// The tensor of a checked file that holds its checksums: of the header, then of each tensor in the file's order.
const CHECKSUMS: &str = "checksums";
/// The prefix of the names of padding tensors.
const FILLER: &str = "_filler";

/// XXH3 in 64 bits. It detects accidental damage, not forgeries.
fn checksum(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

impl Container {
    /// Compares the checksums of a checked file, those of its tensors only if `data`. Removes the checksums and padding
    /// tensors from the parts. Returns the checksum of the checksums, which two files share if they have the same content.
    pub fn check_sums(&mut self, op: &'static str, path: &Path, data: bool) -> Result<u64> {
        let bad = |what: String| {
            let rule = "no byte may have changed since it was written";
            let remedy = "write the file again from the plain weights, or download it again";
            Error::CorruptFile(Complaint::new(
                op,
                "path",
                format!("`{}`: {what}", shown_path(path)),
                rule,
                remedy,
            ))
        };
        let last = self.parts.pop_if(|p| p.name == CHECKSUMS && p.dtype == Dtype::U64);
        let Some(last) = last else { return Err(bad("it ends without checksums".into())) };
        // The names of a packed op's tensors end with a dot and a word, so none looks like padding.
        let filler = |p: &StoredTensor| {
            p.name.strip_prefix(FILLER).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        };
        if self.parts.iter().any(|p| filler(p) && p.data.as_bytes().iter().any(|&b| b != 0)) {
            return Err(bad("the padding between its tensors is not zero".into()));
        }
        self.parts.retain(|p| !filler(p));
        let sums: Vec<u64> =
            last.data.as_bytes().as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        if sums.len() != self.parts.len() + 1 {
            let (has, tensors) = (counted(sums.len(), "checksum"), counted(self.parts.len(), "tensor"));
            return Err(bad(format!("it has {has}, and its header and {tensors} have one each")));
        }
        if checksum(&self.header) != sums[0] {
            return Err(bad("its header has changed (checksum)".into()));
        }
        let all = checksum(last.data.as_bytes());
        if !data {
            return Ok(all);
        }
        // This also loads the mapped pages, on all threads.
        let wrong: Vec<AtomicBool> = self.parts.iter().map(|_| AtomicBool::new(false)).collect();
        parallel_for(self.parts.len(), |i| {
            let same = checksum(self.parts[i].data.as_bytes()) == sums[i + 1];
            wrong[i].store(!same, Relaxed);
        });
        match wrong.iter().position(|w| w.load(Relaxed)) {
            Some(i) => Err(bad(format!("tensor `{}` has changed (checksum)", shown(&self.parts[i].name)))),
            None => Ok(all),
        }
    }
}

/// Writes a file ([`whole::write()`]), unless it would replace one of another kind.
fn replace(
    op: &'static str,
    path: &Path,
    kind: FileKind,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let free = whole::check_kind(path, |content| Ok(FileKind::of(content)?.contains(&kind)));
    free.and_then(|()| whole::write(path, content)).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            let rule = format!("it exists, and is not {}", kind.name());
            let remedy = "remove it, or pass another path";
            Error::FileAccess(Complaint::new(op, "path", format!("`{}`", shown_path(path)), rule, remedy))
        }
        ErrorKind::NotFound if path.as_os_str().is_empty() => {
            let (rule, remedy) = ("a file has a name", "pass the path of the file to write");
            Error::FileAccess(Complaint::new(op, "path", "an empty path", rule, remedy))
        }
        ErrorKind::IsADirectory => irregular(op, path, "a file is written there"),
        ErrorKind::NotFound if !whole::folder_of(path).exists() => {
            let got = format!("`{}`, whose folder does not exist", shown_path(path));
            let rule = "a file can only be written into an existing folder";
            Error::FileAccess(Complaint::new(op, "path", got, rule, "create the folder first"))
        }
        _ => access(op, path, "written", &e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of two tensors, 4 and 3 elements.
    fn file() -> Vec<u8> {
        let header = br#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(0..19u8);
        bytes
    }

    fn read(mut from: impl Read, bytes: usize) -> Result<Container> {
        Container::read_from("test", Path::new("some.safetensors"), &mut from, bytes)
    }

    #[test]
    fn tensors_are_read_aligned_and_in_order() {
        let bytes = file();
        let container = read(&bytes[..], bytes.len()).unwrap();
        let names: Vec<&str> = container.parts.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let data: Vec<u8> = container.parts.iter().flat_map(|p| p.data.as_bytes()).copied().collect();
        assert_eq!(data, (0..19).collect::<Vec<u8>>());
        assert!(container.parts.iter().all(|p| p.data.as_ptr().addr().is_multiple_of(ALIGN)));
    }

    /// A file that another process truncates after its length was read.
    #[test]
    fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
        let bytes = file();
        for end in 0..bytes.len() {
            let e = read(&bytes[..end], bytes.len()).unwrap_err();
            assert!(matches!(e, Error::CorruptFile(_)) && e.to_string().contains("shorter"), "{end}: {e}");
        }
    }

    #[test]
    fn a_disk_that_fails_is_an_error_wherever_it_fails() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("the disk is on fire"))
            }
        }
        let bytes = file();
        for end in 0..bytes.len() {
            let e = read((&bytes[..end]).chain(Fails), bytes.len()).unwrap_err();
            let text = e.to_string();
            assert!(matches!(e, Error::FileAccess(_)), "{end}: {text}");
            assert!(text.contains("on fire") && text.contains("could not be read"), "{end}: {text}");
        }
    }
}
