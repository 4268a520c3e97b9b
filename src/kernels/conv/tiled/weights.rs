//! Plain weights into the order in which the kernel reads them.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::conv::tiled::plan::{BlockForm, TiledPlan};
use crate::kernels::conv::weights::{PlainWeights, WeightStrides};
use crate::threads::{SyncPtr, parallel_for};

/// Plain weights and where each of them is.
pub(crate) struct Plain<'a> {
    data: &'a [f32],
    strides: WeightStrides,
}

impl<'a> Plain<'a> {
    pub(crate) fn of(w: &PlainWeights<'a>) -> Plain<'a> {
        Plain { data: w.tensor.data::<f32>(), strides: WeightStrides::of(w) }
    }

    fn offset(&self, plan: &TiledPlan, o: usize, c: usize, tap: usize) -> usize {
        self.strides.offset((plan.og, plan.kernel), o, c, tap)
    }
}

impl TiledPlan {
    /// The weights as [`BlockForm`] says, block by block; lanes that no output channel has are zero.
    pub(crate) fn ordered(&self, w: &Plain<'_>) -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(self.weight_vectors * self.block * size_of::<f32>())?;
        let to = buffer.as_mut_slice::<f32>();
        let out = SyncPtr::new(to);
        parallel_for(self.blocks.len(), |i| {
            let end = self.blocks.get(i + 1).map_or(self.weight_vectors, |next| next.weights);
            let range = self.blocks[i].weights..end;
            // SAFETY: the ranges of the blocks follow each other inside the buffer; each task has its own.
            let to = unsafe {
                let start = out.get().add(range.start * self.block);
                std::slice::from_raw_parts_mut(start, range.len() * self.block)
            };
            self.for_each_weight(i, |at, o, c, tap| to[at] = w.data[w.offset(self, o, c, tap)]);
        });
        Ok(buffer)
    }

    /// Packed weights as plain ones again: every output channel's taps, channel by channel.
    pub(crate) fn unpack(&self, packed: &[f32], plain: &mut [f32]) {
        let taps = self.taps();
        for i in 0..self.blocks.len() {
            let packed = &packed[self.blocks[i].weights * self.block..];
            self.for_each_weight(i, |at, o, c, tap| plain[(o * self.cg + c) * taps + tap] = packed[at]);
        }
    }

    /// Calls `f(place among the block's weights, output channel, input channel of the group, tap)` for every weight
    /// of output block `i`.
    fn for_each_weight(&self, i: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
        let (block, taps) = (self.block, self.taps());
        let mut each = |lanes: Range<usize>, c: usize, first: usize, between: usize| {
            for tap in 0..taps {
                for lane in lanes.clone() {
                    f((first + tap * between) * block + lane, i * block + lane, c, tap);
                }
            }
        };
        if self.blocks[i].form == BlockForm::Shared {
            for part in self.parts(i) {
                let lanes = part.lanes.start..part.lanes.end.min(self.o - i * block);
                for c in 0..self.cg {
                    let source = part.channels.start + c;
                    let plane = source / block - part.channels.start / block;
                    let first = part.weights - self.blocks[i].weights + plane * taps * block + source % block;
                    each(lanes.clone(), c, first, block);
                }
            }
        } else {
            let lanes = 0..block.min(self.o - i * block);
            (0..self.cg).for_each(|c| each(lanes.clone(), c, c * taps, 1));
        }
    }
}
