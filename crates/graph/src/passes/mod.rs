//! Passes: rewrites of a network that keep its results.

mod activations;
mod concatenations;
mod duplicates;
mod in_f32;
mod integers;
mod joins;
mod layers;
mod moves;
mod operands;
mod pads;
mod post_ops;
mod quantized;
mod scales;
mod shuffles;
mod splits;
mod strict;
mod tables;

pub(crate) use in_f32::Twins;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::error::Result;
use crate::network::Network;
use crate::stop::Stop;

/// A rewrite of a network. Each can be switched off ([`PlanOptions::without`](crate::PlanOptions::without)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pass {
    /// Nodes with the same op, parameters and inputs become one.
    RemoveDuplicates,
    /// Arithmetic with a constant number or with one number for each channel becomes `add_scalar`, `mul_channel` and the
    /// like. Other constants get the rank of the operand that they are broadcast against. A product with a constant matrix
    /// becomes `linear`.
    SimplifyOperands,
    /// `x * sigmoid(x)` becomes `silu`, `x * hardsigmoid(x)` `hardswish`, the formula of `gelu` `gelu`.
    RecognizeActivations,
    /// A view, a transpose and a view that shuffle channels become `channel_shuffle`.
    RecognizeShuffles,
    /// Parts that together are a whole tensor become one `split`, which blocked tensors have.
    RecognizeSplits,
    /// Batch norms, and numbers that are multiplied or added for each channel, go into the weights and the bias of the
    /// convolution or linear layer before them.
    FoldScales,
    /// Padding with zeros goes into the convolution or average pool after it, with minus infinity into the max pool.
    FoldPads,
    /// Convolutions and linear layers between `dequantize` and `quantize` compute with the integers, the
    /// layers as convolutions of single pixels, on machines with VNNI (AVX-512 or AVX). Max pools and what only moves elements run before `dequantize`. Concatenations run
    /// before `quantize`. Element-wise functions of one tensor of integers become one `lookup`, if their results are integers again.
    /// Every rounding that the graph states stays.
    UseIntegers,
    /// Activations, `prelu` with constant slopes, additions, and per-channel numbers after those become post-ops of the
    /// convolution before them; so do `quantize` and `dequantize` after a convolution of integers. Between `dequantize` and `quantize`,
    /// other additions and products become `quantized_add` and `quantized_mul`, and average pools `quantized_avg_pool`. Other functions
    /// of one tensor of integers become a `lookup`, also those that only change its scale.
    FusePostOps,
    /// `cat(a, b, c)` after `cat(a, b)` becomes `cat(cat(a, b), c)`, so that a plan can compute `a`, `b` and `c` in their
    /// places of one piece of memory.
    NestConcatenations,
    /// Nodes whose results nobody uses are removed.
    RemoveUnused,
}

impl Pass {
    /// All passes, in the order in which they run.
    pub const ALL: [Pass; 11] = [
        Pass::RemoveDuplicates,
        Pass::SimplifyOperands,
        Pass::RecognizeActivations,
        Pass::RecognizeShuffles,
        Pass::RecognizeSplits,
        Pass::FoldScales,
        Pass::FoldPads,
        Pass::UseIntegers,
        Pass::FusePostOps,
        Pass::NestConcatenations,
        Pass::RemoveUnused,
    ];

    /// The pass's name.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::RemoveDuplicates => "remove_duplicates",
            Pass::SimplifyOperands => "simplify_operands",
            Pass::RecognizeActivations => "recognize_activations",
            Pass::RecognizeShuffles => "recognize_shuffles",
            Pass::RecognizeSplits => "recognize_splits",
            Pass::FoldScales => "fold_scales",
            Pass::FoldPads => "fold_pads",
            Pass::UseIntegers => "use_integers",
            Pass::FusePostOps => "fuse_post_ops",
            Pass::NestConcatenations => "nest_concatenations",
            Pass::RemoveUnused => "remove_unused",
        }
    }
}

/// What a pass did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassReport {
    /// The pass.
    pub pass: Pass,
    /// How many nodes it changed or removed.
    pub changes: usize,
}

/// Runs all passes but those that are switched off. Unused nodes are removed after each pass: a tensor that only they use
/// counts as used.
///
/// With `is_strict`, nodes that compute in f32 between `dequantize` and `quantize` are an error.
pub(crate) fn run(
    network: &mut Network,
    off: &BTreeSet<Pass>,
    is_strict: bool,
    stop: &Stop,
) -> Result<Vec<PassReport>> {
    let mut between = None;
    let mut reports = Vec::new();
    let mut removed = 0;
    for pass in Pass::ALL {
        stop.check()?;
        if pass == Pass::FusePostOps {
            // Later a convolution may have the conversions around it as post-ops.
            between = is_strict.then(|| strict::between(network)).transpose()?;
            // The weights that no convolution of integers took, and constants of arithmetic.
            let folded = integers::fold_constants(network)?;
            if folded > 0 && !off.contains(&Pass::SimplifyOperands) {
                operands::run(network)?;
            }
        }
        if off.contains(&pass) {
            continue;
        }
        let changes = match pass {
            Pass::RemoveDuplicates => duplicates::run(network),
            Pass::SimplifyOperands => operands::run(network)?,
            Pass::RecognizeActivations => activations::run(network)?,
            Pass::RecognizeShuffles => shuffles::run(network)?,
            Pass::RecognizeSplits => splits::run(network)?,
            Pass::FoldScales => scales::run(network)?,
            Pass::FoldPads => pads::run(network)?,
            Pass::UseIntegers => integers::run(network, is_strict)?,
            // What is left of sums that no convolution took.
            Pass::FusePostOps if !off.contains(&Pass::UseIntegers) => {
                let fused = post_ops::run(network)? + quantized::combine(network)?;
                let wanted = tables::Wanted { cheap: true, small: is_strict };
                fused + if integers::computes() { tables::run(network, wanted)? } else { 0 }
            }
            Pass::FusePostOps => post_ops::run(network)?,
            Pass::NestConcatenations => concatenations::run(network)?,
            Pass::RemoveUnused => removed + network.remove_unused(),
        };
        reports.push(PassReport { pass, changes });
        if !off.contains(&Pass::RemoveUnused) {
            removed += network.remove_unused();
        }
    }
    if let Some(between) = between {
        strict::check(network, &between, off)?;
    }
    Ok(reports)
}
