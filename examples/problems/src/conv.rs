//! Convolutions and transposed convolutions in every layout.

use blocktensor::ops::{self, Conv, ConvTranspose, Direction, Forward, PostOp, Transposed};
use blocktensor::{
    ConvPacker, DType, Layout, MemoryFormat, PackedConv, Result, Source, StridedTensor, Tensor, WeightsKind,
    ledger,
};

use crate::check::{LAYOUTS, Outcome, Refusal, Want, in_layouts};
use crate::data::{LARGEST, Random, exact_range};
use crate::notation::{Kind, Problem};
use crate::oracle;
use crate::types::Types;

/// The padding arguments of each axis.
#[derive(Clone, Copy)]
struct Padding {
    begin: [usize; 3],
    end: [usize; 3],
    output: [usize; 3],
    /// Whether the output padding exceeds PyTorch's limit.
    refused: bool,
}

/// The padding that gives the problem's output, as a user of PyTorch would state it if possible: the same on both sides,
/// with the remainder that the stride leaves. Otherwise why there is none.
fn padding(p: &Problem) -> Result<Padding, &'static str> {
    let mut padding = Padding { begin: [0; 3], end: [0; 3], output: [0; 3], refused: false };
    for a in 0..3 {
        let (stride, begin, end) = (p.stride[a] as i64, p.pad_begin[a], p.pad_end[a]);
        if begin < 0 {
            return Err("padding before an axis is negative");
        }
        let (end, output) = match p.kind {
            Kind::Deconv => {
                let open = stride.max(p.dilation[a] as i64);
                padding.refused |= -end >= open && begin - end >= open;
                match begin - end {
                    output if (0..open).contains(&output) => (begin, output),
                    _ if end >= 0 => (end, 0),
                    _ => (0, -end),
                }
            }
            // The remainder that a stride leaves may be padding or not.
            _ if (end..end + stride).contains(&begin) => (begin, 0),
            _ if end + stride <= 0 => return Err("the result ends before the source does"),
            _ => (end.max(0), 0),
        };
        (padding.begin[a], padding.end[a], padding.output[a]) =
            (begin as usize, end as usize, output as usize);
    }
    Ok(padding)
}

/// The norm of the errors that Winograd's algorithm may make, beside that of the values.
const WINOGRAD: f64 = 4e-6;

/// The last `N` of `[d, h, w]`.
fn last<const N: usize>(all: [usize; 3]) -> [usize; N] {
    std::array::from_fn(|i| all[3 - N + i])
}

type Op<const N: usize, D> = fn(&Tensor, &Tensor, Option<&StridedTensor>, &Conv<N, D>) -> Result<Tensor>;
type Stem<const N: usize, D> = fn(&ConvPacker<N, D>, &StridedTensor) -> Result<Tensor>;

/// How a problem runs.
#[derive(Clone, Copy)]
pub struct How<'a> {
    pub seed: u64,
    /// This implementation alone, which takes packed weights.
    pub alg: Option<&'a str>,
    pub types: Types,
}

/// Runs one problem in every layout.
pub fn run(p: &Problem, how: How<'_>) -> Result<[Outcome; 3]> {
    let pads = match padding(p) {
        Ok(pads) => pads,
        Err(why) => {
            return Ok(LAYOUTS.map(|_| Outcome::unsupported(format!("{}: {why}", p.kind.name()))));
        }
    };
    match (p.kind, p.spatial) {
        (Kind::Deconv, 1) => transposed::<1>(p, &pads, how, ops::conv_transpose1d),
        (Kind::Deconv, 2) => transposed::<2>(p, &pads, how, ops::conv_transpose2d),
        (Kind::Deconv, _) => transposed::<3>(p, &pads, how, ops::conv_transpose3d),
        (_, 1) => forward::<1>(p, &pads, how, ops::conv1d),
        (_, 2) => forward::<2>(p, &pads, how, ops::conv2d),
        _ => forward::<3>(p, &pads, how, ops::conv3d),
    }
}

fn params<const N: usize, D: Direction>(p: &Problem, pads: &Padding) -> Conv<N, D> {
    Conv::new()
        .strides(last(p.stride))
        .dilations(last(p.dilation))
        .paddings(last(pads.begin), last(pads.end))
        .groups(p.groups)
}

fn forward<const N: usize>(
    p: &Problem,
    pads: &Padding,
    how: How<'_>,
    op: Op<N, Forward>,
) -> Result<[Outcome; 3]> {
    let stem: Stem<N, Forward> = |packer, x| {
        let stem = packer.pack_stem(&Source::of(x)?, &Layout::native_activation(N + 2)?)?;
        Ok(ledger::deny_reorders(|| blocktensor::run(|| stem.run(x)))?.into())
    };
    every_way(p, pads, params(p, pads), how, op, Some(stem))
}

fn transposed<const N: usize>(
    p: &Problem,
    pads: &Padding,
    how: How<'_>,
    op: Op<N, Transposed>,
) -> Result<[Outcome; 3]> {
    let params: ConvTranspose<N> = params(p, pads).output_paddings(last(pads.output));
    every_way(p, pads, params, how, op, None)
}

