//! Descriptions, operators, results in tensors that exist, and writers of packed files.

use blocktensor_c::*;
use blocktensor_fuzz::dims_of;

use crate::{Kind, State, UNTOUCHED};

impl State<'_> {
    fn is_tensor(&self, h: bt_handle) -> bool {
        matches!(self.look(h), Some(Kind::Tensor { .. }))
    }

    /// A tensor or a description.
    fn like(&mut self) -> (bt_handle, bool) {
        let h = self.handle(|k| matches!(k, Kind::Tensor { .. } | Kind::Description));
        (h, matches!(self.look(h), Some(Kind::Tensor { .. } | Kind::Description)))
    }

    /// Makes a description, or a tensor of zeros like one.
    pub(crate) fn description(&mut self) {
        let mut out = UNTOUCHED;
        if self.input.flag() {
            let (like, good) = self.like();
            // SAFETY: a place.
            let status = unsafe { bt_tensor_zeros(like, &mut out) };
            if self.said(status, good, &[out]) {
                let kind = self.described(out, None);
                self.add(out, kind);
            }
            return;
        }
        let rank = self.input.below(6);
        let mut dims: Vec<i64> = dims_of(&mut self.input, rank, 512).iter().map(|&d| d as i64).collect();
        // Negative, or too large to have bytes: a description has none to allocate.
        if self.input.one_in(8)
            && let Some(first) = dims.first_mut()
        {
            *first = -1;
        }
        let layout = self.string(&["contiguous", "channels_last", "blocked", "nChw16c", "nChw8c"]);
        let dtype = self.input.below(7) as i32;
        // SAFETY: an array of that length, a string, and a place.
        let status = unsafe { bt_desc_new(dtype, rank, dims.as_ptr(), layout.as_ptr(), &mut out) };
        let good = dtype < 6 && dims.iter().all(|&d| d >= 0);
        if self.said(status, good, &[out]) {
            self.add(out, Kind::Description);
        }
    }

    /// Makes an operator, or asks one.
    pub(crate) fn operator(&mut self) {
        if self.input.flag() {
            let op = self.string(&["relu", "add", "neg", "cumsum", "no such op"]);
            let names = [c"x", c"a", c"b", c"axis", c"nobody's"];
            let inputs: Vec<_> = (0..self.input.below(4)).map(|_| self.input.pick(&names).as_ptr()).collect();
            let mut out = UNTOUCHED;
            // SAFETY: strings, no parameters, and a place.
            let status = unsafe {
                bt_op_new(op.as_ptr(), inputs.as_ptr(), inputs.len(), std::ptr::null(), 0, &mut out)
            };
            if self.said(status, true, &[out]) {
                self.add(out, Kind::Operator);
            }
            return;
        }
        let op = self.handle(|k| matches!(k, Kind::Operator | Kind::Packed));
        let known = matches!(self.look(op), Some(Kind::Operator | Kind::Packed));
        let inputs: Vec<_> = (0..self.input.below(3)).map(|_| self.like()).collect();
        let good = known && inputs.iter().all(|(_, good)| *good);
        let inputs: Vec<bt_handle> = inputs.into_iter().map(|(h, _)| h).collect();
        let (mut outs, mut count) = ([UNTOUCHED; 4], usize::MAX);
        // SAFETY: arrays of the lengths that are passed, and a place.
        let status = unsafe {
            bt_op_infer(op, inputs.as_ptr(), inputs.len(), outs.as_mut_ptr(), outs.len(), &mut count)
        };
        let given = if status == 0 { count } else { outs.len() };
        if self.said(status, good, &outs[..given]) {
            outs[..given].iter().for_each(|&h| self.add(h, Kind::Description));
        }
    }

    /// Writes into a tensor: its numbers are not known afterwards, also where the call failed in the middle.
    pub(crate) fn run_into(&mut self) {
        let (x, dst) = (self.tensor(), self.tensor());
        let mut good = self.is_tensor(x) && self.is_tensor(dst) && x != dst;
        let status = match self.input.below(3) {
            0 => bt_reorder_into(x, dst),
            1 => {
                let packed = self.handle(|k| *k == Kind::Packed);
                good &= self.look(packed) == Some(Kind::Packed);
                bt_packed_run_into(packed, x, 0, dst)
            }
            _ => {
                let op = self.handle(|k| *k == Kind::Operator);
                good &= matches!(self.look(op), Some(Kind::Operator | Kind::Packed));
                // SAFETY: one input and one result.
                unsafe { bt_op_run_into(op, &x, 1, &dst, 1, 0) }
            }
        };
        self.said(status, good, &[]);
        for k in self.known.iter_mut().filter(|k| k.live && k.handle == dst) {
            if let Kind::Tensor { bytes, .. } = &mut k.kind {
                *bytes = None;
            }
        }
    }

    /// Makes a writer of packed files, or adds to one.
    pub(crate) fn writer(&mut self) {
        if self.input.flag() {
            let mut out = UNTOUCHED;
            // SAFETY: a place.
            let status = unsafe { bt_packed_writer_new(self.input.flag(), &mut out) };
            if self.said(status, true, &[out]) {
                self.add(out, Kind::Writer);
            }
            return;
        }
        let writer = self.handle(|k| *k == Kind::Writer);
        let packed = self.handle(|k| *k == Kind::Packed);
        let name = self.string(&["a", "b", ""]);
        let good = self.look(writer) == Some(Kind::Writer) && self.look(packed) == Some(Kind::Packed);
        // SAFETY: a string.
        let status = unsafe { bt_packed_writer_add(writer, name.as_ptr(), packed) };
        self.said(status, good, &[]);
    }
}
