//! Local response norm: each element is divided by a power of the mean square of its neighbouring channels.

use half::bf16;

use crate::dtype::{DType, Float};
use crate::elementwise::math_function;
use crate::error::{Result, fail};
use crate::kernels::along_axis::{AxisLines, MAX_COLUMNS, ResultColumns, SourceColumns};
use crate::kernels::gradient::map::{map2, map3};
use crate::kernels::lanes::Lanes;
use crate::kernels::lent::PixelTile;
use crate::kernels::same_shape::OperandAndResult;
use crate::math;
use crate::memory::Failed;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, float, required_int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::norm::args::channels_of;
use crate::ops::pointwise::binary;
use crate::ops::shape::pad::{PadMode, pad};
use crate::simd::{self, Loop};
use crate::tensor::any::{Operand, Tensor};
use crate::tensor::result_format::FormatRule;

params! {
    /// Parameters of a local response norm. The defaults are PyTorch's: `alpha` 1e-4, `beta` 0.75, `k` 1.
    #[derive(Copy)]
    pub struct LocalResponseNorm {
        /// Channels of a window.
        pub size: usize => required_int("size").counted_from_one(),
        /// Factor of the mean square.
        pub alpha: f64 => float("alpha", 1e-4),
        /// Exponent.
        pub beta: f64 => float("beta", 0.75),
        /// Added to the mean square.
        pub k: f64 => float("k", 1.0),
    }
}

impl LocalResponseNorm {
    /// The defaults, with windows of `size` channels.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }
}

const ARGS: &[ArgSpec] = &with_params::<5>(
    &[data("x").f32().with_ranks(Ranks::between(3, 5, "it has rank 3 to 5", "add a spatial dimension"))],
    LocalResponseNorm::SPECS,
);
static LOCAL_RESPONSE_NORM: Op = Op::new(&Schema::new("local_response_norm", ARGS).dst_like_x()).with(
    &Kernel::rust(&run).with_dtypes(OF_ONE).needing_dense().on_both_reading(Reads::Operands, &gradient),
);

pub(crate) const OPS: &[&Op] = &[&LOCAL_RESPONSE_NORM];

/// Local response norm, as `torch.nn.functional.local_response_norm`: `x / (k + alpha * mean)^beta`, where `mean` is the mean
/// of the squares of `size` neighbouring channels.
///
/// `size / 2` of these channels are before the element's own. Channels outside the tensor count as zeros.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{LocalResponseNorm, local_response_norm};
/// let x = StridedTensor::from_slice(&[3f32, 4.0], &[1, 2, 1])?;
/// // Each channel and the one before it: (0 + 9) / 2 and (9 + 16) / 2.
/// let params = LocalResponseNorm { size: 2, alpha: 2.0, beta: 0.5, k: 0.0 };
/// let y = local_response_norm(&x, &params)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 0.8]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, ...] of rank 3 to 5; the result has its sizes.
///
/// # Dtypes
/// f32 and bf16.
///
/// # Layouts
/// Strided: the result is in the format that `x` suggests. An `x` that is not dense in this format is copied; the ledger
/// counts the copy. Blocked: any layout that blocks only the channels; the result keeps it.
///
/// # Errors
/// `InvalidArgument` for a size of 0 and for C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn local_response_norm<T: Operand>(x: &T, params: &LocalResponseNorm) -> Result<T> {
    LOCAL_RESPONSE_NORM.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// The kernel for both keys.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    channels_of(op, x)?;
    let window = ChannelWindow::of(args)?;
    let mut tensors = OperandAndResult::new(args, results, FormatRule::Suggested)?;
    let view = tensors.lanes(op)?;
    let name = tensors.layout_name();
    let work = || match x.dtype() {
        DType::BF16 => normalise::<bf16>(op, &view, &window, tensors.slices()),
        _ => normalise::<f32>(op, &view, &window, tensors.slices()),
    };
    Ok(crate::kernels::timed(args, "blocktensor:lrn", || name, work)?)
}

