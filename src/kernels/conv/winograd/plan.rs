//! What a Winograd convolution has to do: which output blocks go together, how the work is shared, and what memory it takes.

use std::ops::Range;

use super::points::MAX_POINTS;
use super::product::tiles_at_once;
use super::tiles::Tiles;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::tiled::TiledPlan;
use crate::layout::blocked::Layout;
use crate::machine::{Machine, machine};
use crate::memory::try_with_capacity;

/// The whole work of one convolution.
pub(crate) struct WinogradPlan {
    /// How channels and plain weights lie, as for a direct convolution.
    pub tiled: TiledPlan,
    /// Outputs of a tile along one axis: 2 or 4.
    pub outputs: usize,
    /// Whether weights are transformed when they are packed, else in each run.
    pub ahead: bool,
    pub(super) tiles: Tiles,
    pub(super) units: Vec<Unit>,
    /// Vectors of weights that were transformed ahead.
    pub(super) transformed: usize,
    pub(super) scheme: Scheme,
}

/// One output block, or two neighbours of one group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub first: usize,
    pub count: usize,
    /// One for each group that its lanes belong to.
    pub parts: Vec<Part>,
}

/// What the lanes of one group of a unit read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Source blocks.
    pub source: Range<usize>,
    /// Where the weights of its output blocks begin as they lie for a direct convolution, in vectors.
    pub plain: [usize; 2],
    /// Where its weights begin if they are transformed ahead: `[point][input channel][output block]`.
    pub transformed: usize,
}

/// How the work is shared, and cut into steps that the caches hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scheme {
    /// Parts of all tiles, and of all units: a task for each pair. Each task transforms the source for itself, so that nobody
    /// waits.
    pub tile_parts: usize,
    pub unit_parts: usize,
    /// Tiles of a step.
    pub tiles: usize,
    /// Source blocks whose weights are transformed at once in a run.
    pub chunk: usize,
}

/// Vectors of one task's memory.
pub(super) struct Room {
    pub columns: usize,
    pub values: usize,
    pub sums: usize,
    pub weights: usize,
    /// Vectors from one point to the next.
    pub value_point: usize,
    pub sum_point: usize,
    pub weight_point: usize,
}

impl WinogradPlan {
    /// The plan for activations in this layout; `None` where there is no kernel for it. The geometry fits
    /// ([`refusal`](super::refusal) says so).
    pub fn new(
        g: &ConvGeometry,
        layout: &Layout,
        outputs: usize,
        ahead: bool,
        threads: usize,
    ) -> Result<Option<WinogradPlan>> {
        let Some(tiled) = TiledPlan::new(g, layout)? else { return Ok(None) };
        let points = (outputs + 2) * (outputs + 2);
        let pairs = tiled.units(2)?;
        let mut units = try_with_capacity(g.op, pairs.len())?;
        let mut transformed = 0;
        for (first, count) in pairs {
            let mut parts = Vec::new();
            for part in tiled.parts(first) {
                let source = part.channels.start / tiled.block..part.channels.end.div_ceil(tiled.block);
                let plain = [part.weights, tiled.blocks[first + count - 1].weights];
                let vectors = points * source.len() * tiled.block * count;
                parts.push(Part { source, plain, transformed });
                transformed += vectors;
            }
            units.push(Unit { first, count, parts });
        }
        let tiles = Tiles::new(g, outputs);
        let scheme = Scheme::new(&tiled, &units, tiles.count, outputs, ahead, threads, machine());
        Ok(Some(WinogradPlan { tiled, outputs, ahead, tiles, units, transformed, scheme }))
    }

    pub(super) fn points(&self) -> usize {
        (self.outputs + 2) * (self.outputs + 2)
    }

    /// Vectors of packed weights: those transformed ahead, and the plain ones.
    pub fn weight_vectors(&self) -> usize {
        match self.ahead {
            true => self.transformed + self.tiled.weight_vectors,
            false => self.tiled.weight_vectors,
        }
    }

