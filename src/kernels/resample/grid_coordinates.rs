//! Coordinates of grid sampling: which source pixels one point of the grid reads, and with which weights.
//!
//! All of this follows PyTorch's CPU kernels (`GridSampler.h`, `GridSamplerKernel.cpp`). Nearest neighbour counts coordinates in
//! f32 with PyTorch's operations in their order, so that it takes the same pixel even beside a tie. Interpolation counts them in
//! f64.

/// How [`grid_sample`](crate::ops::grid_sample) reads the source at a point between pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridMode {
    /// Linear interpolation along every axis: 4 pixels of an image, 8 of a volume.
    #[default]
    Bilinear,
    /// The nearest pixel; of two that are equally near along an axis, the one with the even index.
    Nearest,
    /// Cubic convolution along both axes with the coefficient -0.75: 16 pixels. Images only.
    Bicubic,
}

/// What [`grid_sample`](crate::ops::grid_sample) reads at a point outside the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The nearest pixel at the border.
    Border,
    /// The source mirrored at its border, as often as needed.
    Reflection,
}

/// One axis of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridAxis {
    pub size: usize,
    pub padding: GridPadding,
    pub align_corners: bool,
    /// Whether the source is a volume (5-D): PyTorch has two kernels, which differ in rounding and for coordinates that are not
    /// finite.
    pub is_volume: bool,
}

/// The source indices along one axis and their weights. Indices outside the source are `None`: they read zeros.
pub(crate) type AxisTaps<const K: usize> = [(Option<usize>, f64); K];

impl GridAxis {
    /// The last index.
    fn last(&self) -> f64 {
        (self.size - 1) as f64
    }

    /// The index as an integer, if it is inside the source. NaN is outside.
    fn inside(&self, index: f64) -> Option<usize> {
        (index >= 0.0 && index <= self.last()).then_some(index as usize)
    }

    /// The source coordinate of a coordinate of the grid, in pixels: -1 and 1 are the centres of the corner pixels with
    /// `align_corners`, else their outer edges.
    fn unnormalized(&self, coordinate: f32) -> f64 {
        let (x, size) = (f64::from(coordinate), self.size as f64);
        if self.align_corners { (x + 1.0) / 2.0 * (size - 1.0) } else { ((x + 1.0) * size - 1.0) / 2.0 }
    }

    /// The source coordinate moved into the source, as the padding asks for. With zeros it stays where it is.
    fn padded(&self, x: f64) -> f64 {
        match self.padding {
            GridPadding::Zeros => x,
            GridPadding::Border => self.clipped(x),
            GridPadding::Reflection => self.clipped(self.reflected(x)),
        }
    }

    /// The nearest coordinate from the first pixel to the last. NaN becomes the first pixel of an image, the last of a volume.
    fn clipped(&self, x: f64) -> f64 {
        match x.is_nan() {
            true if self.is_volume => self.last(),
            true => 0.0,
            false => x.clamp(0.0, self.last()),
        }
    }

    /// The axis of reflection before the first pixel, and the distance between every second one: at the centres of the corner
    /// pixels with `align_corners`, else at their outer edges.
    fn mirrors(&self) -> (f64, f64) {
        if self.align_corners { (0.0, 2.0 * self.last()) } else { (-0.5, 2.0 * self.size as f64) }
    }

    /// The coordinate mirrored into the source. NaN if it is not finite.
    fn reflected(&self, x: f64) -> f64 {
        let (low, period) = self.mirrors();
        if period == 0.0 {
            return 0.0;
        }
        let beyond = (x - low).abs() % period;
        beyond.min(period - beyond) + low
    }

    /// The nearest source index.
    pub fn nearest(&self, coordinate: f32) -> Option<usize> {
        let x = if self.is_volume { self.f32_in_volume(coordinate) } else { self.f32_in_image(coordinate) };
        let x = if self.padding == GridPadding::Zeros { f64::from(x) } else { self.clipped(f64::from(x)) };
        self.inside(x.round_ties_even())
    }

    /// The source coordinate of an image in f32 as PyTorch's vectorised kernel counts it, reflected if the padding asks for it.
    /// PyTorch's compiler fuses a product and the sum after it; f64 holds such a product exactly.
    fn f32_in_image(&self, coordinate: f32) -> f32 {
        let from_edge = coordinate + 1.0;
        let x = if self.align_corners {
            from_edge * ((self.size - 1) as f32 / 2.0)
        } else {
            (f64::from(from_edge) * f64::from(self.size as f32 / 2.0) - 0.5) as f32
        };
        let (low, period) = self.mirrors();
        let (low, period) = (low as f32, period as f32);
        match self.padding {
            GridPadding::Reflection if period == 0.0 => 0.0,
            GridPadding::Reflection => {
                let distance = (x - low).abs();
                let periods = (distance / period).trunc();
                let beyond = (f64::from(distance) - f64::from(periods) * f64::from(period)) as f32;
                beyond.min(period - beyond) + low
            }
            _ => x,
        }
    }

    /// The source coordinate of a volume in f32 as PyTorch's scalar kernel counts it, reflected if the padding asks for it.
    fn f32_in_volume(&self, coordinate: f32) -> f32 {
        let x = if self.align_corners {
            (coordinate + 1.0) / 2.0 * (self.size - 1) as f32
        } else {
            ((coordinate + 1.0) * self.size as f32 - 1.0) / 2.0
        };
        let (low, period) = self.mirrors();
        let (low, span) = (low as f32, (period / 2.0) as f32);
        match self.padding {
            GridPadding::Reflection if span == 0.0 => 0.0,
            GridPadding::Reflection => {
                let distance = (x - low).abs();
                let beyond = distance % span;
                let is_mirrored = (distance / span).floor() % 2.0 == 1.0;
                if is_mirrored { span - beyond + low } else { beyond + low }
            }
            _ => x,
        }
    }

