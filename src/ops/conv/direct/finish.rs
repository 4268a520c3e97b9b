//! Post-ops over a finished tile, and the zeros of its padding lanes.

use super::kernel::{Grid, Out};
use crate::ops::post_ops::{Activation, PostOp, PostOps};
use crate::simd::Loop;

/// One tile of one block.
pub(super) struct Finish<'a, const B: usize> {
    pub out: Out<'a>,
    pub grid: Grid,
    pub rows: usize,
    pub width: usize,
    pub post_ops: &'a PostOps,
    /// A tensor in the result's layout.
    pub residual: Option<&'a [f32]>,
    /// The lanes of each per-channel operand, in their order.
    pub channel: &'a [&'a [f32; B]],
    /// Lanes with a channel: fewer than `B` in a last block.
    pub lanes: usize,
}

impl<const B: usize> Loop for Finish<'_, B> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.rows {
            let mut next = self.channel.iter();
            for op in self.post_ops.iter() {
                match *op {
                    PostOp::Residual => {
                        let Some(residual) = self.residual else { continue };
                        for x in 0..self.width {
                            let at = self.grid.offset(row, x);
                            let r = &residual[at..at + B];
                            self.pixel(row, x, |l, v| v + r[l]);
                        }
                    }
                    PostOp::MulChannel => {
                        let Some(c) = next.next() else { continue };
                        self.row(row, |l, v| v * c[l]);
                    }
                    PostOp::AddChannel => {
                        let Some(c) = next.next() else { continue };
                        self.row(row, |l, v| v + c[l]);
                    }
                    PostOp::Activation(a) => match a {
                        // The cheap ones as loops of their own, so that they vectorise.
                        Activation::Relu => self.row(row, |_, v| Activation::Relu.apply(v)),
                        Activation::Clip(low, high) => {
                            self.row(row, |_, v| Activation::Clip(low, high).apply(v));
                        }
                        Activation::LeakyRelu(slope) => {
                            self.row(row, |_, v| Activation::LeakyRelu(slope).apply(v));
                        }
                        Activation::HardSwish => self.row(row, |_, v| Activation::HardSwish.apply(v)),
                        other => self.row(row, |_, v| other.apply(v)),
                    },
                }
            }
            if self.lanes < B {
                self.row(row, |l, v| if l < self.lanes { v } else { 0.0 });
            }
        }
    }
}

impl<const B: usize> Finish<'_, B> {
    #[inline(always)]
    fn row(&self, row: usize, f: impl Fn(usize, f32) -> f32) {
        for x in 0..self.width {
            self.pixel(row, x, &f);
        }
    }

    #[inline(always)]
    fn pixel(&self, row: usize, x: usize, f: impl Fn(usize, f32) -> f32) {
        // SAFETY: a pixel of this tile, which one task has; the reference ends with this call.
        let pixel = unsafe { self.out.pixel::<B>(self.grid.offset(row, x)) };
        *pixel = std::array::from_fn(|l| f(l, pixel[l]));
    }
}
