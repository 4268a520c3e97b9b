//! What becomes of the sums of a tile while they are in registers.

use super::plan::{BLOCK, Int8Plan};
use crate::dtype::DType;
use crate::kernels::bytes::ByteRange;
use crate::kernels::conv::epilogue::Finish;
use crate::post_ops::{MAX_POST_OPS, PostOp};
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

/// The post-ops of a block, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    list: &'a [Step],
    /// Whether every number is below 2^31 in magnitude, whatever the sums are.
    are_small: bool,
}

/// The post-ops of a block, but for the last `quantize`. A task makes those of each of its blocks in the same place.
pub(super) struct StepList {
    list: [Step; MAX_POST_OPS],
    count: usize,
    are_small: bool,
}

impl StepList {
    pub const NONE: StepList =
        StepList { list: [const { Step::Add([0.0; BLOCK]) }; MAX_POST_OPS], count: 0, are_small: false };

    /// Makes the steps of a block; nothing if the sums stay as they are, or a post-op is for rows in memory only.
    pub fn set(&mut self, plan: &Int8Plan, finish: &Finish<'_>, block: usize) -> Option<Steps<'_>> {
        if plan.types.dst == DType::S32 {
            return None;
        }
        let channels = plan.channels_of(block);
        let mut numbers_of_all = finish.channel.iter();
        self.count = 0;
        // No number on the way may be infinite either.
        let (mut most, mut are_finite) = (2f64.powi(31), true);
        for post_op in finish.post_ops.iter().filter(|post_op| !matches!(post_op, PostOp::Quantize { .. })) {
            let numbers = match post_op.takes_channel() {
                true => numbers_of_all.next().map_or(&[][..], |numbers| &numbers[channels.clone()]),
                false => &[],
            };
            let step = Step::of(*post_op, numbers)?;
            most = step.most_after(most);
            are_finite &= most < 2f64.powi(60);
            self.list[self.count] = step;
            self.count += 1;
        }
        self.are_small = are_finite && most < 2f64.powi(30);
        Some(Steps { list: &self.list[..self.count], are_small: self.are_small })
    }
}

impl Step {
    /// With the numbers of a block's channels; nothing if the post-op is for rows in memory only.
    fn of(op: PostOp, numbers: &[f32]) -> Option<Step> {
        let block = || {
            let mut block = [0.0; BLOCK];
            block[..numbers.len()].copy_from_slice(numbers);
            block
        };
        match op {
            PostOp::MulChannel => Some(Step::Mul(block())),
            PostOp::AddChannel => Some(Step::Add(block())),
            PostOp::Round { dtype, zero_point } => Some(Step::Round(ByteRange::new(dtype, zero_point))),
            PostOp::QuantizedResidual { dtype, scale, zero_point } => {
                Some(Step::Residual { is_signed: dtype == DType::S8, scale, zero_point })
            }
            _ => None,
        }
    }

    /// The largest magnitude that it makes of numbers up to `most` in magnitude.
    fn most_after(&self, most: f64) -> f64 {
        match self {
            Step::Mul(numbers) => most * largest(numbers),
            Step::Add(numbers) => most + largest(numbers),
            Step::Round(_) => 255.0,
            Step::Residual { scale, .. } => most + 255.0 * largest(&[*scale]),
        }
    }
}

/// The largest magnitude; infinite if there is a NaN.
fn largest(numbers: &[f32]) -> f64 {
    // Magnitudes compare as their bits do, and a NaN is above them all.
    let bits = numbers.iter().fold(0, |most, x| x.abs().to_bits().max(most));
    f64::from(if f32::from_bits(bits).is_nan() { f32::INFINITY } else { f32::from_bits(bits) })
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
    pub steps: Steps<'a>,
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
        for step in self.steps.list {
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
                    let less = V::load(proof, &[-*zero_point; BLOCK]);
                    let residual = &self.residual[x..x + P];
                    for_each_below!(p < P => {
                        let integer = V::widened(proof, &residual[p], *is_signed).add_integers(less);
                        all[p] = all[p].add(integer.to_f32().mul(scale));
                    });
                }
            }
        }
        all
    }
}
