//! Element-wise maps, copies and reductions over tensors of any strides.
//!
//! The functions here are what the element-wise ops are built of, and are open to a caller with an op of
//! their own:
//!
//! ```
//! # use blocktensor::{elementwise, StridedTensor};
//! #[inline(always)]
//! fn square(x: f32) -> f32 {
//!     x * x
//! }
//! let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0], &[3])?;
//! let y = elementwise::map1("square", &x, square)?;
//! assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
//! # Ok::<(), blocktensor::Error>(())
//! ```
//!
//! # Layouts
//! Dimensions are put in the order of the destination's strides and coalesced, so that dense tensors of equal
//! format are one loop whatever the format is. Operands that lie across (NHWC beside NCHW), are stretched, or
//! have odd strides are read tile by tile through the first-level cache; no copy of a whole operand is made.
//! Loops are compiled for AVX-512, AVX2 and the baseline; large ones are split over the threads, which never
//! changes a result.

mod folds;
mod loops;
mod map;
mod plan;
mod reduce;
mod reduce_loops;
mod run;
mod tail;
mod tile;

pub use folds::{amax, amin, mean, prod, sum};
pub(crate) use loops::{Function, Function2, Inline, WithParams};
pub(crate) use map::{MapDestination, StridedRegion, copy_part, map1_to, map2_to, map3_to};
pub use map::{copy_into, map1, map1_into, map2, map2_into, map3, map3_into};
pub use reduce::{Fold, reduce};
pub(crate) use reduce::{reduce_into, reduced_dims};
pub(crate) use tail::{ChannelTail, clear_tail};
