//! The loops in vector instructions: elements of four bytes are moved in square tiles, rows whole.

use std::arch::x86_64::*;

use super::{Bits, Patch, Steps, Strip, whole_rows};

/// **Bytes** of a cache line, and of the widest vector.
const LINE: usize = 64;

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
    ///
    /// Past the caches if `STREAM`, where the machine has that: then every `dst(i)` begins a cache line.
    unsafe fn transpose<const STREAM: bool>(
        src: impl Fn(usize) -> *const u32,
        dst: impl Fn(usize) -> *mut u32,
    );
}

/// # Safety
/// As [`super::gather`], with `store == L`, at least four lanes and four positions.
pub(super) unsafe fn gather<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
    let lines = || dst.addr().is_multiple_of(LINE) && keeps_lines::<u32>(strip.rows);
    // SAFETY: each branch has checked for its instructions; the rest is the caller's promise.
    unsafe {
        if L >= 16 && strip.count >= 16 && is_x86_feature_detected!("avx512f") {
            match strip.stream && lines() {
                true => gather_avx512::<L, true>(src, dst, strip),
                false => gather_avx512::<L, false>(src, dst, strip),
            }
        } else if L >= 8 && strip.count >= 8 && is_x86_feature_detected!("avx") {
            gather_avx::<L>(src, dst, strip);
        } else {
            gather_tiles::<Sse, L, false>(src, dst, strip);
        }
    }
}

/// # Safety
/// As [`super::scatter`], with `store == L`, at least four lanes and four positions.
pub(super) unsafe fn scatter<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
    let lines = || {
        dst.wrapping_add(strip.start).addr().is_multiple_of(LINE)
            && strip.line.is_multiple_of(16)
            && strip.count.is_multiple_of(16)
    };
    // SAFETY: as in `gather`.
    unsafe {
        if L >= 16 && strip.count >= 16 && is_x86_feature_detected!("avx512f") {
            match strip.stream && lines() {
                true => scatter_avx512::<L, true>(src, dst, strip),
                false => scatter_avx512::<L, false>(src, dst, strip),
            }
        } else if L >= 8 && strip.count >= 8 && is_x86_feature_detected!("avx") {
            scatter_avx::<L>(src, dst, strip);
        } else {
            scatter_tiles::<Sse, L, false>(src, dst, strip);
        }
    }
}

#[target_feature(enable = "avx512f")]
unsafe fn gather_avx512<const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: Strip<'_>,
) {
    // SAFETY: this function is compiled for the tile's instructions.
    unsafe { gather_tiles::<Avx512, L, STREAM>(src, dst, strip) }
}

#[target_feature(enable = "avx")]
unsafe fn gather_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
    // SAFETY: as above.
    unsafe { gather_tiles::<Avx, L, false>(src, dst, strip) }
}

#[target_feature(enable = "avx512f")]
unsafe fn scatter_avx512<const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: Strip<'_>,
) {
    // SAFETY: as above.
    unsafe { scatter_tiles::<Avx512, L, STREAM>(src, dst, strip) }
}

#[target_feature(enable = "avx")]
unsafe fn scatter_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: Strip<'_>) {
    // SAFETY: as above.
    unsafe { scatter_tiles::<Avx, L, false>(src, dst, strip) }
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
unsafe fn gather_tiles<K: Tile, const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: Strip<'_>,
) {
    for x in tiles(&strip, K::SIDE) {
        for half in (0..L).step_by(K::SIDE) {
            // SAFETY: lanes below `valid` have lines, the others read SIDE of the zeros; the rows have
            // L lanes to write. The tile ends inside the strip.
            unsafe {
                let row = |i: usize| dst.add(strip.rows.at(x + i) + half);
                if strip.valid >= half + K::SIDE {
                    K::transpose::<STREAM>(|lane| src.add((half + lane) * strip.line + x), row);
                } else {
                    let line = |lane: usize| match half + lane {
                        lane if lane < strip.valid => src.add(lane * strip.line + x),
                        _ => ZEROS.as_ptr(),
                    };
                    K::transpose::<STREAM>(line, row);
                }
            }
        }
    }
}

/// # Safety
/// As [`scatter`], for a strip of at least SIDE positions, on a machine with the tile's instructions.
#[inline(always)]
unsafe fn scatter_tiles<K: Tile, const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: Strip<'_>,
) {
    #[repr(align(64))]
    struct Nowhere([u32; 16]);
    let mut nowhere = Nowhere([0; 16]);
    let nowhere = nowhere.0.as_mut_ptr();
    for x in tiles(&strip, K::SIDE) {
        for half in (0..L).step_by(K::SIDE) {
            // SAFETY: the rows have L lanes to read; lanes below `valid` have lines, the others are written
            // to the SIDE or more elements of `nowhere`. The tile ends inside the strip.
            unsafe {
                let row = |i: usize| src.add(strip.rows.at(x + i) + half);
                if strip.valid >= half + K::SIDE {
                    K::transpose::<STREAM>(row, |lane| dst.add((half + lane) * strip.line + x));
                } else {
                    let line = |lane: usize| match half + lane {
                        lane if lane < strip.valid => dst.add(lane * strip.line + x),
                        _ => nowhere,
                    };
                    K::transpose::<STREAM>(row, line);
                }
            }
        }
    }
}

