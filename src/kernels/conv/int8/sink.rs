//! What becomes of the sums of a tile while they are in registers.

use std::ops::Range;

use super::plan::BLOCK;
use crate::dtype::DType;
use crate::kernels::bytes::ByteRange;
use crate::kernels::conv::epilogue::Finish;
use crate::post_ops::PostOp;
use crate::simd::bytes::ByteVector;

/// Pixels whose bytes are made together.
const FOUR: usize = 4;

/// A post-op over 16 channels.
pub(super) enum Step {
    Mul([f32; BLOCK]),
    Add([f32; BLOCK]),
    Round(ByteRange),
    /// Adds a quantised residual.
    Residual {
        is_signed: bool,
        scale: f32,
        zero_point: i32,
    },
}

/// Post-ops, one after the other.
pub(super) struct Steps {
    list: Vec<Step>,
    /// Whether every number is below 2^31 in magnitude, whatever the sums are.
    are_small: bool,
}

impl Steps {
    fn new(list: Vec<Step>) -> Steps {
        let largest = |numbers: &[f32]| {
            let magnitude = |x: f32| if x.is_nan() { f64::INFINITY } else { x.abs().into() };
            numbers.iter().fold(0.0, |most, &x| f64::max(most, magnitude(x)))
        };
        let after = |most: f64, step: &Step| match step {
            Step::Mul(by) => most * largest(by),
            Step::Add(more) => most + largest(more),
            Step::Round(_) => 255.0,
            Step::Residual { scale, .. } => most + 255.0 * largest(&[*scale]),
        };
        // No number on the way may be infinite either.
        let most = list.iter().try_fold(2f64.powi(31), |most, step| {
            let most = after(most, step);
            (most < 2f64.powi(60)).then_some(most)
        });
        Steps { are_small: most.is_some_and(|most| most < 2f64.powi(30)), list }
    }
}

/// The post-ops of a block, but for the last `quantize`; nothing if one of them is for rows in memory only.
pub(super) fn steps(finish: &Finish<'_>, channels: Range<usize>) -> Option<Steps> {
    let mut numbers = finish.channel.iter();
    let mut block = || {
        let mut block = [0.0; BLOCK];
        block[..channels.len()].copy_from_slice(&numbers.next()?[channels.clone()]);
        Some(block)
    };
    let ops = finish.post_ops.iter().filter(|op| !matches!(op, PostOp::Quantize { .. }));
    ops.map(|op| match *op {
        PostOp::MulChannel => block().map(Step::Mul),
        PostOp::AddChannel => block().map(Step::Add),
        PostOp::Round { dtype, zero_point } => Some(Step::Round(ByteRange::new(dtype, zero_point))),
        PostOp::QuantizedResidual { dtype, scale, zero_point } => {
            Some(Step::Residual { is_signed: dtype == DType::S8, scale, zero_point })
        }
        _ => None,
    })
    .collect::<Option<_>>()
    .map(Steps::new)
}

/// Where the pixels of a row go, in one block.
pub(super) enum Sink<'a> {
    /// The sums as they are.
    Sums(&'a mut [[i32; BLOCK]]),
    /// What the post-ops make of them.
    Finished(Finished<'a>, To<'a>),
}

/// The post-ops of a block, and the row of the residual that they add.
#[derive(Clone, Copy)]
pub(super) struct Finished<'a> {
    pub steps: &'a Steps,
    pub residual: &'a [[u8; BLOCK]],
}

/// Numbers, or what `quantize` makes of them.
pub(super) enum To<'a> {
    Numbers(&'a mut [[f32; BLOCK]]),
    Bytes(ByteRange, &'a mut [[u8; BLOCK]]),
}

impl Sink<'_> {
    /// How many pixels the row has.
    pub fn len(&self) -> usize {
        match self {
            Sink::Sums(to) => to.len(),
            Sink::Finished(_, To::Numbers(to)) => to.len(),
            Sink::Finished(_, To::Bytes(_, to)) => to.len(),
        }
    }

    /// Takes the sums of `P` pixels from `x` on: those of block `o` of each.
    #[inline(always)]
    pub fn take<V: ByteVector, const P: usize, const O: usize>(
        &mut self,
        proof: V::Proof,
        x: usize,
        sums: &[[V; O]; P],
        o: usize,
    ) {
        let (finished, to) = match self {
            Sink::Finished(finished, to) => (finished, to),
            Sink::Sums(to) => {
                let to = &mut to[x..x + P];
                for_each_below!(p < P => {
                    sums[p][o].store(&mut to[p]);
                });
                return;
            }
        };
        let mut numbers = finished.numbers(proof, x, sums, o);
        match to {
            To::Numbers(to) => {
                let to: &mut [[i32; BLOCK]] = bytemuck::cast_slice_mut(&mut to[x..x + P]);
                for_each_below!(p < P => {
                    numbers[p].store(&mut to[p]);
                });
            }
            To::Bytes(range, to) => {
                if !finished.steps.are_small {
                    for_each_below!(p < P => {
                        numbers[p] = range.within(numbers[p]);
                    });
                }
                let to = &mut to[x..x + P];
                for_each_below!(p < P => {
                    if p.is_multiple_of(FOUR) {
                        let (to, _) = to[p..].split_at_mut(FOUR.min(P - p));
                        let last = P - 1;
                        let [a, b, c] = [(p + 1).min(last), (p + 2).min(last), (p + 3).min(last)];
                        let four = range.bytes([numbers[p], numbers[a], numbers[b], numbers[c]]);
                        to.copy_from_slice(&four.as_chunks().0[..to.len()]);
                    }
                });
            }
        }
    }
}

impl Finished<'_> {
    #[inline(always)]
    fn numbers<V: ByteVector, const P: usize, const O: usize>(
        self,
        proof: V::Proof,
        x: usize,
        sums: &[[V; O]; P],
        o: usize,
    ) -> [V; P] {
        let mut all = [sums[0][o]; P];
        for_each_below!(p < P => {
            all[p] = sums[p][o].to_f32();
        });
        for step in &self.steps.list {
            match step {
                Step::Mul(by) => {
                    let by = V::numbers(proof, by);
                    for_each_below!(p < P => {
                        all[p] = all[p].mul(by);
                    });
                }
                Step::Add(more) => {
                    let more = V::numbers(proof, more);
                    for_each_below!(p < P => {
                        all[p] = all[p].add(more);
                    });
                }
                Step::Round(range) => {
                    for_each_below!(p < P => {
                        all[p] = range.round_all(proof, all[p]);
                    });
                }
                Step::Residual { is_signed, scale, zero_point } => {
                    let scale = V::numbers(proof, &[*scale; BLOCK]);
                    let residual = &self.residual[x..x + P];
                    for_each_below!(p < P => {
                        let integer = V::widened(proof, &residual[p], *is_signed).add_integer(-*zero_point);
                        all[p] = all[p].add(integer.to_f32().mul(scale));
                    });
                }
            }
        }
        all
    }
}
