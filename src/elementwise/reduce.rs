//! Reductions over any set of axes.
//!
//! The elements that make up one result are visited in the order of the source's memory, and cut into chunks whose length
//! depends only on sizes and strides. A chunk is folded block by block. If a reduced axis is dense, a block is folded along
//! it into a fixed number of accumulators; else a row of neighbouring results is accumulated side by side. Blocks and chunks
//! merge pairwise. Results of few elements are folded many in one loop.
//!
//! It does not matter which thread folds a chunk, so the result has the same bits for any number of threads. The error of a
//! sum grows with the logarithm of its length.

use super::map::check_dtype;
use super::reduce_loops::{Cascade, ColumnGroups, FoldAcross, FoldAlong, ShortLines, VECTOR};
use super::run::in_parallel;
use crate::buffer::Buffer;
use crate::dtype::Element;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::memory::try_filled;
use crate::simd;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::SyncPtr;

/// A reduction: accumulators that start at an identity, take elements, and merge.
///
/// `merge` must be associative up to rounding, and `identity` must be neutral. `step` and `merge` need not be commutative,
/// because the order is fixed. Mark the methods `#[inline(always)]`: they are compiled into vector loops.
pub trait Fold: Sync {
    /// Type of the elements.
    type In: Element;
    /// The accumulator.
    type Acc: Copy + Send + Sync;
    /// Type of the result's elements.
    type Out: Element;
    /// The accumulator of no elements.
    fn identity(&self) -> Self::Acc;
    /// The accumulator after one more element.
    fn step(&self, acc: Self::Acc, x: Self::In) -> Self::Acc;
    /// Merges two accumulators.
    fn merge(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of `count` elements.
    fn finish(&self, acc: Self::Acc, count: usize) -> Self::Out;
}

/// Elements of a chunk: the unit of parallel work.
const CHUNK: usize = 32 << 10;
/// Elements that one accumulator takes before it is merged pairwise.
pub(super) const BLOCK: usize = 64;
/// The most results that are accumulated side by side.
pub(super) const ROW: usize = 512;

/// Folds the elements of `x` over `axes`; an empty list means all axes, as in PyTorch. With `keep_dims` the reduced axes stay
/// with size 1. The result is row-major, or has the format that `x` is tagged with.
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
    let dims = reduced_dims(op, x, axes, keep_dims)?;
    let mut dst = FormatRule::Contiguous.empty_result(op, &[x], &dims, F::Out::DTYPE)?;
    reduce_into(op, x, axes, keep_dims, fold, &mut dst)?;
    Ok(dst)
}

/// Sizes of the result of [`reduce`].
pub(crate) fn reduced_dims(
    op: &'static str,
    x: &StridedTensor,
    axes: &[usize],
    keep_dims: bool,
) -> Result<Dims> {
    let is_reduced = reduced_axes(op, x.rank(), axes)?;
    let kept = (0..x.rank()).filter(|&d| keep_dims || !is_reduced[d]);
    Ok(kept.map(|d| if is_reduced[d] { 1 } else { x.dims[d] }).to_dims())
}

