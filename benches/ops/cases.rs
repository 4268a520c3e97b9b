//! The measured cases: ops that can be called from their schema alone, and the others by hand.

use blocktensor::dispatch::schema::ArgKind;
use blocktensor::dispatch::{self, DispatchKey, Op, Value};
use blocktensor::ops::{
    self, AvgPool, BatchNorm, BatchNormTrain, Conv2d, ConvTranspose2d, GridMode, GridSample,
    LocalResponseNorm, MaxPool, NormParams, PadMode, Resample,
};
use blocktensor::{Layout, MemoryFormat, Result, StridedTensor, Tensor, WeightsKind};

/// What limits an op's speed.
pub enum Bound {
    /// The bytes that it must move, in multiples of its source's size.
    Memory(f64),
    /// Its arithmetic: a convolution.
    Compute,
}

use Bound::{Compute, Memory};

type Call = Box<dyn Fn(&Operands) -> Result<Tensor>>;

/// One line of the table. Its name begins with the op's name.
pub struct Case {
    pub name: String,
    pub bound: Bound,
    pub call: Call,
}

/// The operands of the cases, in one layout.
pub struct Operands {
    x: Tensor,
    /// Of the same shape as the source.
    same: Tensor,
    /// N x C x 1 x 1.
    channel: Tensor,
    /// N x 1 x H x W.
    spatial: Tensor,
    /// Weights have the same key as the source: 3x3 with as many output as input channels, and the same depthwise.
    weights: Tensor,
    depthwise: Tensor,
    deconv: Tensor,
}

impl Operands {
    pub fn new(dims: [usize; 4], form: impl Fn(StridedTensor) -> Tensor) -> Operands {
        let [n, c, h, w] = dims;
        let plain = |dims: &[usize]| {
            let data: Vec<f32> =
                (0..dims.iter().product()).map(|i: usize| (i * 7919 % 1009) as f32 / 500.0 - 1.0).collect();
            StridedTensor::from_slice(&data, dims).expect("data")
        };
        let make = |dims: &[usize]| form(plain(dims));
        let x = make(&dims);
        // Blocked weights with groups have a separate dimension for the groups.
        let weights = |dims: &[usize], grouped: &[usize], kind| match &x {
            Tensor::Blocked(_) => {
                let layout = Layout::native_weights(grouped.len(), kind).expect("a layout");
                plain(grouped).to_blocked(&layout).expect("blocked").into()
            }
            _ => Tensor::from(plain(dims)),
        };
        Operands {
            same: make(&dims),
            channel: make(&[n, c, 1, 1]),
            spatial: make(&[n, 1, h, w]),
            weights: weights(&[c, c, 3, 3], &[c, c, 3, 3], WeightsKind::Dense),
            depthwise: weights(&[c, 1, 3, 3], &[c, 1, 1, 3, 3], WeightsKind::Depthwise),
            deconv: weights(&[c, c, 2, 2], &[c, c, 2, 2], WeightsKind::Dense),
            x,
        }
    }
}

fn vector(n: usize) -> StridedTensor {
    StridedTensor::full(&[n], 1.5f32, MemoryFormat::Contiguous).expect("a vector")
}

/// A grid that reads every pixel of `x`, a little turned.
fn turned_grid(x: &Tensor) -> StridedTensor {
    let dims = blocktensor::Operand::tensor_ref(x).dims();
    let (n, h, w) = (dims[0], dims[2], dims[3]);
    let point = |i: usize| {
        let (y, x) = ((i / w % h) as f32 / h as f32 * 2.0 - 1.0, (i % w) as f32 / w as f32 * 2.0 - 1.0);
        [0.9 * x - 0.3 * y, 0.3 * x + 0.9 * y]
    };
    let coordinates: Vec<f32> = (0..n * h * w).flat_map(point).collect();
    StridedTensor::from_slice(&coordinates, &[n, h, w, 2]).expect("a grid")
}

/// A case for an op that takes data and, besides it, only arguments with defaults, a vector over the channels, or one
/// number.
fn by_schema(op: &'static Op, c: usize) -> Option<Case> {
    let (mut data, mut others) = (0, Vec::new());
    for a in op.schema().args {
        match a.kind {
            ArgKind::Data => data += 1,
            ArgKind::Param => others.push((a.name, Value::from(vector(c)))),
            ArgKind::Float(None) => others.push((a.name, Value::from(0.5))),
            ArgKind::DataList
            | ArgKind::Plain
            | ArgKind::Int(None)
            | ArgKind::Ints(None)
            | ArgKind::Str(None) => return None,
            _ => {}
        }
    }
    let names: Vec<&'static str> = op.schema().args[..data].iter().map(|a| a.name).collect();
    let call = move |o: &Operands| {
        let tensors = [&o.x, &o.same, &o.same].map(|t| Value::from(t.clone()));
        let mut values: Vec<(&str, Value)> = names.iter().copied().zip(tensors).collect();
        values.extend(others.iter().cloned());
        dispatch::call(op.schema().name, &values).map(|mut results| results.remove(0))
    };
    // Comparisons write one byte per element.
    let result = if op
        .schema()
        .name
        .split('_')
        .next()
        .is_some_and(|n| ["eq", "ne", "lt", "le", "gt", "ge"].contains(&n))
    {
        0.25
    } else {
        1.0
    };
    Some(Case { name: op.schema().name.into(), bound: Memory(data as f64 + result), call: Box::new(call) })
}

