//! `y = (x - center) * scale + shift`, with these three numbers for each channel: the last step of every norm.
//!
//! Subtracting the centre first costs no time where memory bandwidth is the limit. The difference is exact for values near the
//! centre, so no digits are lost even if the mean is thousands of deviations away from 0.

use crate::dtype::Float;
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::memory::try_filled;
use crate::simd::{self, Loop};

/// The least number of elements that is worth an inner loop of its own.
const MIN_LOOP_LEN: usize = 128;

/// The numbers that one channel is normalised with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChannelScale {
    pub center: f32,
    pub scale: f32,
    pub shift: f32,
}

impl ChannelScale {
    /// `(x - mean) / deviation * weight + bias`, where `inverse` is 1 / deviation. The centre is the mean, rounded to f32; the
    /// shift corrects the rounding error.
    pub fn new(mean: f64, inverse: f64, weight: f32, bias: f32) -> ChannelScale {
        let center = mean as f32;
        let scale = inverse * f64::from(weight);
        let rest = f64::from(center) - mean;
        // `rest` is NaN for an infinite mean, which has no rounding error.
        let shift =
            if rest == 0.0 || !center.is_finite() { f64::from(bias) } else { f64::from(bias) + rest * scale };
        ChannelScale { center, scale: scale as f32, shift: shift as f32 }
    }

    #[inline(always)]
    pub fn apply(self, x: f32) -> f32 {
        (x - self.center) * self.scale + self.shift
    }
}

/// The scales of all channels of a view, in the order of memory; zeros for the padding. Either each image has its own scales, or
/// all images have the same.
pub(crate) struct ChannelScales {
    per_image: bool,
    /// Values that one image has in `center`, `scale` and `shift`.
    per_image_len: usize,
    blocks: usize,
    center: Vec<f32>,
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl ChannelScales {
    /// The same for every image.
    pub fn new(op: &'static str, view: &Lanes, of: impl Fn(usize) -> ChannelScale) -> Result<ChannelScales> {
        ChannelScales::make(op, view, false, |_, c| of(c))
    }

    /// `of(image, channel)`.
    pub fn per_image(
        op: &'static str,
        view: &Lanes,
        of: impl Fn(usize, usize) -> ChannelScale,
    ) -> Result<ChannelScales> {
        ChannelScales::make(op, view, true, of)
    }

    fn make(
        op: &'static str,
        view: &Lanes,
        per_image: bool,
        of: impl Fn(usize, usize) -> ChannelScale,
    ) -> Result<ChannelScales> {
        let images = if per_image { view.n } else { 1 };
        // If a pixel has few lanes, the scales of a block are repeated, so that the inner loop runs over several pixels.
        let is_long_enough = matches!(view.lanes, 0 | 1 | 8 | 16) || view.lanes >= MIN_LOOP_LEN;
        // That many pixels are a whole number of vectors.
        let whole_vectors = VECTOR_LEN >> view.lanes.trailing_zeros().min(VECTOR_LEN.trailing_zeros());
        let times = if is_long_enough {
            1
        } else {
            MIN_LOOP_LEN.div_ceil(view.lanes).next_multiple_of(whole_vectors)
        };
        let per_image_len = view.padded_channels() * times;
        let zeros = || try_filled(op, images * per_image_len, 0f32);
        let (mut center, mut scale, mut shift) = (zeros()?, zeros()?, zeros()?);
        for n in 0..images {
            for c in 0..view.c {
                let s = of(n, c);
                for time in 0..times {
                    let (block, lane) = (c / view.lanes, c % view.lanes);
                    let at = n * per_image_len + (block * times + time) * view.lanes + lane;
                    (center[at], scale[at], shift[at]) = (s.center, s.scale, s.shift);
                }
            }
        }
        Ok(ChannelScales { per_image, per_image_len, blocks: view.blocks.max(1), center, scale, shift })
    }

    /// Centres, scales and shifts of the first `lanes` channels of a block of image `n`.
    pub fn of(&self, n: usize, block: usize, lanes: usize) -> [&[f32]; 3] {
        let step = self.per_image_len / self.blocks;
        let at = if self.per_image { n * self.per_image_len } else { 0 } + block * step;
        [&self.center, &self.scale, &self.shift].map(|v| &v[at..at + lanes])
    }

    /// Writes the scaled elements of `src` to `dst`. Both have the layout of `view`.
    pub fn apply<E: Float>(&self, view: &Lanes, src: &[E], dst: &mut [E]) {
        let step = self.per_image_len / self.blocks;
        view.for_each_pixel_run(dst, |run, dst| {
            let start = view.run_offset(run);
            let src = &src[start..start + dst.len()];
            let [center, scale, shift] = self.of(run.n, run.block, step);
            simd::dispatch(ScaleLoop { src, dst, center, scale, shift });
        });
    }
}

/// Scales the pixels of one block. The scales are repeated until the pixels end.
struct ScaleLoop<'a, E> {
    src: &'a [E],
    dst: &'a mut [E],
    center: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
}

/// The most elements that one step of a vector loop processes.
const VECTOR_LEN: usize = 16;

impl<const L: usize> ScaleVector<L> {
    #[inline(always)]
    fn apply<E: Float>(&self, src: &[E; L], dst: &mut [E; L]) {
        // Whole arrays are read and written, so that the compiler knows that the two do not overlap.
        let x = *src;
        let mut y = [E::default(); L];
        for l in 0..L {
            let scale = ChannelScale { center: self.center[l], scale: self.scale[l], shift: self.shift[l] };
            y[l] = E::rounded(scale.apply(x[l].widen()));
        }
        *dst = y;
    }
}

/// The scales of `L` channels.
struct ScaleVector<const L: usize> {
    center: [f32; L],
    scale: [f32; L],
    shift: [f32; L],
}

impl<E: Float> ScaleLoop<'_, E> {
    #[inline(always)]
    fn first_scales<const L: usize>(&self) -> ScaleVector<L> {
        let first = |v: &[f32]| {
            let mut first = [0f32; L];
            first.copy_from_slice(&v[..L]);
            first
        };
        ScaleVector { center: first(self.center), scale: first(self.scale), shift: first(self.shift) }
    }

    /// Every `L` elements, the scales repeat.
    #[inline(always)]
    fn run_with_lanes<const L: usize>(self) {
        let scales = self.first_scales::<L>();
        let src = self.src.as_chunks::<L>().0;
        for (y, x) in self.dst.as_chunks_mut::<L>().0.iter_mut().zip(src) {
            scales.apply(x, y);
            simd::end_of_chunk();
        }
    }
}

impl<E: Float> Loop for ScaleLoop<'_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.scale.len() {
            1 => {
                let s = ChannelScale { center: self.center[0], scale: self.scale[0], shift: self.shift[0] };
                self.dst.iter_mut().zip(self.src).for_each(|(d, &x)| *d = E::rounded(s.apply(x.widen())));
            }
            8 => self.run_with_lanes::<8>(),
            16 => self.run_with_lanes::<VECTOR_LEN>(),
            n => {
                for (dst, src) in self.dst.chunks_mut(n).zip(self.src.chunks(n)) {
                    let params = self.center.iter().zip(self.scale).zip(self.shift);
                    for ((d, &x), ((&center, &scale), &shift)) in dst.iter_mut().zip(src).zip(params) {
                        *d = E::rounded(ChannelScale { center, scale, shift }.apply(x.widen()));
                    }
                }
            }
        }
    }
}
