//! Weights by torchvision's or timm's names: from a safetensors file, or seeded noise of the right shapes.

use std::path::Path;

use blocktensor::{DType, Keys, Module, Result, StateDict, StridedTensor};

use super::Arch;

/// A network's plain weights. Each tensor is taken once, so that packing frees its input; clones share tensors.
#[derive(Clone, Default)]
pub struct Weights {
    dict: StateDict,
}

impl Weights {
    /// Reads a safetensors file with torchvision's or timm's names; half precision becomes f32. Also returns which tensors
    /// are missing or left over, which is an error if `strict`.
    pub fn load(path: &Path, arch: &Arch, strict: bool) -> Result<(Weights, Keys)> {
        let mut dict = StateDict::read(path)?;
        if dict.names().any(|n| n == "conv_stem.weight") {
            dict.rename(from_timm)?;
        }
        let halves: Vec<String> = dict
            .names()
            .filter(|n| dict.get(n).is_some_and(|t| matches!(t.dtype(), DType::F16 | DType::BF16)))
            .map(str::to_string)
            .collect();
        for name in halves {
            let wide = dict.take(&name)?.to_dtype(DType::F32)?;
            dict.insert(name, wide);
        }
        let keys = dict.check(&arch.modules(), strict)?;
        Ok((Weights { dict }, keys))
    }

    /// Seeded noise that keeps activations in range: He-normal convolutions, batch norms close to the identity.
    pub fn random(arch: &Arch, seed: u64) -> Result<Weights> {
        let mut dict = StateDict::new();
        let mut state = seed;
        let mut values = |n: usize, scale: f32, shift: f32| -> Vec<f32> {
            state += 1;
            normal(state, n).into_iter().map(|v| v * scale + shift).collect()
        };
        for c in arch.convs() {
            let dims = c.weight_dims();
            let fan_in = dims[1..].iter().product::<usize>();
            let w = values(c.o * fan_in, (2.0 / fan_in as f32).sqrt(), 0.0);
            dict.insert(format!("{}.weight", c.conv), StridedTensor::from_slice(&w, &dims)?);
            // The last norm of a residual block is small, as in trained networks: the sum stays in range.
            let gain = if c.residual { 0.3 } else { 1.0 };
            for (name, scale, shift) in
                [("weight", 0.05 * gain, gain), ("bias", 0.05, 0.0), ("running_mean", 0.05, 0.0)]
            {
                let v = values(c.o, scale, shift);
                dict.insert(format!("{}.{name}", c.norm), StridedTensor::from_slice(&v, &[c.o])?);
            }
            let var: Vec<f32> = values(c.o, 0.05, 1.0).into_iter().map(f32::abs).collect();
            dict.insert(format!("{}.running_var", c.norm), StridedTensor::from_slice(&var, &[c.o])?);
        }
        let features = arch.features();
        let w = values(1000 * features, (1.0 / features as f32).sqrt(), 0.0);
        dict.insert(format!("{}.weight", arch.classifier), StridedTensor::from_slice(&w, &[1000, features])?);
        let b = values(1000, 0.01, 0.0);
        dict.insert(format!("{}.bias", arch.classifier), StridedTensor::from_slice(&b, &[1000])?);
        Ok(Weights { dict })
    }

    /// Writes the weights as plain safetensors.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.dict.save(path)
    }

    /// The tensors by name.
    pub fn dict(&mut self) -> &mut StateDict {
        &mut self.dict
    }
}

impl Arch {
    /// Every module that has weights, with their shapes.
    pub fn modules(&self) -> Vec<Module> {
        let mut modules = Vec::new();
        for c in self.convs() {
            modules.push(Module::conv(&c.conv, &c.weight_dims(), false));
            modules.push(Module::batch_norm(&c.norm, c.o));
        }
        modules.push(Module::linear(&self.classifier, 1000, self.features(), true));
        modules
    }
}

/// torchvision's name for a tensor of timm's MobileNetV2. For ResNets both use the same names.
fn from_timm(name: &str) -> String {
    // In timm, `blocks.S.I` counts within a stage; torchvision counts `features` through all stages.
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
