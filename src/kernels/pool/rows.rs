//! Pools the result row by row, and chooses how each row is written. The elements of a window are folded first along D and H,
//! into columns, then along W. Every layout and every code path folds in this order, so all give the same bits.

use crate::dtype::{Element, Float};
use crate::kernels::lanes::{Lanes, PlanePart};
use crate::kernels::pool::fold::{
    Max, MaxOfIntegers, MeanInF32, MeanInF64, QuantizedMean, QuantizedMeanInF64, QuantizedMeanInI32,
    WindowFold,
};
use crate::kernels::pool::geometry::{Span, Windows};
use crate::kernels::pool::{direct, scratch};
use crate::kernels::spatial::SpatialOperands;
use crate::simd::{self, Wide};

/// Windows of at most this many elements are summed in f32, larger ones in f64.
pub(crate) const MAX_TAPS_IN_F32: usize = 64;

/// Sums of this many integers of 8 bits, less their zero points, fit into 32 bits.
const MAX_TAPS_IN_I32: usize = i32::MAX as usize / 255;

/// The largest element of every window.
pub(crate) fn pool_max<E: Float>(operands: SpatialOperands<'_, E>, windows: &Windows) {
    fold_windows(Max::new(), operands, windows);
}

/// The largest integer of every window; of one without elements the least of the type.
pub(crate) fn pool_max_of_integers<E: Element + Default + Ord>(
    least: E,
    operands: SpatialOperands<'_, E>,
    windows: &Windows,
) {
    fold_windows(MaxOfIntegers { least }, operands, windows);
}

/// The mean of every window.
pub(crate) fn pool_mean<E: Float>(operands: SpatialOperands<'_, E>, windows: &Windows) {
    if windows.most_taps() <= MAX_TAPS_IN_F32 {
        fold_windows(MeanInF32::new(), operands, windows);
    } else {
        fold_windows(MeanInF64::new(), operands, windows);
    }
}

/// The mean of every window of quantised numbers, quantised.
pub(crate) fn pool_quantized<E: Element, R: Element>(
    quantized: QuantizedMean,
    operands: SpatialOperands<'_, E, R>,
    windows: &Windows,
) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let (src, dst): (&[u8], &mut [u8]) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
    let operands = SpatialOperands { src, src_view, dst: &mut *dst, dst_view };
    if windows.most_taps() <= MAX_TAPS_IN_I32 {
        fold_windows(QuantizedMeanInI32(quantized), operands, windows);
    } else {
        fold_windows(QuantizedMeanInF64(quantized), operands, windows);
    }
    // A tail of zeros is one of numbers that are not 0.
    dst_view.clear_padding(dst);
}

/// How one row of the result is written.
enum RowMethod {
    /// Its windows have no elements: dilation or padding leads past all of them.
    Empty,
    /// By [`direct::write_row`].
    Direct(Wide),
    /// By [`scratch::write_row`].
    Scratch,
}

/// Chooses how rows are written. The function that it returns takes the number of source rows of a window: taps along D times
/// taps along H.
fn row_method(src_view: &Lanes, windows: &Windows) -> impl Fn(usize) -> RowMethod + Sync {
    // NCHW has one lane, blocked layouts have one block's channels, and channels-last (NHWC) has all channels.
    let direct = src_view.lanes >= 8 && direct::is_faster(windows, src_view.spatial[2]);
    let wide = simd::wide().filter(|_| direct);
    move |source_rows| match (source_rows, wide) {
        (0, _) => RowMethod::Empty,
        (1..=direct::MAX_ROWS, Some(wide)) => RowMethod::Direct(wide),
        _ => RowMethod::Scratch,
    }
}

fn fold_windows<F: WindowFold>(fold: F, operands: SpatialOperands<'_, F::Element>, windows: &Windows) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let [d, h, _] = &windows.axes;
    let most_taps = |spans: &[Span]| spans.iter().map(|s| s.taps as usize).max().unwrap_or(0);
    let row_bytes = size_of::<F::Element>()
        * (dst_view.row_len() + src_view.row_len() * most_taps(&d.list) * most_taps(&h.list));
    let state = || (Vec::new(), Vec::new());
    let method = row_method(&src_view, windows);
    dst_view.for_each_plane_part(dst, row_bytes, state, |(scratch, source_rows), dst| {
        let logical_lanes = src_view.lanes_in(dst.plane.block);
        let src_view = &src_view;
        ResultPart {
            fold,
            src,
            src_view,
            windows,
            dst,
            logical_lanes,
            source_rows,
            row: 0,
            count: 0.0,
            scratch,
        }
        .write_rows(&method);
    });
}

/// One part of the result, and the row of it that is being written.
///
/// Each inner loop is dispatched on its own by [`dispatch`](crate::simd::dispatch). With all of them in one function, LLVM spent
/// on that function half of the time that the whole crate takes to compile.
pub(super) struct ResultPart<'a, 'p, F: WindowFold> {
    pub fold: F,
    pub src: &'a [F::Element],
    pub src_view: &'a Lanes,
    pub windows: &'a Windows,
    pub dst: &'a mut PlanePart<'p, F::Element>,
    /// Lanes of the block that are no padding.
    logical_lanes: usize,
    /// The row of the result.
    pub row: usize,
    /// Where the source rows of the windows of this row begin in `src`.
    pub source_rows: &'a mut Vec<usize>,
    /// The product of what D and H contribute to the count of a mean.
    pub count: f64,
    /// Folded columns. Empty until the first use.
    pub scratch: &'a mut Vec<F::Acc>,
}

impl<F: WindowFold> ResultPart<'_, '_, F> {
    fn write_rows(mut self, method: impl Fn(usize) -> RowMethod) {
        let (src_view, plane) = (self.src_view, self.dst.plane);
        let [d, h, _] = &self.windows.axes;
        let d_span = d.list[plane.d];
        let image = plane.n * src_view.stride_n + plane.block * src_view.stride_block;
        for row in self.dst.rows.clone() {
            let h_span = h.list[row];
            self.source_rows.clear();
            for i in 0..d_span.taps as usize {
                let plane = image + (d_span.start as usize + i * d.dilation) * src_view.stride_d;
                for j in 0..h_span.taps as usize {
                    self.source_rows
                        .push(plane + (h_span.start as usize + j * h.dilation) * src_view.stride_h);
                }
            }
            self.count = f64::from(d_span.count) * f64::from(h_span.count);
            self.row = row;
            match method(self.source_rows.len()) {
                RowMethod::Empty => {
                    let lanes = self.dst.lanes.clone();
                    for column in self.dst.columns.clone() {
                        self.write_empty_window(column, lanes.start, lanes.len());
                    }
                }
                RowMethod::Direct(wide) => direct::write_row(&mut self, wide),
                RowMethod::Scratch => scratch::write_row(&mut self),
            }
        }
    }

    /// Writes the result of a window without elements, and zeros into padding lanes.
    #[cold]
    pub fn write_empty_window(&mut self, column: usize, lane: usize, lane_count: usize) {
        let dst = self.dst.elements(self.row, column..column + 1, lane..lane + lane_count);
        let logical = self.logical_lanes.saturating_sub(lane).min(lane_count);
        dst[..logical].fill(self.fold.empty());
        dst[logical..].fill(F::Element::default());
    }
}
