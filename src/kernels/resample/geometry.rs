//! Coordinates of resampling: which source elements each result index reads, and with which weights.

use crate::error::{Result, fail};
use crate::kernels::spatial;
use crate::layout::dims::Dims;
use crate::op::Args;
use crate::try_vec::try_with_capacity;

/// Sizes of the result, and the factors that coordinates are counted with.
pub(crate) struct Target {
    pub output: Dims,
    /// Factor of each axis where one was given and counts.
    scale: [Option<f64>; 3],
}

/// The two neighbours of one result index, and their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub low: u32,
    pub high: u32,
    pub weights: [f32; 2],
}

/// What one axis reads.
pub(crate) enum Axis {
    /// The same index.
    Same,
    /// Two neighbours for each result index.
    Pairs(Vec<Pair>),
}

impl Target {
    /// Reads the arguments `output`, `scale_d`, `scale_h`, `scale_w`, `recompute_scale_factor` from 1 on.
    pub fn new(args: &Args<'_>, input: &[usize]) -> Result<Target> {
        let (op, rank) = (args.op(), input.len());
        let given = args.sizes(1)?;
        let mut scales = [args.float(2)?, args.float(3)?, args.float(4)?];
        scales.rotate_left(3 - rank);
        let (scales, missing) = scales.split_at(rank);
        let some_scale = scales.iter().chain(missing).any(|&s| s != 0.0);
        if given.is_empty() != some_scale {
            let got =
                if some_scale { "a size and a scale" } else { "neither a size nor a scale greater than 0" };
            fail!(
                InvalidArgument,
                op,
                "output",
                got,
                "exactly one of them says where to",
                "pass one of them"
            );
        }
        let mut target = Target { output: Dims::EMPTY, scale: [None; 3] };
        if given.is_empty() {
            let recompute = args.flag(5)?;
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
            for (axis, (&scale, &size)) in scales.iter().zip(input).enumerate() {
                // NaN is not positive either.
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
                target.output.push((size as f64 * scale) as usize);
                target.scale[axis] = (!recompute).then_some(scale);
            }
        } else {
            target.output = args.spatial(1, rank)?;
        }
        if let Some(axis) = target.output.iter().position(|&o| o == 0) {
            fail!(
                InvalidArgument,
                op,
                "output",
                target.output.to_string(),
                format!("the result has at least one pixel, and spatial axis {axis} is 0"),
                "pass a larger size or scale"
            );
        }
        spatial::check_output(op, "output", &target.output)?;
        Ok(target)
    }

    /// The source index of every result index, along D, H and W. Counted in f32, as PyTorch does, so that the same
    /// neighbour is the nearest.
    pub fn nearest(&self, op: &'static str, input: &[usize]) -> Result<[Vec<u32>; 3]> {
        let mut axes = [vec![0], vec![0], vec![0]];
        for (axis, place) in (0..input.len()).zip(&mut axes[3 - input.len()..]) {
            let (size, output) = (input[axis], self.output[axis]);
            let step = match self.scale[axis] {
                Some(scale) => (1.0 / scale) as f32,
                None => size as f32 / output as f32,
            };
            let mut list = try_with_capacity(op, output)?;
            // In PyTorch so in two dimensions alone, whatever the scale was.
            let whole = if input.len() == 2 {
                [1, 2].into_iter().find(|k| size.checked_mul(*k) == Some(output))
            } else {
                None
            };
            list.extend((0..output).map(|i| {
                let from = whole.map_or((i as f32 * step) as usize, |times| i / times);
                from.min(size - 1) as u32
            }));
            *place = list;
        }
        Ok(axes)
    }

    /// What D, H and W read for linear interpolation.
    pub fn linear(&self, op: &'static str, input: &[usize], align_corners: bool) -> Result<[Axis; 3]> {
        let mut axes = [Axis::Same, Axis::Same, Axis::Same];
        for (axis, place) in (0..input.len()).zip(&mut axes[3 - input.len()..]) {
            let (size, output) = (input[axis], self.output[axis]);
            if size == output {
                continue;
            }
            // Multiplied before it is divided: what falls on a pixel falls there exactly, and takes nothing of its neighbour.
            let (times, by) = match self.scale[axis] {
                _ if align_corners => ((size - 1) as f64, (output - 1).max(1) as f64),
                Some(scale) => (1.0, scale),
                None => (size as f64, output as f64),
            };
            let mut list = try_with_capacity(op, output)?;
            list.extend((0..output).map(|i| {
                let (first, shift) = if align_corners { (i as f64, 0.0) } else { (i as f64 + 0.5, 0.5) };
                let at = (first * times / by - shift).max(0.0);
                let low = (at as usize).min(size - 1);
                let weight = (at - low as f64).min(1.0);
                Pair {
                    low: low as u32,
                    high: (low + 1).min(size - 1) as u32,
                    weights: [(1.0 - weight) as f32, weight as f32],
                }
            }));
            *place = Axis::Pairs(list);
        }
        Ok(axes)
    }
}

impl Axis {
    /// The neighbours of result index `i`; one alone has all the weight.
    #[inline(always)]
    pub fn pair(&self, i: usize) -> Pair {
        match self {
            Axis::Same => Pair { low: i as u32, high: i as u32, weights: [1.0, 0.0] },
            Axis::Pairs(list) => list[i],
        }
    }

    /// The source indices that result index `i` reads.
    #[inline(always)]
    pub fn reach(&self, i: usize) -> (usize, usize) {
        let p = self.pair(i);
        (p.low as usize, p.high as usize + 1)
    }
}
