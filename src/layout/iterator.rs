//! The shape and strides of an element-wise result: PyTorch's `TensorIterator`.
//!
//! **Broadcasting.** Shapes are aligned at their last dimension; a missing dimension or one of size 1 takes the other's size.
//! An operand's stride counts as 0 along a dimension in which it is stretched. Along a size of 1 that stays 1, the operand's
//! own stride counts.
//!
//! **Fast set-up**, if all operands have the same shape. The first row that holds decides:
//!
//! | all operands are | the result's strides |
//! |---|---|
//! | contiguous | contiguous |
//! | contiguous as channels-last (rank 4) | channels-last |
//! | non-overlapping and dense, with equal strides | the same strides |
//!
//! So if a tensor is contiguous both ways (C = 1, or H = W = 1), the result is contiguous. Rank 5 has no row of its own: its
//! channels-last tensors match the third.
//!
//! **Permutation**, in every other case. An insertion sort orders the dimensions, last first. It compares two dimensions by
//! the operands in order; the first operand that can distinguish them decides:
//!
//! | the operand's two strides | outcome |
//! |---|---|
//! | one of them is 0 (stretched, or expanded by the user) | ask the next operand |
//! | different | the smaller one is the denser dimension |
//! | equal, and the earlier (so far denser) dimension is larger | swap them |
//! | equal otherwise | ask the next operand |
//!
//! If no operand decides, the pair stays as it is, and the sort continues past it. The result is dense in that order. If the
//! order is row-major, the strides are exactly those of a contiguous tensor; otherwise a size of 0 makes all further strides
//! 0.
//!
//! **Which operand wins** follows from these rules:
//!
//! | operands | the result follows |
//! |---|---|
//! | one full-size, the others stretched everywhere they have an opinion | the full-size one, wherever it stands |
//! | two of the same shape in different formats | the first |
//! | the first has stride 0 in a dimension | the first for the other dimensions, the next for this one |

use super::dims::{Dims, ToDims};
use super::memory_format::{MemoryFormat, check_extent, is_contiguous, is_non_overlapping_and_dense};
use crate::error::{Result, fail};

/// Sizes and strides (in **elements**) of one operand.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub dims: &'a [usize],
    pub strides: &'a [usize],
}

/// The operands' common shape. PyTorch's `infer_size`.
///
/// # Errors
/// `ShapeMismatch` if two sizes differ and neither is 1; `Overflow`.
pub(crate) fn broadcast(op: &'static str, operands: &[Operand<'_>]) -> Result<Dims> {
    let rank = operands.iter().map(|o| o.dims.len()).max().unwrap_or(0);
    let mut shape = Dims::filled(1, rank);
    for (which, operand) in operands.iter().enumerate() {
        let first = rank - operand.dims.len();
        for (i, &size) in operand.dims.iter().enumerate() {
            let so_far = &mut shape[first + i];
            if *so_far == 1 {
                *so_far = size;
            } else if size != 1 && size != *so_far {
                let shapes: Vec<_> = operands.iter().map(|o| format!("{:?}", o.dims)).collect();
                fail!(
                    ShapeMismatch,
                    op,
                    format!("operand {which}"),
                    format!("size {size} at axis {i}"),
                    format!(
                        "axis {} of the result already has size {so_far}, and only size 1 stretches (shapes {})",
                        first + i,
                        shapes.join(", ")
                    ),
                    "pass shapes that broadcast"
                );
            }
        }
    }
    check_extent(op, &shape)?;
    Ok(shape)
}

/// An operand's strides for the common shape: 0 where it is stretched.
pub(crate) fn stretched(shape: &[usize], operand: Operand<'_>) -> Dims {
    let mut strides = Dims::filled(0, shape.len());
    let first = shape.len() - operand.dims.len();
    for (i, (&size, &stride)) in operand.dims.iter().zip(operand.strides).enumerate() {
        let is_stretched = size == 1 && shape[first + i] != 1;
        strides[first + i] = if is_stretched { 0 } else { stride };
    }
    strides
}

