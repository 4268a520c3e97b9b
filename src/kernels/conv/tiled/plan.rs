//! What a tiled convolution has to do, worked out from its shapes: which input channels each block of output
//! lanes reads, and how its weights lie.

use std::ops::Range;

use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::phases::{Phase, cube, phases};
use crate::kernels::lanes::Lanes;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::memory::try_with_capacity;

/// The whole work of one convolution.
pub(crate) struct TiledPlan {
    /// Lanes of a block, of source and result: 8 or 16.
    pub block: usize,
    /// Channels of a group.
    pub cg: usize,
    pub og: usize,
    pub o: usize,
    pub kernel: [usize; 3],
    pub src: Lanes,
    pub dst: Lanes,
    /// Packed weights, in vectors of `block` lanes.
    pub weight_vectors: usize,
    /// One for each block of the result.
    pub blocks: Vec<OutBlock>,
    geometry: ConvGeometry,
}

/// How one block of output lanes is computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutBlock {
    /// Where its weights begin, in vectors of `block` lanes.
    pub weights: usize,
    pub form: BlockForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BlockForm {
    /// Lanes of one group, or of few: those of a group read the same input channels, each broadcast to all of them.
    /// Weights, group after group, `[source block][tap][source lane][lane]`.
    Shared,
    /// Depthwise: lane l reads lane l of the same source block. Weights `[tap][lane]`.
    Own,
    /// Lanes of many groups: lane l reads channel number j of its own group, for every j. The channels are gathered
    /// first. Weights `[j][tap][lane]`.
    Gathered,
}

/// The lanes of one group in a shared block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub lanes: Range<usize>,
    pub channels: Range<usize>,
    /// Where its weights begin, in vectors.
    pub weights: usize,
}

impl TiledPlan {
    /// The plan for activations in this layout; `None` unless channels alone are blocked, by 8 or 16.
    pub fn new(g: &ConvGeometry, layout: &Layout) -> Result<Option<TiledPlan>> {
        let block = layout.block_of(1);
        if block != 8 && block != 16 {
            return Ok(None);
        }
        let lanes = |dims: &Dims| Lanes::of_layout(g.op, dims, layout).ok();
        let Some((src, dst)) = lanes(&g.src_dims()).zip(lanes(&g.dst_dims())) else { return Ok(None) };
        let (cg, og) = (g.c / g.groups, g.o / g.groups);
        let kernel = cube(&g.kernel, 1);
        let taps: usize = kernel.iter().product();
        let depthwise = g.groups > 1 && cg == 1 && og == 1;
        let mut plan = TiledPlan {
            block,
            cg,
            og,
            o: g.o,
            kernel,
            src,
            dst,
            weight_vectors: 0,
            blocks: try_with_capacity(g.op, dst.blocks)?,
            geometry: *g,
        };
        for i in 0..dst.blocks {
            let groups = plan.groups_of(i).len();
            // Every group of a shared block costs a pass of its own; gathering costs a few moves a channel, which a
            // kernel of one tap does not win back.
            let form = match groups {
                _ if depthwise => BlockForm::Own,
                1 | 2 => BlockForm::Shared,
                3 | 4 if taps == 1 => BlockForm::Shared,
                _ => BlockForm::Gathered,
            };
            plan.blocks.push(OutBlock { weights: plan.weight_vectors, form });
            plan.weight_vectors = match form {
                BlockForm::Own => plan.weight_vectors + taps,
                BlockForm::Gathered => plan.weight_vectors + cg * taps,
                BlockForm::Shared => plan
                    .parts(i)
                    .last()
                    .map_or(0, |p| p.weights + source_blocks(&p.channels, block).len() * taps * block),
            };
        }
        Ok(Some(plan))
    }

