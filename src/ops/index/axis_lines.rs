//! The lines of a tensor along one axis: running sums, gathers and sorts treat each line by itself.

use crate::error::Result;
use crate::kernels::lanes::for_each_chunk;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::op::Args;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Runs `work` on the lines of `x`, and records it in the ledger.
pub(crate) fn timed(args: &Args<'_>, x: &StridedTensor, work: impl FnOnce() -> Result<()>) -> Result<()> {
    crate::kernels::timed(args, "blocktensor:lines", || x.format_name(), work)
}

/// The lines of a tensor along one axis, in the logical order of the other axes.
pub(crate) struct AxisLines {
    /// Sizes and strides of the other axes.
    outer_dims: Dims,
    outer_strides: Dims,
    /// Elements of a line.
    pub length: usize,
    /// The stride along a line, in **elements**.
    pub stride: usize,
}

impl AxisLines {
    pub fn new(x: &StridedTensor, axis: usize) -> AxisLines {
        let (mut outer_dims, mut outer_strides) = (x.dims, x.strides);
        // A scalar is one line of one element.
        let (length, stride) = match x.rank() {
            0 => (1, 1),
            _ => (outer_dims.remove(axis), outer_strides.remove(axis)),
        };
        AxisLines { outer_dims, outer_strides, length, stride }
    }

    /// The same lines, of which only those at the positions of `other`'s lines are numbered.
    pub fn at_positions_of(self, other: &AxisLines) -> AxisLines {
        AxisLines { outer_dims: other.outer_dims, ..self }
    }

    /// The offset of line `i`, in **elements**.
    pub fn offset(&self, i: usize) -> usize {
        let mut rest = i;
        self.outer_dims.iter().zip(&self.outer_strides).rev().fold(0, |offset, (&d, &s)| {
            let index = rest % d;
            rest /= d;
            offset + index * s
        })
    }

    /// The offset of the line that is at the position of line `i` of `other`, or `None` if it is beyond these lines.
    fn offset_at(&self, other: &AxisLines, i: usize) -> Option<usize> {
        let (mut rest, mut offset) = (i, 0);
        for (axis, &d) in other.outer_dims.iter().enumerate().rev() {
            let index = rest % d;
            rest /= d;
            if index >= self.outer_dims[axis] {
                return None;
            }
            offset += index * self.outer_strides[axis];
        }
        Some(offset)
    }

    /// A contiguous tensor with one line of `length` elements for each of these lines. `f(i, line)` writes line `i`; the
    /// threads share the lines. The axis of the lines is the last.
    pub fn map<E: crate::Element>(
        &self,
        op: &'static str,
        length: usize,
        f: impl Fn(usize, &mut [E]) + Sync,
    ) -> Result<StridedTensor> {
        let mut dims = self.outer_dims;
        dims.push(length);
        let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
        let mut out = StridedTensor::for_result(op, dims, strides, E::DTYPE)?;
        let numel = out.numel();
        if numel > 0 {
            for_each_chunk(&mut out.result_data::<E>()[..numel], length, f);
        }
        Ok(out)
    }
}

/// The size of an axis. The one axis of a scalar has one index.
pub(crate) fn axis_size(dims: &[usize], axis: usize) -> usize {
    dims.get(axis).copied().unwrap_or(1)
}

/// Copies lines, whose axis is the last of `lines`, to axis `axis` of `dst`.
pub(crate) fn copy_lines(
    op: &'static str,
    lines: &StridedTensor,
    axis: usize,
    dst: &mut StridedTensor,
) -> Result<()> {
    if dst.rank() == 0 {
        return crate::elementwise::copy_into(op, dst, &lines.select(0, 0)?);
    }
    let last = lines.rank() - 1;
    let order: Vec<usize> = (0..last).take(axis).chain([last]).chain(axis..last).collect();
    crate::elementwise::copy_into(op, dst, &lines.permute(&order)?)
}

/// The gradient of a selection along `axis` of `x`: each element of `diff` is added where `index`, of the same sizes, says that it
/// came from. The indices are those of `x`.
pub(crate) fn add_at_indices(
    op: &'static str,
    x: &StridedTensor,
    axis: usize,
    index: &StridedTensor,
    diff: &StridedTensor,
) -> Result<StridedTensor> {
    let [x_lines, indices_of, diffs_of] = [x, index, diff].map(|t| AxisLines::new(t, axis));
    let (indices, diffs) = (index.data::<i32>(), diff.data::<f32>());
    let sums = x_lines.map(op, x_lines.length, |i, line: &mut [f32]| {
        line.fill(0.0);
        let places = indices_of.offset_at(&x_lines, i).zip(diffs_of.offset_at(&x_lines, i));
        let Some((index_at, diff_at)) = places else { return };
        for j in 0..indices_of.length {
            let at = indices[index_at + j * indices_of.stride] as usize;
            line[at] += diffs[diff_at + j * diffs_of.stride];
        }
    })?;
    let mut made = FormatRule::Like.empty_result(op, &[x], x.dims(), x.dtype())?;
    copy_lines(op, &sums, axis, &mut made)?;
    Ok(made)
}
