//! Reductions over any set of axes.
//!
//! The reduced elements of each result are taken in the order of the source's memory and cut into chunks
//! whose length depends on the sizes and strides alone. A chunk is folded in blocks: along a dense reduced
//! axis into a fixed number of lanes, across one into a row of accumulators. Blocks and chunks merge
//! pairwise. Which thread folds a chunk changes nothing, so the result is bit-identical whatever the number
//! of threads; the error of a sum grows with the logarithm of its length.

use super::map::check_dtype;
use super::run::in_parallel;
use crate::dtype::Element;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::lists::filled;
use crate::simd::{self, Loop};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::SyncPtr;

/// A reduction: accumulators that start at an identity, take elements, and merge.
///
/// `merge` must be associative up to rounding, with `identity` neutral; neither needs to be commutative in
/// rounding, since the order is fixed. Mark the methods `#[inline(always)]`: they are compiled into vector
/// loops.
pub trait Fold: Sync {
    /// Type of the elements.
    type In: Element;
    /// The accumulator.
    type Acc: Copy + Send + Sync;
    /// Type of the result's elements.
    type Out: Element;
    /// The accumulator of no elements.
    fn identity(&self) -> Self::Acc;
    /// The accumulator with one element more.
    fn step(&self, acc: Self::Acc, x: Self::In) -> Self::Acc;
    /// Two accumulators in one.
    fn merge(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of `count` elements.
    fn finish(&self, acc: Self::Acc, count: usize) -> Self::Out;
}

/// Elements of a chunk: the unit of parallel work.
const CHUNK: usize = 32 << 10;
/// Elements that one accumulator takes before it merges pairwise.
const BLOCK: usize = 64;
/// Accumulators along a dense reduced axis.
const LANES: usize = 64;
/// Accumulators of a row across a reduced axis.
const ROW: usize = 512;

/// Folds the elements of `x` over `axes`; an empty list means all of them, as in PyTorch. With `keep_dims`
/// the reduced axes stay with size 1. The result is row-major, or has the format that `x` is tagged with.
///
/// # Errors
/// `InvalidArgument` for an axis out of range or named twice; `DTypeMismatch`; `OutOfMemory`.
pub fn reduce<F: Fold>(
    op: &'static str,
    x: &StridedTensor,
    axes: &[usize],
    keep_dims: bool,
    fold: &F,
) -> Result<StridedTensor> {
    check_dtype(op, "x", x, F::In::DTYPE)?;
    let is_reduced = reduced_axes(op, x.rank(), axes)?;
    let kept: Dims = (0..x.rank()).filter(|&d| !is_reduced[d]).to_dims();
    let full: Dims = (0..x.rank()).map(|d| if is_reduced[d] { 1 } else { x.dims[d] }).to_dims();
    let squeezed: Dims = kept.iter().map(|&d| x.dims[d]).to_dims();
    let mut dst = FormatRule::Contiguous.empty_result(
        op,
        &[x],
        if keep_dims { &full } else { &squeezed },
        F::Out::DTYPE,
    )?;
    let dst_strides: Dims = match keep_dims {
        true => kept.iter().map(|&d| dst.strides[d]).to_dims(),
        false => dst.strides,
    };
    let Some(out) = dst.data_mut::<F::Out>() else { unreachable!("the storage was just made") };
    let count: usize = (0..x.rank()).filter(|&d| is_reduced[d]).map(|d| x.dims[d]).product();
    if count == 0 {
        out.fill(fold.finish(fold.identity(), 0));
        return Ok(dst);
    }
    if !squeezed.contains(&0) {
        let plan = Plan::new(x, &is_reduced, &kept, &dst_strides);
        plan.run(op, fold, x.data::<F::In>(), out)?;
    }
    Ok(dst)
}

fn reduced_axes(op: &'static str, rank: usize, axes: &[usize]) -> Result<[bool; crate::MAX_RANK]> {
    let mut is_reduced = [axes.is_empty(); crate::MAX_RANK];
    for &a in axes {
        let rule = match is_reduced.get(a) {
            Some(false) if a < rank => {
                is_reduced[a] = true;
                continue;
            }
            Some(true) => format!("axis {a} is there twice"),
            _ => format!("the tensor has rank {rank}"),
        };
        fail!(
            InvalidArgument,
            op,
            "axes",
            format!("{axes:?}"),
            rule,
            "name axes that are there, each once, or none for all"
        );
    }
    Ok(is_reduced)
}

/// Some dimensions of the source, densest first and coalesced, with the result's strides along them.
struct Walk {
    sizes: Vec<usize>,
    src: Vec<usize>,
    dst: Vec<usize>,
}

impl Walk {
    fn new(of: impl Iterator<Item = (usize, usize, usize)>) -> Walk {
        let mut dims: Vec<_> = of.filter(|&(size, ..)| size != 1).collect();
        dims.sort_by_key(|&(_, src, _)| src);
        let mut walk = Walk { sizes: vec![], src: vec![], dst: vec![] };
        for (size, src, dst) in dims {
            if let (Some(n), Some(s), Some(d)) = (walk.sizes.last_mut(), walk.src.last(), walk.dst.last())
                && src == *s * *n
                && dst == *d * *n
            {
                *n *= size;
                continue;
            }
            walk.sizes.push(size);
            walk.src.push(src);
            walk.dst.push(dst);
        }
        if walk.sizes.is_empty() {
            (walk.sizes, walk.src, walk.dst) = (vec![1], vec![0], vec![0]);
        }
        walk
    }

