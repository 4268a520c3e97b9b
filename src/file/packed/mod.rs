//! Packed weights in a file: written once, then read or mapped, and refused if they do not fit the machine.
//!
//! It is a safetensors file. `NAME.packed` holds the weights in their kernel's layout, `NAME.bias` the bias, and `NAME.plain`
//! the weights in row-major order, if the writer kept them. The metadata's `packed:NAME` says what they were packed for. What a
//! program adds is `NAME.tensor`, its scales and zero points `quantization:NAME` in the metadata, and `text:NAME` there. The other
//! entries describe the machine. Every tensor begins at a multiple of 64 bytes; the last one, `checksums`, holds XXH3 of the header and
//! of each tensor.

pub(crate) mod entry;
mod extra;
mod kind;
mod recognise;
mod writer;

pub use kind::PackedKind;
pub use writer::PackedWriter;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::tensor::Dtype;

use self::entry::Entry;
use super::container::{Container, StoredTensor};
use super::tensors::{QUANTIZATION, file_dtype};
use super::{cut, shown, shown_path};
use crate::buffer::{ALIGN, Buffer};
use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text, counted, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::try_copied;
use crate::tensor::strided::StridedTensor;

/// The metadata's key for the kind of file, and its key for the version of the format that this module defines.
const FORMAT: (&str, &str) = ("format", "blocktensor-packed");
const VERSION: (&str, &str) = ("format_version", "3");
/// The prefix of the metadata's entries for packed ops.
const ENTRY: &str = "packed:";
/// The same for texts that a program adds.
const TEXT: &str = "text:";
/// The last part of the names of tensors that a program adds.
const TENSOR: &str = "tensor";

/// What packed weights depend on besides their source: they fit only machines with the same values.
fn machine() -> [(&'static str, String); 4] {
    #[cfg(feature = "onednn")]
    let (version, isa) = {
        let (major, minor, patch) = crate::onednn::version();
        (format!("{major}.{minor}.{patch}"), crate::onednn::effective_isa().to_string())
    };
    #[cfg(not(feature = "onednn"))]
    let (version, isa) = ("none".to_string(), "none".to_string());
    let block = Layout::native().0.block_of(1);
    [
        ("isa", crate::simd::level().name().into()),
        ("onednn_isa", isa),
        ("onednn", version),
        ("block", block.to_string()),
    ]
}

/// Packed weights that a file can hold: [`PackedConv`](crate::PackedConv), [`PackedStem`](crate::PackedStem) and
/// [`PackedLinear`](crate::PackedLinear).
pub trait Packable: Sized + sealed::Sealed {
    #[doc(hidden)]
    fn saved(&self) -> Result<Saved<'_>>;
    #[doc(hidden)]
    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// One packed op, ready to be written to a file.
pub struct Saved<'a> {
    pub(crate) entry: Entry,
    /// All elements in their kernel's order.
    pub(crate) weights: StridedTensor,
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) plain: Box<dyn Fn() -> Result<StridedTensor> + Send + Sync + 'a>,
}

/// The remedy for weights that do not fit here.
fn repacking(keeps_plain: bool) -> Text {
    match keeps_plain {
        true => Text::from("pack the plain weights here, or open the file with ") + Call::ReadOrRepack,
        false => Text::from("pack the plain weights here: the file keeps none (") + Call::KeepPlain + ")",
    }
}

/// Packed weights in a file, read into memory or mapped.
pub struct PackedFile {
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
    parts: HashMap<String, StoredTensor>,
    texts: HashMap<String, String>,
    /// The scales and zero points of added tensors, as the metadata states them.
    quantizations: HashMap<String, String>,
    /// Lanes per block on the machine that wrote it.
    block: usize,
    fingerprint: u64,
    /// Why the weights do not fit this machine.
    misfit: Option<Box<Complaint>>,
    repack: bool,
}

impl std::fmt::Debug for PackedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedFile {{ `{}`, {} packed ops }}", shown_path(&self.path), self.entries.len())
    }
}

