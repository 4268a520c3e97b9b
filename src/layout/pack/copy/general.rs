//! Any map to any map, element by element.

use super::*;

/// The most indices of a dimension whose offsets are tabled at once.
const TABLE: usize = 4096;

/// The offsets of a stretch of one dimension, on both sides.
#[derive(Default)]
struct Table {
    chunk: Option<usize>,
    offsets: Vec<(usize, usize)>,
}

impl Table {
    fn of_chunk(&mut self, pair: &Pair, chunk: usize) -> &[(usize, usize)] {
        if self.chunk != Some(chunk) {
            let start = chunk * TABLE;
            let end = pair.size.min(start + TABLE);
            self.offsets.clear();
            self.offsets.extend((start..end).map(|i| (pair.src.at(i), pair.dst.at(i))));
            self.chunk = Some(chunk);
        }
        &self.offsets
    }
}

/// The caller has checked that the last index lies inside both slices, and that no two elements of `dst` share
/// memory.
pub(super) fn copy<T: Bits>(pairs: &[Pair], src: &[T], dst: &mut [T]) {
    let one = Pair { size: 1, src: Map::scalar(), dst: Map::scalar() };
    let mut outer = pairs.to_vec();
    let inner = take(&mut outer, |a, b| a.dst.at(1) < b.dst.at(1)).unwrap_or(one.clone());
    let middle = take(&mut outer, |a, b| a.size > b.size).unwrap_or(one);
    let (inner_chunks, middle_chunks) = (inner.size.div_ceil(TABLE), middle.size.div_ceil(TABLE));
    let units = count(&outer) * middle_chunks * inner_chunks;
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>(pairs.iter());
    in_tasks(units, bytes, |range| {
        let (mut inner_table, mut middle_table) = (Table::default(), Table::default());
        for unit in range {
            let inner_offsets = inner_table.of_chunk(&inner, unit % inner_chunks);
            let mut rest = unit / inner_chunks;
            let middle_offsets = middle_table.of_chunk(&middle, rest % middle_chunks);
            rest /= middle_chunks;
            let (s, d) = (offset(&outer, src_of, rest), offset(&outer, dst_of, rest));
            for &(ms, md) in middle_offsets {
                for &(is, id) in inner_offsets {
                    // SAFETY: `typed` checked the last index, and maps never decrease, so the offset lies inside
                    // `dst`; every index belongs to one unit, and distinct indices to distinct elements.
                    unsafe { *to.get().add(d + md + id) = src[s + ms + is] };
                }
            }
        }
    });
}

/// Removes the pair that `better` prefers to all others.
fn take(pairs: &mut Vec<Pair>, better: impl Fn(&Pair, &Pair) -> bool) -> Option<Pair> {
    let best = (0..pairs.len()).reduce(|a, b| if better(&pairs[b], &pairs[a]) { b } else { a })?;
    Some(pairs.remove(best))
}