    fn numel(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Offsets in source and result of the `index`-th element in walking order.
    fn offsets(&self, mut index: usize) -> (usize, usize) {
        let (mut src, mut dst) = (0, 0);
        for (d, &n) in self.sizes.iter().enumerate() {
            let at = index % n;
            index /= n;
            src += at * self.src[d];
            dst += at * self.dst[d];
        }
        (src, dst)
    }
}

struct Plan {
    kept: Walk,
    reduced: Walk,
    /// Results that are accumulated side by side: 1 along a dense reduced axis, else a stretch of the densest
    /// kept dimension.
    width: usize,
    /// Reduced elements of one chunk.
    chunk: usize,
}

impl Plan {
    fn new(x: &StridedTensor, is_reduced: &[bool], kept: &Dims, dst: &Dims) -> Plan {
        let kept = Walk::new(kept.iter().zip(dst).map(|(&d, &s)| (x.dims[d], x.strides[d], s)));
        let reduced =
            Walk::new((0..x.rank()).filter(|&d| is_reduced[d]).map(|d| (x.dims[d], x.strides[d], 0)));
        let side_by_side = kept.src[0] == 1 && kept.sizes[0] >= 8 && reduced.src[0] != 1;
        let width = if side_by_side { kept.sizes[0].min(ROW) } else { 1 };
        let chunk = (CHUNK / width).max(BLOCK).min(reduced.numel());
        Plan { kept, reduced, width, chunk }
    }

    fn run<F: Fold>(&self, op: &'static str, fold: &F, src: &[F::In], out: &mut [F::Out]) -> Result<()> {
        let count = self.reduced.numel();
        let chunks = count.div_ceil(self.chunk);
        // Pieces of the densest kept dimension, and everything outside it.
        let pieces = self.kept.sizes[0].div_ceil(self.width);
        let groups = pieces * (self.kept.numel() / self.kept.sizes[0]);
        let group = |g: usize| {
            let first = g % pieces * self.width;
            let width = self.width.min(self.kept.sizes[0] - first);
            let (src, dst) = self.kept.offsets(g / pieces * self.kept.sizes[0] + first);
            (src, dst, width)
        };
        let numel = count * self.kept.numel();
        let out = SyncPtr::new(out);
        let finish = |dst: usize, accs: &[F::Acc]| {
            for (i, &acc) in accs.iter().enumerate() {
                // SAFETY: each group writes its own results, and the offset is that of an element of the
                // result.
                unsafe { out.get().add(dst + i * self.kept.dst[0]).write(fold.finish(acc, count)) };
            }
        };
        if chunks == 1 {
            in_parallel(groups, numel, |range| {
                let mut cascade = Cascade::new(fold, self.width);
                for g in range {
                    let (from, dst, width) = group(g);
                    finish(dst, self.fold_chunk(fold, src, from, 0..count, width, &mut cascade));
                }
            });
            return Ok(());
        }
        let mut partials = filled(op, groups * chunks * self.width, fold.identity())?;
        let parts = SyncPtr::new(&mut partials);
        in_parallel(groups * chunks, numel, |range| {
            let mut cascade = Cascade::new(fold, self.width);
            for task in range {
                let (g, c) = (task / chunks, task % chunks);
                let (from, _, width) = group(g);
                let range = c * self.chunk..((c + 1) * self.chunk).min(count);
                let accs = self.fold_chunk(fold, src, from, range, width, &mut cascade);
                for (i, &acc) in accs.iter().enumerate() {
                    // SAFETY: each task writes its own stretch of `width` partial results.
                    unsafe { parts.get().add(task * self.width + i).write(acc) };
                }
            }
        });
        in_parallel(groups, partials.len(), |range| {
            let mut cascade = Cascade::new(fold, self.width);
            for g in range {
                let (_, dst, width) = group(g);
                cascade.clear(width);
                for part in partials[g * chunks * self.width..].chunks(self.width).take(chunks) {
                    cascade.push(fold, &part[..width]);
                }
                finish(dst, cascade.total(fold));
            }
        });
        Ok(())
    }

    /// Folds reduced elements `range` of the `width` results whose source starts at `from`.
    fn fold_chunk<'c, F: Fold>(
        &self,
        fold: &F,
        src: &[F::In],
        from: usize,
        range: std::ops::Range<usize>,
        width: usize,
        cascade: &'c mut Cascade<F>,
    ) -> &'c [F::Acc] {
        cascade.clear(width);
        let (src, reduced) = (&src[from..], &self.reduced);
        if self.width == 1 {
            simd::dispatch(Along { fold, src, reduced, range, cascade: &mut *cascade });
        } else {
            simd::dispatch(Across { fold, src, reduced, range, width, cascade: &mut *cascade });
        }
        cascade.total(fold)
    }
}

