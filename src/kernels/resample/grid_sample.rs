//! The kernel of `grid_sample`. A tile of result pixels first finds the source pixels and weights of each of its pixels, once for
//! all channels. Then every pixel is the weighted sum of its source pixels, in the same order in every layout, so all layouts
//! give the same bits.

use crate::dtype::Float;
use crate::kernels::resample::grid_coordinates::{AxisTaps, GridAxis, GridMode, GridPadding};
use crate::kernels::spatial::SpatialOperands;
use crate::simd::{Loop, barrier, dispatch};

/// Result pixels whose source pixels are found at once. Those of a bicubic tile take 17 KB of stack.
const TILE_PIXELS: usize = 64;

/// The grid: its elements, and its strides in **elements** along N, D, H, W and the coordinates of a point. Without D its stride
/// is 0.
#[derive(Clone, Copy)]
pub(crate) struct Grid<'a> {
    pub data: &'a [f32],
    pub strides: [usize; 5],
}

impl Grid<'_> {
    /// Coordinate number `i` of a point: W first, then H, then D.
    fn coordinate(&self, [n, d, h, w]: [usize; 4], i: usize) -> f32 {
        let s = &self.strides;
        self.data[n * s[0] + d * s[1] + h * s[2] + w * s[3] + i * s[4]]
    }
}

/// How a call samples.
#[derive(Clone, Copy)]
pub(crate) struct Sampling {
    pub mode: GridMode,
    pub padding: GridPadding,
    pub align_corners: bool,
    /// Whether the source is 5-D.
    pub is_volume: bool,
}

/// Writes every pixel of the result.
pub(crate) fn grid_sample<E: Float>(operands: SpatialOperands<'_, E>, grid: Grid<'_>, sampling: Sampling) {
    let size = operands.src_view.spatial;
    with_samples(size, grid, sampling, None, WritePixels(operands));
}

/// What is done with the samples of all result pixels: `sample([n, d, h, w])` is that of one.
pub(crate) trait SampleUse {
    type Out;
    fn run<const K: usize>(self, sample: impl Fn([usize; 4]) -> Sample<K> + Sync) -> Self::Out;
}

struct WritePixels<'a, E>(SpatialOperands<'a, E>);

impl<E: Float> SampleUse for WritePixels<'_, E> {
    type Out = ();
    fn run<const K: usize>(self, sample: impl Fn([usize; 4]) -> Sample<K> + Sync) {
        run(self.0, sample);
    }
}

/// Runs `of` with the samples of a source of these sizes. With `slope`, weights are replaced by their derivatives by this
/// coordinate of the grid; coordinate 0 is that of W.
pub(crate) fn with_samples<U: SampleUse>(
    size: [usize; 3],
    grid: Grid<'_>,
    sampling: Sampling,
    slope: Option<usize>,
    of: U,
) -> U::Out {
    let Sampling { mode, padding, align_corners, is_volume } = sampling;
    let axes = size.map(|size| GridAxis { size, padding, align_corners, is_volume });
    let [d, h, w] = axes;
    let point = |at: [usize; 4], i: usize| grid.coordinate(at, i);
    let nearest = |axis: GridAxis, at, i| {
        // The pixel that is taken does not change with the coordinate, or it jumps.
        [(axis.nearest(point(at, i)), if slope == Some(i) { 0.0 } else { 1.0 })]
    };
    let linear = |axis: GridAxis, at, i| match slope == Some(i) {
        true => axis.linear_slope(point(at, i)),
        false => axis.linear(point(at, i)),
    };
    let cubic = |axis: GridAxis, at, i| match slope == Some(i) {
        true => axis.cubic_slope(point(at, i)),
        false => axis.cubic(point(at, i)),
    };
    match (mode, is_volume) {
        (GridMode::Nearest, false) => {
            of.run::<1>(|at| Sample::product([nearest(h, at, 1), nearest(w, at, 0)], axes))
        }
        (GridMode::Nearest, true) => of.run::<1>(|at| {
            Sample::product_of_volume([nearest(d, at, 2), nearest(h, at, 1), nearest(w, at, 0)], axes)
        }),
        (GridMode::Bilinear, false) => of.run::<4>(|at| match (linear(h, at, 1), linear(w, at, 0)) {
            (Some(y), Some(x)) => Sample::product([y, x], axes),
            _ => Sample::NAN,
        }),
        (GridMode::Bilinear, true) => {
            of.run::<8>(|at| match (linear(d, at, 2), linear(h, at, 1), linear(w, at, 0)) {
                (Some(z), Some(y), Some(x)) => Sample::product_of_volume([z, y, x], axes),
                _ => Sample::NAN,
            })
        }
        (GridMode::Bicubic, _) => of.run::<16>(|at| match (cubic(h, at, 1), cubic(w, at, 0)) {
            (Some(y), Some(x)) => Sample::product([y, x], axes),
            _ => Sample::NAN,
        }),
    }
}

/// What one result pixel is made of: at most `K` source pixels with their weights.
#[derive(Clone, Copy)]
pub(crate) struct Sample<const K: usize> {
    taps: [Tap; K],
    count: usize,
    /// The result is NaN, whatever the source holds.
    is_nan: bool,
}

/// One source pixel, counted over D, H and W, and its weight.
#[derive(Clone, Copy)]
pub(crate) struct Tap {
    pub pixel: usize,
    pub weight: f32,
}

impl<const K: usize> Sample<K> {
    pub const EMPTY: Self = Sample { taps: [Tap { pixel: 0, weight: 0.0 }; K], count: 0, is_nan: false };
    const NAN: Self = Sample { is_nan: true, ..Self::EMPTY };