/// The gradient, with `s` the sums of squares times `alpha / size`, plus `k`:
/// `diff * s^-beta - 2 * alpha / size * beta * x * sum(diff * x * s^(-beta - 1))`, whose sum is over the channels that read `x`.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, diff) = (call.args.op(), call.args.tensor(0)?, call.diff()?);
    let ChannelWindow { before, after, factor, k, beta } = ChannelWindow::of(&call.args)?;
    call.each(|_| {
        let squares = map2(op, x, (x, x), |x, y| x * y)?;
        let sums = sum_of_neighbours(&squares, before, after)?;
        let sums = sums.tensor_ref();
        // What a number is divided by, to another power.
        let by = move |beta: f32| {
            math_function!(
                |x, sum; factor: f32, k: f32, beta: f32| x * math::pow(sum * factor + k, -beta),
                factor,
                k,
                beta
            )
        };
        let products = map2(op, x, (x, diff), |x, g| x * g)?;
        let of_each = map2(op, x, (products.tensor_ref(), sums), by(beta + 1.0))?;
        let read_by = sum_of_neighbours(&of_each, after, before)?;
        let divided = map2(op, x, (diff, sums), by(beta))?;
        let scale = 2.0 * factor * beta;
        let tensors = (divided.tensor_ref(), x, read_by.tensor_ref());
        map3(op, x, tensors, move |divided, x, read_by| divided - scale * x * read_by)
    })
}

/// The sum of each channel with `before` channels before it and `after` after it.
fn sum_of_neighbours(t: &Tensor, before: usize, after: usize) -> Result<Tensor> {
    let (rank, channels) = (t.tensor_ref().dims().len(), t.tensor_ref().dims()[1] as i64);
    let mut sum = t.clone();
    for shift in -(before as i64)..=after as i64 {
        if shift != 0 && shift.abs() < channels {
            let mut padding = vec![0i64; 2 * (rank - 1)];
            padding[2 * (rank - 2)..].copy_from_slice(&[-shift, shift]);
            sum = binary::add(&sum, &pad(t, &padding, PadMode::Constant(0.0))?)?;
        }
    }
    Ok(sum)
}

/// The channels around an element that count in its norm, and the constants of the formula.
#[derive(Clone, Copy)]
struct ChannelWindow {
    /// Channels before the element's own.
    before: usize,
    /// Channels after the element's own.
    after: usize,
    /// alpha / size.
    factor: f32,
    k: f32,
    beta: f32,
}

impl ChannelWindow {
    /// The window of a call.
    fn of(args: &Args<'_>) -> Result<ChannelWindow> {
        let op = args.op();
        let LocalResponseNorm { size, alpha, beta, k } = LocalResponseNorm::read(args)?;
        if size == 0 {
            fail!(
                InvalidArgument,
                op,
                "size",
                "0",
                "a window has at least one channel",
                "pass an odd number, 5 for example"
            );
        }
        // No window needs to reach further than all channels.
        let channels = args.tensor(0)?.dims()[1];
        Ok(ChannelWindow {
            before: (size / 2).min(channels),
            after: ((size - 1) / 2).min(channels),
            factor: (alpha / size as f64) as f32,
            k: k as f32,
            beta: beta as f32,
        })
    }

    /// `(k + factor * sum)^beta`, where `sum` is the sum of the window's squares. `BETA_QUARTERS` is `4 * beta` for the exponents
    /// that need only square roots, which models use, and 0 for any other exponent.
    #[inline(always)]
    fn divisor<const BETA_QUARTERS: u8>(&self, sum: f32) -> f32 {
        let base = sum * self.factor + self.k;
        match BETA_QUARTERS {
            2 => base.sqrt(),
            3 => base.sqrt() * base.sqrt().sqrt(),
            4 => base,
            _ => math::pow(base, self.beta),
        }
    }

    fn beta_quarters(&self) -> u8 {
        match self.beta {
            0.5 => 2,
            0.75 => 3,
            1.0 => 4,
            _ => 0,
        }
    }
}

/// Pixels of a tile whose channels are gathered.
const TILE_PIXELS: usize = 16;

fn normalise<E: Float>(
    op: &'static str,
    view: &Lanes,
    window: &ChannelWindow,
    (src, dst): (&[E], &mut [E]),
) -> Result<()> {
    if view.lanes == 1 {
        let lines = AxisLines::new(&[view.n, view.c, view.pixels()], 1);
        lines.for_each(src, dst, view.c, |from, mut to| {
            simd::dispatch(PixelVectorLoop { window, from: &from, to: &mut to });
        });
        return Ok(());
    }
    let halo = window.before + window.after;
    let table = TILE_PIXELS * (view.padded_channels() + halo);
    let failed = Failed::default();
    view.for_each_tile(dst, TILE_PIXELS, |mut tile| {
        let Some(mut scratch) = failed.try_filled(op, 2 * table, 0f32) else { return };
        simd::dispatch(ChannelVectorLoop { view, window, src, tile: &mut tile, scratch: &mut scratch });
    });
    failed.result()
}

/// For row-major images: vectors run along the pixels.
struct PixelVectorLoop<'a, 'b, E> {
    window: &'a ChannelWindow,
    from: &'a SourceColumns<'a, E>,
    to: &'a mut ResultColumns<'b, E>,
}

