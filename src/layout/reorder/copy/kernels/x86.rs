//! The loops in vector instructions: square tiles are transposed in registers, rows are copied whole.

use std::arch::x86_64::*;

use super::{ElementBits, OffsetsRef, RowPatch, TileStrip, whole_rows};
use crate::simd::level;

/// **Bytes** of a cache line, and of the widest vector.
const LINE: usize = 64;

/// What is read in place of the lines of lanes that hold no elements.
static ZEROS: [u32; LINE / 4] = [0; LINE / 4];

/// A square tile that fits the registers.
trait TransposeTile {
    type Element;
    const SIDE: usize;

    /// Writes the `i`-th elements of all rows `src(0)`, `src(1)`, ... to the row `dst(i)`.
    ///
    /// # Safety
    /// Every `src(i)` is good for reading, every `dst(i)` for writing SIDE elements, and the machine has the
    /// tile's instructions. If `STREAM`, every `dst(i)` begins a cache line: a tile that can then writes past the caches.
    unsafe fn transpose<const STREAM: bool>(
        src: impl Fn(usize) -> *const Self::Element,
        dst: impl Fn(usize) -> *mut Self::Element,
    );
}

/// Copies the strip if a tile fits it; returns whether it did.
///
/// # Safety
/// As [`super::gather`], with `store == L`.
pub(super) unsafe fn gather<T: ElementBits, const L: usize>(
    src: *const T,
    dst: *mut T,
    strip: TileStrip<'_>,
) -> bool {
    let can_stream = || dst.addr().is_multiple_of(LINE) && keeps_line_alignment::<T>(strip.rows);
    let fits = |side: usize| L >= side && strip.count >= side;
    // SAFETY: each branch has checked the size of elements and for its instructions; the rest is the caller's
    // promise.
    unsafe {
        match size_of::<T>() {
            4 if fits(16) && level().avx512().is_some() => match strip.stream && can_stream() {
                true => gather_avx512::<L, true>(src.cast(), dst.cast(), strip),
                false => gather_avx512::<L, false>(src.cast(), dst.cast(), strip),
            },
            4 if fits(8) && level().avx2().is_some() => gather_avx::<L>(src.cast(), dst.cast(), strip),
            4 if fits(4) => gather_tiles::<SseTile, L, false>(src.cast(), dst.cast(), strip),
            2 if fits(8) => gather_tiles::<WordTile, L, false>(src.cast(), dst.cast(), strip),
            1 if fits(16) => gather_tiles::<ByteTile, L, false>(src.cast(), dst.cast(), strip),
            _ => return false,
        }
    }
    true
}

/// Copies the strip if a tile fits it; returns whether it did.
///
/// # Safety
/// As [`super::scatter`], with `store == L`.
pub(super) unsafe fn scatter<T: ElementBits, const L: usize>(
    src: *const T,
    dst: *mut T,
    strip: TileStrip<'_>,
) -> bool {
    let can_stream = || {
        let first = dst.wrapping_add(strip.start).addr();
        [first, strip.line * size_of::<T>(), strip.count * size_of::<T>()]
            .iter()
            .all(|n| n.is_multiple_of(LINE))
    };
    let fits = |side: usize| L >= side && strip.count >= side;
    // SAFETY: each branch has checked the size of elements and for its instructions; the rest is the caller's
    // promise.
    unsafe {
        match size_of::<T>() {
            4 if fits(16) && level().avx512().is_some() => match strip.stream && can_stream() {
                true => scatter_avx512::<L, true>(src.cast(), dst.cast(), strip),
                false => scatter_avx512::<L, false>(src.cast(), dst.cast(), strip),
            },
            4 if fits(8) && level().avx2().is_some() => scatter_avx::<L>(src.cast(), dst.cast(), strip),
            4 if fits(4) => scatter_tiles::<SseTile, L, false>(src.cast(), dst.cast(), strip),
            2 if fits(8) => scatter_tiles::<WordTile, L, false>(src.cast(), dst.cast(), strip),
            1 if fits(16) => scatter_tiles::<ByteTile, L, false>(src.cast(), dst.cast(), strip),
            _ => return false,
        }
    }
    true
}

#[target_feature(enable = "avx512f")]
unsafe fn gather_avx512<const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: TileStrip<'_>,
) {
    // SAFETY: this function is compiled for the tile's instructions.
    unsafe { gather_tiles::<Avx512Tile, L, STREAM>(src, dst, strip) }
}

#[target_feature(enable = "avx")]
unsafe fn gather_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: TileStrip<'_>) {
    // SAFETY: as above.
    unsafe { gather_tiles::<AvxTile, L, false>(src, dst, strip) }
}

#[target_feature(enable = "avx512f")]
unsafe fn scatter_avx512<const L: usize, const STREAM: bool>(
    src: *const u32,
    dst: *mut u32,
    strip: TileStrip<'_>,
) {
    // SAFETY: as above.
    unsafe { scatter_tiles::<Avx512Tile, L, STREAM>(src, dst, strip) }
}

#[target_feature(enable = "avx")]
unsafe fn scatter_avx<const L: usize>(src: *const u32, dst: *mut u32, strip: TileStrip<'_>) {
    // SAFETY: as above.
    unsafe { scatter_tiles::<AvxTile, L, false>(src, dst, strip) }
}

/// The first positions of the tiles that cover a strip of at least one tile. The last tile may overlap the one before, and
/// writes the same values again.
#[inline(always)]
fn tiles(strip: &TileStrip<'_>, side: usize) -> impl Iterator<Item = usize> + use<> {
    let (start, last) = (strip.start, strip.start + strip.count - side);
    (0..strip.count.div_ceil(side)).map(move |i| (start + i * side).min(last))
}

