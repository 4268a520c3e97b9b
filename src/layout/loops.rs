//! Nested loops over memory, merged where one continues another.

use super::dims::Dims;

/// Nested loops that move `N` offsets at once, the innermost loop first. There is at least one loop.
#[derive(Clone, Debug)]
pub(crate) struct Loops<const N: usize> {
    pub sizes: Dims,
    /// What one iteration of each loop adds to each offset, in **elements**.
    pub steps: [Dims; N],
}

impl<const N: usize> Loops<N> {
    /// The given loops, innermost first, as sizes and steps. Loops of size 1 are dropped. A loop that continues the one before
    /// it at every offset is merged with it. Without any other loop there is one of size 1 and steps of 0.
    pub fn merged(loops: impl IntoIterator<Item = (usize, [usize; N])>) -> Loops<N> {
        let mut to = Loops { sizes: Dims::EMPTY, steps: [Dims::EMPTY; N] };
        for (size, steps) in loops {
            if size != 1 {
                to.append(size, steps);
            }
        }
        if to.sizes.is_empty() {
            to.append(1, [0; N]);
        }
        to
    }

    /// As [`merged`](Self::merged), sorted by the steps of offset 0: the densest loop becomes the innermost.
    pub fn densest_first(loops: impl IntoIterator<Item = (usize, [usize; N])>) -> Loops<N> {
        let mut loops: Vec<_> = loops.into_iter().collect();
        loops.sort_by_key(|&(_, steps)| steps[0]);
        Loops::merged(loops)
    }

    fn append(&mut self, size: usize, steps: [usize; N]) {
        if let Some(last) = self.sizes.len().checked_sub(1) {
            let n = self.sizes[last];
            if self.steps.iter().zip(steps).all(|(to, step)| continues(step, to[last], n)) {
                self.sizes[last] = n * size;
                return;
            }
        }
        self.sizes.push(size);
        self.steps.iter_mut().zip(steps).for_each(|(to, step)| to.push(step));
    }

    /// The number of iterations of all loops together.
    pub fn numel(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The offsets of iteration `index`.
    #[inline(always)]
    pub fn offsets(&self, mut index: usize) -> [usize; N] {
        let mut offsets = [0; N];
        for (d, &n) in self.sizes.iter().enumerate() {
            let at = index % n;
            index /= n;
            for (offset, steps) in offsets.iter_mut().zip(&self.steps) {
                *offset += at * steps[d];
            }
        }
        offsets
    }

    /// The largest value of offset `which`. No size may be 0.
    pub fn last_offset(&self, which: usize) -> usize {
        self.sizes.iter().zip(&self.steps[which]).map(|(&n, &step)| (n - 1) * step).sum()
    }
}

/// Whether a loop with step `outer` goes on where `size` iterations with step `inner` end.
pub(crate) fn continues(outer: usize, inner: usize, size: usize) -> bool {
    outer == inner.saturating_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_merge_only_where_every_offset_continues() {
        let loops = Loops::merged([(4, [1, 1]), (1, [9, 9]), (3, [4, 4]), (2, [12, 100])]);
        assert_eq!((&*loops.sizes, loops.numel()), (&[12, 2][..], 24));
        assert_eq!((&*loops.steps[0], &*loops.steps[1]), (&[1, 12][..], &[1, 100][..]));
        assert_eq!((loops.offsets(13), loops.last_offset(1)), ([13, 101], 111));
        let none = Loops::merged([(1, [5])]);
        assert_eq!((&*none.sizes, &*none.steps[0]), (&[1][..], &[0][..]));
    }
}
