//! The networks, with PyTorch's names of weights.

use blocktensor::{Operand, Result};
use blocktensor_grad::Var;

use crate::data::Task;
use crate::layers::Pass;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Net {
    /// ResNet-18 for images of 32x32 (He et al., "Deep Residual Learning", as for CIFAR-10: a first convolution of 3x3, no pooling
    /// after it), with `width` to 8 `width` channels: 64 is the paper's.
    ResNet18 {
        /// Channels of the first stage.
        width: usize,
    },
    /// A U-Net of three levels (Ronneberger et al.), with `width` to 4 `width` channels.
    UNet {
        /// Channels of the first level.
        width: usize,
    },
    /// ResNet-50 for images of 224x224 (He et al.; the stride in the 3x3 convolution, as torchvision has it).
    ResNet50,
    /// MobileNetV2 for images of 224x224 (Sandler et al.).
    MobileNetV2,
    /// A linear classifier: of the whole image, or for each pixel of the 9x9 around it.
    Linear(Task),
}

impl Net {
    /// What it learns.
    pub fn task(self) -> Task {
        match self {
            Net::ResNet18 { .. } | Net::ResNet50 | Net::MobileNetV2 => Task::Directions,
            Net::UNet { .. } => Task::Textures,
            Net::Linear(task) => task,
        }
    }

    /// The logits, strided: [N, classes, 1, 1] or [N, classes, H, W].
    ///
    /// # Errors
    /// Those of the calls.
    pub fn forward(self, pass: &mut Pass<'_>, images: &Var) -> Result<Var> {
        let logits = match self {
            Net::ResNet18 { width } => resnet18(pass, images, width)?,
            Net::UNet { width } => unet(pass, images, width)?,
            Net::ResNet50 => resnet50(pass, images)?,
            Net::MobileNetV2 => mobilenet_v2(pass, images)?,
            Net::Linear(Task::Directions) => {
                let size = images.tensor().tensor_ref().dims()[2];
                pass.conv_with_bias("fc", images, Task::Directions.classes(), size, 0)?
            }
            Net::Linear(Task::Textures) => {
                pass.conv_with_bias("fc", images, Task::Textures.classes(), 9, 4)?
            }
        };
        pass.out(&logits)
    }
}

fn resnet18(pass: &mut Pass<'_>, images: &Var, width: usize) -> Result<Var> {
    let x = pass.conv("conv1", images, width, 3, 1)?;
    let x = pass.norm("bn1", &x)?;
    let mut x = pass.unary("relu", &x)?;
    for stage in 0..4 {
        let to = width << stage;
        for block in 0..2 {
            let name = format!("layer{}.{block}", stage + 1);
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let y = pass.conv(&format!("{name}.conv1"), &x, to, 3, stride)?;
            let y = pass.norm(&format!("{name}.bn1"), &y)?;
            let y = pass.unary("relu", &y)?;
            let y = pass.conv(&format!("{name}.conv2"), &y, to, 3, 1)?;
            // Residuals start small: from others, rounding errors of 1e-7 change the loss by a third within 20 steps.
            let y = pass.norm_from(&format!("{name}.bn2"), &y, 0.25)?;
            if stride > 1 {
                let short = pass.conv(&format!("{name}.downsample.0"), &x, to, 1, stride)?;
                x = pass.norm(&format!("{name}.downsample.1"), &short)?;
            }
            let sum = pass.add(&x, &y)?;
            x = pass.unary("relu", &sum)?;
        }
    }
    let x = pass.unary("global_avg_pool", &x)?;
    pass.conv_with_bias("fc", &x, Task::Directions.classes(), 1, 0)
}

