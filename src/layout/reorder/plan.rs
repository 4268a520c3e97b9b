//! The choice between the kinds of copy.

use super::map::{CopyDim, OffsetMap, Side};

/// The most positions whose offsets fit a table.
const MAX_TABLE: usize = 1 << 16;

/// The most elements of a row that is not a block.
const MAX_ROW: usize = 4096;

/// How to copy. `outer` holds all other dimensions, in any order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyPlan {
    /// Both sides are dense along `lane`, in rows of `lanes` elements (the last row may have fewer).
    Rows { lane: CopyDim, lanes: usize, positions: Vec<CopyDim>, outer: Vec<CopyDim> },
    /// One side (`dst` if `gather`) is dense along `lane`, in rows of `lanes`. The other side is dense along `positions`, whose
    /// last dimension has stride 1.
    Tiles { gather: bool, lane: CopyDim, lanes: usize, positions: Vec<CopyDim>, outer: Vec<CopyDim> },
    /// Anything else.
    General { outer: Vec<CopyDim> },
}

impl CopyPlan {
    pub(super) fn of(dims: Vec<CopyDim>) -> CopyPlan {
        let dense = |side: Side| dims.iter().position(|p| side(p).dense_run(p.size) > 1);
        match (dense(|p| &p.src), dense(|p| &p.dst)) {
            (Some(s), Some(d)) if s == d => row_plan(dims, d),
            (Some(s), Some(d)) => {
                // The blocked side has the rows. If no side is blocked, the result has them.
                let gather = !dims[d].dst.is_plain() || dims[s].src.is_plain();
                let (lane, other) = if gather { (d, s) } else { (s, d) };
                tile_plan(dims, gather, lane, other)
            }
            _ => CopyPlan::General { outer: dims },
        }
    }

    /// Every dimension.
    pub(super) fn dims(&self) -> impl Iterator<Item = &CopyDim> {
        let (lane, positions, outer): (_, &[CopyDim], _) = match self {
            CopyPlan::Rows { lane, positions, outer, .. }
            | CopyPlan::Tiles { lane, positions, outer, .. } => (Some(lane), positions, outer),
            CopyPlan::General { outer } => (None, &[], outer),
        };
        lane.into_iter().chain(positions).chain(outer)
    }

    /// Whether there is padding that the copy does not write. It writes the padding of `lane`.
    pub(super) fn leaves_padding(&self) -> bool {
        let lane = match self {
            CopyPlan::Rows { lane, .. } | CopyPlan::Tiles { lane, .. } => Some(lane),
            CopyPlan::General { .. } => None,
        };
        self.dims().any(|p| p.size != p.padded() && !lane.is_some_and(|l| std::ptr::eq(l, p)))
    }
}

/// The longest row that suits vectors and divides the run.
fn lanes_of(run: usize) -> usize {
    [16, 8, 4, 2].into_iter().find(|l| run.is_multiple_of(*l)).unwrap_or(1)
}

/// The length of a row on one side, from the blocks of its map; `None` if the map has no blocks.
fn block_row_len(map: &OffsetMap, size: usize) -> Option<usize> {
    (!map.is_plain()).then(|| lanes_of(map.dense_run(size)))
}

fn row_plan(mut dims: Vec<CopyDim>, lane: usize) -> CopyPlan {
    let CopyDim { size, src, dst } = &dims[lane];
    let lanes = match (block_row_len(src, *size), block_row_len(dst, *size)) {
        (None, None) => (*size).min(MAX_ROW),
        (Some(a), None) | (None, Some(a)) => a,
        (Some(a), Some(b)) => a.min(b),
    };
    if lanes == 1 {
        return CopyPlan::General { outer: dims };
    }
    let lane = dims.remove(lane);
    // The positions: the plain dimension with the smallest step in the result, or any other if none is plain.
    let step = |p: &CopyDim| (!p.is_plain(), p.dst.at(1));
    let positions = (0..dims.len()).min_by_key(|&i| step(&dims[i])).filter(|&i| fits_table(&dims[i..=i]));
    let positions = positions.map(|i| dims.remove(i)).into_iter().collect();
    CopyPlan::Rows { lane, lanes, positions, outer: dims }
}

fn tile_plan(mut dims: Vec<CopyDim>, gather: bool, lane: usize, other: usize) -> CopyPlan {
    let (rows, lines): (Side, Side) =
        if gather { (|p| &p.dst, |p| &p.src) } else { (|p| &p.src, |p| &p.dst) };
    let size = dims[lane].size;
    let lanes = match block_row_len(rows(&dims[lane]), size) {
        Some(lanes) => lanes,
        None => [16, 8, 4].into_iter().find(|l| size >= *l).unwrap_or(2),
    };
    if lanes == 1 || !lines(&dims[lane]).is_plain() || !lines(&dims[other]).is_plain() {
        return CopyPlan::General { outer: dims };
    }
    let mut positions = vec![dims[other].clone()];
    if !fits_table(&positions) {
        return CopyPlan::General { outer: dims };
    }
    let mut outer = Vec::new();
    let lane_dim = dims[lane].clone();
    dims = dims.into_iter().enumerate().filter(|(i, _)| *i != lane && *i != other).map(|(_, p)| p).collect();
    // Add the dimensions that continue the lines in memory, so that short lines become long ones.
    while let Some(next) = {
        let dense: usize = positions.iter().map(|p| p.size).product();
        dims.iter().position(|p| lines(p).is_plain() && lines(p).stride == dense)
    } {
        let dim = dims.remove(next);
        positions.insert(0, dim);
        if !fits_table(&positions) {
            outer.push(positions.remove(0));
            break;
        }
    }
    outer.append(&mut dims);
    CopyPlan::Tiles { gather, lane: lane_dim, lanes, positions, outer }
}

/// Whether the steps through these dimensions are even, or few enough to table.
fn fits_table(positions: &[CopyDim]) -> bool {
    let count = positions.iter().try_fold(1usize, |n, p| n.checked_mul(p.size));
    positions.iter().all(CopyDim::is_plain) && positions.len() == 1 || count.is_some_and(|n| n <= MAX_TABLE)
}
