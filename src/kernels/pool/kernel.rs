//! The kernel of all pooling. It folds the elements of every window first along D and H, into columns, then along W. Every
//! layout and every code path folds in this order, so all give the same bits.

use crate::error::Result;
use crate::kernels::lanes::{Lanes, PlanePart};
use crate::kernels::pool::direct;
use crate::kernels::pool::fold::{Max, MeanInF32, MeanInF64, WindowFold};
use crate::kernels::pool::geometry::{Span, Windows};
use crate::kernels::pool::scratch::MANY_LANES;
use crate::kernels::spatial::SpatialOperands;

/// Windows of at most this many elements are summed in f32, larger ones in f64.
pub(crate) const MAX_TAPS_IN_F32: usize = 64;

/// The maximum of every window.
pub(crate) fn max(operands: SpatialOperands<'_>, windows: &Windows) -> Result<()> {
    run::<Max>(operands, windows);
    Ok(())
}

/// The mean of every window.
pub(crate) fn mean(operands: SpatialOperands<'_>, windows: &Windows) -> Result<()> {
    if windows.most_taps() <= MAX_TAPS_IN_F32 {
        run::<MeanInF32>(operands, windows);
    } else {
        run::<MeanInF64>(operands, windows);
    }
    Ok(())
}

fn run<F: WindowFold>(operands: SpatialOperands<'_>, windows: &Windows) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let [d, h, _] = &windows.axes;
    let most_taps = |spans: &[Span]| spans.iter().map(|s| s.taps as usize).max().unwrap_or(0);
    let row_bytes = 4 * (dst_view.row_len() + src_view.row_len() * most_taps(&d.list) * most_taps(&h.list));
    let state = || (Vec::new(), Vec::new());
    let direct = src_view.lanes >= 8 && direct::is_faster(windows, src_view.spatial[2]);
    dst_view.for_each_plane_part(dst, row_bytes, state, |(scratch, rows), part| {
        let logical_lanes = src_view.lanes_in(part.plane.block);
        let part = PoolPart::<F> {
            src,
            src_view: &src_view,
            windows,
            part,
            logical_lanes,
            rows,
            row: 0,
            count: 0.0,
            scratch,
            direct,
        };
        part.run();
    });
}

/// One part of the result, and the row of it that is being written.
///
/// Each inner loop is dispatched on its own by [`dispatch`](crate::simd::dispatch). With all of them in one function, LLVM spent
/// on that function half of the time that the whole crate takes to compile.
pub(crate) struct PoolPart<'a, 'p, F: WindowFold> {
    pub src: &'a [f32],
    pub src_view: &'a Lanes,
    pub windows: &'a Windows,
    pub part: &'a mut PlanePart<'p>,
    /// Lanes of the block that are no padding.
    logical_lanes: usize,
    /// The row of the result.
    pub row: usize,
    /// Where the source rows of the windows of this row begin in `src`.
    pub rows: &'a mut Vec<usize>,
    /// The product of what D and H contribute to the count of a mean.
    pub count: f64,
    /// Folded columns. Empty until the first use.
    pub scratch: &'a mut Vec<F::Acc>,
    /// Whether windows are folded directly from the source, without the scratch row.
    direct: bool,
}

impl<F: WindowFold> PoolPart<'_, '_, F> {
    fn run(mut self) {
        let (src_view, plane) = (self.src_view, self.part.plane);
        let [d, h, _] = &self.windows.axes;
        let d_span = d.list[plane.d];
        let image = plane.n * src_view.stride_n + plane.block * src_view.stride_block;
        for row in self.part.rows.clone() {
            let h_span = h.list[row];
            self.rows.clear();
            for i in 0..d_span.taps as usize {
                let plane = image + (d_span.start as usize + i * d.dilation) * src_view.stride_d;
                for j in 0..h_span.taps as usize {
                    self.rows.push(plane + (h_span.start as usize + j * h.dilation) * src_view.stride_h);
                }
            }
            self.count = f64::from(d_span.count) * f64::from(h_span.count);
            self.row = row;
            let all = self.part.lanes.clone();
            if self.rows.is_empty() {
                self.part.columns.clone().for_each(|column| self.empty_window(column, all.start, all.len()));
            } else if self.direct && self.rows.len() <= direct::MAX_ROWS {
                direct::fold_row(&mut self);
            } else {
                let mut first = all.start;
                while first < all.end {
                    let lane_count =
                        if all.end - first < 2 * MANY_LANES { all.end - first } else { MANY_LANES };
                    self.fold_row_by_scratch(first, lane_count);
                    first += lane_count;
                }
            }
        }
    }

    /// Writes the result of a window without elements, and zeros into padding lanes.
    #[cold]
    pub(crate) fn empty_window(&mut self, column: usize, lane: usize, lane_count: usize) {
        let dst = self.part.elements(self.row, column..column + 1, lane..lane + lane_count);
        let logical = self.logical_lanes.saturating_sub(lane).min(lane_count);
        dst[..logical].fill(F::EMPTY);
        dst[logical..].fill(0.0);
    }
}