    /// **Bytes** of memory of a run.
    pub fn scratch_bytes(&self) -> usize {
        self.tasks().saturating_mul(self.task_vectors()).saturating_mul(self.tiled.block * size_of::<f32>())
    }

    pub(super) fn tasks(&self) -> usize {
        self.scheme.tile_parts * self.scheme.unit_parts
    }

    pub(super) fn task_vectors(&self) -> usize {
        let room = self.room();
        let width = self.tiled.src.spatial[2];
        width + room.columns + room.values + room.sums + room.weights
    }

    pub(super) fn room(&self) -> Room {
        let (points, scheme) = (self.points(), &self.scheme);
        let run = scheme.tiles.min(self.tiles.grid[1]);
        let (value_point, sum_point) = (odd(self.tiled.src.blocks * scheme.tiles), odd(2 * scheme.tiles));
        let weight_point = odd(scheme.chunk * self.tiled.block * 2);
        Room {
            columns: (run * self.outputs + 2) * MAX_POINTS,
            values: points * value_point,
            sums: points * sum_point,
            weights: match self.ahead {
                true => 0,
                false => points * weight_point,
            },
            value_point,
            sum_point,
            weight_point,
        }
    }
}

/// An odd number of vectors, so that the points do not meet in the same sets of a cache.
fn odd(vectors: usize) -> usize {
    vectors | 1
}

/// Tiles of a step that has its weights ready: a panel, where the machine has 32 registers.
const TILES: usize = tiles_at_once(32);
/// Input channels whose weights are transformed at once.
const CHUNK: usize = 64;

impl Scheme {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        tiled: &TiledPlan,
        units: &[Unit],
        tiles: usize,
        outputs: usize,
        ahead: bool,
        threads: usize,
        machine: &Machine,
    ) -> Scheme {
        let costs = &machine.costs;
        // **Bytes** of transformed source of a step that transforms its weights.
        let values = 4 * machine.caches.second;
        let points = (outputs + 2) * (outputs + 2);
        let block = tiled.block;
        let of = |unit_parts: usize| {
            let tile_parts = (threads / unit_parts).clamp(1, tiles.max(1));
            let own = tiles.div_ceil(tile_parts).max(1);
            let most = match ahead {
                true => TILES,
                false => (values / (points * tiled.src.blocks * block * size_of::<f32>())).max(TILES),
            };
            let at_once = own.div_ceil(own.div_ceil(most));
            let chunk = (CHUNK / block).clamp(1, tiled.src.blocks.max(1));
            Scheme { tile_parts, unit_parts, tiles: at_once, chunk }
        };
        // Cycles of a task on a machine with AVX-512.
        let cycles = |scheme: &Scheme| {
            let own_tiles = tiles.div_ceil(scheme.tile_parts);
            let own_units = units.len().div_ceil(scheme.unit_parts);
            let steps = own_tiles.div_ceil(scheme.tiles);
            let panels = scheme.tiles.div_ceil(TILES);
            let panel = scheme.tiles.div_ceil(panels.max(1));
            let reads = units.iter().map(|u| u.parts.iter().map(|p| p.source.len()).sum::<usize>()).max();
            let channels = reads.unwrap_or(0) * block;
            let products = steps * own_units * channels * points * panels * (2 * panel).max(10);
            let transforms =
                own_tiles * (tiled.src.blocks * costs.winograd_source + own_units * costs.winograd_result);
            let weights = match ahead {
                true => 0,
                false => steps * own_units * channels * 2 * costs.winograd_weights,
            };
            products + transforms + weights
        };
        let parts = (1..=threads.max(1)).filter(|parts| threads.is_multiple_of(*parts));
        let schemes = parts.filter(|parts| *parts <= units.len().max(1)).map(of);
        schemes.min_by_key(cycles).unwrap_or(of(1))
    }
}
