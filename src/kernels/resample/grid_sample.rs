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
    let Sampling { mode, padding, align_corners, is_volume } = sampling;
    let axes = operands.src_view.spatial.map(|size| GridAxis { size, padding, align_corners, is_volume });
    let [d, h, w] = axes;
    let point = |at: [usize; 4], i: usize| grid.coordinate(at, i);
    match (mode, is_volume) {
        (GridMode::Nearest, false) => run::<E, 1>(operands, |at| {
            Sample::product([[(h.nearest(point(at, 1)), 1.0)], [(w.nearest(point(at, 0)), 1.0)]], axes)
        }),
        (GridMode::Nearest, true) => run::<E, 1>(operands, |at| {
            let [z, y, x] = [d.nearest(point(at, 2)), h.nearest(point(at, 1)), w.nearest(point(at, 0))];
            Sample::product_of_volume([[(z, 1.0)], [(y, 1.0)], [(x, 1.0)]], axes)
        }),
        (GridMode::Bilinear, false) => {
            run::<E, 4>(operands, |at| match (h.linear(point(at, 1)), w.linear(point(at, 0))) {
                (Some(y), Some(x)) => Sample::product([y, x], axes),
                _ => Sample::NAN,
            })
        }
        (GridMode::Bilinear, true) => run::<E, 8>(operands, |at| {
            match (d.linear(point(at, 2)), h.linear(point(at, 1)), w.linear(point(at, 0))) {
                (Some(z), Some(y), Some(x)) => Sample::product_of_volume([z, y, x], axes),
                _ => Sample::NAN,
            }
        }),
        (GridMode::Bicubic, _) => {
            run::<E, 16>(operands, |at| match (h.cubic(point(at, 1)), w.cubic(point(at, 0))) {
                (Some(y), Some(x)) => Sample::product([y, x], axes),
                _ => Sample::NAN,
            })
        }
    }
}

/// What one result pixel is made of: at most `K` source pixels with their weights.
#[derive(Clone, Copy)]
struct Sample<const K: usize> {
    taps: [Tap; K],
    count: usize,
    /// The result is NaN, whatever the source holds.
    is_nan: bool,
}

/// One source pixel, counted over D, H and W, and its weight.
#[derive(Clone, Copy)]
struct Tap {
    pixel: usize,
    weight: f32,
}

impl<const K: usize> Sample<K> {
    const EMPTY: Self = Sample { taps: [Tap { pixel: 0, weight: 0.0 }; K], count: 0, is_nan: false };
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
    fn taps(&self) -> &[Tap] {
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