impl<E: Float> PixelVectorLoop<'_, '_, E> {
    #[inline(always)]
    fn run_with<const BETA_QUARTERS: u8>(self) {
        let PixelVectorLoop { window, from, to } = self;
        for c in 0..from.len {
            let mut sum = [0f32; MAX_COLUMNS];
            for other in c.saturating_sub(window.before)..(c + window.after + 1).min(from.len) {
                sum.iter_mut().zip(from.row(other)).for_each(|(s, x)| *s += x.widen() * x.widen());
            }
            sum.iter_mut().for_each(|s| *s = window.divisor::<BETA_QUARTERS>(*s));
            to.row(c)
                .iter_mut()
                .zip(from.row(c))
                .zip(&sum)
                .for_each(|((y, x), s)| *y = E::rounded(x.widen() / s));
        }
    }
}

impl<E: Float> Loop for PixelVectorLoop<'_, '_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.window.beta_quarters() {
            2 => self.run_with::<2>(),
            3 => self.run_with::<3>(),
            4 => self.run_with::<4>(),
            _ => self.run_with::<0>(),
        }
    }
}

/// For channels-last and blocked images: vectors run along the channels of the pixels of a tile.
struct ChannelVectorLoop<'a, 'b, E> {
    view: &'a Lanes,
    window: &'a ChannelWindow,
    src: &'a [E],
    tile: &'a mut PixelTile<'b, E>,
    /// Zeros: one half for the squares, one half for the divisors. Each half has room for every channel of the tile's pixels, and
    /// for the `before` and `after` channels around those of each pixel.
    scratch: &'a mut [f32],
}

impl<E: Float> ChannelVectorLoop<'_, '_, E> {
    #[inline(always)]
    fn run_with<const BETA_QUARTERS: u8>(self) {
        let ChannelVectorLoop { view, window, src, tile, scratch } = self;
        let (lanes, halo) = (view.lanes, window.before + window.after);
        let pixels = tile.geometry().pixels;
        let step = view.padded_channels() + halo;
        let start = tile.geometry().n * view.stride_n + tile.geometry().first * lanes;
        // The squares of each pixel lie between `before` and `after` zeros. The divisors of a pixel begin where its zeros begin.
        let (squares, divisors) = scratch.split_at_mut(scratch.len() / 2);
        for block in 0..view.blocks {
            let x = &src[start + block * view.stride_block..][..pixels * lanes];
            for (pixel, x) in x.chunks_exact(lanes).enumerate() {
                let at = pixel * step + window.before + block * lanes;
                map_lanes(&mut squares[at..at + lanes], x, x, |a, b| a * b);
            }
        }
        let (squares, divisors) = (&squares[..pixels * step], &mut divisors[..pixels * step - halo]);
        divisors.copy_from_slice(&squares[..divisors.len()]);
        for shift in 1..=halo {
            divisors.iter_mut().zip(&squares[shift..]).for_each(|(s, q)| *s += q);
        }
        divisors.iter_mut().for_each(|s| *s = window.divisor::<BETA_QUARTERS>(*s));
        for block in 0..view.blocks {
            let x = &src[start + block * view.stride_block..][..pixels * lanes];
            let used = view.lanes_in(block);
            let y = tile.block(block).chunks_exact_mut(lanes);
            for (pixel, (y, x)) in y.zip(x.chunks_exact(lanes)).enumerate() {
                let at = pixel * step + block * lanes;
                map_lanes(y, x, &divisors[at..at + lanes], |x, d| x / d);
                y[used..].fill(E::default());
            }
        }
    }
}

impl<E: Float> Loop for ChannelVectorLoop<'_, '_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.window.beta_quarters() {
            2 => self.run_with::<2>(),
            3 => self.run_with::<3>(),
            4 => self.run_with::<4>(),
            _ => self.run_with::<0>(),
        }
    }
}

/// `y = f(a, b)` for every lane of a block.
#[inline(always)]
fn map_lanes<Y: Float, A: Float, B: Float>(y: &mut [Y], a: &[A], b: &[B], f: impl Fn(f32, f32) -> f32) {
    if let (16, Some(y), Some(a), Some(b)) =
        (y.len(), y.first_chunk_mut::<16>(), a.first_chunk::<16>(), b.first_chunk::<16>())
    {
        for l in 0..16 {
            y[l] = Y::rounded(f(a[l].widen(), b[l].widen()));
        }
        return simd::end_of_chunk();
    }
    for (y, (&a, &b)) in y.iter_mut().zip(a.iter().zip(b)) {
        *y = Y::rounded(f(a.widen(), b.widen()));
    }
}
