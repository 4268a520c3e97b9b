//! Gradients of pooling: each element of the incoming gradient goes to the window that it came from.

use super::planes::over_planes;
use crate::error::Result;
use crate::kernels::pool::geometry::{Span, Windows};
use crate::op::{Backward, Gradients};

/// The gradient of a maximum: all of an element goes to the first largest element of its window, or to the last NaN, as in
/// PyTorch.
pub(crate) fn max_pool(call: &Backward<'_>, windows: &Windows) -> Result<Gradients> {
    over_planes(call, |plane| {
        let (mut best, mut place) = (vec![0f32; plane.lanes], vec![0usize; plane.lanes]);
        for_each_window(windows, |i, taps| {
            let mut is_first = true;
            for_each_tap(windows, taps, plane.size, |pixel| {
                let from = pixel * plane.lanes;
                for (lane, &v) in plane.x[from..][..plane.lanes].iter().enumerate() {
                    if is_first || v > best[lane] || v.is_nan() {
                        (best[lane], place[lane]) = (v, from + lane);
                    }
                }
                is_first = false;
            });
            if !is_first {
                let diff = &plane.diff[i * plane.lanes..][..plane.lanes];
                diff.iter().zip(&place).for_each(|(d, &at)| plane.dst[at] += d);
            }
        });
    })
}

/// The gradient of a mean: each element of a window gets an equal part, whose number `count` of the windows says.
pub(crate) fn avg_pool(call: &Backward<'_>, windows: &Windows) -> Result<Gradients> {
    over_planes(call, |plane| {
        for_each_window(windows, |i, taps| {
            let count: f32 = taps.iter().map(|span| span.count as f32).product();
            let diff = &plane.diff[i * plane.lanes..][..plane.lanes];
            for_each_tap(windows, taps, plane.size, |pixel| {
                let dst = &mut plane.dst[pixel * plane.lanes..][..plane.lanes];
                dst.iter_mut().zip(diff).for_each(|(to, d)| *to += d / count);
            });
        });
    })
}

/// Calls `f(i, spans)` for the windows of a plane, `i` the number of the result's pixel.
fn for_each_window(windows: &Windows, mut f: impl FnMut(usize, [Span; 3])) {
    let [d, h, w] = &windows.axes;
    let mut i = 0;
    for d in &d.list {
        for h in &h.list {
            for w in &w.list {
                f(i, [*d, *h, *w]);
                i += 1;
            }
        }
    }
}

/// Calls `f` with the number of each pixel of a window.
#[inline(always)]
fn for_each_tap(windows: &Windows, [d, h, w]: [Span; 3], size: [usize; 2], mut f: impl FnMut(usize)) {
    let at =
        |axis: usize, span: Span, tap: u32| span.start as usize + tap as usize * windows.axes[axis].dilation;
    for i in 0..d.taps {
        for j in 0..h.taps {
            let row = (at(0, d, i) * size[0] + at(1, h, j)) * size[1];
            for k in 0..w.taps {
                f(row + at(2, w, k));
            }
        }
    }
}
