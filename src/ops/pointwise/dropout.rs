//! Dropout and feature dropout, reproducible from their seed.
//!
//! Whether an element stays is a hash of the seed and the element's *logical* place (image and channel; pixel), so that it
//! depends neither on the layout nor on the number of threads, and a backward pass can make the mask again.

use crate::dtype::{DType, Element};
use crate::elementwise;
use crate::error::{Result, fail};
use crate::kernels::blocked_map::{self, Source};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger;
use crate::op::schema::{data, flag, float, int};
use crate::op::{Arg, Args, Kernel, KernelFn, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::recorded;

use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

const ARGS: &[crate::op::ArgSpec] = &[data("x"), float("p", 0.5), int("seed", 0), flag("training", true)];
static DROPOUT_SCHEMA: Schema = Schema::new("dropout", ARGS);
static DROPOUT: Op = both(&DROPOUT_SCHEMA, &kernel);
static FEATURE_DROPOUT_SCHEMA: Schema = Schema::new("feature_dropout", ARGS);
static FEATURE_DROPOUT: Op = both(&FEATURE_DROPOUT_SCHEMA, &kernel);

pub(crate) const OPS: &[&Op] = &[&DROPOUT, &FEATURE_DROPOUT];

const fn both(schema: &'static Schema, kernel: &'static KernelFn) -> Op {
    Op::new(schema).on_both(Kernel::rust(kernel))
}

/// Each element is zeroed with probability `p`; those that stay are scaled by `1 / (1 - p)`. As
/// `torch.nn.functional.dropout`, with a seed of its own instead of a global generator.
///
/// # Shapes
/// Any; the result has that of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: any strides; the result's are those of an element-wise op. Blocked: the layout of `x`. The same seed drops the
/// same elements in every layout and with any number of threads. Unless `training`, or with `p` = 0, the result is `x`
/// itself, and shares its storage.
///
/// # Errors
/// `InvalidArgument` for `p` outside 0 to 1; `UnsupportedDType`.
#[track_caller]
pub fn dropout<T: Operand>(x: &T, p: f64, seed: i64, training: bool) -> Result<T> {
    DROPOUT.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Float(p), Arg::Int(seed), Arg::Bool(training)])
}

/// As [`dropout`], but a channel of an image stays or goes as a whole: `torch.nn.functional.dropout1d`, `dropout2d`,
/// `dropout3d`.
///
/// # Shapes
/// `x` [N, C, ...].
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// As [`dropout`].
///
/// # Errors
/// `RankMismatch` below rank 2; as [`dropout`].
#[track_caller]
pub fn feature_dropout<T: Operand>(x: &T, p: f64, seed: i64, training: bool) -> Result<T> {
    FEATURE_DROPOUT.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Float(p),
        Arg::Int(seed),
        Arg::Bool(training),
    ])
}

