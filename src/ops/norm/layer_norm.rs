//! Layer norm: normalisation over the last dimensions.

use std::borrow::Cow;

use half::bf16;

use crate::dtype::{DType, Float};
use crate::error::{Result, fail};
use crate::kernels::along_axis::transpose;
use crate::kernels::lanes::{Lanes, PixelRun};
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::{OperandAndResult, format_of};
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::{Failed, try_collect};
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, float, optional_param, required_ints};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::norm::args::{check_eps, optional_param_arg, or_filled, param_values};
use crate::ops::norm::group_norm::NormParams;
use crate::ops::norm::layer_norm_gradient;
use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

params! {
    /// The sizes and the number among the arguments of a layer norm.
    pub(crate) struct LayerNormOptions {
        pub normalized_shape: Dims => required_ints("normalized_shape"),
        pub eps: f64 => float("eps", 1e-5),
    }
}

const TENSORS: &[ArgSpec] = &[data("x").f32(), optional_param("weight").f32(), optional_param("bias").f32()];
const ARGS: &[ArgSpec] = &with_params::<5>(TENSORS, LayerNormOptions::SPECS);
static SCHEMA: Schema = Schema::new("layer_norm", ARGS).dst_like_x();
static LAYER_NORM: Op = Op::new(&SCHEMA).with(
    &Kernel::rust(&run)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &layer_norm_gradient::gradient),
);

pub(crate) const OPS: &[&Op] = &[&LAYER_NORM];

/// Layer norm, as `torch.nn.functional.layer_norm`: normalisation with mean and biased variance over the last dimensions, whose
/// sizes are `normalized_shape`. Each element of these dimensions has its own weight and bias.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{NormParams, layer_norm};
/// let x = StridedTensor::from_slice(&[1f32, 3.0, 10.0, 30.0], &[2, 2])?;
/// let weight = StridedTensor::from_slice(&[1f32, 2.0], &[2])?;
/// let params = NormParams { weight: Some(&weight), eps: 0.0, ..NormParams::default() };
/// let y = layer_norm(&x, &[2], &params)?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0, -1.0, 2.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` of any rank whose last sizes are `normalized_shape` (which is not empty); weight and bias 1-D, with one value for each
/// element of `normalized_shape` in row-major order. The result has the sizes of `x`.
///
/// # Dtypes
/// `x` f32 or bf16; the parameters f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with. An `x` that is not dense in this format is
/// copied; the ledger counts the copy. Blocked: any layout that blocks only the channels, and any `normalized_shape`; the
/// result keeps the layout.
///
/// # Errors
/// `ShapeMismatch` if `x` does not end in `normalized_shape`, and for parameters of another length;
/// `InvalidArgument` for an empty `normalized_shape`, and for an eps that is NaN or negative; `UnsupportedDType`,
/// `LayoutMismatch`.
#[track_caller]
pub fn layer_norm<T: Operand>(x: &T, normalized_shape: &[usize], params: &NormParams<'_>) -> Result<T> {
    let tensors =
        [Arg::Tensor(x.tensor_ref()), optional_param_arg(params.weight), optional_param_arg(params.bias)];
    let normalized_shape = Dims::new(SCHEMA.name, "normalized_shape", normalized_shape)?;
    LAYER_NORM.call_with(&tensors, &LayerNormOptions { normalized_shape, eps: params.eps })
}

/// The kernel for both keys.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let LayerNormOptions { normalized_shape: shape, eps } = LayerNormOptions::read(args)?;
    let dims = x.dims();
    if shape.is_empty() {
        fail!(
            InvalidArgument,
            op,
            "normalized_shape",
            "no sizes",
            "it names at least one dimension",
            "pass the sizes of the last dimensions"
        );
    }
    if !dims.ends_with(&shape) {
        fail!(
            ShapeMismatch,
            op,
            "normalized_shape",
            shape.to_string(),
            format!("x is {}, and ends in other sizes", x.describe()),
            "pass the sizes of the last dimensions of x"
        );
    }
    let elements = shape.iter().product();
    let weight = param_values(op, "weight", args.optional_strided(1)?, elements)?;
    let bias = param_values(op, "bias", args.optional_strided(2)?, elements)?;
    let eps = check_eps(op, eps)?;
    let mut tensors = OperandAndResult::new(args, results, FormatRule::Contiguous)?;
    if dims.contains(&0) {
        return Ok(());
    }
    let affine = match (weight, bias) {
        (None, None) => None,
        (w, b) => {
            Some(Affine { weight: or_filled(op, w, elements, 1.0)?, bias: or_filled(op, b, elements, 0.0)? })
        }
    };
    let plan = match &tensors {
        OperandAndResult::Strided(_, dst) if format_of(dst) == MemoryFormat::Contiguous => {
            LayerNormPlan::rows(dims.iter().product::<usize>() / elements, elements)
        }
        _ => LayerNormPlan::new(&tensors.lanes(op)?, dims.len(), shape.len()),
    };
    let name = tensors.layout_name();
    let affine = affine.as_ref();
    let work = || match x.dtype() {
        DType::BF16 => plan.run::<bf16>(op, tensors.slices(), affine, eps),
        _ => plan.run::<f32>(op, tensors.slices(), affine, eps),
    };
    Ok(crate::kernels::timed(args, "blocktensor:moments", || name, work)?)
}

