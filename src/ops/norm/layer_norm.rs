//! Layer norm: normalisation over the last dimensions.

use std::borrow::Cow;

use crate::error::{Result, fail};
use crate::kernels::along_axis::transpose;
use crate::kernels::lanes::{Lanes, PixelRun};
use crate::kernels::moments::{Moments, moments};
use crate::kernels::same_shape::{OperandAndResult, format_of, param_arg};
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::layout::memory_format::MemoryFormat;
use crate::op::schema::{data, float, optional_param, required_ints};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::norm::batch_norm::{default_values, given_values};
use crate::ops::norm::batch_norm_train::check_eps;
use crate::ops::norm::group_norm::NormParams;

use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

static SCHEMA: Schema = Schema::new(
    "layer_norm",
    &[
        data("x"),
        required_ints("normalized_shape"),
        optional_param("weight"),
        optional_param("bias"),
        float("eps", 1e-5),
    ],
);
static OP: Op = Op::new(&SCHEMA).on_both(Kernel::rust(&kernel));

pub(crate) const OPS: &[&Op] = &[&OP];

/// Layer norm over the last dimensions, whose sizes are `normalized_shape`: mean and biased variance over them, and one
/// weight and bias for each of their elements. `torch.nn.functional.layer_norm`.
///
/// # Shapes
/// `x` of any rank that ends in `normalized_shape` (which is not empty); weight and bias 1-D, with its elements in
/// row-major order. The result has the sizes of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with; an `x` that lies otherwise is copied, which
/// the ledger counts. Blocked: any layout that blocks the channels alone, and any `normalized_shape`; the result keeps
/// the layout.
///
/// # Errors
/// `ShapeMismatch` where `x` does not end in `normalized_shape`, and for parameters of another length;
/// `InvalidArgument` for an empty `normalized_shape`, and for an eps that is NaN or negative; `UnsupportedDType`,
/// `LayoutMismatch`.
#[track_caller]
pub fn layer_norm<T: Operand>(x: &T, normalized_shape: &[usize], params: &NormParams<'_>) -> Result<T> {
    OP.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Sizes(normalized_shape),
        param_arg(params.weight),
        param_arg(params.bias),
        Arg::Float(params.eps),
    ])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, shape) = (args.op(), args.tensor(0)?, args.sizes(1)?);
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
    let weight = given_values(op, "weight", args.optional_strided(2)?, elements)?;
    let bias = given_values(op, "bias", args.optional_strided(3)?, elements)?;
    let eps = check_eps(op, args.float(4)?)?;
    let mut same = OperandAndResult::new(args, results, FormatRule::Contiguous)?;
    if dims.contains(&0) {
        return Ok(());
    }
    let affine = match (weight, bias) {
        (None, None) => None,
        (w, b) => Some((
            w.map_or_else(|| default_values(op, elements, 1.0), Ok)?,
            b.map_or_else(|| default_values(op, elements, 0.0), Ok)?,
        )),
    };
    let problem = match &same {
        OperandAndResult::Strided(_, dst) if format_of(dst) == MemoryFormat::Contiguous => {
            Problem::rows(dims.iter().product::<usize>() / elements, elements)
        }
        _ => Problem::new(&same.lanes(op)?, dims.len(), shape.len()),
    };
    let name = same.layout_name();
    let (src, dst) = same.slices();
    crate::kernels::timed(
        args,
        "blocktensor:moments",
        || name,
        || problem.run(src, dst, affine.as_ref(), eps),
    );
    Ok(())
}

/// What is normalised together, as images of a view.
struct Problem {
    /// Its images are what lies together in memory and has statistics of its own, or a part of it.
    view: Lanes,
    /// Pixels of a statistic.
    run: usize,
    /// Images of the view that are normalised together.
    images: usize,
    /// Whether the channels of an image are normalised together.
    all_channels: bool,
    /// Where the images are runs of pixels of one block of channels: the blocks of a real image and its channels.
    part_of: Option<(usize, usize)>,
}

/// One channel of so many images, in one stretch each.
fn stretches(n: usize, pixels: usize, lanes: usize) -> Lanes {
    let stride_n = pixels * lanes;
    Lanes {
        n,
        c: lanes,
        spatial: [1, 1, pixels],
        lanes,
        blocks: 1,
        stride_n,
        stride_block: stride_n,
        stride_d: stride_n,
        stride_h: stride_n,
    }
}

impl Problem {
    /// Rows of a row-major tensor: images of one channel.
    fn rows(rows: usize, length: usize) -> Problem {
        Problem {
            view: stretches(rows, length, 1),
            run: length,
            images: 1,
            all_channels: true,
            part_of: None,
        }
    }

    /// The last `axes` dimensions of a tensor of rank `rank` that lies as `view` says.
    fn new(view: &Lanes, rank: usize, axes: usize) -> Problem {
        let pixels = view.pixels();
        if axes + 1 >= rank {
            let images = if axes == rank { view.n } else { 1 };
            return Problem { view: *view, run: pixels, images, all_channels: true, part_of: None };
        }
        let run = view.spatial[3 - axes..].iter().product();
        let images = view.n * view.blocks * (pixels / run);
        Problem {
            view: stretches(images, run, view.lanes),
            run,
            images: 1,
            all_channels: false,
            part_of: Some((view.blocks * (pixels / run), view.c)),
        }
    }

