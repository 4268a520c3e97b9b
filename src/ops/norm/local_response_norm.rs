//! Local response norm: each element divided by what its neighbours among the channels amount to.

use crate::error::{Result, fail};
use crate::kernels::along_axis::{AxisLines, ResultColumns, SourceColumns};
use crate::kernels::lanes::Lanes;
use crate::kernels::lent::PixelTile;
use crate::kernels::same_shape::OperandAndResult;
use crate::math;
use crate::op::schema::{data, float, required_int};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::norm::batch_norm::channels_of;

use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

/// Parameters of a local response norm. The default is PyTorch's: `alpha` 1e-4, `beta` 0.75, `k` 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalResponseNorm {
    /// Channels of a window.
    pub size: usize,
    /// Factor of the mean square.
    pub alpha: f64,
    /// Exponent.
    pub beta: f64,
    /// Added to the mean square.
    pub k: f64,
}

impl LocalResponseNorm {
    /// The defaults, with windows of `size` channels.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }
}

static SCHEMA: Schema = Schema::new(
    "local_response_norm",
    &[data("x"), required_int("size"), float("alpha", 1e-4), float("beta", 0.75), float("k", 1.0)],
);
static OP: Op = Op::new(&SCHEMA).on_both(Kernel::rust(&kernel));

pub(crate) const OPS: &[&Op] = &[&OP];

/// Local response norm: `x / (k + alpha * mean)^beta`, with the mean of the squares of `size` channels: `size / 2` of them
/// before the element's own, and channels that are not there count as zeros.
/// `torch.nn.functional.local_response_norm`.
///
/// # Shapes
/// `x` [N, C, ...] of rank 3 to 5; the result has its sizes.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is in the format that `x` suggests; an `x` that does not lie so is copied, which the ledger
/// counts. Blocked: any layout that blocks the channels alone; the result keeps it.
///
/// # Errors
/// `InvalidArgument` for a size of 0 and for C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn local_response_norm<T: Operand>(x: &T, params: &LocalResponseNorm) -> Result<T> {
    OP.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Int(i64::try_from(params.size).unwrap_or(i64::MAX)),
        Arg::Float(params.alpha),
        Arg::Float(params.beta),
        Arg::Float(params.k),
    ])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    channels_of(op, x)?;
    if x.dims().len() < 3 {
        fail!(RankMismatch, op, "x", x.describe(), "it has rank 3 to 5", "add a spatial dimension");
    }
    let size = args.count(1)?;
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
    let (alpha, beta, k) = (args.float(2)?, args.float(3)? as f32, args.float(4)? as f32);
    // Windows beyond all channels see them all.
    let channels = x.dims()[1];
    let window = Window {
        before: (size / 2).min(channels),
        after: ((size - 1) / 2).min(channels),
        factor: (alpha / size as f64) as f32,
        k,
        beta,
    };
    let mut same = OperandAndResult::new(args, results, FormatRule::Suggested)?;
    let view = same.lanes(op)?;
    let name = same.layout_name();
    let (src, dst) = same.slices();
    crate::kernels::timed(args, "blocktensor:lrn", || name, || run(&view, &window, src, dst));
    Ok(())
}

#[derive(Clone, Copy)]
struct Window {
    /// Channels before and after an element's own.
    before: usize,
    after: usize,
    /// alpha / size.
    factor: f32,
    k: f32,
    beta: f32,
}

impl Window {
    /// `(k + factor * sum)^beta`; the exponents that models use need no logarithm.
    #[inline(always)]
    fn divisor<const QUARTERS: u8>(&self, sum: f32) -> f32 {
        let base = sum * self.factor + self.k;
        match QUARTERS {
            2 => base.sqrt(),
            3 => base.sqrt() * base.sqrt().sqrt(),
            4 => base,
            _ => math::pow(base, self.beta),
        }
    }

    fn quarters(&self) -> u8 {
        match self.beta {
            0.5 => 2,
            0.75 => 3,
            1.0 => 4,
            _ => 0,
        }
    }
}

/// Pixels of a tile whose channels are gathered.
const TILE: usize = 16;

fn run(view: &Lanes, window: &Window, src: &[f32], dst: &mut [f32]) {
    if view.lanes == 1 {
        let lines = AxisLines::new(&[view.n, view.c, view.pixels()], 1);
        return lines.for_each(src, dst, view.c, |from, mut to| {
            simd::dispatch(SideBySide { window, from: &from, to: &mut to });
        });
    }
    let halo = window.before + window.after;
    let room = TILE * (view.padded_channels() + halo);
    view.for_each_tile(dst, TILE, |mut tile| {
        let mut room = vec![0f32; 2 * room];
        simd::dispatch(Pixels { view, window, src, tile: &mut tile, room: &mut room });
    });
}

