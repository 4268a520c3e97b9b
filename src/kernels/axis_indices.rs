//! Where the indices of an axis of a result come from: stretches of the source's indices, or a list of them.

use std::ops::Range;

/// Where the indices of one axis of the result come from.
pub(crate) enum Picks<'a> {
    /// Stretches, in the order of the result.
    Stretches(Vec<Stretch>),
    /// One index of the source for each of the result.
    List(&'a [i32]),
}

/// Consecutive indices of the result.
pub(crate) struct Stretch {
    /// The first of them, and the first that is not one of them.
    at: Range<usize>,
    from: Origin,
}

/// The source's index for the first of them, and the step from each to the next; `None` is the fill.
pub(crate) type Origin = Option<(usize, isize)>;

impl Picks<'_> {
    /// An axis without indices, to which the others add some.
    pub fn new() -> Self {
        Picks::Stretches(Vec::new())
    }

    /// And so many that are filled.
    pub fn fill(self, len: usize) -> Self {
        self.then(len, None)
    }

    /// And so many from an index of the source on, `step` apart.
    pub fn indices(self, first: usize, step: isize, len: usize) -> Self {
        self.then(len, Some((first, step)))
    }

    fn then(mut self, len: usize, from: Origin) -> Self {
        let first = self.size();
        if let (Picks::Stretches(all), 1..) = (&mut self, len) {
            all.push(Stretch { at: first..first + len, from });
        }
        self
    }

    /// The axis's size in the result.
    pub fn size(&self) -> usize {
        match self {
            Picks::Stretches(all) => all.last().map_or(0, |s| s.at.end),
            Picks::List(list) => list.len(),
        }
    }

    /// How many stretches there are at most.
    pub fn stretches(&self) -> usize {
        match self {
            Picks::Stretches(all) => all.len(),
            Picks::List(list) => list.len(),
        }
    }

    /// The source's index for `i`.
    pub fn get(&self, i: usize) -> Option<usize> {
        match self {
            Picks::Stretches(all) => {
                let s = &all[all.partition_point(|s| s.at.end <= i)];
                s.from.map(|from| moved(from, i - s.at.start))
            }
            Picks::List(list) => Some(list[i] as usize),
        }
    }

    /// Calls `f(len, from)` for the stretches of a part of the axis, in their order.
    pub fn for_each(&self, part: Range<usize>, mut f: impl FnMut(usize, Origin)) {
        match self {
            Picks::Stretches(all) => {
                let first = all.partition_point(|s| s.at.end <= part.start);
                for s in all[first..].iter().take_while(|s| s.at.start < part.end) {
                    let (start, end) = (s.at.start.max(part.start), s.at.end.min(part.end));
                    f(end - start, s.from.map(|from| (moved(from, start - s.at.start), from.1)));
                }
            }
            Picks::List(list) => {
                for run in list[part].chunk_by(|a, b| a.wrapping_add(1) == *b) {
                    f(run.len(), Some((run[0] as usize, 1)));
                }
            }
        }
    }
}

fn moved((first, step): (usize, isize), by: usize) -> usize {
    first.wrapping_add_signed(step.wrapping_mul(by as isize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_axis_are_what_its_indices_are() {
        let list = [4, 5, 6, 0, 0, 1, 3];
        let turned = Picks::new().fill(2).indices(3, -1, 3).indices(9, 0, 0).indices(7, 0, 2).fill(1);
        for (picks, want) in [
            (Picks::List(&list), list.map(|i| Some(i as usize)).to_vec()),
            (turned, vec![None, None, Some(3), Some(2), Some(1), Some(7), Some(7), None]),
        ] {
            assert_eq!(picks.size(), want.len());
            assert_eq!((0..want.len()).map(|i| picks.get(i)).collect::<Vec<_>>(), want);
            for part in (0..=want.len()).flat_map(|end| (0..end).map(move |start| start..end)) {
                let mut got = Vec::new();
                picks.for_each(part.clone(), |len, from| {
                    assert!(len > 0);
                    got.extend((0..len).map(|k| from.map(|from| moved(from, k))));
                });
                assert_eq!(got, want[part]);
            }
        }
        assert_eq!((Picks::new().size(), Picks::new().stretches()), (0, 0));
    }
}
