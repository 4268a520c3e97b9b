//! The epilogue of a convolution: bias and post-ops over its result, and their operands.

mod apply;
mod operands;

pub(crate) use self::operands::{channel_values, check_operands};

use std::borrow::Cow;
use std::ops::Range;

use crate::kernels::bytes::ByteRange;
use crate::kernels::lanes::Lanes;
use crate::math;
use crate::post_ops::{PostOp, PostOps};
use crate::simd::{self, Loop};

/// What is done to a result.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    /// A number for each channel.
    pub bias: Option<&'a [f32]>,
    pub post_ops: &'a PostOps,
    /// The numbers a channel of the post-ops that take some, in their order.
    pub channel: &'a [Cow<'a, [f32]>],
}

/// No post-ops.
static NOTHING: PostOps = PostOps::new();

impl<'a> Finish<'a> {
    /// A bias alone.
    pub fn bias(bias: Option<&'a [f32]>) -> Finish<'a> {
        Finish { bias, post_ops: &NOTHING, channel: &[] }
    }

    /// Whether there is nothing to do.
    #[cfg(feature = "onednn")]
    pub fn is_nothing(&self) -> bool {
        self.bias.is_none() && self.post_ops.is_empty()
    }

    /// Finishes `dst`, which lies as `view` says, and so does the residual. Of the padding of its blocks it makes whatever
    /// the functions do.
    pub fn all(&self, view: &Lanes, residual: Option<&[f32]>, dst: &mut [f32]) {
        view.for_each_pixel_run(dst, |p, values| {
            let first = p.block * view.lanes;
            let at = p.n * view.stride_n + p.block * view.stride_block + p.first * view.lanes;
            let residual = residual.map(|r| &r[at..at + values.len()]);
            self.pixels(view.lanes, first..first + view.lanes_in(p.block), residual, values);
        });
    }

    /// Finishes pixels that lie together, each of `lanes` values: those of `channels`, and padding.
    pub fn pixels(&self, lanes: usize, channels: Range<usize>, residual: Option<&[f32]>, values: &mut [f32]) {
        simd::dispatch(Pixels { finish: self, lanes, channels, residual, values });
    }
}

struct Pixels<'a> {
    finish: &'a Finish<'a>,
    lanes: usize,
    channels: Range<usize>,
    /// As many as values.
    residual: Option<&'a [f32]>,
    values: &'a mut [f32],
}

impl Loop for Pixels<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Pixels { finish, lanes, channels, residual, values } = self;
        if let Some(bias) = finish.bias {
            with_channels(values, lanes, &bias[channels.clone()], |v, b| v + b);
        }
        let mut numbers = finish.channel.iter();
        for op in finish.post_ops.iter() {
            match *op {
                // A quantised residual comes as the numbers that it stands for.
                PostOp::Residual | PostOp::QuantizedResidual { .. } => {
                    let Some(residual) = residual else { continue };
                    values.iter_mut().zip(residual).for_each(|(v, r)| *v += r);
                }
                PostOp::MulChannel => {
                    let Some(c) = numbers.next() else { continue };
                    with_channels(values, lanes, &c[channels.clone()], |v, c| v * c);
                }
                PostOp::AddChannel => {
                    let Some(c) = numbers.next() else { continue };
                    with_channels(values, lanes, &c[channels.clone()], |v, c| v + c);
                }
                PostOp::Prelu => {
                    let Some(c) = numbers.next() else { continue };
                    with_channels(values, lanes, &c[channels.clone()], math::prelu);
                }
                PostOp::Activation(a) => a.over(values),
                PostOp::Round { dtype, zero_point } => {
                    let range = ByteRange::new(dtype, zero_point);
                    values.iter_mut().for_each(|v| *v = range.round(*v));
                }
                // Whoever writes the result does it.
                PostOp::Quantize { .. } => {}
            }
        }
    }
}

/// Every `lanes` values meet the same numbers; padding may have none.
#[inline(always)]
fn with_channels(values: &mut [f32], lanes: usize, numbers: &[f32], f: impl Fn(f32, f32) -> f32 + Copy) {
    match lanes {
        1 => {
            let number = numbers[0];
            values.iter_mut().for_each(|v| *v = f(*v, number));
        }
        8 => with_block::<8>(values, numbers, f),
        16 => with_block::<16>(values, numbers, f),
        _ => {
            for pixel in values.chunks_exact_mut(lanes) {
                pixel.iter_mut().zip(numbers).for_each(|(v, &number)| *v = f(*v, number));
            }
        }
    }
}

#[inline(always)]
fn with_block<const L: usize>(values: &mut [f32], numbers: &[f32], f: impl Fn(f32, f32) -> f32) {
    let mut block = [0f32; L];
    block[..numbers.len()].copy_from_slice(numbers);
    for pixel in values.as_chunks_mut::<L>().0 {
        *pixel = std::array::from_fn(|l| f(pixel[l], block[l]));
        simd::end_of_chunk();
    }
}
