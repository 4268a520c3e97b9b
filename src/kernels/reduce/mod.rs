//! Reductions of blocked tensors, and the checks of axes. The reductions themselves are in `elementwise::reduce`.

pub(crate) mod blocked;
mod channels;

use crate::error::{Call, Result, Text, fail};
use crate::int::Scalars;
use crate::layout::dims::{Dims, MAX_RANK, ToDims};
use crate::op::Args;
use crate::op::params::AxisList;

/// The axes of a reduction, checked.
pub(crate) struct Axes {
    /// The argument that they come from, for errors.
    pub argument: &'static str,
    /// As the caller named them; empty means all.
    pub list: Dims,
    pub is_reduced: [bool; MAX_RANK],
}

impl Axes {
    /// The axes that the argument names of the first tensor, counted from the front.
    pub fn new(args: &Args<'_>, argument: &'static str, list: &AxisList) -> Result<Axes> {
        let rank = args.tensor(0)?.dims().len();
        let list = list.among(args.op(), argument, rank, Scalars::HaveOneAxis)?;
        let mut is_reduced = [false; MAX_RANK];
        is_reduced[..rank].fill(list.is_empty());
        for &axis in &list {
            if std::mem::replace(&mut is_reduced[axis], true) {
                let rule = format!("axis {axis} is there twice");
                fail!(InvalidArgument, args.op(), argument, list.to_string(), rule, "name each axis once");
            }
        }
        // The one axis of a scalar is no dimension.
        let list = if rank == 0 { Dims::EMPTY } else { list };
        Ok(Axes { argument, list, is_reduced })
    }

    /// `InvalidArgument` if a reduced axis has size 0: no elements have no extreme.
    pub fn check_not_empty(&self, args: &Args<'_>) -> Result<()> {
        let x = args.tensor(0)?;
        let empty = (0..x.dims().len()).find(|&d| self.is_reduced[d] && x.dims()[d] == 0);
        let Some(axis) = empty else { return Ok(()) };
        fail!(
            InvalidArgument,
            args.op(),
            self.argument,
            format!("axis {axis} of {}", x.describe()),
            "it is empty, and no elements have no extreme",
            "reduce axes that are not empty"
        )
    }

    /// `OpaqueLayout` without `keepdim`: the axes of a blocked tensor are part of its layout.
    pub fn check_keepdim(&self, args: &Args<'_>, keepdim: bool) -> Result<()> {
        if keepdim {
            return Ok(());
        }
        let axes = if self.list.is_empty() { "all axes".into() } else { format!("axes {}", self.list) };
        fail!(
            OpaqueLayout,
            args.op(),
            "keepdim",
            format!("false for x {}", args.tensor(0)?.describe()),
            format!("{axes} cannot be taken out of a blocked layout"),
            Text::from("pass keepdim = true, or reorder with ") + Call::ToAnyStrided + " first"
        )
    }

    /// The sizes of the result with every axis kept: 1 where reduced.
    pub fn kept_sizes(&self, dims: &[usize]) -> Dims {
        dims.iter().zip(self.is_reduced).map(|(&d, reduced)| if reduced { 1 } else { d }).to_dims()
    }
}
