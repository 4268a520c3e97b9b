//! The model's inputs: from files, from pictures, or random.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use blocktensor::{StridedTensor, memory};
use blocktensor_graph::{Dim, ElementType, Misfit, Sizes};

use crate::args::Inputs;
use crate::array::{Array, Values};
use crate::failure::{Failure, Result, one_line, word};
use crate::files::{self, Kind};
use crate::model::Source;
use crate::note;
use crate::preprocess::Preprocess;
use crate::words::CommandLine;

const OPTION: &str = "--input";

/// An input of the model with its value.
pub struct Input {
    pub name: String,
    pub of: ElementType,
    pub dims: Vec<usize>,
    /// `None` for random numbers, which are made when the model is planned.
    array: Option<Array>,
    seed: u64,
    /// The file, or how the values are made.
    pub from: String,
}

impl Input {
    /// Whether a file's f64 numbers become f32.
    pub fn is_rounded(&self) -> bool {
        self.of == ElementType::F32 && matches!(&self.array, Some(Array { values: Values::F64(_), .. }))
    }

    /// The tensor that the model gets.
    pub fn tensor(&self) -> Result<StridedTensor> {
        let random;
        let array = match &self.array {
            Some(array) => array,
            None => {
                random = self.random()?;
                &random
            }
        };
        array.to_tensor(self.of).map_err(|text| Failure::usage(OPTION, format!("{}: {text}", self.from)))
    }

