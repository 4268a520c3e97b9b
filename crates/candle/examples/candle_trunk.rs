//! The convolutional part of a ResNet-18 of candle-nn, run by candle and by a planned region with the same weights.
//!
//! `cargo run --release --example candle_trunk`. The two take turns; the least time of all rounds counts, and the results must be equal to 1e-4
//! of the largest value. At the end it makes two mistakes, to show what they say.

mod shared;

use std::time::Duration;

use blocktensor_candle::{Builder, PlanOptions, Region, Result, ValueId};
use candle_core::{D, DType, Device, Module, ModuleT, Tensor};
use candle_nn::{BatchNorm, Conv2d, Conv2dConfig, VarBuilder, VarMap};

const SIZES: (usize, usize, usize, usize) = (1, 3, 224, 224);
/// Channels of the four stages, of two blocks each.
const STAGES: [usize; 4] = [64, 128, 256, 512];

fn config(kernel: usize, stride: usize) -> Conv2dConfig {
    Conv2dConfig { padding: kernel / 2, stride, ..Default::default() }
}

/// A convolution and a batch norm.
struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    fn new(
        from: usize,
        to: usize,
        kernel: usize,
        stride: usize,
        vb: VarBuilder<'_>,
    ) -> candle_core::Result<ConvNorm> {
        Ok(ConvNorm {
            conv: candle_nn::conv2d_no_bias(from, to, kernel, config(kernel, stride), vb.pp("conv"))?,
            norm: candle_nn::batch_norm(to, 1e-5, vb.pp("norm"))?,
        })
    }

    /// The same layers here.
    fn built(
        net: &mut Builder,
        x: ValueId,
        (from, to): (usize, usize),
        (kernel, stride): (usize, usize),
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let y = net.conv2d_no_bias(x, from, to, kernel, config(kernel, stride), vb.pp("conv"))?;
        net.batch_norm(y, to, 1e-5, vb.pp("norm"))
    }
}

impl Module for ConvNorm {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        self.norm.forward_t(&self.conv.forward(x)?, false)
    }
}

/// Two convolutions, and what is added to their result.
struct Block {
    first: ConvNorm,
    second: ConvNorm,
    side: Option<ConvNorm>,
}

impl Block {
    fn new(from: usize, to: usize, stride: usize, vb: VarBuilder<'_>) -> candle_core::Result<Block> {
        let side = (from != to).then(|| ConvNorm::new(from, to, 1, stride, vb.pp("side"))).transpose()?;
        Ok(Block {
            first: ConvNorm::new(from, to, 3, stride, vb.pp("first"))?,
            second: ConvNorm::new(to, to, 3, 1, vb.pp("second"))?,
            side,
        })
    }

    fn built(
        net: &mut Builder,
        x: ValueId,
        from: usize,
        to: usize,
        stride: usize,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let y = ConvNorm::built(net, x, (from, to), (3, stride), vb.pp("first"))?;
        let y = net.relu(y)?;
        let y = ConvNorm::built(net, y, (to, to), (3, 1), vb.pp("second"))?;
        let side = match from == to {
            true => x,
            false => ConvNorm::built(net, x, (from, to), (1, stride), vb.pp("side"))?,
        };
        let y = net.add(y, side)?;
        net.relu(y)
    }
}

impl Module for Block {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let y = self.second.forward(&self.first.forward(x)?.relu()?)?;
        let side = self.side.as_ref().map_or(Ok(x.clone()), |side| side.forward(x))?;
        (y + side)?.relu()
    }
}

/// Each block's channels before and after, stride, and name.
fn blocks() -> impl Iterator<Item = (usize, usize, usize, String)> {
    STAGES.into_iter().enumerate().flat_map(|(i, to)| {
        let from = if i == 0 { to } else { to / 2 };
        let stride = if i == 0 { 1 } else { 2 };
        [(from, to, stride, format!("stage{i}.0")), (to, to, 1, format!("stage{i}.1"))]
    })
}

struct Trunk {
    stem: ConvNorm,
    blocks: Vec<Block>,
}

impl Trunk {
    fn new(vb: &VarBuilder<'_>) -> candle_core::Result<Trunk> {
        let stem = ConvNorm::new(3, STAGES[0], 7, 2, vb.pp("stem"))?;
        let blocks = blocks().map(|(from, to, stride, name)| Block::new(from, to, stride, vb.pp(name)));
        Ok(Trunk { stem, blocks: blocks.collect::<candle_core::Result<_>>()? })
    }
}

impl Module for Trunk {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let x = self.stem.forward(x)?.relu()?;
        let x = x.pad_with_zeros(D::Minus1, 1, 1)?.pad_with_zeros(D::Minus2, 1, 1)?;
        let x = x.max_pool2d_with_stride(3, 2)?;
        self.blocks.iter().try_fold(x, |x, block| block.forward(&x))
    }
}

/// The same trunk as a region: the same layers, names and weights.
fn region(vb: &VarBuilder<'_>) -> Result<Region> {
    let (mut net, x) = Builder::new(SIZES)?;
    let x = ConvNorm::built(&mut net, x, (3, STAGES[0]), (7, 2), vb.pp("stem"))?;
    let x = net.relu(x)?;
    let x = net.pad_with_zeros(x, D::Minus1, 1, 1)?;
    let x = net.pad_with_zeros(x, D::Minus2, 1, 1)?;
    let mut x = net.max_pool2d_with_stride(x, 3, 2)?;
    for (from, to, stride, name) in blocks() {
        x = Block::built(&mut net, x, from, to, stride, vb.pp(name))?;
    }
    net.region(x, &PlanOptions::default())
}

fn main() -> candle_core::Result<()> {
    let weights = VarMap::new();
    let vb = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
    let trunk = Trunk::new(&vb)?;
    let planned = region(&vb)?;
    let image = Tensor::randn(0f32, 1.0, SIZES, &Device::Cpu)?;
    println!("{}\n", planned.plan());

    let (theirs, ours) = (trunk.forward(&image)?, planned.forward(&image)?);
    let largest = |t: &Tensor| t.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>();
    let error = largest(&(&ours - &theirs)?)? / largest(&theirs)?;
    println!("sizes {:?}, largest difference {error:.1e} of the largest value", ours.dims());
    if error > 1e-4 {
        return Err(candle_core::Error::msg("the results differ"));
    }

    let length = Duration::from_millis(500);
    println!("ResNet-18's trunk, batch 1, least of 5 rounds by turns:");
    shared::by_turns(
        5,
        &mut [
            ("candle", Box::new(|| shared::round(length, || trunk.forward(&image).map(drop)))),
            (
                "blocktensor's region",
                Box::new(|| shared::round(length, || planned.forward(&image).map(drop))),
            ),
        ],
    )?;

    println!("\nAn image in channels last that was permuted, and not copied:");
    let permuted = image.permute((0, 2, 3, 1))?.contiguous()?.permute((0, 3, 1, 2))?;
    println!("  {}", expect_error(planned.run(&permuted))?);
    println!("An image of f64:");
    println!("  {}", expect_error(planned.run(&image.to_dtype(DType::F64)?))?);
    Ok(())
}

fn expect_error(result: Result<Tensor>) -> candle_core::Result<blocktensor_candle::Error> {
    match result {
        Ok(_) => Err(candle_core::Error::msg("this should have been an error")),
        Err(e) => Ok(e),
    }
}
