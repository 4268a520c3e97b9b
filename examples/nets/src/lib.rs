//! Image classifiers out of packed convolutions: ResNets and MobileNetV2, in any layout.
//!
//! Shared by `examples/resnet50`, `benches/models.rs` and the tests.

mod arch;
mod weights;

pub use arch::{Arch, ConvSpec, Unit};
pub use weights::Weights;

use blocktensor::ops::{self, BatchNorm, MaxPool};
use blocktensor::{
    BlockedTensor, DType, Layout, MemoryFormat, Operand, PackedConv2d, PackedLinear, PackedStem, Result,
    Source, StridedTensor,
};

/// How activations lie while the network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// nChw16c with AVX-512, nChw8c else; the stem reads the plain image.
    Blocked,
    /// Channels-last.
    Nhwc,
    /// Row-major.
    Nchw,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Blocked, Mode::Nhwc, Mode::Nchw];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Blocked => "blocked",
            Mode::Nhwc => "nhwc",
            Mode::Nchw => "nchw",
        }
    }

    /// The format of the image that the network takes.
    pub fn image_format(self) -> MemoryFormat {
        if self == Mode::Nhwc { MemoryFormat::ChannelsLast } else { MemoryFormat::Contiguous }
    }
}

enum Stem {
    Crossing(PackedStem<2>),
    Same(PackedConv2d),
}

enum Step {
    Conv(PackedConv2d),
    MaxPool,
    /// Remembers the activation for a residual connection.
    Save,
    /// Brings what was saved to the shape of the result.
    Project(PackedConv2d),
    /// A convolution that adds what was saved.
    ConvAdd(PackedConv2d),
}

/// A network whose weights are packed for one image size, layout and number of threads.
pub struct Network {
    mode: Mode,
    stem: Stem,
    steps: Vec<Step>,
    classifier: PackedLinear,
    packed_bytes: usize,
}

impl Network {
    /// Packs a network for `batch` images of `size` x `size`; batch norms are folded into the convolutions.
    pub fn pack(
        arch: &Arch,
        weights: &mut Weights,
        mode: Mode,
        batch: usize,
        size: usize,
    ) -> Result<Network> {
        let act = Layout::native_activation(4)?;
        let image = Source::strided(&[batch, 3, size, size], mode.image_format())?;
        let mut packed_bytes = 0;
        let mut pack = |spec: &ConvSpec, from: &Source, weights: &mut Weights| -> Result<PackedConv2d> {
            let conv = packer(spec, weights)?.pack_for(from)?;
            packed_bytes += conv.bytes();
            Ok(conv)
        };
        let (stem, mut dims) = if mode == Mode::Blocked {
            let stem = packer(&arch.stem, weights)?.pack_stem(&image, &act)?;
            let dims = stem.packed().dst_dims();
            (Stem::Crossing(stem), dims)
        } else {
            let stem = pack(&arch.stem, &image, weights)?;
            let dims = stem.dst_dims();
            (Stem::Same(stem), dims)
        };
        let source = |dims: &[usize]| match mode {
            Mode::Blocked => Source::blocked(dims, &act),
            _ => Source::strided(dims, mode.image_format()),
        };
        let mut steps = Vec::new();
        for unit in &arch.units {
            match unit {
                Unit::MaxPool => {
                    dims[2] = (dims[2] - 1) / 2 + 1;
                    dims[3] = (dims[3] - 1) / 2 + 1;
                    steps.push(Step::MaxPool);
                }
                Unit::Block { convs, project, residual } => {
                    let from = source(&dims)?;
                    if *residual {
                        steps.push(Step::Save);
                    }
                    if let Some(p) = project {
                        steps.push(Step::Project(pack(p, &from, weights)?));
                    }
                    for (i, spec) in convs.iter().enumerate() {
                        let conv = pack(spec, &source(&dims)?, weights)?;
                        dims = conv.dst_dims();
                        let last = i + 1 == convs.len();
                        steps.push(if *residual && last { Step::ConvAdd(conv) } else { Step::Conv(conv) });
                    }
                }
            }
        }
        let (w, b) = (weights.take(&arch.classifier, "weight")?, weights.take(&arch.classifier, "bias")?);
        let classifier = PackedLinear::new(&w, Some(&b), batch)?;
        let stem_bytes = match &stem {
            Stem::Crossing(s) => s.packed().bytes(),
            Stem::Same(_) => 0,
        };
        packed_bytes += classifier.bytes() + stem_bytes;
        Ok(Network { mode, stem, steps, classifier, packed_bytes })
    }

    /// **Bytes** of packed weights and biases.
    pub fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    /// Logits [N, classes] of images [N, 3, H, W] in [`Mode::image_format`].
    pub fn run(&self, image: &StridedTensor) -> Result<StridedTensor> {
        let pooled = match (&self.stem, self.mode) {
            (Stem::Crossing(stem), _) => {
                let y: BlockedTensor = self.trunk(stem.run(image)?)?;
                y.to_strided(MemoryFormat::Contiguous)?
            }
            (Stem::Same(stem), _) => self.trunk(stem.run(image)?)?,
        };
        // N x C x 1 x 1 is contiguous in every format: flattening is a view.
        self.classifier.run(&pooled.flatten(1, 3)?)
    }

    fn trunk<T: Operand + Clone>(&self, mut x: T) -> Result<T> {
        let mut saved: Option<T> = None;
        for step in &self.steps {
            x = match step {
                Step::Conv(conv) => conv.run(&x)?,
                Step::MaxPool => ops::max_pool2d(&x, &MaxPool::new(3).stride(2).padding(1))?,
                Step::Save => {
                    saved = Some(x.clone());
                    continue;
                }
                Step::Project(conv) => {
                    saved = saved.as_ref().map(|s| conv.run(s)).transpose()?;
                    continue;
                }
                Step::ConvAdd(conv) => {
                    let residual = saved.take();
                    conv.run_fused(&x, ops::Fusion { residual: residual.as_ref(), channel: &[] })?
                }
            };
        }
        ops::global_avg_pool(&x)
    }
}

fn packer(spec: &ConvSpec, weights: &mut Weights) -> Result<blocktensor::ConvPacker<2>> {
    let dims = [spec.o, spec.c / spec.groups, spec.kernel, spec.kernel];
    let w = weights.take_shaped(&spec.conv, "weight", &dims)?;
    let mut vector = |name: &str| weights.take_shaped(&spec.norm, name, &[spec.o]);
    let (scale, shift) = (vector("weight")?, vector("bias")?);
    let (mean, var) = (vector("running_mean")?, vector("running_var")?);
    let bn = BatchNorm { mean: &mean, var: &var, weight: Some(&scale), bias: Some(&shift), eps: 1e-5 };
    PackedConv2d::new(&w, None, spec.params())?.fold_batch_norm(&bn)
}

/// Images of seeded noise, as wide as normalised photographs.
pub fn noise(batch: usize, size: usize, seed: u64) -> Result<StridedTensor> {
    let values = weights::normal(seed, batch * 3 * size * size);
    let t = StridedTensor::from_slice(&values, &[batch, 3, size, size])?;
    debug_assert_eq!(t.dtype(), DType::F32);
    Ok(t)
}
