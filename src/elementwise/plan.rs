//! The order in which an element-wise loop visits memory: coalesced dimensions, cut into tiles that fit the first-level
//! cache.
//!
//! Operand 0 is the destination. Dimensions are sorted by its strides, densest first. Dimensions of size 1 are dropped, and
//! neighbours that are dense to each other for every operand are merged. A tile consists of **rows** of equal length:
//!
//! - a row runs along dimension 0, or along the first few dimensions if dimension 0 is short;
//! - the rows of a tile follow each other along one further dimension. If an operand is transposed (NHWC beside NCHW), that
//!   is the dimension in which it is densest, else the next dimension.
//!
//! An operand whose rows are dense, or one repeated value, is used in place. Other operands go through a scratch tile.
//!
//! There is a special case without scratch: rows of one vector (8 or 16 elements, a block of channels), along which some
//! operands repeat. The loop then expands a few rows at a time.

use crate::layout::dims::Dims;
use crate::layout::loops::Loops;

/// The destination and up to three sources.
pub(super) const MAX_OPERANDS: usize = 4;

/// A row of at least this many elements is worth a vector loop.
const GOOD_ROW: usize = 32;
/// Longest row of a tile with a transposed operand: the destination is written in whole rows or long pieces of rows.
const TRANSPOSED_ROW: usize = 256;
/// Elements of a tile that goes through scratch.
const SCRATCH_TILE: usize = 4096;
/// Lengths of a row that is one vector.
const VECTORS: [usize; 2] = [8, 16];
/// Elements of a tile whose operands are all used in place.
const DIRECT_TILE: usize = 16 << 10;

/// The nested loops of a map or copy, the destination's densest dimension first. Operand 0 is the destination.
pub(super) struct LoopNest {
    pub loops: Loops<MAX_OPERANDS>,
    pub operands: usize,
}

impl LoopNest {
    /// `strides` has a list for each operand over `shape`, with 0 along broadcast dimensions; the destination's list is first.
    pub fn new(shape: &[usize], strides: &[Dims]) -> LoopNest {
        let of = |d: usize| std::array::from_fn(|k| strides.get(k).map_or(0, |s| s[d]));
        let mut loops = Loops::densest_first((0..shape.len()).map(|d| (shape[d], of(d))));
        if *loops.sizes == [1] {
            // One element is a dense row.
            loops.steps.iter_mut().take(strides.len()).for_each(|s| s[0] = 1);
        }
        LoopNest { loops, operands: strides.len() }
    }
}

impl std::ops::Deref for LoopNest {
    type Target = Loops<MAX_OPERANDS>;
    fn deref(&self) -> &Self::Target {
        &self.loops
    }
}

/// How a loop nest is cut into tiles.
pub(super) struct Tiling {
    /// Dimensions `0..row_dims` make up a row.
    pub row_dims: usize,
    /// The dimension along which the rows of a tile follow each other, if there is one outside the row.
    pub rows_along: Option<usize>,
    /// Extent of a full tile along each dimension; 1 outside the row and `rows_along`.
    pub extents: Dims,
    /// Whether an operand is one repeated value along each row.
    pub single: [bool; MAX_OPERANDS],
    /// Whether an operand's rows are dense or one repeated value, so that they need no scratch.
    pub in_place: [bool; MAX_OPERANDS],
    /// Whether each row is one vector.
    pub vectors: bool,
}

