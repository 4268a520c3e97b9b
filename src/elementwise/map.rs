//! Maps over one to three operands.

use super::plan::Nest;
use super::run::{self, Rows, Source};
use crate::dtype::Element;
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, Operand};
use crate::simd::{self, Loop};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::{StridedTensor, for_each_offset};
use crate::threads::SyncPtr;

/// `f` of every element of `a`. The result's strides are those that [`FormatRule::ElementWise`] gives.
///
/// `f` should be a function marked `#[inline(always)]`, or a small closure: it is compiled into a vector
/// loop.
///
/// # Errors
/// `DTypeMismatch` when the operand's elements are not `A`; `OutOfMemory`.
pub fn map1<A: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    f: impl Fn(A) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a])?;
    map1_into(op, &mut dst, a, f)?;
    Ok(dst)
}

/// `f` of every pair of elements, the operands broadcast against each other. As [`map1`].
///
/// # Errors
/// As `map1`, and `ShapeMismatch` for shapes that do not broadcast.
pub fn map2<A: Element, B: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    b: &StridedTensor,
    f: impl Fn(A, B) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a, b])?;
    map2_into(op, &mut dst, a, b, f)?;
    Ok(dst)
}

/// `f` of every triple of elements, the operands broadcast against each other. As [`map1`].
///
/// # Errors
/// As `map1`, and `ShapeMismatch` for shapes that do not broadcast.
pub fn map3<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    b: &StridedTensor,
    c: &StridedTensor,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a, b, c])?;
    map3_into(op, &mut dst, a, b, c, f)?;
    Ok(dst)
}

/// As [`map1`], into a tensor that keeps its strides.
///
/// # Errors
/// As `map1`; `ShapeMismatch` when `dst` has not the operands' common shape; `OverlappingOutput` when
/// elements of `dst` share memory; `Aliasing` when another tensor shares its storage. `dst` is then as it
/// was.
pub fn map1_into<A: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    f: impl Fn(A) -> O + Sync,
) -> Result<()> {
    let ready = prepare::<O>(op, dst, &[(a, A::DTYPE)], false)?;
    let Some((nest, to)) = ready else { return Ok(()) };
    let kernel = |rows: &Rows| simd::dispatch(Map1 { rows, f: &f, of: std::marker::PhantomData::<(A, O)> });
    // SAFETY: `prepare` checked shapes, dtypes, overlap and sharing; tensors reach no element outside their
    // storage.
    unsafe { run::run(&nest, to, size_of::<O>(), &[source::<A>(a)], &kernel) };
    Ok(())
}

/// As [`map2`], into a tensor that keeps its strides.
///
/// # Errors
/// As [`map1_into`].
pub fn map2_into<A: Element, B: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    b: &StridedTensor,
    f: impl Fn(A, B) -> O + Sync,
) -> Result<()> {
    let ready = prepare::<O>(op, dst, &[(a, A::DTYPE), (b, B::DTYPE)], false)?;
    let Some((nest, to)) = ready else { return Ok(()) };
    let kernel =
        |rows: &Rows| simd::dispatch(Map2 { rows, f: &f, of: std::marker::PhantomData::<(A, B, O)> });
    // SAFETY: as in `map1_into`.
    unsafe { run::run(&nest, to, size_of::<O>(), &[source::<A>(a), source::<B>(b)], &kernel) };
    Ok(())
}

/// As [`map3`], into a tensor that keeps its strides.
///
/// # Errors
/// As [`map1_into`].
pub fn map3_into<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    b: &StridedTensor,
    c: &StridedTensor,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<()> {
    let ready = prepare::<O>(op, dst, &[(a, A::DTYPE), (b, B::DTYPE), (c, C::DTYPE)], false)?;
    let Some((nest, to)) = ready else { return Ok(()) };
    let kernel =
        |rows: &Rows| simd::dispatch(Map3 { rows, f: &f, of: std::marker::PhantomData::<(A, B, C, O)> });
    let sources = [source::<A>(a), source::<B>(b), source::<C>(c)];
    // SAFETY: as in `map1_into`.
    unsafe { run::run(&nest, to, size_of::<O>(), &sources, &kernel) };
    Ok(())
}

/// Copies `src`, broadcast to its shape, into `dst`, which keeps its strides. No dtype is converted.
/// PyTorch's `copy_`.
///
/// This is not a reorder in the ledger: the caller says what it is (`contiguous` and its like do).
///
/// # Errors
/// As [`map1_into`].
pub fn copy_into(op: &'static str, dst: &mut StridedTensor, src: &StridedTensor) -> Result<()> {
    use crate::dtype::DType;
    match dst.dtype() {
        DType::F32 => copy_elements::<f32>(op, dst, src),
        DType::S32 => copy_elements::<i32>(op, dst, src),
        DType::BF16 => copy_elements::<half::bf16>(op, dst, src),
        DType::F16 => copy_elements::<half::f16>(op, dst, src),
        DType::U8 => copy_elements::<u8>(op, dst, src),
        DType::S8 => copy_elements::<i8>(op, dst, src),
    }
}

