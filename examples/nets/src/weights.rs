//! Weights by torchvision's or timm's names: from a safetensors file, or seeded noise of the right shapes.

use std::collections::HashMap;
use std::path::Path;

use blocktensor::{Complaint, Error, Result, StridedTensor};
use safetensors::{Dtype, SafeTensors};

use super::Arch;

/// Named tensors. Each is taken once, so that packing frees what it has read.
pub struct Weights {
    tensors: HashMap<String, StridedTensor>,
    from: String,
}

fn error(variant: fn(Box<Complaint>) -> Error, name: &str, got: String, rule: String, remedy: &str) -> Error {
    variant(Complaint::new("weights", name.to_string(), got, rule, remedy))
}

impl Weights {
    /// Reads a safetensors file with f32 tensors. Integer buffers (`num_batches_tracked`) are left alone.
    pub fn load(path: &Path) -> Result<Weights> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|e| {
            error(
                Error::InvalidArgument,
                "--weights",
                format!("{shown}: {e}"),
                "weights are read from a safetensors file".into(),
                "pass the path of one",
            )
        })?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| {
            let remedy = "write it again, or fetch it whole";
            error(
                Error::CorruptFile,
                "--weights",
                format!("{shown}: this is no whole safetensors file ({e})"),
                "weights are read from a whole safetensors file".into(),
                remedy,
            )
        })?;
        let mut tensors = HashMap::new();
        let timm_mobilenet = file.names().contains(&"conv_stem.weight");
        for (name, view) in file.tensors() {
            if view.dtype() == Dtype::F32 {
                let values: Vec<f32> = view
                    .data()
                    .chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect();
                let name = if timm_mobilenet { from_timm(&name) } else { name };
                tensors.insert(name, StridedTensor::from_slice(&values, view.shape())?);
            }
        }
        Ok(Weights { tensors, from: shown })
    }

    /// Seeded noise that keeps activations in range: He-normal convolutions, batch norms near the identity.
    pub fn random(arch: &Arch, seed: u64) -> Result<Weights> {
        let mut tensors = HashMap::new();
        let mut state = seed;
        let mut values = |n: usize, scale: f32, shift: f32| -> Vec<f32> {
            state += 1;
            normal(state, n).into_iter().map(|v| v * scale + shift).collect()
        };
        for c in arch.convs() {
            let dims = [c.o, c.c / c.groups, c.kernel, c.kernel];
            let fan_in = dims[1..].iter().product::<usize>();
            let w = values(c.o * fan_in, (2.0 / fan_in as f32).sqrt(), 0.0);
            tensors.insert(format!("{}.weight", c.conv), StridedTensor::from_slice(&w, &dims)?);
            // The last norm of a residual block is small, as in trained networks: the sum stays in range.
            let gain = if c.residual { 0.3 } else { 1.0 };
            for (name, scale, shift) in
                [("weight", 0.05 * gain, gain), ("bias", 0.05, 0.0), ("running_mean", 0.05, 0.0)]
            {
                let v = values(c.o, scale, shift);
                tensors.insert(format!("{}.{name}", c.norm), StridedTensor::from_slice(&v, &[c.o])?);
            }
            let var: Vec<f32> = values(c.o, 0.05, 1.0).into_iter().map(f32::abs).collect();
            tensors.insert(format!("{}.running_var", c.norm), StridedTensor::from_slice(&var, &[c.o])?);
        }
        let features = arch.features();
        let w = values(1000 * features, (1.0 / features as f32).sqrt(), 0.0);
        tensors
            .insert(format!("{}.weight", arch.classifier), StridedTensor::from_slice(&w, &[1000, features])?);
        let b = values(1000, 0.01, 0.0);
        tensors.insert(format!("{}.bias", arch.classifier), StridedTensor::from_slice(&b, &[1000])?);
        Ok(Weights { tensors, from: format!("seed {seed}") })
    }

    /// The tensor `module.name`, which leaves the set.
    pub fn take(&mut self, module: &str, name: &str) -> Result<StridedTensor> {
        let full = format!("{module}.{name}");
        self.tensors.remove(&full).ok_or_else(|| {
            let got = format!("nothing of that name in {}", self.from);
            let rule = "the model needs it".to_string();
            error(Error::InvalidArgument, &full, got, rule, "pass the weights of this very model (--model)")
        })
    }

    /// As [`take`](Self::take), of a given shape.
    pub fn take_shaped(&mut self, module: &str, name: &str, dims: &[usize]) -> Result<StridedTensor> {
        let t = self.take(module, name)?;
        if t.dims() != dims {
            let (got, rule) =
                (format!("{:?} in {}", t.dims(), self.from), format!("the model has {dims:?} there"));
            let full = format!("{module}.{name}");
            return Err(error(
                Error::ShapeMismatch,
                &full,
                got,
                rule,
                "pass the weights of this very model (--model)",
            ));
        }
        Ok(t)
    }

    /// A copy of the set: tensors are shared.
    pub fn share(&self) -> Weights {
        Weights { tensors: self.tensors.clone(), from: self.from.clone() }
    }
}

/// torchvision's name of a tensor of timm's MobileNetV2. Both name the tensors of ResNets alike.
fn from_timm(name: &str) -> String {
    // In timm, `blocks.S.I` counts within a stage; torchvision counts `features` through.
    const STAGES: [usize; 7] = [1, 2, 4, 7, 11, 14, 17];
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["conv_stem", rest] => format!("features.0.0.{rest}"),
        ["bn1", rest] => format!("features.0.1.{rest}"),
        ["conv_head", rest] => format!("features.18.0.{rest}"),
        ["bn2", rest] => format!("features.18.1.{rest}"),
        ["classifier", rest] => format!("classifier.1.{rest}"),
        ["blocks", stage, i, part, rest] => {
            let (Ok(stage), Ok(i)) = (stage.parse::<usize>(), i.parse::<usize>()) else { return name.into() };
            let Some(first) = STAGES.get(stage) else { return name.into() };
            // The first stage has no expansion: depthwise, pointwise. The others: expand, depthwise, project.
            let place = match (stage, part) {
                (0, "conv_dw") => "0.0",
                (0, "bn1") => "0.1",
                (0, "conv_pw") => "1",
                (0, "bn2") => "2",
                (_, "conv_pw") => "0.0",
                (_, "bn1") => "0.1",
                (_, "conv_dw") => "1.0",
                (_, "bn2") => "1.1",
                (_, "conv_pwl") => "2",
                (_, "bn3") => "3",
                _ => return name.into(),
            };
            format!("features.{}.conv.{place}.{rest}", first + i)
        }
        _ => name.into(),
    }
}

/// `n` standard normal numbers from a seed (SplitMix64 and Box-Muller).
pub fn normal(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut values = Vec::with_capacity(n + 1);
    while values.len() < n {
        let (radius, angle) = ((-2.0 * (1.0 - uniform()).ln()).sqrt(), std::f64::consts::TAU * uniform());
        values.push((radius * angle.cos()) as f32);
        values.push((radius * angle.sin()) as f32);
    }
    values.truncate(n);
    values
}
