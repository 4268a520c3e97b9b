//! The model's inputs: from files, from pictures, or random.

use std::path::{Path, PathBuf};

use blocktensor_graph::{Dim, ElementType, Graph, Sizes};

use crate::args::Run;
use crate::array::{Array, Values};
use crate::failure::{Failure, Result};
use crate::files::{self, Kind};
use crate::preprocess::Preprocess;

const OPTION: &str = "--input";

/// An input of the model with its value.
pub struct Input {
    pub name: String,
    pub of: ElementType,
    pub array: Array,
    /// The file, or how the values were made.
    pub from: String,
}

/// An input of the model before it has a value.
struct Slot<'a> {
    name: &'a str,
    of: ElementType,
    dims: &'a [Dim],
    value: Option<(Array, String)>,
    picture: Option<PathBuf>,
}

impl Slot<'_> {
    fn is_given(&self) -> bool {
        self.value.is_some() || self.picture.is_some()
    }

    fn text(&self) -> String {
        format!("input `{}` ({}, {})", self.name, self.of, dims_text(self.dims))
    }
}

/// Values for all inputs, and numbers for all sizes that the inputs' files show or that `sizes` gives. `note` gets what
/// the user should know.
pub fn gather(
    run: &Run,
    graph: &Graph,
    sizes: Sizes,
    note: &mut dyn FnMut(String),
) -> Result<(Vec<Input>, Sizes)> {
    let mut slots: Vec<Slot<'_>> =
        graph.inputs().map(|(name, of, dims)| Slot { name, of, dims, value: None, picture: None }).collect();
    for text in &run.inputs {
        fill(&mut slots, text)?;
    }
    let mut sizes = sizes;
    for slot in &slots {
        if let Some((array, from)) = &slot.value {
            sizes = unify(slot, &array.dims, from, sizes)?;
        }
    }
    let preprocess = Preprocess::of(&run.pictures)?;
    if run.pictures.is_used() && slots.iter().all(|slot| slot.picture.is_none()) {
        let text = "they are for pictures, and no input is one; leave them out, or pass a .png or .jpg file";
        return Err(Failure::usage("options of pictures", text));
    }
    for slot in &mut slots {
        if let Some(path) = slot.picture.take() {
            let want: Vec<Option<usize>> = slot.dims.iter().map(|dim| number(dim, &sizes)).collect();
            if slot.of != ElementType::F32 {
                return Err(Failure::file(
                    OPTION,
                    &path,
                    format!("the {} is not of f32; pass a .npy file", slot.text()),
                ));
            }
            let (array, told) = preprocess.load(&path, &want)?;
            let from = path.display().to_string();
            sizes = unify(slot, &array.dims, &from, sizes)?;
            slot.value = Some((array, from));
            told.into_iter().for_each(&mut *note);
        }
    }
    let seed = match run.random {
        Some(seed) => seed,
        None => {
            check_given(&slots)?;
            0
        }
    };
    for (i, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.value.is_none()) {
        let dims = slot.dims.iter().map(|dim| number(dim, &sizes).ok_or_else(|| open_size(slot, dim)));
        let dims = dims.collect::<Result<Vec<usize>>>()?;
        slot.value =
            Some((random(slot, &dims, seed.wrapping_add(i as u64))?, format!("random, seed {seed}")));
    }
    let inputs = slots.into_iter().filter_map(|slot| {
        let (array, from) = slot.value?;
        Some(Input { name: slot.name.to_string(), of: slot.of, array, from })
    });
    Ok((inputs.collect(), sizes))
}

