//! Packed weights in a file: written once, read or mapped ever after, and refused where they do not fit.
//!
//! A safetensors file. `NAME.packed` are the weights as their kernel reads them, `NAME.bias` the bias, `NAME.plain` the weights
//! in row-major order where the writer kept them; the metadata's `packed:NAME` says what they were packed for, and the other
//! entries on what machine. Every tensor lies at a multiple of 64 bytes; the last one, `checksums`, holds XXH3 of the header
//! and of each tensor.

pub(crate) mod entry;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::tensor::Dtype;

use self::entry::{Entry, Form as WeightsForm};
use super::container::{Container, Form, NewPart, Part, write};
use super::{cut, shown};
use crate::buffer::{ALIGN, Buffer};
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::strided::StridedTensor;

/// The metadata's name for what the file is, and for the version of all that this module says.
const FORMAT: (&str, &str) = ("format", "blocktensor-packed");
const VERSION: (&str, &str) = ("format_version", "2");
/// How the metadata's entries for packed ops begin.
const ENTRY: &str = "packed:";

/// What packed weights depend on beside their source: they fit nowhere else.
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

/// One packed op on its way into a file.
pub struct Saved<'a> {
    pub(crate) entry: Entry,
    pub(crate) weights: &'a [u8],
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) plain: Box<dyn Fn() -> Result<StridedTensor> + Send + Sync + 'a>,
}

/// Collects packed weights under names, and writes them into one file.
///
/// ```
/// use blocktensor::{MemoryFormat, PackedFile, PackedLinear, PackedWriter, StridedTensor};
/// # fn main() -> blocktensor::Result<()> {
/// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("model.packed");
/// let w = StridedTensor::full(&[10, 64], 0.5f32, MemoryFormat::Contiguous)?;
/// let fc = PackedLinear::new(&w, None, 1)?;
/// let mut writer = PackedWriter::new();
/// writer.add("fc", &fc)?;
/// writer.save(&path)?;
///
/// let file = PackedFile::read(&path)?;            // checked; nothing is reordered
/// let fc: PackedLinear = file.get("fc")?;
/// # let x = StridedTensor::full(&[1, 64], 1f32, MemoryFormat::Contiguous)?;
/// # assert_eq!(fc.run(&x)?.to_vec::<f32>()?, [32.0; 10]);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct PackedWriter<'a> {
    items: BTreeMap<String, Saved<'a>>,
    keep_plain: bool,
}

impl<'a> PackedWriter<'a> {
    /// An empty one.
    pub fn new() -> PackedWriter<'a> {
        PackedWriter::default()
    }

    /// Also writes the weights in row-major order, as they run (batch norms folded in), so that another machine can pack them
    /// again with [`PackedFile::read_or_repack`]: about as many bytes once more.
    pub fn keep_plain(mut self) -> PackedWriter<'a> {
        self.keep_plain = true;
        self
    }

    /// Adds packed weights.
    ///
    /// # Errors
    /// `InvalidArgument` when the name is taken.
    pub fn add(&mut self, name: impl Into<String>, packed: &'a impl Packable) -> Result<()> {
        let name = name.into();
        let saved = packed.saved()?;
        if self.items.contains_key(&name) {
            fail!(
                InvalidArgument,
                "PackedWriter::add",
                "name",
                format!("`{}` again", shown(&name)),
                "packed weights of a file have names of their own",
                "pass another name"
            );
        }
        self.items.insert(name, saved);
        Ok(())
    }

    /// Writes the file. It is there whole, or what was there before still is.
    ///
    /// # Errors
    /// `FileAccess`, `OutOfMemory`.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let op = "PackedWriter::save";
        let mut metadata: BTreeMap<String, String> =
            [FORMAT, VERSION, ("blocktensor", env!("CARGO_PKG_VERSION"))]
                .map(|(key, value)| (key.into(), value.into()))
                .into();
        metadata.extend(machine().map(|(key, value)| (key.into(), value)));
        let mut parts = Vec::new();
        let mut push = |name: &str, kind: &str, shape: Vec<usize>, bytes| {
            parts.push(NewPart { name: format!("{name}.{kind}"), dtype: Dtype::F32, shape, bytes });
        };
        for (name, saved) in &self.items {
            let json = serde_json::to_string(&saved.entry).map_err(|e| {
                let rule = "every entry can be written as JSON";
                Error::InvalidArgument(Complaint::new(op, "name", e.to_string(), rule, "please report this"))
            })?;
            metadata.insert(format!("{ENTRY}{name}"), json);
            push(name, "packed", vec![saved.weights.len() / 4], Cow::Borrowed(saved.weights));
            if let Some(bias) = saved.bias {
                push(name, "bias", vec![bias.len()], Cow::Borrowed(bytemuck::cast_slice(bias)));
            }
            if self.keep_plain {
                let plain = (saved.plain)()?;
                let bytes = bytemuck::cast_slice(plain.as_slice::<f32>()?).to_vec();
                push(name, "plain", plain.dims().to_vec(), Cow::Owned(bytes));
            }
        }
        write(op, path.as_ref(), &metadata, parts, Form::Checked)
    }
}

