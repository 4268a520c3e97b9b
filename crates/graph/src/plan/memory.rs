//! Where intermediate results lie in the arena.

use blocktensor::ALIGN;

/// A piece of memory that is needed from one step to another, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) bytes: usize,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Offsets of the pieces, in **bytes**; the size of the arena; the largest sum of pieces that live at the same time.
///
/// Pieces are placed one after another, each in the smallest gap between those that live at the same time. The order decides
/// how much is lost in gaps: the best of several is taken.
pub(super) fn assign(pieces: &[Piece]) -> (Vec<usize>, usize, usize) {
    let live = live_bytes(pieces).into_iter().max().unwrap_or(0);
    let mut best: Option<(Vec<usize>, usize)> = None;
    'search: for mut order in orders(pieces) {
        for _ in 0..TRIES {
            let (offsets, end) = place(pieces, &order);
            let highest = order.iter().position(|&i| offsets[i] + size(&pieces[i]) == end);
            if best.as_ref().is_none_or(|(_, smallest)| end < *smallest) {
                best = Some((offsets, end));
            }
            if end == live {
                break 'search;
            }
            // Next time the piece that ended last is placed first.
            match highest {
                Some(at) if at > 0 => order[..=at].rotate_right(1),
                _ => break,
            }
        }
    }
    let (offsets, end) = best.unwrap_or_default();
    (offsets, end, live)
}

/// The bytes that live at each step.
fn live_bytes(pieces: &[Piece]) -> Vec<usize> {
    let steps = pieces.iter().map(|p| p.last + 1).max().unwrap_or(0);
    let (mut begins, mut ends) = (vec![0; steps], vec![0; steps]);
    for piece in pieces {
        begins[piece.first] += size(piece);
        ends[piece.last] += size(piece);
    }
    let mut now = 0;
    let at = |step: usize| {
        let live = now + begins[step];
        now = live - ends[step];
        live
    };
    (0..steps).map(at).collect()
}

/// Pieces by the steps at which they live, in groups of steps: who lives at the same time is found without asking all.
struct Groups(Vec<Vec<usize>>);

impl Groups {
    /// Steps of a group.
    const STEPS: usize = 64;

    fn new(pieces: &[Piece]) -> Groups {
        let groups = pieces.iter().map(|p| p.last / Self::STEPS + 1).max().unwrap_or(0);
        Groups(vec![Vec::new(); groups])
    }

    fn add(&mut self, pieces: &[Piece], i: usize) {
        let groups = pieces[i].first / Self::STEPS..=pieces[i].last / Self::STEPS;
        self.0[groups].iter_mut().for_each(|group| group.push(i));
    }

    /// The pieces that were added and live at the same time as this one, each once.
    fn together<'a>(&'a self, pieces: &'a [Piece], piece: &'a Piece) -> impl Iterator<Item = usize> + 'a {
        let groups = piece.first / Self::STEPS..=piece.last / Self::STEPS;
        groups.flat_map(move |group| {
            let here = move |&j: &usize| {
                let other = &pieces[j];
                // The first group that has both counts.
                let first = piece.first.max(other.first) / Self::STEPS;
                first == group && other.first <= piece.last && piece.first <= other.last
            };
            self.0[group].iter().copied().filter(here)
        })
    }
}

fn size(piece: &Piece) -> usize {
    piece.bytes.next_multiple_of(ALIGN)
}

/// How often the pieces of one order are placed again, each time with the highest piece first.
const TRIES: usize = 50;

/// Orders in which to place the pieces: by size, by step, by both.
fn orders(pieces: &[Piece]) -> [Vec<usize>; 4] {
    let sorted = |key: &dyn Fn(&Piece) -> (usize, usize)| {
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&i| key(&pieces[i]));
        order
    };
    [
        sorted(&|p| (usize::MAX - size(p), p.first)),
        by_crowd(pieces),
        sorted(&|p| (usize::MAX - size(p).saturating_mul(p.last - p.first + 1), p.first)),
        sorted(&|p| (p.first, usize::MAX - size(p))),
    ]
}

/// The pieces of the step at which most bytes live, the largest first; then those of the next step.
fn by_crowd(pieces: &[Piece]) -> Vec<usize> {
    let lives = |p: &Piece, step: usize| p.first <= step && step <= p.last;
    let mut groups = Groups::new(pieces);
    (0..pieces.len()).for_each(|i| groups.add(pieces, i));
    let mut crowds: Vec<(usize, usize)> = live_bytes(pieces).into_iter().zip(0..).collect();
    crowds.sort_unstable_by_key(|&(bytes, step)| (std::cmp::Reverse(bytes), step));
    let mut order = Vec::with_capacity(pieces.len());
    let mut taken = vec![false; pieces.len()];
    for (_, step) in crowds {
        let group = &mut groups.0[step / Groups::STEPS];
        group.retain(|&i| !taken[i]);
        let mut here: Vec<usize> = group.iter().copied().filter(|&i| lives(&pieces[i], step)).collect();
        here.sort_by_key(|&i| std::cmp::Reverse(size(&pieces[i])));
        here.iter().for_each(|&i| taken[i] = true);
        order.extend(here);
    }
    order
}

/// Places the pieces in this order: their offsets, and where the last ends.
fn place(pieces: &[Piece], order: &[usize]) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; pieces.len()];
    let mut placed = Groups::new(pieces);
    let mut end = 0;
    for &i in order {
        let piece = &pieces[i];
        let together = placed.together(pieces, piece);
        let mut taken: Vec<(usize, usize)> =
            together.map(|j| (offsets[j], offsets[j] + size(&pieces[j]))).collect();
        taken.sort_unstable();
        let (mut best, mut free_from) = (None::<(usize, usize)>, 0);
        for (start, stop) in taken {
            let gap = start.saturating_sub(free_from);
            if gap >= size(piece) && best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, free_from));
            }
            free_from = free_from.max(stop);
        }
        offsets[i] = best.map_or(free_from, |(_, offset)| offset);
        end = end.max(offsets[i] + size(piece));
        placed.add(pieces, i);
    }
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_live_at_the_same_time_do_not_overlap() {
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..200 {
            // Some live through several groups of steps.
            let (steps, longest) = if round % 4 == 0 { (300, 200) } else { (30, 8) };
            let pieces: Vec<Piece> = (0..40)
                .map(|_| {
                    let first = random(steps);
                    Piece { bytes: random(10_000), first, last: first + random(longest) }
                })
                .collect();
            let (offsets, end, live) = assign(&pieces);
            for (i, a) in pieces.iter().enumerate() {
                assert!(offsets[i].is_multiple_of(ALIGN) && offsets[i] + a.bytes <= end);
                for (j, b) in pieces.iter().enumerate().skip(i + 1) {
                    let together = a.first <= b.last && b.first <= a.last;
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    assert!(!together || apart, "{a:?} at {} and {b:?} at {}", offsets[i], offsets[j]);
                }
            }
            assert!(live <= end && end <= 2 * live);
        }
    }

    #[test]
    fn a_chain_takes_its_two_largest_neighbours() {
        let pieces: Vec<Piece> =
            (0..10).map(|i| Piece { bytes: 64 * (i + 1), first: i, last: i + 1 }).collect();
        let (_, end, live) = assign(&pieces);
        assert_eq!((end, live), (64 * 19, 64 * 19));
    }
}
