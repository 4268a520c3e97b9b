//! Gives every intermediate result of a plan its place in the arena: how long each lives, and what it shares memory with.
//! [`pieces`] chooses the offsets.

mod pieces;

use blocktensor::{ALIGN, TensorDesc};

use self::pieces::Piece;
use super::build::Builder;
use super::{Place, SlotId, Work, in_place, join};
use crate::error::Result;

impl Builder<'_> {
    /// Gives every intermediate result its place in the arena. Returns the arena's size and the largest live set.
    pub(super) fn place_in_arena(&mut self, outputs: &[(String, SlotId)]) -> Result<(usize, usize)> {
        let parts = join::join(&self.slots, &mut self.steps, &self.cat_axes)?;
        in_place::run(&mut self.slots, &mut self.steps, &self.overwrites, &parts, outputs);
        let last = self.last_uses(outputs);
        // Where each slot's memory is: in which slot's, and from which byte on. A result comes after its parts.
        let mut places: Vec<(SlotId, usize)> = (0..self.slots.len()).map(|i| (SlotId(i), 0)).collect();
        for i in (0..self.slots.len()).rev() {
            if let Some((whole, offset)) = parts[i] {
                let (root, start) = places[whole.0];
                places[i] = (root, start + offset);
                self.slots[i].shared = true;
                self.slots[whole.0].shared = true;
            }
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut piece_of: Vec<Option<usize>> = vec![None; self.slots.len()];
        let mut scratchpads = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            for &slot in &step.outputs {
                let (Place::Arena(_), Some(last)) = (&self.slots[slot.0].place, last[slot.0]) else {
                    continue;
                };
                let (root, _) = places[slot.0];
                match piece_of[root.0] {
                    Some(piece) => pieces[piece].last = pieces[piece].last.max(last),
                    None => {
                        piece_of[root.0] = Some(pieces.len());
                        pieces.push(Piece { bytes: self.slots[root.0].desc.bytes()?, first: i, last });
                    }
                }
            }
            let Work::Operator { op, .. } = &step.work else { continue };
            let descs: Vec<TensorDesc> = step.inputs.iter().map(|s| self.slots[s.0].desc.clone()).collect();
            let bytes = op.scratchpad_bytes(&descs)?;
            if bytes > 0 {
                scratchpads.push((i, pieces.len()));
                pieces.push(Piece { bytes, first: i, last: i });
            }
        }
        let total = pieces.iter().try_fold(0usize, |total, piece| {
            total
                .checked_add(piece.bytes.checked_next_multiple_of(ALIGN)?)
                .filter(|t| isize::try_from(*t).is_ok())
        });
        if total.is_none() {
            let (bytes, call) = (usize::MAX, "the intermediate results of a plan");
            return Err(blocktensor::Error::OutOfMemory { bytes, call, op: None }.into());
        }
        let (offsets, end, live) = pieces::place_all(&pieces);
        for (slot, (root, start)) in self.slots.iter_mut().zip(&places) {
            if let (Place::Arena(_), Some(piece)) = (&slot.place, piece_of[root.0]) {
                slot.place = Place::Arena(offsets[piece] + start);
            }
        }
        for (step, piece) in scratchpads {
            self.steps[step].scratchpad = (offsets[piece], pieces[piece].bytes);
        }
        Ok((end, live))
    }

    /// The last step that uses each slot or a view of it; `None` for outputs.
    fn last_uses(&mut self, outputs: &[(String, SlotId)]) -> Vec<Option<usize>> {
        let mut last = vec![None; self.slots.len()];
        for (i, step) in self.steps.iter().enumerate() {
            step.inputs.iter().chain(&step.outputs).for_each(|s| last[s.0] = Some(i));
        }
        // A view keeps what it views.
        for i in (0..self.slots.len()).rev() {
            if let Place::View(of) = self.slots[i].place {
                last[of.0] = last[of.0].max(last[i]);
            }
        }
        for (_, slot) in outputs {
            last[slot.0] = None;
        }
        for (slot, step) in last.iter().enumerate() {
            if let Some(step) = step {
                self.steps[*step].last_use.push(SlotId(slot));
            }
        }
        last
    }
}
