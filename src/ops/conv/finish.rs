//! Bias and post-ops in a pass of their own, over the result of a kernel that leaves them to us.

use std::borrow::Cow;
use std::ops::Range;

use crate::ops::lanes::Lanes;
use crate::ops::post_ops::{PostOp, PostOps};
use crate::simd::{self, Loop};

/// What is done to a result.
pub(crate) struct Finish<'a> {
    /// A number for each channel.
    pub bias: Option<&'a [f32]>,
    pub post_ops: &'a PostOps,
    /// It lies as the result does.
    pub residual: Option<&'a [f32]>,
    /// The numbers a channel of the post-ops that take some, in their order.
    pub channel: &'a [Cow<'a, [f32]>],
}

impl Finish<'_> {
    /// Finishes `dst`, which lies as `view` says. Of the padding of its blocks it makes whatever the functions do.
    pub fn run(&self, view: &Lanes, dst: &mut [f32]) {
        view.for_each_piece(dst, |p, values| {
            let first = p.block * view.lanes;
            simd::dispatch(Part {
                all: self,
                values,
                lanes: view.lanes,
                channels: first..first + view.lanes_in(p.block),
                at: p.n * view.stride_n + p.block * view.stride_block + p.first * view.lanes,
            });
        });
    }
}

/// Some pixels of one block.
struct Part<'a> {
    all: &'a Finish<'a>,
    values: &'a mut [f32],
    lanes: usize,
    channels: Range<usize>,
    /// Where in the result they begin, in **elements**.
    at: usize,
}

impl Loop for Part<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Part { all, values, lanes, channels, at } = self;
        if let Some(bias) = all.bias {
            with_channels(values, lanes, &bias[channels.clone()], |v, b| v + b);
        }
        let mut numbers = all.channel.iter();
        for op in all.post_ops.iter() {
            match *op {
                PostOp::Residual => {
                    let Some(residual) = all.residual else { continue };
                    let residual = &residual[at..at + values.len()];
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
                PostOp::Activation(a) => a.over(values),
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
