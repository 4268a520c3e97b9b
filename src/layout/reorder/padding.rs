//! The padding of a layout: zeroing it, and checking that it is zero.

use crate::layout::blocked::Layout;

/// Calls `visit` with the ranges of a layout's padding, in **elements**.
///
/// A dimension's padding is in its last block only. For every padded dimension the function goes through the inner blocks that
/// are last along it, in the order of memory. Elements that are padding of two dimensions are visited twice.
fn for_each_padding_range(layout: &Layout, dims: &[usize], mut visit: impl FnMut(std::ops::Range<usize>)) {
    let Ok(extent) = layout.extent("layout", dims) else { return };
    if extent.elements == 0 {
        return;
    }
    let inner = layout.inner_elements();
    for (dim, &size) in dims.iter().enumerate() {
        if extent.padded[dim] == size {
            continue;
        }
        let runs = padding_of_block(layout, dim, size);
        let last = extent.outer_strides[dim];
        let whole = last * (extent.padded[dim] / layout.block_of(dim));
        for start in (0..extent.elements).step_by(whole) {
            for block in (start + whole - last..start + whole).step_by(inner) {
                runs.iter().for_each(|r| visit(block + r.start..block + r.end));
            }
        }
    }
}

/// The padding along `dim` in an inner block that is the last along it, as ranges from the block's start.
fn padding_of_block(layout: &Layout, dim: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    let block = layout.block_of(dim);
    let used = size - (size - 1) / block * block;
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for at in 0..layout.inner_elements() {
        let (mut rest, mut index, mut weight) = (at, 0, 1);
        for (d, n) in layout.inner_blocks().rev() {
            if d == dim {
                index += rest % n * weight;
                weight *= n;
            }
            rest /= n;
        }
        if index >= used {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
    }
    runs
}

/// Writes zeros to the padding of a tensor whose elements have `elem` **bytes**.
pub(crate) fn zero_padding(elem: usize, layout: &Layout, dims: &[usize], data: &mut [u8]) {
    for_each_padding_range(layout, dims, |r| data[r.start * elem..r.end * elem].fill(0));
}

/// The offset of the first padding element that is not zero, in **elements**, if there is one. Every padding byte counts, so a
/// negative zero is not zero.
pub(crate) fn first_dirty_lane(elem: usize, layout: &Layout, dims: &[usize], data: &[u8]) -> Option<usize> {
    let mut first: Option<usize> = None;
    for_each_padding_range(layout, dims, |r| {
        if first.is_none_or(|f| r.start < f)
            && let Some(at) = data[r.start * elem..r.end * elem].iter().position(|&b| b != 0)
        {
            let at = r.start + at / elem;
            first = Some(first.map_or(at, |f| f.min(at)));
        }
    });
    first
}
