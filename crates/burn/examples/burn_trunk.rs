//! The convolutional part of a ResNet-18 of burn's modules, run by `Flex` and by a planned region with the same weights.
//!
//! `cargo run --release --example burn_trunk`. The two take turns; the least time of all rounds counts, and the results must be equal to 1e-4
//! of the largest value. At the end it makes two mistakes, to show what they say.

use std::time::{Duration, Instant};

use blocktensor_burn::{Builder, PackedConv, PlanOptions, Region, Result, ValueId};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Distribution, Tensor};

const SIZES: [usize; 4] = [1, 3, 224, 224];
/// Channels of the four stages, of two blocks each.
const STAGES: [usize; 4] = [64, 128, 256, 512];

fn sides(n: usize) -> PaddingConfig2d {
    PaddingConfig2d::Explicit(n, n, n, n)
}

/// A convolution and a batch norm.
struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    fn new(from: usize, to: usize, kernel: usize, stride: usize, device: &Device) -> ConvNorm {
        let conv = Conv2dConfig::new([from, to], [kernel, kernel]).with_stride([stride, stride]);
        ConvNorm {
            conv: conv.with_padding(sides(kernel / 2)).with_bias(false).init(device),
            norm: BatchNormConfig::new(to).init(device),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.norm.forward(self.conv.forward(x))
    }

    /// The same modules here.
    fn built(&self, net: &mut Builder, name: &str, x: ValueId) -> Result<ValueId> {
        let y = net.conv2d(&format!("{name}.conv"), x, &self.conv)?;
        net.batch_norm(&format!("{name}.norm"), y, &self.norm)
    }
}

/// Two convolutions, and what is added to their result.
struct Block {
    first: ConvNorm,
    second: ConvNorm,
    side: Option<ConvNorm>,
}

impl Block {
    fn new(from: usize, to: usize, device: &Device) -> Block {
        let stride = if from == to { 1 } else { 2 };
        Block {
            first: ConvNorm::new(from, to, 3, stride, device),
            second: ConvNorm::new(to, to, 3, 1, device),
            side: (from != to).then(|| ConvNorm::new(from, to, 1, stride, device)),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let y = self.second.forward(relu(self.first.forward(x.clone())));
        let side = match &self.side {
            Some(side) => side.forward(x),
            None => x,
        };
        relu(y + side)
    }

    fn built(&self, net: &mut Builder, name: &str, x: ValueId) -> Result<ValueId> {
        let y = self.first.built(net, &format!("{name}.first"), x)?;
        let y = net.relu(y)?;
        let y = self.second.built(net, &format!("{name}.second"), y)?;
        let side = match &self.side {
            Some(side) => side.built(net, &format!("{name}.side"), x)?,
            None => x,
        };
        let y = net.add(y, side)?;
        net.relu(y)
    }
}

struct Trunk {
    stem: ConvNorm,
    pool: MaxPool2d,
    blocks: Vec<Block>,
}

impl Trunk {
    fn new(device: &Device) -> Trunk {
        let pairs =
            STAGES.iter().enumerate().flat_map(|(i, &to)| [(if i == 0 { to } else { to / 2 }, to), (to, to)]);
        Trunk {
            stem: ConvNorm::new(3, STAGES[0], 7, 2, device),
            pool: MaxPool2dConfig::new([3, 3]).with_strides([2, 2]).with_padding(sides(1)).init(),
            blocks: pairs.map(|(from, to)| Block::new(from, to, device)).collect(),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let x = self.pool.forward(relu(self.stem.forward(x)));
        self.blocks.iter().fold(x, |x, block| block.forward(x))
    }

    fn region(&self) -> Result<Region> {
        let (mut net, x) = Builder::new(&SIZES)?;
        let x = self.stem.built(&mut net, "stem", x)?;
        let x = net.relu(x)?;
        let mut x = net.max_pool2d(x, &self.pool)?;
        for (i, block) in self.blocks.iter().enumerate() {
            x = block.built(&mut net, &format!("block{i}"), x)?;
        }
        net.region(x, &PlanOptions::default())
    }
}

/// A round of half a second: the least time of a call in ms.
fn round(call: &dyn Fn() -> Result<()>) -> Result<f64> {
    let (start, mut least, mut calls) = (Instant::now(), f64::INFINITY, 0);
    while calls < 3 || start.elapsed() < Duration::from_millis(500) {
        let begin = Instant::now();
        call()?;
        least = least.min(begin.elapsed().as_secs_f64() * 1e3);
        calls += 1;
    }
    Ok(least)
}

/// The least time of each way, from five rounds in which they take turns.
fn by_turns(ways: &[(&str, &dyn Fn() -> Result<()>)]) -> Result<()> {
    let mut least = vec![f64::INFINITY; ways.len()];
    for _ in 0..5 {
        for ((_, call), least) in ways.iter().zip(&mut least) {
            *least = least.min(round(call)?);
        }
    }
    for ((name, _), ms) in ways.iter().zip(&least) {
        println!("  {name:<32} {ms:9.3} ms  {:6.2}", ms / least[0]);
    }
    Ok(())
}

fn compare(name: &str, ours: &Tensor<4>, theirs: &Tensor<4>) {
    let largest = |t: Tensor<4>| t.abs().max().into_scalar::<f32>();
    let error = largest(ours.clone() - theirs.clone()) / largest(theirs.clone());
    println!("{name}: sizes {:?}, largest difference {error:.1e} of the largest value", ours.dims());
    assert!(error <= 1e-4, "the results differ");
}

fn main() -> Result<()> {
    let device = Device::flex();
    let trunk = Trunk::new(&device);
    let region = trunk.region()?;
    println!("{}\n", region.plan());

    let image = Tensor::<4>::random(SIZES, Distribution::Normal(0.0, 1.0), &device);
    let ours: Tensor<4> = region.forward(image.clone())?;
    compare("ResNet-18's trunk, batch 1", &ours, &trunk.forward(image.clone()));
    by_turns(&[
        ("burn-flex", &|| {
            trunk.forward(image.clone());
            Ok(())
        }),
        ("blocktensor's region", &|| region.forward::<4, 4>(image.clone()).map(drop)),
    ])?;

    // The first convolution of the second block, on its own.
    let layer = &trunk.blocks[0].first.conv;
    let x = Tensor::<4>::random([1, STAGES[0], 56, 56], Distribution::Normal(0.0, 1.0), &device);
    let packed = PackedConv::new(layer, x.dims())?;
    compare("one 3x3 convolution, 64 to 64", &packed.forward(x.clone())?, &layer.forward(x.clone()));
    by_turns(&[
        ("burn-flex", &|| {
            layer.forward(x.clone());
            Ok(())
        }),
        ("packed convolution, row-major", &|| packed.forward(x.clone()).map(drop)),
    ])?;

    println!("\nAn image in channels last that was permuted, and not copied:");
    let permuted = image.clone().permute([0, 2, 3, 1]);
    let permuted = blocktensor_burn::contiguous(permuted)?.permute([0, 3, 1, 2]);
    show(region.forward(permuted));
    println!("An image of f64:");
    show(region.forward(image.cast(DType::F64)));
    Ok(())
}

fn show(result: Result<Tensor<4>>) {
    match result {
        Ok(_) => panic!("this should have been an error"),
        Err(e) => println!("  {e}"),
    }
}
