//! The offsets of elements: one function of the index for each dimension. The offset of an element is their sum.

use crate::layout::blocked::Layout;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::loops::continues;

/// What index `i` of one dimension adds to the offset of an element, in **elements**.
///
/// Never decreasing in `i`: an inner block is written as a digit of `i`, and digits of a higher weight have larger steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OffsetMap {
    /// Step between blocks; between elements where there are no blocks.
    pub stride: usize,
    /// Elements of this dimension in one block; 1 where there are none.
    pub block: usize,
    /// The inner blocks along this dimension as (size, step), outermost first.
    pub digits: Vec<(usize, usize)>,
}

impl OffsetMap {
    /// The map of a dimension of size 1.
    pub(super) fn scalar() -> OffsetMap {
        OffsetMap { stride: 0, block: 1, digits: Vec::new() }
    }

    pub(super) fn at(&self, i: usize) -> usize {
        if self.block == 1 {
            return i * self.stride;
        }
        let mut rest = i % self.block;
        let mut offset = i / self.block * self.stride;
        for &(size, step) in self.digits.iter().rev() {
            offset += rest % size * step;
            rest /= size;
        }
        offset
    }

    pub(super) fn is_plain(&self) -> bool {
        self.block == 1
    }

    /// How many consecutive indices are adjacent in memory, starting at any multiple of that number; 1 if none are. `size`
    /// is the size of the dimension.
    pub(super) fn dense_run(&self, size: usize) -> usize {
        match self.digits.last() {
            None if self.stride == 1 => size,
            Some(&(run, 1)) => run,
            _ => 1,
        }
    }
}

/// One dimension of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyDim {
    pub size: usize,
    pub src: OffsetMap,
    pub dst: OffsetMap,
}

/// One of the two maps of a dimension.
pub(super) type Side = fn(&CopyDim) -> &OffsetMap;

impl CopyDim {
    /// The size, rounded up to whole blocks of the result.
    pub(super) fn padded(&self) -> usize {
        self.size.next_multiple_of(self.dst.block)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.src.is_plain() && self.dst.is_plain()
    }
}

/// The maps of strided elements, dimension by dimension.
pub(super) fn of_strides(strides: &[usize]) -> Vec<OffsetMap> {
    strides.iter().map(|&stride| OffsetMap { stride, block: 1, digits: Vec::new() }).collect()
}

/// The maps of a layout, dimension by dimension.
pub(super) fn of_layout(layout: &Layout, dims: &[usize]) -> Vec<OffsetMap> {
    let strides = layout.outer_strides(dims).unwrap_or_else(|e| panic!("the tensor's own layout: {e}"));
    let mut maps = of_strides(&strides);
    let mut step = 1;
    for (dim, size) in layout.inner_blocks().rev() {
        maps[dim].digits.insert(0, (size, step));
        maps[dim].block *= size;
        step *= size;
    }
    maps
}

/// The dimensions of a copy. None may be empty. Those of size 1 are dropped, and two are merged when on both sides one
/// continues the other. No `Loops`: these keep the tensor's order, which the outer loops of a copy follow, and blocked ones between them.
pub(super) fn copy_dims(dims: &[usize], src: Vec<OffsetMap>, dst: Vec<OffsetMap>) -> Vec<CopyDim> {
    assert!(src.len() == dims.len() && dst.len() == dims.len(), "one map for each of {}", dims.len());
    let mut list: Vec<CopyDim> = dims
        .iter()
        .zip(src.into_iter().zip(dst))
        .map(|(&size, (src, dst))| CopyDim { size, src, dst })
        .filter(|p| p.size != 1 || !p.is_plain())
        .collect();
    while let Some((outer, inner)) = mergeable(&list) {
        list[inner].size *= list[outer].size;
        list.remove(outer);
    }
    list
}

/// The numbers of two dimensions, outer and inner, that can be merged.
fn mergeable(list: &[CopyDim]) -> Option<(usize, usize)> {
    let plain = || list.iter().enumerate().filter(|(_, p)| p.is_plain());
    plain().find_map(|(o, outer)| {
        plain()
            .find(|(i, inner)| {
                *i != o
                    && continues(outer.src.stride, inner.src.stride, inner.size)
                    && continues(outer.dst.stride, inner.dst.stride, inner.size)
            })
            .map(|(i, _)| (o, i))
    })
}

/// The sizes, as a list.
pub(super) fn sizes(list: &[CopyDim]) -> Dims {
    list.iter().map(|p| p.size).to_dims()
}