/// Pairwise merging of rows of accumulators: entry `i` of the stack holds the merge of `2^i` blocks.
struct Cascade<F: Fold> {
    width: usize,
    count: u64,
    levels: Vec<Vec<F::Acc>>,
    carry: Vec<F::Acc>,
    identity: F::Acc,
}

impl<F: Fold> Cascade<F> {
    fn new(fold: &F, width: usize) -> Cascade<F> {
        let identity = fold.identity();
        Cascade { width, count: 0, levels: vec![], carry: vec![identity; width], identity }
    }

    fn clear(&mut self, width: usize) {
        (self.width, self.count) = (width, 0);
    }

    fn push(&mut self, fold: &F, block: &[F::Acc]) {
        self.carry[..self.width].copy_from_slice(block);
        let mut level = 0;
        while self.count >> level & 1 == 1 {
            for (c, &l) in self.carry[..self.width].iter_mut().zip(&self.levels[level]) {
                *c = fold.merge(l, *c);
            }
            level += 1;
        }
        if level == self.levels.len() {
            self.levels.push(vec![self.identity; self.carry.len()]);
        }
        self.levels[level][..self.width].copy_from_slice(&self.carry[..self.width]);
        self.count += 1;
    }

    /// Everything that was pushed since `clear`.
    fn total(&mut self, fold: &F) -> &[F::Acc] {
        let mut first = true;
        for (level, l) in self.levels.iter().enumerate().filter(|(i, _)| self.count >> i & 1 == 1) {
            debug_assert!(level < 64);
            for (c, &l) in self.carry[..self.width].iter_mut().zip(l) {
                *c = if first { l } else { fold.merge(l, *c) };
            }
            first = false;
        }
        if first {
            self.carry[..self.width].fill(self.identity);
        }
        &self.carry[..self.width]
    }
}

/// One result, the reduced elements one after another.
struct Along<'a, F: Fold> {
    fold: &'a F,
    src: &'a [F::In],
    reduced: &'a Walk,
    range: std::ops::Range<usize>,
    cascade: &'a mut Cascade<F>,
}

impl<F: Fold> Loop for Along<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Along { fold, src, reduced, range, cascade } = self;
        let (n, step) = (reduced.sizes[0], reduced.src[0]);
        let mut lanes = [fold.identity(); LANES];
        let mut taken = 0;
        let mut at = range.start;
        while at < range.end {
            // As far as this row, this chunk and this block go.
            let length = (n - at % n).min(range.end - at).min(LANES * BLOCK - taken);
            let (start, _) = reduced.offsets(at);
            if step == 1 {
                let (whole, rest) = src[start..start + length].as_chunks::<LANES>();
                for chunk in whole {
                    for (lane, &x) in lanes.iter_mut().zip(chunk) {
                        *lane = fold.step(*lane, x);
                    }
                }
                for (lane, &x) in lanes.iter_mut().zip(rest) {
                    *lane = fold.step(*lane, x);
                }
            } else {
                for i in 0..length {
                    lanes[i % LANES] = fold.step(lanes[i % LANES], src[start + i * step]);
                }
            }
            at += length;
            taken += length;
            if taken == LANES * BLOCK || at == range.end {
                cascade.push(fold, &[merged(fold, &mut lanes, taken.min(LANES))]);
                lanes = [fold.identity(); LANES];
                taken = 0;
            }
        }
    }
}

/// The first `used` lanes, merged pairwise.
#[inline(always)]
fn merged<F: Fold>(fold: &F, lanes: &mut [F::Acc; LANES], used: usize) -> F::Acc {
    let mut half = used.next_power_of_two() / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (l, &h) in low.iter_mut().zip(&high[..half]) {
            *l = fold.merge(*l, h);
        }
        half /= 2;
    }
    lanes[0]
}

/// A row of results side by side, one reduced element of all of them after another.
struct Across<'a, F: Fold> {
    fold: &'a F,
    src: &'a [F::In],
    reduced: &'a Walk,
    range: std::ops::Range<usize>,
    width: usize,
    cascade: &'a mut Cascade<F>,
}

impl<F: Fold> Loop for Across<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Across { fold, src, reduced, range, width, cascade } = self;
        let mut accs = [fold.identity(); ROW];
        let mut at = range.start;
        while at < range.end {
            let end = (at + BLOCK).min(range.end);
            accs[..width].fill(fold.identity());
            while at < end {
                // As far as the densest reduced dimension goes.
                let run = (reduced.sizes[0] - at % reduced.sizes[0]).min(end - at);
                let (start, _) = reduced.offsets(at);
                for i in 0..run {
                    let row = &src[start + i * reduced.src[0]..][..width];
                    for (acc, &x) in accs[..width].iter_mut().zip(row) {
                        *acc = fold.step(*acc, x);
                    }
                }
                at += run;
            }
            cascade.push(fold, &accs[..width]);
        }
    }
}
