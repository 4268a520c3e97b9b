//! Concatenations that copy nothing: the operands are computed in their part of the result's memory.
//!
//! Along an axis before which all sizes are 1, the operands of `cat` follow each other in memory. For channels that holds at
//! batch 1, row-major, and blocked if every operand but the last fills its blocks.

use blocktensor::{ALIGN, MemoryFormat, TensorDesc};

use super::build::same_order;
use super::{Place, Slot, SlotId, Step, Work};
use crate::error::Result;

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
        if matches!(step.work, Work::Operator { .. } | Work::Reorder | Work::Join) {
            step.outputs.iter().for_each(|s| computed[s.0] = true);
        }
        let (Some(axis), [result]) = (*axis, &step.outputs[..]) else { continue };
        let is_own = |s: SlotId| matches!(slots[s.0].place, Place::Arena(_)) && !viewed[s.0];
        let Some(offsets) = offsets(slots, &step.inputs, *result, axis)? else { continue };
        let unique = step.inputs.iter().enumerate().all(|(k, s)| !step.inputs[..k].contains(s));
        let free = step.inputs.iter().all(|s| is_own(*s) && computed[s.0] && parts[s.0].is_none());
        if !(unique && free && is_own(*result)) || read_together(steps, &parts, *result, &step.inputs) {
            continue;
        }
        for (slot, offset) in step.inputs.iter().zip(offsets) {
            parts[slot.0] = Some((*result, offset));
        }
        steps[i].work = Work::Join;
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
    steps.iter().filter(|step| !matches!(step.work, Work::Join)).any(|step| {
        let used = || step.inputs.iter().chain(&step.outputs);
        used().any(|s| *s == result)
            && used().any(|s| *s != result && is_inside(*s))
            && !step.outputs.contains(&result)
    })
}

/// The first **byte** of each operand in the result, if they follow each other there.
fn offsets(slots: &[Slot], inputs: &[SlotId], result: SlotId, axis: usize) -> Result<Option<Vec<usize>>> {
    let desc = |s: SlotId| &slots[s.0].desc;
    if desc(result).dims()[..axis].iter().any(|&d| d != 1) {
        return Ok(None);
    }
    let mut offsets = Vec::with_capacity(inputs.len());
    let mut end = 0usize;
    for &slot in inputs {
        let is_last = offsets.len() + 1 == inputs.len();
        let dense = match (desc(slot).layout(), desc(result).layout()) {
            // A block that a part does not fill would end in the middle of the result's block.
            (Some(part), Some(whole)) => {
                let fills = desc(slot).dims()[1].is_multiple_of(part.block_of(1));
                part == whole && axis == 1 && (fills || is_last)
            }
            (None, None) => is_row_major(desc(slot)) && is_row_major(desc(result)),
            _ => false,
        };
        if !dense || !end.is_multiple_of(ALIGN) {
            return Ok(None);
        }
        offsets.push(end);
        end += desc(slot).bytes()?;
    }
    Ok((end == desc(result).bytes()?).then_some(offsets))
}

fn is_row_major(desc: &TensorDesc) -> bool {
    TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous)
        .is_ok_and(|row_major| same_order(&row_major, desc))
}
