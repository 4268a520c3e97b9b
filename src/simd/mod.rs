//! One loop, compiled for AVX-512, AVX2 and the baseline; the machine's instruction set selects.
//!
//! A [`Loop`] holds the loop's data; [`dispatch`] runs it with the widest vectors that this machine has. Its `run`, and
//! everything that it calls, must be `#[inline(always)]` (or small enough that the compiler inlines it): code that is not
//! inlined is compiled for the baseline. A closure cannot have that attribute; a function can. Loops are plain Rust over
//! slices. Intrinsics are used by the modules of one machine alone: `x86`, or `portable`, which has none, for all others.

#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
use x86 as arch;

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(not(target_arch = "x86_64"))]
use portable as arch;

pub(crate) mod bytes;
mod level;
pub(crate) mod matrix;
pub(crate) mod vectors;

use std::marker::PhantomData;

use crate::math::Arithmetic;
pub(crate) use arch::Wide;
pub use level::Isa;
pub(crate) use level::level;

/// The registers of one kind of vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VectorUnit {
    /// f32 lanes of a register.
    pub lanes: usize,
    /// Registers.
    pub registers: usize,
}

impl VectorUnit {
    /// How many vectors of this many lanes the registers hold.
    pub const fn vectors_of(self, lanes: usize) -> usize {
        self.registers / lanes.div_ceil(self.lanes)
    }
}

/// The registers of the vectors that this process uses.
pub(crate) fn unit() -> VectorUnit {
    level().unit()
}

/// Work whose inner loop the compiler vectorises. `run` is `#[inline(always)]`.
pub(crate) trait Loop {
    /// The loop's result.
    type Out;
    /// Runs the loop.
    fn run(self) -> Self::Out;
}

/// As [`Loop`], of functions whose arithmetic is that of the vectors.
pub(crate) trait MathLoop {
    /// The loop's result.
    type Out;
    /// Runs the loop.
    fn run<M: Arithmetic>(self) -> Self::Out;
}

/// The arithmetic of a [`MathLoop`]. Beside the loop, not around it: a pair is compiled where its first type is.
struct Computed<M>(PhantomData<M>);

impl<L: MathLoop, M: Arithmetic> Loop for (L, Computed<M>) {
    type Out = L::Out;

    #[inline(always)]
    fn run(self) -> L::Out {
        self.0.run::<M>()
    }
}

/// Stops LLVM from vectorising the enclosing loop with gathers, which would run several of its iterations at once. Emits no
/// code.
#[inline(always)]
pub(crate) fn barrier() {
    std::hint::black_box(());
}

/// Runs the loop with the widest vectors of this machine.
#[inline]
pub(crate) fn dispatch<L: Loop>(l: L) -> L::Out {
    arch::dispatch(l)
}

/// The vectors of loops that are not compiled for x86-64's baseline: where it has another way, that saves code that few machines run.
/// `None` in a process that has the baseline alone.
pub(crate) fn wide() -> Option<Wide> {
    arch::wide()
}

/// Runs the loop with the widest vectors of this machine, and with fused multiply-add where they have it.
#[inline]
pub(crate) fn dispatch_math<L: MathLoop>(l: L) -> L::Out {
    arch::dispatch_math(l)
}

/// Asks for the memory `bytes` behind the start of a slice, whoever has it: a hint, which accesses nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], bytes: usize) {
    let mut at = slice.as_ptr().cast::<i8>().wrapping_add(bytes);
    for _ in 0..size_of_val(slice).div_ceil(64) {
        arch::prefetch_line(at);
        at = at.wrapping_add(64);
    }
}

/// Marks the end of the body of a loop over short arrays (the lanes of a block) whose inner loops must become vectors. The
/// compiler unrolls the inner loops first, and would otherwise vectorise the outer loop with gathers and scatters. Emits no
/// code.
#[inline(always)]
pub(crate) fn end_of_chunk() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The edge of the square block that [`transpose`] transposes at once for elements of this size, or `None` if this machine
/// has no such kernel.
pub(crate) fn transpose_edge(element_bytes: usize) -> Option<usize> {
    arch::transpose_edge(element_bytes)
}

