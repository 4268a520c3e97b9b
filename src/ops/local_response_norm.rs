//! Local response norm: each element divided by what its neighbours among the channels amount to.

use super::Entry;
use super::batch_norm::channels_of;
use super::lanes::{Lanes, Tile};
use super::lines::{Columns, ColumnsMut, Lines};
use super::same::Same;
use crate::dispatch::schema::{data, float, required_int};
use crate::dispatch::{Arg, Args, Kernel, Op, Outputs, Schema};
use crate::error::{Result, fail};
use crate::math;
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
static OP: Op = Op::new(&SCHEMA);

pub(super) const ENTRIES: &[Entry] =
    &[Entry { op: &OP, strided: Some(Kernel::rust(&kernel)), blocked: Some(Kernel::rust(&kernel)) }];

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

fn kernel(args: &Args<'_>) -> Result<Outputs> {
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
    let mut same = Same::new(args, FormatRule::Suggested)?;
    let view = same.lanes(op)?;
    let name = same.layout_name();
    let (src, dst) = same.slices();
    super::timed(args, "blocktensor:lrn", || name, || run(&view, &window, src, dst));
    Ok(same.into_result().into())
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
        let lines = Lines::new(&[view.n, view.c, view.pixels()], 1);
        return lines.for_each(src, dst, view.c, |from, mut to| {
            simd::dispatch(SideBySide { window, from: &from, to: &mut to });
        });
    }
    view.for_each_tile(dst, TILE, |mut tile| {
        simd::dispatch(Pixels { view, window, src, tile: &mut tile });
    });
}

/// Pixels of row-major images: vectors run along them.
struct SideBySide<'a, 'b> {
    window: &'a Window,
    from: &'a Columns<'b>,
    to: &'a mut ColumnsMut<f32>,
}

impl SideBySide<'_, '_> {
    #[inline(always)]
    fn with<const QUARTERS: u8>(self) {
        let SideBySide { window, from, to } = self;
        for c in 0..from.len {
            let mut sum = [0f32; super::lines::WIDTH];
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
struct Pixels<'a> {
    view: &'a Lanes,
    window: &'a Window,
    src: &'a [f32],
    tile: &'a mut Tile,
}

impl Pixels<'_> {
    #[inline(always)]
    fn with<const QUARTERS: u8>(self) {
        let Pixels { view, window, src, tile } = self;
        let padded = view.padded_channels();
        let start = tile.n * view.stride_n + tile.first * view.lanes;
        // Squares with zeros around them, and sums.
        let mut squares = vec![0f32; window.before + padded + window.after];
        let mut sums = vec![0f32; padded];
        for pixel in 0..tile.pixels {
            let at = pixel * view.lanes;
            let own = &mut squares[window.before..window.before + padded];
            for (block, squares) in own.chunks_exact_mut(view.lanes).enumerate() {
                let x = &src[start + block * view.stride_block + at..][..view.lanes];
                squares.iter_mut().zip(x).for_each(|(s, &x)| *s = x * x);
            }
            sums.copy_from_slice(&squares[..padded]);
            for shift in 1..=window.before + window.after {
                sums.iter_mut().zip(&squares[shift..]).for_each(|(s, q)| *s += q);
            }
            sums.iter_mut().for_each(|s| *s = window.divisor::<QUARTERS>(*s));
            for (block, divisors) in sums.chunks_exact(view.lanes).enumerate() {
                let x = &src[start + block * view.stride_block + at..][..view.lanes];
                let y = &mut tile.block(block)[at..][..view.lanes];
                y.iter_mut().zip(x).zip(divisors).for_each(|((y, x), d)| *y = x / d);
                let used = view.lanes_in(block);
                y[used..].fill(0.0);
            }
        }
    }
}

impl Loop for Pixels<'_> {
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