impl Tiling {
    pub fn new(nest: &LoopNest) -> Tiling {
        let rank = nest.sizes.len();
        let dst = &nest.steps[0];
        if is_best_as_vectors(nest) {
            let mut extents = Dims::filled(1, rank);
            extents[0] = nest.sizes[0];
            extents[1] = nest.sizes[1].min(DIRECT_TILE / nest.sizes[0]);
            let single = std::array::from_fn(|k| (1..nest.operands).contains(&k) && nest.steps[k][0] == 0);
            let in_place = [true; MAX_OPERANDS];
            return Tiling { row_dims: 1, rows_along: Some(1), extents, single, in_place, vectors: true };
        }
        let mut row_dims = 1;
        let mut row = nest.sizes[0];
        while row < GOOD_ROW && row_dims < rank && (dst[0] != 1 || dst[row_dims] == row) {
            row *= nest.sizes[row_dims];
            row_dims += 1;
        }
        let single: [bool; MAX_OPERANDS] = std::array::from_fn(|k| {
            (1..nest.operands).contains(&k) && nest.steps[k][..row_dims].iter().all(|&s| s == 0)
        });
        let in_place: [bool; MAX_OPERANDS] =
            std::array::from_fn(|k| k < nest.operands && (single[k] || is_dense_row(nest, k, row_dims)));
        // The dimension in which a transposed operand is densest.
        let transposed_along = |k: &usize| {
            let s = &nest.steps[*k];
            let densest = (0..rank).filter(|&d| s[d] != 0).min_by_key(|&d| s[d]);
            densest.filter(|&d| d >= row_dims && s[0] != 0)
        };
        let transposed = (0..nest.operands).filter(|&k| !in_place[k]).find_map(|k| transposed_along(&k));
        let rows_along = transposed.or((row_dims < rank).then_some(row_dims));
        let all_in_place = in_place[..nest.operands].iter().all(|&b| b);
        let (row_limit, tile) = match (transposed, all_in_place) {
            (Some(_), _) => (TRANSPOSED_ROW, SCRATCH_TILE),
            (None, false) => (SCRATCH_TILE, SCRATCH_TILE),
            (None, true) => (DIRECT_TILE, DIRECT_TILE),
        };
        let mut extents = Dims::filled(1, rank);
        let inner: usize = nest.sizes[..row_dims - 1].iter().product();
        extents[..row_dims - 1].copy_from_slice(&nest.sizes[..row_dims - 1]);
        extents[row_dims - 1] = evenly(nest.sizes[row_dims - 1], row_limit / inner);
        if let Some(a) = rows_along {
            let row: usize = inner * extents[row_dims - 1];
            extents[a] = evenly(nest.sizes[a], tile / row);
        }
        Tiling { row_dims, rows_along, extents, single, in_place, vectors: false }
    }
}

/// Whether rows of one vector are the best choice: several sources, some of which repeat, and each is dense or one value
/// along the row.
fn is_best_as_vectors(nest: &LoopNest) -> bool {
    let strides = &nest.steps[..nest.operands];
    nest.operands > 2
        && nest.sizes.len() > 1
        && VECTORS.contains(&nest.sizes[0])
        && strides[0][..2] == [1, nest.sizes[0]]
        && strides[1..].iter().all(|s| s[0] <= 1)
        && strides[1..].iter().any(|s| s[0] == 0 || s[1] == 0)
}

/// The extent of tiles that cover `size`, each at most `limit`, as equal as multiples of 16 allow. A very short last tile would
/// be slow.
fn evenly(size: usize, limit: usize) -> usize {
    let tiles = size.div_ceil(limit.max(1));
    size.div_ceil(tiles).next_multiple_of(16).min(limit.max(1)).min(size)
}

fn is_dense_row(nest: &LoopNest, operand: usize, row_dims: usize) -> bool {
    let mut expected = 1;
    (0..row_dims).all(|d| {
        let fits = nest.steps[operand][d] == expected;
        expected *= nest.sizes[d];
        fits
    })
}

/// The tiles of a loop nest, in the order of the destination's memory.
pub(super) struct LoopTiles<'a> {
    nest: &'a LoopNest,
    extents: &'a Dims,
    /// Dimensions in the order in which they are visited, the fastest first, each with its number of tiles.
    grid: Vec<(usize, usize)>,
}

/// One tile: its extent along each dimension, and the offset of its first element in each operand.
pub(super) struct LoopTile {
    pub extents: Dims,
    pub offsets: [usize; MAX_OPERANDS],
}

