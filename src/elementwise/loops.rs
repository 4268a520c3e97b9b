//! The innermost loops: rows of operands under a function of elements.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::run::Rows;
use crate::dtype::Element;
use crate::simd::Loop;

/// A function of one element that a loop inlines: a function marked `#[inline(always)]`, a *small* closure, or
/// [`With`].
pub(crate) trait Function<A, O>: Sync {
    /// The function's value.
    fn of(&self, a: A) -> O;
}

impl<A, O, F: Fn(A) -> O + Sync> Function<A, O> for F {
    #[inline(always)]
    fn of(&self, a: A) -> O {
        self(a)
    }
}

/// A function marked `#[inline(always)]` with its parameters: what a closure over them is, but inlined whatever its
/// size.
#[derive(Clone, Copy)]
pub(crate) struct With<F, P>(pub F, pub P);

impl<A, O, P: Copy + Sync, F: Fn(A, P) -> O + Sync> Function<A, O> for With<F, P> {
    #[inline(always)]
    fn of(&self, a: A) -> O {
        (self.0)(a, self.1)
    }
}

/// Row `r` of an operand.
///
/// # Safety
/// The operand has elements of type `E` there, `rows.length` of them, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn row<'a, E>(rows: &'a Rows, operand: usize, r: usize) -> &'a [E] {
    // SAFETY: the caller's promise.
    unsafe {
        let start = rows.src[operand].cast::<E>().add(r * rows.src_strides[operand]);
        std::slice::from_raw_parts(start, rows.length)
    }
}

/// `n` rows of the destination from row `r` on, which follow each other where there are several.
///
/// # Safety
/// As [`row`], and nobody else touches them meanwhile.
#[inline(always)]
unsafe fn dst_rows<E>(rows: &Rows, r: usize, n: usize) -> &mut [E] {
    // SAFETY: the caller's promise.
    unsafe {
        let start = rows.dst.cast::<E>().add(r * rows.dst_stride);
        std::slice::from_raw_parts_mut(start, n * rows.length)
    }
}

/// Elements that are written out at a time where an operand repeats.
const GROUP: usize = 512;

/// An operand's rows of one vector each (see [`Rows::vectors`]), several at a time: where they lie, or written out.
struct Vectors<E> {
    written: [MaybeUninit<E>; GROUP],
    ready: bool,
}

impl<E: Element> Vectors<E> {
    #[inline(always)]
    fn new() -> Self {
        Vectors { written: [const { MaybeUninit::uninit() }; GROUP], ready: false }
    }

    /// `n` rows from row `first` on, one after the other; at most [`GROUP`] elements.
    ///
    /// # Safety
    /// The operand has elements of type `E` in these rows, and nobody writes them meanwhile.
    #[inline(always)]
    unsafe fn rows<'a>(&'a mut self, rows: &'a Rows, operand: usize, first: usize, n: usize) -> &'a [E] {
        let (length, step) = (rows.length, rows.src_strides[operand]);
        let one_value = rows.one_value[operand];
        // SAFETY: the caller's promise; what is read of `written` was written, now or by the first call.
        unsafe {
            let start = rows.src[operand].cast::<E>().add(first * step);
            if step == length && !one_value {
                return std::slice::from_raw_parts(start, n * length);
            }
            let to = self.written.as_mut_ptr().cast::<E>();
            let repeats = step == 0;
            if !(repeats && self.ready) {
                let n = if repeats { GROUP / length } else { n };
                match length {
                    16 => write_out::<E, 16>(start, step, one_value, n, to),
                    _ => write_out::<E, 8>(start, step, one_value, n, to),
                }
                self.ready = true;
            }
            std::slice::from_raw_parts(to, n * length)
        }
    }
}

