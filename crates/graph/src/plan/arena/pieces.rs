//! Offsets in the arena, for pieces that each live from one step to another.

use std::collections::{BTreeMap, BTreeSet};

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
/// how much is lost in gaps: the best of several is taken. Where so many pieces live at the same time that this would take
/// long, memory is given and taken back step by step instead.
pub(super) fn place_all(pieces: &[Piece]) -> (Vec<usize>, usize, usize) {
    let live = live_bytes(pieces).into_iter().max().unwrap_or(0);
    let once = meetings(pieces);
    if once > MOST_MEETINGS {
        let (offsets, end) = by_steps(pieces);
        return (offsets, end, live);
    }
    let tries = TRIES.min(MOST_MEETINGS / once.max(1));
    let mut best: Option<(Vec<usize>, usize)> = None;
    'search: for mut order in orders(pieces) {
        for _ in 0..tries.max(1) {
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

/// How many pairs of pieces are looked at.
const MOST_MEETINGS: usize = 1 << 24;

/// How often two pieces live at the same time, counted from both.
fn meetings(pieces: &[Piece]) -> usize {
    let steps = pieces.iter().map(|p| p.last + 1).max().unwrap_or(0);
    let (mut begun, mut ended) = (vec![0usize; steps + 1], vec![0usize; steps + 1]);
    for piece in pieces {
        begun[piece.first + 1] += 1;
        ended[piece.last + 1] += 1;
    }
    for step in 0..steps {
        begun[step + 1] += begun[step];
        ended[step + 1] += ended[step];
    }
    // Those that begin before a piece ends, less those that end before it begins.
    pieces.iter().map(|p| begun[p.last + 1] - ended[p.first]).sum()
}

/// Step by step: a piece takes the smallest free range that holds it when it is first needed, and gives it back after its last
/// step.
fn by_steps(pieces: &[Piece]) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; pieces.len()];
    let mut begins: Vec<usize> = (0..pieces.len()).collect();
    begins.sort_by_key(|&i| (pieces[i].first, std::cmp::Reverse(size(&pieces[i]))));
    let mut ends: BTreeSet<(usize, usize)> = BTreeSet::new();
    // Free ranges below `end`: by offset, and by size.
    let (mut free, mut by_size, mut end) = (BTreeMap::<usize, usize>::new(), BTreeSet::new(), 0);
    for i in begins {
        let piece = &pieces[i];
        while let Some(&(last, gone)) = ends.first().filter(|(last, _)| *last < piece.first) {
            ends.remove(&(last, gone));
            let (mut from, mut length) = (offsets[gone], size(&pieces[gone]));
            if let Some((&before, &own)) =
                free.range(..from).next_back().filter(|(b, own)| **b + **own == from)
            {
                by_size.remove(&(own, before));
                free.remove(&before);
                (from, length) = (before, own + length);
            }
            if let Some(own) = free.remove(&(from + length)) {
                by_size.remove(&(own, from + length));
                length += own;
            }
            free.insert(from, length);
            by_size.insert((length, from));
        }
        ends.insert((piece.last, i));
        let wanted = size(piece);
        offsets[i] = match by_size.range((wanted, 0)..).next().copied() {
            Some((length, from)) => {
                by_size.remove(&(length, from));
                free.remove(&from);
                if length > wanted {
                    free.insert(from + wanted, length - wanted);
                    by_size.insert((length - wanted, from + wanted));
                }
                from
            }
            None => {
                end += wanted;
                end - wanted
            }
        };
    }
    (offsets, end)
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
            let (offsets, end, live) = place_all(&pieces);
            assert!(live <= end && end <= 2 * live);
            let pairs = check(&pieces, &offsets, end);
            assert_eq!(meetings(&pieces), 2 * pairs + pieces.len());
            let (offsets, end) = by_steps(&pieces);
            check(&pieces, &offsets, end);
            assert!(live <= end && end <= 3 * live);
        }
    }

    /// Checks that pieces lie inside the memory and apart; counts the pairs that live at the same time.
    fn check(pieces: &[Piece], offsets: &[usize], end: usize) -> usize {
        let mut pairs = 0;
        for (i, a) in pieces.iter().enumerate() {
            assert!(offsets[i].is_multiple_of(ALIGN) && offsets[i] + a.bytes <= end);
            for (j, b) in pieces.iter().enumerate().skip(i + 1) {
                let together = a.first <= b.last && b.first <= a.last;
                let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                assert!(!together || apart, "{a:?} at {} and {b:?} at {}", offsets[i], offsets[j]);
                pairs += usize::from(together);
            }
        }
        pairs
    }

    #[test]
    fn many_pieces_that_live_long_are_placed_step_by_step() {
        // Each lives until the end.
        let pieces: Vec<Piece> =
            (0..6000).map(|i| Piece { bytes: 64 * (1 + i % 3), first: i, last: 6000 }).collect();
        assert!(meetings(&pieces) > MOST_MEETINGS);
        let (offsets, end, live) = place_all(&pieces);
        assert_eq!(end, live);
        check(&pieces, &offsets, end);
    }

    #[test]
    fn a_chain_takes_its_two_largest_neighbours() {
        let pieces: Vec<Piece> =
            (0..10).map(|i| Piece { bytes: 64 * (i + 1), first: i, last: i + 1 }).collect();
        let (_, end, live) = place_all(&pieces);
        assert_eq!((end, live), (64 * 19, 64 * 19));
    }
}