    /// Logical lanes of an image that is a run of pixels of one block.
    fn lanes_of(&self, image: usize) -> usize {
        let lanes = self.view.lanes;
        match self.part_of {
            Some((per_image, c)) => {
                let block = image % per_image / (per_image / c.div_ceil(lanes));
                lanes.min(c - block * lanes)
            }
            None => lanes,
        }
    }

    fn run(&self, src: &[f32], dst: &mut [f32], affine: Option<&(Cow<'_, [f32]>, Cow<'_, [f32]>)>, eps: f64) {
        let view = &self.view;
        let parts = moments(view, src, self.run);
        let scale = |m: Moments| ChannelScale::new(m.mean, m.inverse_deviation(eps), 1.0, 0.0);
        let scales = if self.all_channels {
            let padded = view.padded_channels();
            let together: Vec<ChannelScale> = parts
                .chunks_exact(padded * self.images)
                .map(|images| {
                    let logical = images.chunks_exact(padded).flat_map(|image| &image[..view.c]);
                    scale(logical.fold(Moments::default(), |a, &b| a.merge(b)))
                })
                .collect();
            ChannelScales::per_image(view, |n, _| together[n / self.images])
        } else {
            ChannelScales::per_image(view, |n, c| match c < self.lanes_of(n) {
                true => scale(parts[n * view.lanes + c]),
                false => ChannelScale::new(0.0, 0.0, 0.0, 0.0),
            })
        };
        match affine {
            None => scales.apply(view, src, dst),
            Some((weight, bias)) => {
                let elementwise = Elementwise { problem: self, scales: &scales, weight, bias };
                view.for_each_pixel_run(dst, |p, dst| {
                    let start = p.n * view.stride_n + p.block * view.stride_block + p.first * view.lanes;
                    let src = &src[start..start + dst.len()];
                    let mut weights = vec![0f32; if view.lanes == 1 { 0 } else { 2 * STRIP * view.lanes }];
                    simd::dispatch(Weighted { e: &elementwise, piece: p, src, dst, weights: &mut weights });
                });
            }
        }
    }
}

/// ChannelScales of the statistics, and a weight and bias for each element that is normalised together.
struct Elementwise<'a> {
    problem: &'a Problem,
    scales: &'a ChannelScales,
    weight: &'a [f32],
    bias: &'a [f32],
}

/// Pixels of one block of one image.
struct Weighted<'a> {
    e: &'a Elementwise<'a>,
    piece: PixelRun,
    src: &'a [f32],
    dst: &'a mut [f32],
    /// Room for the weights and biases of a strip.
    weights: &'a mut [f32],
}

/// Pixels whose weights are gathered at once.
const STRIP: usize = 16;

impl Loop for Weighted<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let problem = self.e.problem;
        if !problem.all_channels {
            return self.for_each_pixel();
        }
        let Weighted { e: Elementwise { scales, weight, bias, .. }, piece, src, dst, weights } = self;
        let view = &problem.view;
        let (lanes, stride) = (view.lanes, view.pixels());
        // All channels of an image have the same scale.
        let [center, scale, shift] = scales.of(piece.n, 0, 1).map(|v| v[0]);
        let s = ChannelScale { center, scale, shift };
        let channel = piece.n % problem.images * view.c + piece.block * lanes;
        let at = channel * stride + piece.first;
        if lanes == 1 {
            return s.apply_weighted(src, dst, &weight[at..], &bias[at..]);
        }
        let used = view.lanes_in(piece.block);
        let (w, b) = weights.split_at_mut(STRIP * lanes);
        for (strip, (y, x)) in dst.chunks_mut(STRIP * lanes).zip(src.chunks(STRIP * lanes)).enumerate() {
            let pixels = y.len() / lanes;
            let from = at + strip * STRIP;
            transpose((&mut *w, lanes), (&weight[from..], stride), pixels, used);
            transpose((&mut *b, lanes), (&bias[from..], stride), pixels, used);
            s.apply_weighted(x, y, w, b);
            if used < lanes {
                y.chunks_exact_mut(lanes).for_each(|y| y[used..].fill(0.0));
            }
        }
    }
}

impl Weighted<'_> {
    /// Each lane has a scale of its own, each pixel one weight and one bias.
    #[inline(always)]
    fn for_each_pixel(self) {
        let Weighted { e: Elementwise { problem, scales, weight, bias }, piece, src, dst, .. } = self;
        let lanes = problem.view.lanes;
        let [center, scale, shift] = scales.of(piece.n, piece.block, lanes);
        let used = problem.lanes_of(piece.n);
        let params = weight[piece.first..].iter().zip(&bias[piece.first..]);
        let pixels = dst.chunks_exact_mut(lanes).zip(src.chunks_exact(lanes));
        for ((y, x), (&w, &b)) in pixels.zip(params) {
            let scales = center.iter().zip(scale).zip(shift);
            for ((y, &x), ((&center, &scale), &shift)) in y.iter_mut().zip(x).zip(scales) {
                *y = ChannelScale { center, scale, shift }.apply(x) * w + b;
            }
            y[used..].fill(0.0);
        }
    }
}

impl ChannelScale {
    #[inline(always)]
    fn apply_weighted(self, src: &[f32], dst: &mut [f32], weight: &[f32], bias: &[f32]) {
        let params = weight.iter().zip(bias);
        for ((y, &x), (w, b)) in dst.iter_mut().zip(src).zip(params) {
            *y = self.apply(x) * w + b;
        }
    }
}
