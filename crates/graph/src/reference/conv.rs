//! Convolutions and transposed convolutions with one to three spatial axes.

use std::ops::Range;

use super::post_ops::Fused;
use super::{Call, Evaluate, filled, image, in_parts};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "conv1d" | "conv2d" | "conv3d" => Some(|call| Ok(vec![run(call, false)?])),
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
            Some(|call| Ok(vec![run(call, true)?]))
        }
        _ => None,
    }
}

/// How the axes of the two images of a convolution belong together: position `i` of the small one and tap `k` meet position
/// `i * stride + k * dilation - padding` of the large one. A transposed convolution goes from the small to the large one.
struct Axes {
    small: [usize; 3],
    large: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
}

impl Axes {
    /// Where tap `k` of position 0 is, before the padding is cut off.
    fn shift(&self, axis: usize, k: usize) -> isize {
        (k * self.dilation[axis]) as isize - self.padding[axis] as isize
    }

    /// The positions of the small image whose tap `k` is inside the large one.
    fn range(&self, axis: usize, k: usize) -> Range<usize> {
        let (shift, stride) = (self.shift(axis, k), self.stride[axis].max(1) as isize);
        let from = if shift < 0 { (-shift + stride - 1) / stride } else { 0 };
        let end = match self.large[axis] as isize - 1 - shift {
            last if last < 0 => 0,
            last => last / stride + 1,
        };
        from as usize..(end as usize).min(self.small[axis]).max(from as usize)
    }

    /// Calls `row` for all pairs of rows that the taps make meet: where they begin in the small and in the large image, and how
    /// many pairs of elements they have. Those of the large row are a stride apart.
    fn rows(&self, taps: [usize; 3], mut row: impl FnMut(usize, usize, usize)) {
        let [d, h, w] = [0, 1, 2].map(|axis| self.range(axis, taps[axis]));
        let at = |axis: usize, i: usize| {
            (i as isize * self.stride[axis] as isize + self.shift(axis, taps[axis])) as usize
        };
        let whole = self.small == self.large && self.stride == [1; 3];
        if whole && (0..3).all(|axis| self.shift(axis, taps[axis]) == 0) {
            return row(0, 0, self.small.iter().product());
        }
        if w.is_empty() {
            return;
        }
        for d_small in d {
            for h_small in h.clone() {
                let small = (d_small * self.small[1] + h_small) * self.small[2] + w.start;
                let large_row = at(0, d_small) * self.large[1] + at(1, h_small);
                row(small, large_row * self.large[2] + at(2, w.start), w.len());
            }
        }
    }

    /// All taps, with their number.
    fn taps(&self) -> impl Iterator<Item = (usize, [usize; 3])> {
        let [d, h, w] = self.kernel;
        (0..d * h * w).map(move |i| (i, [i / w / h, i / w % h, i % w]))
    }

    /// Adds to the small image `weight` times the large one, for one tap.
    fn gather(&self, taps: [usize; 3], to: &mut [f64], from: &[f64], weight: f64) {
        let stride = self.stride[2];
        self.rows(taps, |small, large, count| {
            let (to, from) = (&mut to[small..small + count], &from[large..]);
            match stride {
                1 => to.iter_mut().zip(from).for_each(|(v, x)| *v += x * weight),
                _ => to.iter_mut().zip(from.iter().step_by(stride)).for_each(|(v, x)| *v += x * weight),
            }
        });
    }

    /// As `gather`, for several large images at once.
    fn gather_together(
        &self,
        taps: [usize; 3],
        to: &mut [f64],
        from: [&[f64]; TOGETHER],
        weights: [f64; TOGETHER],
    ) {
        let stride = self.stride[2];
        let [w0, w1, w2, w3] = weights;
        self.rows(taps, |small, large, count| {
            let to = &mut to[small..small + count];
            let [x0, x1, x2, x3] = from.map(|image| &image[large..large + (count - 1) * stride + 1]);
            if stride == 1 {
                let (x0, x1, x2, x3) = (&x0[..count], &x1[..count], &x2[..count], &x3[..count]);
                for i in 0..count {
                    to[i] += x0[i] * w0 + x1[i] * w1 + x2[i] * w2 + x3[i] * w3;
                }
                return;
            }
            for (i, v) in to.iter_mut().enumerate() {
                let at = i * stride;
                *v += x0[at] * w0 + x1[at] * w1 + x2[at] * w2 + x3[at] * w3;
            }
        });
    }

    /// Adds to the large image `weight` times the small one, for one tap.
    fn scatter(&self, taps: [usize; 3], to: &mut [f64], from: &[f64], weight: f64) {
        let stride = self.stride[2];
        self.rows(taps, |small, large, count| {
            let from = &from[small..small + count];
            let to = to[large..].iter_mut().step_by(stride);
            to.zip(from).for_each(|(v, x)| *v += x * weight);
        });
    }
}

/// Channels that are summed in one pass.
const TOGETHER: usize = 4;

fn run(call: &Call<'_>, transposed: bool) -> Result<Vec<f64>> {
    let (x, weights, bias) = (call.input("x")?, call.input("weights")?, call.optional("bias"));
    let rank = x.dims.len().saturating_sub(2);
    let groups = call.count("groups")?.max(1);
    let [_, channels, sizes @ ..] = image(&x.dims);
    let [_, results, result_sizes @ ..] = image(call.result());
    let [_, _, kernel @ ..] = image(&weights.dims);
    // The padding after each axis shows in the sizes of the result alone.
    let [padding, _] = call.sides("padding", rank)?;
    let (small, large) = if transposed { (sizes, result_sizes) } else { (result_sizes, sizes) };
    let axes = Axes {
        small,
        large,
        kernel,
        stride: call.spatial("stride", rank, 1)?,
        padding,
        dilation: call.spatial("dilation", rank, 1)?,
    };
    let fused = Fused::of(call)?;
    // Padding stands for 0, as the zero point does.
    let centred = call.centred(x, "x_zero_point")?;
    let taps: usize = kernel.iter().product();
    let (plane, pixels) = (sizes.iter().product::<usize>(), result_sizes.iter().product::<usize>());
    let (of_group, results_of_group) = (channels / groups, results / groups);
    let mut data = filled(call.result().iter().product(), 0.0)?;
    in_parts(&mut data, pixels, |part, to| {
        let (n, o) = (part / results, part % results);
        to.fill(bias.map_or(0.0, |bias| bias.data[o]));
        let first = o / results_of_group * of_group;
        let source = |c: usize| &centred[(n * channels + first + c) * plane..][..plane];
        let weight = |c: usize, tap: usize| match transposed {
            false => weights.data[(o * of_group + c) * taps + tap],
            true => weights.data[((first + c) * results_of_group + o % results_of_group) * taps + tap],
        };
        for (tap, at) in axes.taps() {
            if transposed {
                (0..of_group).for_each(|c| axes.scatter(at, to, source(c), weight(c, tap)));
                continue;
            }
            let mut c = 0;
            while c + TOGETHER <= of_group {
                let images = std::array::from_fn(|l| source(c + l));
                let factors = std::array::from_fn(|l| weight(c + l, tap));
                axes.gather_together(at, to, images, factors);
                c += TOGETHER;
            }
            (c..of_group).for_each(|c| axes.gather(at, to, source(c), weight(c, tap)));
        }
        fused.apply(o, part * pixels, to);
    });
    Ok(data)
}