/// Writes `n` rows of `L` elements, or of one value each, one after the other.
///
/// # Safety
/// The rows can be read, and `n * L` elements written at `to`.
#[inline(always)]
unsafe fn write_out<E: Copy, const L: usize>(
    from: *const E,
    step: usize,
    one_value: bool,
    n: usize,
    to: *mut E,
) {
    let to = to.cast::<[E; L]>();
    // SAFETY: the caller's promise; an array has the alignment of its elements.
    unsafe {
        if one_value {
            for r in 0..n {
                *to.add(r) = [*from.add(r * step); L];
            }
        } else {
            for r in 0..n {
                *to.add(r) = *from.add(r * step).cast::<[E; L]>();
            }
        }
    }
}

/// Rows of one vector each that are worked on together.
#[inline(always)]
fn group_of(rows: &Rows) -> usize {
    debug_assert!(rows.dst_stride == rows.length && matches!(rows.length, 8 | 16));
    if rows.length == 16 { GROUP / 16 } else { GROUP / 8 }
}

pub(super) struct Map1<'a, F, T> {
    pub rows: &'a Rows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, O: Element, F: Function<A, O>> Loop for Map1<'_, F, (A, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        for r in 0..self.rows.rows {
            // SAFETY: `run::run` gives rows of the operands' types, the destination's to this task alone.
            let (d, a) = unsafe { (dst_rows::<O>(self.rows, r, 1), row::<A>(self.rows, 0, r)) };
            for (d, &a) in d.iter_mut().zip(a) {
                *d = self.f.of(a);
            }
        }
    }
}

pub(super) struct Map2<'a, F, T> {
    pub rows: &'a Rows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, B: Element, O: Element, F: Fn(A, B) -> O> Map2<'_, F, (A, B, O)> {
    #[inline(always)]
    fn each(&self, d: &mut [O], a: &[A], b: &[B]) {
        for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
            *d = (self.f)(a, b);
        }
    }
}

impl<A: Element, B: Element, O: Element, F: Fn(A, B) -> O> Loop for Map2<'_, F, (A, B, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let rows = self.rows;
        if rows.vectors {
            let (mut va, mut vb) = (Vectors::<A>::new(), Vectors::<B>::new());
            let mut r = 0;
            while r < rows.rows {
                let n = group_of(rows).min(rows.rows - r);
                // SAFETY: as in `Map1`.
                unsafe { self.each(dst_rows(rows, r, n), va.rows(rows, 0, r, n), vb.rows(rows, 1, r, n)) };
                r += n;
            }
            return;
        }
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            unsafe { self.each(dst_rows(rows, r, 1), row(rows, 0, r), row(rows, 1, r)) };
        }
    }
}

pub(super) struct Map3<'a, F, T> {
    pub rows: &'a Rows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, B: Element, C: Element, O: Element, F: Fn(A, B, C) -> O> Map3<'_, F, (A, B, C, O)> {
    #[inline(always)]
    fn each(&self, d: &mut [O], a: &[A], b: &[B], c: &[C]) {
        for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
            *d = (self.f)(a, b, c);
        }
    }
}

impl<A: Element, B: Element, C: Element, O: Element, F: Fn(A, B, C) -> O> Loop for Map3<'_, F, (A, B, C, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let rows = self.rows;
        if rows.vectors {
            let (mut va, mut vb, mut vc) = (Vectors::<A>::new(), Vectors::<B>::new(), Vectors::<C>::new());
            let mut r = 0;
            while r < rows.rows {
                let n = group_of(rows).min(rows.rows - r);
                // SAFETY: as in `Map1`.
                unsafe {
                    let (a, b) = (va.rows(rows, 0, r, n), vb.rows(rows, 1, r, n));
                    self.each(dst_rows(rows, r, n), a, b, vc.rows(rows, 2, r, n));
                }
                r += n;
            }
            return;
        }
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            unsafe { self.each(dst_rows(rows, r, 1), row(rows, 0, r), row(rows, 1, r), row(rows, 2, r)) };
        }
    }
}
