//! The machinery that ops are made of: views of memory that serve every layout, copies along axes, and the kernels of
//! convolution, pooling, resampling and reductions.
//!
//! | module | what it does |
//! |---|---|
//! | `lanes` | one view of NCHW, NHWC and blocked memory: rows of lanes |
//! | `along_axis` | lines along one axis, several side by side, for softmax and its like |
//! | `lent` | parts of a result that tasks write, each its own |
//! | `wide` | elements in f32 for scratch memory, and rounded results |
//! | `same_shape` | operand and result of an op that keeps shape and layout |
//! | `spatial` | operand and result of an op that changes the spatial sizes |
//! | `blocked_map` | element-wise maps of blocked tensors |
//! | `axis_map`, `axis_copy` | the map of an axis from result to source, and the copy along all axes: pad, flip, roll |
//! | `channel_copy`, `lane_permute` | copies that move channels of blocked tensors to other lanes: cat, split, shuffles |
//! | `moments`, `scale` | mean and variance; `y = (x - center) * scale + shift`: the norms |
//! | `conv`, `pool`, `resample` | the kernels of these families |
//! | `gradient` | gradients of pooling, and of the weights of convolutions |
//! | `reduce` | blocked tensors as loops for `elementwise::reduce` |

#[allow(unsafe_code)]
pub(crate) mod along_axis;
pub(crate) mod axis_copy;
pub(crate) mod axis_map;
pub(crate) mod blocked_map;
pub(crate) mod bytes;
pub(crate) mod channel_copy;
#[allow(unsafe_code)]
pub(crate) mod conv;
pub(crate) mod gradient;
mod lane_permute;
pub(crate) mod lane_sizes;
#[allow(unsafe_code)]
pub(crate) mod lanes;
/// Views of a result that are lent to closures.
#[allow(unsafe_code)]
pub(crate) mod lent;
pub(crate) mod moments;
#[allow(unsafe_code)]
pub(crate) mod plane_part;
pub(crate) mod pool;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod same_shape;
pub(crate) mod scale;
pub(crate) mod spatial;
pub(crate) mod wide;

use crate::key::DispatchKey;
use crate::ledger;
use crate::op::Args;

/// Runs a kernel of our own, and writes the run into the ledger when somebody records.
pub(crate) fn timed<R>(
    args: &Args<'_>,
    implementation: &'static str,
    layouts: impl FnOnce() -> String,
    work: impl FnOnce() -> R,
) -> R {
    timed_as(args.op(), args.key(), implementation, layouts, work)
}

/// As [`timed`], for a packed operator, which has no arguments of a call.
pub(crate) fn timed_as<R>(
    op: &'static str,
    key: DispatchKey,
    implementation: &'static str,
    layouts: impl FnOnce() -> String,
    work: impl FnOnce() -> R,
) -> R {
    if !ledger::is_recording() {
        return work();
    }
    let layouts = layouts();
    let start = std::time::Instant::now();
    let result = work();
    ledger::ran(op, key, implementation, layouts, start, 0);
    result
}
