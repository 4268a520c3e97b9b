//! The memory format of an op's result, as determined by its operands.
//!
//! | rule | PyTorch's ops | format of the result |
//! |---|---|---|
//! | `Suggested` | pooling, resampling, padding, pixel and channel shuffle, group norm | `suggest_memory_format` of the first operand |
//! | `AnySuggests` | convolution, transposed convolution (operands: source, weights) | channels-last when any operand suggests it |
//! | `AllSuggest` | cat | channels-last when every operand suggests it |
//! | `ElementWise` | unary and binary ops, batch norm, dropout, feature dropout | `TensorIterator`'s strides over all operands |
//! | `Like` | clone, prelu, `empty_like` | `empty_like(preserve)` of the first operand |
//! | `Contiguous` | softmax, log-softmax, layer norm, instance norm, mean, sum, amax | row-major |
//!
//! **Tags.** Whatever the rule, the first operand of the result's rank that has a format tag decides, and the result gets
//! that tag. So a softmax, or a stage with one channel or one pixel, does not lose the format.

use super::desc::TensorDesc;
use super::formats::stated_only;
use super::strided::StridedTensor;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, Operand};
use crate::layout::memory_format::{MemoryFormat, like};

/// How the operands of an op determine the memory format of its result.
///
/// A format tag on an operand of the result's rank takes precedence over the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatRule {
    /// The format that the first operand suggests: pooling, resampling, padding, shuffles, group norm.
    Suggested,
    /// Channels-last if any operand suggests it: a convolution's source or weights.
    AnySuggests,
    /// Channels-last if every operand suggests it: `cat`.
    AllSuggest,
    /// The strides that PyTorch's `TensorIterator` infers from all operands: element-wise ops, batch norm,
    /// dropout.
    ElementWise,
    /// The strides of `empty_like(preserve)` of the first operand: `prelu`.
    Like,
    /// Row-major: softmax, layer norm, instance norm, reductions.
    Contiguous,
}

impl FormatRule {
    /// Strides (in **elements**) and format tag of a result with sizes `dims`.
    ///
    /// # Shapes
    /// For `ElementWise`, `dims` are the operands' common shape; for `Like`, the first operand's sizes; otherwise any.
    ///
    /// # Errors
    /// `InvalidArgument` without operands; `ShapeMismatch` if `dims` are not as above; `Overflow`. A channels-last format of
    /// another rank than the result's is ignored.
    pub fn strides(
        self,
        op: &'static str,
        operands: &[&StridedTensor],
        dims: &[usize],
    ) -> Result<(Dims, Option<MemoryFormat>)> {
        let Some(first) = operands.first() else {
            fail!(
                InvalidArgument,
                op,
                "operands",
                "none",
                "a result follows its operands",
                "pass at least one"
            )
        };
        let tag = operands.iter().filter(|o| o.rank() == dims.len()).find_map(|o| o.format_tag);
        let mut suggested = operands.iter().map(|o| o.suggest_memory_format(false));
        let is_last = |f: &MemoryFormat| *f != MemoryFormat::Contiguous;
        let format = match self {
            FormatRule::ElementWise => {
                let views: Vec<Operand<'_>> = operands.iter().map(|o| o.operand()).collect();
                let (shape, strides) = iterator::result(op, &views)?;
                check_same(op, &shape, dims)?;
                return match tag {
                    Some(t) => Ok((t.strides(op, dims)?, tag)),
                    None => Ok((strides, None)),
                };
            }
            FormatRule::Like => {
                check_same(op, &first.dims, dims)?;
                return match tag {
                    Some(t) => Ok((t.strides(op, dims)?, tag)),
                    None => Ok((like(op, dims, &first.strides, MemoryFormat::Preserve)?, None)),
                };
            }
            FormatRule::Suggested => first.suggest_memory_format(false),
            FormatRule::AnySuggests => suggested.find(is_last).unwrap_or(MemoryFormat::Contiguous),
            FormatRule::AllSuggest => {
                let format = first.suggest_memory_format(false);
                if suggested.all(|f| f == format) { format } else { MemoryFormat::Contiguous }
            }
            FormatRule::Contiguous => MemoryFormat::Contiguous,
        };
        let format = tag.or(Some(format).filter(|f| f.fits(dims.len()))).unwrap_or(MemoryFormat::Contiguous);
        Ok((format.strides(op, dims)?, tag.or(stated_only(format))))
    }

    /// The descriptor of a result with sizes `dims`.
    ///
    /// # Errors
    /// As [`strides`](Self::strides).
    pub(crate) fn desc(
        self,
        op: &'static str,
        operands: &[&StridedTensor],
        dims: &[usize],
        dtype: DType,
    ) -> Result<TensorDesc> {
        let (strides, tag) = self.strides(op, operands, dims)?;
        Ok(TensorDesc::of_strides(Dims::new(op, "dims", dims)?, strides, tag, dtype))
    }

    /// A new tensor with sizes `dims` whose content is **unspecified**: the caller writes every element.
    ///
    /// # Errors
    /// As [`strides`](Self::strides), and `OutOfMemory`.
    pub fn empty_result(
        self,
        op: &'static str,
        operands: &[&StridedTensor],
        dims: &[usize],
        dtype: DType,
    ) -> Result<StridedTensor> {
        let (strides, tag) = self.strides(op, operands, dims)?;
        let result = StridedTensor::for_result(op, Dims::new(op, "dims", dims)?, strides, dtype)?;
        Ok(StridedTensor { format_tag: tag, ..result })
    }
}

impl StridedTensor {
    pub(crate) fn operand(&self) -> Operand<'_> {
        Operand { dims: &self.dims, strides: &self.strides }
    }
}

fn check_same(op: &'static str, rule: &[usize], dims: &[usize]) -> Result<()> {
    if rule == dims {
        return Ok(());
    }
    fail!(
        ShapeMismatch,
        op,
        "dims",
        format!("{dims:?}"),
        format!("the operands give {rule:?}"),
        "pass the sizes that the operands give"
    )
}