/// Packed weights in a file, read into memory or mapped.
pub struct PackedFile {
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
    parts: HashMap<String, Part>,
    /// Lanes of a block on the machine that wrote it.
    block: usize,
    /// Why the weights do not fit this machine.
    misfit: Option<Box<Complaint>>,
    repack: bool,
}

impl std::fmt::Debug for PackedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedFile {{ `{}`, {} packed ops }}", self.path.display(), self.entries.len())
    }
}

impl PackedFile {
    /// Reads a file that [`PackedWriter::save`] wrote into memory, and checks all of it: header, checksums, and that it is
    /// for this machine.
    ///
    /// # Errors
    /// `FileAccess` when it cannot be opened or read; `CorruptFile` when it is no packed file, or not as it was written;
    /// `PackMismatch` when it was packed on another instruction set, block or version of oneDNN, or is of another format
    /// version; `OutOfMemory`.
    pub fn read(path: impl AsRef<Path>) -> Result<PackedFile> {
        PackedFile::read_any(path.as_ref(), false)?.fitting()
    }

    /// As [`read`](Self::read), but weights that do not fit this machine, or the threads of a run here, are packed again from
    /// the plain weights in the file, which [`PackedWriter::keep_plain`] keeps. The ledger tells which. The writer's native
    /// blocked layout is replaced by this machine's.
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
        let got = |what: String| format!("`{}`: {what}", path.display());
        if said(FORMAT.0) != FORMAT.1 {
            fail!(
                CorruptFile,
                op,
                "path",
                got("a safetensors file without packed weights".into()),
                "`PackedWriter::save` wrote it",
                "read plain weights with `StateDict::read`, pack them, and save those"
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
        let misfit = machine().into_iter().find(|(key, here)| said(key) != *here).map(|(key, here)| {
            Complaint::new(
                op,
                "path",
                got(format!("packed with {key} {}", shown(&said(key)))),
                format!("here {key} is {here}"),
                "pack the plain weights here, or open it with `PackedFile::read_or_repack`",
            )
        });
        let block = said("block").parse().unwrap_or(0);
        container.check_sums(op, path, check_data)?;
        let mut entries = BTreeMap::new();
        for (key, json) in &container.metadata {
            let Some(name) = key.strip_prefix(ENTRY) else { continue };
            let entry: Entry = serde_json::from_str(json).map_err(|e| {
                let what = got(format!("entry `{}`: {}", shown(name), shown(&e.to_string())));
                let rule = "every entry says what its weights were packed for";
                Error::CorruptFile(Complaint::new(op, "path", what, rule, "write the file again"))
            })?;
            entries.insert(name.to_string(), entry);
        }
        let parts = container.parts.into_iter().map(|p| (p.name.clone(), p)).collect();
        Ok(PackedFile { path: path.into(), entries, parts, block, misfit, repack })
    }

    /// Names of the packed ops, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The packed op of this name. Its weights stay where they are, without a copy; the `PackedFile` may be dropped.
    ///
    /// # Errors
    /// `InvalidArgument` when there is none; `PackMismatch` when it is of another kind, or a run here has another number of
    /// threads, or the engine wants another layout; `CorruptFile` when the entry does not hold together.
    #[track_caller]
    pub fn get<T: Packable>(&self, name: &str) -> Result<T> {
        let op = "PackedFile::get";
        let Some(entry) = self.entries.get(name) else {
            let mut known: Vec<String> = self.entries.keys().take(8).map(|n| shown(n)).collect();
            if self.entries.len() > known.len() {
                known.push("...".into());
            }
            fail!(
                InvalidArgument,
                op,
                "name",
                format!("`{}`", shown(name)),
                format!("`{}` holds {} names: {}", self.path.display(), self.entries.len(), known.join(", ")),
                "pass one of `names`"
            )
        };
        T::loaded(Loaded { file: self, name, entry })
    }
}

/// One packed op on its way out of a file.
pub struct Loaded<'a> {
    file: &'a PackedFile,
    name: &'a str,
    pub(crate) entry: &'a Entry,
}

