//! Plain weights into the order in which the kernel reads them, and back.

use super::plan::{BLOCK, Form, Int8Plan, QUAD, Unit};
use crate::buffer::Buffer;
use crate::error::{Result, fail};
use crate::kernels::conv::phases::cube;
use crate::kernels::conv::weights::{PlainWeights, WeightStrides};
use crate::memory::try_filled;
use crate::op::facts::LARGEST_SUM;

const MOST: u64 = LARGEST_SUM as u64;

impl Int8Plan {
    /// The weights as [`Form`] says, unit by unit, zeros where there are none, and behind them the sum of each output channel's: of
    /// all taps, or of each tap where not every output meets all.
    ///
    /// # Errors
    /// `InvalidArgument` for weights whose sum with some source does not fit into 32 bits.
    pub(super) fn ordered(&self, w: &PlainWeights<'_>) -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(self.ordered_bytes())?;
        let (weights, sums) = buffer.as_bytes_mut().split_at_mut(self.weight_bytes);
        let sums: &mut [i32] = bytemuck::cast_slice_mut(sums);
        let (plain, strides) = (w.tensor.data::<i8>(), WeightStrides::of(w));
        let of = (self.g.o / self.g.groups, cube(&self.g.kernel, 1));
        let (lists, lanes) = (self.sum_lists(), self.blocks() * BLOCK);
        let mut sizes = try_filled(self.g.op, lists * self.g.o, 0u64)?;
        for unit in &self.units {
            self.for_each_weight(unit, |places, o, c, tap| {
                let value = plain[strides.offset(of, o, c, tap)];
                places.iter().for_each(|&at| weights[at] = value.cast_unsigned());
                sums[tap % lists * lanes + o] += i32::from(value);
                sizes[tap % lists * self.g.o + o] += u64::from(value.unsigned_abs());
            });
        }
        let zero_point = self.unsigned_zero_point();
        let largest = u64::from(zero_point.max(255 - zero_point).unsigned_abs());
        let sizes = if self.g.transposed { self.largest_sums(&sizes)? } else { sizes };
        if let Some(o) = sizes.iter().position(|size| size * largest > MOST) {
            let got = format!("weights of output channel {o} with a sum of magnitudes of {}", sizes[o]);
            let rule = format!("sums of 32 bits hold up to {} with this zero point", MOST / largest);
            fail!(
                InvalidArgument,
                self.g.op,
                "weights",
                got,
                rule,
                "split the input channels, or compute in f32"
            );
        }
        Ok(buffer)
    }

    /// Of each output channel the largest sum over the taps that one output meets, of numbers that each tap has for each channel.
    fn largest_sums(&self, of_taps: &[u64]) -> Result<Vec<u64>> {
        let mut largest = try_filled(self.g.op, self.g.o, 0)?;
        for phase in self.phases() {
            let taps: Vec<usize> = phase.taps(&self.g).collect();
            for (o, most) in largest.iter_mut().enumerate() {
                let sum = taps.iter().map(|tap| of_taps[tap * self.g.o + o]).sum();
                *most = (*most).max(sum);
            }
        }
        Ok(largest)
    }

    /// Ordered weights as plain ones: dense and row-major, groups apart.
    pub(super) fn unordered(&self, ordered: &[u8], plain: &mut [f32]) {
        let (cg, taps) = (self.g.c / self.g.groups, self.taps());
        for unit in &self.units {
            self.for_each_weight(unit, |places, o, c, tap| {
                plain[(o * cg + c) * taps + tap] = f32::from(ordered[places[0]].cast_signed());
            });
        }
    }

    /// Calls `f(bytes, output channel, input channel of the group, tap)` for every weight of a unit, with all its places.
    fn for_each_weight(&self, unit: &Unit, mut f: impl FnMut(&[usize], usize, usize, usize)) {
        let (g, taps) = (&self.g, self.taps());
        let (og, cg) = (g.o / g.groups, g.c / g.groups);
        let (shifts, begins) = (self.shifts(), self.shifts().begins());
        for i in 0..unit.count {
            for o in self.channels_of(unit.block + i) {
                let at = |vector: usize, k: usize| unit.weights + (vector * BLOCK + o % BLOCK) * QUAD + k;
                for c in 0..cg {
                    for tap in 0..taps {
                        if let Form::Shared(quads) = &unit.form {
                            let channel = o / og * cg + c;
                            let vector = self.vector_of(quads, channel / QUAD, tap) * unit.count + i;
                            f(&[at(vector, channel % QUAD)], o, c, tap);
                            continue;
                        }
                        let (row, x) = (tap / shifts.width, tap % shifts.width);
                        let mut places = [0; QUAD];
                        let mut count = 0;
                        for shift in (0..QUAD).filter(|shift| shifts.vectors(*shift) > 0) {
                            let vector = row * begins[QUAD] + begins[shift] + (shift + x) / QUAD;
                            places[count] = at(vector, (shift + x) % QUAD);
                            count += 1;
                        }
                        f(&places[..count], o, c, tap);
                    }
                }
            }
        }
    }

    /// The place of a quad and a tap among a unit's: planes one after the other, the first and the last of which may have fewer quads.
    fn vector_of(&self, quads: &std::ops::Range<usize>, quad: usize, tap: usize) -> usize {
        let per_plane = self.quads();
        let plane = quad / per_plane;
        let first = quads.start.max(plane * per_plane);
        let end = quads.end.min((plane + 1) * per_plane);
        (first - quads.start) * self.taps() + tap * (end - first) + (quad - first)
    }
}