/// As [`reduce`], into a tensor of [`reduced_dims`].
pub(crate) fn reduce_into<F: Fold>(
    op: &'static str,
    x: &StridedTensor,
    axes: &[usize],
    keep_dims: bool,
    fold: &F,
    dst: &mut StridedTensor,
) -> Result<()> {
    check_dtype(op, "x", x, F::In::DTYPE)?;
    let is_reduced = reduced_axes(op, x.rank(), axes)?;
    let kept: Dims = (0..x.rank()).filter(|&d| !is_reduced[d]).to_dims();
    let squeezed: Dims = kept.iter().map(|&d| x.dims[d]).to_dims();
    let dst_strides: Dims = match keep_dims {
        true => kept.iter().map(|&d| dst.strides[d]).to_dims(),
        false => dst.strides,
    };
    let Some(out) = dst.data_mut::<F::Out>() else { return Err(Buffer::not_for_writing(op)) };
    let count: usize = (0..x.rank()).filter(|&d| is_reduced[d]).map(|d| x.dims[d]).product();
    if count == 0 {
        out.fill(fold.finish(fold.identity(), 0));
        return Ok(());
    }
    if !squeezed.contains(&0) {
        let plan = ReducePlan::new(x, &is_reduced, &kept, &dst_strides);
        plan.run(op, fold, x.data::<F::In>(), out)?;
    }
    Ok(())
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

/// Loops over some dimensions of the source, densest first and coalesced, with the result's strides along them.
pub(super) struct StridedLoops {
    pub sizes: Vec<usize>,
    pub src: Vec<usize>,
    pub dst: Vec<usize>,
}

impl StridedLoops {
    fn new(of: impl Iterator<Item = (usize, usize, usize)>) -> StridedLoops {
        let mut dims: Vec<_> = of.filter(|&(size, ..)| size != 1).collect();
        dims.sort_by_key(|&(_, src, _)| src);
        let mut loops = StridedLoops { sizes: vec![], src: vec![], dst: vec![] };
        for (size, src, dst) in dims {
            if let (Some(n), Some(s), Some(d)) = (loops.sizes.last_mut(), loops.src.last(), loops.dst.last())
                && src == *s * *n
                && dst == *d * *n
            {
                *n *= size;
                continue;
            }
            loops.sizes.push(size);
            loops.src.push(src);
            loops.dst.push(dst);
        }
        if loops.sizes.is_empty() {
            (loops.sizes, loops.src, loops.dst) = (vec![1], vec![0], vec![0]);
        }
        loops
    }

    pub fn numel(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Offsets in source and result of the `index`-th element that the loops visit.
    #[inline(always)]
    pub fn offsets(&self, mut index: usize) -> (usize, usize) {
        let (mut src, mut dst) = (0, 0);
        for (d, &n) in self.sizes.iter().enumerate() {
            let at = index % n;
            index /= n;
            src += at * self.src[d];
            dst += at * self.dst[d];
        }
        (src, dst)
    }

    /// How many accumulators a short line has: a vector of them if it is dense, else two.
    #[inline(always)]
    pub fn line_accumulators(&self) -> usize {
        if self.src[0] == 1 && self.sizes[0] >= 8 { VECTOR } else { 2 }
    }

    /// The run of elements along the densest dimension from element `at` on, up to `end`: its offset in the source, and its
    /// length. (A closure that is called for each run would not be inlined into the vector loops.)
    #[inline(always)]
    pub fn inner_run(&self, at: usize, end: usize) -> (usize, usize) {
        if self.sizes.len() == 1 {
            return (at * self.src[0], end - at);
        }
        let n = self.sizes[0];
        (self.offsets(at).0, (n - at % n).min(end - at))
    }
}

/// How a reduction is cut into groups of results and chunks of reduced elements.
struct ReducePlan {
    kept: StridedLoops,
    reduced: StridedLoops,
    /// Results that are accumulated side by side, as one group: 1 if a reduced axis is dense, else part of the densest kept
    /// dimension.
    width: usize,
    /// Reduced elements of one chunk.
    chunk: usize,
}

impl ReducePlan {
    fn new(x: &StridedTensor, is_reduced: &[bool], kept: &Dims, dst: &Dims) -> ReducePlan {
        let kept = StridedLoops::new(kept.iter().zip(dst).map(|(&d, &s)| (x.dims[d], x.strides[d], s)));
        let reduced =
            StridedLoops::new((0..x.rank()).filter(|&d| is_reduced[d]).map(|d| (x.dims[d], x.strides[d], 0)));
        let side_by_side = kept.src[0] == 1 && kept.sizes[0] >= 8 && reduced.src[0] != 1;
        let width = if side_by_side { kept.sizes[0].min(ROW) } else { 1 };
        let chunk = (CHUNK / width).max(BLOCK).min(reduced.numel());
        ReducePlan { kept, reduced, width, chunk }
    }

    fn run<F: Fold>(&self, op: &'static str, fold: &F, src: &[F::In], out: &mut [F::Out]) -> Result<()> {
        let count = self.reduced.numel();
        let chunks = count.div_ceil(self.chunk);
        // The densest kept dimension is cut into pieces. Each piece, for each index of the other kept dimensions, is a group.
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
        if self.width == 1 && count <= self.reduced.line_accumulators() * BLOCK {
            let (kept, reduced, out) = (&self.kept, &self.reduced, &out);
            in_parallel(groups, numel, |groups| {
                simd::dispatch(ShortLines { fold, src, kept, reduced, groups, out });
            });
            return Ok(());
        }
        if self.width > 1 && count <= BLOCK {
            let (reduced, group, step, out) = (&self.reduced, &group, self.kept.dst[0], &out);
            in_parallel(groups, numel, |groups| {
                simd::dispatch(ColumnGroups { fold, src, reduced, groups, group, step, out });
            });
            return Ok(());
        }
        let finish = |dst: usize, accs: &[F::Acc]| {
            for (i, &acc) in accs.iter().enumerate() {
                // SAFETY: each group writes its own results, and the offset is that of an element of the result.
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
        let mut partials = try_filled(op, groups * chunks * self.width, fold.identity())?;
        let parts = SyncPtr::new(&mut partials);
        in_parallel(groups * chunks, numel, |range| {
            let mut cascade = Cascade::new(fold, self.width);
            for task in range {
                let (g, c) = (task / chunks, task % chunks);
                let (from, _, width) = group(g);
                let range = c * self.chunk..((c + 1) * self.chunk).min(count);
                let accs = self.fold_chunk(fold, src, from, range, width, &mut cascade);
                for (i, &acc) in accs.iter().enumerate() {
                    // SAFETY: each task writes its own `width` partial results.
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

    /// Folds the reduced elements in `range` of a group of `width` results. `from` is the offset of the group in the source.
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
            simd::dispatch(FoldAlong { fold, src, reduced, range, cascade: &mut *cascade });
        } else {
            simd::dispatch(FoldAcross { fold, src, reduced, range, width, cascade: &mut *cascade });
        }
        cascade.total(fold)
    }
}
