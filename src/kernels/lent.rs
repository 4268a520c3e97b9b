// Mutable views of parts of a result. Each task of a parallel section gets its own part. A view is lent to a closure: the borrow
// checker refuses code that keeps a view after the closure has returned.
//
// The documentation tests below include this file, so it uses only the standard library.

use std::marker::PhantomData;

/// Which pixels a [`PixelTile`] has, and how they lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PixelTileGeometry {
    /// The image.
    pub n: usize,
    /// The index of the first pixel, counted over D, H and W.
    pub first: usize,
    /// The number of pixels.
    pub pixels: usize,
    /// Elements from the first element of one block to that of the next.
    pub stride_block: usize,
    /// Channel blocks of the image.
    pub blocks: usize,
    /// Elements that a pixel has in one block.
    pub lanes: usize,
}

/// Some neighbouring pixels of one image of a result, with all their channel blocks.
///
/// A tile cannot leave the closure:
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
/// let geometry = lent::PixelTileGeometry { n: 0, first: 0, pixels: 2, stride_block: 4, blocks: 2, lanes: 1 };
/// let mut numbers = [1f32; 8];
/// let mut kept = None;
/// // SAFETY: two blocks of two pixels, which nothing else uses meanwhile.
/// unsafe { lent::PixelTile::lend(numbers.as_mut_ptr(), geometry, |tile| kept = Some(tile)) };
/// ```
/// What the closure writes stays in the result:
/// ```
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
/// let geometry = lent::PixelTileGeometry { n: 0, first: 0, pixels: 2, stride_block: 4, blocks: 2, lanes: 1 };
/// let mut numbers = [1f32; 8];
/// let mut kept = None;
/// // SAFETY: two blocks of two pixels, which nothing else uses meanwhile.
/// unsafe { lent::PixelTile::lend(numbers.as_mut_ptr(), geometry, |mut tile| kept = Some(tile.block(1).len())) };
/// assert_eq!(kept, Some(2));
/// ```
/// Its geometry cannot be changed:
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
/// let geometry = lent::PixelTileGeometry { n: 0, first: 0, pixels: 2, stride_block: 4, blocks: 2, lanes: 1 };
/// let mut numbers = [1f32; 8];
/// // SAFETY: as above.
/// unsafe { lent::PixelTile::lend(numbers.as_mut_ptr(), geometry, |mut tile| tile.geometry.blocks = 1000) };
/// ```
pub(crate) struct PixelTile<'a, E> {
    geometry: PixelTileGeometry,
    start: *mut E,
    lifetime: PhantomData<&'a mut [E]>,
}

impl<E> PixelTile<'_, E> {
    /// Lends a tile to `f`. Its first pixel in block 0 is at `start`.
    ///
    /// # Safety
    /// Until `f` returns, the pixels of every block are valid for reading and writing, and nothing else uses them.
    #[inline(always)]
    pub unsafe fn lend<R>(
        start: *mut E,
        geometry: PixelTileGeometry,
        f: impl FnOnce(PixelTile<'_, E>) -> R,
    ) -> R {
        f(PixelTile { geometry, start, lifetime: PhantomData })
    }

    /// Which pixels the tile has.
    #[inline(always)]
    pub fn geometry(&self) -> PixelTileGeometry {
        self.geometry
    }

    /// The elements of all pixels of the tile in one block.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline(always)]
    pub fn block(&mut self, block: usize) -> &mut [E] {
        assert!(block < self.geometry.blocks);
        // SAFETY: the caller of `lend` promised that these pixels are valid and used by nothing else while the tile lives.
        // `&mut self` allows one block to be borrowed at a time.
        unsafe {
            let start = self.start.add(block * self.geometry.stride_block);
            std::slice::from_raw_parts_mut(start, self.geometry.pixels * self.geometry.lanes)
        }
    }
}

/// Some neighbouring columns of a result: `rows` rows of `width` elements. Rows begin `stride` elements apart.
///
/// The columns cannot leave the closure, neither as its return value nor in a variable:
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
/// let mut numbers = [1f32; 4];
/// // SAFETY: two rows of two elements, which nothing else uses meanwhile.
/// let kept = unsafe { lent::ResultColumns::lend(numbers.as_mut_ptr(), 2, 2, 2, |columns| columns) };
/// ```
/// ```compile_fail
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
/// let mut numbers = [1f32; 4];
/// let mut kept = None;
/// // SAFETY: as above.
/// unsafe { lent::ResultColumns::lend(numbers.as_mut_ptr(), 2, 2, 2, |columns| kept = Some(columns)) };
/// ```
/// What the closure writes stays in the result:
/// ```
/// mod lent { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lent.rs")); }
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
    /// Lends the columns to `f`. Row 0 begins at `start`.
    ///
    /// # Safety
    /// Until `f` returns, the `width` elements from `start + i * stride` on are valid for reading and writing for every `i` below
    /// `rows`, and nothing else uses them. Rows do not overlap.
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

    /// Row `i`, for writing.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub fn row(&mut self, i: usize) -> &mut [E] {
        assert!(i < self.rows);
        // SAFETY: the caller of `lend` promised that these rows are valid and used by nothing else while the columns live.
        // `&mut self` allows one row to be borrowed at a time.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(i * self.stride), self.width) }
    }

    /// Row `i`, for reading.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub fn get(&self, i: usize) -> &[E] {
        assert!(i < self.rows);
        // SAFETY: as in `row`; through `&self`, rows are borrowed only for reading.
        unsafe { std::slice::from_raw_parts(self.start.add(i * self.stride), self.width) }
    }
}