    /// The products of the taps along H and W. Pixels outside the source are left out.
    fn product<const T: usize>([h, w]: [AxisTaps<T>; 2], axes: [GridAxis; 3]) -> Self {
        let mut sample = Self::EMPTY;
        sample.push_plane(0, 1.0, [h, w], axes);
        sample
    }

    /// The products of the taps along D, H and W.
    fn product_of_volume<const T: usize>([d, h, w]: [AxisTaps<T>; 3], axes: [GridAxis; 3]) -> Self {
        let mut sample = Self::EMPTY;
        for (index, weight) in d {
            if let Some(index) = index {
                sample.push_plane(index, weight, [h, w], axes);
            }
        }
        sample
    }

    fn push_plane<const T: usize>(
        &mut self,
        d: usize,
        d_weight: f64,
        [h, w]: [AxisTaps<T>; 2],
        [_, h_axis, w_axis]: [GridAxis; 3],
    ) {
        for (y, y_weight) in h {
            for (x, x_weight) in w {
                if let (Some(y), Some(x)) = (y, x) {
                    let pixel = (d * h_axis.size + y) * w_axis.size + x;
                    self.taps[self.count] = Tap { pixel, weight: (d_weight * y_weight * x_weight) as f32 };
                    self.count += 1;
                }
            }
        }
    }

    #[inline(always)]
    pub fn taps(&self) -> &[Tap] {
        &self.taps[..self.count]
    }
}

/// Writes the result, whose pixel at [n, d, h, w] is `sample` of that place.
fn run<E: Float, const K: usize>(
    operands: SpatialOperands<'_, E>,
    sample: impl Fn([usize; 4]) -> Sample<K> + Sync,
) {
    let SpatialOperands { src, src_view, dst, dst_view } = operands;
    let [_, height, width] = dst_view.spatial;
    dst_view.for_each_tile(dst, TILE_PIXELS, |mut tile| {
        let geometry = tile.geometry();
        let mut samples = [Sample::<K>::EMPTY; TILE_PIXELS];
        let samples = &mut samples[..geometry.pixels];
        for (i, to) in samples.iter_mut().enumerate() {
            let pixel = geometry.first + i;
            *to = sample([geometry.n, pixel / width / height, pixel / width % height, pixel % width]);
        }
        for block in 0..geometry.blocks {
            let start = geometry.n * src_view.stride_n + block * src_view.stride_block;
            dispatch(WeightedSums {
                src: &src[start..start + src_view.plane_len()],
                samples,
                dst: tile.block(block),
                lanes: src_view.lanes,
                logical_lanes: src_view.lanes_in(block),
            });
        }
    });
}

/// The pixels of one block of a tile.
struct WeightedSums<'a, E, const K: usize> {
    /// The image of this block.
    src: &'a [E],
    samples: &'a [Sample<K>],
    dst: &'a mut [E],
    lanes: usize,
    /// Lanes that are no padding. Padding lanes become zeros: those of the source are, and weights are finite.
    logical_lanes: usize,
}

impl<E: Float, const K: usize> Loop for WeightedSums<'_, E, K> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        match self.lanes {
            1 => self.run_scalar(),
            2..4 => self.run_vectors::<1>(),
            4..8 => self.run_vectors::<4>(),
            8..16 => self.run_vectors::<8>(),
            _ => self.run_vectors::<16>(),
        }
    }
}

impl<E: Float, const K: usize> WeightedSums<'_, E, K> {
    /// Pixels of one lane.
    #[inline(always)]
    fn run_scalar(self) {
        for (dst, sample) in self.dst.iter_mut().zip(self.samples) {
            *dst = match sample.is_nan {
                true => E::rounded(f32::NAN),
                false => sum::<E, 1>(self.src, sample.taps(), 1, 0, K == 1)[0],
            };
        }
    }

    /// Pixels of at least `L` lanes.
    #[inline(always)]
    fn run_vectors<const L: usize>(self) {
        let lanes = self.lanes;
        for (dst, sample) in self.dst.chunks_exact_mut(lanes).zip(self.samples) {
            if sample.is_nan {
                dst[..self.logical_lanes].fill(E::rounded(f32::NAN));
                dst[self.logical_lanes..].fill(E::default());
                continue;
            }
            let mut lane = 0;
            loop {
                barrier();
                let sum = sum::<E, L>(self.src, sample.taps(), lanes, lane, K == 1);
                *dst[lane..].first_chunk_mut().expect("a vector's lanes") = sum;
                if lane + L == lanes {
                    break;
                }
                // The last vector may overlap the one before; it writes the same results again.
                lane = (lane + L).min(lanes - L);
            }
        }
    }
}

/// `L` lanes from `lane` on: the weighted sum of the taps, or with `is_copy` the one tap itself. Zeros without taps.
#[inline(always)]
fn sum<E: Float, const L: usize>(
    src: &[E],
    taps: &[Tap],
    lanes: usize,
    lane: usize,
    is_copy: bool,
) -> [E; L] {
    // A sum that begins with +0 is never -0, which a negative weight would make of the zeros of padding lanes.
    let mut sum = [0f32; L];
    for tap in taps {
        let pixel: &[E; L] = src[tap.pixel * lanes + lane..].first_chunk().expect("a vector's lanes");
        if is_copy {
            return *pixel;
        }
        for l in 0..L {
            sum[l] += tap.weight * pixel[l].widen();
        }
    }
    let mut rounded = [E::default(); L];
    for l in 0..L {
        rounded[l] = E::rounded(sum[l]);
    }
    rounded
}
