//! The kernels of resampling to a size. Linear interpolation first blends the source rows of a result row into one row of
//! columns, in whole vectors whatever the layout, then blends these columns along W. Every layout blends in this order, so all
//! give the same bits.

use crate::dtype::{Element, Float};
use crate::kernels::lanes::{Lanes, PlanePart, RowIndex};
use crate::kernels::resample::upsample_geometry::{LinearAxis, Neighbours};
use crate::kernels::spatial::{SpatialOperands, tile_end};
use crate::simd::{self, Loop, barrier};

/// Elements of the row of blended columns, which stays in the first-level cache.
const SCRATCH_ELEMENTS: usize = 2048;
/// Lanes that are blended at once if a pixel has many.
const MANY_LANES: usize = 64;

/// Where the source row at `d` and `h` begins, of the image and block of `row`.
fn source_row_start(src_view: &Lanes, row: RowIndex, d: usize, h: usize) -> usize {
    src_view.offset(RowIndex { d, h, ..row })
}

/// Nearest neighbour: copies the source pixels whose indices along D, H and W are `axes`.
pub(crate) fn nearest<E: Element>(operands: SpatialOperands<'_, E>, axes: &[Vec<u32>; 3]) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let [d, h, w] = axes;
    let doubles = w.len() == 2 * src_view.spatial[2]
        && w.iter().enumerate().all(|(i, &source)| source as usize == i / 2);
    dst_view.for_each_plane_part(
        dst,
        2 * size_of::<E>() * dst_view.row_len(),
        || (),
        |(), part| {
            let rows = part.rows.clone();
            for row in rows.clone() {
                if src_view.lanes == 1 && row > rows.start && h[row] == h[row - 1] {
                    part.copy_row(row - 1, row);
                    continue;
                }
                let start =
                    source_row_start(&src_view, part.plane, d[part.plane.d] as usize, h[row] as usize);
                let src = &src[start..start + src_view.row_len()];
                simd::dispatch(NearestRow { src, pixel: src_view.lanes, columns: w, doubles, part, row });
            }
        },
    );
}

/// One row of a part, by nearest neighbour.
struct NearestRow<'a, 'p, E> {
    /// The source row.
    src: &'a [E],
    /// Elements from one source pixel to the next.
    pixel: usize,
    /// The source column of every result column.
    columns: &'a [u32],
    /// Whether every source pixel is written twice.
    doubles: bool,
    part: &'a mut PlanePart<'p, E>,
    row: usize,
}

