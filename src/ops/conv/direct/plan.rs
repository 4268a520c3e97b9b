//! What a direct convolution has to do, worked out from its shapes: which input channels each block of output
//! lanes reads, and which source position each tap meets.

use std::ops::Range;

use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::ops::conv::ConvGeometry;
use crate::ops::lanes::Lanes;

/// The whole work of one convolution.
pub(crate) struct Plan {
    /// Lanes of a block, of source and result: 8 or 16.
    pub block: usize,
    /// Channels of a group.
    pub cg: usize,
    pub og: usize,
    pub o: usize,
    pub kernel: [usize; 3],
    pub src: Lanes,
    pub dst: Lanes,
    /// One for each block of the result.
    pub blocks: Vec<OutBlock>,
    pub phases: Vec<Phase>,
}

/// How one block of output lanes is computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutBlock {
    /// Where its weights begin, in vectors of `block` lanes.
    pub weights: usize,
    pub form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// All lanes are of one group: they read the same input channels, each broadcast to all lanes. Weights
    /// `[source block][tap][source lane][lane]`.
    Shared { channels: Range<usize> },
    /// Depthwise: lane l reads lane l of the same source block. Weights `[tap][lane]`.
    Own,
    /// Lanes of several groups: lane l reads channel number j of its own group, for every j. The channels are
    /// gathered first. Weights `[j][tap][lane]`.
    Gathered,
}

/// Output positions that meet the same taps: all of them, but for a transposed convolution with a stride.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// D, H, W.
    pub axes: [Axis; 3],
}

/// One axis of a phase. Output number `i` lies at `out_start + i * out_step`; a tap meets it at source position
/// `i * step + at`, which may be outside the source: padding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub count: usize,
    pub step: usize,
    pub out_start: usize,
    pub out_step: usize,
    pub taps: Vec<AxisTap>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisTap {
    /// Number in the kernel.
    pub k: usize,
    pub at: isize,
}

impl Axis {
    /// The lowest source position of output 0, and how many positions its taps span.
    pub fn reach(&self) -> (isize, usize) {
        let low = self.taps.iter().map(|t| t.at).min().unwrap_or(0);
        let high = self.taps.iter().map(|t| t.at).max().unwrap_or(0);
        (low, (high - low) as usize + 1)
    }

    /// Whether every tap of every output meets the source, which is `size` long.
    pub fn is_inside(&self, size: usize) -> bool {
        let (low, span) = self.reach();
        low >= 0 && low as usize + self.count.saturating_sub(1) * self.step + span <= size
    }
}

/// The spatial sizes of any rank as D, H, W, with `fill` in front.
fn cube(sizes: &Dims, fill: usize) -> [usize; 3] {
    let mut cube = [fill; 3];
    cube[3 - sizes.len()..].copy_from_slice(sizes);
    cube
}

impl Plan {
    /// The plan for activations in this layout; `None` where there is no kernel for it: only blocks of 8 or 16
    /// channels, and nothing else blocked.
    pub fn new(g: &ConvGeometry, layout: &Layout) -> Option<Plan> {
        let block = layout.block_of(1);
        if block != 8 && block != 16 {
            return None;
        }
        let src = Lanes::of_layout(g.op, &g.src_dims(), layout).ok()?;
        let dst = Lanes::of_layout(g.op, &g.dst_dims(), layout).ok()?;
        let (cg, og) = (g.c / g.groups, g.o / g.groups);
        let kernel = cube(&g.kernel, 1);
        let taps: usize = kernel.iter().product();
        let mut weights = 0;
        let blocks = (0..dst.blocks).map(|i| {
            let first = i * block / og;
            let last = ((i + 1) * block).min(g.o).div_ceil(og) - 1;
            let form = if g.groups > 1 && cg == 1 && og == 1 {
                Form::Own
            } else if first == last {
                Form::Shared { channels: first * cg..(first + 1) * cg }
            } else {
                Form::Gathered
            };
            let begin = weights;
            weights += match &form {
                Form::Shared { channels } => source_blocks(channels, block).len() * taps * block,
                Form::Own => taps,
                Form::Gathered => cg * taps,
            };
            OutBlock { weights: begin, form }
        });
        let blocks = blocks.collect();
        let mut plan = Plan { block, cg, og, o: g.o, kernel, src, dst, blocks, phases: Vec::new() };
        plan.phases = plan.phases_of(g);
        Some(plan)
    }

