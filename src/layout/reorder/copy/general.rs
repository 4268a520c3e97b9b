//! Any map to any map, element by element.

use super::*;

/// The most indices of a dimension whose offsets are in a table at once.
const CHUNK: usize = 4096;

/// The offsets of one chunk of a dimension's indices, on both sides.
#[derive(Default)]
struct ChunkOffsets {
    chunk: Option<usize>,
    offsets: Vec<(usize, usize)>,
}

impl ChunkOffsets {
    fn of_chunk(&mut self, dim: &CopyDim, chunk: usize) -> &[(usize, usize)] {
        if self.chunk != Some(chunk) {
            let start = chunk * CHUNK;
            let end = dim.size.min(start + CHUNK);
            self.offsets.clear();
            self.offsets.extend((start..end).map(|i| (dim.src.at(i), dim.dst.at(i))));
            self.chunk = Some(chunk);
        }
        &self.offsets
    }
}

/// The caller has checked that the last index is inside both slices, and that no two elements of `dst` share memory.
pub(super) fn copy<T: ElementBits>(dims: &[CopyDim], src: &[T], dst: &mut [T]) {
    let one = CopyDim { size: 1, src: OffsetMap::scalar(), dst: OffsetMap::scalar() };
    let mut outer = dims.to_vec();
    let inner = take_best(&mut outer, |a, b| a.dst.at(1) < b.dst.at(1)).unwrap_or(one.clone());
    let middle = take_best(&mut outer, |a, b| a.size > b.size).unwrap_or(one);
    let (inner_chunks, middle_chunks) = (inner.size.div_ceil(CHUNK), middle.size.div_ceil(CHUNK));
    let units = count(&outer) * middle_chunks * inner_chunks;
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>(dims.iter());
    in_tasks(units, bytes, |range| {
        let (mut inner_table, mut middle_table) = (ChunkOffsets::default(), ChunkOffsets::default());
        for unit in range {
            let inner_offsets = inner_table.of_chunk(&inner, unit % inner_chunks);
            let mut rest = unit / inner_chunks;
            let middle_offsets = middle_table.of_chunk(&middle, rest % middle_chunks);
            rest /= middle_chunks;
            let (s, d) = (offset(&outer, src_of, rest), offset(&outer, dst_of, rest));
            for &(ms, md) in middle_offsets {
                for &(is, id) in inner_offsets {
                    // SAFETY: `typed` checked the last index, and maps never decrease, so the offset is inside
                    // `dst`; every index belongs to one unit, and distinct indices to distinct elements.
                    unsafe { *to.get().add(d + md + id) = src[s + ms + is] };
                }
            }
        }
    });
}

/// Removes the dimension that `better` prefers to all others.
fn take_best(dims: &mut Vec<CopyDim>, better: impl Fn(&CopyDim, &CopyDim) -> bool) -> Option<CopyDim> {
    let best = (0..dims.len()).reduce(|a, b| if better(&dims[b], &dims[a]) { b } else { a })?;
    Some(dims.remove(best))
}