/// Takes the file of one `--input`.
fn fill(slots: &mut [Slot<'_>], text: &str) -> Result<()> {
    let is_input = |name: &str| slots.iter().any(|slot| slot.name == name);
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if is_input(name) => (Some(name), PathBuf::from(path)),
        Some((name, _)) if !Path::new(text).exists() => {
            let all = names(slots);
            return Err(Failure::usage(
                OPTION,
                format!("the model has no input `{name}`; its inputs are {all}"),
            ));
        }
        _ => (None, PathBuf::from(text)),
    };
    let Some(kind) = Kind::of(&path) else {
        let text = "the ending is unknown; inputs are .npy, .safetensors, .png or .jpg";
        return Err(Failure::file(OPTION, &path, text));
    };
    let from = path.display().to_string();
    if kind == Kind::Safetensors {
        let tensors = files::read_safetensors(OPTION, &path)?;
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
            std::fs::metadata(&path)
                .map_err(|e| Failure::file(OPTION, &path, format!("{e}; check the path")))?;
            set(slots, &name, None, Some(path))
        }
        _ => set(slots, &name, Some((files::read_npy(OPTION, &path)?, from)), None),
    }
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
    if let (Some(name), [_]) = (single, &tensors[..]) {
        return Ok(tensors.drain(..).map(|(_, array)| (name.to_string(), array)).collect());
    }
    tensors.retain(|(tensor, _)| match single {
        Some(name) => tensor == name,
        None => slots.iter().any(|slot| slot.name == tensor),
    });
    if tensors.is_empty() {
        let wanted = single.map_or_else(|| names(slots), |name| format!("`{name}`"));
        return Err(Failure::file(
            OPTION,
            path,
            format!("it has no tensor with the name {wanted}; rename one"),
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
fn unify(slot: &Slot<'_>, dims: &[usize], from: &str, mut sizes: Sizes) -> Result<Sizes> {
    let bad = |remedy: &str| {
        let text = format!("{from}: it has the sizes {dims:?}, and the {}; {remedy}", slot.text());
        Err(Failure::usage(OPTION, text))
    };
    if dims.len() + 1 == slot.dims.len() {
        return bad("add the first axis (in NumPy `x[None]`)");
    }
    if dims.len() != slot.dims.len() {
        return bad("pass as many axes as the model has");
    }
    for (dim, &size) in slot.dims.iter().zip(dims) {
        match number(dim, &sizes) {
            Some(number) if number == size => {}
            Some(_) => {
                return match dim {
                    Dim::Size(_) => bad("change the file, or export the model with open sizes"),
                    Dim::Named(name) => {
                        let number = number(dim, &sizes).unwrap_or(0);
                        bad(&format!(
                            "`{name}` is {number} already, from --size or another input; make them agree"
                        ))
                    }
                };
            }
            None => {
                if let Dim::Named(name) = dim {
                    sizes = sizes.with(name, size);
                }
            }
        }
    }
    Ok(sizes)
}

fn number(dim: &Dim, sizes: &Sizes) -> Option<usize> {
    match dim {
        Dim::Size(size) => Some(*size),
        Dim::Named(name) => sizes.iter().find(|(other, _)| other == name).map(|(_, size)| size),
    }
}

fn check_given(slots: &[Slot<'_>]) -> Result<()> {
    let lacking: Vec<&Slot<'_>> = slots.iter().filter(|slot| !slot.is_given()).collect();
    let Some(first) = lacking.first() else { return Ok(()) };
    let all: Vec<String> = lacking.iter().map(|slot| slot.text()).collect();
    let text = format!(
        "no value for {}; pass `--input {}=FILE` (.npy, .safetensors, .png or .jpg), or `--random`",
        all.join(", "),
        first.name
    );
    Err(Failure::Usage(text))
}

fn open_size(slot: &Slot<'_>, dim: &Dim) -> Failure {
    Failure::Usage(format!(
        "the model leaves the size `{dim}` of {} open; pass `--size {dim}=1`",
        slot.text()
    ))
}

/// Normally distributed numbers, or Booleans; the same ones for the same seed.
fn random(slot: &Slot<'_>, dims: &[usize], seed: u64) -> Result<Array> {
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n < 1 << 32);
    let count = count.ok_or_else(|| {
        Failure::usage(
            "--random",
            format!("{dims:?} are too many numbers for {}; pass smaller sizes", slot.text()),
        )
    })?;
    // SplitMix64.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    // In (0, 1].
    let mut unit = || ((next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let values = match slot.of {
        ElementType::F32 => {
            let mut normal = || (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
            Values::F32((0..count).map(|_| normal() as f32).collect())
        }
        ElementType::Bool => Values::Bool((0..count).map(|_| unit() > 0.5).collect()),
        ElementType::Int(_) => {
            let text = format!(
                "the {} takes integers, whose range the model does not tell; pass a file",
                slot.text()
            );
            return Err(Failure::usage("--random", text));
        }
    };
    Ok(Array { dims: dims.to_vec(), values })
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
