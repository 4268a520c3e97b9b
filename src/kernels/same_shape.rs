//! Operand and result of an op that keeps shape and layout, for strided and blocked tensors.

use crate::dtype::Element;
use crate::error::{Result, fail};
use crate::kernels::lanes::Lanes;
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::op::{Args, KernelResult, Results};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// A dense operand, and a result of the same sizes and the same strides or layout.
pub(crate) enum OperandAndResult<'r> {
    Strided(StridedTensor, &'r mut StridedTensor),
    Blocked(BlockedTensor, &'r mut BlockedTensor),
}

impl<'r> OperandAndResult<'r> {
    /// Operand 0, and a result of **unspecified** content. A strided operand that is not dense in the format that the rule gives
    /// to the result is copied; the ledger counts the copy.
    pub fn new(
        args: &Args<'_>,
        results: &'r mut Results<'_>,
        rule: FormatRule,
    ) -> KernelResult<OperandAndResult<'r>> {
        if args.key() == DispatchKey::BLOCKED {
            let x = args.blocked(0)?;
            let dst = results.blocked(x.dims(), x.layout(), x.dtype())?;
            return Ok(OperandAndResult::Blocked(x.clone(), dst));
        }
        let x = args.strided(0)?;
        let dst = results.by_rule(rule, &[x], x.dims(), x.dtype())?;
        Ok(OperandAndResult::Strided(x.dense_at(args.op(), format_of(dst), args.location())?, dst))
    }

    /// The view of the operand, and of the result. For ranks 2 to 5.
    pub fn lanes(&self, op: &'static str) -> Result<Lanes> {
        match self {
            OperandAndResult::Blocked(x, _) => Lanes::of_blocked(op, x),
            OperandAndResult::Strided(_, dst) => strided_lanes(op, dst),
        }
    }

    /// The layout; `None` for strided tensors.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            OperandAndResult::Blocked(x, _) => Some(x.layout()),
            OperandAndResult::Strided(..) => None,
        }
    }

    /// The dimensions in the order of memory, outermost first: row-major or channels-last. For strided tensors; empty for blocked
    /// ones.
    pub fn memory_order(&self) -> Dims {
        let OperandAndResult::Strided(_, dst) = self else { return Dims::EMPTY };
        let rank = dst.rank();
        if format_of(dst) == MemoryFormat::Contiguous {
            return (0..rank).to_dims();
        }
        std::iter::once(0).chain(2..rank).chain(std::iter::once(1)).to_dims()
    }

    /// The elements of the operand and of the result.
    pub fn slices<E: Element>(&mut self) -> (&[E], &mut [E]) {
        match self {
            OperandAndResult::Strided(x, dst) => (x.data(), dst.result_data()),
            OperandAndResult::Blocked(x, dst) => {
                (x.data(), bytemuck::cast_slice_mut(dst.storage_bytes_mut()))
            }
        }
    }

    /// The name of the layout or format, for the ledger.
    pub fn layout_name(&self) -> String {
        match self {
            OperandAndResult::Strided(_, dst) => dst.format_name(),
            OperandAndResult::Blocked(x, _) => x.layout().to_string(),
        }
    }
}

/// The format of a dense result: channels-last if its strides are those of channels-last, else row-major.
pub(crate) fn format_of(dst: &StridedTensor) -> MemoryFormat {
    MemoryFormat::of_dense(dst.dims(), dst.strides())
}

/// The view of a dense strided tensor of rank 2 to 5.
pub(crate) fn strided_lanes(op: &'static str, t: &StridedTensor) -> Result<Lanes> {
    match Lanes::of_strided(t) {
        Some(view) => Ok(view.with_points_as_lanes()),
        None => fail!(
            RankMismatch,
            op,
            "x",
            format!("{:?} {}", t.dims(), t.format_name()),
            "it has images and channels, and at most three spatial dimensions: rank 2 to 5",
            "reshape it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn lanes_need_rank_2_to_5() {
        for rank in 0..=crate::MAX_RANK {
            let t = StridedTensor::full(&vec![2; rank], 1f32, MemoryFormat::Contiguous).unwrap();
            match strided_lanes("test", &t) {
                Ok(_) => assert!((2..=5).contains(&rank), "rank {rank}"),
                Err(Error::RankMismatch(_)) => assert!(!(2..=5).contains(&rank), "rank {rank}"),
                Err(e) => panic!("rank {rank}: {e}"),
            }
        }
    }
}
