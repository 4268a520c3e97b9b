//! State dicts: plain weights by name, as PyTorch's models name them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::container::{Container, FileKind, NewTensor, StoredTensor, composed};
use super::tensors::{QUANTIZATION, file_dtype, quantization_entry, quantized, row_major, tensor};
use super::{shown, shown_path};
use crate::error::{Call, Complaint, Error, Result, Text, fail};
use crate::layout::memory_format::MemoryFormat;
use crate::ops::BatchNorm;
use crate::tensor::strided::StridedTensor;

/// The prefix of the metadata's keys for tensors' memory formats.
const FORMAT: &str = "memory_format:";

/// Named plain tensors, read from a safetensors file or inserted by name.
///
/// ```no_run
/// use blocktensor::{Module, PackedConv2d, Source, StateDict, ops::Conv2d};
/// # fn main() -> blocktensor::Result<()> {
/// let mut dict = StateDict::read("resnet.safetensors")?;
/// let modules = [Module::conv("conv1", &[64, 3, 7, 7], false), Module::batch_norm("bn1", 64)];
/// let keys = dict.check(&modules, false)?;             // true: anything missing or left over is an error
/// println!("left over: {:?}", keys.left_over);
/// let (conv, norm) = (dict.conv("conv1")?, dict.batch_norm("bn1")?);
/// let params = Conv2d::new().stride(2).padding(3);
/// let packer = PackedConv2d::new(&conv.weight, conv.bias.as_ref(), params)?.fold_batch_norm(&norm.params(1e-5))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: BTreeMap<String, Value>,
    metadata: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
enum Value {
    Tensor(StridedTensor),
    /// A tensor of a type that tensors here cannot have (int64, bool, ...). It is kept unchanged, for saving.
    Other(StoredTensor),
}

impl Value {
    fn dims(&self) -> &[usize] {
        match self {
            Value::Tensor(t) => t.dims(),
            Value::Other(part) => &part.shape,
        }
    }

    fn describe(&self) -> String {
        match self {
            Value::Tensor(t) => format!("{:?} {}", t.dims(), t.dtype()),
            Value::Other(part) => format!("{:?} {}", part.shape, part.dtype),
        }
    }
}

/// A module of a network, and the tensors that it needs from a state dict: PyTorch's names and shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    name: String,
    /// Name, shape, and whether it may be missing.
    tensors: Vec<(&'static str, Vec<usize>)>,
}

impl Module {
    /// A convolution: `NAME.weight`, of these sizes, and `NAME.bias` if it has one.
    pub fn conv(name: impl Into<String>, weight: &[usize], bias: bool) -> Module {
        let outputs = weight.first().copied().unwrap_or(0);
        Module::new(name, weight, bias, outputs)
    }

    /// A transposed convolution: `NAME.weight` `[C, O/groups, k...]`, and `NAME.bias` `[O]` if it has one.
    pub fn conv_transpose(name: impl Into<String>, weight: &[usize], groups: usize, bias: bool) -> Module {
        let outputs = weight.get(1).copied().unwrap_or(0).saturating_mul(groups);
        Module::new(name, weight, bias, outputs)
    }

    /// A linear layer: `NAME.weight` `[outputs, inputs]`, and `NAME.bias` if it has one.
    pub fn linear(name: impl Into<String>, outputs: usize, inputs: usize, bias: bool) -> Module {
        Module::new(name, &[outputs, inputs], bias, outputs)
    }

    /// A batch norm: `NAME.weight`, `NAME.bias`, `NAME.running_mean`, `NAME.running_var`, one value per channel.
    pub fn batch_norm(name: impl Into<String>, channels: usize) -> Module {
        let names = ["weight", "bias", "running_mean", "running_var"];
        Module { name: name.into(), tensors: names.map(|n| (n, vec![channels])).to_vec() }
    }

    /// The same batch norm without `weight` and `bias` (`affine=False`).
    pub fn without_affine(mut self) -> Module {
        self.tensors.retain(|(part, _)| part.starts_with("running_"));
        self
    }

    fn new(name: impl Into<String>, weight: &[usize], bias: bool, outputs: usize) -> Module {
        let mut tensors = vec![("weight", weight.to_vec())];
        if bias {
            tensors.push(("bias", vec![outputs]));
        }
        Module { name: name.into(), tensors }
    }
}