/// # Safety
/// As [`gather`], for a strip of at least SIDE positions, on a machine with the tile's instructions.
#[inline(always)]
unsafe fn gather_tiles<K: TransposeTile, const L: usize, const STREAM: bool>(
    src: *const K::Element,
    dst: *mut K::Element,
    strip: TileStrip<'_>,
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
                        _ => ZEROS.as_ptr().cast(),
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
unsafe fn scatter_tiles<K: TransposeTile, const L: usize, const STREAM: bool>(
    src: *const K::Element,
    dst: *mut K::Element,
    strip: TileStrip<'_>,
) {
    #[repr(align(64))]
    struct Discarded([u32; LINE / 4]);
    let mut discarded = Discarded([0; LINE / 4]);
    let discarded = discarded.0.as_mut_ptr().cast();
    for x in tiles(&strip, K::SIDE) {
        for half in (0..L).step_by(K::SIDE) {
            // SAFETY: the rows have L lanes to read; lanes below `valid` have lines, the others are written
            // to `discarded`. The tile ends inside the strip.
            unsafe {
                let row = |i: usize| src.add(strip.rows.at(x + i) + half);
                if strip.valid >= half + K::SIDE {
                    K::transpose::<STREAM>(row, |lane| dst.add((half + lane) * strip.line + x));
                } else {
                    let line = |lane: usize| match half + lane {
                        lane if lane < strip.valid => dst.add(lane * strip.line + x),
                        _ => discarded,
                    };
                    K::transpose::<STREAM>(row, line);
                }
            }
        }
    }
}

/// A tile by repeated interleaving of the first half of the rows with the second.
macro_rules! interleaved {
    ($name:ident, $element:ty, $side:literal, $stages:literal, $low:ident, $high:ident) => {
        struct $name;

        impl TransposeTile for $name {
            type Element = $element;
            const SIDE: usize = $side;

            #[inline(always)]
            unsafe fn transpose<const STREAM: bool>(
                src: impl Fn(usize) -> *const $element,
                dst: impl Fn(usize) -> *mut $element,
            ) {
                // SAFETY: SSE2 is part of x86-64; the pointers are the caller's promise.
                unsafe {
                    let mut r = std::array::from_fn::<__m128i, $side, _>(|i| _mm_loadu_si128(src(i).cast()));
                    for _ in 0..$stages {
                        r = std::array::from_fn(|i| match i % 2 {
                            0 => $low(r[i / 2], r[i / 2 + $side / 2]),
                            _ => $high(r[i / 2], r[i / 2 + $side / 2]),
                        });
                    }
                    r.iter().enumerate().for_each(|(i, v)| _mm_storeu_si128(dst(i).cast(), *v));
                }
            }
        }
    };
}
interleaved!(WordTile, u16, 8, 3, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
interleaved!(ByteTile, u8, 16, 4, _mm_unpacklo_epi8, _mm_unpackhi_epi8);

struct SseTile;

impl TransposeTile for SseTile {
    type Element = u32;
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

struct AvxTile;

impl TransposeTile for AvxTile {
    type Element = u32;
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

struct Avx512Tile;

impl TransposeTile for Avx512Tile {
    type Element = u32;
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
            let mut out = [_mm512_setzero_ps(); 16];
            for j in 0..4 {
                let [a, b, c, d] = q.map(|columns| columns[j]);
                let (e0, o0) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
                let (e1, o1) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
                out[j] = _mm512_shuffle_f32x4::<0x88>(e0, e1);
                out[4 + j] = _mm512_shuffle_f32x4::<0x88>(o0, o1);
                out[8 + j] = _mm512_shuffle_f32x4::<0xdd>(e0, e1);
                out[12 + j] = _mm512_shuffle_f32x4::<0xdd>(o0, o1);
            }
            for (i, v) in out.into_iter().enumerate() {
                store::<STREAM>(dst(i), v);
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
fn keeps_line_alignment<T>(steps: OffsetsRef<'_>) -> bool {
    matches!(steps, OffsetsRef::Even(step) if (step * size_of::<T>()).is_multiple_of(LINE))
}

/// # Safety
/// As [`super::rows`], with `valid == L`.
pub(super) unsafe fn rows<T: ElementBits, const L: usize>(src: *const T, dst: *mut T, patch: RowPatch<'_>) {
    let can_stream =
        || dst.addr().is_multiple_of(LINE) && patch.dst.iter().all(|&s| keeps_line_alignment::<T>(s));
    // SAFETY: each branch has checked for its instructions; the rest is the caller's promise.
    unsafe {
        if L * size_of::<T>() == LINE && level().avx512().is_some() {
            match patch.stream && can_stream() {
                true => rows_avx512::<T, true>(src, dst, patch),
                false => rows_avx512::<T, false>(src, dst, patch),
            }
        } else if level().avx2().is_some() {
            rows_avx::<T, L>(src, dst, patch)
        } else {
            whole_rows::<T, L>(src, dst, patch)
        }
    }
}

/// # Safety
/// As [`rows`], for rows of one cache line, which begin one if `STREAM`.
#[target_feature(enable = "avx512f")]
unsafe fn rows_avx512<T: ElementBits, const STREAM: bool>(src: *const T, dst: *mut T, patch: RowPatch<'_>) {
    // SAFETY: the caller's promise for this row.
    patch.for_each_row(|s, d| unsafe {
        let row = _mm512_loadu_ps(src.add(s).cast());
        store::<STREAM>(dst.add(d).cast(), row);
    });
}

/// # Safety
/// As [`rows`].
#[target_feature(enable = "avx")]
unsafe fn rows_avx<T: ElementBits, const L: usize>(src: *const T, dst: *mut T, patch: RowPatch<'_>) {
    // SAFETY: the caller's promise.
    unsafe { whole_rows::<T, L>(src, dst, patch) }
}
