//! The kernels of resampling. Linear interpolation blends the source rows of a result row into one row of columns,
//! whole vectors in any layout, then its columns along W; the order is the same in every layout, and so are the bits.

use crate::kernels::lanes::{Lanes, PlanePart, RowIndex};
use crate::kernels::resample::geometry::{Axis, Pair};
use crate::kernels::spatial::{Work, tile_end};
use crate::simd::{self, Loop, barrier};

/// Elements of the row of blended columns, which stays in the first-level cache.
const SCRATCH: usize = 2048;
/// Lanes that are blended at once where there are many.
const MANY_LANES: usize = 64;

/// Where a row of image `row.n` and block `row.block` begins in the source.
fn row_start(from: &Lanes, row: RowIndex, d: usize, h: usize) -> usize {
    from.offset(RowIndex { d, h, ..row })
}

/// Copies the pixels that `axes` names.
pub(crate) fn nearest(work: Work<'_>, axes: &[Vec<u32>; 3]) {
    let Work { src, from, dst, to } = work;
    let [d, h, w] = axes;
    let doubles = w.len() == 2 * from.spatial[2] && w.iter().enumerate().all(|(i, &at)| at as usize == i / 2);
    to.for_each_plane_part(
        dst,
        8 * to.row_len(),
        || (),
        |(), part| {
            let rows = part.rows.clone();
            for row in rows.clone() {
                if from.lanes == 1 && row > rows.start && h[row] == h[row - 1] {
                    part.copy_row(row - 1, row);
                    continue;
                }
                let start = row_start(&from, part.plane, d[part.plane.d] as usize, h[row] as usize);
                let src = &src[start..start + from.row_len()];
                simd::dispatch(NearestPart { src, pixel: from.lanes, columns: w, doubles, part, row });
            }
        },
    );
}

struct NearestPart<'a, 'p> {
    /// The source row.
    src: &'a [f32],
    /// Elements from one source pixel to the next.
    pixel: usize,
    columns: &'a [u32],
    /// Whether every source pixel comes twice.
    doubles: bool,
    part: &'a mut PlanePart<'p>,
    row: usize,
}

impl Loop for NearestPart<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let NearestPart { src, pixel, columns, doubles, part, row } = self;
        let (all, lanes) = (part.columns.clone(), part.lanes.clone());
        let columns = &columns[all.clone()];
        match pixel {
            1 if doubles && all.start % 2 == 0 => {
                let src = &src[all.start / 2..];
                let (twins, last) = part.elements(row, all, lanes).as_chunks_mut::<2>();
                for (d, &x) in twins.iter_mut().zip(src) {
                    *d = [x; 2];
                }
                for (d, &x) in last.iter_mut().zip(&src[twins.len()..]) {
                    *d = x;
                }
            }
            1 => {
                let dst = part.elements(row, all, lanes);
                for (d, &i) in dst.iter_mut().zip(columns) {
                    *d = src[i as usize];
                }
            }
            8 => copy_pixels::<8>(src, columns, part.elements(row, all, lanes)),
            16 => copy_pixels::<16>(src, columns, part.elements(row, all, lanes)),
            _ => {
                for (w, &i) in all.zip(columns) {
                    let pixel = &src[i as usize * pixel..][..pixel];
                    part.elements(row, w..w + 1, lanes.clone()).copy_from_slice(&pixel[lanes.clone()]);
                }
            }
        }
    }
}

#[inline(always)]
fn copy_pixels<const L: usize>(row: &[f32], columns: &[u32], dst: &mut [f32]) {
    let (row, dst) = (row.as_chunks::<L>().0, dst.as_chunks_mut::<L>().0);
    for (d, &i) in dst.iter_mut().zip(columns) {
        *d = row[i as usize];
    }
}

/// Interpolates between the neighbours that `axes` names.
pub(crate) fn linear(work: Work<'_>, axes: &[Axis; 3]) {
    let Work { src, from, dst, to } = work;
    let row_bytes = 4 * (to.row_len() + 2 * from.row_len());
    to.for_each_plane_part(
        dst,
        row_bytes,
        || vec![0f32; SCRATCH.min(from.row_len())],
        |scratch, part| {
            let plane = part.plane;
            for row in part.rows.clone() {
                let (d, h) = (axes[0].pair(plane.d), axes[1].pair(row));
                let start = |d: u32, h: u32| row_start(&from, plane, d as usize, h as usize);
                let rows =
                    [start(d.low, h.low), start(d.low, h.high), start(d.high, h.low), start(d.high, h.high)];
                let blend = match axes {
                    [Axis::Same, Axis::Same, _] => Blend::One(rows[0]),
                    [Axis::Same, ..] => Blend::Two([rows[0], rows[1]], h.weights),
                    [_, Axis::Same, _] => Blend::Two([rows[0], rows[2]], d.weights),
                    _ => Blend::Four(rows, h.weights, d.weights),
                };
                let pixel = from.lanes;
                simd::dispatch(LinearPart { src, pixel, blend, axis: &axes[2], part, row, scratch });
            }
        },
    );
}

/// The source rows of a result row, and their weights.
enum Blend {
    One(usize),
    Two([usize; 2], [f32; 2]),
    /// `[(low, low), (low, high), (high, low), (high, high)]` of D and H; weights of H, then of D.
    Four([usize; 4], [f32; 2], [f32; 2]),
}

struct LinearPart<'a, 'p> {
    src: &'a [f32],
    /// Elements from one source pixel to the next.
    pixel: usize,
    blend: Blend,
    axis: &'a Axis,
    part: &'a mut PlanePart<'p>,
    row: usize,
    scratch: &'a mut [f32],
}

