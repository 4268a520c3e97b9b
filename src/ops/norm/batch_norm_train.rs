//! Batch normalisation with the statistics of the batch.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::lanes::Lanes;
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::{param_arg, strided_lanes};
use crate::kernels::scale::ChannelScale;
use crate::layout::memory_format::MemoryFormat;
use crate::op::schema::{data, float, optional_param, param};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::norm::batch_norm::{channel_values, channels_of, normalise_blocked, normalise_strided};

use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Statistics so far and affine parameters of a batch norm in training, each 1-D with one f32 value for each channel.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormTrain<'a> {
    /// Running mean before this batch.
    pub running_mean: &'a StridedTensor,
    /// Running variance before this batch.
    pub running_var: &'a StridedTensor,
    /// ChannelScale (gamma); 1 where left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta); 0 where left out.
    pub bias: Option<&'a StridedTensor>,
    /// How much this batch counts in the running statistics.
    pub momentum: f64,
    /// Added to the variance.
    pub eps: f64,
}

impl<'a> BatchNormTrain<'a> {
    /// No weight, no bias, PyTorch's momentum of 0.1 and eps of 1e-5.
    pub fn new(running_mean: &'a StridedTensor, running_var: &'a StridedTensor) -> Self {
        BatchNormTrain { running_mean, running_var, weight: None, bias: None, momentum: 0.1, eps: 1e-5 }
    }

    /// With scale (gamma) and shift (beta).
    pub fn affine(self, weight: &'a StridedTensor, bias: &'a StridedTensor) -> Self {
        BatchNormTrain { weight: Some(weight), bias: Some(bias), ..self }
    }
}

/// What [`batch_norm_train`] gives back.
#[derive(Clone, Debug)]
pub struct BatchNormTrained<T> {
    /// The normalised data.
    pub y: T,
    /// Running mean after this batch, \[C\].
    pub running_mean: StridedTensor,
    /// Running variance after this batch, \[C\].
    pub running_var: StridedTensor,
}

const ARGS: &[crate::op::ArgSpec] = &[
    data("x"),
    param("running_mean"),
    param("running_var"),
    optional_param("weight"),
    optional_param("bias"),
    float("momentum", 0.1),
    float("eps", 1e-5),
];
static SCHEMA: Schema = Schema::new("batch_norm_train", ARGS);
static OP: Op = Op::new(&SCHEMA).on_both(Kernel::rust(&kernel));

pub(crate) const OPS: &[&Op] = &[&OP];

/// Batch normalisation with the statistics of the batch, which also move the running ones.
/// `torch.nn.functional.batch_norm(training=True)`.
///
/// Each channel is normalised with its own mean and biased variance over all images and pixels. The running statistics
/// become `(1 - momentum) * running + momentum * batch`, with the unbiased variance. A batch without elements leaves
/// them as they are.
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5), with N times pixels not 1; each parameter \[C\]. `y` has the sizes of
/// `x`, the new running statistics \[C\] each. The call by name gives the three in this order.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: any strides, which the result takes over as element-wise ops do; a view that is dense in neither format is
/// copied for the statistics, which the ledger counts. Blocked: any layout that blocks the channels alone; the
/// result keeps it. Running statistics are strided, whatever the key.
///
/// # Errors
/// `ShapeMismatch` for a parameter that has not C values; `InvalidArgument` for an eps that is NaN or negative, one value
/// for each channel, or C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn batch_norm_train<T: Operand>(x: &T, params: &BatchNormTrain<'_>) -> Result<BatchNormTrained<T>> {
    let results = OP.call(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(TensorRef::Strided(params.running_mean)),
        Arg::Tensor(TensorRef::Strided(params.running_var)),
        param_arg(params.weight),
        param_arg(params.bias),
        Arg::Float(params.momentum),
        Arg::Float(params.eps),
    ])?;
    let mut results = results.into_vec().into_iter();
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

