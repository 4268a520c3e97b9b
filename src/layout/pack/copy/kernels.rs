//! The innermost loops: transposed tiles, with vector instructions where the machine has them.

use super::Bits;

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
}

/// Reads lines, writes rows of `L` lanes.
///
/// # Safety
/// `src` is good for reading `valid` lines at the strip's positions, `dst` for writing `store` lanes of each row,
/// and they do not overlap. `valid <= store <= L`.
pub(super) unsafe fn gather<T: Bits, const L: usize>(src: *const T, dst: *mut T, strip: Strip<'_>) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 && strip.store == L && strip.count >= 4 && L >= 4 {
        // SAFETY: the caller's promise; T has the size of u32 and any bit pattern is one of either.
        unsafe { x86::gather::<L>(src.cast(), dst.cast(), strip) };
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
    if size_of::<T>() == 4 && strip.store == L && strip.count >= 4 && L >= 4 {
        // SAFETY: as in `gather`.
        unsafe { x86::scatter::<L>(src.cast(), dst.cast(), strip) };
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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Strip;
    use std::arch::x86_64::*;

    /// Stands in for the lines of lanes that hold no elements.
    static ZEROS: [u32; 16] = [0; 16];

    /// A square tile that fits the registers.
    trait Tile {
        const SIDE: usize;

        /// Writes the `i`-th elements of all rows `src(0)`, `src(1)`, ... to the row `dst(i)`.
        ///
        /// # Safety
        /// Every `src(i)` is good for reading, every `dst(i)` for writing SIDE elements, and the machine has the
        /// tile's instructions.
        unsafe fn transpose(src: impl Fn(usize) -> *const u32, dst: impl Fn(usize) -> *mut u32);
    }

    /// # Safety
    /// As [`super::gather`], with `store == L`, at least four lanes and four positions.
    pub(super) unsafe fn gather<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: each branch has checked for its instructions; the rest is the caller's promise.
        unsafe {
            if L >= 16 && strip.count >= 16 && is_x86_feature_detected!("avx512f") {
                gather_avx512::<L>(src, dst, strip);
            } else if L >= 8 && strip.count >= 8 && is_x86_feature_detected!("avx") {
                gather_avx::<L>(src, dst, strip);
            } else {
                gather_tiles::<Sse, L>(src, dst, strip);
            }
        }
    }

    /// # Safety
    /// As [`super::scatter`], with `store == L`, at least four lanes and four positions.
    pub(super) unsafe fn scatter<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: as in `gather`.
        unsafe {
            if L >= 16 && strip.count >= 16 && is_x86_feature_detected!("avx512f") {
                scatter_avx512::<L>(src, dst, strip);
            } else if L >= 8 && strip.count >= 8 && is_x86_feature_detected!("avx") {
                scatter_avx::<L>(src, dst, strip);
            } else {
                scatter_tiles::<Sse, L>(src, dst, strip);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn gather_avx512<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: this function is compiled for the tile's instructions.
        unsafe { gather_tiles::<Avx512, L>(src, dst, strip) }
    }

    #[target_feature(enable = "avx")]
    unsafe fn gather_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: as above.
        unsafe { gather_tiles::<Avx, L>(src, dst, strip) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn scatter_avx512<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: as above.
        unsafe { scatter_tiles::<Avx512, L>(src, dst, strip) }
    }

    #[target_feature(enable = "avx")]
    unsafe fn scatter_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        // SAFETY: as above.
        unsafe { scatter_tiles::<Avx, L>(src, dst, strip) }
    }

    /// The first positions of the tiles that cover a strip of at least one tile: the last one may overlap the one
    /// before, and writes the same values again.
    #[inline(always)]
    fn tiles(strip: &Strip<'_>, side: usize) -> impl Iterator<Item = usize> + use<> {
        let (start, last) = (strip.start, strip.start + strip.count - side);
        (0..strip.count.div_ceil(side)).map(move |i| (start + i * side).min(last))
    }

    /// # Safety
    /// As [`gather`], for a strip of at least SIDE positions, on a machine with the tile's instructions.
    #[inline(always)]
    unsafe fn gather_tiles<K: Tile, const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        for x in tiles(&strip, K::SIDE) {
            for half in (0..L).step_by(K::SIDE) {
                // SAFETY: lanes below `valid` have lines, the others read SIDE of the zeros; the rows have
                // L lanes to write. The tile ends inside the strip.
                unsafe {
                    let row = |i: usize| dst.add(strip.rows.at(x + i) + half);
                    if strip.valid >= half + K::SIDE {
                        K::transpose(|lane| src.add((half + lane) * strip.line + x), row);
                    } else {
                        let line = |lane: usize| match half + lane {
                            lane if lane < strip.valid => src.add(lane * strip.line + x),
                            _ => ZEROS.as_ptr(),
                        };
                        K::transpose(line, row);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`scatter`], for a strip of at least SIDE positions, on a machine with the tile's instructions.
    #[inline(always)]
    unsafe fn scatter_tiles<K: Tile, const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
        let mut nowhere = [0u32; 16];
        let nowhere = nowhere.as_mut_ptr();
        for x in tiles(&strip, K::SIDE) {
            for half in (0..L).step_by(K::SIDE) {
                // SAFETY: the rows have L lanes to read; lanes below `valid` have lines, the others are written
                // to the SIDE or more elements of `nowhere`. The tile ends inside the strip.
                unsafe {
                    let row = |i: usize| src.add(strip.rows.at(x + i) + half);
                    if strip.valid >= half + K::SIDE {
                        K::transpose(row, |lane| dst.add((half + lane) * strip.line + x));
                    } else {
                        let line = |lane: usize| match half + lane {
                            lane if lane < strip.valid => dst.add(lane * strip.line + x),
                            _ => nowhere,
                        };
                        K::transpose(row, line);
                    }
                }
            }
        }
    }

    struct Sse;

    impl Tile for Sse {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(src: impl Fn(usize) -> *const u32, dst: impl Fn(usize) -> *mut u32) {
            // SAFETY: SSE is part of x86-64; the pointers are the caller's promise.
            unsafe {
                let r = std::array::from_fn::<__m128, 4, _>(|i| _mm_loadu_ps(src(i).cast()));
                let (a, b) = (_mm_unpacklo_ps(r[0], r[1]), _mm_unpackhi_ps(r[0], r[1]));
                let (c, d) = (_mm_unpacklo_ps(r[2], r[3]), _mm_unpackhi_ps(r[2], r[3]));
                _mm_storeu_ps(dst(0).cast(), _mm_movelh_ps(a, c));
                _mm_storeu_ps(dst(1).cast(), _mm_movehl_ps(c, a));
                _mm_storeu_ps(dst(2).cast(), _mm_movelh_ps(b, d));
                _mm_storeu_ps(dst(3).cast(), _mm_movehl_ps(d, b));
            }
        }
    }

    struct Avx;

    impl Tile for Avx {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(src: impl Fn(usize) -> *const u32, dst: impl Fn(usize) -> *mut u32) {
            // SAFETY: the caller's promise: AVX and good pointers.
            unsafe {
                let r = std::array::from_fn::<__m256, 8, _>(|i| _mm256_loadu_ps(src(i).cast()));
                // Four rows at a time, within halves: column j of rows 4k to 4k+3 (lower half) and column 4 + j.
                let quad = |k: usize| {
                    let (a, b) = (_mm256_unpacklo_ps(r[k], r[k + 1]), _mm256_unpackhi_ps(r[k], r[k + 1]));
                    let (c, d) =
                        (_mm256_unpacklo_ps(r[k + 2], r[k + 3]), _mm256_unpackhi_ps(r[k + 2], r[k + 3]));
                    [
                        _mm256_shuffle_ps::<0x44>(a, c),
                        _mm256_shuffle_ps::<0xee>(a, c),
                        _mm256_shuffle_ps::<0x44>(b, d),
                        _mm256_shuffle_ps::<0xee>(b, d),
                    ]
                };
                let (upper, lower) = (quad(0), quad(4));
                for j in 0..4 {
                    let (u, l) = (upper[j], lower[j]);
                    _mm256_storeu_ps(dst(j).cast(), _mm256_permute2f128_ps::<0x20>(u, l));
                    _mm256_storeu_ps(dst(4 + j).cast(), _mm256_permute2f128_ps::<0x31>(u, l));
                }
            }
        }
    }

    struct Avx512;

    impl Tile for Avx512 {
        const SIDE: usize = 16;

        #[inline(always)]
        unsafe fn transpose(src: impl Fn(usize) -> *const u32, dst: impl Fn(usize) -> *mut u32) {
            // SAFETY: the caller's promise: AVX-512 F and good pointers.
            unsafe {
                let r = std::array::from_fn::<__m512, 16, _>(|i| _mm512_loadu_ps(src(i).cast()));
                // Four rows at a time, within quarters: quarter m holds column 4m + j of rows k to k+3.
                let quad = |k: usize| {
                    let (a, b) = (_mm512_unpacklo_ps(r[k], r[k + 1]), _mm512_unpackhi_ps(r[k], r[k + 1]));
                    let (c, d) =
                        (_mm512_unpacklo_ps(r[k + 2], r[k + 3]), _mm512_unpackhi_ps(r[k + 2], r[k + 3]));
                    [
                        _mm512_shuffle_ps::<0x44>(a, c),
                        _mm512_shuffle_ps::<0xee>(a, c),
                        _mm512_shuffle_ps::<0x44>(b, d),
                        _mm512_shuffle_ps::<0xee>(b, d),
                    ]
                };
                let q = [quad(0), quad(4), quad(8), quad(12)];
                for j in 0..4 {
                    let even = |a: usize| _mm512_shuffle_f32x4::<0x88>(q[a][j], q[a + 1][j]);
                    let odd = |a: usize| _mm512_shuffle_f32x4::<0xdd>(q[a][j], q[a + 1][j]);
                    let (e0, e1, o0, o1) = (even(0), even(2), odd(0), odd(2));
                    _mm512_storeu_ps(dst(j).cast(), _mm512_shuffle_f32x4::<0x88>(e0, e1));
                    _mm512_storeu_ps(dst(4 + j).cast(), _mm512_shuffle_f32x4::<0x88>(o0, o1));
                    _mm512_storeu_ps(dst(8 + j).cast(), _mm512_shuffle_f32x4::<0xdd>(e0, e1));
                    _mm512_storeu_ps(dst(12 + j).cast(), _mm512_shuffle_f32x4::<0xdd>(o0, o1));
                }
            }
        }
    }
}
