//! Group norm and instance norm: each image is normalised with its own statistics, over groups of channels or each channel
//! alone.

use half::bf16;

use crate::dtype::{DType, Float};
use crate::error::{Result, fail};
use crate::kernels::gradient::planes::Dense;
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::OperandAndResult;
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::memory::try_with_capacity;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, float, optional_param, required_int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::norm::args::{
    ACTIVATION_RANKS, channels_of, check_eps, optional_param_arg, or_filled, param_values,
};
use crate::ops::norm::gradient::{self as norm_gradient, Statistics};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Affine parameters of a group, instance or layer norm.
#[derive(Clone, Copy, Debug)]
pub struct NormParams<'a> {
    /// Scale (gamma), 1-D; 1 if left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta), 1-D; 0 if left out.
    pub bias: Option<&'a StridedTensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl Default for NormParams<'_> {
    /// No weight, no bias, and PyTorch's default `eps` of 1e-5.
    fn default() -> Self {
        NormParams { weight: None, bias: None, eps: 1e-5 }
    }
}

params! {
    /// The numbers among the arguments of a group norm.
    pub(crate) struct GroupNormOptions {
        eps: f64 => float("eps", 1e-5),
        groups: usize => required_int("groups").counted_from_one(),
    }
}

params! {
    /// The number among the arguments of an instance norm.
    pub(crate) struct InstanceNormOptions {
        eps: f64 => float("eps", 1e-5),
    }
}

const TENSORS: &[ArgSpec] = &[
    data("x").f32().with_ranks(ACTIVATION_RANKS),
    optional_param("weight").f32(),
    optional_param("bias").f32(),
];
const GROUP_NORM_ARGS: &[ArgSpec] = &with_params::<5>(TENSORS, GroupNormOptions::SPECS);
const INSTANCE_NORM_ARGS: &[ArgSpec] = &with_params::<4>(TENSORS, InstanceNormOptions::SPECS);
static GROUP_NORM: Op = Op::new(&Schema::new("group_norm", GROUP_NORM_ARGS).dst_like_x()).with(
    &Kernel::rust(&run_group_norm)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &group_norm_gradient),
);
static INSTANCE_NORM: Op = Op::new(&Schema::new("instance_norm", INSTANCE_NORM_ARGS).dst_like_x()).with(
    &Kernel::rust(&run_instance_norm)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &instance_norm_gradient),
);

pub(crate) const OPS: &[&Op] = &[&GROUP_NORM, &INSTANCE_NORM];

/// Group norm, as `torch.nn.functional.group_norm`: the channels of each image form `groups` groups of equal size, and each
/// group is normalised with its own mean and biased variance over its channels and pixels.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{NormParams, group_norm};
/// // One image of four channels, in two groups.
/// let x = StridedTensor::from_slice(&[1f32, 3.0, 10.0, 30.0], &[1, 4, 1, 1])?;
/// let y = group_norm(&x, 2, &NormParams { eps: 0.0, ..NormParams::default() })?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5) with C a multiple of `groups`; weight and bias \[C\]. The result has the
/// sizes of `x`.
///
/// # Dtypes
/// `x` f32 or bf16; the parameters f32.
///
/// # Layouts
/// Strided: the result is in the format that `x` suggests. An `x` that is not dense in this format is copied; the ledger
/// counts the copy. Blocked: any layout that blocks only the channels; the result keeps it. A group may end inside a block.
///
/// # Errors
/// `InvalidArgument` for groups that are 0 or do not divide C, for an eps that is NaN or negative, for C = 0 and for images
/// without pixels;
/// `ShapeMismatch` for a parameter that does not have C values; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn group_norm<T: Operand>(x: &T, groups: usize, params: &NormParams<'_>) -> Result<T> {
    let tensors =
        [Arg::Tensor(x.tensor_ref()), optional_param_arg(params.weight), optional_param_arg(params.bias)];
    GROUP_NORM.call_with(&tensors, &GroupNormOptions { eps: params.eps, groups })
}

/// Instance norm, as `torch.nn.functional.instance_norm` without running statistics: each channel of each image is normalised
/// with its own mean and biased variance over its pixels.
///
/// # Shapes
/// `x` [N, C, ...] of rank 3 to 5, with more than one pixel; weight and bias \[C\]. The result has the sizes of `x`.
///
/// # Dtypes
/// `x` f32 or bf16; the parameters f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with. An `x` that is not dense in this format is
/// copied; the ledger counts the copy. Blocked: any layout that blocks only the channels; the result keeps it.
///
/// # Errors
/// `InvalidArgument` for one pixel, and for an eps that is NaN or negative; `ShapeMismatch` for a parameter
/// that does not have C values; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn instance_norm<T: Operand>(x: &T, params: &NormParams<'_>) -> Result<T> {
    let tensors =
        [Arg::Tensor(x.tensor_ref()), optional_param_arg(params.weight), optional_param_arg(params.bias)];
    INSTANCE_NORM.call_with(&tensors, &InstanceNormOptions { eps: params.eps })
}

