// A part of a plane of a result, which one task writes.
//
// The documentation tests include this file, so it uses only the standard library.

use std::marker::PhantomData;
use std::ops::{Deref, Range};

/// Which rows, pixels and lanes of a plane a [`PlanePart`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartRange<P> {
    /// The first row of the plane: image, block and D; `h` is 0.
    pub plane: P,
    /// The rows (H) of the part.
    pub rows: Range<usize>,
    /// The pixels (W) that the part has of each of its rows.
    pub columns: Range<usize>,
    /// The lanes that the part has of each of its pixels.
    pub lanes: Range<usize>,
}

/// A part of one plane (block of an image) of a result. Only one task writes it.
///
/// What it has can be read and not changed:
/// ```compile_fail
/// mod part { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/plane_part.rs")); }
/// let mut numbers = [0f32; 8];
/// let range = part::PartRange { plane: (), rows: 0..1, columns: 0..2, lanes: 0..4 };
/// // SAFETY: one row of two pixels of four lanes, which nothing else uses meanwhile.
/// let mut part = unsafe { part::PlanePart::new(numbers.as_mut_ptr(), 8, 4, range) };
/// part.rows = 0..1000;
/// ```
/// Elements outside of it panic:
/// ```should_panic
/// mod part { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/plane_part.rs")); }
/// let mut numbers = [0f32; 8];
/// let range = part::PartRange { plane: (), rows: 0..1, columns: 0..2, lanes: 0..4 };
/// // SAFETY: as above.
/// let mut part = unsafe { part::PlanePart::new(numbers.as_mut_ptr(), 8, 4, range) };
/// part.elements(1, 0..2, 0..4);
/// ```
pub(crate) struct PlanePart<'a, P, E> {
    range: PartRange<P>,
    /// Elements from one pixel to the next.
    pixel_stride: usize,
    /// Elements from one row to the next.
    row_stride: usize,
    /// Points to the first element of the plane.
    start: *mut E,
    lifetime: PhantomData<&'a mut [E]>,
}

impl<P, E> Deref for PlanePart<'_, P, E> {
    type Target = PartRange<P>;

    fn deref(&self) -> &PartRange<P> {
        &self.range
    }
}

impl<P, E: Copy> PlanePart<'_, P, E> {
    /// A part of the plane whose first element is at `start`. Strides are in **elements**.
    ///
    /// # Safety
    /// For `'a`, the elements of these rows, columns and lanes are valid for reading and writing, and nothing else uses them. Rows do
    /// not overlap, nor do the pixels of a row; the lanes of a pixel are fewer than `pixel_stride`, or as many.
    pub unsafe fn new<'a>(
        start: *mut E,
        row_stride: usize,
        pixel_stride: usize,
        range: PartRange<P>,
    ) -> PlanePart<'a, P, E> {
        PlanePart { range, pixel_stride, row_stride, start, lifetime: PhantomData }
    }

    /// The elements of these columns and lanes of one row. They must be contiguous: one pixel, or all lanes of several pixels.
    ///
    /// # Panics
    /// If they are not contiguous, or not all in the part.
    #[inline(always)]
    pub fn elements(&mut self, row: usize, columns: Range<usize>, lanes: Range<usize>) -> &mut [E] {
        let inside = self.range.rows.contains(&row)
            && self.range.columns.start <= columns.start
            && columns.end <= self.range.columns.end
            && self.range.lanes.start <= lanes.start
            && lanes.end <= self.range.lanes.end;
        let (count, wide) = (columns.len(), lanes.len());
        assert!(inside && (count == 1 || wide == self.pixel_stride), "elements of another part");
        // SAFETY: the elements are of this part, so that `new`'s caller promised them. They are contiguous, as was just checked. `self` is borrowed for as long as they are.
        unsafe {
            let first =
                self.start.add(row * self.row_stride + columns.start * self.pixel_stride + lanes.start);
            std::slice::from_raw_parts_mut(first, count * wide)
        }
    }

    /// Copies one row to another row of the part, which must have all lanes.
    ///
    /// # Panics
    /// If the part does not have all lanes or not both rows, or the rows are the same.
    pub fn copy_row(&mut self, from: usize, to: usize) {
        let (columns, lanes) = (self.range.columns.clone(), self.range.lanes.clone());
        let src: *const [E] = self.elements(from, columns.clone(), lanes.clone());
        let dst = self.elements(to, columns, lanes);
        assert!(from != to, "a row onto itself");
        // SAFETY: `elements` checked both rows of the part. They are different rows, so they do not overlap.
        dst.copy_from_slice(unsafe { &*src });
    }

    /// The `L` lanes from `lane` on, of each of some columns of one row.
    ///
    /// # Panics
    /// If they are not all in the part.
    #[inline(always)]
    pub fn vectors<const L: usize>(
        &mut self,
        row: usize,
        columns: Range<usize>,
        lane: usize,
    ) -> impl Iterator<Item = &mut [E; L]> {
        let inside = self.range.rows.contains(&row)
            && self.range.columns.start <= columns.start
            && columns.end <= self.range.columns.end
            && self.range.lanes.start <= lane
            && lane <= self.range.lanes.end
            && L <= self.range.lanes.end - lane;
        assert!(inside, "elements of another part");
        let stride = self.pixel_stride;
        // SAFETY: the row lies in the part's plane.
        let first = unsafe { self.start.add(row * self.row_stride + lane) };
        columns.map(move |i| {
            // SAFETY: row, column and lanes are in the part, as was just checked, and no two columns overlap. `self` is borrowed
            // for as long as the vectors are.
            unsafe { &mut *first.add(i * stride).cast() }
        })
    }
}
