//! What becomes of the sums of a tile while they are in registers.

use std::ops::Range;

use super::plan::{BLOCK, Int8Plan};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::bytes::ByteRange;
use crate::kernels::conv::epilogue::Finish;
use crate::memory;
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

/// The post-ops of a block, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    list: &'a [Step],
    /// Whether every number is below 2^31 in magnitude, whatever the sums are.
    are_small: bool,
}

/// The post-ops of all blocks, but for the last `quantize`.
pub(super) struct AllSteps {
    /// Those of the first block, then those of the next.
    list: Vec<Step>,
    /// How many a block has.
    each: usize,
    are_small: bool,
}

impl AllSteps {
    /// Nothing if the sums stay as they are, or a post-op is for rows in memory only.
    pub fn of(plan: &Int8Plan, finish: &Finish<'_>) -> Result<Option<AllSteps>> {
        if plan.types.dst == DType::S32 {
            return Ok(None);
        }
        let mut channel = finish.channel.iter();
        let ops = finish.post_ops.iter().filter(|post_op| !matches!(post_op, PostOp::Quantize { .. }));
        let mut numbers = |of: &PostOp| match of.takes_channel() {
            true => channel.next().map_or(&[][..], |numbers| numbers),
            false => &[],
        };
        let ops: Vec<(PostOp, &[f32])> = ops.map(|post_op| (*post_op, numbers(post_op))).collect();
        let mut list = memory::try_with_capacity(plan.g.op, plan.blocks() * ops.len())?;
        for block in 0..plan.blocks() {
            let channels = plan.channels_of(block);
            for (post_op, numbers) in &ops {
                let Some(step) = Step::of(*post_op, numbers, channels.clone()) else { return Ok(None) };
                list.push(step);
            }
        }
        Ok(Some(AllSteps { list, each: ops.len(), are_small: are_small(&ops) }))
    }

    pub fn of_block(&self, block: usize) -> Steps<'_> {
        Steps { list: &self.list[block * self.each..][..self.each], are_small: self.are_small }
    }
}

impl Step {
    /// Of these channels; nothing if the post-op is for rows in memory only. `numbers` are those of all channels.
    fn of(op: PostOp, numbers: &[f32], channels: Range<usize>) -> Option<Step> {
        let block = || {
            let mut block = [0.0; BLOCK];
            block[..channels.len()].copy_from_slice(&numbers[channels.clone()]);
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
}

/// Whether every number that these post-ops make is below 2^31 in magnitude, whatever the sums are.
fn are_small(ops: &[(PostOp, &[f32])]) -> bool {
    let magnitude = |x: f32| if x.is_nan() { f32::INFINITY } else { x.abs() };
    let largest =
        |numbers: &[f32]| f64::from(numbers.iter().fold(0.0, |most, &x| f32::max(most, magnitude(x))));
    let after = |most: f64, (op, numbers): &(PostOp, &[f32])| match op {
        PostOp::MulChannel => most * largest(numbers),
        PostOp::AddChannel => most + largest(numbers),
        PostOp::Round { .. } => 255.0,
        PostOp::QuantizedResidual { scale, .. } => most + 255.0 * largest(&[*scale]),
        _ => f64::INFINITY,
    };
    // No number on the way may be infinite either.
    let most = ops.iter().try_fold(2f64.powi(31), |most, op| {
        let most = after(most, op);
        (most < 2f64.powi(60)).then_some(most)
    });
    most.is_some_and(|most| most < 2f64.powi(30))
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