impl Loaded<'_> {
    const OP: &'static str = "PackedFile::get";

    /// The name and its file, for messages.
    fn place(&self) -> String {
        format!("`{}` of `{}`", shown(self.name), self.file.path.display())
    }

    pub(crate) fn corrupt(&self, why: impl std::fmt::Display) -> Error {
        let rule = "an entry and its tensors must go together";
        // What a file holds may be anything, of any length.
        let got = format!("{}: {}", self.place(), cut(&why.to_string(), 300));
        Error::CorruptFile(Complaint::new(Self::OP, "name", got, rule, "write the file again"))
    }

    pub(crate) fn wrong_kind(&self, is: &str, asked: &str) -> Error {
        let got = format!("{}, {is}", self.place());
        let rule = format!("{asked} was asked for");
        Error::PackMismatch(Complaint::new(Self::OP, "name", got, rule, "ask for what it is"))
    }

    /// Why these weights cannot be used as they are: other than asked for, the number of threads or the engine's choice.
    pub(crate) fn misfit(&self, packed: String, here: String) -> Box<Complaint> {
        let remedy = "pack the plain weights here, or open the file with `PackedFile::read_or_repack`";
        let got = format!("{}: {}", self.place(), cut(&packed, 100));
        Complaint::new(Self::OP, "name", got, here, remedy)
    }

    /// That of the machine, or of the number of threads.
    pub(crate) fn misfit_of(&self, threads: usize) -> Option<Box<Complaint>> {
        let here = crate::threads::current_threads();
        let threads = (threads != here)
            .then(|| self.misfit(format!("packed for {threads} threads"), format!("a run here has {here}")));
        self.file.misfit.clone().or(threads)
    }

    /// The plain weights, to pack again because of a misfit; the error where that was not asked for.
    pub(crate) fn plain(&self, misfit: Box<Complaint>, dims: &[usize]) -> Result<StridedTensor> {
        if !self.file.repack {
            return Err(Error::PackMismatch(misfit));
        }
        let Some(part) = self.part("plain") else {
            let remedy = "pack from a state dict, or write the file with `PackedWriter::keep_plain`";
            let rule = format!("{}, and the file keeps no plain weights", misfit.rule);
            return Err(Error::PackMismatch(Box::new(Complaint { rule, remedy: remedy.into(), ..*misfit })));
        };
        if part.shape != dims || part.dtype != Dtype::F32 {
            return Err(self.corrupt(format!("plain weights {:?}, not {dims:?}", part.shape)));
        }
        let dims = Dims::new(Self::OP, "dims", dims)?;
        StridedTensor::of_storage(Self::OP, Arc::clone(&part.data), dims, DType::F32)
    }

    fn part(&self, kind: &str) -> Option<&Part> {
        self.file.parts.get(&format!("{}.{kind}", self.name))
    }

    /// The packed weights, of which the entry says how many elements there must be at least.
    pub(crate) fn weights(&self, dims: &[usize], form: WeightsForm) -> Result<Arc<Buffer>> {
        let Some(part) = self.part("packed") else { return Err(self.corrupt("no packed weights")) };
        let needed = Dims::new(Self::OP, "dims", dims).ok().and_then(|d| d.checked_product());
        let held = part.data.len() / 4;
        let fits = match form {
            WeightsForm::Dense => needed == Some(held),
            WeightsForm::Engine | WeightsForm::Direct => needed.is_some_and(|n| n <= held),
        };
        if part.dtype != Dtype::F32 || !fits {
            return Err(self.corrupt(format!("{held} packed values for weights {dims:?}")));
        }
        if !(part.data.as_bytes().as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(self.corrupt("packed weights that do not begin at a multiple of 64 bytes"));
        }
        Ok(Arc::clone(&part.data))
    }

    pub(crate) fn bias(&self) -> Result<Option<Vec<f32>>> {
        match self.part("bias") {
            None => Ok(None),
            Some(part) if part.dtype == Dtype::F32 => Ok(Some(part.data.as_slice::<f32>().to_vec())),
            Some(part) => Err(self.corrupt(format!("a bias of {}", part.dtype))),
        }
    }

    /// A layout or memory format by name. One with the blocks of the machine that wrote the file becomes the one with ours,
    /// for weights that are packed again.
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
