//! Elements as f32, for kernels that compute in scratch memory: those of f32 in place, others through a copy.

use crate::dtype::{DType, Float};
use crate::simd::{self, Loop};

/// The length of the scratch memory that `len` elements need: none for f32.
pub(crate) fn scratch_len<E: Float>(len: usize) -> usize {
    if E::DTYPE == DType::F32 { 0 } else { len }
}

/// The elements in f32. `scratch` has at least [`scratch_len`] elements.
pub(crate) fn widened<'a, E: Float>(src: &'a [E], scratch: &'a mut [f32]) -> &'a [f32] {
    if E::DTYPE == DType::F32 {
        return bytemuck::cast_slice(src);
    }
    let to = &mut scratch[..src.len()];
    simd::dispatch(Widen { src, to });
    to
}

/// Calls `write` with memory for the elements in f32, and rounds what it wrote. `scratch` has at least [`scratch_len`] elements, whose
/// content is **unspecified**.
pub(crate) fn write_rounded<E: Float>(dst: &mut [E], scratch: &mut [f32], write: impl FnOnce(&mut [f32])) {
    if E::DTYPE == DType::F32 {
        return write(bytemuck::cast_slice_mut(dst));
    }
    let from = &mut scratch[..dst.len()];
    write(from);
    simd::dispatch(Round { from, dst });
}

struct Widen<'a, E> {
    src: &'a [E],
    to: &'a mut [f32],
}

impl<E: Float> Loop for Widen<'_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.src).for_each(|(to, x)| *to = x.widen());
    }
}

struct Round<'a, E> {
    from: &'a [f32],
    dst: &'a mut [E],
}

impl<E: Float> Loop for Round<'_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.dst.iter_mut().zip(self.from).for_each(|(y, &x)| *y = E::rounded(x));
    }
}
