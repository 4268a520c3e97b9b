//! `Layout`: the order of a blocked tensor's elements in memory.
//!
//! # The definition
//! Sizes are always given in logical order: N, C, (D,) (H,) W for activations; O, I, ... for weights, with G first if the
//! weights are grouped. A layout splits some dimensions into *inner blocks* and defines the order in memory. First come the
//! *outer* dimensions in an order of their own (outermost first), which count whole blocks. Then come the inner blocks
//! (outermost first), which are dense. `nChw16c` has the outer order n, c, h, w and one inner block of 16 channels;
//! `OIhw4i16o4i` has three inner blocks, two of them along I.
//!
//! A dimension whose size is not a multiple of its blocks is padded up; the padding is always zero. This is oneDNN's blocking
//! descriptor (`dnnl_blocking_desc_t` in its developer guide) with dense strides.

use super::dims::{Dims, MAX_RANK, ToDims};
use crate::dtype::DType;
use crate::error::{Result, Text, fail};

/// The most inner blocks a layout may have: oneDNN's `DNNL_MAX_NDIMS`.
pub const MAX_INNER_BLOCKS: usize = 12;

/// The letters of a layout's name. It affects naming only, not equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// oneDNN's letter tags: a, b, c, ... for the dimensions in logical order (`aBcd16b`).
    Tag,
    /// n, c, d, h, w (`nChw16c`): rank 2 to 5.
    Activations,
    /// o, i, d, h, w (`OIhw16i16o`): rank 2 to 5.
    Weights,
    /// g, o, i, d, h, w (`gOIhw16i16o`, `Goihw16g`): rank 4 to 6.
    GroupedWeights,
}

/// A physical layout: the order of the outer dimensions, and the inner blocks.
///
/// It parses and prints the names that oneDNN uses:
/// ```
/// use blocktensor::Layout;
/// let layout: Layout = "nChw16c".parse()?;
/// assert_eq!(layout, Layout::NCHW16C);
/// assert_eq!((layout.to_string(), layout.tag()), ("nChw16c".into(), "aBcd16b".into()));
/// assert_eq!(&*layout.padded_dims(&[1, 20, 7, 7])?, &[1, 32, 7, 7]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
/// Two layouts are equal if they place every element at the same offset: `nchw` equals `oihw` and `abcd`. The layout's
/// [`Role`] chooses which of these names is printed; it does not affect equality or hashing.
#[derive(Clone, Copy)]
pub struct Layout {
    rank: u8,
    blocks: u8,
    role: Role,
    order: [u8; MAX_RANK],
    block_dims: [u8; MAX_INNER_BLOCKS],
    block_sizes: [u16; MAX_INNER_BLOCKS],
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        // Unused entries are zero, so whole arrays compare.
        (self.rank, self.blocks) == (other.rank, other.blocks)
            && self.order == other.order
            && self.block_dims == other.block_dims
            && self.block_sizes == other.block_sizes
    }
}

impl Eq for Layout {}

impl std::hash::Hash for Layout {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.rank, self.blocks, self.order, self.block_dims, self.block_sizes).hash(state);
    }
}

/// The sizes of one tensor in a layout, checked against overflow.
pub(crate) struct Extent {
    /// Sizes after padding.
    pub padded: Dims,
    /// Strides between neighbouring blocks along each dimension, in **elements**; sizes of 0 count as 1.
    pub outer_strides: Dims,
    /// Number of elements, padding included.
    pub elements: usize,
}

