//! The gradients of `grid_sample`: by the source, whose pixels get the gradients of those that read them; and by the grid.

use super::for_each_chunk;
use super::planes::{Dense, fill_planes};
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::kernels::resample::grid_sample::{Grid, Sample, SampleUse, Sampling, with_samples};
use crate::memory::{Failed, try_filled};

/// Where a pixel of the result is: image, D, H, W.
fn place(view: &Lanes, i: usize) -> [usize; 4] {
    let [_, height, width] = view.spatial;
    let pixel = i % view.pixels();
    [i / view.pixels(), pixel / width / height, pixel / width % height, pixel % width]
}

/// The gradient by the source, written to `dst`.
pub(crate) fn by_source(
    op: &'static str,
    dense: &Dense<'_>,
    grid: Grid<'_>,
    sampling: Sampling,
    dst: &mut [f32],
) -> Result<()> {
    with_samples(dense.x_view.spatial, grid, sampling, None, Spread { op, dense, dst })
}

struct Spread<'a> {
    op: &'static str,
    dense: &'a Dense<'a>,
    dst: &'a mut [f32],
}

impl SampleUse for Spread<'_> {
    type Out = Result<()>;
    fn run<const K: usize>(self, sample: impl Fn([usize; 4]) -> Sample<K> + Sync) -> Result<()> {
        let Spread { op, dense, dst } = self;
        let view = &dense.diff_view;
        // Once for all channels.
        let mut samples = try_filled(op, view.n * view.pixels(), Sample::<K>::EMPTY)?;
        let width = view.spatial[2].max(1);
        if !samples.is_empty() {
            crate::kernels::lanes::for_each_chunk(&mut samples, width, |row, samples| {
                samples.iter_mut().enumerate().for_each(|(i, to)| *to = sample(place(view, row * width + i)));
            });
        }
        fill_planes(dense, dst, |mut plane| {
            plane.dst.fill(0.0);
            for pixel in 0..view.pixels() {
                for tap in samples[plane.n * view.pixels() + pixel].taps() {
                    plane.add(pixel, tap.pixel, tap.weight);
                }
            }
        });
        Ok(())
    }
}

/// The gradient by the grid: for each result pixel `coordinates` numbers, that of W first.
pub(crate) fn by_grid(
    op: &'static str,
    dense: &Dense<'_>,
    grid: Grid<'_>,
    sampling: Sampling,
    coordinates: usize,
) -> Result<Vec<f32>> {
    let points = dense.diff_view.n * dense.diff_view.pixels();
    let mut all = try_filled(op, points * coordinates, 0f32)?;
    for i in 0..coordinates {
        let of_one = with_samples(dense.x_view.spatial, grid, sampling, Some(i), Slopes { op, dense })?;
        all.iter_mut().skip(i).step_by(coordinates).zip(of_one).for_each(|(to, slope)| *to = slope);
    }
    Ok(all)
}

/// For each result pixel the sum over channels of its gradient times the slope of its sample.
struct Slopes<'a> {
    op: &'static str,
    dense: &'a Dense<'a>,
}

impl SampleUse for Slopes<'_> {
    type Out = Result<Vec<f32>>;
    fn run<const K: usize>(self, sample: impl Fn([usize; 4]) -> Sample<K> + Sync) -> Result<Vec<f32>> {
        let Slopes { op, dense: Dense { x, x_view, diff, diff_view } } = self;
        let (lanes, width) = (x_view.lanes, diff_view.spatial[2].max(1));
        let mut slopes = try_filled(op, diff_view.n * diff_view.pixels(), 0f32)?;
        let failed = Failed::default();
        for_each_chunk(&mut slopes, width, |row, slopes| {
            let Some(mut samples) = failed.try_filled(op, slopes.len(), Sample::<K>::EMPTY) else { return };
            let first = place(diff_view, row * width);
            let pixel = row * width % diff_view.pixels();
            samples
                .iter_mut()
                .enumerate()
                .for_each(|(i, to)| *to = sample([first[0], first[1], first[2], i]));
            let Some(mut sums) = failed.try_filled(op, slopes.len(), 0f64) else { return };
            for block in 0..x_view.blocks {
                let x = &x[first[0] * x_view.stride_n + block * x_view.stride_block..];
                let at = first[0] * diff_view.stride_n + block * diff_view.stride_block + pixel * lanes;
                for ((sum, sample), g) in sums.iter_mut().zip(&samples).zip(diff[at..].chunks(lanes)) {
                    for tap in sample.taps().iter().filter(|tap| tap.weight != 0.0) {
                        let x = &x[tap.pixel * lanes..][..lanes];
                        let dot: f32 = x.iter().zip(g).map(|(x, g)| x * g).sum();
                        *sum += f64::from(dot * tap.weight);
                    }
                }
            }
            slopes.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum as f32);
        });
        failed.result()?;
        Ok(slopes)
    }
}