/// Weights for blocked tensors: output channels first, groups as a separate dimension, in the machine's layout.
fn blocked_weights(p: &Problem, w: &StridedTensor) -> Result<Tensor> {
    let (cg, og) = (p.c / p.groups, p.o / p.groups);
    let deconv = p.kind == Kind::Deconv;
    let (apart, kind) = match p.groups {
        1 => (w.clone(), WeightsKind::Dense),
        groups => {
            let of_group = if deconv { [groups, cg, og] } else { [groups, og, cg] };
            let kind = if cg == 1 && og == 1 { WeightsKind::Depthwise } else { WeightsKind::Grouped };
            (w.reshape(&[&of_group, p.axes(&p.kernel)].concat())?, kind)
        }
    };
    let channels = apart.rank() - p.spatial - 2;
    let output_first = if deconv { apart.transpose(channels, channels + 1)? } else { apart };
    Ok(output_first.to_blocked(&Layout::native_weights(output_first.rank(), kind)?)?.into())
}

/// Calls with plain weights and no bias, with packed weights and a bias, and, if the source has fewer channels than a
/// block, with a stem that reads it plain.
fn every_way<const N: usize, D: Direction>(
    p: &Problem,
    pads: &Padding,
    params: Conv<N, D>,
    How { seed, alg, types }: How<'_>,
    op: Op<N, D>,
    stem: Option<Stem<N, D>>,
) -> Result<[Outcome; 3]> {
    let (src, dst) = (p.src_dims(), p.dst_dims());
    let channels = if p.kind == Kind::Deconv { [p.c, p.o / p.groups] } else { [p.o, p.c / p.groups] };
    let weights = [&channels, p.axes(&p.kernel)].concat();
    let mut random = Random::new(seed, &p.to_string());
    // One of the implementations is for integers.
    let types = if alg == Some("int8") && types.is_f32() { Types::SUMS } else { types };
    let largest = match (types.is_f32(), types.limits()) {
        (true, _) => exact_range(p.terms(), LARGEST),
        // Of u8 they are from 0 to twice that.
        (false, None) => exact_range(2.0 * p.terms(), 127),
        // Many sums are within the limits.
        (false, Some(_)) => exact_range(2.0 * p.terms(), 3),
    };
    let largest = largest.unwrap_or(1);
    let mut x = random.integers(src.iter().product(), largest);
    if types.src == DType::U8 {
        x.iter_mut().for_each(|v| *v += largest as f32);
    }
    let w = random.integers(weights.iter().product(), largest);
    let b = random.integers(p.o, LARGEST);
    let sums = if p.kind == Kind::Deconv { oracle::deconv(p, &x, &w) } else { oracle::conv(p, &x, &w) };
    let plane: usize = p.output.iter().product();
    let limited = |v: f64| types.limits().map_or(v, |(low, high)| v.clamp(low, high));
    let with_bias: Vec<f64> =
        sums.iter().enumerate().map(|(i, v)| limited(v + f64::from(b[i / plane % p.o]))).collect();
    let sums: Vec<f64> = sums.into_iter().map(limited).collect();
    let params = match types.limits() {
        Some(_) => params.post_op(PostOp::Quantize { dtype: types.dst, zero_point: 0 }),
        None => params,
    };
    let x = StridedTensor::from_slice(&x, &src)?.to_dtype(types.src)?;
    let w = StridedTensor::from_slice(&w, &weights)?.to_dtype(types.weights)?;
    let b = StridedTensor::from_slice(&b, &[p.o])?;
    let want = |values| {
        let rule = "output padding of a step or more";
        let refusal = pads.refused.then_some(Refusal { argument: "output_padding", rule });
        let inexact = alg.is_some_and(|name| name.starts_with("winograd"));
        Want { dims: &dst, values, limit: &|_| 0.0, norm: inexact.then_some(WINOGRAD), refusal }
    };
    let (plain, biased) = (want(&sums), want(&with_bias));
    let block = Layout::native_activation(p.spatial + 2)?.block_of(1);
    in_layouts(&x, |layout, source| {
        let blocked = layout == "blocked";
        let outcome = match alg {
            Some(_) => Outcome::Passed,
            None => plain.of("plain weights", || {
                let result = match blocked {
                    true => op(source, &blocked_weights(p, &w)?, None, &params),
                    false => op(source, &w.clone().into(), None, &params),
                };
                ops::to_dtype(&result?, DType::F32)
            }),
        };
        let packer = || {
            let packer = PackedConv::<N, D>::new(&w, Some(&b), params.clone())?;
            alg.map_or(Ok(packer.clone()), |name| packer.implementation(name))
        };
        // For a wrong result, it helps to know which kernel of oneDNN or of this crate ran.
        let mut implementation = String::new();
        let packed = biased.of("packed weights", || {
            let source_of = match (blocked, MemoryFormat::channels_last_of(p.spatial + 2)) {
                (true, _) => Source::of(source)?,
                (_, Some(format)) if layout == "nhwc" => Source::strided(&src, format)?.dtype(types.src),
                _ => Source::strided(&src, MemoryFormat::Contiguous)?.dtype(types.src),
            };
            let packed = packer()?.pack_for(&source_of)?;
            implementation = packed.implementation();
            let run = || blocktensor::run(|| packed.run(source));
            let result = if blocked { ledger::deny_reorders(run) } else { run() }?;
            ops::to_dtype(&result, DType::F32)
        });
        let outcome = outcome.and(match packed {
            Outcome::Failed(why) => Outcome::Failed(format!("{why} ({implementation})")),
            other => other,
        });
        let Some(stem) =
            stem.filter(|_| alg.is_none() && types.is_f32() && blocked && p.groups == 1 && p.c < block)
        else {
            return outcome;
        };
        match biased.of("stem", || stem(&packer()?, &x)) {
            // In that case the source is reordered, as above.
            Outcome::Unsupported(_) => outcome,
            other => outcome.and(other),
        }
    })
}