fn copy_elements<E: Element>(op: &'static str, dst: &mut StridedTensor, src: &StridedTensor) -> Result<()> {
    if let Some((nest, to)) = prepare::<E>(op, dst, &[(src, E::DTYPE)], true)? {
        // SAFETY: as in `map1_into`.
        unsafe { run::copy(&nest, to, source::<E>(src)) };
    }
    Ok(())
}

fn result<O: Element>(op: &'static str, operands: &[&StridedTensor]) -> Result<StridedTensor> {
    let views: Vec<Operand<'_>> = operands.iter().map(|o| o.operand()).collect();
    let shape = iterator::broadcast(op, &views)?;
    FormatRule::ElementWise.empty_result(op, operands, &shape, O::DTYPE)
}

fn source<E: Element>(of: &StridedTensor) -> Source<'_> {
    Source { bytes: bytemuck::cast_slice(of.data::<E>()), size: size_of::<E>() }
}

/// Checks everything that can be wrong; `None` when there is nothing to do.
fn prepare<O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    srcs: &[(&StridedTensor, crate::DType)],
    stretch: bool,
) -> Result<Option<(Nest, SyncPtr<u8>)>> {
    check_dtype(op, "dst", dst, O::DTYPE)?;
    for &(src, dtype) in srcs {
        check_dtype(op, "operand", src, dtype)?;
    }
    let views: Vec<Operand<'_>> = srcs.iter().map(|(s, _)| s.operand()).collect();
    let shape = iterator::broadcast(op, &views)?;
    // A copy may be stretched to its destination, as PyTorch's `copy_` does; an op's result has the common shape.
    let all: Vec<Operand<'_>> = views.iter().copied().chain([dst.operand()]).collect();
    let wanted = if stretch { iterator::broadcast(op, &all).ok() } else { Some(shape) };
    if wanted != Some(dst.dims) {
        fail!(
            ShapeMismatch,
            op,
            "dst",
            dst.dims.to_string(),
            format!("the operands have the common shape {shape}"),
            "pass a destination of that shape"
        );
    }
    check_no_overlap(op, dst)?;
    let mut strides = vec![dst.strides];
    strides.extend(views.iter().map(|&v| iterator::stretched(&dst.dims, v)));
    let dims = dst.dims;
    let Some(data) = dst.data_mut::<O>() else {
        fail!(
            Aliasing,
            op,
            "dst",
            "storage that another tensor shares",
            "a destination is written, and must be the only owner",
            "drop the other tensor, or pass a copy"
        )
    };
    if dims.contains(&0) {
        return Ok(None);
    }
    Ok(Some((Nest::new(&dims, &strides), SyncPtr::new(bytemuck::cast_slice_mut(data)))))
}

pub(super) fn check_dtype(
    op: &'static str,
    argument: &'static str,
    tensor: &StridedTensor,
    wanted: crate::DType,
) -> Result<()> {
    if tensor.dtype() == wanted {
        return Ok(());
    }
    fail!(
        DTypeMismatch,
        op,
        argument,
        tensor.dtype().name(),
        format!("this kernel takes {wanted}"),
        "pass a tensor of that dtype"
    )
}

/// `OverlappingOutput` unless every element of the tensor has memory of its own.
pub(super) fn check_no_overlap(op: &'static str, dst: &StridedTensor) -> Result<()> {
    if has_own_memory(&dst.dims, &dst.strides) {
        return Ok(());
    }
    fail!(
        OverlappingOutput,
        op,
        "dst",
        format!("sizes {} with strides {}", dst.dims, dst.strides),
        "some of its elements share memory",
        "pass a destination without stride 0 or overlap, for example a copy"
    )
}

fn has_own_memory(dims: &[usize], strides: &[usize]) -> bool {
    if dims.contains(&0) {
        return true;
    }
    let mut used: Dims = (0..dims.len()).filter(|&d| dims[d] > 1).collect();
    used.sort_by_key(|&d| strides[d]);
    let mut span = 1usize;
    let nested = used.iter().all(|&d| {
        let clear = strides[d] >= span;
        span += (dims[d] - 1) * strides[d];
        clear
    });
    if nested || used.iter().any(|&d| strides[d] == 0) {
        return nested;
    }
    // Interleaved strides may still miss each other: look at every element.
    let span = 1 + used.iter().map(|&d| (dims[d] - 1) * strides[d]).sum::<usize>();
    let mut taken = vec![0u64; span.div_ceil(64)];
    let mut own = true;
    for_each_offset(dims, strides, |at| {
        let bit = 1 << (at % 64);
        own &= taken[at / 64] & bit == 0;
        taken[at / 64] |= bit;
    });
    own
}

