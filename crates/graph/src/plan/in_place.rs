//! Element-wise steps that overwrite their operand, where nobody needs it any more.

use blocktensor::ops::PostOps;
use blocktensor::{DType, TensorDesc};

use super::forms::{is_sparse, same_order};
use super::join::Part;
use super::{Place, Slot, SlotId, Step, Work};
use crate::network::Node;

/// How a step would overwrite an operand: what it does, and which of its inputs are what.
#[derive(Clone, Debug)]
pub(super) struct Overwrite {
    pub(super) op: &'static str,
    pub(super) post_ops: PostOps,
    /// The inputs that may be overwritten.
    targets: Vec<usize>,
    channel: Option<usize>,
}

/// Whether the node could overwrite an operand. `inputs` and `output` are in the layouts that it runs in.
pub(super) fn overwrite(node: &Node, inputs: &[&TensorDesc], output: &TensorDesc) -> Option<Overwrite> {
    let fits = |i: usize| {
        let same = inputs[i] == output || same_order(inputs[i], output);
        same && inputs[i].dims() == output.dims()
            && output.dtype() == DType::F32
            && inputs[i].dtype() == DType::F32
    };
    let post_ops: PostOps = node.op.bound()?.post_op()?.parse().ok()?;
    let (targets, channel) = match inputs.len() {
        2 if post_ops.takes_residual() && node.inputs[0] != node.inputs[1] => (vec![0, 1], None),
        2 if post_ops.channel_operands() == 1 && inputs[1].dims() == [*output.dims().get(1)?] => {
            (vec![0], Some(1))
        }
        1 => (vec![0], None),
        _ => return None,
    };
    // Numbers for each channel meet channels that lie in one of the usual orders.
    if channel.is_some() && is_sparse(output) {
        return None;
    }
    targets.iter().all(|&i| fits(i)).then_some(Overwrite { op: node.op.op(), post_ops, targets, channel })
}

/// Turns steps into ones that overwrite. `overwrites` has what each step could do, `parts` what is computed in another's
/// place.
pub(super) fn run(
    slots: &mut [Slot],
    steps: &mut [Step],
    overwrites: &[Option<Overwrite>],
    parts: &[Part],
    outputs: &[(String, SlotId)],
) {
    let mut last = vec![0; slots.len()];
    for (i, step) in steps.iter().enumerate() {
        step.inputs.iter().for_each(|s| last[s.0] = i);
    }
    outputs.iter().for_each(|(_, s)| last[s.0] = usize::MAX);
    let mut shared = vec![false; slots.len()];
    for (i, slot) in slots.iter().enumerate() {
        if let Place::View(of) = slot.place {
            shared[of.0] = true;
        }
        if let Some((whole, _)) = parts[i] {
            shared[i] = true;
            shared[whole.0] = true;
        }
    }
    // Slots that overwrite another, and are not views in any other sense.
    let mut moved = vec![false; slots.len()];
    for (i, step) in steps.iter_mut().enumerate() {
        let (Some(Some(overwrite)), &[result]) = (overwrites.get(i), &step.outputs[..]) else { continue };
        let is_own = |s: SlotId, slots: &[Slot]| {
            !shared[s.0] && (matches!(slots[s.0].place, Place::Arena(_)) || moved[s.0])
        };
        if !matches!(slots[result.0].place, Place::Arena(_)) || parts[result.0].is_some() {
            continue;
        }
        let dies = |&&at: &&usize| {
            let slot = step.inputs[at];
            last[slot.0] == i
                && is_own(slot, slots)
                && step.inputs.iter().filter(|s| **s == slot).count() == 1
        };
        let Some(&at) = overwrite.targets.iter().find(dies) else { continue };
        let target = step.inputs[at];
        let residual = overwrite.targets.iter().find(|&&other| other != at).map(|&other| step.inputs[other]);
        let channel = overwrite.channel.map(|at| step.inputs[at]);
        slots[result.0].place = Place::View(target);
        moved[result.0] = true;
        step.inputs = [Some(target), residual, channel].into_iter().flatten().collect();
        step.work = Work::InPlace { op: overwrite.op, post_ops: overwrite.post_ops };
    }
}
