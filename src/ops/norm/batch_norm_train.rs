//! Batch normalisation with the statistics of the batch.

use half::bf16;

use crate::dtype::{DType, Float};
use crate::error::{Result, fail};
use crate::kernels::gradient::planes::Dense;
use crate::kernels::lanes::Lanes;
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::strided_lanes;
use crate::kernels::scale::ChannelScale;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::try_filled;
use crate::op::args::ArgList;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{OutputSpec, data, float, optional_param, output_like, param};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::norm::args::{ACTIVATION_RANKS, channels_of, check_eps, optional_param_arg, param_values_or};
use crate::ops::norm::batch_norm::{scale_blocked, scale_strided};
use crate::ops::norm::gradient::{self as norm_gradient, Statistics};
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Running statistics and affine parameters of a batch norm in training, each 1-D with one f32 value for each channel.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormTrain<'a> {
    /// Running mean before this batch.
    pub running_mean: &'a StridedTensor,
    /// Running variance before this batch.
    pub running_var: &'a StridedTensor,
    /// Scale (gamma); 1 if left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta); 0 if left out.
    pub bias: Option<&'a StridedTensor>,
    /// The share of this batch in the new running statistics.
    pub momentum: f64,
    /// Added to the variance.
    pub eps: f64,
}

impl<'a> BatchNormTrain<'a> {
    /// No weight, no bias, and PyTorch's defaults: `momentum` 0.1 and `eps` 1e-5.
    pub fn new(running_mean: &'a StridedTensor, running_var: &'a StridedTensor) -> Self {
        BatchNormTrain { running_mean, running_var, weight: None, bias: None, momentum: 0.1, eps: 1e-5 }
    }

    /// With scale (gamma) and shift (beta).
    pub fn affine(self, weight: &'a StridedTensor, bias: &'a StridedTensor) -> Self {
        BatchNormTrain { weight: Some(weight), bias: Some(bias), ..self }
    }
}

/// The results of [`batch_norm_train`].
#[derive(Clone, Debug)]
pub struct BatchNormTrained<T> {
    /// The normalised data.
    pub y: T,
    /// Running mean after this batch, \[C\].
    pub running_mean: StridedTensor,
    /// Running variance after this batch, \[C\].
    pub running_var: StridedTensor,
}

params! {
    /// The numbers among the arguments of a batch norm in training.
    pub(crate) struct BatchNormTrainOptions {
        momentum: f64 => float("momentum", 0.1),
        eps: f64 => float("eps", 1e-5),
    }
}

const TENSORS: &[ArgSpec] = &[
    data("x").f32().with_ranks(ACTIVATION_RANKS),
    param("running_mean").f32(),
    param("running_var").f32(),
    optional_param("weight").f32(),
    optional_param("bias").f32(),
];
const OUTPUTS: &[OutputSpec] = &[
    output_like("y", "x"),
    output_like("new_running_mean", "running_mean"),
    output_like("new_running_var", "running_var"),
];
const ARGS: &[ArgSpec] = &with_params::<7>(TENSORS, BatchNormTrainOptions::SPECS);
static SCHEMA: Schema = Schema::new("batch_norm_train", ARGS)
    .with_outputs(OUTPUTS)
    // In PyTorch they are buffers, which require no gradient.
    .with_constants(&["running_mean", "running_var", "new_running_mean", "new_running_var"]);
static BATCH_NORM_TRAIN: Op = Op::new(&SCHEMA).with(
    &Kernel::rust(&run).with_dtypes(OF_ONE).needing_dense().on_both_reading(Reads::Operands, &gradient),
);

pub(crate) const OPS: &[&Op] = &[&BATCH_NORM_TRAIN];

/// Batch normalisation with the statistics of the batch, as `torch.nn.functional.batch_norm(training=True)`. It also returns
/// new running statistics.
///
/// Each channel is normalised with its own mean and biased variance over all images and pixels. The running statistics
/// become `(1 - momentum) * running + momentum * batch`, with the unbiased variance. A batch without elements does not change
/// them.
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5), with N times pixels not 1; each parameter \[C\]. `y` has the sizes of
/// `x`, the new running statistics have \[C\] each. A call by name returns the three in this order.
///
/// # Dtypes
/// `x` f32 or bf16; the parameters f32.
///
/// # Layouts
/// Strided: any strides; `y` has the strides that element-wise ops give. A view that is neither dense row-major nor dense
/// channels-last is copied for the statistics; the ledger counts the copy. Blocked: any layout that blocks only the channels;
/// `y` keeps it. Running statistics are strided, whatever the key.
///
/// # Errors
/// `ShapeMismatch` for a parameter that does not have C values; `InvalidArgument` for an eps that is NaN or negative, for only
/// one value for each channel, and for C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn batch_norm_train<T: Operand>(x: &T, params: &BatchNormTrain<'_>) -> Result<BatchNormTrained<T>> {
    let tensors = [
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(TensorRef::Strided(params.running_mean)),
        Arg::Tensor(TensorRef::Strided(params.running_var)),
        optional_param_arg(params.weight),
        optional_param_arg(params.bias),
    ];
    let options = BatchNormTrainOptions { momentum: params.momentum, eps: params.eps };
    let args = ArgList::of(&tensors, &options);
    let mut results = BATCH_NORM_TRAIN.call(args.as_slice())?.into_vec().into_iter();
    if let (Some(y), Some(Tensor::Strided(running_mean)), Some(Tensor::Strided(running_var))) =
        (results.next(), results.next(), results.next())
        && let Ok(y) = T::from_tensor(y)
    {
        return Ok(BatchNormTrained { y, running_mean, running_var });
    }
    fail!(
        KeyMismatch,
        SCHEMA.name,
        "result",
        "other results",
        "the kernel gives y and two strided vectors",
        "mend the kernel, or call the op by name"
    )
}

