//! Where elements lie: one function of the index for each dimension, to be summed.

use crate::layout::blocked::Layout;
use crate::layout::dims::{Dims, ToDims};

/// Where index `i` of one dimension lies, in **elements**, beside what the other dimensions add.
///
/// Never decreasing in `i`: the digits of `i` have steps that grow with their weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Map {
    /// Step between blocks; between elements where there are no blocks.
    pub stride: usize,
    /// Elements of this dimension in one block; 1 where there are none.
    pub block: usize,
    /// The inner blocks along this dimension as (size, step), outermost first.
    pub digits: Vec<(usize, usize)>,
}

impl Map {
    /// The map of a dimension of size 1.
    pub(super) fn scalar() -> Map {
        Map { stride: 0, block: 1, digits: Vec::new() }
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

    /// How many consecutive elements lie next to each other, starting at any multiple of that number; 1 where
    /// none do. `size` is the size of the dimension.
    pub(super) fn run(&self, size: usize) -> usize {
        match self.digits.last() {
            None if self.stride == 1 => size,
            Some(&(run, 1)) => run,
            _ => 1,
        }
    }
}

/// One dimension of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub size: usize,
    pub src: Map,
    pub dst: Map,
}

/// One of the two maps of a dimension.
pub(super) type Side = fn(&Pair) -> &Map;

impl Pair {
    /// The size with the padding of the result.
    pub(super) fn padded(&self) -> usize {
        self.size.next_multiple_of(self.dst.block)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.src.is_plain() && self.dst.is_plain()
    }
}

/// The maps of strided elements, dimension by dimension.
pub(super) fn of_strides(strides: &[usize]) -> Vec<Map> {
    strides.iter().map(|&stride| Map { stride, block: 1, digits: Vec::new() }).collect()
}

/// The maps of a layout, dimension by dimension.
pub(super) fn of_layout(layout: &Layout, dims: &[usize]) -> Vec<Map> {
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

/// The dimensions of a copy, none of them empty: those of size 1 dropped, and those merged that both sides step
/// through as one.
pub(super) fn pairs(dims: &[usize], src: Vec<Map>, dst: Vec<Map>) -> Vec<Pair> {
    assert!(src.len() == dims.len() && dst.len() == dims.len(), "one map for each of {}", dims.len());
    let mut pairs: Vec<Pair> = dims
        .iter()
        .zip(src.into_iter().zip(dst))
        .map(|(&size, (src, dst))| Pair { size, src, dst })
        .filter(|p| p.size != 1 || !p.is_plain())
        .collect();
    while let Some((outer, inner)) = mergeable(&pairs) {
        pairs[inner].size *= pairs[outer].size;
        pairs.remove(outer);
    }
    pairs
}

fn mergeable(pairs: &[Pair]) -> Option<(usize, usize)> {
    let plain = || pairs.iter().enumerate().filter(|(_, p)| p.is_plain());
    plain().find_map(|(o, outer)| {
        plain()
            .find(|(i, inner)| {
                *i != o
                    && outer.src.stride == inner.src.stride * inner.size
                    && outer.dst.stride == inner.dst.stride * inner.size
            })
            .map(|(i, _)| (o, i))
    })
}

/// The sizes, as a list.
pub(super) fn sizes(pairs: &[Pair]) -> Dims {
    pairs.iter().map(|p| p.size).to_dims()
}