impl<'a> LoopTiles<'a> {
    /// Tiles of these extents. Dimension `first` is visited fastest, then `second`.
    pub fn new(nest: &'a LoopNest, extents: &'a Dims, first: usize, second: Option<usize>) -> LoopTiles<'a> {
        let rank = nest.sizes.len();
        let rest = (0..rank).filter(|&d| d != first && Some(d) != second);
        let grid = std::iter::once(first)
            .chain(second)
            .chain(rest)
            .map(|d| (d, nest.sizes[d].div_ceil(extents[d])))
            .filter(|&(_, tiles)| tiles > 1)
            .collect();
        LoopTiles { nest, extents, grid }
    }

    pub fn count(&self) -> usize {
        self.grid.iter().map(|&(_, tiles)| tiles).product()
    }

    /// Calls `f` with tiles `range`.
    pub fn for_each(&self, range: std::ops::Range<usize>, mut f: impl FnMut(&LoopTile)) {
        let mut index = [0usize; crate::MAX_RANK];
        let mut left = range.start;
        for (i, &(_, tiles)) in self.grid.iter().enumerate() {
            index[i] = left % tiles;
            left /= tiles;
        }
        for _ in range {
            let mut tile = LoopTile { extents: *self.extents, offsets: [0; MAX_OPERANDS] };
            for (&(d, _), &at) in self.grid.iter().zip(&index) {
                let start = at * self.extents[d];
                tile.extents[d] = self.extents[d].min(self.nest.sizes[d] - start);
                for k in 0..self.nest.operands {
                    tile.offsets[k] += start * self.nest.steps[k][d];
                }
            }
            f(&tile);
            for (at, &(_, tiles)) in index.iter_mut().zip(&self.grid) {
                *at += 1;
                if *at < tiles {
                    break;
                }
                *at = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(v: &[usize]) -> Dims {
        Dims::from_slice(v)
    }

    #[test]
    fn equal_dense_operands_become_one_dimension_whatever_their_format() {
        let nhwc = dims(&[3 * 4 * 5, 1, 5 * 3, 3]);
        let nest = LoopNest::new(&[2, 3, 4, 5], &[nhwc, nhwc]);
        assert_eq!((&*nest.sizes, &*nest.steps[1]), (&[120][..], &[1][..]));
    }

    #[test]
    fn a_transposed_operand_gets_tiles_of_whole_cache_lines() {
        let nest =
            LoopNest::new(&[2, 256, 3136], &[dims(&[256 * 3136, 1, 256]), dims(&[256 * 3136, 3136, 1])]);
        let tiling = Tiling::new(&nest);
        assert_eq!((tiling.row_dims, tiling.rows_along), (1, Some(1)));
        assert_eq!(*tiling.extents, [256, 16, 1]);
        assert!(tiling.in_place[0] && !tiling.in_place[1]);
    }

    #[test]
    fn short_rows_merge_where_the_destination_is_dense() {
        let nest = LoopNest::new(&[100, 3], &[dims(&[3, 1]), dims(&[3, 1]), dims(&[0, 1])]);
        let tiling = Tiling::new(&nest);
        assert_eq!((tiling.row_dims, tiling.rows_along), (2, None));
        assert_eq!(tiling.in_place, [true, true, false, false]);
    }

    #[test]
    fn blocks_of_channels_over_which_an_operand_repeats_are_rows_of_one_vector() {
        let (full, channel) = (dims(&[16 * 9, 16, 1]), dims(&[16, 0, 1]));
        let tiling = Tiling::new(&LoopNest::new(&[3, 9, 16], &[full, full, channel]));
        assert!(tiling.vectors && tiling.row_dims == 1);
        assert_eq!((&*tiling.extents, tiling.rows_along), (&[16, 9, 1][..], Some(1)));
        let pixel = dims(&[0, 16, 0]);
        assert!(Tiling::new(&LoopNest::new(&[3, 9, 16], &[full, full, pixel])).vectors);
        assert!(!Tiling::new(&LoopNest::new(&[3, 9, 16], &[full, full, full])).vectors);
        assert!(!Tiling::new(&LoopNest::new(&[3, 9, 12], &[full, full, pixel])).vectors);
    }

    #[test]
    fn tiles_cover_every_index_once() {
        let nest = LoopNest::new(&[7, 5, 9], &[dims(&[100, 11, 1]), dims(&[1, 7, 35])]);
        let extents = dims(&[4, 2, 3]);
        let tiles = LoopTiles::new(&nest, &extents, 0, Some(2));
        let mut seen = vec![0; 700];
        for part in [0..tiles.count() / 2, tiles.count() / 2..tiles.count()] {
            tiles.for_each(part, |t| {
                for i in 0..t.extents[0] {
                    for j in 0..t.extents[1] {
                        for k in 0..t.extents[2] {
                            seen[t.offsets[0] + i + 11 * j + 100 * k] += 1;
                        }
                    }
                }
            });
        }
        assert_eq!(seen.iter().sum::<usize>(), 7 * 5 * 9);
        assert!(seen.iter().all(|&n| n <= 1));
    }
}