/// How a state dict matches the modules of a network: PyTorch's `missing_keys` and `unexpected_keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Tensors that a module needs and the dict lacks.
    pub missing: Vec<String>,
    /// Tensors of the dict that no module needs. A batch norm's `num_batches_tracked` is not listed.
    pub left_over: Vec<String>,
}

/// The tensors of a convolution or linear layer.
#[derive(Clone, Debug)]
pub struct LayerTensors {
    /// `[O, C/groups, k...]` of a convolution, `[C, O/groups, k...]` of a transposed one, `[outputs, inputs]` of a linear layer.
    pub weight: StridedTensor,
    /// `[O]`, if there is one.
    pub bias: Option<StridedTensor>,
}

/// The tensors of a batch norm, each `[C]`.
#[derive(Clone, Debug)]
pub struct NormTensors {
    /// Running mean.
    pub mean: StridedTensor,
    /// Running variance.
    pub var: StridedTensor,
    /// Scale, if there is one.
    pub weight: Option<StridedTensor>,
    /// Shift, if there is one.
    pub bias: Option<StridedTensor>,
}

impl NormTensors {
    /// The parameters of a batch norm, for `ops::batch_norm` and
    /// [`ConvPacker::fold_batch_norm`](crate::ConvPacker::fold_batch_norm).
    pub fn params(&self, eps: f64) -> BatchNorm<'_> {
        let NormTensors { mean, var, weight, bias } = self;
        BatchNorm { mean, var, weight: weight.as_ref(), bias: bias.as_ref(), eps }
    }
}

/// Whether the tensor counts a batch norm's training steps, which inference does not use.
fn is_counter(name: &str) -> bool {
    name == "num_batches_tracked" || name.ends_with(".num_batches_tracked")
}

impl StateDict {
    /// What precedes a tensor's name in the key of a file's metadata that states its scales and zero points.
    pub const QUANTIZATION: &str = QUANTIZATION;

    /// Creates an empty dict.
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Reads a safetensors file into memory. Each tensor has its own memory, which is freed when the tensor is dropped. A
    /// tensor whose format the metadata states (see [`save`](Self::save)) is reordered into that format, which the ledger
    /// records as a reorder.
    ///
    /// # Errors
    /// `FileAccess` if it cannot be opened or read; `CorruptFile` if it is not a complete safetensors file, or states a
    /// format, or scales and zero points, that its tensor cannot have; `OutOfMemory`, `ReorderDenied`.
    #[track_caller]
    pub fn read(path: impl AsRef<Path>) -> Result<StateDict> {
        let (op, path) = ("StateDict::read", path.as_ref());
        StateDict::of(op, path, Container::read(op, path)?)
    }

    #[track_caller]
    pub(super) fn of(op: &'static str, path: &Path, container: Container) -> Result<StateDict> {
        let Container { metadata, parts, .. } = container;
        let mut dict = StateDict { metadata: metadata.into_iter().collect(), ..StateDict::default() };
        for part in parts {
            let name = part.name.clone();
            let value = match tensor(op, &name, &part) {
                Ok(tensor) => Value::Tensor(tensor),
                Err(_) => Value::Other(part),
            };
            dict.tensors.insert(name, value);
        }
        let stated: Vec<(String, String)> = dict
            .metadata
            .extract_if(.., |key, _| key.starts_with(FORMAT))
            .map(|(key, format)| (key[FORMAT.len()..].to_string(), format))
            .collect();
        for (name, stated) in stated {
            let format = MemoryFormat::of_name(&stated);
            let (Some(Value::Tensor(t)), Some(format)) = (dict.tensors.get_mut(&name), format) else {
                return Err(bad_format(op, path, &name, &stated, "there is no such tensor or format"));
            };
            if !format.fits(t.rank()) {
                return Err(bad_format(op, path, &name, &stated, "its rank does not have that format"));
            }
            *t = t.contiguous(format)?.with_format_tag(format)?;
        }
        let stated: Vec<(String, String)> =
            dict.metadata.extract_if(.., |key, _| key.starts_with(QUANTIZATION)).collect();
        for (key, json) in stated {
            let name = &key[QUANTIZATION.len()..];
            let made = quantized(op, path, name, &json, dict.get(name))?;
            dict.insert(name, made);
        }
        Ok(dict)
    }