/// A hash of 32 bits (C. Wellons, "lowbias32"): a bijection.
#[inline(always)]
fn mix(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// What a seed and a probability make of the hash of a place.
#[derive(Clone, Copy)]
struct Keep {
    seed: u64,
    /// Hashes below this are dropped.
    below: u64,
    scale: f32,
}

impl Keep {
    fn new(p: f64, seed: i64) -> Keep {
        let scale = if p == 1.0 { 0.0 } else { (1.0 / (1.0 - p)) as f32 };
        Keep { seed: seed as u64, below: (p * 4_294_967_296.0) as u64, scale }
    }

    /// The part of a place that image and channel are; neighbours are far apart.
    fn feature(self, index: usize) -> i32 {
        let high = mix((self.seed >> 32) as u32 ^ (index >> 32) as u32);
        mix(self.seed as u32).wrapping_add(high).wrapping_add((index as u32).wrapping_mul(0x9e37_79b9)) as i32
    }

    /// The part that the pixel is.
    fn pixel(self, index: usize) -> i32 {
        mix(index as u32 ^ mix((index >> 32) as u32 ^ 0x85eb_ca6b)) as i32
    }

    /// What an element is multiplied with.
    #[inline(always)]
    fn factor(self, feature: i32, pixel: i32) -> f32 {
        let hash = mix(feature.wrapping_add(pixel) as u32);
        if u64::from(hash) < self.below { 0.0 } else { self.scale }
    }
}

/// One value for each image and channel (the first two axes), the other sizes 1.
fn features<E: Element>(x: &[usize], value: impl Fn(usize) -> E) -> Result<StridedTensor> {
    let mut dims = Dims::filled(1, x.len());
    let leading = x.len().min(2);
    dims[..leading].copy_from_slice(&x[..leading]);
    filled(&dims, value)
}

/// A contiguous tensor of the value of each index in row-major order.
fn filled<E: Element>(dims: &Dims, value: impl Fn(usize) -> E) -> Result<StridedTensor> {
    let mut t = StridedTensor::zeros(dims, E::DTYPE, MemoryFormat::Contiguous)?;
    t.result_data::<E>().iter_mut().enumerate().for_each(|(i, v)| *v = value(i));
    Ok(t)
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let (p, seed, training) = (args.float(1)?, args.int(2)?, args.flag(3)?);
    if !(0.0..=1.0).contains(&p) {
        fail!(
            InvalidArgument,
            op,
            "p",
            p.to_string(),
            "a probability is from 0 to 1",
            "pass one in this range"
        );
    }
    let whole_channels = op == "feature_dropout";
    if whole_channels && x.dims().len() < 2 {
        fail!(RankMismatch, op, "x", x.describe(), "it is [N, C, ...]", "use `dropout`, or add dimensions");
    }
    if !training || p == 0.0 || x.dims().contains(&0) {
        return results.view(x.to_tensor());
    }
    let keep = Keep::new(p, seed);
    let dims = x.dims();
    let dst = match x {
        TensorRef::Strided(x) => {
            // One factor for each channel of each image is an operand, with a say in the result's format.
            let mut of_channels = Dims::filled(1, dims.len());
            of_channels.iter_mut().zip(dims).take(2).for_each(|(d, &size)| *d = size);
            let factors = TensorDesc::strided(&of_channels, DType::F32, MemoryFormat::Contiguous)?;
            let Tensor::Strided(factors) = factors.without_elements() else { unreachable!("it is strided") };
            let operands = if whole_channels { &[x, &factors][..] } else { &[x] };
            TensorMut::Strided(results.in_any_strides(FormatRule::ElementWise, operands, dims, DType::F32)?)
        }
        TensorRef::Blocked(x) => TensorMut::Blocked(results.blocked(dims, x.layout(), DType::F32)?),
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    };
    let to = if ledger::is_recording() { dst.as_ref().layout_name() } else { String::new() };
    if whole_channels {
        let zero = keep.pixel(0);
        let factors = features(dims, |i| keep.factor(keep.feature(i), zero))?;
        let f = |x: f32, m: f32| x * m;
        return Ok(recorded(
            args,
            || to,
            || match (x, dst) {
                (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
                    elementwise::map2_into(op, dst, x, &factors, f)
                }
                (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
                    let factors = Source::of_features(op, &factors, x)?;
                    blocked_map::map2(op, dst, (&Source::of(op, x, dims[1])?, &factors), f)
                }
                _ => unreachable!("the result has the key of the operand"),
            },
        )?);
    }
    let f = move |x: f32, feature: i32, pixel: i32| x * keep.factor(feature, pixel);
    let of_features = features(dims, |i| keep.feature(i))?;
    let mut rest = Dims::from_slice(dims);
    rest.iter_mut().take(2).for_each(|d| *d = 1);
    let of_pixels = filled(&rest, |i| keep.pixel(i))?;
    Ok(recorded(
        args,
        || to,
        || match (x, dst) {
            (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
                elementwise::map3_into(op, dst, x, &of_features, &of_pixels, f)
            }
            (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
                // Without channels there is no view of it, which is then the error.
                let channels = dims.get(1).copied().unwrap_or(1);
                let sources = (
                    Source::of(op, x, channels)?,
                    Source::of_features(op, &of_features, x)?,
                    Source::of_pixels(&of_pixels)?,
                );
                blocked_map::map3(op, dst, (&sources.0, &sources.1, &sources.2), f)
            }
            _ => unreachable!("the result has the key of the operand"),
        },
    )?)
}