impl Layout {
    /// Channels-first activations, rank 4.
    pub const NCHW: Layout = Layout::build(Role::Activations, &[0, 1, 2, 3], &[]);
    /// Channels-last activations, rank 4.
    pub const NHWC: Layout = Layout::build(Role::Activations, &[0, 2, 3, 1], &[]);
    /// Activations in blocks of 16 channels, rank 4: one AVX-512 vector of f32.
    pub const NCHW16C: Layout = Layout::build(Role::Activations, &[0, 1, 2, 3], &[(1, 16)]);
    /// Activations in blocks of 8 channels, rank 4: one AVX2 vector of f32.
    pub const NCHW8C: Layout = Layout::build(Role::Activations, &[0, 1, 2, 3], &[(1, 8)]);
    /// MegEngine's CHWN4: `[C/4, H, W, N, 4]`.
    pub const CHWN4: Layout = Layout::build(Role::Activations, &[1, 2, 3, 0], &[(1, 4)]);
    /// Row-major weights, rank 4.
    pub const OIHW: Layout = Layout::build(Role::Weights, &[0, 1, 2, 3], &[]);
    /// Weights in blocks of 16 input by 16 output channels, rank 4: the partner of `nChw16c`.
    pub const OIHW16I16O: Layout = Layout::build(Role::Weights, &[0, 1, 2, 3], &[(1, 16), (0, 16)]);
    /// Weights in blocks of 8 input by 8 output channels, rank 4: the partner of `nChw8c`.
    pub const OIHW8I8O: Layout = Layout::build(Role::Weights, &[0, 1, 2, 3], &[(1, 8), (0, 8)]);

    /// A layout from literals that are known to be valid.
    pub(super) const fn build(role: Role, order: &[u8], blocks: &[(u8, u16)]) -> Layout {
        let mut layout = Layout {
            rank: order.len() as u8,
            blocks: blocks.len() as u8,
            role,
            order: [0; MAX_RANK],
            block_dims: [0; MAX_INNER_BLOCKS],
            block_sizes: [0; MAX_INNER_BLOCKS],
        };
        let mut i = 0;
        while i < order.len() {
            layout.order[i] = order[i];
            i += 1;
        }
        let mut i = 0;
        while i < blocks.len() {
            layout.block_dims[i] = blocks[i].0;
            layout.block_sizes[i] = blocks[i].1;
            i += 1;
        }
        layout
    }

    /// A layout from its parts: `order` lists the dimensions, outermost first; `blocks` lists the inner blocks as (dimension,
    /// size), outermost first. It prints as a letter tag; [`with_role`](Layout::with_role) changes that.
    ///
    /// # Errors
    /// `RankMismatch` for a rank outside 1 to [`MAX_RANK`]; `InvalidArgument` if `order` is not a permutation, if a block's
    /// dimension is out of range or its size outside 2 to 65535, or if there are more than [`MAX_INNER_BLOCKS`].
    pub fn new(order: &[usize], blocks: &[(usize, usize)]) -> Result<Layout> {
        let (op, rank) = ("layout", order.len());
        if !(1..=MAX_RANK).contains(&rank) {
            fail!(
                RankMismatch,
                op,
                "order",
                format!("{rank} dimensions"),
                format!("a layout has 1 to {MAX_RANK}"),
                "name every dimension of the tensor once"
            );
        }
        if (0..rank).any(|d| !order.contains(&d)) {
            fail!(
                InvalidArgument,
                op,
                "order",
                format!("{order:?}"),
                format!("it must list the dimensions 0 to {} once each", rank - 1),
                "list them outermost first"
            );
        }
        if blocks.len() > MAX_INNER_BLOCKS {
            fail!(
                InvalidArgument,
                op,
                "blocks",
                format!("{} inner blocks", blocks.len()),
                format!("a layout has at most {MAX_INNER_BLOCKS}"),
                "merge neighbouring blocks along the same dimension"
            );
        }
        let mut layout = Layout::build(Role::Tag, &[], &[]);
        layout.rank = rank as u8;
        layout.blocks = blocks.len() as u8;
        for (to, &from) in layout.order.iter_mut().zip(order) {
            *to = from as u8;
        }
        for (i, &(dim, size)) in blocks.iter().enumerate() {
            match u16::try_from(size) {
                Ok(size) if size >= 2 && dim < rank => {
                    layout.block_dims[i] = dim as u8;
                    layout.block_sizes[i] = size;
                }
                _ => fail!(
                    InvalidArgument,
                    op,
                    "blocks",
                    format!("a block of {size} along dimension {dim}"),
                    format!("a block of a rank-{rank} layout has 2 to {} elements", u16::MAX),
                    "omit blocks of 1, and count dimensions from 0"
                ),
            }
        }
        Ok(layout)
    }

