//! Which way a copy goes.

use super::map::{Map, Pair, Side};

/// The most positions whose offsets are tabled.
const MAX_TABLE: usize = 1 << 16;

/// The most elements of a row where no block bounds it.
const MAX_ROW: usize = 4096;

/// How to copy. The dimensions that are not told apart are `outer`, in any order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Both sides are dense along `lane`, in rows of `lanes` elements (the last row may have fewer).
    Rows { lane: Pair, lanes: usize, run: Vec<Pair>, outer: Vec<Pair> },
    /// One side (`dst` if `gather`) is dense along `lane` in rows of `lanes`, the other along `run`, whose last
    /// dimension is the densest.
    Tiles { gather: bool, lane: Pair, lanes: usize, run: Vec<Pair>, outer: Vec<Pair> },
    /// Anything else.
    General { outer: Vec<Pair> },
}

impl Plan {
    pub(super) fn of(pairs: Vec<Pair>) -> Plan {
        let dense = |side: Side| pairs.iter().position(|p| side(p).run(p.size) > 1);
        match (dense(|p| &p.src), dense(|p| &p.dst)) {
            (Some(s), Some(d)) if s == d => rows(pairs, d),
            (Some(s), Some(d)) => {
                // Rows are where blocks are; between two plain sides the result has them.
                let gather = !pairs[d].dst.is_plain() || pairs[s].src.is_plain();
                let (lane, other) = if gather { (d, s) } else { (s, d) };
                tiles(pairs, gather, lane, other)
            }
            _ => Plan::General { outer: pairs },
        }
    }

    /// Every dimension.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        let (lane, run, outer): (_, &[Pair], _) = match self {
            Plan::Rows { lane, run, outer, .. } | Plan::Tiles { lane, run, outer, .. } => {
                (Some(lane), run, outer)
            }
            Plan::General { outer } => (None, &[], outer),
        };
        lane.into_iter().chain(run).chain(outer)
    }

    /// Whether there is padding that the copy does not write: it writes that of `lane`.
    pub(super) fn leaves_padding(&self) -> bool {
        let lane = match self {
            Plan::Rows { lane, .. } | Plan::Tiles { lane, .. } => Some(lane),
            Plan::General { .. } => None,
        };
        self.pairs().any(|p| p.size != p.padded() && !lane.is_some_and(|l| std::ptr::eq(l, p)))
    }
}

/// The longest row that vectors like and that divides a run.
fn lanes_of(run: usize) -> usize {
    [16, 8, 4, 2].into_iter().find(|l| run.is_multiple_of(*l)).unwrap_or(1)
}

/// The row along `lane` on one side: the whole dimension where nothing blocks it.
fn row_of(map: &Map, size: usize) -> Option<usize> {
    (!map.is_plain()).then(|| lanes_of(map.run(size)))
}

fn rows(mut pairs: Vec<Pair>, lane: usize) -> Plan {
    let Pair { size, src, dst } = &pairs[lane];
    let lanes = match (row_of(src, *size), row_of(dst, *size)) {
        (None, None) => (*size).min(MAX_ROW),
        (Some(a), None) | (None, Some(a)) => a,
        (Some(a), Some(b)) => a.min(b),
    };
    if lanes == 1 {
        return Plan::General { outer: pairs };
    }
    let lane = pairs.remove(lane);
    // Positions: the plain dimension that takes the smallest steps through the result, or what is left.
    let step = |p: &Pair| (!p.is_plain(), p.dst.at(1));
    let run = (0..pairs.len()).min_by_key(|&i| step(&pairs[i])).filter(|&i| tabled(&pairs[i..=i]));
    let run = run.map(|i| pairs.remove(i)).into_iter().collect();
    Plan::Rows { lane, lanes, run, outer: pairs }
}

fn tiles(mut pairs: Vec<Pair>, gather: bool, lane: usize, other: usize) -> Plan {
    let (rows, lines): (Side, Side) =
        if gather { (|p| &p.dst, |p| &p.src) } else { (|p| &p.src, |p| &p.dst) };
    let size = pairs[lane].size;
    let lanes = match row_of(rows(&pairs[lane]), size) {
        Some(lanes) => lanes,
        None => [16, 8, 4].into_iter().find(|l| size >= *l).unwrap_or(2),
    };
    if lanes == 1 || !lines(&pairs[lane]).is_plain() || !lines(&pairs[other]).is_plain() {
        return Plan::General { outer: pairs };
    }
    let mut run = vec![pairs[other].clone()];
    if !tabled(&run) {
        return Plan::General { outer: pairs };
    }
    let mut outer = Vec::new();
    let lane_pair = pairs[lane].clone();
    pairs =
        pairs.into_iter().enumerate().filter(|(i, _)| *i != lane && *i != other).map(|(_, p)| p).collect();
    // The run goes on through what lies next on the side of the lines: short ones make long ones.
    while let Some(next) = {
        let dense: usize = run.iter().map(|p| p.size).product();
        pairs.iter().position(|p| lines(p).is_plain() && lines(p).stride == dense)
    } {
        let pair = pairs.remove(next);
        run.insert(0, pair);
        if !tabled(&run) {
            outer.push(run.remove(0));
            break;
        }
    }
    outer.append(&mut pairs);
    Plan::Tiles { gather, lane: lane_pair, lanes, run, outer }
}

/// Whether the steps through these dimensions are even, or few enough to table.
fn tabled(run: &[Pair]) -> bool {
    let positions = run.iter().try_fold(1usize, |n, p| n.checked_mul(p.size));
    run.iter().all(Pair::is_plain) && run.len() == 1 || positions.is_some_and(|n| n <= MAX_TABLE)
}
