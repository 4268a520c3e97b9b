// Views of a result that the tasks of a section write through, each its own part. A view lives as long as the closure that it
// is lent to: the borrow checker refuses one that leaves it.
//
// This file uses the standard library alone, so that the documentation tests below can compile it.

use std::marker::PhantomData;

/// The pixels of a [`PixelTile`], and how they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PixelTileGeometry {
    pub n: usize,
    /// The first pixel, counted over D, H and W.
    pub first: usize,
    pub pixels: usize,
    /// Elements between two blocks.
    pub stride_block: usize,
    pub blocks: usize,
    /// Elements of a pixel of one block.
    pub lanes: usize,
}

/// The same pixels of every block of one image of a result.
///
/// A tile cannot leave the closure:
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/lent.rs")); }
/// let place = lent::PixelTileGeometry { n: 0, first: 0, pixels: 2, stride_block: 4, blocks: 2, lanes: 1 };
/// let mut numbers = [1f32; 8];
/// let mut kept = None;
/// // SAFETY: two blocks of two pixels, which nothing else uses meanwhile.
/// unsafe { lent::PixelTile::lend(numbers.as_mut_ptr(), place, |tile| kept = Some(tile)) };
/// ```
/// What is written inside is there afterwards:
/// ```
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/lent.rs")); }
/// let place = lent::PixelTileGeometry { n: 0, first: 0, pixels: 2, stride_block: 4, blocks: 2, lanes: 1 };
/// let mut numbers = [1f32; 8];
/// let mut kept = None;
/// // SAFETY: two blocks of two pixels, which nothing else uses meanwhile.
/// unsafe { lent::PixelTile::lend(numbers.as_mut_ptr(), place, |mut tile| kept = Some(tile.block(1).len())) };
/// assert_eq!(kept, Some(2));
/// ```
pub(crate) struct PixelTile<'a> {
    pub place: PixelTileGeometry,
    start: *mut f32,
    lifetime: PhantomData<&'a mut [f32]>,
}

impl PixelTile<'_> {
    /// Lends a tile whose first pixel of block 0 is at `start`.
    ///
    /// # Safety
    /// Until `f` returns, the pixels of every block are valid for reading and writing, and nothing else uses them.
    #[inline(always)]
    pub unsafe fn lend<R>(
        start: *mut f32,
        place: PixelTileGeometry,
        f: impl FnOnce(PixelTile<'_>) -> R,
    ) -> R {
        f(PixelTile { place, start, lifetime: PhantomData })
    }

    /// The pixels of one block, side by side.
    ///
    /// # Panics
    /// When there is no such block.
    #[inline(always)]
    pub fn block(&mut self, block: usize) -> &mut [f32] {
        assert!(block < self.place.blocks);
        // SAFETY: `lend`'s caller promised these pixels for as long as the tile lives, and `&mut self` lends one block at a
        // time.
        unsafe {
            let start = self.start.add(block * self.place.stride_block);
            std::slice::from_raw_parts_mut(start, self.place.pixels * self.place.lanes)
        }
    }
}

/// Rows of some columns of a result: `rows` rows of `width` elements, `stride` elements apart.
///
/// The columns cannot leave the closure, neither as its result nor in a variable:
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/lent.rs")); }
/// let mut numbers = [1f32; 4];
/// // SAFETY: two rows of two elements, which nothing else uses meanwhile.
/// let kept = unsafe { lent::ResultColumns::lend(numbers.as_mut_ptr(), 2, 2, 2, |columns| columns) };
/// ```
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/lent.rs")); }
/// let mut numbers = [1f32; 4];
/// let mut kept = None;
/// // SAFETY: as above.
/// unsafe { lent::ResultColumns::lend(numbers.as_mut_ptr(), 2, 2, 2, |columns| kept = Some(columns)) };
/// ```
/// What is written inside is there afterwards:
/// ```
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/lent.rs")); }
/// let mut numbers = [1f32; 4];
/// // SAFETY: as above.
/// unsafe { lent::ResultColumns::lend(numbers.as_mut_ptr(), 2, 2, 2, |mut columns| columns.row(1).fill(2.0)) };
/// assert_eq!(numbers, [1.0, 1.0, 2.0, 2.0]);
/// ```
pub(crate) struct ResultColumns<'a, E> {
    start: *mut E,
    stride: usize,
    rows: usize,
    width: usize,
    lifetime: PhantomData<&'a mut [E]>,
}

impl<E> ResultColumns<'_, E> {
    /// Lends columns whose row 0 begins at `start`.
    ///
    /// # Safety
    /// Until `f` returns, `width` elements at each multiple of `stride` below `rows` are valid for reading and writing, and
    /// nothing else uses them. Rows do not overlap.
    #[inline(always)]
    pub unsafe fn lend<R>(
        start: *mut E,
        stride: usize,
        rows: usize,
        width: usize,
        f: impl FnOnce(ResultColumns<'_, E>) -> R,
    ) -> R {
        f(ResultColumns { start, stride, rows, width, lifetime: PhantomData })
    }

    /// Row `i`.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub fn row(&mut self, i: usize) -> &mut [E] {
        assert!(i < self.rows);
        // SAFETY: `lend`'s caller promised these rows for as long as the columns live, and `&mut self` lends one at a time.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(i * self.stride), self.width) }
    }

    /// Row `i`, to read.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub fn get(&self, i: usize) -> &[E] {
        assert!(i < self.rows);
        // SAFETY: as above; `&self` lends rows for reading only.
        unsafe { std::slice::from_raw_parts(self.start.add(i * self.stride), self.width) }
    }
}
