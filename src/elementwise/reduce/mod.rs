//! Reductions over any set of axes, for memory of any layout.
//!
//! A [`Reduction`] states loops: over the results, and over the elements of one result. Strided tensors make one here,
//! blocked tensors in `kernels/reduce`. The elements are visited in the order of the source's memory, and cut into chunks whose
//! length depends only on sizes and strides. A chunk is folded block by block. If reduced elements are neighbours in memory, a
//! block is folded along them into a fixed number of accumulators; else a row of neighbouring results is accumulated side by
//! side. Blocks and chunks merge pairwise. Results of few elements are folded many in one loop.
//!
//! It does not matter which thread folds a chunk, so the result has the same bits for any number of threads. The error of a
//! sum in f32 grows with the logarithm of its length; sums of the library are in f64.

mod argmax;
mod cascade;
mod lines;
mod plan;
mod rows;

pub(crate) use argmax::argmax;
pub(crate) use cascade::merge_lanes;
pub(crate) use plan::{Indices, Part, Reduction};

use super::map::check_dtype;
use crate::buffer::Buffer;
use crate::dtype::Element;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::loops::Loops;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

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
    let reduction = Reduction::of_strided(x, &is_reduced, keep_dims, &dst.strides, Indices::AllZero);
    let Some(out) = dst.data_mut::<F::Out>() else { return Err(Buffer::not_for_writing(op)) };
    if (0..x.rank()).any(|d| is_reduced[d] && x.dims[d] == 0) {
        out.fill(fold.finish(fold.identity(), 0));
    } else if !x.dims.contains(&0) {
        reduction.run(op, fold, x.data::<F::In>(), out)?;
    }
    Ok(())
}

/// The row-major index of the largest element, the first of equal ones. There are elements.
pub(crate) fn argmax_of(op: &'static str, x: &StridedTensor) -> Result<usize> {
    let all = [true; crate::MAX_RANK];
    argmax(op, &Reduction::of_strided(x, &all, false, &Dims::EMPTY, Indices::RowMajor), x.data())
}

impl Reduction {
    /// The reduction of a strided tensor to a result with these strides, which has the reduced axes only with `keep_dims`.
    fn of_strided(
        x: &StridedTensor,
        is_reduced: &[bool],
        keep_dims: bool,
        dst: &Dims,
        indices: Indices,
    ) -> Reduction {
        let (mut kept, mut reduced) = (vec![], vec![]);
        let (mut to, mut index) = (dst.len(), indices.first_weight());
        for d in (0..x.rank()).rev() {
            to -= usize::from(keep_dims || !is_reduced[d]);
            if is_reduced[d] {
                reduced.push((x.dims[d], [x.strides[d], index]));
                index *= x.dims[d];
            } else {
                kept.push((x.dims[d], [x.strides[d], dst[to]]));
            }
        }
        // Of two equal strides, the first axis is visited first.
        kept.reverse();
        reduced.reverse();
        let part = Part { base: 0, index: 0, loops: Loops::densest_first(reduced) };
        Reduction { kept: Loops::densest_first(kept), parts: vec![part], tail: 0 }
    }
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
