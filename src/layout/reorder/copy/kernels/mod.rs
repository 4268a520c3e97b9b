//! The innermost loops, for rows and for transposed tiles, with vector instructions where the machine has them.

use super::ElementBits;
use crate::simd;

#[cfg(target_arch = "x86_64")]
mod x86;

/// The offsets of positions, borrowed, in **elements**.
#[derive(Clone, Copy)]
pub(super) enum OffsetsRef<'a> {
    /// Multiples of a step.
    Even(usize),
    /// One offset for each position.
    Table(&'a [usize]),
}

impl<'a> OffsetsRef<'a> {
    #[inline(always)]
    pub(super) fn at(self, x: usize) -> usize {
        match self {
            OffsetsRef::Even(step) => x * step,
            OffsetsRef::Table(table) => table[x],
        }
    }
}

/// One strip of tiles. On one side each position is a row of up to `L` dense lanes. On the other side each lane is a line of
/// dense positions.
#[derive(Clone, Copy)]
pub(super) struct TileStrip<'a> {
    /// The offsets of the rows.
    pub rows: OffsetsRef<'a>,
    /// The distance from line to line, in **elements**.
    pub line: usize,
    /// The first position, and how many there are.
    pub start: usize,
    pub count: usize,
    /// Lanes that hold elements.
    pub valid: usize,
    /// Lanes to write when rows are written. Those beyond `valid` get zeros.
    pub store: usize,
    /// Whether to write past the caches if the addresses allow it: for results larger than any cache.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub stream: bool,
}

/// Rows that are dense on both sides: `count[1]` rows, one for each group of lanes, at each of `count[0]` positions.
#[derive(Clone, Copy)]
pub(super) struct RowPatch<'a> {
    /// The offsets of the positions on each side, and of the rows at a position.
    pub src: [OffsetsRef<'a>; 2],
    pub dst: [OffsetsRef<'a>; 2],
    /// The first position and the first row, and how many of each.
    pub start: [usize; 2],
    pub count: [usize; 2],
    /// As in [`TileStrip`].
    pub valid: usize,
    pub store: usize,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub stream: bool,
}

impl RowPatch<'_> {
    /// Calls `f` with the offsets of each row on both sides.
    #[inline(always)]
    fn for_each_row(&self, mut f: impl FnMut(usize, usize)) {
        let ends = [self.start[0] + self.count[0], self.start[1] + self.count[1]];
        match (self.src, self.dst) {
            // The usual case, in a loop without branches.
            ([OffsetsRef::Even(s0), OffsetsRef::Even(s1)], [OffsetsRef::Even(d0), OffsetsRef::Even(d1)]) => {
                for i in self.start[0]..ends[0] {
                    for j in self.start[1]..ends[1] {
                        f(i * s0 + j * s1, i * d0 + j * d1);
                    }
                }
            }
            (src, dst) => {
                for i in self.start[0]..ends[0] {
                    for j in self.start[1]..ends[1] {
                        f(src[0].at(i) + src[1].at(j), dst[0].at(i) + dst[1].at(j));
                    }
                }
            }
        }
    }
}

/// Reads lines, writes rows of `L` lanes.
///
/// # Safety
/// `src` is good for reading `valid` lines at the strip's positions, `dst` for writing `store` lanes of each row,
/// and they do not overlap. `valid <= store <= L`.
pub(super) unsafe fn gather<T: ElementBits, const L: usize>(
    src: *const T,
    dst: *mut T,
    strip: TileStrip<'_>,
) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    if strip.store == L && unsafe { x86::gather::<T, L>(src, dst, strip) } {
        return;
    }
    for x in strip.start..strip.start + strip.count {
        let row = strip.rows.at(x);
        for lane in 0..strip.store {
            // SAFETY: the caller's promise, for this position and lane.
            unsafe {
                let v = if lane < strip.valid { *src.add(lane * strip.line + x) } else { T::zeroed() };
                *dst.add(row + lane) = v;
            }
        }
    }
}

/// Reads rows of `L` lanes, writes lines.
///
/// # Safety
/// `src` is good for reading `valid` lanes of each row, `dst` for writing `valid` lines at the strip's positions,
/// and they do not overlap. `valid <= L`. Whole rows of `L` lanes may be read where `store` is `L`.
pub(super) unsafe fn scatter<T: ElementBits, const L: usize>(
    src: *const T,
    dst: *mut T,
    strip: TileStrip<'_>,
) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    if strip.store == L && unsafe { x86::scatter::<T, L>(src, dst, strip) } {
        return;
    }
    for x in strip.start..strip.start + strip.count {
        let row = strip.rows.at(x);
        for lane in 0..strip.valid {
            // SAFETY: the caller's promise, for this position and lane.
            unsafe { *dst.add(lane * strip.line + x) = *src.add(row + lane) };
        }
    }
}

/// Copies rows of `L` elements, or of `store` where `L` is 0.
///
/// # Safety
/// At each row `src` is good for reading `valid`, `dst` for writing `store` elements, and they do not overlap.
/// `valid <= store <= L`, unless L is 0.
pub(super) unsafe fn rows<T: ElementBits, const L: usize>(src: *const T, dst: *mut T, patch: RowPatch<'_>) {
    if L == 0 || patch.valid < L {
        // SAFETY: the caller's promise for this row.
        patch.for_each_row(|s, d| unsafe {
            dst.add(d).copy_from_nonoverlapping(src.add(s), patch.valid);
            dst.add(d + patch.valid).write_bytes(0, patch.store - patch.valid);
        });
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise; rows are whole.
    unsafe {
        x86::rows::<T, L>(src, dst, patch)
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise; rows are whole.
    unsafe {
        whole_rows::<T, L>(src, dst, patch)
    }
}

/// # Safety
/// As [`rows`], with `valid == L`.
#[inline(always)]
unsafe fn whole_rows<T: ElementBits, const L: usize>(src: *const T, dst: *mut T, patch: RowPatch<'_>) {
    // SAFETY: the caller's promise for this row.
    patch.for_each_row(|s, d| unsafe {
        let row = src.add(s).cast::<[T; L]>().read_unaligned();
        dst.add(d).cast::<[T; L]>().write_unaligned(row);
    });
}

/// Ends a task that may have used streaming stores. Other threads learn of its end by ordinary stores, and the fence orders the
/// streaming stores before those.
pub(super) fn fence() {
    simd::stream_fence();
}