    /// The same layout, named with the letters of `role` if that role has letters for its rank.
    pub const fn with_role(mut self, role: Role) -> Layout {
        self.role = role;
        self
    }

    /// The letters that the name is written with.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Number of logical dimensions.
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The dimensions in memory order, outermost first.
    pub fn outer_order(&self) -> Dims {
        self.order[..self.rank()].iter().map(|&d| d as usize).to_dims()
    }

    /// The inner blocks as (dimension, size), outermost first. They are dense: the last one has stride 1.
    pub fn inner_blocks(
        &self,
    ) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + Clone {
        let n = self.blocks as usize;
        let (dims, sizes) = (self.block_dims, self.block_sizes);
        (0..n).map(move |i| (dims[i] as usize, sizes[i] as usize))
    }

    /// Whether there are no inner blocks, so that strides can express the layout.
    pub const fn is_plain(&self) -> bool {
        self.blocks == 0
    }

    /// Refuses a layout without inner blocks, which belongs to a strided tensor.
    pub(crate) fn check_blocks(&self, op: &'static str, remedy: impl Into<Text>) -> Result<()> {
        if self.is_plain() {
            let rule = "a blocked tensor's layout must have inner blocks";
            fail!(LayoutMismatch, op, "layout", self.to_string(), rule, remedy);
        }
        Ok(())
    }

    /// Elements of dimension `dim` in one block: the product of its inner blocks, 1 if it has none. Saturates: such a layout
    /// gives `Overflow` for every tensor.
    pub fn block_of(&self, dim: usize) -> usize {
        self.inner_blocks().filter(|b| b.0 == dim).fold(1, |p, b| p.saturating_mul(b.1))
    }

    /// Number of elements in one block, over all inner blocks.
    pub(crate) fn inner_elements(&self) -> usize {
        self.inner_blocks().fold(1, |p, b| p.saturating_mul(b.1))
    }

    /// The sizes after padding every dimension up to whole blocks.
    ///
    /// # Errors
    /// `RankMismatch` if the layout is for another rank, `Overflow`.
    pub fn padded_dims(&self, dims: &[usize]) -> Result<Dims> {
        Ok(self.extent("layout", dims)?.padded)
    }

    /// Number of **elements** of a tensor of these sizes, padding included.
    ///
    /// # Errors
    /// As [`padded_dims`](Layout::padded_dims).
    pub fn size_elements(&self, dims: &[usize]) -> Result<usize> {
        Ok(self.extent("layout", dims)?.elements)
    }

    /// Size of a tensor of these sizes in **bytes**, padding included.
    ///
    /// # Errors
    /// As [`padded_dims`](Layout::padded_dims).
    pub fn size_bytes(&self, dims: &[usize], dtype: DType) -> Result<usize> {
        let elements = self.size_elements(dims)?;
        self.bytes_of("layout", dims, elements, dtype)
    }

    /// Strides between neighbouring *blocks* along each dimension (in logical order), in **elements**: the strides of
    /// oneDNN's blocking descriptor. Sizes of 0 count as 1.
    ///
    /// # Errors
    /// As [`padded_dims`](Layout::padded_dims).
    pub fn outer_strides(&self, dims: &[usize]) -> Result<Dims> {
        Ok(self.extent("layout", dims)?.outer_strides)
    }