impl<E: Element> Loop for NearestRow<'_, '_, E> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let NearestRow { src, pixel, columns, doubles, part, row } = self;
        let (all, lanes) = (part.columns.clone(), part.lanes.clone());
        let columns = &columns[all.clone()];
        match pixel {
            1 if doubles && all.start % 2 == 0 => {
                let src = &src[all.start / 2..];
                let (pairs, last) = part.elements(row, all, lanes).as_chunks_mut::<2>();
                for (d, &x) in pairs.iter_mut().zip(src) {
                    *d = [x; 2];
                }
                for (d, &x) in last.iter_mut().zip(&src[pairs.len()..]) {
                    *d = x;
                }
            }
            1 => {
                let dst = part.elements(row, all, lanes);
                for (d, &i) in dst.iter_mut().zip(columns) {
                    *d = src[i as usize];
                }
            }
            8 => copy_pixels::<E, 8>(src, columns, part.elements(row, all, lanes)),
            16 => copy_pixels::<E, 16>(src, columns, part.elements(row, all, lanes)),
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
fn copy_pixels<E: Element, const L: usize>(row: &[E], columns: &[u32], dst: &mut [E]) {
    let (row, dst) = (row.as_chunks::<L>().0, dst.as_chunks_mut::<L>().0);
    for (d, &i) in dst.iter_mut().zip(columns) {
        *d = row[i as usize];
    }
}

/// Linear interpolation between the neighbours that `axes` holds for D, H and W.
pub(crate) fn linear<E: Float>(operands: SpatialOperands<'_, E>, axes: &[LinearAxis; 3]) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let row_bytes = size_of::<E>() * (dst_view.row_len() + 2 * src_view.row_len());
    dst_view.for_each_plane_part(
        dst,
        row_bytes,
        || vec![0f32; SCRATCH_ELEMENTS.min(src_view.row_len())],
        |scratch, part| {
            let plane = part.plane;
            for row in part.rows.clone() {
                let (d, h) = (axes[0].neighbours(plane.d), axes[1].neighbours(row));
                let start = |d: u32, h: u32| source_row_start(&src_view, plane, d as usize, h as usize);
                let rows =
                    [start(d.low, h.low), start(d.low, h.high), start(d.high, h.low), start(d.high, h.high)];
                let blend = match axes {
                    [LinearAxis::Identity, LinearAxis::Identity, _] => RowBlend::One(rows[0]),
                    [LinearAxis::Identity, ..] => RowBlend::Two([rows[0], rows[1]], h.weights),
                    [_, LinearAxis::Identity, _] => RowBlend::Two([rows[0], rows[2]], d.weights),
                    _ => RowBlend::Four(rows, h.weights, d.weights),
                };
                let pixel = src_view.lanes;
                simd::dispatch(LinearRow { src, pixel, blend, axis: &axes[2], part, row, scratch });
            }
        },
    );
}

/// Where the source rows of a result row begin, and the weights of these rows.
enum RowBlend {
    One(usize),
    Two([usize; 2], [f32; 2]),
    /// The rows at (low, low), (low, high), (high, low), (high, high) of D and H; the weights of H, then of D.
    Four([usize; 4], [f32; 2], [f32; 2]),
}

/// One row of a part, by linear interpolation.
struct LinearRow<'a, 'p, E> {
    src: &'a [E],
    /// Elements from one source pixel to the next.
    pixel: usize,
    blend: RowBlend,
    axis: &'a LinearAxis,
    part: &'a mut PlanePart<'p, E>,
    row: usize,
    scratch: &'a mut [f32],
}

impl<E: Float> Loop for LinearRow<'_, '_, E> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let all = self.part.lanes.clone();
        let mut first = all.start;
        while first < all.end {
            let lane_count = if all.end - first < 2 * MANY_LANES { all.end - first } else { MANY_LANES };
            self.write_lanes(first, lane_count);
            first += lane_count;
        }
    }
}

impl<E: Float> LinearRow<'_, '_, E> {
    /// Writes `lane_count` lanes from `lane` on, of all columns of the part.
    #[inline(always)]
    fn write_lanes(&mut self, lane: usize, lane_count: usize) {
        let columns = self.part.columns.clone();
        let mut at = columns.start;
        while at < columns.end {
            let end = tile_end(at, columns.end, SCRATCH_ELEMENTS / lane_count, |i| self.axis.source_range(i));
            let (from, to) = (self.axis.source_range(at).0, self.axis.source_range(end - 1).1);
            if let RowBlend::One(row) = self.blend {
                let columns = &self.src[row + from * self.pixel..row + to * self.pixel];
                blend_columns(
                    self.part,
                    self.row,
                    self.axis,
                    at..end,
                    columns,
                    from,
                    self.pixel,
                    lane,
                    lane_count,
                );
            } else {
                self.blend_rows(from, to, lane, lane_count);
                let columns = &self.scratch[..(to - from) * lane_count];
                // The scratch row begins with the first of these lanes.
                let at = at..end;
                blend_columns(
                    self.part, self.row, self.axis, at, columns, from, lane_count, lane, lane_count,
                );
            }
            at = end;
        }
    }

    /// Blends the rows of source columns `from..to` into the scratch row.
    #[inline(always)]
    fn blend_rows(&mut self, from: usize, to: usize, lane: usize, lane_count: usize) {
        if lane_count == self.pixel {
            self.blend_elements(from * lane_count, 0, (to - from) * lane_count);
        } else {
            for i in from..to {
                self.blend_elements(i * self.pixel + lane, (i - from) * lane_count, lane_count);
            }
        }
    }

