//! Concatenations that copy nothing: the operands are computed in their part of the result's memory.
//!
//! Along an axis before which all sizes are 1, the operands of `cat` follow each other in memory. For channels that holds at
//! batch 1, row-major, and blocked if every operand but the last fills its blocks.

use blocktensor::{ALIGN, MemoryFormat, Operator, TensorDesc};

use super::forms::same_order;
use super::{Place, Slot, SlotId, Step, Work};
use crate::error::Result;
use crate::network::facts;

/// Where the memory of a slot is, if it is a part of another's.
pub(super) type Part = Option<(SlotId, usize)>;

/// Finds the concatenations that need no copy, and turns their steps into no work. `axes` has the axis of each step that is
/// a concatenation. Returns for each slot the slot that it is a part of, and its first **byte** there.
pub(super) fn join(slots: &[Slot], steps: &mut [Step], axes: &[Option<usize>]) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = vec![None; slots.len()];
    let viewed: Vec<bool> = {
        let mut viewed = vec![false; slots.len()];
        for slot in slots {
            if let Place::View(of) = slot.place {
                viewed[of.0] = true;
            }
        }
        viewed
    };
    let mut computed = vec![false; slots.len()];
    for (i, axis) in axes.iter().enumerate() {
        let step = &steps[i];
        if matches!(step.work, Work::Operator { .. } | Work::Reorder | Work::Join { .. }) {
            step.outputs.iter().for_each(|s| computed[s.0] = true);
        }
        let (Some(axis), [result], Work::Operator { op, .. }) = (*axis, &step.outputs[..], &step.work) else {
            continue;
        };
        let op = op.op();
        let is_own = |s: SlotId| matches!(slots[s.0].place, Place::Arena(_)) && !viewed[s.0];
        let inputs: Vec<&TensorDesc> = step.inputs.iter().map(|s| &slots[s.0].desc).collect();
        let Some(offsets) = offsets(&inputs, &slots[result.0].desc, axis)? else { continue };
        let unique = step.inputs.iter().enumerate().all(|(k, s)| !step.inputs[..k].contains(s));
        let free = step.inputs.iter().all(|s| is_own(*s) && computed[s.0] && parts[s.0].is_none());
        if !(unique && free && is_own(*result)) || read_together(steps, &parts, *result, &step.inputs) {
            continue;
        }
        for (slot, offset) in step.inputs.iter().zip(offsets) {
            parts[slot.0] = Some((*result, offset));
        }
        steps[i].work = Work::Join { op };
    }
    Ok(parts)
}

/// Whether a step takes both a result and one of its parts, or a part of a part. It cannot borrow the same memory twice.
fn read_together(steps: &[Step], parts: &[Part], result: SlotId, operands: &[SlotId]) -> bool {
    let is_inside = |slot: SlotId| {
        let mut at = Some(slot);
        while let Some(slot) = at {
            if operands.contains(&slot) {
                return true;
            }
            at = parts[slot.0].map(|(whole, _)| whole);
        }
        false
    };
    steps.iter().filter(|step| !matches!(step.work, Work::Join { .. })).any(|step| {
        let used = || step.inputs.iter().chain(&step.outputs);
        used().any(|s| *s == result)
            && used().any(|s| *s != result && is_inside(*s))
            && !step.outputs.contains(&result)
    })
}

/// Whether the op is a concatenation whose operands may be computed in their places.
pub(super) fn is_free(op: &dyn Operator, inputs: &[&TensorDesc], outputs: &[TensorDesc]) -> bool {
    let axis =
        outputs.first().and_then(|result| (1..result.dims().len()).find(|&a| differs(inputs, result, a)));
    let (Some(axis), [result], Some(_)) = (axis, outputs, facts(op).concatenates) else { return false };
    offsets(inputs, result, axis).is_ok_and(|offsets| offsets.is_some())
}

fn differs(inputs: &[&TensorDesc], result: &TensorDesc, axis: usize) -> bool {
    inputs.iter().any(|desc| desc.dims().get(axis) != result.dims().get(axis))
}

/// The first **byte** of each operand in the result, if they follow each other there.
fn offsets(inputs: &[&TensorDesc], result: &TensorDesc, axis: usize) -> Result<Option<Vec<usize>>> {
    if result.dims()[..axis].iter().any(|&d| d != 1) {
        return Ok(None);
    }
    let mut offsets = Vec::with_capacity(inputs.len());
    let mut end = 0usize;
    for part in inputs {
        let is_last = offsets.len() + 1 == inputs.len();
        let dense = match (part.layout(), result.layout()) {
            // A block that a part does not fill would end in the middle of the result's block.
            (Some(layout), Some(whole)) => {
                let fills = part.dims()[1].is_multiple_of(layout.block_of(1));
                layout == whole && axis == 1 && (fills || is_last)
            }
            (None, None) => is_row_major(part) && is_row_major(result),
            _ => false,
        };
        if !dense || !end.is_multiple_of(ALIGN) {
            return Ok(None);
        }
        offsets.push(end);
        end += part.bytes()?;
    }
    Ok((end == result.bytes()?).then_some(offsets))
}

fn is_row_major(desc: &TensorDesc) -> bool {
    TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous)
        .is_ok_and(|row_major| same_order(&row_major, desc))
}
