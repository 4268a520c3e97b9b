//! The map of one axis: from each index of the result to an index of the source, or to the fill value.

use std::ops::Range;

/// Where the indices of one axis of the result come from.
pub(crate) enum AxisMap<'a> {
    /// Ranges of indices, in the order of the result.
    Ranges(Vec<MappedRange>),
    /// For each index of the result one index of the source.
    List(&'a [i32]),
}

/// Consecutive indices of the result that come from evenly spaced indices of the source.
pub(crate) struct MappedRange {
    dst: Range<usize>,
    src: Option<Progression>,
}

/// Evenly spaced indices or offsets. Where it is optional, `None` stands for the fill value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progression {
    pub first: usize,
    pub step: isize,
}

impl Progression {
    /// Term `i`.
    pub fn at(self, i: usize) -> usize {
        self.first.wrapping_add_signed(self.step.wrapping_mul(i as isize))
    }
}

impl AxisMap<'_> {
    /// The map of an axis of size 0. [`fill`](Self::fill) and [`indices`](Self::indices) append to it.
    pub fn new() -> Self {
        AxisMap::Ranges(Vec::new())
    }

    /// Appends `len` indices that get the fill value.
    pub fn fill(self, len: usize) -> Self {
        self.then(len, None)
    }

    /// Appends `len` indices that come from `first`, `first + step` and so on.
    pub fn indices(self, first: usize, step: isize, len: usize) -> Self {
        self.then(len, Some(Progression { first, step }))
    }

    fn then(mut self, len: usize, src: Option<Progression>) -> Self {
        let start = self.size();
        if let (AxisMap::Ranges(ranges), 1..) = (&mut self, len) {
            ranges.push(MappedRange { dst: start..start + len, src });
        }
        self
    }

    /// The axis's size in the result.
    pub fn size(&self) -> usize {
        match self {
            AxisMap::Ranges(ranges) => ranges.last().map_or(0, |r| r.dst.end),
            AxisMap::List(list) => list.len(),
        }
    }

    /// The most calls that [`for_each_range`](Self::for_each_range) makes for the whole axis.
    pub fn max_ranges(&self) -> usize {
        match self {
            AxisMap::Ranges(ranges) => ranges.len(),
            AxisMap::List(list) => list.len(),
        }
    }

    /// The source's index for index `i` of the result; `None` is the fill value.
    pub fn get(&self, i: usize) -> Option<usize> {
        match self {
            AxisMap::Ranges(ranges) => {
                let range = &ranges[ranges.partition_point(|r| r.dst.end <= i)];
                range.src.map(|src| src.at(i - range.dst.start))
            }
            AxisMap::List(list) => Some(list[i] as usize),
        }
    }

    /// Calls `f(len, source indices)` for the ranges that make up `part` of the axis, in order.
    pub fn for_each_range(&self, part: Range<usize>, mut f: impl FnMut(usize, Option<Progression>)) {
        match self {
            AxisMap::Ranges(ranges) => {
                let first = ranges.partition_point(|r| r.dst.end <= part.start);
                for r in ranges[first..].iter().take_while(|r| r.dst.start < part.end) {
                    let (start, end) = (r.dst.start.max(part.start), r.dst.end.min(part.end));
                    let src = r.src.map(|src| Progression { first: src.at(start - r.dst.start), ..src });
                    f(end - start, src);
                }
            }
            AxisMap::List(list) => {
                for run in list[part].chunk_by(|a, b| a.wrapping_add(1) == *b) {
                    f(run.len(), Some(Progression { first: run[0] as usize, step: 1 }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_any_part_agree_with_the_single_indices() {
        let list = [4, 5, 6, 0, 0, 1, 3];
        let ranges = AxisMap::new().fill(2).indices(3, -1, 3).indices(9, 0, 0).indices(7, 0, 2).fill(1);
        for (map, want) in [
            (AxisMap::List(&list), list.map(|i| Some(i as usize)).to_vec()),
            (ranges, vec![None, None, Some(3), Some(2), Some(1), Some(7), Some(7), None]),
        ] {
            assert_eq!(map.size(), want.len());
            assert_eq!((0..want.len()).map(|i| map.get(i)).collect::<Vec<_>>(), want);
            for part in (0..=want.len()).flat_map(|end| (0..end).map(move |start| start..end)) {
                let mut got = Vec::new();
                map.for_each_range(part.clone(), |len, src| {
                    assert!(len > 0);
                    got.extend((0..len).map(|k| src.map(|src| src.at(k))));
                });
                assert_eq!(got, want[part]);
            }
        }
        assert_eq!((AxisMap::new().size(), AxisMap::new().max_ranges()), (0, 0));
    }
}