/// `eps` of a norm that takes its variance from the data.
pub(crate) fn check_eps(op: &'static str, eps: f64) -> Result<f64> {
    if eps >= 0.0 {
        return Ok(eps);
    }
    fail!(
        InvalidArgument,
        op,
        "eps",
        eps.to_string(),
        "it is a number that is not negative: variance + eps has a root",
        "pass 1e-5, for example"
    )
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let x = args.tensor(0)?;
    let channels = channels_of(op, x)?;
    let mean = channel_values(op, "running_mean", Some(args.strided(1)?), channels, 0.0)?;
    let var = channel_values(op, "running_var", Some(args.strided(2)?), channels, 1.0)?;
    let weight = channel_values(op, "weight", args.optional_strided(3)?, channels, 1.0)?;
    let bias = channel_values(op, "bias", args.optional_strided(4)?, channels, 0.0)?;
    let (momentum, eps) = (args.float(5)?, check_eps(op, args.float(6)?)?);
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
    let of_x = match x {
        TensorRef::Strided(x) => FormatRule::ElementWise.desc(op, &[x], x.dims(), x.dtype())?,
        x => TensorDesc::of(x),
    };
    let vector = TensorDesc::strided(&[channels], DType::F32, MemoryFormat::Contiguous)?;
    let mut results = results.all(&[of_x, vector.clone(), vector])?.into_iter();
    let (Some(y), Some(TensorMut::Strided(running_mean)), Some(TensorMut::Strided(running_var))) =
        (results.next(), results.next(), results.next())
    else {
        unreachable!("three were asked for, two of them strided")
    };
    let stats = if count == 0 { Vec::new() } else { statistics(args, channels)? };
    let scale = |c: usize| match stats.get(c) {
        Some(m) => ChannelScale::new(m.mean, m.inverse_deviation(eps), weight[c], bias[c]),
        None => ChannelScale::new(0.0, 1.0, weight[c], bias[c]),
    };
    match (x, y) {
        (TensorRef::Strided(x), TensorMut::Strided(y)) => normalise_strided(args, x, y, scale)?,
        (TensorRef::Blocked(x), TensorMut::Blocked(y)) => normalise_blocked(args, x, y, scale)?,
        _ => unreachable!("the result has the key of the operand"),
    }
    let running = |old: &[f32], new: &mut StridedTensor, of: fn(&Moments) -> f64| {
        let moved = |(c, &old): (usize, &f32)| match stats.get(c) {
            Some(m) => ((1.0 - momentum) * f64::from(old) + momentum * of(m)) as f32,
            None => old,
        };
        let moved = old.iter().enumerate().map(moved);
        new.result_data::<f32>().iter_mut().zip(moved).for_each(|(new, value)| *new = value);
    };
    running(&mean, running_mean, |m| m.mean);
    running(&var, running_var, |m| m.squares / (m.count - 1.0));
    Ok(())
}

/// The moments of each channel over all images and pixels.
fn statistics(args: &Args<'_>, channels: usize) -> Result<Vec<Moments>> {
    let op = args.op();
    let of = |view: Lanes, src: &[f32]| {
        let layouts = || args.data_operands().map(|(_, x)| x.layout_name()).collect();
        crate::kernels::timed(args, "blocktensor:moments", layouts, || {
            let parts = moments(&view, src, view.pixels());
            let mut merged = vec![Moments::default(); channels];
            for image in parts.chunks_exact(view.padded_channels()) {
                merged.iter_mut().zip(image).for_each(|(a, &b)| *a = a.merge(b));
            }
            merged
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
            // Points of all images are one image of as many pixels.
            let view = match view.pixels() {
                1 => Lanes { n: 1, spatial: [1, 1, view.n], ..view },
                _ => view,
            };
            Ok(of(view, dense.data()))
        }
        _ => {
            let x = args.blocked(0)?;
            Ok(of(Lanes::of_blocked(op, x)?, x.data()))
        }
    }
}