/// Row `r` of an operand: `rows.length` elements, or one that stands for all of them.
///
/// # Safety
/// The operand has elements of type `E` there, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn row<E>(rows: &Rows, operand: usize, r: usize) -> &[E] {
    let length = if rows.single[operand] { 1 } else { rows.length };
    // SAFETY: the caller's promise.
    unsafe {
        let start = rows.src[operand].cast::<E>().add(r * rows.src_strides[operand]);
        std::slice::from_raw_parts(start, length)
    }
}

/// Row `r` of the destination.
///
/// # Safety
/// The row lies in the destination.
#[inline(always)]
unsafe fn dst_row<E>(rows: &Rows, r: usize) -> *mut [E] {
    // SAFETY: the caller's promise.
    let start = unsafe { rows.dst.cast::<E>().add(r * rows.dst_stride) };
    std::ptr::slice_from_raw_parts_mut(start, rows.length)
}

struct Map1<'a, F, T> {
    rows: &'a Rows,
    f: &'a F,
    of: std::marker::PhantomData<T>,
}

impl<A: Element, O: Element, F: Fn(A) -> O> Loop for Map1<'_, F, (A, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Map1 { rows, f, .. } = self;
        for r in 0..rows.rows {
            // SAFETY: `run::run` gives rows of the operands' types, the destination's to this task alone.
            let (dst, a) = unsafe { (&mut *dst_row::<O>(rows, r), row::<A>(rows, 0, r)) };
            if rows.single[0] {
                dst.fill(f(a[0]));
                continue;
            }
            for (d, &a) in dst.iter_mut().zip(a) {
                *d = f(a);
            }
        }
    }
}

struct Map2<'a, F, T> {
    rows: &'a Rows,
    f: &'a F,
    of: std::marker::PhantomData<T>,
}

impl<A: Element, B: Element, O: Element, F: Fn(A, B) -> O> Loop for Map2<'_, F, (A, B, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Map2 { rows, f, .. } = self;
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            let (dst, a, b) =
                unsafe { (&mut *dst_row::<O>(rows, r), row::<A>(rows, 0, r), row::<B>(rows, 1, r)) };
            zip2(dst, (a, rows.single[0]), (b, rows.single[1]), f);
        }
    }
}

/// One row of two operands, either of which may be single.
#[inline(always)]
fn zip2<A: Copy, B: Copy, O: Copy>(
    dst: &mut [O],
    (a, a_single): (&[A], bool),
    (b, b_single): (&[B], bool),
    f: impl Fn(A, B) -> O,
) {
    match (a_single, b_single) {
        (false, false) => {
            for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
                *d = f(a, b);
            }
        }
        (false, true) => {
            let b = b[0];
            for (d, &a) in dst.iter_mut().zip(a) {
                *d = f(a, b);
            }
        }
        (true, false) => {
            let a = a[0];
            for (d, &b) in dst.iter_mut().zip(b) {
                *d = f(a, b);
            }
        }
        (true, true) => dst.fill(f(a[0], b[0])),
    }
}

struct Map3<'a, F, T> {
    rows: &'a Rows,
    f: &'a F,
    of: std::marker::PhantomData<T>,
}

impl<A: Element, B: Element, C: Element, O: Element, F: Fn(A, B, C) -> O> Loop for Map3<'_, F, (A, B, C, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Map3 { rows, f, .. } = self;
        let [a_single, b_single, c_single] = rows.single;
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            let (dst, a, b, c) = unsafe {
                (
                    &mut *dst_row::<O>(rows, r),
                    row::<A>(rows, 0, r),
                    row::<B>(rows, 1, r),
                    row::<C>(rows, 2, r),
                )
            };
            if c_single {
                let c = c[0];
                zip2(dst, (a, a_single), (b, b_single), |a, b| f(a, b, c));
            } else if b_single {
                let b = b[0];
                zip2(dst, (a, a_single), (c, false), |a, c| f(a, b, c));
            } else if a_single {
                let a = a[0];
                zip2(dst, (b, false), (c, false), |b, c| f(a, b, c));
            } else {
                for (((d, &a), &b), &c) in dst.iter_mut().zip(a).zip(b).zip(c) {
                    *d = f(a, b, c);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_told_exactly() {
        assert!(has_own_memory(&[2, 3], &[3, 1]));
        assert!(has_own_memory(&[2, 3], &[1, 2]));
        assert!(has_own_memory(&[2, 3], &[3, 2]), "interleaved, but apart: 0 2 4, 3 5 7");
        assert!(!has_own_memory(&[2, 3], &[2, 1]));
        assert!(!has_own_memory(&[2, 3], &[0, 1]));
        assert!(has_own_memory(&[1, 3], &[0, 1]));
        assert!(has_own_memory(&[2, 0], &[0, 0]));
    }
}