impl PackedFile {
    /// Reads a file written by [`PackedWriter::save`] into memory, and checks all of it: the header, the checksums, and that
    /// it is for this machine.
    ///
    /// # Errors
    /// `FileAccess` if it cannot be opened or read; `CorruptFile` if it is not a packed file, or was changed after it was
    /// written; `PackMismatch` if it was packed for another instruction set, block or version of oneDNN, or has another
    /// format version; `OutOfMemory`.
    pub fn read(path: impl AsRef<Path>) -> Result<PackedFile> {
        PackedFile::read_any(path.as_ref(), false)?.fitting()
    }

    /// As [`read`](Self::read), but weights that do not fit this machine, or the number of threads of a run here, are packed
    /// again from the plain weights in the file, which [`PackedWriter::keep_plain`] keeps. The ledger records which. The
    /// writer's native blocked layout is replaced by this machine's.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_or_repack(path: impl AsRef<Path>) -> Result<PackedFile> {
        PackedFile::read_any(path.as_ref(), true)
    }

    fn read_any(path: &Path, repack: bool) -> Result<PackedFile> {
        let op = "PackedFile::read";
        PackedFile::of(op, path, Container::read(op, path)?, repack, true)
    }

    /// As [`read`](Self::read), of bytes that are in memory already. Errors call them by this label.
    #[doc(hidden)]
    pub fn of_bytes(label: &str, bytes: &[u8]) -> Result<PackedFile> {
        let (op, path) = ("PackedFile::of_bytes", Path::new(label));
        let container = Container::read_from(op, path, &mut &bytes[..], bytes.len())?;
        PackedFile::of(op, path, container, false, true)?.fitting()
    }

    pub(super) fn fitting(self) -> Result<PackedFile> {
        match self.misfit {
            Some(misfit) => Err(Error::PackMismatch(misfit)),
            None => Ok(self),
        }
    }

    pub(super) fn of(
        op: &'static str,
        path: &Path,
        mut container: Container,
        repack: bool,
        check_data: bool,
    ) -> Result<PackedFile> {
        let said = |key: &str| container.metadata.get(key).map_or("nothing", String::as_str).to_string();
        let got = |what: String| format!("`{}`: {what}", shown_path(path));
        if said(FORMAT.0) != FORMAT.1 {
            fail!(
                CorruptFile,
                op,
                "path",
                got(PackedFile::ONLY_PLAIN.into()),
                Text::from("packed weights and plans are files that ") + Call::SavePacked + " wrote",
                Text::from("for a plan, pass a file that ")
                    + Call::SavePlan
                    + " wrote; for plain weights, call "
                    + Call::ReadStateDict
            );
        }
        if said(VERSION.0) != VERSION.1 {
            fail!(
                PackMismatch,
                op,
                "path",
                got(format!("format version {}", shown(&said(VERSION.0)))),
                format!("this build reads version {}", VERSION.1),
                "pack the plain weights again with this build"
            );
        }
        let keeps_plain = container.parts.iter().any(|part| part.name.ends_with(".plain"));
        let misfit = machine().into_iter().find(|(key, here)| said(key) != *here).map(|(key, here)| {
            Complaint::new(
                op,
                "path",
                got(format!("packed with {key} {}", shown(&said(key)))),
                format!("here {key} is {here}"),
                repacking(keeps_plain),
            )
        });
        let block = said("block").parse().unwrap_or(0);
        let fingerprint = container.check_sums(op, path, check_data)?;
        let (mut entries, mut texts, mut quantizations) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        for (key, json) in &container.metadata {
            if let Some(name) = key.strip_prefix(TEXT) {
                texts.insert(name.to_string(), json.clone());
            }
            if let Some(name) = key.strip_prefix(QUANTIZATION) {
                quantizations.insert(name.to_string(), json.clone());
            }
            let Some(name) = key.strip_prefix(ENTRY) else { continue };
            let entry: Entry = serde_json::from_str(json).map_err(|e| {
                let what = got(format!("entry `{}`: {}", shown(name), shown(&e.to_string())));
                let rule = "every entry says what its weights were packed for";
                Error::CorruptFile(Complaint::new(op, "path", what, rule, "write the file again"))
            })?;
            entries.insert(name.to_string(), entry);
        }
        let parts = container.parts.into_iter().map(|p| (p.name.clone(), p)).collect();
        Ok(PackedFile {
            path: path.into(),
            entries,
            parts,
            texts,
            quantizations,
            block,
            fingerprint,
            misfit,
            repack,
        })
    }

    /// A number that two files share if they have the same content: XXH3 of their checksums. It tells files apart that were exchanged by
    /// accident.
    #[doc(hidden)]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The name of the text that makes a packed file a plan.
    #[doc(hidden)]
    pub const PLAN: &str = "plan";

    /// A remedy for weights that were packed for another number of threads: first what needs no plain weights, if this process
    /// has as many.
    #[doc(hidden)]
    pub fn with_threads(threads: usize, otherwise: Text) -> Text {
        match threads <= crate::threads::max_threads() {
            true => Text::from("load and run it with ") + Call::RunWithThreads(threads) + ", or " + otherwise,
            false => otherwise,
        }
    }

    /// The names of the packed ops, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The packed op of this name. It uses the file's memory, without a copy of its weights; the `PackedFile` may be dropped.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none; `PackMismatch` if it is of another kind, or a run here has another number of
    /// threads, or the engine wants another layout; `CorruptFile` if the entry is inconsistent.
    #[track_caller]
    pub fn get<T: Packable>(&self, name: &str) -> Result<T> {
        T::loaded(Loaded { file: self, name, entry: self.entry("PackedFile::get", name)? })
    }

    fn entry(&self, op: &'static str, name: &str) -> Result<&Entry> {
        self.entries.get(name).ok_or_else(|| {
            let quoted = |n: &String| format!("\"{}\"", shown(n));
            let mut known: Vec<String> = self.entries.keys().take(8).map(quoted).collect();
            if self.entries.len() > known.len() {
                known.push("...".into());
            }
            Error::InvalidArgument(Complaint::new(
                op,
                "name",
                format!("`{}`", shown(name)),
                match self.entries.len() {
                    0 => format!("`{}` is empty", shown_path(&self.path)),
                    n => format!("`{}` holds {n} names: {}", shown_path(&self.path), known.join(", ")),
                },
                if known.is_empty() { "pack the weights again" } else { "pass one of these names" },
            ))
        })
    }
}

