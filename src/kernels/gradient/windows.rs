//! Gradients of pooling: each element of the incoming gradient goes to the window that it came from.
//!
//! Every dense activation is a list of planes, each a run of pixels of some lanes, whatever its layout ([`Lanes`]). A task has one
//! plane, so an element is added up in one order for any number of threads.

use super::for_each_chunk;
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::kernels::pool::geometry::{Span, Windows};
use crate::kernels::same_shape::format_of;
use crate::op::{Backward, Gradients};
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;

/// Memory of one plane: the operand, the incoming gradient and the gradient to add to.
struct Plane<'a> {
    x: &'a [f32],
    diff: &'a [f32],
    dst: &'a mut [f32],
    lanes: usize,
    /// The sizes H and W of the operand.
    size: [usize; 2],
}

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

/// The gradient of the only operand, plane by plane. A strided incoming gradient in another format is copied to that of the
/// operand; the ledger counts the copy.
fn over_planes(call: &Backward<'_>, of: impl Fn(Plane<'_>) + Sync) -> Result<Gradients> {
    if !call.wants(0) {
        return Ok(vec![None]);
    }
    let args = &call.args;
    let op = args.op();
    let run = |x: &[f32], x_view: Lanes, diff: &[f32], diff_view: Lanes, dst: &mut [f32]| {
        let [_, h, w] = x_view.spatial;
        for_each_chunk(&mut dst[..x_view.len()], x_view.plane_len(), |i, dst| {
            dst.fill(0.0);
            let x = &x[i * x_view.plane_len()..][..x_view.plane_len()];
            let diff = &diff[i * diff_view.plane_len()..][..diff_view.plane_len()];
            of(Plane { x, diff, dst, lanes: x_view.lanes, size: [h, w] });
        });
    };
    match (args.tensor(0)?, call.diff()?) {
        (TensorRef::Strided(x), TensorRef::Strided(diff)) => {
            let mut dst = FormatRule::Suggested.empty_result(op, &[x], x.dims(), x.dtype())?;
            let format = format_of(&dst);
            let (x, diff) =
                (x.dense_at(op, format, args.location())?, diff.dense_at(op, format, args.location())?);
            let views = Lanes::of_format(x.dims(), format).zip(Lanes::of_format(diff.dims(), format));
            let (x_view, diff_view) = views.expect("the forward call took such ranks");
            run(x.data(), x_view, diff.data(), diff_view, dst.result_data());
            Ok(vec![Some(dst.into())])
        }
        (TensorRef::Blocked(x), TensorRef::Blocked(diff)) => {
            let mut dst = BlockedTensor::for_result(op, x.dims(), x.layout(), x.dtype())?;
            let (x_view, diff_view) = (Lanes::of_blocked(op, x)?, Lanes::of_blocked(op, diff)?);
            let elements = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
            run(x.data(), x_view, diff.data(), diff_view, elements);
            Ok(vec![Some(dst.into())])
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    }
}
