//! Sums of rows of pixels in tile registers.

use super::kernel::Run;
use super::plan::{BLOCK, Int8Plan, Matrix, PAIR, QUAD, ROW, Unit};
use super::window::Pixels;
use crate::simd::matrix::{AHEAD, Factors, ROWS, Steps};

/// What the sums of a unit meet: plane by plane, tap by tap; or, where a pixel is one quad, a row of taps at once.
pub(super) fn steps(plan: &Int8Plan, matrix: Matrix, unit: &Unit, pixels: &Pixels, runs: &[Run]) -> Steps {
    let vector = |number: usize| number * unit.count * BLOCK * QUAD;
    let at_once = if plan.is_narrow() { matrix.quads } else { 1 };
    let mut list = Vec::with_capacity(runs.len() * pixels.taps.len() / at_once);
    let mut before = 0;
    for run in runs {
        let quads = run.end - run.first;
        let taps = pixels.taps.iter().step_by(at_once);
        list.extend(taps.map(|&(at, tap)| [run.at + at, vector(before * plan.taps() + tap * quads)]));
        before += quads;
    }
    Steps::new(list)
}

/// Adds up rows of a unit, and hands each with its number to `take`: its pixels' sums, block by block. The source of a row begins `step`
/// **bytes** behind that of the one before. They are without what the sums begin with.
pub(super) fn rows(
    matrix: Matrix,
    of: Factors<'_>,
    step: usize,
    [rows, width]: [usize; 2],
    mut take: impl FnMut(usize, &[[i32; BLOCK]]),
) {
    let blocks = of.blocks;
    let in_row = width.div_ceil(ROWS);
    let pixels = width.div_ceil(in_row);
    let registers = matrix.unit.tiles(pixels, matrix.quads);
    let mut sums = [[0; BLOCK]; ROW * PAIR];
    let together = (ROW / width).max(1);
    // The next weights come in parts, one with each two tiles.
    let mut parts = (of.ahead..of.ahead + matrix.quads * blocks * BLOCK * QUAD).step_by(AHEAD);
    for first in (0..rows).step_by(together) {
        let rows = together.min(rows - first);
        // The last tile of a row reaches back over pixels that are done: the same sums once more.
        let place = |i: usize| {
            let (y, x) = (i / in_row, (i % in_row * pixels).min(width - pixels));
            [(first + y) * step + x * of.pixel, (y * width + x) * blocks]
        };
        for tile in (0..rows * in_row).step_by(2) {
            let places = [place(tile), place(tile + 1)];
            let count = 2.min(rows * in_row - tile);
            let ahead = parts.next().filter(|_| of.ahead != 0).unwrap_or(0);
            registers.multiply(Factors { ahead, ..of }, &places[..count], &mut sums);
        }
        for (y, sums) in sums.chunks_exact(width * blocks).take(rows).enumerate() {
            take(first + y, sums);
        }
    }
}
