//! Accumulators side by side, and how they merge.

use super::Fold;

/// Level `i` holds the merge of `2^i` blocks.
pub(super) struct Cascade<F: Fold> {
    width: usize,
    /// Blocks that were pushed. Its bits tell which levels are in use.
    count: u64,
    levels: Vec<Vec<F::Acc>>,
    carry: Vec<F::Acc>,
    none: F::Acc,
}

impl<F: Fold> Cascade<F> {
    /// For rows of at most `width` accumulators.
    pub fn new(fold: &F, width: usize) -> Cascade<F> {
        let none = fold.identity();
        Cascade { width, count: 0, levels: vec![], carry: vec![none; width], none }
    }

    pub fn clear(&mut self, width: usize) {
        (self.width, self.count) = (width, 0);
    }

    pub fn push(&mut self, fold: &F, block: &[F::Acc]) {
        self.carry[..self.width].copy_from_slice(block);
        let mut level = 0;
        while self.count >> level & 1 == 1 {
            for (c, &l) in self.carry[..self.width].iter_mut().zip(&self.levels[level]) {
                *c = fold.merge(l, *c);
            }
            level += 1;
        }
        if level == self.levels.len() {
            self.levels.push(vec![self.none; self.carry.len()]);
        }
        self.levels[level][..self.width].copy_from_slice(&self.carry[..self.width]);
        self.count += 1;
    }

    /// The merge of all blocks that were pushed since `clear`.
    pub fn total(&mut self, fold: &F) -> &mut [F::Acc] {
        let mut first = true;
        for (_, l) in self.levels.iter().enumerate().filter(|(i, _)| self.count >> i & 1 == 1) {
            for (c, &l) in self.carry[..self.width].iter_mut().zip(l) {
                *c = if first { l } else { fold.merge(l, *c) };
            }
            first = false;
        }
        if first {
            self.carry[..self.width].fill(self.none);
        }
        &mut self.carry[..self.width]
    }
}

/// Merges accumulators pairwise into the first one. Their number may be any.
#[inline(always)]
pub(super) fn merge_all<F: Fold>(fold: &F, accs: &mut [F::Acc]) -> F::Acc {
    let mut used = accs.len();
    while used > 1 {
        let half = used.div_ceil(2);
        let (low, high) = accs[..used].split_at_mut(half);
        for (l, &h) in low.iter_mut().zip(&*high) {
            *l = fold.merge(*l, h);
        }
        used = half;
    }
    accs[0]
}

/// One more element for each of the first `used` accumulators.
#[inline(always)]
pub(super) fn take<F: Fold, const L: usize>(fold: &F, lanes: &mut [F::Acc; L], x: &[F::In; L], used: usize) {
    for l in 0..L {
        lanes[l] = if l < used { fold.step(lanes[l], x[l]) } else { lanes[l] };
    }
}

/// Merges accumulators with those of another vector, lane by lane.
#[inline(always)]
pub(super) fn join_lanes<F: Fold, const L: usize>(fold: &F, lanes: &mut [F::Acc; L], more: [F::Acc; L]) {
    for l in 0..L {
        lanes[l] = fold.merge(lanes[l], more[l]);
    }
}

/// The merge of all lanes. `L` is a power of two.
#[inline(always)]
pub(crate) fn merge_lanes<F: Fold, const L: usize>(fold: &F, mut lanes: [F::Acc; L]) -> F::Acc {
    let mut half = L / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = fold.merge(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}