fn resnet50(pass: &mut Pass<'_>, images: &Var) -> Result<Var> {
    let x = pass.conv("conv1", images, 64, 7, 2)?;
    let x = pass.norm("bn1", &x)?;
    let x = pass.unary("relu", &x)?;
    let mut x = pass.max_pool_of(&x, 3, 1)?;
    for (stage, blocks) in [3, 4, 6, 3].into_iter().enumerate() {
        let width = 64 << stage;
        for block in 0..blocks {
            let name = format!("layer{}.{block}", stage + 1);
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let mut y = x.clone();
            for (i, (to, kernel, stride)) in
                [(width, 1, 1), (width, 3, stride), (4 * width, 1, 1)].into_iter().enumerate()
            {
                y = pass.conv(&format!("{name}.conv{}", i + 1), &y, to, kernel, stride)?;
                y = pass.norm_from(&format!("{name}.bn{}", i + 1), &y, if i == 2 { 0.25 } else { 1.0 })?;
                y = if i < 2 { pass.unary("relu", &y)? } else { y };
            }
            if block == 0 {
                let short = pass.conv(&format!("{name}.downsample.0"), &x, 4 * width, 1, stride)?;
                x = pass.norm(&format!("{name}.downsample.1"), &short)?;
            }
            let sum = pass.add(&x, &y)?;
            x = pass.unary("relu", &sum)?;
        }
    }
    let x = pass.unary("global_avg_pool", &x)?;
    pass.conv_with_bias("fc", &x, Task::Directions.classes(), 1, 0)
}

fn mobilenet_v2(pass: &mut Pass<'_>, images: &Var) -> Result<Var> {
    let x = pass.conv("features.0.0", images, 32, 3, 2)?;
    let x = pass.norm("features.0.1", &x)?;
    let (mut x, mut from, mut number) = (pass.unary("relu6", &x)?, 32, 0);
    // Channels within a block for each of its source, channels of its result, blocks, and the stride of the first.
    let stages = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ];
    for (times, to, blocks, stride) in stages {
        for block in 0..blocks {
            number += 1;
            let name = format!("features.{number}.conv");
            let (stride, mut y, mut part) = (if block == 0 { stride } else { 1 }, x.clone(), 0);
            if times > 1 {
                y = pass.conv(&format!("{name}.0.0"), &y, times * from, 1, 1)?;
                y = pass.norm(&format!("{name}.0.1"), &y)?;
                y = pass.unary("relu6", &y)?;
                part = 1;
            }
            y = pass.depthwise(&format!("{name}.{part}.0"), &y, stride)?;
            y = pass.norm(&format!("{name}.{part}.1"), &y)?;
            y = pass.unary("relu6", &y)?;
            y = pass.conv(&format!("{name}.{}", part + 1), &y, to, 1, 1)?;
            y = pass.norm(&format!("{name}.{}", part + 2), &y)?;
            x = if stride == 1 && from == to { pass.add(&x, &y)? } else { y };
            from = to;
        }
    }
    let x = pass.conv("features.18.0", &x, 1280, 1, 1)?;
    let x = pass.norm("features.18.1", &x)?;
    let x = pass.unary("relu6", &x)?;
    let x = pass.unary("global_avg_pool", &x)?;
    pass.conv_with_bias("classifier.1", &x, Task::Directions.classes(), 1, 0)
}

/// Twice a convolution, batch norm and ReLU.
fn twice(pass: &mut Pass<'_>, name: &str, x: &Var, to: usize) -> Result<Var> {
    let mut x = x.clone();
    for i in 1..=2 {
        let y = pass.conv(&format!("{name}.conv{i}"), &x, to, 3, 1)?;
        let y = pass.norm(&format!("{name}.bn{i}"), &y)?;
        x = pass.unary("relu", &y)?;
    }
    Ok(x)
}

fn unet(pass: &mut Pass<'_>, images: &Var, width: usize) -> Result<Var> {
    let top = twice(pass, "down1", images, width)?;
    let x = pass.max_pool(&top)?;
    let middle = twice(pass, "down2", &x, 2 * width)?;
    let x = pass.max_pool(&middle)?;
    let x = twice(pass, "bottom", &x, 4 * width)?;
    let x = pass.up("up2.up", &x, 2 * width)?;
    let x = pass.cat(&middle, &x)?;
    let x = twice(pass, "up2", &x, 2 * width)?;
    let x = pass.up("up1.up", &x, width)?;
    let x = pass.cat(&top, &x)?;
    let x = twice(pass, "up1", &x, width)?;
    pass.conv_with_bias("out", &x, Task::Textures.classes(), 1, 0)
}