/// The dimensions from densest to outermost, by the insertion sort of the module's second table.
pub(crate) fn order(shape: &[usize], strides: &[&[usize]]) -> Dims {
    use std::cmp::Ordering;
    // Greater: `a`, now the denser of the two, belongs behind `b`. Equal: no operand decides.
    let compare = |a: usize, b: usize| {
        for s in strides {
            let (sa, sb) = (s[a], s[b]);
            if sa == 0 || sb == 0 {
                continue;
            }
            match sa.cmp(&sb) {
                Ordering::Equal if shape[a] > shape[b] => return Ordering::Greater,
                Ordering::Equal => {}
                decided => return decided,
            }
        }
        Ordering::Equal
    };
    let mut order: Dims = (0..shape.len()).rev().to_dims();
    for i in 1..order.len() {
        let mut at = i;
        for j in (0..i).rev() {
            match compare(order[j], order[at]) {
                Ordering::Greater => {
                    order.swap(j, at);
                    at = j;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    order
}

/// Shape and strides of an element-wise op's result for these operands.
///
/// # Errors
/// As [`broadcast`].
pub(crate) fn result(op: &'static str, operands: &[Operand<'_>]) -> Result<(Dims, Dims)> {
    let shape = broadcast(op, operands)?;
    let same_shape = operands.iter().all(|o| *o.dims == *shape);
    if same_shape && let Some(strides) = fast_set_up(op, &shape, operands)? {
        return Ok((shape, strides));
    }
    let stretched: Vec<Dims> = operands.iter().map(|&o| stretched(&shape, o)).collect();
    let slices: Vec<&[usize]> = stretched.iter().map(|s| s.as_slice()).collect();
    let order = order(&shape, &slices);
    if order.iter().rev().copied().eq(0..shape.len()) {
        return Ok((shape, MemoryFormat::Contiguous.strides(op, &shape)?));
    }
    let mut strides = Dims::filled(0, shape.len());
    let mut step = 1usize;
    for &d in &order {
        strides[d] = step;
        step *= shape[d];
    }
    Ok((shape, strides))
}

fn fast_set_up(op: &'static str, shape: &Dims, operands: &[Operand<'_>]) -> Result<Option<Dims>> {
    for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
        if operands.iter().all(|o| is_contiguous(o.dims, o.strides, format)) {
            return format.strides(op, shape).map(Some);
        }
    }
    let Some(first) = operands.first() else { return Ok(None) };
    let equal = operands.iter().all(|o| o.strides == first.strides);
    let dense = equal && is_non_overlapping_and_dense(first.dims, first.strides);
    Ok(dense.then(|| Dims::from_slice(first.strides)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(dims: &'a [usize], strides: &'a [usize]) -> Operand<'a> {
        Operand { dims, strides }
    }

    #[test]
    fn the_full_size_operand_wins_wherever_it_stands() {
        let full = of(&[2, 3, 4, 5], &[60, 1, 15, 3]);
        let bias = of(&[3, 1, 1], &[1, 1, 1]);
        for operands in [[full, bias], [bias, full]] {
            let (shape, strides) = result("add", &operands).unwrap();
            assert_eq!((&*shape, &*strides), (&[2, 3, 4, 5][..], &[60, 1, 15, 3][..]));
        }
    }

    #[test]
    fn of_two_formats_the_first_wins() {
        let nchw = of(&[2, 3, 4, 5], &[60, 20, 5, 1]);
        let nhwc = of(&[2, 3, 4, 5], &[60, 1, 15, 3]);
        assert_eq!(&*result("add", &[nchw, nhwc]).unwrap().1, nchw.strides);
        assert_eq!(&*result("add", &[nhwc, nchw]).unwrap().1, nhwc.strides);
    }

    #[test]
    fn shapes_that_do_not_broadcast_are_an_error_that_names_them() {
        let e = result("add", &[of(&[2, 3], &[3, 1]), of(&[4], &[1])]).unwrap_err();
        let text = e.to_string();
        for part in ["add", "operand 1", "size 4", "[2, 3], [4]", "broadcast"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
    }
}
