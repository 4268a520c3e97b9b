//! Where a gradient of weights finds the channels of an activation: [`Elements`] wherever they are, [`Blocks`] where those of a block are
//! neighbours.

use std::ops::Deref;

use super::for_each_chunk;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::conv::phases::cube;
use crate::kernels::lanes::Lanes;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::reorder;
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;

/// The channels of images, in groups.
#[derive(Clone, Copy)]
pub(super) struct Channels {
    pub images: usize,
    pub groups: usize,
    pub of_group: usize,
}

impl Channels {
    fn blocks<const B: usize>(self) -> usize {
        self.of_group.div_ceil(B)
    }
}

/// Where the elements of an activation are. Offsets are in **elements**.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub data: &'a [f32],
    /// From one image to the next.
    pub image: usize,
    /// The strides of D, H and W.
    pub spatial: [usize; 3],
    /// Channels that are neighbours, from one block of them to the next, and from one of them to the next.
    lanes: usize,
    block: usize,
    channel: usize,
}

impl<'a> Elements<'a> {
    /// # Errors
    /// `LayoutMismatch` for a blocked tensor that is no activation.
    pub fn of(op: &'static str, t: TensorRef<'a>) -> Result<Elements<'a>> {
        match t {
            TensorRef::Blocked(t) => {
                let v = Lanes::of_blocked(op, t)?;
                let spatial = [v.stride_d, v.stride_h, v.lanes];
                let (image, lanes, block) = (v.stride_n, v.lanes, v.stride_block);
                Ok(Elements { data: t.data(), image, spatial, lanes, block, channel: 1 })
            }
            TensorRef::Strided(t) => {
                let s = t.strides();
                let spatial = cube(&Dims::from_slice(&s[2..]), 0);
                let (lanes, block) = (usize::MAX, 0);
                Ok(Elements { data: t.data(), image: s[0], spatial, lanes, block, channel: s[1] })
            }
            TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
        }
    }

    /// Whether each `B` channels are neighbours.
    pub fn has_neighbours<const B: usize>(&self) -> bool {
        self.channel == 1 && (self.lanes == usize::MAX || self.lanes.is_multiple_of(B))
    }

    /// The dims and strides of strided images whose channels, in blocks of `B`, are those of each group. `None` if a reorder has no name
    /// for them.
    fn as_images<const B: usize>(
        &self,
        channels: Channels,
        sizes: [usize; 3],
    ) -> Option<([usize; 5], [usize; 5])> {
        let Channels { images, groups, of_group } = channels;
        let ([d, h, w], [of_d, of_h, of_w]) = (sizes, self.spatial);
        let group = of_group * self.channel;
        let (n, c, image) = if self.lanes < usize::MAX {
            return None;
        } else if groups == 1 || of_group.is_multiple_of(B) {
            (images, groups * of_group, self.image)
        } else if images == 1 || self.image == groups * group {
            // Each group is an image.
            (images * groups, of_group, group)
        } else {
            return None;
        };
        Some(([n, c, d, h, w], [image, self.channel, of_d, of_h, of_w]))
    }

    /// Where a channel begins in an image.
    pub fn channel(&self, c: usize) -> usize {
        c / self.lanes * self.block + c % self.lanes * self.channel
    }
}

/// An activation's own elements, or a copy.
pub(super) enum Pixels<'a> {
    Borrowed(&'a [f32]),
    Packed(BlockedTensor),
}

impl Deref for Pixels<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Pixels::Borrowed(elements) => elements,
            Pixels::Packed(tensor) => tensor.data(),
        }
    }
}

/// An activation in which `B` channels of a pixel are neighbours. Offsets are in **elements**.
pub(super) struct Blocks<'a> {
    pub data: Pixels<'a>,
    pub image: usize,
    pub group: usize,
    pub block: usize,
    /// The strides of D, H and W.
    pub spatial: [usize; 3],
}

impl<'a> Blocks<'a> {
    /// Those of an activation with these sizes of D, H and W.
    ///
    /// # Errors
    /// `LayoutMismatch` for a blocked tensor that is no activation; `OutOfMemory`.
    pub fn of<const B: usize>(
        op: &'static str,
        t: TensorRef<'a>,
        channels: Channels,
        sizes: [usize; 3],
    ) -> Result<Blocks<'a>> {
        let is_whole = channels.of_group.is_multiple_of(B);
        let from = Elements::of(op, t)?;
        let Elements { data, image, spatial, lanes, block, channel } = from;
        if lanes == B && (is_whole || channels.groups == 1) {
            let group = channels.blocks::<B>() * block;
            return Ok(Blocks { data: Pixels::Borrowed(data), image, group, block, spatial });
        }
        if lanes == usize::MAX && channel == 1 && is_whole {
            return Ok(Blocks {
                data: Pixels::Borrowed(data),
                image,
                group: channels.of_group,
                block: B,
                spatial,
            });
        }
        Blocks::packed::<B>(op, &from, channels, sizes)
    }

    /// Whether the pixels of an image of these sizes follow each other as those of a row do.
    pub fn is_one_row(&self, [_, h, w]: [usize; 3]) -> bool {
        let [of_d, of_h, of_w] = self.spatial;
        of_h == w * of_w && of_d == h * of_h
    }

    /// A copy in blocks of `B`, with zeros beyond the channels.
    fn packed<const B: usize>(
        op: &'static str,
        from: &Elements<'_>,
        channels: Channels,
        sizes: [usize; 3],
    ) -> Result<Blocks<'static>> {
        let Elements { data, image, spatial, .. } = *from;
        let (blocks, plane) = (channels.blocks::<B>(), sizes.iter().product::<usize>() * B);
        let [d, h, w] = sizes;
        let layout = Layout::blocked_activation(5, B)?;
        let dims = [channels.images * channels.groups, channels.of_group, d, h, w];
        let mut all = BlockedTensor::for_result(op, &dims, &layout, DType::F32)?;
        let bytes = all.storage_bytes_mut();
        if let Some((dims, strides)) = from.as_images::<B>(channels, sizes) {
            let from = bytemuck::cast_slice(data);
            reorder::strided_to_blocked(size_of::<f32>(), from, &dims, &strides, &layout, bytes);
        } else {
            for_each_chunk(bytemuck::cast_slice_mut(bytes), plane, |i, to| {
                to.fill(0.0);
                let (n, group, block) =
                    (i / blocks / channels.groups, i / blocks % channels.groups, i % blocks);
                for lane in 0..B.min(channels.of_group - block * B) {
                    let from = n * image + from.channel(group * channels.of_group + block * B + lane);
                    let mut to = to[lane..].iter_mut().step_by(B);
                    for d in 0..sizes[0] {
                        for h in 0..sizes[1] {
                            let row = from + d * spatial[0] + h * spatial[1];
                            for w in 0..sizes[2] {
                                *to.next().expect("a plane has all pixels") = data[row + w * spatial[2]];
                            }
                        }
                    }
                }
            });
        }
        Ok(Blocks {
            data: Pixels::Packed(all),
            image: channels.groups * blocks * plane,
            group: blocks * plane,
            block: plane,
            spatial: [h * w * B, w * B, B],
        })
    }
}