/// Transposes one square block: `dst[i * dst_stride + j] = src[j * src_stride + i]` for `i`, `j` below [`transpose_edge`].
/// With `stream`, stores of whole cache lines bypass the cache if the machine supports it; the caller then calls
/// [`stream_fence`] at the end.
///
/// # Safety
/// `transpose_edge(size_of::<T>())` is `Some(edge)`; `src` is valid for reading and `dst` for writing at the
/// elements above, and the two do not overlap.
#[inline]
pub(crate) unsafe fn transpose<T: Copy>(
    src: *const T,
    src_stride: usize,
    dst: *mut T,
    dst_stride: usize,
    stream: bool,
) {
    // SAFETY: the caller's promise.
    unsafe { arch::transpose(src, src_stride, dst, dst_stride, stream) }
}

/// Copies `src` to `dst`, bypassing the cache if the machine supports it; the caller then calls [`stream_fence`] at the end.
///
/// # Safety
/// `dst` is valid for writing `src.len()` bytes and does not overlap `src`.
pub(crate) unsafe fn stream_copy(src: &[u8], dst: *mut u8) {
    // Plain stores up to the first whole line; then whole vectors, bypassing the cache; then plain stores for the rest.
    let head = dst.align_offset(64).min(src.len());
    let (first, rest) = src.split_at(head);
    // SAFETY: the three parts of `src` are copied to the same offsets of `dst`; the second starts at a multiple of 64.
    unsafe {
        std::ptr::copy_nonoverlapping(first.as_ptr(), dst, head);
        let streamed = arch::stream_vectors(rest, dst.add(head));
        let last = &rest[streamed..];
        std::ptr::copy_nonoverlapping(last.as_ptr(), dst.add(head + streamed), last.len());
    }
}

/// Makes streamed stores of this thread visible before anything that follows.
pub(crate) fn stream_fence() {
    arch::stream_fence();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(make: impl Fn(usize) -> T, stream: bool) {
        let Some(edge) = transpose_edge(size_of::<T>()) else { return };
        let (ss, ds) = (edge + 3, edge * 2);
        let src: Vec<T> = (0..ss * edge).map(&make).collect();
        let mut dst = vec![make(0); ds * edge];
        // SAFETY: both hold `edge` rows of their stride.
        unsafe { transpose(src.as_ptr(), ss, dst.as_mut_ptr(), ds, stream) };
        stream_fence();
        for i in 0..edge {
            for j in 0..edge {
                assert_eq!(dst[i * ds + j], src[j * ss + i], "{i} {j}");
            }
        }
    }

    #[test]
    fn blocks_are_transposed() {
        for stream in [false, true] {
            check(|i| i as u32, stream);
            check(|i| i as u16, stream);
        }
    }

    #[test]
    fn streamed_copies_are_whole_at_every_alignment() {
        let src: Vec<u8> = (0..=255).collect();
        for start in 0..70 {
            for length in [0, 1, 15, 16, 63, 64, 100, 186] {
                let mut dst = vec![7u8; 256];
                // SAFETY: start + length is at most 255.
                unsafe { stream_copy(&src[..length], dst.as_mut_ptr().add(start)) };
                stream_fence();
                assert_eq!(dst[start..start + length], src[..length]);
                assert!(dst[..start].iter().chain(&dst[start + length..]).all(|&b| b == 7));
            }
        }
    }

    #[test]
    fn a_loop_runs_and_gives_its_result_back() {
        struct Sum<'a>(&'a [i32]);
        impl Loop for Sum<'_> {
            type Out = i32;
            #[inline(always)]
            fn run(self) -> i32 {
                self.0.iter().sum()
            }
        }
        assert_eq!(dispatch(Sum(&[1, 2, 3])), 6);
    }
}