/// The kernel for both keys.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => run_elements::<bf16>(args, results),
        _ => run_elements::<f32>(args, results),
    }
}

fn run_elements<E: Float>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let x = args.tensor(0)?;
    let channels = channels_of(op, x)?;
    let mean = param_values_or(op, "running_mean", Some(args.strided(1)?), channels, 0.0)?;
    let var = param_values_or(op, "running_var", Some(args.strided(2)?), channels, 1.0)?;
    let weight = param_values_or(op, "weight", args.optional_strided(3)?, channels, 1.0)?;
    let bias = param_values_or(op, "bias", args.optional_strided(4)?, channels, 0.0)?;
    let BatchNormTrainOptions { momentum, eps } = BatchNormTrainOptions::read(args)?;
    let eps = check_eps(op, eps)?;
    let count = x.dims().iter().product::<usize>() / channels;
    if count == 1 {
        fail!(
            InvalidArgument,
            op,
            "x",
            x.describe(),
            "a variance takes more than one value for each channel",
            "pass more images or pixels, or use batch_norm with given statistics"
        );
    }
    let y_desc = match x {
        TensorRef::Strided(x) => FormatRule::ElementWise.desc(op, &[x], x.dims(), x.dtype())?,
        x => TensorDesc::of(x),
    };
    let vector = TensorDesc::strided(&[channels], DType::F32, MemoryFormat::Contiguous)?;
    let mut results = results.all(&[y_desc, vector.clone(), vector])?.into_iter();
    let (Some(y), Some(TensorMut::Strided(running_mean)), Some(TensorMut::Strided(running_var))) =
        (results.next(), results.next(), results.next())
    else {
        unreachable!("three were asked for, two of them strided")
    };
    let stats = if count == 0 { Vec::new() } else { channel_moments::<E>(args, channels)? };
    let scale_of = |c: usize| match stats.get(c) {
        Some(m) => ChannelScale::new(m.mean, m.inverse_deviation(eps), weight[c], bias[c]),
        None => ChannelScale::new(0.0, 1.0, weight[c], bias[c]),
    };
    match (x, y) {
        (TensorRef::Strided(x), TensorMut::Strided(y)) => scale_strided::<E>(args, x, y, scale_of)?,
        (TensorRef::Blocked(x), TensorMut::Blocked(y)) => scale_blocked::<E>(args, x, y, scale_of)?,
        _ => unreachable!("the result has the key of the operand"),
    }
    let update_running = |old: &[f32], new: &mut StridedTensor, of: fn(&Moments) -> f64| {
        let updated = |(c, &old): (usize, &f32)| match stats.get(c) {
            Some(m) => ((1.0 - momentum) * f64::from(old) + momentum * of(m)) as f32,
            None => old,
        };
        let updated = old.iter().enumerate().map(updated);
        new.result_data::<f32>().iter_mut().zip(updated).for_each(|(new, value)| *new = value);
    };
    update_running(&mean, running_mean, |m| m.mean);
    update_running(&var, running_var, |m| m.squares / (m.count - 1.0));
    Ok(())
}

/// The moments of each channel over all images and pixels.
fn channel_moments<E: Float>(args: &Args<'_>, channels: usize) -> Result<Vec<Moments>> {
    let op = args.op();
    let merged_moments = |view: Lanes, src: &[E]| {
        let layouts = || args.data_operands().map(|(_, x)| x.layout_name()).collect();
        crate::kernels::timed(args, "blocktensor:moments", layouts, || {
            let of_images = moments(op, &view, src, view.pixels())?;
            let mut merged = try_filled(op, channels, Moments::default())?;
            for image in of_images.chunks_exact(view.padded_channels()) {
                merged.iter_mut().zip(image).for_each(|(a, &b)| *a = a.merge(b));
            }
            Ok(merged)
        })
    };
    match args.tensor(0)? {
        TensorRef::Strided(x) => {
            let dense = if Lanes::of_strided(x).is_some() {
                x.clone()
            } else {
                x.dense_at(op, MemoryFormat::Contiguous, args.location())?
            };
            let view = strided_lanes(op, &dense)?;
            // Images of one pixel each are summed as the pixels of one image.
            merged_moments(view.with_images_as_pixels(), dense.data())
        }
        _ => {
            let x = args.blocked(0)?;
            merged_moments(Lanes::of_blocked(op, x)?, x.data())
        }
    }
}

/// The gradients of `x`, weight and bias. The running statistics have none: nothing is differentiated by them.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let op = call.args.op();
    let channels = channels_of(op, call.args.tensor(0)?)?;
    let weight = param_values_or(op, "weight", call.args.optional_strided(3)?, channels, 1.0)?;
    let eps = check_eps(op, BatchNormTrainOptions::read(&call.args)?.eps)?;
    let statistics = |dense: &Dense<'_>| {
        let mut merged = try_filled(op, channels, Moments::default())?;
        for image in norm_gradient::channel_moments(op, dense)? {
            merged.iter_mut().zip(image).for_each(|(a, b)| *a = a.merge(b));
        }
        Ok(merged.iter().map(|m| Statistics::of(m, eps)).collect())
    };
    norm_gradient::of_sets(call, statistics, |_, c| c, &weight)?.by_name(call, |_, _| None)
}