/// A weight and a bias for each element of the normalised dimensions, in row-major order.
struct Affine<'a> {
    weight: Cow<'a, [f32]>,
    bias: Cow<'a, [f32]>,
}

/// Which elements are normalised together.
///
/// The tensor's memory is seen as images of `view`, which need not be the tensor's own images. An image of the view is what has
/// statistics of its own and is contiguous in memory, or a part of it.
struct LayerNormPlan {
    view: Lanes,
    /// Pixels that one set of moments is summed over.
    run: usize,
    /// Images of the view that are normalised together.
    images: usize,
    /// Whether the channels of an image are normalised together.
    all_channels: bool,
    /// If the images of the view are runs of pixels of one channel block of the tensor: how many runs a whole image of the
    /// tensor has, and its channels.
    runs_and_channels: Option<(usize, usize)>,
}

impl LayerNormPlan {
    /// For a row-major tensor: each row of `length` elements is an image of one channel.
    fn rows(rows: usize, length: usize) -> LayerNormPlan {
        LayerNormPlan {
            view: Lanes::runs(rows, length, 1),
            run: length,
            images: 1,
            all_channels: true,
            runs_and_channels: None,
        }
    }

    /// Over the last `axes` dimensions of a tensor of rank `rank` with this view.
    fn new(view: &Lanes, rank: usize, axes: usize) -> LayerNormPlan {
        let pixels = view.pixels();
        if axes + 1 >= rank {
            let images = if axes == rank { view.n } else { 1 };
            return LayerNormPlan {
                view: *view,
                run: pixels,
                images,
                all_channels: true,
                runs_and_channels: None,
            };
        }
        let run = view.spatial[3 - axes..].iter().product();
        let runs_per_image = view.blocks * (pixels / run);
        LayerNormPlan {
            view: Lanes::runs(view.n * runs_per_image, run, view.lanes),
            run,
            images: 1,
            all_channels: false,
            runs_and_channels: Some((runs_per_image, view.c)),
        }
    }

    /// Lanes without padding of an image that is a run of pixels of one block.
    fn used_lanes(&self, image: usize) -> usize {
        let lanes = self.view.lanes;
        match self.runs_and_channels {
            Some((per_image, c)) => {
                let block = image % per_image / (per_image / c.div_ceil(lanes));
                lanes.min(c - block * lanes)
            }
            None => lanes,
        }
    }

    fn run<E: Float>(
        &self,
        op: &'static str,
        (src, dst): (&[E], &mut [E]),
        affine: Option<&Affine<'_>>,
        eps: f64,
    ) -> Result<()> {
        let view = &self.view;
        let of_channels = moments(op, view, src, self.run)?;
        let scale = |m: Moments| ChannelScale::new(m.mean, m.inverse_deviation(eps), 1.0, 0.0);
        let scales = if self.all_channels {
            let padded = view.padded_channels();
            let of_images = of_channels.chunks_exact(padded * self.images).map(|images| {
                let logical = images.chunks_exact(padded).flat_map(|image| &image[..view.c]);
                scale(logical.fold(Moments::default(), |a, &b| a.merge(b)))
            });
            let of_images = try_collect(op, of_images)?;
            ChannelScales::per_image(op, view, |n, _| of_images[n / self.images])
        } else {
            ChannelScales::per_image(op, view, |n, c| match c < self.used_lanes(n) {
                true => scale(of_channels[n * view.lanes + c]),
                false => ChannelScale::new(0.0, 0.0, 0.0, 0.0),
            })
        }?;
        match affine {
            None => scales.apply(view, src, dst),
            Some(affine) => {
                let failed = Failed::default();
                view.for_each_pixel_run(dst, |pixels, dst| {
                    let start = view.run_offset(pixels);
                    let src = &src[start..start + dst.len()];
                    let count = if view.lanes == 1 { 0 } else { 2 * STRIP_PIXELS * view.lanes };
                    let Some(mut scratch) = failed.try_filled(op, count, 0f32) else { return };
                    let scratch = &mut scratch;
                    simd::dispatch(AffineLoop {
                        plan: self,
                        scales: &scales,
                        affine,
                        pixels,
                        src,
                        dst,
                        scratch,
                    });
                });
                failed.result()?;
            }
        }
        Ok(())
    }
}

