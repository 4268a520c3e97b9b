//! The kernel of all pooling: the elements of every window are folded, first along D and H into columns, then along
//! W. That order is the same in every layout and on every path, and so are the bits.

use crate::error::Result;
use crate::kernels::lanes::{Lanes, PlanePart};
use crate::kernels::pool::direct;
use crate::kernels::pool::fold::{Fold, Max, MeanOfFew, MeanOfMany};
use crate::kernels::pool::geometry::{Span, Windows};
use crate::kernels::pool::scratch::MANY_LANES;
use crate::kernels::spatial::Work;

/// Windows of at most this many elements are summed in f32.
pub(crate) const FEW: usize = 64;

/// The maximum of every window.
pub(crate) fn max(work: Work<'_>, windows: &Windows) -> Result<()> {
    fold::<Max>(work, windows);
    Ok(())
}

/// The mean of every window.
pub(crate) fn mean(work: Work<'_>, windows: &Windows) -> Result<()> {
    if windows.most_taps() <= FEW {
        fold::<MeanOfFew>(work, windows);
    } else {
        fold::<MeanOfMany>(work, windows);
    }
    Ok(())
}

fn fold<F: Fold>(work: Work<'_>, windows: &Windows) {
    let Work { src, from, dst, to } = work;
    let [d, h, _] = &windows.axes;
    let taps = |spans: &[Span]| spans.iter().map(|s| s.taps as usize).max().unwrap_or(0);
    let row_bytes = 4 * (to.row_len() + from.row_len() * taps(&d.list) * taps(&h.list));
    let state = || (Vec::new(), Vec::new());
    let direct = from.lanes >= 8 && direct::suits(windows, from.spatial[2]);
    to.for_each_plane_part(dst, row_bytes, state, |(scratch, rows), part| {
        let lanes = from.lanes_in(part.plane.block);
        let part = PoolPart::<F> {
            src,
            from: &from,
            windows,
            part,
            lanes,
            rows,
            row: 0,
            count: 0.0,
            scratch,
            direct,
        };
        part.run();
    });
}

/// One part of the result, and where in it the work is.
///
/// Each inner loop goes through [`dispatch`](crate::simd::dispatch) by itself. In one function for all of them, LLVM spent half of the
/// time that the whole crate takes.
pub(crate) struct PoolPart<'a, 'p, F: Fold> {
    pub src: &'a [f32],
    pub from: &'a Lanes,
    pub windows: &'a Windows,
    pub part: &'a mut PlanePart<'p>,
    /// Logical lanes of the block.
    lanes: usize,
    /// The row of the result, where the source rows of its windows begin in `src`, and what D and H contribute to
    /// the count of an average.
    pub row: usize,
    pub rows: &'a mut Vec<usize>,
    pub count: f64,
    /// Empty until the first use.
    pub scratch: &'a mut Vec<F::Acc>,
    /// Whether windows are folded straight from the source.
    direct: bool,
}

impl<F: Fold> PoolPart<'_, '_, F> {
    fn run(mut self) {
        let (from, plane) = (self.from, self.part.plane);
        let [d, h, _] = &self.windows.axes;
        let ds = d.list[plane.d];
        let image = plane.n * from.stride_n + plane.block * from.stride_block;
        for row in self.part.rows.clone() {
            let hs = h.list[row];
            self.rows.clear();
            for i in 0..ds.taps as usize {
                let plane = image + (ds.start as usize + i * d.dilation) * from.stride_d;
                for j in 0..hs.taps as usize {
                    self.rows.push(plane + (hs.start as usize + j * h.dilation) * from.stride_h);
                }
            }
            self.count = f64::from(ds.count) * f64::from(hs.count);
            self.row = row;
            let all = self.part.lanes.clone();
            if self.rows.is_empty() {
                self.part.columns.clone().for_each(|i| self.empty(i, all.start, all.len()));
            } else if self.direct && self.rows.len() <= direct::MAX_ROWS {
                direct::row(&mut self);
            } else {
                let mut first = all.start;
                while first < all.end {
                    let wide = if all.end - first < 2 * MANY_LANES { all.end - first } else { MANY_LANES };
                    self.folded(first, wide);
                    first += wide;
                }
            }
        }
    }

    /// A window without elements; padding lanes stay zero.
    #[cold]
    pub(crate) fn empty(&mut self, at: usize, lane: usize, wide: usize) {
        let dst = self.part.elements(self.row, at..at + 1, lane..lane + wide);
        let logical = self.lanes.saturating_sub(lane).min(wide);
        dst[..logical].fill(F::EMPTY);
        dst[logical..].fill(0.0);
    }
}
