//! The kernels of pooling: windows over the spatial dimensions, folded by maximum or mean.
//!
//! One kernel serves every layout: it writes rows of pixels, each a group of *lanes* (see [`lanes`](crate::kernels::lanes)):
//!
//! - NHWC (channels-last) is one block of C lanes;
//! - blocked (nChw16c, nChw8c, nChw4c) is `ceil(C / 16)` blocks of 16 lanes, and likewise for 8 and 4;
//! - NCHW (contiguous) is C blocks of one lane.
//!
//! `fold_windows` in `rows.rs` cuts the result into parts (`rows.rs`). `row_method` in `rows.rs` is the only place that chooses
//! how a row of the result is written:
//!
//! | layout | rows are written by |
//! |---|---|
//! | NCHW, nChw4c, NHWC of fewer than 8 channels | `scratch::write_row` |
//! | nChw16c, nChw8c, NHWC of 8 channels and more | `direct::write_row` or `scratch::write_row` |
//!
//! `direct::write_row` runs if `direct::is_faster` for the windows of the call, a window has at most 8 source rows, and the machine
//! has vectors of 256 bits.
//!
//! `scratch::write_row` folds source columns along D and H into a scratch row, then folds windows along W. `direct::write_row`
//! reads windows from the source, with vectors along the lanes. Both fold in the same order, so results have the same bits.

mod direct;
mod fold;
pub(crate) mod geometry;
mod rows;
mod scratch;

pub(crate) use fold::QuantizedMean;
pub(crate) use rows::{MAX_TAPS_IN_F32, pool_max, pool_max_of_integers, pool_mean, pool_quantized};