struct Sse;

impl Tile for Sse {
    const SIDE: usize = 4;

    #[inline(always)]
    unsafe fn transpose<const STREAM: bool>(
        src: impl Fn(usize) -> *const u32,
        dst: impl Fn(usize) -> *mut u32,
    ) {
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
    unsafe fn transpose<const STREAM: bool>(
        src: impl Fn(usize) -> *const u32,
        dst: impl Fn(usize) -> *mut u32,
    ) {
        // SAFETY: the caller's promise: AVX and good pointers.
        unsafe {
            let r = std::array::from_fn::<__m256, 8, _>(|i| _mm256_loadu_ps(src(i).cast()));
            // Four rows at a time, within halves: column j of rows 4k to 4k+3 (lower half) and column 4 + j.
            let quad = |k: usize| {
                let (a, b) = (_mm256_unpacklo_ps(r[k], r[k + 1]), _mm256_unpackhi_ps(r[k], r[k + 1]));
                let (c, d) = (_mm256_unpacklo_ps(r[k + 2], r[k + 3]), _mm256_unpackhi_ps(r[k + 2], r[k + 3]));
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
    unsafe fn transpose<const STREAM: bool>(
        src: impl Fn(usize) -> *const u32,
        dst: impl Fn(usize) -> *mut u32,
    ) {
        // SAFETY: the caller's promise: AVX-512 F and good pointers.
        unsafe {
            let r = std::array::from_fn::<__m512, 16, _>(|i| _mm512_loadu_ps(src(i).cast()));
            // Four rows at a time, within quarters: quarter m holds column 4m + j of rows k to k+3.
            let quad = |k: usize| {
                let (a, b) = (_mm512_unpacklo_ps(r[k], r[k + 1]), _mm512_unpackhi_ps(r[k], r[k + 1]));
                let (c, d) = (_mm512_unpacklo_ps(r[k + 2], r[k + 3]), _mm512_unpackhi_ps(r[k + 2], r[k + 3]));
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
                store::<STREAM>(dst(j), _mm512_shuffle_f32x4::<0x88>(e0, e1));
                store::<STREAM>(dst(4 + j), _mm512_shuffle_f32x4::<0x88>(o0, o1));
                store::<STREAM>(dst(8 + j), _mm512_shuffle_f32x4::<0xdd>(e0, e1));
                store::<STREAM>(dst(12 + j), _mm512_shuffle_f32x4::<0xdd>(o0, o1));
            }
        }
    }
}

/// # Safety
/// `to` is good for writing 16 elements, and begins a cache line if `STREAM`; the machine has AVX-512 F.
#[inline(always)]
unsafe fn store<const STREAM: bool>(to: *mut u32, v: __m512) {
    // SAFETY: the caller's promise.
    unsafe {
        if STREAM {
            _mm512_stream_ps(to.cast(), v);
        } else {
            _mm512_storeu_ps(to.cast(), v);
        }
    }
}

/// Whether all addresses `p + at(x)` begin a cache line if `p` does.
fn keeps_lines<T>(steps: Steps<'_>) -> bool {
    matches!(steps, Steps::Even(step) if (step * size_of::<T>()).is_multiple_of(LINE))
}

/// # Safety
/// As [`super::rows`], with `valid == L`.
pub(super) unsafe fn rows<T: Bits, const L: usize>(src: *const T, dst: *mut T, patch: Patch<'_>) {
    let lines = || dst.addr().is_multiple_of(LINE) && patch.dst.iter().all(|&s| keeps_lines::<T>(s));
    // SAFETY: each branch has checked for its instructions; the rest is the caller's promise.
    unsafe {
        if L * size_of::<T>() == LINE && is_x86_feature_detected!("avx512f") {
            match patch.stream && lines() {
                true => rows_avx512::<T, true>(src, dst, patch),
                false => rows_avx512::<T, false>(src, dst, patch),
            }
        } else if is_x86_feature_detected!("avx") {
            rows_avx::<T, L>(src, dst, patch)
        } else {
            whole_rows::<T, L>(src, dst, patch)
        }
    }
}

/// # Safety
/// As [`rows`], for rows of one cache line, which begin one if `STREAM`.
#[target_feature(enable = "avx512f")]
unsafe fn rows_avx512<T: Bits, const STREAM: bool>(src: *const T, dst: *mut T, patch: Patch<'_>) {
    // SAFETY: the caller's promise for this row.
    patch.for_each_row(|s, d| unsafe {
        let row = _mm512_loadu_ps(src.add(s).cast());
        store::<STREAM>(dst.add(d).cast(), row);
    });
}

/// # Safety
/// As [`rows`].
#[target_feature(enable = "avx")]
unsafe fn rows_avx<T: Bits, const L: usize>(src: *const T, dst: *mut T, patch: Patch<'_>) {
    // SAFETY: the caller's promise.
    unsafe { whole_rows::<T, L>(src, dst, patch) }
}
