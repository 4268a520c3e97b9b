//! Dropout and feature dropout, reproducible from their seed.
//!
//! A hash of the seed and of an element's *logical* position (image and channel; pixel) decides whether the element is kept.
//! So the result depends neither on the layout nor on the number of threads, and a backward pass can compute the mask again.

use crate::dtype::{DType, Element};
use crate::elementwise;
use crate::error::{Result, fail};
use crate::kernels::blocked_map::{self, MapOperand};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, flag, float, int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::pointwise::recorded;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of dropout and feature dropout.
    pub(crate) struct Dropout {
        p: f64 => float("p", 0.5),
        seed: i64 => int("seed", 0),
        training: bool => flag("training", true),
    }
}

const ARGS: &[ArgSpec] = &with_params::<4>(&[data("x").f32()], Dropout::SPECS);
static DROPOUT: Op = Op::new(&Schema::new("dropout", ARGS).dst_like_x().elementwise().drawing())
    .with(&Kernel::rust(&run).on_both_reading(Reads::Nothing, &|call| gradient(call, &DROPOUT)));
const CHANNEL_RANKS: Ranks = Ranks::at_least(2, "it is [N, C, ...]", "use `dropout`, or add dimensions");
const FEATURE_ARGS: &[ArgSpec] =
    &with_params::<4>(&[data("x").f32().with_ranks(CHANNEL_RANKS)], Dropout::SPECS);
static FEATURE_DROPOUT: Op = Op::new(&Schema::new("feature_dropout", FEATURE_ARGS).dst_like_x().drawing())
    .with(&Kernel::rust(&run).on_both_reading(Reads::Nothing, &|call| gradient(call, &FEATURE_DROPOUT)));

pub(crate) const OPS: &[&Op] = &[&DROPOUT, &FEATURE_DROPOUT];

/// Zeroes each element with probability `p` and scales the others by `1 / (1 - p)`, as `torch.nn.functional.dropout`. The
/// caller passes a seed; there is no global generator.
///
/// ```
/// use blocktensor::{MemoryFormat, StridedTensor, ops};
/// let x = StridedTensor::full(&[2, 8], 1f32, MemoryFormat::Contiguous)?;
/// let y = ops::dropout(&x, 0.5, 42, true)?.to_vec::<f32>()?;
/// assert!(y.iter().all(|&v| v == 0.0 || v == 2.0));
/// assert_eq!(ops::dropout(&x, 0.5, 42, true)?.to_vec::<f32>()?, y);
/// // Outside of training the result is `x`.
/// assert_eq!(ops::dropout(&x, 0.5, 42, false)?.to_vec::<f32>()?, [1.0; 16]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any; the result has that of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: any strides; the result has the strides of an element-wise op. Blocked: the layout of `x`. The same seed drops
/// the same elements in every layout and with any number of threads. If `training` is false or `p` is 0, the result is `x`
/// itself and shares its storage.
///
/// # Errors
/// `InvalidArgument` for `p` outside 0 to 1; `UnsupportedDType`.
#[track_caller]
pub fn dropout<T: Operand>(x: &T, p: f64, seed: i64, training: bool) -> Result<T> {
    DROPOUT.call_with(&[Arg::Tensor(x.tensor_ref())], &Dropout { p, seed, training })
}

/// As [`dropout`], but keeps or zeroes each channel of an image as a whole: `torch.nn.functional.dropout1d`, `dropout2d`,
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
    FEATURE_DROPOUT.call_with(&[Arg::Tensor(x.tensor_ref())], &Dropout { p, seed, training })
}