/// Normalises some pixels of one block of one image of the view, and applies weight and bias.
struct AffineLoop<'a, E> {
    plan: &'a LayerNormPlan,
    scales: &'a ChannelScales,
    affine: &'a Affine<'a>,
    pixels: PixelRun,
    src: &'a [E],
    dst: &'a mut [E],
    /// Memory for the weights and biases of a strip of pixels.
    scratch: &'a mut [f32],
}

/// Pixels whose weights and biases are gathered at once.
const STRIP_PIXELS: usize = 16;

impl<E: Float> Loop for AffineLoop<'_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        if !self.plan.all_channels {
            return self.one_weight_per_pixel();
        }
        let AffineLoop { plan, scales, affine: Affine { weight, bias }, pixels, src, dst, scratch } = self;
        let view = &plan.view;
        let (lanes, stride) = (view.lanes, view.pixels());
        // All channels of an image have the same scale.
        let [center, scale, shift] = scales.of(pixels.n, 0, 1).map(|v| v[0]);
        let s = ChannelScale { center, scale, shift };
        let channel = pixels.n % plan.images * view.c + pixels.block * lanes;
        let at = channel * stride + pixels.first;
        if lanes == 1 {
            return s.apply_affine(src, dst, &weight[at..], &bias[at..]);
        }
        let used = view.lanes_in(pixels.block);
        let (w, b) = scratch.split_at_mut(STRIP_PIXELS * lanes);
        let strips = dst.chunks_mut(STRIP_PIXELS * lanes).zip(src.chunks(STRIP_PIXELS * lanes));
        for (strip, (y, x)) in strips.enumerate() {
            let count = y.len() / lanes;
            let from = at + strip * STRIP_PIXELS;
            transpose((&mut *w, lanes), (&weight[from..], stride), count, used);
            transpose((&mut *b, lanes), (&bias[from..], stride), count, used);
            s.apply_affine(x, y, w, b);
            if used < lanes {
                y.chunks_exact_mut(lanes).for_each(|y| y[used..].fill(E::default()));
            }
        }
    }
}

impl<E: Float> AffineLoop<'_, E> {
    /// Each lane has its own scale; each pixel has one weight and one bias for all its lanes.
    #[inline(always)]
    fn one_weight_per_pixel(self) {
        let AffineLoop { plan, scales, affine: Affine { weight, bias }, pixels, src, dst, .. } = self;
        let lanes = plan.view.lanes;
        let [center, scale, shift] = scales.of(pixels.n, pixels.block, lanes);
        let used = plan.used_lanes(pixels.n);
        let weights = weight[pixels.first..].iter().zip(&bias[pixels.first..]);
        let pixels = dst.chunks_exact_mut(lanes).zip(src.chunks_exact(lanes));
        for ((y, x), (&w, &b)) in pixels.zip(weights) {
            let scales = center.iter().zip(scale).zip(shift);
            for ((y, &x), ((&center, &scale), &shift)) in y.iter_mut().zip(x).zip(scales) {
                *y = E::rounded(ChannelScale { center, scale, shift }.apply(x.widen()) * w + b);
            }
            y[used..].fill(E::default());
        }
    }
}

impl ChannelScale {
    #[inline(always)]
    fn apply_affine<E: Float>(self, src: &[E], dst: &mut [E], weight: &[f32], bias: &[f32]) {
        let params = weight.iter().zip(bias);
        for ((y, &x), (w, b)) in dst.iter_mut().zip(src).zip(params) {
            *y = E::rounded(self.apply(x.widen()) * w + b);
        }
    }
}