/// One packed op that was read from a file.
pub struct Loaded<'a> {
    file: &'a PackedFile,
    name: &'a str,
    pub(crate) entry: &'a Entry,
}

impl Loaded<'_> {
    const OP: &'static str = "PackedFile::get";

    /// The name and its file, for messages.
    fn place(&self) -> String {
        format!("`{}` of `{}`", shown(self.name), shown_path(&self.file.path))
    }

    pub(crate) fn corrupt(&self, why: impl std::fmt::Display) -> Error {
        let rule = "an entry and its tensors must match";
        // A file may contain any text, of any length.
        let got = format!("{}: {}", self.place(), cut(&why.to_string(), 300));
        Error::CorruptFile(Complaint::new(Self::OP, "name", got, rule, "write the file again"))
    }

    pub(crate) fn wrong_kind(&self, is: &str, asked: &str) -> Error {
        let got = format!("{}, {is}", self.place());
        let rule = format!("{asked} was requested");
        Error::PackMismatch(Complaint::new(Self::OP, "name", got, rule, "request the kind that it is"))
    }

    /// Why these weights cannot be used: wrong kind, number of threads, or layout of the engine's choice.
    pub(crate) fn misfit(&self, packed: String, here: String) -> Box<Complaint> {
        let remedy = repacking(self.part("plain").is_some());
        let got = format!("{}: {}", self.place(), cut(&packed, 100));
        Complaint::new(Self::OP, "name", got, here, remedy)
    }

    /// The mismatch of the machine, or of the number of threads, if there is one.
    pub(crate) fn misfit_of(&self, threads: usize) -> Option<Box<Complaint>> {
        let here = crate::threads::current_threads();
        let misfit = (threads != here).then(|| {
            let [packed, here] = [threads, here].map(|count| counted(count, "thread"));
            let misfit = *self.misfit(format!("packed for {packed}"), format!("a run here has {here}"));
            let remedy = PackedFile::with_threads(threads, misfit.remedy);
            Box::new(Complaint { remedy, ..misfit })
        });
        self.file.misfit.clone().or(misfit)
    }

    /// The plain weights, to pack again because of a mismatch; the mismatch as an error if repacking was not requested.
    pub(crate) fn plain(&self, misfit: Box<Complaint>, dims: &[usize]) -> Result<StridedTensor> {
        if !self.file.repack {
            return Err(Error::PackMismatch(misfit));
        }
        let Some(part) = self.part("plain") else {
            let remedy = Text::from("pack from a state dict, or write the file with ") + Call::KeepPlain;
            let rule = misfit.rule + ", and the file keeps no plain weights";
            return Err(Error::PackMismatch(Box::new(Complaint { rule, remedy, ..*misfit })));
        };
        if part.shape != dims || part.dtype != Dtype::F32 {
            return Err(self.corrupt(format!("plain weights {:?}, not {dims:?}", part.shape)));
        }
        let dims = Dims::new(Self::OP, "dims", dims)?;
        StridedTensor::of_storage(Self::OP, Arc::clone(&part.data), dims, DType::F32)
    }

    fn part(&self, kind: &str) -> Option<&StoredTensor> {
        self.file.parts.get(&format!("{}.{kind}", self.name))
    }

    /// The packed weights; the entry states how many elements there must be at least.
    pub(crate) fn weights(&self, dims: &[usize], dtype: DType) -> Result<Arc<Buffer>> {
        let Some(part) = self.part("packed") else { return Err(self.corrupt("no packed weights")) };
        let needed = Dims::new(Self::OP, "dims", dims).ok().and_then(|d| d.checked_product());
        let held = part.data.len() / dtype.size_bytes();
        let fits = needed.is_some_and(|n| n <= held);
        if part.dtype != file_dtype(dtype) || !fits {
            return Err(self.corrupt(format!("{held} packed values for {dtype} weights {dims:?}")));
        }
        if !(part.data.as_bytes().as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(self.corrupt("packed weights that do not begin at a multiple of 64 bytes"));
        }
        Ok(Arc::clone(&part.data))
    }

    pub(crate) fn bias(&self) -> Result<Option<Vec<f32>>> {
        match self.part("bias") {
            None => Ok(None),
            Some(part) if part.dtype == Dtype::F32 => {
                Ok(Some(try_copied("bias", part.data.as_slice::<f32>())?))
            }
            Some(part) => Err(self.corrupt(format!("a bias of {}", part.dtype))),
        }
    }

    /// A layout or memory format by name. For weights that are packed again, a layout with the block size of the writer's
    /// machine is replaced by the same layout with this machine's.
    pub(crate) fn layout(&self, name: &str, rank: usize, repacked: bool) -> Result<SourceLayout> {
        if let Some(format) = MemoryFormat::of_name(name) {
            return Ok(SourceLayout::Strided(format));
        }
        let layout: Layout = name.parse().map_err(|e| self.corrupt(e))?;
        let theirs = Layout::blocked_activation(rank, self.file.block).is_ok_and(|l| l == layout);
        let layout = if repacked && theirs { Layout::native_activation(rank)? } else { layout };
        if layout.rank() != rank {
            return Err(self.corrupt(format!("layout {layout} for rank {rank}")));
        }
        Ok(SourceLayout::Blocked(layout))
    }
}
