//! The innermost loops: transposed tiles, with vector instructions where the machine has them.

use super::Bits;

#[cfg(target_arch = "x86_64")]
mod x86;

/// Where the row of position `x` begins, in **elements**.
#[derive(Clone, Copy)]
pub(super) enum Steps<'a> {
    /// Evenly spaced.
    Even(usize),
    /// As tabled.
    Table(&'a [usize]),
}

impl<'a> Steps<'a> {
    #[inline(always)]
    pub(super) fn at(self, x: usize) -> usize {
        match self {
            Steps::Even(step) => x * step,
            Steps::Table(table) => table[x],
        }
    }
}

/// One strip of tiles. On one side each position is a row of up to `L` dense lanes, `rows` says where; on the other
/// side each lane is a line of dense positions, `line` elements after the one before.
#[derive(Clone, Copy)]
pub(super) struct Strip<'a> {
    pub rows: Steps<'a>,
    pub line: usize,
    /// First position, and how many.
    pub start: usize,
    pub count: usize,
    /// Lanes that hold elements.
    pub valid: usize,
    /// Lanes to write where rows are written: beyond `valid` zeros.
    pub store: usize,
    /// Whether to write past the caches, where the addresses allow it: for results that no cache holds.
    pub stream: bool,
}

/// Rows that are dense on both sides: `count[1]` rows at each of `count[0]` places.
#[derive(Clone, Copy)]
pub(super) struct Patch<'a> {
    /// Where the places begin on either side, and the rows of a place.
    pub src: [Steps<'a>; 2],
    pub dst: [Steps<'a>; 2],
    /// First place and first row, and how many of each.
    pub start: [usize; 2],
    pub count: [usize; 2],
    /// As in [`Strip`].
    pub valid: usize,
    pub store: usize,
    pub stream: bool,
}

impl Patch<'_> {
    /// Calls `f` with where each row begins on either side.
    #[inline(always)]
    fn for_each_row(&self, mut f: impl FnMut(usize, usize)) {
        let ends = [self.start[0] + self.count[0], self.start[1] + self.count[1]];
        match (self.src, self.dst) {
            // What is common, in a loop without a question.
            ([Steps::Even(s0), Steps::Even(s1)], [Steps::Even(d0), Steps::Even(d1)]) => {
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
pub(super) unsafe fn gather<T: Bits, const L: usize>(src: *const T, dst: *mut T, strip: Strip<'_>) {
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
pub(super) unsafe fn scatter<T: Bits, const L: usize>(src: *const T, dst: *mut T, strip: Strip<'_>) {
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
pub(super) unsafe fn rows<T: Bits, const L: usize>(src: *const T, dst: *mut T, patch: Patch<'_>) {
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
unsafe fn whole_rows<T: Bits, const L: usize>(src: *const T, dst: *mut T, patch: Patch<'_>) {
    // SAFETY: the caller's promise for this row.
    patch.for_each_row(|s, d| unsafe {
        let row = src.add(s).cast::<[T; L]>().read_unaligned();
        dst.add(d).cast::<[T; L]>().write_unaligned(row);
    });
}

/// Ends a task that may have streamed: other threads learn of its end by ordinary stores, which must come after.
pub(super) fn fence() {
    // Miri has neither these stores nor the fence.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