/// Every case on tensors of these sizes: the ones by hand, then every other op with a blocked kernel.
pub fn cases(dims: [usize; 4]) -> Vec<Case> {
    let mut cases = by_hand(dims);
    for op in dispatch::ops() {
        let name = op.schema().name;
        // The 1-D and 3-D variants share the kernels of the 2-D ones.
        let other_rank = ["1d", "3d", "_linear", "_trilinear"].iter().any(|end| name.ends_with(end));
        let known = cases.iter().any(|c| c.name.split(' ').next() == Some(name));
        if op.kernel(DispatchKey::BLOCKED).is_none() || other_rank || known {
            continue;
        }
        cases.push(by_schema(op, dims[1]).unwrap_or_else(|| panic!("`{name}` needs a case by hand")));
    }
    cases
}

fn by_hand(dims: [usize; 4]) -> Vec<Case> {
    let [_, c, h, w] = dims;
    let mut cases = Vec::new();
    let mut case = |name: &str, bound, call: Call| cases.push(Case { name: name.into(), bound, call });

    let (conv, depthwise) = (Conv2d::new().padding(1), Conv2d::new().padding(1).groups(c));
    let deconv = ConvTranspose2d::new().stride(2);
    case("conv2d 3x3", Compute, Box::new(move |o| ops::conv2d(&o.x, &o.weights, None, &conv)));
    case(
        "conv2d 3x3 depthwise",
        Compute,
        Box::new(move |o| ops::conv2d(&o.x, &o.depthwise, None, &depthwise)),
    );
    case(
        "conv_transpose2d 2x2 s2",
        Compute,
        Box::new(move |o| ops::conv_transpose2d(&o.x, &o.deconv, None, &deconv)),
    );

    let mut pool = |name, moved, call: fn(&Tensor) -> Result<Tensor>| {
        cases.push(Case {
            name: String::from(name),
            bound: Memory(moved),
            call: Box::new(move |o| call(&o.x)),
        });
    };
    let pixels = (h * w) as f64;
    pool("max_pool2d 3x3 s2 p1", 1.25, |x| ops::max_pool2d(x, &MaxPool::new(3).stride(2).padding(1)));
    pool("max_pool2d 2x2 s2", 1.25, |x| ops::max_pool2d(x, &MaxPool::new(2)));
    pool("max_pool2d 3x3 s1 p1", 2.0, |x| ops::max_pool2d(x, &MaxPool::new(3).stride(1).padding(1)));
    pool("max_pool2d 5x5 s1 p2", 2.0, |x| ops::max_pool2d(x, &MaxPool::new(5).stride(1).padding(2)));
    pool("avg_pool2d 3x3 s1 p1", 2.0, |x| ops::avg_pool2d(x, &AvgPool::new(3).stride(1).padding(1)));
    pool("avg_pool2d 2x2 s2", 1.25, |x| ops::avg_pool2d(x, &AvgPool::new(2)));
    pool("adaptive_avg_pool2d 7x7", 1.0 + 49.0 / pixels, |x| ops::adaptive_avg_pool2d(x, [7, 7]));
    pool("adaptive_max_pool2d 3x3", 1.0 + 9.0 / pixels, |x| ops::adaptive_max_pool2d(x, [3, 3]));
    pool("global_avg_pool", 1.0, |x| ops::global_avg_pool(x));
    pool("global_max_pool", 1.0, |x| ops::global_max_pool(x));
    pool("upsample_nearest x2", 5.0, |x| ops::upsample_nearest(x, &Resample::<2>::by(2.0)));
    pool("upsample_bilinear x2", 5.0, |x| ops::upsample_bilinear(x, &Resample::by(2.0)));
    pool("local_response_norm 5", 2.0, |x| ops::local_response_norm(x, &LocalResponseNorm::new(5)));
    pool("softmax C", 2.0, |x| ops::softmax(x, 1));
    pool("softmax H", 2.0, |x| ops::softmax(x, 2));
    pool("softmax W", 2.0, |x| ops::softmax(x, 3));
    pool("log_softmax C", 2.0, |x| ops::log_softmax(x, 1));
    pool("instance_norm", 3.0, |x| ops::instance_norm(x, &NormParams::default()));
    pool("group_norm 32", 3.0, |x| ops::group_norm(x, 32, &NormParams::default()));
    pool("mean HW", 1.0, |x| ops::mean(x, &[2, 3], true));
    pool("sum C", 1.0, |x| ops::sum(x, &[1], true));
    pool("sum NHW", 1.0, |x| ops::sum(x, &[0, 2, 3], true));
    pool("sum all", 1.0, |x| ops::sum(x, blocktensor::ALL_AXES, true));
    pool("amax HW", 1.0, |x| ops::amax(x, &[2, 3], true));
    pool("amax C", 1.0, |x| ops::amax(x, &[1], true));
    pool("amin W", 1.0, |x| ops::amin(x, &[3], true));
    pool("prod C", 1.0, |x| ops::prod(x, &[1], true));
    pool("argmax C", 1.0, |x| ops::argmax(x, Some(1), true));
    pool("argmax all", 1.0, |x| ops::argmax(x, None, true));
    pool("pad by 1", 2.0, |x| ops::pad(x, &[1, 1, 1, 1], PadMode::Constant(0.0)));
    pool("pad by 1, reflecting", 2.0, |x| ops::pad(x, &[1, 1, 1, 1], PadMode::Reflect));
    pool("flip H", 2.0, |x| ops::flip(x, &[2]));
    pool("flip W", 2.0, |x| ops::flip(x, &[3]));
    pool("roll H, W", 2.0, |x| ops::roll(x, &[3, 5], &[2, 3]));
    pool("pixel_shuffle by 2", 2.0, |x| ops::pixel_shuffle(x, 2));
    pool("pixel_unshuffle by 2", 2.0, |x| ops::pixel_unshuffle(x, 2));
    pool("channel_shuffle in 4", 2.0, |x| ops::channel_shuffle(x, 4));
    pool("chunk in 3", 2.0 / 3.0, |x| ops::chunk(x, 3, 1).map(|mut parts| parts.remove(0)));
    pool("split 17 and the rest", 2.0, |x| {
        let c = blocktensor::Operand::tensor_ref(x).dims()[1];
        ops::split(x, &[17, c - 17], 1).map(|mut parts| parts.remove(0))
    });
    pool("dropout", 2.0, |x| ops::dropout(x, 0.5, 1, true));
    pool("feature_dropout", 2.0, |x| ops::feature_dropout(x, 0.5, 1, true));

    let mut case = |name: &str, bound, call: Call| cases.push(Case { name: name.into(), bound, call });
    case("cat along C", Memory(4.0), Box::new(|o| ops::cat(&[&o.x, &o.same], 1)));
    case("cat along W", Memory(4.0), Box::new(|o| ops::cat(&[&o.x, &o.same], 3)));
    case("stack", Memory(4.0), Box::new(|o| ops::stack(&[&o.x, &o.same], 2)));
    case("mul NxCx1x1", Memory(2.0), Box::new(|o| ops::mul(&o.x, &o.channel)));
    case("mul Nx1xHxW", Memory(2.0), Box::new(|o| ops::mul(&o.x, &o.spatial)));
    case("mul same shape", Memory(3.0), Box::new(|o| ops::mul(&o.x, &o.same)));
    for (name, mode) in [
        ("grid_sample bilinear", GridMode::Bilinear),
        ("grid_sample nearest", GridMode::Nearest),
        ("grid_sample bicubic", GridMode::Bicubic),
    ] {
        let made = std::sync::OnceLock::new();
        let params = GridSample::new().mode(mode);
        case(
            name,
            Memory(2.0),
            Box::new(move |o| ops::grid_sample(&o.x, made.get_or_init(|| turned_grid(&o.x)), &params)),
        );
    }
    let values = vector(c);
    case("batch_norm_train", Memory(3.0), {
        let v = values.clone();
        Box::new(move |o| {
            ops::batch_norm_train(&o.x, &BatchNormTrain::new(&v, &v).affine(&v, &v)).map(|t| t.y)
        })
    });
    case("batch_norm", Memory(2.0), {
        Box::new(move |o| {
            let v = &values;
            ops::batch_norm(&o.x, &BatchNorm::new(v, v).affine(v, v))
        })
    });
    case("layer_norm CHW", Memory(3.0), {
        Box::new(move |o| ops::layer_norm(&o.x, &[c, h, w], &NormParams::default()))
    });
    let affine = vector(c * h * w);
    case("layer_norm CHW affine", Memory(5.0), {
        Box::new(move |o| {
            let params = NormParams { weight: Some(&affine), bias: Some(&affine), eps: 1e-5 };
            ops::layer_norm(&o.x, &[c, h, w], &params)
        })
    });
    case("where", Memory(3.25), Box::new(|o| ops::where_(&ops::gt(&o.x, &o.same)?, &o.x, &o.same)));
    cases
}