    pub fn op(&self) -> &'static str {
        self.geometry.op
    }

    /// The phases of the work.
    pub fn phases(&self) -> impl Iterator<Item = Phase> {
        phases(&self.geometry)
    }

    /// The parts of a shared block, one for each group.
    pub fn parts(&self, block: usize) -> impl Iterator<Item = Part> {
        let mut weights = self.blocks[block].weights;
        let first = block * self.block;
        self.groups_of(block).map(move |group| {
            let channels = group * self.cg..(group + 1) * self.cg;
            let lanes = (group * self.og).max(first) - first..((group + 1) * self.og - first).min(self.block);
            let part = Part { lanes, channels, weights };
            weights += source_blocks(&part.channels, self.block).len() * self.taps() * self.block;
            part
        })
    }

    /// The input channels of all groups of an output block.
    pub fn channels_of(&self, block: usize) -> Range<usize> {
        let groups = self.groups_of(block);
        groups.start * self.cg..groups.end * self.cg
    }

    /// The groups of an output block's lanes.
    pub fn groups_of(&self, block: usize) -> Range<usize> {
        block * self.block / self.og..((block + 1) * self.block).min(self.o).div_ceil(self.og)
    }

    /// Taps of the kernel.
    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Whether weights in this layout lie as the kernel wants them, so that nothing is packed.
    pub fn takes(&self, layout: &Layout) -> bool {
        let g = &self.geometry;
        let whole = self.cg.is_multiple_of(self.block) && self.og.is_multiple_of(self.block);
        let alike = g.groups == 1 || whole || self.blocks.iter().all(|b| b.form == BlockForm::Own);
        alike
            && Layout::weights_for(g.input.len(), g.groups, g.c, g.o, self.block).is_ok_and(|l| l == *layout)
    }

    /// What packed weights are called: the name of the layout that they happen to have, else `tiled`.
    pub fn weights_name(&self) -> String {
        let g = &self.geometry;
        match Layout::weights_for(g.input.len(), g.groups, g.c, g.o, self.block) {
            Ok(layout) if self.takes(&layout) => layout.to_string(),
            _ => "tiled".into(),
        }
    }

    /// Blocks of the result that are computed together: (first, how many). Neighbours that read the same channels
    /// share each broadcast, where the machine has the registers.
    pub fn units(&self, most: usize) -> Result<Vec<(usize, usize)>> {
        let mut units: Vec<(usize, usize)> = try_with_capacity(self.op(), self.blocks.len())?;
        for (i, b) in self.blocks.iter().enumerate() {
            match units.last_mut() {
                Some((first, count))
                    if *count < most
                        && b.form == BlockForm::Shared
                        && self.groups_of(i).len() == 1
                        && self.groups_of(*first) == self.groups_of(i) =>
                {
                    *count += 1;
                }
                _ => units.push((i, 1)),
            }
        }
        Ok(units)
    }
}

/// The source blocks that hold these channels.
pub(crate) fn source_blocks(channels: &Range<usize>, block: usize) -> Range<usize> {
    channels.start / block..channels.end.div_ceil(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::dims::Dims;

    fn plan(c: usize, o: usize, groups: usize) -> TiledPlan {
        let one = Dims::from_slice(&[1]);
        let g = ConvGeometry {
            op: "conv1d",
            transposed: false,
            n: 1,
            c,
            o,
            groups,
            input: one,
            kernel: one,
            output: one,
            stride: one,
            dilation: one,
            pad_begin: Dims::from_slice(&[0]),
            pad_end: Dims::from_slice(&[0]),
            output_padding: Dims::from_slice(&[0]),
            zero_point: 0,
        };
        TiledPlan::new(&g, &Layout::blocked_activation(3, 16).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn blocks_know_their_groups() {
        let forms = |p: &TiledPlan| p.blocks.iter().map(|b| b.form).collect::<Vec<_>>();
        assert_eq!(forms(&plan(3, 17, 1)), [BlockForm::Shared, BlockForm::Shared]);
        assert_eq!(forms(&plan(17, 17, 17)), [BlockForm::Own, BlockForm::Own]);
        assert_eq!(forms(&plan(40, 40, 20)), [BlockForm::Gathered, BlockForm::Gathered, BlockForm::Shared]);
        let p = plan(48, 48, 2);
        assert_eq!(forms(&p), [BlockForm::Shared; 3]);
        // Channels 0 to 23 lie in two source blocks, and so do 24 to 47; the middle block reads both.
        assert_eq!(p.blocks.iter().map(|b| b.weights).collect::<Vec<_>>(), [0, 32, 96]);
        assert_eq!(p.weight_vectors, 128);
        let parts = [
            Part { lanes: 0..8, channels: 0..24, weights: 32 },
            Part { lanes: 8..16, channels: 24..48, weights: 64 },
        ];
        assert_eq!(p.parts(1).collect::<Vec<_>>(), parts);
        assert_eq!(plan(32, 80, 1).units(2).unwrap(), [(0, 2), (2, 2), (4, 1)]);
        assert_eq!(p.units(2).unwrap(), [(0, 1), (1, 1), (2, 1)]);
    }
}