/// Pixels of row-major images: vectors run along them.
struct SideBySide<'a, 'b> {
    window: &'a Window,
    from: &'a SourceColumns<'a>,
    to: &'a mut ResultColumns<'b, f32>,
}

impl SideBySide<'_, '_> {
    #[inline(always)]
    fn with<const QUARTERS: u8>(self) {
        let SideBySide { window, from, to } = self;
        for c in 0..from.len {
            let mut sum = [0f32; crate::kernels::along_axis::MAX_COLUMNS];
            for other in c.saturating_sub(window.before)..(c + window.after + 1).min(from.len) {
                sum.iter_mut().zip(from.row(other)).for_each(|(s, &x)| *s += x * x);
            }
            sum.iter_mut().for_each(|s| *s = window.divisor::<QUARTERS>(*s));
            to.row(c).iter_mut().zip(from.row(c)).zip(&sum).for_each(|((y, x), s)| *y = x / s);
        }
    }
}

impl Loop for SideBySide<'_, '_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.window.quarters() {
            2 => self.with::<2>(),
            3 => self.with::<3>(),
            4 => self.with::<4>(),
            _ => self.with::<0>(),
        }
    }
}

/// The channels of some pixels, side by side or in blocks: vectors run along the channels.
struct Pixels<'a, 'b> {
    view: &'a Lanes,
    window: &'a Window,
    src: &'a [f32],
    tile: &'a mut PixelTile<'b>,
    /// Zeros, twice as many as the channels of a tile with what windows have before and after them.
    room: &'a mut [f32],
}

impl Pixels<'_, '_> {
    #[inline(always)]
    fn with<const QUARTERS: u8>(self) {
        let Pixels { view, window, src, tile, room } = self;
        let (lanes, halo) = (view.lanes, window.before + window.after);
        let step = view.padded_channels() + halo;
        let start = tile.place.n * view.stride_n + tile.place.first * lanes;
        // Squares, with zeros before and after those of each pixel; then what to divide by, from each pixel's first zero on.
        let (squares, divisors) = room.split_at_mut(room.len() / 2);
        for block in 0..view.blocks {
            let x = &src[start + block * view.stride_block..][..tile.place.pixels * lanes];
            for (pixel, x) in x.chunks_exact(lanes).enumerate() {
                let at = pixel * step + window.before + block * lanes;
                with_lanes(&mut squares[at..at + lanes], x, x, |a, b| a * b);
            }
        }
        let (squares, divisors) =
            (&squares[..tile.place.pixels * step], &mut divisors[..tile.place.pixels * step - halo]);
        divisors.copy_from_slice(&squares[..divisors.len()]);
        for shift in 1..=halo {
            divisors.iter_mut().zip(&squares[shift..]).for_each(|(s, q)| *s += q);
        }
        divisors.iter_mut().for_each(|s| *s = window.divisor::<QUARTERS>(*s));
        for block in 0..view.blocks {
            let x = &src[start + block * view.stride_block..][..tile.place.pixels * lanes];
            let used = view.lanes_in(block);
            let y = tile.block(block).chunks_exact_mut(lanes);
            for (pixel, (y, x)) in y.zip(x.chunks_exact(lanes)).enumerate() {
                let at = pixel * step + block * lanes;
                with_lanes(y, x, &divisors[at..at + lanes], |x, d| x / d);
                y[used..].fill(0.0);
            }
        }
    }
}

/// `y = f(a, b)` over the lanes of a block.
#[inline(always)]
fn with_lanes(y: &mut [f32], a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) {
    if let (16, Some(y), Some(a), Some(b)) =
        (y.len(), y.first_chunk_mut::<16>(), a.first_chunk::<16>(), b.first_chunk::<16>())
    {
        *y = std::array::from_fn(|l| f(a[l], b[l]));
        return simd::end_of_chunk();
    }
    y.iter_mut().zip(a.iter().zip(b)).for_each(|(y, (&a, &b))| *y = f(a, b));
}

impl Loop for Pixels<'_, '_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.window.quarters() {
            2 => self.with::<2>(),
            3 => self.with::<3>(),
            4 => self.with::<4>(),
            _ => self.with::<0>(),
        }
    }
}
