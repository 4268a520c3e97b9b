//! Group norm and instance norm: each image normalised by itself, channels together in groups or each alone.

use crate::error::{Result, fail};
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::{OperandAndResult, param_arg};
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::op::schema::{data, float, optional_param, required_int};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::norm::batch_norm::{channels_of, default_values, given_values};
use crate::ops::norm::batch_norm_train::check_eps;

use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Affine parameters of a group, instance or layer norm.
#[derive(Clone, Copy, Debug)]
pub struct NormParams<'a> {
    /// ChannelScale (gamma), 1-D; 1 where left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta), 1-D; 0 where left out.
    pub bias: Option<&'a StridedTensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl Default for NormParams<'_> {
    /// No weight, no bias, PyTorch's 1e-5.
    fn default() -> Self {
        NormParams { weight: None, bias: None, eps: 1e-5 }
    }
}

static GROUP_SCHEMA: Schema = Schema::new(
    "group_norm",
    &[
        data("x"),
        optional_param("weight"),
        optional_param("bias"),
        float("eps", 1e-5),
        required_int("groups"),
    ],
);
static INSTANCE_SCHEMA: Schema = Schema::new(
    "instance_norm",
    &[data("x"), optional_param("weight"), optional_param("bias"), float("eps", 1e-5)],
);
static GROUP: Op = Op::new(&GROUP_SCHEMA).on_both(GROUP_KERNEL);
static INSTANCE: Op = Op::new(&INSTANCE_SCHEMA).on_both(INSTANCE_KERNEL);

const GROUP_KERNEL: Kernel = Kernel::rust(&group_kernel);
const INSTANCE_KERNEL: Kernel = Kernel::rust(&instance_kernel);

pub(crate) const OPS: &[&Op] = &[&GROUP, &INSTANCE];

/// Group norm: the channels of each image in `groups` equal groups, each normalised with its own mean and biased
/// variance over its channels and pixels. `torch.nn.functional.group_norm`.
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5) with C a multiple of `groups`; weight and bias \[C\]. The result has the
/// sizes of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is in the format that `x` suggests; an `x` that does not lie so is copied, which the ledger
/// counts. Blocked: any layout that blocks the channels alone; the result keeps it. Groups may end within a block.
///
/// # Errors
/// `InvalidArgument` for groups that are 0 or do not divide C, for an eps that is NaN or negative, and for C = 0;
/// `ShapeMismatch` for a parameter that has not C values; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn group_norm<T: Operand>(x: &T, groups: usize, params: &NormParams<'_>) -> Result<T> {
    GROUP.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        param_arg(params.weight),
        param_arg(params.bias),
        Arg::Float(params.eps),
        Arg::Int(i64::try_from(groups).unwrap_or(i64::MAX)),
    ])
}

/// Instance norm: each channel of each image normalised with its own mean and biased variance over its pixels.
/// `torch.nn.functional.instance_norm` without running statistics.
///
/// # Shapes
/// `x` [N, C, ...] of rank 3 to 5, with more than one pixel; weight and bias \[C\]. The result has the sizes of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with; an `x` that lies otherwise is copied, which
/// the ledger counts. Blocked: any layout that blocks the channels alone; the result keeps it.
///
/// # Errors
/// `InvalidArgument` for one pixel, for an eps that is NaN or negative, and for C = 0; `ShapeMismatch` for a parameter
/// that has not C values; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn instance_norm<T: Operand>(x: &T, params: &NormParams<'_>) -> Result<T> {
    INSTANCE.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        param_arg(params.weight),
        param_arg(params.bias),
        Arg::Float(params.eps),
    ])
}

fn group_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let channels = channels_of(op, args.tensor(0)?)?;
    let groups = args.count(4)?;
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
    normalise(args, results, FormatRule::Suggested, channels / groups)
}

fn instance_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    channels_of(op, x)?;
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
    normalise(args, results, FormatRule::Contiguous, 1)
}

/// Groups of `size` channels, each normalised by itself.
fn normalise(args: &Args<'_>, results: &mut Results<'_>, rule: FormatRule, size: usize) -> KernelResult {
    let op = args.op();
    let channels = args.tensor(0)?.dims()[1];
    let weight = given_values(op, "weight", args.optional_strided(1)?, channels)?;
    let bias = given_values(op, "bias", args.optional_strided(2)?, channels)?;
    let eps = check_eps(op, args.float(3)?)?;
    let mut same = OperandAndResult::new(args, results, rule)?;
    let view = same.lanes(op)?;
    let name = same.layout_name();
    let (src, dst) = same.slices();
    if view.len() == 0 {
        return Ok(());
    }
    let weight = weight.map_or_else(|| default_values(op, channels, 1.0), Ok)?;
    let bias = bias.map_or_else(|| default_values(op, channels, 0.0), Ok)?;
    crate::kernels::timed(
        args,
        "blocktensor:moments",
        || name,
        || {
            let parts = moments(&view, src, view.pixels());
            let groups = channels / size;
            let mut merged = Vec::with_capacity(view.n * groups);
            for image in parts.chunks_exact(view.padded_channels()) {
                let of = |group: &[Moments]| group.iter().fold(Moments::default(), |a, &b| a.merge(b));
                merged.extend(
                    image[..channels].chunks_exact(size).map(of).map(|m| (m.mean, m.inverse_deviation(eps))),
                );
            }
            let scales = ChannelScales::per_image(&view, |n, c| {
                let (mean, inverse) = merged[n * groups + c / size];
                ChannelScale::new(mean, inverse, weight[c], bias[c])
            });
            scales.apply(&view, src, dst);
        },
    );
    Ok(())
}