/// A hash of 32 bits (C. Wellons, "lowbias32"): a bijection.
#[inline(always)]
fn hash(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// The decision for every element, from the seed and the probability.
#[derive(Clone, Copy)]
struct DropRule {
    seed: u64,
    /// Elements with a hash below this are dropped.
    drop_below: u64,
    /// What kept elements are multiplied by.
    scale: f32,
}

impl DropRule {
    fn new(p: f64, seed: i64) -> DropRule {
        let scale = if p == 1.0 { 0.0 } else { (1.0 / (1.0 - p)) as f32 };
        DropRule { seed: seed as u64, drop_below: (p * 4_294_967_296.0) as u64, scale }
    }

    /// The contribution of image and channel to an element's hash. Consecutive indices give values that are far apart.
    fn of_feature(self, index: usize) -> i32 {
        let high = hash((self.seed >> 32) as u32 ^ (index >> 32) as u32);
        hash(self.seed as u32).wrapping_add(high).wrapping_add((index as u32).wrapping_mul(0x9e37_79b9))
            as i32
    }

    /// The contribution of the pixel to an element's hash.
    fn of_pixel(self, index: usize) -> i32 {
        hash(index as u32 ^ hash((index >> 32) as u32 ^ 0x85eb_ca6b)) as i32
    }

    /// What an element is multiplied by: 0 or the scale.
    #[inline(always)]
    fn factor(self, feature: i32, pixel: i32) -> f32 {
        let hashed = hash(feature.wrapping_add(pixel) as u32);
        if u64::from(hashed) < self.drop_below { 0.0 } else { self.scale }
    }
}

/// Sizes of a tensor with one value for each image and channel (the first two axes) of `x`; the other sizes are 1.
fn feature_dims(x: &[usize]) -> Dims {
    let mut dims = Dims::filled(1, x.len());
    dims.iter_mut().zip(x).take(2).for_each(|(d, &size)| *d = size);
    dims
}

/// Sizes of a tensor with one value for each pixel of `x`: the first two sizes are 1.
fn pixel_dims(x: &[usize]) -> Dims {
    let mut dims = Dims::from_slice(x);
    dims.iter_mut().take(2).for_each(|d| *d = 1);
    dims
}

/// A contiguous tensor with `value(i)` as the element at row-major index `i`.
fn tensor_of<E: Element>(dims: &Dims, value: impl Fn(usize) -> E) -> Result<StridedTensor> {
    let mut t = StridedTensor::zeros(dims, E::DTYPE, MemoryFormat::Contiguous)?;
    t.result_data::<E>().iter_mut().enumerate().for_each(|(i, v)| *v = value(i));
    Ok(t)
}

/// The kernel of both ops, for both keys.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let Dropout { p, seed, training } = Dropout::read(args)?;
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
    if !training || p == 0.0 || x.dims().contains(&0) {
        return results.view(x.to_tensor());
    }
    let rule = DropRule::new(p, seed);
    let dims = x.dims();
    let dst = match x {
        TensorRef::Strided(x) if whole_channels => {
            // In PyTorch the factors of feature dropout are an operand of a product, so they take part in the choice of the
            // result's strides.
            let factors = TensorDesc::strided(&feature_dims(dims), DType::F32, MemoryFormat::Contiguous)?;
            let Tensor::Strided(factors) = factors.without_elements() else { unreachable!("it is strided") };
            let rule = FormatRule::ElementWise;
            TensorMut::Strided(results.in_any_strides(rule, &[x, &factors], dims, DType::F32)?)
        }
        TensorRef::Strided(x) => {
            TensorMut::Strided(results.in_any_strides(FormatRule::ElementWise, &[x], dims, DType::F32)?)
        }
        TensorRef::Blocked(x) => TensorMut::Blocked(results.blocked(dims, x.layout(), DType::F32)?),
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    };
    let to = if ledger::is_recording() { dst.as_ref().layout_name() } else { String::new() };
    if whole_channels {
        let pixel = rule.of_pixel(0);
        let factors = tensor_of(&feature_dims(dims), |i| rule.factor(rule.of_feature(i), pixel))?;
        let f = |x: f32, factor: f32| x * factor;
        let work = || match (x, dst) {
            (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
                elementwise::map2_into(op, dst, x, &factors, f)
            }
            (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
                let factors = MapOperand::of_features(op, &factors, x)?;
                blocked_map::map2(op, dst, (&MapOperand::of(op, x, dims[1])?, &factors), f)
            }
            _ => unreachable!("the result has the operand's key"),
        };
        return Ok(recorded(args, || to, work)?);
    }
    let f = move |x: f32, feature: i32, pixel: i32| x * rule.factor(feature, pixel);
    let of_features = tensor_of(&feature_dims(dims), |i| rule.of_feature(i))?;
    let of_pixels = tensor_of(&pixel_dims(dims), |i| rule.of_pixel(i))?;
    let work = || match (x, dst) {
        (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
            elementwise::map3_into(op, dst, x, &of_features, &of_pixels, f)
        }
        (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
            // A blocked tensor without axis 1 is no activation: `MapOperand::of` refuses it.
            let channels = dims.get(1).copied().unwrap_or(1);
            let sources = (
                MapOperand::of(op, x, channels)?,
                MapOperand::of_features(op, &of_features, x)?,
                MapOperand::of_pixels(&of_pixels)?,
            );
            blocked_map::map3(op, dst, (&sources.0, &sources.1, &sources.2), f)
        }
        _ => unreachable!("the result has the operand's key"),
    };
    Ok(recorded(args, || to, work)?)
}

/// The incoming gradient with the same elements dropped: their places, not their values, decide.
fn gradient(call: &Backward<'_>, op: &'static Op) -> Result<Gradients> {
    let options = Dropout::read(&call.args)?;
    call.each(|_| op.call_with(&[Arg::Tensor(call.diff()?)], &options))
}
