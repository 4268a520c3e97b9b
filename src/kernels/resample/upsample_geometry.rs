//! Coordinates of resampling to a size: which source elements each result index reads, and with which weights.

use crate::error::{Result, fail};
use crate::kernels::spatial;
use crate::layout::dims::Dims;
use crate::memory::try_with_capacity;

/// What a call says about the sizes of its result: the sizes, or a scale for each axis.
pub(crate) struct SizeOrScale<'a> {
    pub output: Option<&'a [usize]>,
    /// Of D, H and W; 0 if none was given.
    pub scale: [f64; 3],
    /// Whether coordinates are counted with the quotient of the sizes instead of the scale.
    pub recompute_scale_factor: bool,
}

/// The spatial sizes of the operand and of the result, and the scales that coordinates are counted with.
pub(crate) struct ResampleGeometry {
    op: &'static str,
    input: Dims,
    pub output: Dims,
    /// The scale of each axis, if coordinates are counted with it.
    scale: [Option<f64>; 3],
}

/// The two source neighbours of one result index, and their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Neighbours {
    pub low: u32,
    pub high: u32,
    pub weights: [f32; 2],
}

/// What linear interpolation reads along one axis.
pub(crate) enum LinearAxis {
    /// The source element of the same index: the axis keeps its size.
    Identity,
    /// Two neighbours for each result index.
    Interpolated(Vec<Neighbours>),
}

impl ResampleGeometry {
    /// Checks what a call says about the sizes of its result.
    pub fn new(op: &'static str, input: Dims, to: SizeOrScale<'_>) -> Result<ResampleGeometry> {
        let rank = input.len();
        // Scales of axes that the operand does not have, then those of its axes.
        let (missing, scales) = to.scale.split_at(3 - rank);
        let has_scale = to.scale.iter().any(|&s| s != 0.0);
        if to.output.is_some() == has_scale {
            let got =
                if has_scale { "a size and a scale" } else { "neither a size nor a scale greater than 0" };
            let rule = "exactly one of them says where to";
            fail!(InvalidArgument, op, "output", got, rule, "pass one of them");
        }
        let mut geometry = ResampleGeometry { op, input, output: Dims::EMPTY, scale: [None; 3] };
        match to.output {
            Some(output) => geometry.output = Dims::from_slice(output),
            None => {
                if missing.iter().any(|&s| s != 0.0) {
                    fail!(
                        InvalidArgument,
                        op,
                        "scale_d",
                        format!("{missing:?}"),
                        format!("x has {rank} spatial dimensions"),
                        "pass a scale for each of them, W last"
                    );
                }
                for (axis, &scale) in scales.iter().enumerate() {
                    // The comparison is false for NaN.
                    if !(scale > 0.0 && scale.is_finite()) {
                        fail!(
                            InvalidArgument,
                            op,
                            ["scale_d", "scale_h", "scale_w"][3 - rank + axis],
                            scale.to_string(),
                            "it is a positive number",
                            "pass one for each spatial dimension of x"
                        );
                    }
                    geometry.output.push((input[axis] as f64 * scale) as usize);
                    geometry.scale[axis] = (!to.recompute_scale_factor).then_some(scale);
                }
            }
        }
        if let Some(axis) = geometry.output.iter().position(|&o| o == 0) {
            fail!(
                InvalidArgument,
                op,
                "output",
                geometry.output.to_string(),
                format!("the result has at least one pixel, and spatial axis {axis} is 0"),
                "pass a larger size or scale"
            );
        }
        spatial::check_output(op, "output", &geometry.output)?;
        Ok(geometry)
    }

    /// The source index of every result index, along D, H and W. Coordinates are counted in f32, as PyTorch does, so that the
    /// same neighbour is the nearest.
    pub fn nearest(&self) -> Result<[Vec<u32>; 3]> {
        let input = &self.input;
        let mut axes = [vec![0], vec![0], vec![0]];
        for (axis, place) in (0..input.len()).zip(&mut axes[3 - input.len()..]) {
            let (size, output) = (input[axis], self.output[axis]);
            let step = match self.scale[axis] {
                Some(scale) => (1.0 / scale) as f32,
                None => size as f32 / output as f32,
            };
            let mut list = try_with_capacity(self.op, output)?;
            // PyTorch counts in integers where an axis keeps its size or doubles it, whatever the scale is, but only in two
            // dimensions.
            let whole_factor = if input.len() == 2 {
                [1, 2].into_iter().find(|k| size.checked_mul(*k) == Some(output))
            } else {
                None
            };
            list.extend((0..output).map(|i| {
                let from = whole_factor.map_or((i as f32 * step) as usize, |factor| i / factor);
                from.min(size - 1) as u32
            }));
            *place = list;
        }
        Ok(axes)
    }

    /// What linear interpolation reads along D, H and W.
    pub fn linear(&self, align_corners: bool) -> Result<[LinearAxis; 3]> {
        let input = &self.input;
        let mut axes = [LinearAxis::Identity, LinearAxis::Identity, LinearAxis::Identity];
        for (axis, place) in (0..input.len()).zip(&mut axes[3 - input.len()..]) {
            let (size, output) = (input[axis], self.output[axis]);
            if size == output {
                continue;
            }
            // The coordinate is multiplied before it is divided. So a coordinate that falls on a pixel is exact, and its
            // neighbour has no weight.
            let (factor, divisor) = match self.scale[axis] {
                _ if align_corners => ((size - 1) as f64, (output - 1).max(1) as f64),
                Some(scale) => (1.0, scale),
                None => (size as f64, output as f64),
            };
            let mut list = try_with_capacity(self.op, output)?;
            list.extend((0..output).map(|i| {
                let (first, shift) = if align_corners { (i as f64, 0.0) } else { (i as f64 + 0.5, 0.5) };
                let coordinate = (first * factor / divisor - shift).max(0.0);
                let low = (coordinate as usize).min(size - 1);
                let weight = (coordinate - low as f64).min(1.0);
                Neighbours {
                    low: low as u32,
                    high: (low + 1).min(size - 1) as u32,
                    weights: [(1.0 - weight) as f32, weight as f32],
                }
            }));
            *place = LinearAxis::Interpolated(list);
        }
        Ok(axes)
    }
}

impl LinearAxis {
    /// The neighbours of result index `i`.
    #[inline(always)]
    pub fn neighbours(&self, i: usize) -> Neighbours {
        match self {
            LinearAxis::Identity => Neighbours { low: i as u32, high: i as u32, weights: [1.0, 0.0] },
            LinearAxis::Interpolated(list) => list[i],
        }
    }

    /// The range of source indices that result index `i` reads.
    #[inline(always)]
    pub fn source_range(&self, i: usize) -> (usize, usize) {
        let p = self.neighbours(i);
        (p.low as usize, p.high as usize + 1)
    }
}
