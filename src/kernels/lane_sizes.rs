// The sizes and strides of a dense activation. Unsafe code in `lanes.rs` relies on them, so that nothing outside of this file can make
// or change a view except by the constructors below.
//
// The documentation tests include this file, so it uses only the standard library.

use std::ops::Deref;

/// The numbers of a [`Lanes`], for reading. Strides are in **elements**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneSizes {
    /// Images.
    pub n: usize,
    /// Logical channels.
    pub c: usize,
    /// D, H, W; 1 for a dimension that the rank does not have.
    pub spatial: [usize; 3],
    /// Channels that are neighbours in memory: those of one pixel in one block.
    pub lanes: usize,
    /// Channel blocks: `ceil(c / lanes)`.
    pub blocks: usize,
    pub stride_n: usize,
    pub stride_block: usize,
    pub stride_d: usize,
    /// The stride of H. Neighbours along W are `lanes` elements apart.
    pub stride_h: usize,
}

/// How the channels and pixels of an activation lie in memory. Ranks 3, 4 and 5 (N, C, W; N, C, H, W; N, C, D, H, W); rank 2
/// is an image of one pixel. The view is dense: images, blocks, planes and rows follow each other without a gap.
///
/// Its numbers can be read:
/// ```
/// mod lane_sizes { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lane_sizes.rs")); }
/// let view = lane_sizes::Lanes::dense(&[2, 17, 3, 5], 16, 2).unwrap();
/// assert_eq!((view.stride_h, view.stride_block, view.stride_n), (80, 240, 480));
/// ```
/// They can be neither written nor made up:
/// ```compile_fail
/// mod lane_sizes { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lane_sizes.rs")); }
/// let mut view = lane_sizes::Lanes::dense(&[2, 17, 3, 5], 16, 2).unwrap();
/// view.n = 1000;
/// ```
/// ```compile_fail
/// mod lane_sizes { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/lane_sizes.rs")); }
/// let view = lane_sizes::Lanes::dense(&[2, 17, 3, 5], 16, 2).unwrap();
/// let more = lane_sizes::Lanes(lane_sizes::LaneSizes { n: 1000, ..*view });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes(LaneSizes);

impl Deref for Lanes {
    type Target = LaneSizes;

    fn deref(&self) -> &LaneSizes {
        &self.0
    }
}

impl Lanes {
    /// A dense view. From the densest dimension outwards: lanes, W, H, D, blocks, images. `None` for other ranks, for blocks that do
    /// not hold exactly the channels, and where the number of elements overflows.
    pub fn dense(dims: &[usize], lanes: usize, blocks: usize) -> Option<Lanes> {
        let (&n, &c) = (dims.first()?, dims.get(1)?);
        let mut spatial = [1; 3];
        let given = dims.get(2..)?;
        spatial.get_mut(3usize.checked_sub(given.len())?..)?.copy_from_slice(given);
        if lanes > 0 && blocks != c.div_ceil(lanes) {
            return None;
        }
        // Of a tensor without elements the other sizes may be anything.
        let [d, h, w] = spatial;
        let stride_h = w.saturating_mul(lanes);
        let stride_d = h.saturating_mul(stride_h);
        let stride_block = d.saturating_mul(stride_d);
        let stride_n = blocks.saturating_mul(stride_block);
        if n.saturating_mul(stride_n) == usize::MAX {
            return None;
        }
        Some(Lanes(LaneSizes { n, c, spatial, lanes, blocks, stride_n, stride_block, stride_d, stride_h }))
    }

    /// `n` images of one block, each of `pixels` pixels in a row.
    ///
    /// # Panics
    /// If there are more elements than an address can tell.
    pub fn runs(n: usize, pixels: usize, lanes: usize) -> Lanes {
        Lanes::dense(&[n, lanes, pixels], lanes, 1).expect("the runs are those of a tensor")
    }

    /// The same memory, with all channels as the lanes of one block if an image has only one pixel. Then all formats are the same
    /// in memory.
    pub fn with_points_as_lanes(self) -> Lanes {
        let is_point = self.lanes == 1 && self.spatial == [1; 3];
        is_point.then(|| Lanes::dense(&[self.n, self.c], self.c, 1)).flatten().unwrap_or(self)
    }

    /// The same memory, with the images as the pixels of one image, if each has only one pixel and one block.
    pub fn with_images_as_pixels(self) -> Lanes {
        let is_point = self.blocks == 1 && self.spatial == [1; 3];
        is_point.then(|| Lanes::dense(&[1, self.c, self.n], self.lanes, 1)).flatten().unwrap_or(self)
    }
}

/// Names one row of pixels (along W) of one block of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowIndex {
    pub n: usize,
    pub block: usize,
    pub d: usize,
    pub h: usize,
}