    fn phases_of(&self, g: &ConvGeometry) -> Vec<Phase> {
        let (stride, dilation, pad) = (cube(&g.stride, 1), cube(&g.dilation, 1), cube(&g.pad_begin, 0));
        let axis = |a: usize| Axis {
            count: self.dst.spatial[a],
            step: stride[a],
            out_start: 0,
            out_step: 1,
            taps: (0..self.kernel[a])
                .map(|k| AxisTap { k, at: (k * dilation[a]) as isize - pad[a] as isize })
                .collect(),
        };
        vec![Phase { axes: std::array::from_fn(axis) }]
    }

    /// Taps of the kernel.
    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Packed weights, in **elements**.
    pub fn weight_elements(&self) -> usize {
        let last = self.blocks.last().map_or(0, |b| {
            let vectors = match &b.form {
                Form::Shared { channels } => source_blocks(channels, self.block).len() * self.block,
                Form::Own => 1,
                Form::Gathered => self.cg,
            };
            b.weights + vectors * self.taps()
        });
        last * self.block
    }

    /// Whether weights in this layout lie as the kernel wants them, so that nothing is packed.
    pub fn takes(&self, g: &ConvGeometry, layout: &Layout) -> bool {
        let whole = self.cg.is_multiple_of(self.block) && self.og.is_multiple_of(self.block);
        let alike = g.groups == 1 || whole || self.blocks.iter().all(|b| b.form == Form::Own);
        alike
            && Layout::weights_for(g.input.len(), g.groups, g.c, g.o, self.block).is_ok_and(|l| l == *layout)
    }

    /// What packed weights are called: the name of the layout that they happen to have, else `direct`.
    pub fn weights_name(&self, g: &ConvGeometry) -> String {
        match Layout::weights_for(g.input.len(), g.groups, g.c, g.o, self.block) {
            Ok(layout) if self.takes(g, &layout) => layout.to_string(),
            _ => "direct".into(),
        }
    }

    /// Blocks of the result that are computed together: (first, how many). Neighbours that read the same channels
    /// share each broadcast, where the machine has the registers.
    pub fn units(&self, most: usize) -> Vec<(usize, usize)> {
        let mut units: Vec<(usize, usize)> = Vec::new();
        for (i, b) in self.blocks.iter().enumerate() {
            match units.last_mut() {
                Some((first, count))
                    if *count < most
                        && matches!(b.form, Form::Shared { .. })
                        && self.blocks[*first].form == b.form =>
                {
                    *count += 1;
                }
                _ => units.push((i, 1)),
            }
        }
        units
    }
}

/// The source blocks that hold these channels.
pub(crate) fn source_blocks(channels: &Range<usize>, block: usize) -> Range<usize> {
    channels.start / block..channels.end.div_ceil(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(c: usize, o: usize, groups: usize) -> Plan {
        let one = Dims::from_slice(&[1]);
        let g = ConvGeometry {
            op: "conv1d",
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
        };
        Plan::new(&g, &Layout::blocked_activation(3, 16).unwrap()).unwrap()
    }

    #[test]
    fn blocks_know_their_groups() {
        let forms = |p: &Plan| p.blocks.iter().map(|b| b.form.clone()).collect::<Vec<_>>();
        assert_eq!(
            forms(&plan(3, 17, 1)),
            [Form::Shared { channels: 0..3 }, Form::Shared { channels: 0..3 }]
        );
        assert_eq!(forms(&plan(17, 17, 17)), [Form::Own, Form::Own]);
        assert_eq!(forms(&plan(32, 32, 8)), [Form::Gathered, Form::Gathered]);
        let p = plan(48, 48, 2);
        let want = [Form::Shared { channels: 0..24 }, Form::Gathered, Form::Shared { channels: 24..48 }];
        assert_eq!(forms(&p), want);
        // Two source blocks of 16 lanes, 24 gathered channels, two source blocks.
        assert_eq!(p.blocks.iter().map(|b| b.weights).collect::<Vec<_>>(), [0, 32, 56]);
        assert_eq!(p.weight_elements(), 88 * 16);
        assert_eq!(plan(32, 80, 1).units(2), [(0, 2), (2, 2), (4, 1)]);
        assert_eq!(p.units(2), [(0, 1), (1, 1), (2, 1)]);
    }
}
