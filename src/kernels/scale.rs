//! `y = (x - center) * scale + shift`, one triple for each channel: the last step of every norm.
//!
//! Taking the centre off first costs nothing where memory is the limit, and is exact for values near it: a mean that is
//! thousands of deviations away spoils no digits.

use crate::kernels::lanes::Lanes;
use crate::simd::{self, Loop};

/// Shortest stretch of channels that is worth a loop of its own, in elements.
const PATTERN: usize = 128;

/// What one channel is normalised with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChannelScale {
    pub center: f32,
    pub scale: f32,
    pub shift: f32,
}

impl ChannelScale {
    /// `(x - mean) / deviation * weight + bias`, where `inverse` is 1 / deviation. What the centre's rounding leaves of
    /// the mean goes into the shift.
    pub fn new(mean: f64, inverse: f64, weight: f32, bias: f32) -> ChannelScale {
        let center = mean as f32;
        let scale = inverse * f64::from(weight);
        let rest = f64::from(center) - mean;
        // NaN of an infinite mean, which leaves nothing.
        let shift =
            if rest == 0.0 || !center.is_finite() { f64::from(bias) } else { f64::from(bias) + rest * scale };
        ChannelScale { center, scale: scale as f32, shift: shift as f32 }
    }

    #[inline(always)]
    pub fn apply(self, x: f32) -> f32 {
        (x - self.center) * self.scale + self.shift
    }
}

/// ChannelScales in the order of the view's channels, zero for those of the padding; for each image, or for all.
pub(crate) struct ChannelScales {
    per_image: bool,
    /// Of one image.
    channels: usize,
    blocks: usize,
    center: Vec<f32>,
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl ChannelScales {
    /// The same for every image.
    pub fn new(view: &Lanes, of: impl Fn(usize) -> ChannelScale) -> ChannelScales {
        ChannelScales::make(view, false, |_, c| of(c))
    }

    /// `of(image, channel)`.
    pub fn per_image(view: &Lanes, of: impl Fn(usize, usize) -> ChannelScale) -> ChannelScales {
        ChannelScales::make(view, true, of)
    }

    fn make(view: &Lanes, per_image: bool, of: impl Fn(usize, usize) -> ChannelScale) -> ChannelScales {
        let images = if per_image { view.n } else { 1 };
        // Few channels side by side: repeat them, so that a vector loop has a whole stretch.
        let alone = matches!(view.lanes, 0 | 1 | 8 | 16) || view.lanes >= PATTERN;
        let even = GROUP >> view.lanes.trailing_zeros().min(GROUP.trailing_zeros());
        let times = if alone { 1 } else { PATTERN.div_ceil(view.lanes).next_multiple_of(even) };
        let channels = view.padded_channels() * times;
        let zeros = || vec![0f32; images * channels];
        let (mut center, mut scale, mut shift) = (zeros(), zeros(), zeros());
        for n in 0..images {
            for c in 0..view.c {
                let s = of(n, c);
                for time in 0..times {
                    let (block, lane) = (c / view.lanes, c % view.lanes);
                    let at = n * channels + (block * times + time) * view.lanes + lane;
                    (center[at], scale[at], shift[at]) = (s.center, s.scale, s.shift);
                }
            }
        }
        ChannelScales { per_image, channels, blocks: view.blocks.max(1), center, scale, shift }
    }

    /// Centres, scales and shifts of the first `lanes` channels of a block.
    pub fn of(&self, n: usize, block: usize, lanes: usize) -> [&[f32]; 3] {
        let step = self.channels / self.blocks;
        let at = if self.per_image { n * self.channels } else { 0 } + block * step;
        [&self.center, &self.scale, &self.shift].map(|v| &v[at..at + lanes])
    }

    /// Writes `dst`, which lies as `src` does.
    pub fn apply(&self, view: &Lanes, src: &[f32], dst: &mut [f32]) {
        let step = self.channels / self.blocks;
        view.for_each_pixel_run(dst, |p, dst| {
            let start = p.n * view.stride_n + p.block * view.stride_block + p.first * view.lanes;
            let src = &src[start..start + dst.len()];
            let [center, scale, shift] = self.of(p.n, p.block, step);
            simd::dispatch(Affine { src, dst, center, scale, shift });
        });
    }
}

/// Pixels whose channels have these scales, again and again.
struct Affine<'a> {
    src: &'a [f32],
    dst: &'a mut [f32],
    center: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
}

/// Elements that a vector loop takes at once.
const GROUP: usize = 16;

impl<const L: usize> Group<L> {
    #[inline(always)]
    fn apply(&self, src: &[f32; L], dst: &mut [f32; L]) {
        // Whole arrays in and out: the compiler need not fear that the two overlap.
        let x = *src;
        let mut y = [0f32; L];
        for l in 0..L {
            let scale = ChannelScale { center: self.center[l], scale: self.scale[l], shift: self.shift[l] };
            y[l] = scale.apply(x[l]);
        }
        *dst = y;
    }
}

/// ChannelScales of some channels.
struct Group<const L: usize> {
    center: [f32; L],
    scale: [f32; L],
    shift: [f32; L],
}

impl Affine<'_> {
    #[inline(always)]
    fn group<const L: usize>(&self) -> Group<L> {
        let part = |v: &[f32]| {
            let mut part = [0f32; L];
            part.copy_from_slice(&v[..L]);
            part
        };
        Group { center: part(self.center), scale: part(self.scale), shift: part(self.shift) }
    }

    /// Every `L` elements have the same scales.
    #[inline(always)]
    fn lanes<const L: usize>(self) {
        let group = self.group::<L>();
        let src = self.src.as_chunks::<L>().0;
        for (y, x) in self.dst.as_chunks_mut::<L>().0.iter_mut().zip(src) {
            group.apply(x, y);
            simd::end_of_chunk();
        }
    }
}

impl Loop for Affine<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        match self.scale.len() {
            1 => {
                let s = ChannelScale { center: self.center[0], scale: self.scale[0], shift: self.shift[0] };
                self.dst.iter_mut().zip(self.src).for_each(|(d, &x)| *d = s.apply(x));
            }
            8 => self.lanes::<8>(),
            16 => self.lanes::<GROUP>(),
            n => {
                for (dst, src) in self.dst.chunks_mut(n).zip(self.src.chunks(n)) {
                    let params = self.center.iter().zip(self.scale).zip(self.shift);
                    for ((d, &x), ((&center, &scale), &shift)) in dst.iter_mut().zip(src).zip(params) {
                        *d = ChannelScale { center, scale, shift }.apply(x);
                    }
                }
            }
        }
    }
}
