//! Which taps meet which outputs.
//!
//! Output `i` of a convolution meets tap `k` at source position `i * stride + k * dilation - padding`. A transposed
//! convolution turns this around: output `o` meets tap `k` at `(o + padding - k * dilation) / stride`, where that is a
//! whole number. So its outputs fall into *phases*, those that share their remainder by the stride along every
//! axis, and each phase is an ordinary convolution of stride 1 with some of the taps: nothing is stuffed with zeros.

use crate::kernels::conv::ConvGeometry;
use crate::layout::dims::Dims;

/// Output positions that meet the same taps.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// D, H, W; ranks below have axes of one position in front.
    pub axes: [Axis; 3],
}

/// One axis of a phase. Output number `i` lies at `out_start + i * out_step`; a tap meets it at source position
/// `i * step + at`, which may be outside the source: padding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub count: usize,
    pub step: usize,
    pub out_start: usize,
    pub out_step: usize,
    pub taps: Vec<AxisTap>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisTap {
    /// Number in the kernel.
    pub k: usize,
    pub at: isize,
}

impl Phase {
    /// The numbers of its taps in the kernel.
    pub fn taps(&self, g: &ConvGeometry) -> impl Iterator<Item = usize> {
        let [_, kh, kw] = cube(&g.kernel, 1);
        let [d, h, w] = &self.axes;
        let of_plane = move |row: usize| h.taps.iter().map(move |y| row * kh + y.k);
        d.taps
            .iter()
            .flat_map(move |z| of_plane(z.k))
            .flat_map(move |row| w.taps.iter().map(move |x| row * kw + x.k))
    }
}

impl Axis {
    /// The position of an output in the result.
    pub fn output(&self, i: usize) -> usize {
        self.out_start + i * self.out_step
    }

    /// The outputs whose tap number `tap` of the list is inside a source of this size.
    pub fn outputs_inside(&self, tap: usize, size: usize) -> std::ops::Range<usize> {
        let (at, step) = (self.taps[tap].at, self.step as isize);
        let first = (-at).max(0).unsigned_abs().div_ceil(self.step);
        let end = ((size as isize - at).max(0) + step - 1) / step;
        let end = (end as usize).min(self.count);
        first..end.max(first)
    }

    /// The lowest source position of output 0, and how many positions its taps span.
    pub fn reach(&self) -> (isize, usize) {
        let low = self.taps.iter().map(|t| t.at).min().unwrap_or(0);
        let high = self.taps.iter().map(|t| t.at).max().unwrap_or(0);
        (low, (high - low) as usize + 1)
    }

    /// Whether every tap of every output meets the source, which is `size` long.
    pub fn is_inside(&self, size: usize) -> bool {
        let (low, span) = self.reach();
        low >= 0 && low as usize + self.count.saturating_sub(1) * self.step + span <= size
    }
}

/// The spatial sizes of any rank as D, H, W, with `fill` in front.
pub(crate) fn cube(sizes: &Dims, fill: usize) -> [usize; 3] {
    let mut cube = [fill; 3];
    cube[3 - sizes.len()..].copy_from_slice(sizes);
    cube
}

/// All phases, one after the other; together they meet every output once. A convolution has one, a transposed one up to
/// as many as it has outputs, so they are made when their turn comes.
pub(crate) fn phases(g: &ConvGeometry) -> impl Iterator<Item = Phase> + use<> {
    let g = *g;
    let (output, kernel) = (cube(&g.output, 1), cube(&g.kernel, 1));
    let (stride, dilation, pad) = (cube(&g.stride, 1), cube(&g.dilation, 1), cube(&g.pad_begin, 0));
    let axis = move |a: usize, first: usize| {
        if g.transposed {
            return transposed_axis(first, output[a], kernel[a], stride[a], dilation[a], pad[a]);
        }
        let at = |k: usize| (k * dilation[a]) as isize - pad[a] as isize;
        let taps = (0..kernel[a]).map(|k| AxisTap { k, at: at(k) }).collect();
        Axis { count: output[a], step: stride[a], out_start: 0, out_step: 1, taps }
    };
    let count = move |a: usize| if g.transposed { stride[a].min(output[a]) } else { 1 };
    (0..count(0)).flat_map(move |d| {
        (0..count(1)).flat_map(move |h| {
            (0..count(2)).map(move |w| Phase { axes: [axis(0, d), axis(1, h), axis(2, w)] })
        })
    })
}

/// The outputs `first`, `first + stride`, ...
fn transposed_axis(
    first: usize,
    output: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    pad: usize,
) -> Axis {
    let tap = |k: usize| {
        let distance = (first + pad) as isize - (k * dilation) as isize;
        (distance % stride as isize == 0).then_some(AxisTap { k, at: distance / stride as isize })
    };
    Axis {
        count: (output - first).div_ceil(stride),
        step: 1,
        out_start: first,
        out_step: stride,
        taps: (0..kernel).filter_map(tap).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_of_two_has_two_phases() {
        // 5 outputs of 3 pixels: stride 2, kernel 3, padding 1. Output 0 meets tap 1 of pixel 0; output 1 meets tap 2 of
        // pixel 0 and tap 0 of pixel 1.
        let even = transposed_axis(0, 5, 3, 2, 1, 1);
        assert_eq!((even.count, even.taps), (3, vec![AxisTap { k: 1, at: 0 }]));
        let odd = transposed_axis(1, 5, 3, 2, 1, 1);
        assert_eq!((odd.count, odd.out_start, odd.out_step), (2, 1, 2));
        assert_eq!(odd.taps, [AxisTap { k: 0, at: 1 }, AxisTap { k: 2, at: 0 }]);
        // A stride beyond the kernel leaves phases without taps: nothing but the bias.
        assert_eq!(transposed_axis(2, 9, 2, 3, 1, 0).taps, []);
    }
}