    /// The two neighbours for linear interpolation. `None` where PyTorch's result is NaN: in an image padded with zeros, at a
    /// coordinate that is not finite. In a volume such a coordinate is outside.
    pub fn linear(&self, coordinate: f32) -> Option<AxisTaps<2>> {
        let x = self.padded(self.unnormalized(coordinate));
        if !x.is_finite() {
            return self.is_volume.then_some([(None, 0.0); 2]);
        }
        let low = x.floor();
        let weight = x - low;
        Some([(self.inside(low), 1.0 - weight), (self.inside(low + 1.0), weight)])
    }

    /// The four neighbours for cubic convolution. Unlike linear interpolation, it pads each neighbour. `None` where PyTorch's
    /// result is NaN: at a coordinate that is not finite.
    pub fn cubic(&self, coordinate: f32) -> Option<AxisTaps<4>> {
        let x = self.unnormalized(coordinate);
        if !x.is_finite() {
            return None;
        }
        let low = x.floor();
        let weights = cubic_weights(x - low);
        Some(std::array::from_fn(|i| {
            let index = self.padded(low - 1.0 + i as f64);
            (self.inside(index), weights[i])
        }))
    }

    /// The derivative of [`unnormalized`](Self::unnormalized).
    fn scale(&self) -> f64 {
        (if self.align_corners { self.last() } else { self.size as f64 }) / 2.0
    }

    /// The derivative of [`padded`](Self::padded) at `x`: 0 at and beyond the edges, which is where it is constant; negative where
    /// coordinates are mirrored.
    fn padded_slope(&self, x: f64) -> f64 {
        let of_clipped = |x: f64| f64::from(u8::from(x > 0.0 && x < self.last()));
        match self.padding {
            GridPadding::Zeros => 1.0,
            GridPadding::Border => of_clipped(x),
            GridPadding::Reflection => {
                let (low, period) = self.mirrors();
                if period == 0.0 {
                    return 0.0;
                }
                let beyond = (x - low).abs() % period;
                let is_mirrored = (x < low) != (beyond > period - beyond);
                of_clipped(self.reflected(x)) * if is_mirrored { -1.0 } else { 1.0 }
            }
        }
    }

    /// As [`linear`](Self::linear), with the derivatives of the weights by the coordinate.
    pub fn linear_slope(&self, coordinate: f32) -> Option<AxisTaps<2>> {
        let slope = self.scale() * self.padded_slope(self.unnormalized(coordinate));
        let [low, high] = self.linear(coordinate)?;
        Some([(low.0, -slope), (high.0, slope)])
    }

    /// As [`cubic`](Self::cubic), with the derivatives of the weights by the coordinate.
    pub fn cubic_slope(&self, coordinate: f32) -> Option<AxisTaps<4>> {
        let taps = self.cubic(coordinate)?;
        let x = self.unnormalized(coordinate);
        let slopes = cubic_slopes(x - x.floor());
        Some(std::array::from_fn(|i| (taps[i].0, slopes[i] * self.scale())))
    }
}

/// Weights of the four neighbours of a point that is `t` beyond the second one.
fn cubic_weights(t: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

/// The derivatives of [`cubic_weights`].
fn cubic_slopes(t: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| (3.0 * (A + 2.0) * x - 2.0 * (A + 3.0)) * x;
    let far = |x: f64| (3.0 * A * x - 10.0 * A) * x + 8.0 * A;
    [far(t + 1.0), near(t), -near(1.0 - t), -far(2.0 - t)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(size: usize, padding: GridPadding, align_corners: bool) -> GridAxis {
        GridAxis { size, padding, align_corners, is_volume: false }
    }

    #[test]
    fn cubic_weights_sum_to_one_and_are_exact_at_pixels() {
        assert_eq!(cubic_weights(0.0), [0.0, 1.0, 0.0, 0.0]);
        for i in 0..=16 {
            let sum: f64 = cubic_weights(f64::from(i) / 16.0).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn coordinates_are_reflected_into_the_source() {
        let edges = axis(3, GridPadding::Reflection, false);
        let mirrored: Vec<f64> = (-5..8).map(|i| edges.padded(f64::from(i))).collect();
        assert_eq!(mirrored, [1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0]);
        let centres = axis(3, GridPadding::Reflection, true);
        let mirrored: Vec<f64> = (-3..7).map(|i| centres.padded(f64::from(i))).collect();
        assert_eq!(mirrored, [1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0]);
        assert_eq!(axis(1, GridPadding::Reflection, true).padded(7.5), 0.0);
    }

    #[test]
    fn ties_go_to_the_even_index() {
        // Of four pixels, 0 lies between the second and the third.
        let nearest = |coordinate| axis(4, GridPadding::Zeros, false).nearest(coordinate);
        assert_eq!([nearest(-0.5), nearest(0.0), nearest(0.5)], [Some(0), Some(2), Some(2)]);
        assert_eq!([nearest(-1.0), nearest(1.0), nearest(f32::NAN)], [Some(0), None, None]);
    }
}
