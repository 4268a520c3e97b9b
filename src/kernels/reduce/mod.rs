//! Reductions of blocked tensors, and what is folded.

pub(crate) mod blocked;
mod channels;
pub(crate) mod folds;

use crate::error::{Result, fail};
use crate::layout::dims::{Dims, MAX_RANK, ToDims};
use crate::op::Args;

/// The axes of a reduction, checked.
pub(crate) struct Axes {
    /// As they were named; none for all.
    pub list: Dims,
    pub is_reduced: [bool; MAX_RANK],
}

impl Axes {
    /// Those of argument `i`.
    pub fn new(args: &Args<'_>, i: usize) -> Result<Axes> {
        let (list, rank) = (args.sizes(i)?, args.tensor(0)?.dims().len());
        let mut is_reduced = [false; MAX_RANK];
        is_reduced[..rank].fill(list.is_empty());
        for &axis in &list {
            let rule = match is_reduced.get_mut(axis).filter(|_| axis < rank) {
                Some(reduced) if !*reduced => {
                    *reduced = true;
                    continue;
                }
                Some(_) => format!("axis {axis} is there twice"),
                None => format!("the tensor has rank {rank}"),
            };
            fail!(
                InvalidArgument,
                args.op(),
                args.name(i),
                list.to_string(),
                rule,
                "name axes that are there, each once, or none for all"
            );
        }
        Ok(Axes { list, is_reduced })
    }

    /// No elements have no extreme.
    pub fn check_not_empty(&self, args: &Args<'_>) -> Result<()> {
        let x = args.tensor(0)?;
        let empty = (0..x.dims().len()).find(|&d| self.is_reduced[d] && x.dims()[d] == 0);
        let Some(axis) = empty else { return Ok(()) };
        fail!(
            InvalidArgument,
            args.op(),
            args.name(1),
            format!("axis {axis} of {}", x.describe()),
            "it is empty, and no elements have no extreme",
            "reduce axes that are not empty"
        )
    }

    /// The axes of a blocked tensor are part of its layout.
    pub fn check_keepdim(&self, args: &Args<'_>, keepdim: bool) -> Result<()> {
        if keepdim {
            return Ok(());
        }
        fail!(
            OpaqueLayout,
            args.op(),
            "keepdim",
            format!("false for x {}", args.tensor(0)?.describe()),
            format!("axes {} cannot be taken out of a blocked layout", self.list),
            "pass keepdim = true, or reorder with `to_strided` first"
        )
    }

    /// The sizes of the result, reduced axes as 1.
    pub fn kept_sizes(&self, dims: &[usize]) -> Dims {
        dims.iter().zip(self.is_reduced).map(|(&d, reduced)| if reduced { 1 } else { d }).to_dims()
    }
}
