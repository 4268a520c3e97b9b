//! The writer of packed weights.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::{ENTRY, FORMAT, Packable, PackedFile, Saved, TENSOR, TEXT, VERSION, machine};
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, fail};
use crate::file::container::{FileKind, NewFile, NewTensor, composed};
use crate::file::shown;
use crate::file::tensors::{file_dtype, quantization_entry, row_major};
use crate::memory::try_copied;
use crate::tensor::strided::StridedTensor;

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
    pub(super) tensors: BTreeMap<String, StridedTensor>,
    pub(super) texts: BTreeMap<String, String>,
    keep_plain: bool,
}

impl<'a> PackedWriter<'a> {
    /// Creates an empty writer.
    pub fn new() -> PackedWriter<'a> {
        PackedWriter::default()
    }

    /// Also writes the weights in row-major order, with batch norms folded in, so that another machine can pack them again with
    /// [`PackedFile::read_or_repack`]. This about doubles the file's size.
    pub fn keep_plain(mut self) -> PackedWriter<'a> {
        self.keep_plain = true;
        self
    }

    /// Adds packed weights.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is taken.
    pub fn add(&mut self, name: impl Into<String>, packed: &'a impl Packable) -> Result<()> {
        let name = name.into();
        let saved = packed.saved()?;
        check_new(&self.items, "PackedWriter::add", &name)?;
        self.items.insert(name, saved);
        Ok(())
    }

    /// Writes the file. Afterwards it is complete, or on an error the old file is unchanged; [`files::write`](crate::files::write())
    /// says more. A file that is there is replaced only if it is empty or one of packed weights; a saved plan is another kind.
    ///
    /// # Errors
    /// `FileAccess`, also for a file of another kind; `OutOfMemory`.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let op = "PackedWriter::save";
        self.file(op)?.write(op, path.as_ref())
    }

    /// What [`save`](Self::save) writes, for [`PackedFile::of_bytes`].
    #[doc(hidden)]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.file("PackedWriter::to_bytes")?.bytes()
    }

    fn file(&self, op: &'static str) -> Result<NewFile<'_>> {
        let mut metadata: BTreeMap<String, String> =
            [FORMAT, VERSION, ("blocktensor", env!("CARGO_PKG_VERSION"))]
                .map(|(key, value)| (key.into(), value.into()))
                .into();
        metadata.extend(machine().map(|(key, value)| (key.into(), value)));
        metadata.extend(self.texts.iter().map(|(name, text)| (format!("{TEXT}{name}"), text.clone())));
        let mut parts = Vec::new();
        let mut push = |name: &str, kind: &str, dtype: DType, shape: Vec<usize>, bytes| {
            parts.push(NewTensor { name: format!("{name}.{kind}"), dtype: file_dtype(dtype), shape, bytes });
        };
        for (name, saved) in &self.items {
            let json = serde_json::to_string(&saved.entry).map_err(|e| {
                let rule = "every entry can be written as JSON";
                Error::InvalidArgument(Complaint::new(op, "name", e.to_string(), rule, "please report this"))
            })?;
            metadata.insert(format!("{ENTRY}{name}"), json);
            let weights = &saved.weights;
            push(name, "packed", weights.dtype(), vec![weights.numel()], Cow::Borrowed(weights.bytes()));
            if let Some(bias) = saved.bias {
                push(name, "bias", DType::F32, vec![bias.len()], Cow::Borrowed(bytemuck::cast_slice(bias)));
            }
            if self.keep_plain {
                let plain = (saved.plain)()?;
                let bytes = try_copied(op, plain.bytes())?;
                push(name, "plain", plain.dtype(), plain.dims().to_vec(), Cow::Owned(bytes));
            }
        }
        for (name, tensor) in &self.tensors {
            metadata.extend(quantization_entry(name, tensor));
            let (dtype, shape) = (file_dtype(tensor.dtype()), tensor.dims().to_vec());
            let name = format!("{name}.{TENSOR}");
            parts.push(NewTensor { name, dtype, shape, bytes: row_major(tensor)? });
        }
        let is_plan = self.texts.contains_key(PackedFile::PLAN);
        let kind = if is_plan { FileKind::Plan } else { FileKind::Checked };
        composed(op, &metadata, parts, kind)
    }
}

/// Refuses a name that is taken.
pub(super) fn check_new<T>(taken: &BTreeMap<String, T>, op: &'static str, name: &str) -> Result<()> {
    if taken.contains_key(name) {
        let (got, rule) = (format!("`{}` again", shown(name)), "in a file, each has a name of its own");
        fail!(InvalidArgument, op, "name", got, rule, "pass another name");
    }
    Ok(())
}
