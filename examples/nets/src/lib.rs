//! Image classifiers built from packed convolutions: ResNets and MobileNetV2, in any layout.
//!
//! Shared by `examples/resnet50`, `benches/models.rs` and the tests.

mod arch;
mod weights;

pub use arch::{Arch, ConvSpec, Unit};
pub use weights::{Weights, normal};

use std::path::Path;

use blocktensor::ops::{self, MaxPool};
use blocktensor::{
    BlockedTensor, Complaint, DType, Error, Layout, MemoryFormat, Operand, PackedConv2d, PackedFile,
    PackedLinear, PackedStem, PackedWriter, Result, Source, StridedTensor,
};

/// The layout of activations while the network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// nChw16c with AVX-512, otherwise nChw8c; the stem reads the plain image.
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
    Conv(Named),
    MaxPool,
    /// Remembers the activation for a residual connection.
    Save,
    /// Projects the saved activation to the shape of the result.
    Project(Named),
    /// A convolution that adds the saved activation.
    ConvAdd(Named),
}

/// A packed convolution, with its name in the weights file.
struct Named {
    name: String,
    conv: PackedConv2d,
}

/// A network whose weights are packed for one image size, layout and number of threads.
pub struct Network {
    mode: Mode,
    stem_name: String,
    stem: Stem,
    steps: Vec<Step>,
    classifier_name: String,
    classifier: PackedLinear,
}

/// The source of packed ops: packed now, or read from a file.
trait Provide {
    fn stem(&mut self, spec: &ConvSpec, image: &Source, act: &Layout) -> Result<PackedStem<2>>;
    fn conv(&mut self, spec: &ConvSpec, from: &Source) -> Result<PackedConv2d>;
    fn classifier(&mut self, name: &str, batch: usize) -> Result<PackedLinear>;
}

/// Packs plain weights; batch norms are folded into the convolutions.
struct FromWeights<'a>(&'a mut Weights);

impl FromWeights<'_> {
    fn packer(&mut self, spec: &ConvSpec) -> Result<blocktensor::ConvPacker<2>> {
        let (conv, norm) = (self.0.dict().conv(&spec.conv)?, self.0.dict().batch_norm(&spec.norm)?);
        PackedConv2d::new(&conv.weight, conv.bias.as_ref(), spec.params())?
            .fold_batch_norm(&norm.params(1e-5))
    }
}

impl Provide for FromWeights<'_> {
    fn stem(&mut self, spec: &ConvSpec, image: &Source, act: &Layout) -> Result<PackedStem<2>> {
        self.packer(spec)?.pack_stem(image, act)
    }

    fn conv(&mut self, spec: &ConvSpec, from: &Source) -> Result<PackedConv2d> {
        self.packer(spec)?.pack_for(from)
    }

    fn classifier(&mut self, name: &str, batch: usize) -> Result<PackedLinear> {
        let layer = self.0.dict().linear(name)?;
        PackedLinear::new(&layer.weight, layer.bias.as_ref(), batch)
    }
}

/// Takes ops that were packed before, if they were packed for this source.
struct FromFile<'a>(&'a PackedFile);

fn for_this(name: &str, was: &Source, from: &Source) -> Result<()> {
    let sizes_fit = was.dims()[1..] == from.dims()[1..] && was.layout_name() == from.layout_name();
    if sizes_fit {
        return Ok(());
    }
    let remedy = "pass the image size and layout that it was packed for, or pack it again";
    let rule = format!("the network has {from} there");
    Err(Error::PackMismatch(Complaint::new("Network::load", name.to_string(), was.to_string(), rule, remedy)))
}

