//! Ops that copy elements and compute nothing: joining and splitting, flips, padding, shuffles, views.

pub(crate) mod cat;
pub(crate) mod flip;
pub(crate) mod pad;
pub(crate) mod shuffle;
pub(crate) mod split;
pub(crate) mod triangle;
pub(crate) mod views;

use crate::error::Result;
use crate::op::Args;

/// The name in the ledger of copies that move channels between the lanes of blocks.
const LANES: &str = "blocktensor:lanes";

/// Runs a copy that moves channels between the lanes of blocks, and records it in the ledger.
fn timed_lanes(args: &Args<'_>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let layouts = || args.data_operands().map(|(_, t)| t.layout_name()).collect::<Vec<_>>().join(", ");
    crate::kernels::timed(args, LANES, layouts, work)
}
