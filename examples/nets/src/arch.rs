//! The architectures of the networks.

use blocktensor::ops::{Activation, Conv2d};

/// One convolution with its batch norm.
#[derive(Clone, Debug)]
pub struct ConvSpec {
    /// Name of the convolution in the weights file.
    pub conv: String,
    /// Name of the batch norm.
    pub norm: String,
    pub c: usize,
    pub o: usize,
    pub kernel: usize,
    pub stride: usize,
    pub groups: usize,
    pub activation: Option<Activation>,
    /// Whether it adds the saved activation before its own activation.
    pub residual: bool,
}

impl ConvSpec {
    /// [O, C/groups, k, k].
    pub fn weight_dims(&self) -> [usize; 4] {
        [self.o, self.c / self.groups, self.kernel, self.kernel]
    }

    pub fn params(&self) -> Conv2d {
        let mut p = Conv2d::new().stride(self.stride).padding(self.kernel / 2).groups(self.groups);
        if self.residual {
            p = p.residual();
        }
        match self.activation {
            Some(a) => p.activation(a),
            None => p,
        }
    }
}

/// A part of the trunk.
#[derive(Clone, Debug)]
pub enum Unit {
    /// 3x3, stride 2, padding 1.
    MaxPool,
    Block {
        convs: Vec<ConvSpec>,
        /// Applied to the saved activation of the residual connection.
        project: Option<ConvSpec>,
        residual: bool,
    },
}

/// A network's units; names are torchvision's.
#[derive(Clone, Debug)]
pub struct Arch {
    pub name: &'static str,
    pub stem: ConvSpec,
    pub units: Vec<Unit>,
    pub classifier: String,
}

fn conv(conv: String, norm: String, c: usize, o: usize, kernel: usize, stride: usize) -> ConvSpec {
    let activation = Some(Activation::Relu);
    ConvSpec { conv, norm, c, o, kernel, stride, groups: 1, activation, residual: false }
}

impl Arch {
    /// The names that `by_name` knows.
    pub const NAMES: [&str; 4] = ["resnet18", "resnet50", "resnet101", "mobilenet_v2"];

    pub fn by_name(name: &str) -> Option<Arch> {
        match name {
            "resnet18" => Some(resnet("resnet18", &[2, 2, 2, 2], false)),
            "resnet50" => Some(resnet("resnet50", &[3, 4, 6, 3], true)),
            "resnet101" => Some(resnet("resnet101", &[3, 4, 23, 3], true)),
            "mobilenet_v2" => Some(mobilenet_v2()),
            _ => None,
        }
    }

    /// Every convolution, in order.
    pub fn convs(&self) -> impl Iterator<Item = &ConvSpec> {
        let of_units = self.units.iter().flat_map(|u| match u {
            Unit::MaxPool => Vec::new(),
            Unit::Block { convs, project, .. } => project.iter().chain(convs).collect(),
        });
        std::iter::once(&self.stem).chain(of_units)
    }

    /// Outputs of the last convolution: inputs of the classifier.
    pub fn features(&self) -> usize {
        self.convs().last().map_or(0, |c| c.o)
    }
}

/// torchvision.models.resnet (the v1.5 form: stride 2 on the 3x3 convolution of a bottleneck).
fn resnet(name: &'static str, depths: &[usize], bottleneck: bool) -> Arch {
    let mut units = vec![Unit::MaxPool];
    let mut c = 64;
    for (stage, &depth) in depths.iter().enumerate() {
        let width = 64 << stage;
        let out = if bottleneck { 4 * width } else { width };
        for i in 0..depth {
            let at = format!("layer{}.{i}", stage + 1);
            let stride = if stage > 0 && i == 0 { 2 } else { 1 };
            let part = |n: usize, c, o, kernel, stride| {
                conv(format!("{at}.conv{n}"), format!("{at}.bn{n}"), c, o, kernel, stride)
            };
            let mut convs = if bottleneck {
                vec![part(1, c, width, 1, 1), part(2, width, width, 3, stride), part(3, width, out, 1, 1)]
            } else {
                vec![part(1, c, width, 3, stride), part(2, width, width, 3, 1)]
            };
            if let Some(last) = convs.last_mut() {
                last.residual = true;
            }
            let project = (stride > 1 || c != out).then(|| ConvSpec {
                activation: None,
                ..conv(format!("{at}.downsample.0"), format!("{at}.downsample.1"), c, out, 1, stride)
            });
            units.push(Unit::Block { convs, project, residual: true });
            c = out;
        }
    }
    let stem = conv("conv1".into(), "bn1".into(), 3, 64, 7, 2);
    Arch { name, stem, units, classifier: "fc".into() }
}

/// torchvision.models.mobilenet_v2.
fn mobilenet_v2() -> Arch {
    let relu6 = Some(Activation::Clip(0.0, 6.0));
    // expansion, channels, repeats, stride
    let table = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ];
    let mut units = Vec::new();
    let mut c = 32;
    let mut index = 1;
    for (expansion, o, repeats, first_stride) in table {
        for i in 0..repeats {
            let stride = if i == 0 { first_stride } else { 1 };
            let hidden = c * expansion;
            let at = format!("features.{index}.conv");
            let mut convs = Vec::new();
            let mut n = 0;
            if expansion != 1 {
                convs.push(ConvSpec {
                    activation: relu6,
                    ..conv(format!("{at}.0.0"), format!("{at}.0.1"), c, hidden, 1, 1)
                });
                n = 1;
            }
            let depthwise = conv(format!("{at}.{n}.0"), format!("{at}.{n}.1"), hidden, hidden, 3, stride);
            convs.push(ConvSpec { activation: relu6, groups: hidden, ..depthwise });
            let residual = stride == 1 && c == o;
            let linear = conv(format!("{at}.{}", n + 1), format!("{at}.{}", n + 2), hidden, o, 1, 1);
            convs.push(ConvSpec { activation: None, residual, ..linear });
            units.push(Unit::Block { convs, project: None, residual });
            c = o;
            index += 1;
        }
    }
    let head = ConvSpec {
        activation: relu6,
        ..conv("features.18.0".into(), "features.18.1".into(), 320, 1280, 1, 1)
    };
    units.push(Unit::Block { convs: vec![head], project: None, residual: false });
    let stem =
        ConvSpec { activation: relu6, ..conv("features.0.0".into(), "features.0.1".into(), 3, 32, 3, 2) };
    Arch { name: "mobilenet_v2", stem, units, classifier: "classifier.1".into() }
}