impl Provide for FromFile<'_> {
    fn stem(&mut self, spec: &ConvSpec, image: &Source, _: &Layout) -> Result<PackedStem<2>> {
        let stem: PackedStem<2> = self.0.get(&spec.conv)?;
        for_this(&spec.conv, stem.packed().source(), image)?;
        Ok(stem)
    }

    fn conv(&mut self, spec: &ConvSpec, from: &Source) -> Result<PackedConv2d> {
        let conv: PackedConv2d = self.0.get(&spec.conv)?;
        for_this(&spec.conv, conv.source(), from)?;
        Ok(conv)
    }

    fn classifier(&mut self, name: &str, _: usize) -> Result<PackedLinear> {
        self.0.get(name)
    }
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
        weights.dict().check(&arch.modules(), false)?;
        Network::build(arch, &mut FromWeights(weights), mode, batch, size)
    }

    /// Reads a network from a file written by [`save`](Self::save). Nothing is packed unless `file` may repack.
    pub fn load(arch: &Arch, file: &PackedFile, mode: Mode, batch: usize, size: usize) -> Result<Network> {
        Network::build(arch, &mut FromFile(file), mode, batch, size)
    }

    fn build(arch: &Arch, ops: &mut dyn Provide, mode: Mode, batch: usize, size: usize) -> Result<Network> {
        let act = Layout::native_activation(4)?;
        let image = Source::strided(&[batch, 3, size, size], mode.image_format())?;
        let (stem, mut dims) = if mode == Mode::Blocked {
            let stem = ops.stem(&arch.stem, &image, &act)?;
            let dims = stem.packed().dst_dims();
            (Stem::Crossing(stem), dims)
        } else {
            let stem = ops.conv(&arch.stem, &image)?;
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
                        steps.push(Step::Project(Named { name: p.conv.clone(), conv: ops.conv(p, &from)? }));
                    }
                    for (i, spec) in convs.iter().enumerate() {
                        let conv = ops.conv(spec, &source(&dims)?)?;
                        dims = conv.dst_dims();
                        let last = i + 1 == convs.len();
                        let named = Named { name: spec.conv.clone(), conv };
                        steps.push(if *residual && last { Step::ConvAdd(named) } else { Step::Conv(named) });
                    }
                }
            }
        }
        let classifier = ops.classifier(&arch.classifier, batch)?;
        let (stem_name, classifier_name) = (arch.stem.conv.clone(), arch.classifier.clone());
        Ok(Network { mode, stem_name, stem, steps, classifier_name, classifier })
    }

    /// Writes the packed weights into a file, and the plain ones too if `keep_plain`.
    pub fn save(&self, path: &Path, keep_plain: bool) -> Result<()> {
        let mut writer = PackedWriter::new();
        if keep_plain {
            writer = writer.keep_plain();
        }
        match &self.stem {
            Stem::Crossing(stem) => writer.add(&self.stem_name, stem)?,
            Stem::Same(conv) => writer.add(&self.stem_name, conv)?,
        }
        self.convs().try_for_each(|n| writer.add(&n.name, &n.conv))?;
        writer.add(&self.classifier_name, &self.classifier)?;
        writer.save(path)
    }

    /// Every convolution except the stem.
    fn convs(&self) -> impl Iterator<Item = &Named> {
        self.steps.iter().filter_map(|s| match s {
            Step::Conv(n) | Step::Project(n) | Step::ConvAdd(n) => Some(n),
            Step::MaxPool | Step::Save => None,
        })
    }

    /// **Bytes** of packed weights and biases.
    pub fn packed_bytes(&self) -> usize {
        let stem = match &self.stem {
            Stem::Crossing(stem) => stem.packed().bytes(),
            Stem::Same(conv) => conv.bytes(),
        };
        stem + self.convs().map(|n| n.conv.bytes()).sum::<usize>() + self.classifier.bytes()
    }

    /// **Bytes** of the two largest results of convolutions, for the batch size of packing.
    pub fn largest_activations(&self) -> [usize; 2] {
        let stem = match &self.stem {
            Stem::Crossing(stem) => stem.packed().dst_dims(),
            Stem::Same(conv) => conv.dst_dims(),
        };
        let all = std::iter::once(stem).chain(self.convs().map(|n| n.conv.dst_dims()));
        let mut bytes: Vec<usize> = all.map(|d| d.iter().product::<usize>() * 4).collect();
        bytes.sort_unstable_by(|a, b| b.cmp(a));
        [bytes[0], bytes.get(1).copied().unwrap_or(0)]
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
                Step::Conv(n) => n.conv.run(&x)?,
                Step::MaxPool => ops::max_pool2d(&x, &MaxPool::new(3).stride(2).padding(1))?,
                Step::Save => {
                    saved = Some(x.clone());
                    continue;
                }
                Step::Project(n) => {
                    saved = saved.as_ref().map(|s| n.conv.run(s)).transpose()?;
                    continue;
                }
                Step::ConvAdd(n) => {
                    let residual = saved.take();
                    n.conv.run_fused(&x, ops::Fusion { residual: residual.as_ref(), channel: &[] })?
                }
            };
        }
        ops::global_avg_pool(&x)
    }
}

/// Images of seeded noise, with the range of normalised photographs.
pub fn noise(batch: usize, size: usize, seed: u64) -> Result<StridedTensor> {
    let values = weights::normal(seed, batch * 3 * size * size);
    let t = StridedTensor::from_slice(&values, &[batch, 3, size, size])?;
    debug_assert_eq!(t.dtype(), DType::F32);
    Ok(t)
}
