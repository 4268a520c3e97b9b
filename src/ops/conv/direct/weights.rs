//! Plain weights into the order in which the kernel reads them.

use super::plan::{Form, Plan};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::ops::conv::ConvGeometry;
use crate::threads::{SyncPtr, parallel_for};

/// Plain weights: the strides of group, output channel of the group, input channel of the group, and the kernel's
/// axes, in elements.
pub(crate) struct Plain<'a> {
    data: &'a [f32],
    group: usize,
    o: usize,
    c: usize,
    kernel: [usize; 3],
}

impl<'a> Plain<'a> {
    /// Weights with their groups apart; the strides are those of `ConvGeometry::weight_dims`.
    pub(crate) fn new(g: &ConvGeometry, data: &'a [f32], strides: &[usize]) -> Plain<'a> {
        let spatial = g.kernel.len();
        let (channels, along) = strides.split_at(strides.len() - spatial);
        let mut kernel = [0; 3];
        kernel[3 - spatial..].copy_from_slice(along);
        let [group, o, c] = match *channels {
            [group, o, c] => [group, o, c],
            [o, c] => [0, o, c],
            _ => unreachable!("weights have two dimensions of channels, and one of groups or none"),
        };
        Plain { data, group, o, c, kernel }
    }
}

impl Plan {
    /// The weights as [`Form`] says, block by block; lanes that no output channel has are zero.
    pub(crate) fn pack(&self, w: &Plain<'_>) -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(self.weight_elements() * size_of::<f32>())?;
        let to = buffer.as_mut_slice::<f32>();
        let ends = self.blocks.iter().skip(1).map(|b| b.weights).chain([self.weight_elements() / self.block]);
        let ranges: Vec<_> = self.blocks.iter().zip(ends).map(|(b, end)| b.weights..end).collect();
        let out = SyncPtr::new(to);
        parallel_for(self.blocks.len(), |i| {
            let range = &ranges[i];
            // SAFETY: the ranges of the blocks follow each other inside the buffer; each task has its own.
            let to = unsafe {
                let start = out.get().add(range.start * self.block);
                std::slice::from_raw_parts_mut(start, range.len() * self.block)
            };
            self.pack_block(i, w, to);
        });
        Ok(buffer)
    }

    fn pack_block(&self, i: usize, w: &Plain<'_>, to: &mut [f32]) {
        let (block, taps) = (self.block, self.taps());
        let [_, kh, kw] = self.kernel;
        for o in i * block..((i + 1) * block).min(self.o) {
            let (group, lane) = (o / self.og, o % block);
            for c in 0..self.cg {
                let from = group * w.group + o % self.og * w.o + c * w.c;
                // The first vector of this channel, and how many vectors lie between two taps.
                let (first, between) = match &self.blocks[i].form {
                    Form::Shared { channels } => {
                        let source = channels.start + c;
                        let plane = source / block - channels.start / block;
                        (plane * taps * block + source % block, block)
                    }
                    Form::Own | Form::Gathered => (c * taps, 1),
                };
                for tap in 0..taps {
                    let [d, h, x] = [tap / (kh * kw), tap / kw % kh, tap % kw];
                    let from = from + d * w.kernel[0] + h * w.kernel[1] + x * w.kernel[2];
                    to[(first + tap * between) * block + lane] = w.data[from];
                }
            }
        }
    }
}