/// The kernel of group norm for both keys.
fn run_group_norm(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let x = args.tensor(0)?;
    let channels = channels_of(op, x)?;
    let GroupNormOptions { eps, groups } = GroupNormOptions::read(args)?;
    if groups == 0 || !channels.is_multiple_of(groups) {
        fail!(
            InvalidArgument,
            op,
            "groups",
            groups.to_string(),
            format!("it divides the {channels} channels"),
            "pass a divisor of the number of channels"
        );
    }
    if x.dims()[2..].contains(&0) {
        let rule = "an image has pixels";
        fail!(InvalidArgument, op, "x", x.describe(), rule, "pass larger images, or leave out the norm");
    }
    normalise_groups(args, results, FormatRule::Suggested, channels / groups, eps)
}

/// The kernel of instance norm for both keys.
fn run_instance_norm(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    if x.dims()[2..].iter().product::<usize>() == 1 {
        fail!(
            InvalidArgument,
            op,
            "x",
            x.describe(),
            "a variance takes more than one pixel",
            "pass larger images, or leave out the norm"
        );
    }
    let InstanceNormOptions { eps } = InstanceNormOptions::read(args)?;
    normalise_groups(args, results, FormatRule::Contiguous, 1, eps)
}

/// Normalises each group of `group_size` channels of each image with its own statistics.
fn normalise_groups(
    args: &Args<'_>,
    results: &mut Results<'_>,
    rule: FormatRule,
    group_size: usize,
    eps: f64,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => normalise_elements::<bf16>(args, results, rule, group_size, eps),
        _ => normalise_elements::<f32>(args, results, rule, group_size, eps),
    }
}

fn normalise_elements<E: Float>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    rule: FormatRule,
    group_size: usize,
    eps: f64,
) -> KernelResult {
    let op = args.op();
    let channels = args.tensor(0)?.dims()[1];
    let weight = param_values(op, "weight", args.optional_strided(1)?, channels)?;
    let bias = param_values(op, "bias", args.optional_strided(2)?, channels)?;
    let eps = check_eps(op, eps)?;
    let mut tensors = OperandAndResult::new(args, results, rule)?;
    let view = tensors.lanes(op)?;
    let name = tensors.layout_name();
    let (src, dst) = tensors.slices::<E>();
    if view.len() == 0 {
        return Ok(());
    }
    let weight = or_filled(op, weight, channels, 1.0)?;
    let bias = or_filled(op, bias, channels, 0.0)?;
    crate::kernels::timed(
        args,
        "blocktensor:moments",
        || name,
        || {
            let of_channels = moments(op, &view, src, view.pixels())?;
            let groups = channels / group_size;
            // Mean and 1 / deviation of every group of every image.
            let mut statistics = try_with_capacity(op, view.n * groups)?;
            for image in of_channels.chunks_exact(view.padded_channels()) {
                for group in image[..channels].chunks_exact(group_size) {
                    let m = group.iter().fold(Moments::default(), |a, &b| a.merge(b));
                    statistics.push((m.mean, m.inverse_deviation(eps)));
                }
            }
            let scales = ChannelScales::per_image(op, &view, |n, c| {
                let (mean, inverse) = statistics[n * groups + c / group_size];
                ChannelScale::new(mean, inverse, weight[c], bias[c])
            })?;
            scales.apply(&view, src, dst);
            Ok(())
        },
    )
}

fn group_norm_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let GroupNormOptions { eps, groups } = GroupNormOptions::read(&call.args)?;
    gradient(call, call.args.tensor(0)?.dims()[1] / groups, eps)
}

fn instance_norm_gradient(call: &Backward<'_>) -> Result<Gradients> {
    gradient(call, 1, InstanceNormOptions::read(&call.args)?.eps)
}

/// The gradients of `x`, weight and bias.
fn gradient(call: &Backward<'_>, group_size: usize, eps: f64) -> Result<Gradients> {
    let op = call.args.op();
    let channels = call.args.tensor(0)?.dims()[1];
    let weight = param_values(op, "weight", call.args.optional_strided(1)?, channels)?;
    let weight = or_filled(op, weight, channels, 1.0)?;
    let statistics = |dense: &Dense<'_>| {
        let mut all = Vec::new();
        for image in norm_gradient::channel_moments(op, dense)? {
            let merged = |group: &[Moments]| group.iter().fold(Moments::default(), |a, &b| a.merge(b));
            all.extend(image.chunks_exact(group_size).map(|group| Statistics::of(&merged(group), eps)));
        }
        Ok(all)
    };
    let groups = channels / group_size;
    norm_gradient::of_sets(call, statistics, |n, c| n * groups + c / group_size, &weight)?
        .by_name(call, |_, _| None)
}