    /// Writes a safetensors file with every tensor in row-major order, as other tools expect. The metadata records which
    /// tensors are channels-last (`memory_format:NAME`), and [`read`](Self::read) restores that format; other orders of
    /// strides are not kept. Scales and zero points are recorded, too (`quantization:NAME`, in JSON). Metadata, and tensors of types
    /// that have no kernel here (int64, bool), are written unchanged.
    /// Afterwards the file is complete, or on an error the old file is unchanged; [`files::write`](crate::files::write()) says more.
    /// A file that is there is replaced only if it is empty or a safetensors file, and not one of packed weights.
    ///
    /// # Errors
    /// `FileAccess`, also for a file of another kind; `OutOfMemory`; `InvalidArgument` for a tensor called `__metadata__`, or names too long for a header.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let op = "StateDict::save";
        let mut metadata = self.metadata.clone();
        // Some tools check this key before they read a file.
        metadata.entry("format".into()).or_insert("pt".into());
        let mut parts = Vec::with_capacity(self.tensors.len());
        for (name, value) in &self.tensors {
            let part = match value {
                Value::Tensor(t) => {
                    let format = format_of(t);
                    if format != MemoryFormat::Contiguous {
                        metadata.insert(format!("{FORMAT}{name}"), format.name().into());
                    }
                    metadata.extend(quantization_entry(name, t));
                    let (dtype, shape) = (file_dtype(t.dtype()), t.dims().to_vec());
                    NewTensor { name: name.clone(), dtype, shape, bytes: row_major(t)? }
                }
                Value::Other(part) => NewTensor {
                    name: name.clone(),
                    dtype: part.dtype,
                    shape: part.shape.clone(),
                    bytes: Cow::Borrowed(part.data.as_bytes()),
                },
            };
            parts.push(part);
        }
        composed(op, &metadata, parts, FileKind::Plain)?.write(op, path.as_ref())
    }

    /// Whether the content is that of a safetensors file, whole or damaged, which is none of packed weights: [`save`](Self::save)
    /// replaces no other files.
    ///
    /// # Errors
    /// Those of reading.
    pub fn recognises(content: &mut dyn std::io::Read) -> std::io::Result<bool> {
        Ok(FileKind::of(content)?.contains(&FileKind::Plain))
    }

    /// The names of all tensors, sorted, including those of types that have no kernel here.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The tensor of this name, if this crate supports its type.
    pub fn get(&self, name: &str) -> Option<&StridedTensor> {
        match self.tensors.get(name)? {
            Value::Tensor(t) => Some(t),
            Value::Other(_) => None,
        }
    }

    /// Adds a tensor, or replaces the tensor of that name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: StridedTensor) {
        self.tensors.insert(name.into(), Value::Tensor(tensor));
    }

    /// Takes the tensor of this name out of the dict, so that packing it frees it.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none; `UnsupportedDType`, `RankMismatch` or `Overflow` if it has a type or sizes that tensors
    /// here cannot have.
    pub fn take(&mut self, name: &str) -> Result<StridedTensor> {
        let op = "StateDict::take";
        match self.tensors.remove(name) {
            Some(Value::Tensor(t)) => Ok(t),
            Some(Value::Other(part)) => {
                let why = tensor(op, name, &part);
                self.tensors.insert(name.into(), Value::Other(part));
                why
            }
            None => fail!(
                InvalidArgument,
                op,
                "name",
                format!("`{}`", shown(name)),
                format!("no tensor among the {} of the state dict has this name", self.tensors.len()),
                Text::from("pass one of ") + Call::StateDictNames
            ),
        }
    }

    /// Gives every tensor a new name.
    ///
    /// # Errors
    /// `InvalidArgument` if two would have the same name; the dict is then unchanged.
    pub fn rename(&mut self, new_name: impl Fn(&str) -> String) -> Result<()> {
        let mut renamed = BTreeMap::new();
        for (name, value) in &self.tensors {
            let new = new_name(name);
            if renamed.insert(new.clone(), value.clone()).is_some() {
                fail!(
                    InvalidArgument,
                    "StateDict::rename",
                    "new_name",
                    format!("`{}` for two tensors", shown(&new)),
                    "names must stay different",
                    "give each tensor a different name"
                );
            }
        }
        self.tensors = renamed;
        Ok(())
    }

    /// Compares the dict with the modules of a network. Wrong shapes are always an error. Missing and left-over tensors are
    /// an error if `strict`, and are listed otherwise. PyTorch's `load_state_dict(strict)`. Types are not compared.
    ///
    /// # Errors
    /// `ShapeMismatch`, `InvalidArgument`; the error lists every name.
    pub fn check(&self, modules: &[Module], strict: bool) -> Result<Keys> {
        let op = "StateDict::check";
        let mut keys = Keys::default();
        let mut misfits = Vec::new();
        let mut wanted = std::collections::HashSet::new();
        for module in modules {
            for (part, dims) in &module.tensors {
                let name = format!("{}.{part}", module.name);
                match self.tensors.get(&name) {
                    None => keys.missing.push(name.clone()),
                    Some(value) if value.dims() != dims => {
                        misfits.push(format!("{} is {}, not {dims:?}", shown(&name), value.describe()));
                    }
                    Some(_) => {}
                }
                wanted.insert(name);
            }
        }
        let others = self.tensors.keys().filter(|name| !is_counter(name) && !wanted.contains(*name));
        keys.left_over = others.cloned().collect();
        let remedy = "load the weights of this network";
        if !misfits.is_empty() {
            fail!(
                ShapeMismatch,
                op,
                "modules",
                misfits.join("; "),
                "shapes must match those of the modules",
                remedy
            );
        }
        if strict && keys != Keys::default() {
            let list = |what: &str, names: &[String]| match names {
                [] => format!("nothing {what}"),
                _ => format!("{what} {}", names.iter().map(|n| shown(n)).collect::<Vec<_>>().join(", ")),
            };
            let got = format!("{}; {}", list("missing", &keys.missing), list("left over", &keys.left_over));
            let remedy = format!("{remedy}, or pass `strict` as false and read the lists");
            fail!(InvalidArgument, op, "modules", got, "a strict check needs every name to be used", remedy);
        }
        Ok(keys)
    }

    /// Takes the tensors of a convolution: `NAME.weight`, and `NAME.bias` if there is one.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn conv(&mut self, name: &str) -> Result<LayerTensors> {
        self.check_there(name, &["weight"], &["bias"])?;
        Ok(LayerTensors { weight: self.take(&format!("{name}.weight"))?, bias: self.take_if(name, "bias")? })
    }

    /// Takes the tensors of a linear layer: `NAME.weight`, and `NAME.bias` if there is one.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn linear(&mut self, name: &str) -> Result<LayerTensors> {
        self.conv(name)
    }

    /// Takes the tensors of a batch norm: `NAME.running_mean`, `NAME.running_var`, and `NAME.weight` and `NAME.bias` if there
    /// are any. Its `num_batches_tracked` stays in the dict.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn batch_norm(&mut self, name: &str) -> Result<NormTensors> {
        self.check_there(name, &["running_mean", "running_var"], &["weight", "bias"])?;
        Ok(NormTensors {
            mean: self.take(&format!("{name}.running_mean"))?,
            var: self.take(&format!("{name}.running_var"))?,
            weight: self.take_if(name, "weight")?,
            bias: self.take_if(name, "bias")?,
        })
    }

    /// Fails before anything is taken, so that the dict is unchanged after an error.
    fn check_there(&mut self, module: &str, needed: &[&str], optional: &[&str]) -> Result<()> {
        for part in needed.iter().chain(optional) {
            let name = format!("{module}.{part}");
            let there = self.get(&name).is_some();
            if !there && (needed.contains(part) || self.tensors.contains_key(&name)) {
                // Returns the error, and takes nothing.
                self.take(&name)?;
            }
        }
        Ok(())
    }

    fn take_if(&mut self, module: &str, part: &str) -> Result<Option<StridedTensor>> {
        let name = format!("{module}.{part}");
        if self.tensors.contains_key(&name) { self.take(&name).map(Some) } else { Ok(None) }
    }
}

fn bad_format(op: &'static str, path: &Path, name: &str, stated: &str, why: &str) -> Error {
    Error::CorruptFile(Complaint::new(
        op,
        "path",
        format!("`{}`: memory format `{}` for tensor `{}`", shown_path(path), shown(stated), shown(name)),
        why,
        "remove the entry from the metadata, or write the file again",
    ))
}

/// The format to restore when the file is read. For rank 3 only this function infers channels-last from strides, because
/// nothing else records it.
fn format_of(t: &StridedTensor) -> MemoryFormat {
    let last = MemoryFormat::ChannelsLast1d;
    match t.suggest_memory_format(false) {
        MemoryFormat::Contiguous
            if t.rank() == 3 && t.is_contiguous(last) && !t.is_contiguous(MemoryFormat::Contiguous) =>
        {
            last
        }
        other => other,
    }
}