    /// Blends `len` elements from `at` on, of every row, into the scratch row from `into` on.
    #[inline(always)]
    fn blend_elements(&mut self, at: usize, into: usize, len: usize) {
        let out = &mut self.scratch[into..into + len];
        let row = |start: usize| &self.src[start + at..][..len];
        match self.blend {
            RowBlend::One(start) => widen(out, row(start)),
            RowBlend::Two([a, b], weights) => blend_two(out, row(a), row(b), weights),
            RowBlend::Four([a, b, c, d], inner, outer) => {
                blend_four(out, [row(a), row(b), row(c), row(d)], inner, outer);
            }
        }
    }
}

#[inline(always)]
fn widen<A: Float, O: Float>(out: &mut [O], a: &[A]) {
    out.iter_mut().zip(a).for_each(|(out, a)| *out = O::rounded(a.widen()));
}

#[inline(always)]
fn blend_two<A: Float, O: Float>(out: &mut [O], a: &[A], b: &[A], weights: [f32; 2]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = O::rounded(blend(a[i], b[i], weights));
    }
}

#[inline(always)]
fn blend_four<A: Float>(out: &mut [f32], rows: [&[A]; 4], inner: [f32; 2], outer: [f32; 2]) {
    let n = out.len();
    let [a, b, c, d] = [&rows[0][..n], &rows[1][..n], &rows[2][..n], &rows[3][..n]];
    for i in 0..n {
        out[i] = blend(blend(a[i], b[i], inner), blend(c[i], d[i], inner), outer);
    }
}

#[inline(always)]
fn blend<A: Float>(a: A, b: A, weights: [f32; 2]) -> f32 {
    a.widen() * weights[0] + b.widen() * weights[1]
}

/// Blends `columns` along W into `lane_count` lanes from `lane` on, of the result columns `at`. The columns begin at source
/// column `from` and are `pixel` elements apart.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn blend_columns<A: Float, E: Float>(
    part: &mut PlanePart<'_, E>,
    row: usize,
    axis: &LinearAxis,
    at: std::ops::Range<usize>,
    columns: &[A],
    from: usize,
    pixel: usize,
    lane: usize,
    lane_count: usize,
) {
    // Whole source pixels have lanes before `lane`, which are skipped.
    let skip = if pixel == lane_count { 0 } else { lane };
    let LinearAxis::Interpolated(neighbours) = axis else {
        for i in at {
            let column = &columns[(i - from) * pixel + skip..][..lane_count];
            widen(part.elements(row, i..i + 1, lane..lane + lane_count), column);
        }
        return;
    };
    if pixel == 1 {
        let dst = part.elements(row, at.clone(), 0..1);
        for (d, p) in dst.iter_mut().zip(&neighbours[at]) {
            let [low, high] = [p.low, p.high].map(|i| columns[i as usize - from]);
            *d = E::rounded(blend(low, high, p.weights));
        }
        return;
    }
    match lane_count {
        8 if pixel == 8 => blend_pixels::<A, E, 8>(part, row, neighbours, at, columns, from),
        16 if pixel == 16 => blend_pixels::<A, E, 16>(part, row, neighbours, at, columns, from),
        _ => {
            for i in at {
                let p = neighbours[i];
                let a = &columns[(p.low as usize - from) * pixel + skip..][..lane_count];
                let b = &columns[(p.high as usize - from) * pixel + skip..][..lane_count];
                blend_two(part.elements(row, i..i + 1, lane..lane + lane_count), a, b, p.weights);
            }
        }
    }
}

/// As `blend_columns`, for pixels of `L` lanes.
#[inline(always)]
fn blend_pixels<A: Float, E: Float, const L: usize>(
    part: &mut PlanePart<'_, E>,
    row: usize,
    neighbours: &[Neighbours],
    at: std::ops::Range<usize>,
    columns: &[A],
    from: usize,
) {
    let columns = columns.as_chunks::<L>().0;
    let neighbours = &neighbours[at.clone()];
    for (dst, p) in part.vectors::<L>(row, at, 0).zip(neighbours) {
        barrier();
        let (a, b) = (&columns[p.low as usize - from], &columns[p.high as usize - from]);
        // Through a local array, because the compiler does not know that `dst` does not overlap the columns.
        let mut pixel = [E::default(); L];
        for l in 0..L {
            pixel[l] = E::rounded(blend(a[l], b[l], p.weights));
        }
        *dst = pixel;
    }
}
