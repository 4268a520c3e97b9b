//! Element-wise maps, copies and reductions over tensors of any strides.
//!
//! The element-wise ops are built from the functions here. Callers can use them for ops of their own:
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
//! Dimensions are sorted by the destination's strides and coalesced, so dense tensors of equal format become one loop,
//! whatever the format. Operands that are transposed (NHWC beside NCHW), broadcast, or have other strides are read tile by
//! tile through the first-level cache; no operand is copied as a whole. Loops are compiled for AVX-512, AVX2 and the
//! baseline. Large loops are split over the threads, which never changes a result.
//!
//! # Scales and zero points
//! Maps and reductions read the elements: the integers of a quantised tensor. Their results have no scales and zero points.
//! Copies keep them.
//!
//! # Files
//! | file | what it does |
//! |---|---|
//! | `map` | checks the operands of a map or copy, and starts it |
//! | `plan` | coalesces the loops and cuts them into tiles |
//! | `run` | runs a kernel over the tiles, in parallel, through scratch where needed |
//! | `tile` | copies one tile between any strides |
//! | `loops` | the innermost loops of maps |
//! | `tail` | zeroes the channel tail of blocked results |
//! | `reduce` | reductions over any axes, in memory of any layout; `argmax` |
//! | `folds` | the public reductions `sum`, `mean`, `prod`, `amax`, `amin` |

mod folds;
mod loops;
mod map;
mod plan;
mod reduce;
mod run;
mod tail;
mod tile;

pub(crate) use folds::{Amax, Amin, Mean, Prod, Sum, Widened, larger};
pub use folds::{amax, amin, mean, prod, sum};
pub(crate) use loops::{Comparison, Function, Function2, InBf16, MapResult, math_function};
pub(crate) use map::{MapDestination, StridedRegion, copy_part, map1_to, map2_to, map3_to};
pub use map::{copy_into, map1, map1_into, map2, map2_into, map3, map3_into};
pub use reduce::{Fold, reduce};
pub(crate) use reduce::{
    Indices, Part, Reduction, argmax, argmax_of, merge_lanes, reduce_into, reduced_dims,
};
pub(crate) use tail::{ChannelTail, clear_tail};