impl Loop for LinearPart<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let all = self.part.lanes.clone();
        let mut first = all.start;
        while first < all.end {
            let wide = if all.end - first < 2 * MANY_LANES { all.end - first } else { MANY_LANES };
            self.lanes(first, wide);
            first += wide;
        }
    }
}

impl LinearPart<'_, '_> {
    /// All columns of the part, some of its lanes.
    #[inline(always)]
    fn lanes(&mut self, lane: usize, wide: usize) {
        let columns = self.part.columns.clone();
        let mut at = columns.start;
        while at < columns.end {
            let end = tile_end(at, columns.end, SCRATCH / wide, |i| self.axis.reach(i));
            let (from, to) = (self.axis.reach(at).0, self.axis.reach(end - 1).1);
            if let Blend::One(row) = self.blend {
                let columns = &self.src[row + from * self.pixel..row + to * self.pixel];
                along_w(self.part, self.row, self.axis, at..end, columns, from, self.pixel, lane, wide);
            } else {
                self.blend(from, to, lane, wide);
                let columns = &self.scratch[..(to - from) * wide];
                // The scratch row begins with the first of these lanes.
                let at = at..end;
                along_w(self.part, self.row, self.axis, at, columns, from, wide, lane, wide);
            }
            at = end;
        }
    }

    /// Blends the rows of source columns `from..to` into the scratch row.
    #[inline(always)]
    fn blend(&mut self, from: usize, to: usize, lane: usize, wide: usize) {
        if wide == self.pixel {
            self.blend_run(from * wide, 0, (to - from) * wide);
        } else {
            for i in from..to {
                self.blend_run(i * self.pixel + lane, (i - from) * wide, wide);
            }
        }
    }

    /// Blends `len` elements from `at` on of every row.
    #[inline(always)]
    fn blend_run(&mut self, at: usize, into: usize, len: usize) {
        let out = &mut self.scratch[into..into + len];
        let row = |start: usize| &self.src[start + at..][..len];
        match self.blend {
            Blend::One(start) => out.copy_from_slice(row(start)),
            Blend::Two([a, b], weights) => blend_two(out, row(a), row(b), weights),
            Blend::Four([a, b, c, d], inner, outer) => {
                blend_four(out, [row(a), row(b), row(c), row(d)], inner, outer);
            }
        }
    }
}

#[inline(always)]
fn blend_two(out: &mut [f32], a: &[f32], b: &[f32], weights: [f32; 2]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = blend(a[i], b[i], weights);
    }
}

#[inline(always)]
fn blend_four(out: &mut [f32], rows: [&[f32]; 4], inner: [f32; 2], outer: [f32; 2]) {
    let n = out.len();
    let [a, b, c, d] = [&rows[0][..n], &rows[1][..n], &rows[2][..n], &rows[3][..n]];
    for i in 0..n {
        out[i] = blend(blend(a[i], b[i], inner), blend(c[i], d[i], inner), outer);
    }
}

#[inline(always)]
fn blend(a: f32, b: f32, weights: [f32; 2]) -> f32 {
    a * weights[0] + b * weights[1]
}

/// Blends `columns`, which begin at source column `from` and lie `pixel` elements apart, into the result columns
/// `at` and `wide` lanes from `lane` on.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn along_w(
    part: &mut PlanePart<'_>,
    row: usize,
    axis: &Axis,
    at: std::ops::Range<usize>,
    columns: &[f32],
    from: usize,
    pixel: usize,
    lane: usize,
    wide: usize,
) {
    // Whole source pixels hold lanes before those asked for.
    let skip = if pixel == wide { 0 } else { lane };
    let Axis::Pairs(pairs) = axis else {
        for i in at {
            let column = &columns[(i - from) * pixel + skip..][..wide];
            part.elements(row, i..i + 1, lane..lane + wide).copy_from_slice(column);
        }
        return;
    };
    if pixel == 1 {
        let dst = part.elements(row, at.clone(), 0..1);
        for (d, p) in dst.iter_mut().zip(&pairs[at]) {
            *d = blend(columns[p.low as usize - from], columns[p.high as usize - from], p.weights);
        }
        return;
    }
    match wide {
        8 if pixel == 8 => blend_pixels::<8>(part, row, pairs, at, columns, from),
        16 if pixel == 16 => blend_pixels::<16>(part, row, pairs, at, columns, from),
        _ => {
            for i in at {
                let p = pairs[i];
                let a = &columns[(p.low as usize - from) * pixel + skip..][..wide];
                let b = &columns[(p.high as usize - from) * pixel + skip..][..wide];
                blend_two(part.elements(row, i..i + 1, lane..lane + wide), a, b, p.weights);
            }
        }
    }
}

/// As `along_w`, for pixels of `L` lanes.
#[inline(always)]
fn blend_pixels<const L: usize>(
    part: &mut PlanePart<'_>,
    row: usize,
    pairs: &[Pair],
    at: std::ops::Range<usize>,
    columns: &[f32],
    from: usize,
) {
    let columns = columns.as_chunks::<L>().0;
    let pairs = &pairs[at.clone()];
    for (dst, p) in part.vectors::<L>(row, at, 0).zip(pairs) {
        barrier();
        let (a, b) = (&columns[p.low as usize - from], &columns[p.high as usize - from]);
        // By way of a value: the compiler does not know that `dst` is apart from the columns.
        let mut pixel = [0.0; L];
        for l in 0..L {
            pixel[l] = blend(a[l], b[l], p.weights);
        }
        *dst = pixel;
    }
}
