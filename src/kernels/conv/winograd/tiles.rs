//! How an image is cut into tiles.

use std::ops::Range;

use crate::kernels::conv::ConvGeometry;

/// The tiles of all images, numbered image by image and row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiles {
    /// Tiles of an image along H and W.
    pub grid: [usize; 2],
    /// Padding before H and W.
    pub padding: [usize; 2],
    /// Tiles of all images.
    pub count: usize,
}

/// Neighbouring tiles of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TileRun {
    pub image: usize,
    pub row: usize,
    pub column: usize,
    pub count: usize,
    /// Its first tile, counted from the first of the range.
    pub at: usize,
}

impl Tiles {
    /// Tiles of `outputs` by `outputs` pixels.
    pub fn new(g: &ConvGeometry, outputs: usize) -> Tiles {
        let grid = [0, 1].map(|axis| g.output[axis].div_ceil(outputs));
        let padding = [0, 1].map(|axis| g.pad_begin[axis]);
        Tiles { grid, padding, count: g.n * grid[0] * grid[1] }
    }

    /// The runs of a range of tiles, in the list given.
    pub fn runs(&self, range: Range<usize>, to: &mut Vec<TileRun>) {
        to.clear();
        let [height, width] = self.grid;
        let mut tile = range.start;
        while tile < range.end {
            let column = tile % width;
            let count = (width - column).min(range.end - tile);
            let (image, row) = (tile / width / height, tile / width % height);
            to.push(TileRun { image, row, column, count, at: tile - range.start });
            tile += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::geometry;
    use super::*;

    #[test]
    fn a_grid_covers_every_output_and_no_tile_lies_outside() {
        for outputs in [2, 4] {
            for rows in 3..20 {
                let g = ConvGeometry { n: 3, ..geometry(16, rows, 1) };
                let tiles = Tiles::new(&g, outputs);
                let [height, width] = tiles.grid;
                assert!(height * outputs >= rows && (height - 1) * outputs < rows, "{outputs} {rows}");
                assert!(width * outputs >= 6 && (width - 1) * outputs < 6);
                assert_eq!((tiles.count, tiles.padding), (3 * height * width, [1, 1]));
            }
        }
    }

    #[test]
    fn runs_of_every_range_have_each_of_its_tiles_once() {
        let tiles = Tiles { grid: [3, 5], padding: [1, 1], count: 30 };
        let mut runs = Vec::new();
        for start in 0..tiles.count {
            for end in start..=tiles.count {
                tiles.runs(start..end, &mut runs);
                let mut next = start;
                for run in &runs {
                    assert_eq!((run.at, (run.image * 3 + run.row) * 5 + run.column), (next - start, next));
                    assert!(run.count > 0 && run.column + run.count <= 5);
                    next += run.count;
                }
                assert_eq!(next, end);
            }
        }
    }

    #[test]
    fn runs_end_with_rows_and_cover_the_range() {
        let tiles = Tiles { grid: [2, 3], padding: [1, 1], count: 12 };
        let mut runs = Vec::new();
        tiles.runs(2..8, &mut runs);
        let run = |image, row, column, count, at| TileRun { image, row, column, count, at };
        assert_eq!(runs, [run(0, 0, 2, 1, 0), run(0, 1, 0, 3, 1), run(1, 0, 0, 2, 4)]);
    }
}