    /// The offset of the element at a logical index, in **elements**. This defines the layout. `None` for an index outside
    /// `dims`, or if [`padded_dims`](Layout::padded_dims) is an error.
    pub fn offset(&self, dims: &[usize], index: &[usize]) -> Option<usize> {
        let strides = self.outer_strides(dims).ok()?;
        if index.len() != dims.len() || index.iter().zip(dims).any(|(i, d)| i >= d) {
            return None;
        }
        let mut rest: Dims = index.iter().copied().to_dims();
        let (mut offset, mut step) = (0, 1);
        for (dim, size) in self.inner_blocks().rev() {
            offset += rest[dim] % size * step;
            rest[dim] /= size;
            step *= size;
        }
        Some(offset + rest.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>())
    }

    /// The block size of a layout that blocks only the channels, with the other dimensions in natural order: `nCw16c`,
    /// `nChw16c`, `nCdhw16c`.
    pub(crate) fn channel_block(&self) -> Option<usize> {
        let natural = self.order.iter().take(self.rank()).enumerate().all(|(i, &d)| i == d as usize);
        let only = self.blocks == 1 && self.block_dims[0] == 1 && (3..=5).contains(&self.rank);
        (natural && only).then_some(self.block_sizes[0] as usize)
    }

    /// Number of elements of a tensor of these sizes, padding included, on behalf of `op`.
    pub(crate) fn elements(&self, op: &'static str, dims: &[usize]) -> Result<usize> {
        if let Some(block) = self.channel_block()
            && let &[n, c, ref spatial @ ..] = dims
            && dims.len() == self.rank()
            && !dims.contains(&0)
            && let Some(channels) = c.checked_next_multiple_of(block)
            && let Some(all) = spatial.iter().chain(&[channels]).try_fold(n, |p, &d| p.checked_mul(d))
            && all <= isize::MAX as usize
        {
            return Ok(all);
        }
        Ok(self.extent(op, dims)?.elements)
    }

    /// Padded sizes, outer strides and number of elements, on behalf of `op`.
    pub(crate) fn extent(&self, op: &'static str, dims: &[usize]) -> Result<Extent> {
        if dims.len() != self.rank() {
            fail!(
                RankMismatch,
                op,
                "layout",
                format!("layout {self} of rank {} for sizes {dims:?} of rank {}", self.rank(), dims.len()),
                "the ranks must agree",
                "name a layout of the tensor's rank"
            );
        }
        match self.try_extent(dims) {
            Some(extent) => Ok(extent),
            None => fail!(
                Overflow,
                op,
                "dims",
                format!("{dims:?} in layout {self}"),
                "the number of elements, padded to whole blocks, overflows",
                "use smaller sizes"
            ),
        }
    }

    fn try_extent(&self, dims: &[usize]) -> Option<Extent> {
        const LIMIT: usize = isize::MAX as usize;
        let mut padded = Dims::EMPTY;
        for (dim, &size) in dims.iter().enumerate() {
            padded.push(size.checked_next_multiple_of(self.block_of(dim))?);
        }
        let mut outer_strides = Dims::filled(1, dims.len());
        let mut step = self.inner_blocks().try_fold(1usize, |p, b| p.checked_mul(b.1))?;
        for dim in self.outer_order().iter().rev().copied() {
            outer_strides[dim] = step;
            let count = padded[dim] / self.block_of(dim);
            step = step.checked_mul(count.max(1)).filter(|&s| s <= LIMIT)?;
        }
        let elements = if dims.contains(&0) { 0 } else { step };
        Some(Extent { padded, outer_strides, elements })
    }

    /// **Bytes** of `elements` elements, on behalf of `op`.
    pub(crate) fn bytes_of(
        &self,
        op: &'static str,
        dims: &[usize],
        elements: usize,
        dtype: DType,
    ) -> Result<usize> {
        match dtype.bytes_of(elements) {
            Some(bytes) => Ok(bytes),
            None => fail!(
                Overflow,
                op,
                "dims",
                format!("{dims:?} {dtype} in layout {self}"),
                "the number of bytes, padded to whole blocks, overflows",
                "use smaller sizes"
            ),
        }
    }
}