    /// Normally distributed numbers, or Booleans; the same ones for the same seed.
    fn random(&self) -> Result<Array> {
        let count = self.dims.iter().product();
        const CALL: &str = "random numbers";
        // SplitMix64.
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        // In (0, 1].
        let mut unit = || ((next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let full = |e: blocktensor::Error| Failure::usage("--random", format!("{e}; pass smaller sizes"));
        let values = if self.of == ElementType::Bool {
            Values::Bool(memory::try_collect(CALL, (0..count).map(|_| unit() > 0.5)).map_err(full)?)
        } else {
            let mut normal = || (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
            Values::F32(memory::try_collect(CALL, (0..count).map(|_| normal() as f32)).map_err(full)?)
        };
        Ok(Array { dims: self.dims.clone(), values })
    }
}

/// The most random numbers of an input.
const MAX_RANDOM: usize = 1 << 28;

/// An input of the model before it has a value.
struct Slot<'a> {
    name: &'a str,
    of: ElementType,
    dims: Vec<Dim>,
    value: Option<(Array, String)>,
    picture: Option<PathBuf>,
}

impl Slot<'_> {
    fn is_given(&self) -> bool {
        self.value.is_some() || self.picture.is_some()
    }

    fn text(&self) -> String {
        format!("input `{}` ({}, {})", self.name, self.of, dims_text(&self.dims))
    }
}

/// Values for all inputs, and numbers for all sizes that the inputs' files show or that `sizes` gives. `option` asks for the random
/// ones.
pub fn gather(given: &Inputs, option: &str, source: &Source, sizes: Sizes) -> Result<(Vec<Input>, Sizes)> {
    let inputs = source.inputs();
    let slot = |(name, of, dims)| Slot { name, of, dims, value: None, picture: None };
    let mut slots: Vec<Slot<'_>> = inputs.into_iter().map(slot).collect();
    for text in &given.files {
        fill(&mut slots, text, source)?;
    }
    let mut sizes = sizes;
    for slot in &slots {
        if let Some((array, from)) = &slot.value {
            sizes = unify(slot, &array.dims, from, sizes, source)?;
        }
    }
    let preprocess = Preprocess::of(&given.pictures)?;
    if given.pictures.is_used() && slots.iter().all(|slot| slot.picture.is_none()) {
        let text = "they are for pictures, and no input is one; leave them out, or pass a .png or .jpg file";
        return Err(Failure::usage("options of pictures", text));
    }
    for slot in &mut slots {
        if let Some(path) = slot.picture.take() {
            let want: Vec<Option<usize>> = slot.dims.iter().map(|dim| sizes.number(dim)).collect();
            if slot.of != ElementType::F32 {
                return Err(Failure::file(
                    OPTION,
                    &path,
                    format!("the {} is not of f32; pass a .npy file", slot.text()),
                ));
            }
            let (array, told) = preprocess.load(&path, &want)?;
            let from = path.display().to_string();
            sizes = unify(slot, &array.dims, &from, sizes, source)?;
            slot.value = Some((array, from));
            told.into_iter().for_each(note);
        }
    }
    let seed = match given.random {
        Some(seed) => seed,
        None => {
            check_all_given(&slots)?;
            0
        }
    };
    let mut inputs = Vec::with_capacity(slots.len());
    for (i, slot) in slots.into_iter().enumerate() {
        let (dims, array, from) = match slot.value {
            Some((array, from)) => (array.dims.clone(), Some(array), from),
            None => (random_dims(&slot, option, &sizes)?, None, format!("random, seed {seed}")),
        };
        let seed = seed.wrapping_add(i as u64);
        inputs.push(Input { name: slot.name.to_string(), of: slot.of, dims, array, seed, from });
    }
    Ok((inputs, sizes))
}

/// The tensors that the model gets.
pub fn tensors(inputs: &[Input]) -> Result<Vec<StridedTensor>> {
    let tensor = |input: &Input| {
        let tensor = input.tensor()?;
        if input.is_rounded() {
            note(format!(
                "{}: the numbers are f64, and are rounded to f32",
                blocktensor::shown_path(input.from.as_ref())
            ));
        }
        Ok(tensor)
    };
    inputs.iter().map(tensor).collect()
}

/// Takes the file of one `--input`.
fn fill(slots: &mut [Slot<'_>], text: &OsStr, source: &Source) -> Result<()> {
    let is_input = |name: &str| slots.iter().any(|slot| slot.name == name);
    let (name, path) = match files::split_name(text, is_input) {
        Some((name, path)) if is_input(name) => (Some(name), PathBuf::from(path)),
        Some((name, _)) if !Path::new(text).exists() => {
            check_given(source, name, None)?;
            let all = names(slots);
            return Err(Failure::usage(
                OPTION,
                format!("the model has no input `{name}`; its inputs are {all}"),
            ));
        }
        _ => (None, PathBuf::from(text)),
    };
    if path.as_os_str().is_empty() {
        let text = "the path is empty; write [NAME=]FILE, such as `x.npy` or `image=x.npy`";
        return Err(Failure::usage(OPTION, text));
    }
    let Some(kind) = Kind::of(&path) else {
        let text = "the ending is unknown; inputs are .npy, .safetensors, .png or .jpg";
        return Err(Failure::file(OPTION, &path, text));
    };
    let from = path.display().to_string();
    if kind == Kind::Safetensors {
        let tensors = files::read_safetensors(OPTION, &path)?;
        if name.is_none() {
            tensors.iter().try_for_each(|(tensor, _)| check_given(source, tensor, Some(&path)))?;
        }
        for (name, array) in choose(slots, name, tensors, &path)? {
            set(slots, &name, Some((array, from.clone())), None)?;
        }
        return Ok(());
    }
    let name = match (name, &*slots) {
        (Some(name), _) => name.to_string(),
        (None, [slot]) => slot.name.to_string(),
        (None, _) => {
            let text =
                format!("the model has {} inputs; write NAME=FILE with one of {}", slots.len(), names(slots));
            return Err(Failure::file(OPTION, &path, text));
        }
    };
    match kind {
        Kind::Picture => {
            // It is read when the sizes are known. A missing file is told before anything else happens.
            files::check(&path).map_err(|text| Failure::file(OPTION, &path, text))?;
            set(slots, &name, None, Some(path))
        }
        _ => {
            let wanted = slots.iter().find(|slot| slot.name == name).map(|slot| slot.of);
            set(slots, &name, Some((files::read_npy(OPTION, &path, wanted)?, from)), None)
        }
    }
}

/// Refuses a value for a constant of the model: it would be ignored.
fn check_given(source: &Source, name: &str, path: Option<&Path>) -> Result<()> {
    source.check_given(name).map_err(|error| match path {
        Some(path) => Failure::file(OPTION, path, one_line(&error.told(&CommandLine))),
        None => Failure::usage(OPTION, one_line(&error.told(&CommandLine))),
    })
}

/// The tensors of a .safetensors file that are inputs.
fn choose(
    slots: &[Slot<'_>],
    name: Option<&str>,
    mut tensors: Vec<(String, Array)>,
    path: &Path,
) -> Result<Vec<(String, Array)>> {
    let single = name.or(match slots {
        [slot] => Some(slot.name),
        _ => None,
    });
    let has: Vec<String> = tensors.iter().take(8).map(|(tensor, _)| format!("`{tensor}`")).collect();
    tensors.retain(|(tensor, _)| match single {
        Some(name) => tensor == name,
        None => slots.iter().any(|slot| slot.name == tensor),
    });
    if tensors.is_empty() {
        let wanted = single.map_or_else(|| names(slots), |name| format!("`{name}`"));
        return Err(Failure::file(
            OPTION,
            path,
            format!("it has no tensor with the name {wanted}, but {}; rename one", has.join(", ")),
        ));
    }
    Ok(tensors)
}

fn set(
    slots: &mut [Slot<'_>],
    name: &str,
    value: Option<(Array, String)>,
    picture: Option<PathBuf>,
) -> Result<()> {
    let Some(slot) = slots.iter_mut().find(|slot| slot.name == name) else { return Ok(()) };
    if slot.is_given() {
        return Err(Failure::usage(OPTION, format!("`{name}` has two files; leave one out")));
    }
    (slot.value, slot.picture) = (value, picture);
    Ok(())
}

/// Compares sizes with the model's, and takes numbers for those that the model leaves open.
fn unify(slot: &Slot<'_>, dims: &[usize], from: &str, mut sizes: Sizes, source: &Source) -> Result<Sizes> {
    let bad = |remedy: &str| {
        let text = format!("{from}: it has the sizes {dims:?}, and the {}; {remedy}", slot.text());
        Err(Failure::usage(OPTION, text))
    };
    let before = sizes.clone();
    match sizes.take(&slot.dims, dims) {
        Ok(()) => Ok(sizes),
        Err(Misfit::Rank) if dims.len() + 1 == slot.dims.len() => {
            bad("add the first axis (in NumPy `x[None]`)")
        }
        Err(Misfit::Rank) => bad("pass as many axes as the model has"),
        Err(Misfit::Axis(axis)) => match (&slot.dims[axis], before.number(&slot.dims[axis])) {
            (Dim::Size(_), _) => bad(source.remedy_of_fixed_size()),
            (Dim::Named(name), None) => {
                bad(&format!("pass a file where all axes called `{name}` have one size"))
            }
            (Dim::Named(name), Some(number)) => {
                bad(&format!("`{name}` is {number} already, from --size or another input; make them agree"))
            }
        },
    }
}

fn check_all_given(slots: &[Slot<'_>]) -> Result<()> {
    let lacking: Vec<&Slot<'_>> = slots.iter().filter(|slot| !slot.is_given()).collect();
    let Some(first) = lacking.first() else { return Ok(()) };
    let all: Vec<String> = lacking.iter().map(|slot| slot.text()).collect();
    let text = format!(
        "no value for {}; pass `--input {}=FILE` (.npy, .safetensors, .png or .jpg), or `--random`",
        all.join(", "),
        word(first.name)
    );
    Err(Failure::Usage(text))
}

fn open_size(slot: &Slot<'_>, dim: &Dim) -> Failure {
    Failure::Usage(format!(
        "the model leaves the size `{dim}` of {} open; pass `--size {}=1`",
        slot.text(),
        word(&dim.to_string())
    ))
}

/// The sizes of an input that gets random numbers.
fn random_dims(slot: &Slot<'_>, option: &str, sizes: &Sizes) -> Result<Vec<usize>> {
    let dims = slot.dims.iter().map(|dim| sizes.number(dim).ok_or_else(|| open_size(slot, dim)));
    let dims = dims.collect::<Result<Vec<usize>>>()?;
    if let ElementType::Int(_) | ElementType::Byte | ElementType::SignedByte = slot.of {
        let text = format!(
            "the {} takes integers, whose range the model does not tell; pass `--input {}=FILE`",
            slot.text(),
            word(slot.name)
        );
        return Err(Failure::usage(option, text));
    }
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match count {
        Some(count) if count <= MAX_RANDOM => Ok(dims),
        _ => {
            let text = format!(
                "{dims:?} are too many numbers for the {}: at most {MAX_RANDOM}; pass smaller sizes, or a file",
                slot.text()
            );
            Err(Failure::usage(option, text))
        }
    }
}

fn names(slots: &[Slot<'_>]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| format!("`{}`", slot.name)).collect();
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}

/// Sizes as `[batch, 3, 224, 224]`.
pub fn dims_text(dims: &[Dim]) -> String {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    format!("[{}]", dims.join(", "))
}
