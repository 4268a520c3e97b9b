//! The innermost loops: rows of operands under a function of elements.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use half::bf16;

use super::run::TileRows;
use crate::dtype::Element;
use crate::math::{self, Arithmetic};
use crate::simd::{self, Loop, MathLoop};

/// A function of one element that is inlined into a loop: a *small* closure or function, or what [`math_function!`] makes. A large one
/// stays a function, even if it is marked `#[inline(always)]` itself, and computes one element at a time.
pub(crate) trait Function<A, O>: Sync {
    /// The function's value, in the arithmetic of the loop.
    fn of<M: Arithmetic>(&self, a: A) -> O;

    /// The function's values of as many elements as both lists have.
    #[inline(always)]
    fn over<M: Arithmetic>(&self, from: &[A], to: &mut [O])
    where
        A: Copy,
    {
        // A closure would be a function of its own, without the loop's instructions.
        for (to, &a) in to.iter_mut().zip(from) {
            *to = self.of::<M>(a);
        }
    }

    /// The same for an element of bf16 that was widened.
    #[inline(always)]
    fn of_widened<M: Arithmetic>(&self, a: A) -> O {
        self.of::<M>(a)
    }
}

impl<A, O, F: Fn(A) -> O + Sync> Function<A, O> for F {
    #[inline(always)]
    fn of<M: Arithmetic>(&self, a: A) -> O {
        self(a)
    }
}

/// What a function of f32 gives where it runs in bf16: a number is rounded, the answer of a comparison stays.
pub(crate) trait MapResult: Element {
    /// The type of the result in bf16.
    type InBf16: Element;
    /// The result in bf16.
    fn in_bf16(self) -> Self::InBf16;
}

impl MapResult for f32 {
    type InBf16 = bf16;
    #[inline(always)]
    fn in_bf16(self) -> bf16 {
        math::to_bf16(self)
    }
}

impl MapResult for u8 {
    type InBf16 = u8;
    #[inline(always)]
    fn in_bf16(self) -> u8 {
        self
    }
}

/// A comparison with a number. Beside elements of bf16 the number is rounded first, as in PyTorch: 0.1 equals the element that was made of
/// 0.1.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<F> {
    compare: F,
    number: f32,
    rounded: f32,
}

impl<F: Fn(f32, f32) -> bool + Sync> Comparison<F> {
    pub(crate) fn new(number: f32, compare: F) -> Comparison<F> {
        Comparison { compare, number, rounded: math::widen(math::to_bf16(number)) }
    }
}

impl<F: Fn(f32, f32) -> bool + Sync> Function<f32, u8> for Comparison<F> {
    #[inline(always)]
    fn of<M: Arithmetic>(&self, a: f32) -> u8 {
        u8::from((self.compare)(a, self.number))
    }

    #[inline(always)]
    fn of_widened<M: Arithmetic>(&self, a: f32) -> u8 {
        u8::from((self.compare)(a, self.rounded))
    }
}

/// A function of f32 for operands of bf16: they are widened, which is exact, and the result is rounded once.
#[derive(Clone, Copy)]
pub(crate) struct InBf16<F, O>(pub F, pub PhantomData<O>);

impl<O: MapResult, F: Function<f32, O>> Function<bf16, O::InBf16> for InBf16<F, O> {
    #[inline(always)]
    fn of<M: Arithmetic>(&self, a: bf16) -> O::InBf16 {
        self.0.of_widened::<M>(math::widen(a)).in_bf16()
    }
}

impl<O: MapResult, F: Function2<f32, f32, O>> Function2<bf16, bf16, O::InBf16> for InBf16<F, O> {
    #[inline(always)]
    fn of(&self, a: bf16, b: bf16) -> O::InBf16 {
        self.0.of(math::widen(a), math::widen(b)).in_bf16()
    }
}

/// Makes a [`Function`] of f32 of an expression in which `M` is the arithmetic of the loop. Parameters of the function follow its
/// element, and their values follow the expression. With two elements, which a semicolon ends, it is a [`Function2`]:
///
/// ```ignore
/// math_function!(|x, alpha: f32| math::elu::<M>(x, alpha), alpha as f32)
/// math_function!(|x, g; slope: f32| if x > 0.0 { g } else { g * slope }, slope as f32)
/// ```
macro_rules! math_function {
    (|$x:ident, $y:ident; $($param:ident: $type:ty),*| $body:expr $(, $value:expr)*) => {{
        #[derive(Clone, Copy)]
        struct Inlined {
            $($param: $type),*
        }
        impl $crate::elementwise::Function2<f32, f32, f32> for Inlined {
            #[inline(always)]
            fn of(&self, $x: f32, $y: f32) -> f32 {
                let Inlined { $($param),* } = *self;
                $body
            }
        }
        Inlined { $($param: $value),* }
    }};
    (|$x:ident $(, $param:ident: $type:ty)*| $body:expr $(, $value:expr)*) => {{
        #[derive(Clone, Copy)]
        struct Inlined {
            $($param: $type),*
        }
        impl $crate::elementwise::Function<f32, f32> for Inlined {
            #[inline(always)]
            fn of<M: $crate::math::Arithmetic>(&self, $x: f32) -> f32 {
                let Inlined { $($param),* } = *self;
                $body
            }
        }
        Inlined { $($param: $value),* }
    }};
}
pub(crate) use math_function;

/// A function of two elements that is inlined into a loop: a *small* closure, or what [`math_function!`] makes.
pub(crate) trait Function2<A, B, O>: Sync {
    /// The function's value.
    fn of(&self, a: A, b: B) -> O;
}

impl<A, B, O, F: Fn(A, B) -> O + Sync> Function2<A, B, O> for F {
    #[inline(always)]
    fn of(&self, a: A, b: B) -> O {
        self(a, b)
    }
}

/// Row `r` of an operand: `rows.length` elements, or one that is repeated along the row.
///
/// # Safety
/// The operand has elements of type `E` there, and nobody writes them while the slice lives.
#[inline(always)]
unsafe fn row<E>(rows: &TileRows, operand: usize, r: usize) -> &[E] {
    let length = if rows.single[operand] { 1 } else { rows.length };
    // SAFETY: the caller's promise.
    unsafe {
        let start = rows.src[operand].cast::<E>().add(r * rows.src_strides[operand]);
        std::slice::from_raw_parts(start, length)
    }
}

/// `n` rows of the destination from row `r` on. If `n` is not 1, they follow each other in memory.
///
/// # Safety
/// The rows are in the destination, and nobody else accesses them while the slice lives.
#[inline(always)]
#[allow(clippy::mut_from_ref)]
unsafe fn dst_rows<E>(rows: &TileRows, r: usize, n: usize) -> &mut [E] {
    // SAFETY: the caller's promise.
    unsafe {
        let start = rows.dst.cast::<E>().add(r * rows.dst_stride);
        std::slice::from_raw_parts_mut(start, n * rows.length)
    }
}

/// Elements of a repeating operand that are expanded at a time.
const GROUP: usize = 512;

/// An operand's rows of one vector each (see [`TileRows::vectors`]), several at a time: in place, or expanded if the operand
/// repeats.
struct VectorRows<E> {
    expanded: [MaybeUninit<E>; GROUP],
    /// Whether `expanded` holds the one row of an operand that repeats from row to row.
    ready: bool,
}

impl<E: Element> VectorRows<E> {
    #[inline(always)]
    fn new() -> Self {
        VectorRows { expanded: [const { MaybeUninit::uninit() }; GROUP], ready: false }
    }

    /// `n` rows from row `first` on, contiguous; at most [`GROUP`] elements.
    ///
    /// # Safety
    /// The operand has elements of type `E` in these rows, and nobody writes them while the slice lives.
    #[inline(always)]
    unsafe fn rows<'a>(&'a mut self, rows: &'a TileRows, operand: usize, first: usize, n: usize) -> &'a [E] {
        let (length, step) = (rows.length, rows.src_strides[operand]);
        let single = rows.single[operand];
        // SAFETY: the caller's promise; the elements of `expanded` that are read were written by this call or the first one.
        unsafe {
            let start = rows.src[operand].cast::<E>().add(first * step);
            if step == length && !single {
                return std::slice::from_raw_parts(start, n * length);
            }
            let to = self.expanded.as_mut_ptr().cast::<E>();
            let repeats = step == 0;
            if !(repeats && self.ready) {
                let n = if repeats { GROUP / length } else { n };
                match length {
                    16 => expand_rows::<E, 16>(start, step, single, n, to),
                    _ => expand_rows::<E, 8>(start, step, single, n, to),
                }
                self.ready = true;
            }
            std::slice::from_raw_parts(to, n * length)
        }
    }
}

/// Writes `n` contiguous rows of `L` elements. A source row is `L` elements, or one value that is repeated.
///
/// # Safety
/// The rows can be read, and `n * L` elements written at `to`.
#[inline(always)]
unsafe fn expand_rows<E: Copy, const L: usize>(
    from: *const E,
    step: usize,
    single: bool,
    n: usize,
    to: *mut E,
) {
    let to = to.cast::<[E; L]>();
    // SAFETY: the caller's promise; an array has the alignment of its elements.
    unsafe {
        if single {
            for r in 0..n {
                *to.add(r) = [*from.add(r * step); L];
                // Keeps the compiler from interchanging the loops, which would scatter a vector of rows element by element.
                simd::end_of_chunk();
            }
        } else {
            for r in 0..n {
                *to.add(r) = *from.add(r * step).cast::<[E; L]>();
            }
        }
    }
}

/// How many rows of one vector each are processed together.
#[inline(always)]
fn rows_per_group(rows: &TileRows) -> usize {
    debug_assert!(rows.dst_stride == rows.length && matches!(rows.length, 8 | 16));
    if rows.length == 16 { GROUP / 16 } else { GROUP / 8 }
}

/// A map of one operand over the rows of a tile.
pub(super) struct Map1<'a, F, T> {
    pub rows: &'a TileRows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, O: Element, F: Function<A, O>> MathLoop for Map1<'_, F, (A, O)> {
    type Out = ();
    #[inline(always)]
    fn run<M: Arithmetic>(self) {
        let Map1 { rows, f, .. } = self;
        for r in 0..rows.rows {
            // SAFETY: `run::run` gives rows of the operands' types, and the destination's rows to this task alone.
            let (dst, a) = unsafe { (dst_rows::<O>(rows, r, 1), row::<A>(rows, 0, r)) };
            if rows.single[0] {
                dst.fill(f.of::<M>(a[0]));
                continue;
            }
            f.over::<M>(a, dst);
        }
    }
}

/// A map of two operands over the rows of a tile.
pub(super) struct Map2<'a, F, T> {
    pub rows: &'a TileRows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, B: Element, O: Element, F: Function2<A, B, O>> Loop for Map2<'_, F, (A, B, O)> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Map2 { rows, f, .. } = self;
        if rows.vectors {
            let (mut a_rows, mut b_rows) = (VectorRows::<A>::new(), VectorRows::<B>::new());
            let mut r = 0;
            while r < rows.rows {
                let n = rows_per_group(rows).min(rows.rows - r);
                // SAFETY: as in `Map1`.
                let (dst, a, b) =
                    unsafe { (dst_rows(rows, r, n), a_rows.rows(rows, 0, r, n), b_rows.rows(rows, 1, r, n)) };
                map_row2(dst, (a, false), (b, false), f);
                r += n;
            }
            return;
        }
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            let (dst, a, b) =
                unsafe { (dst_rows::<O>(rows, r, 1), row::<A>(rows, 0, r), row::<B>(rows, 1, r)) };
            map_row2(dst, (a, rows.single[0]), (b, rows.single[1]), f);
        }
    }
}

/// Applies `f` to one row of two operands, each of which may be a single value.
#[inline(always)]
fn map_row2<A: Copy, B: Copy, O: Copy>(
    dst: &mut [O],
    (a, a_single): (&[A], bool),
    (b, b_single): (&[B], bool),
    f: &impl Function2<A, B, O>,
) {
    match (a_single, b_single) {
        (false, false) => {
            for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
                *d = f.of(a, b);
            }
        }
        (false, true) => {
            let b = b[0];
            for (d, &a) in dst.iter_mut().zip(a) {
                *d = f.of(a, b);
            }
        }
        (true, false) => {
            let a = a[0];
            for (d, &b) in dst.iter_mut().zip(b) {
                *d = f.of(a, b);
            }
        }
        (true, true) => dst.fill(f.of(a[0], b[0])),
    }
}

/// A map of three operands over the rows of a tile.
pub(super) struct Map3<'a, F, T> {
    pub rows: &'a TileRows,
    pub f: &'a F,
    pub of: PhantomData<T>,
}

impl<A: Element, B: Element, C: Element, O: Element, F: Fn(A, B, C) -> O + Sync> Loop
    for Map3<'_, F, (A, B, C, O)>
{
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Map3 { rows, f, .. } = self;
        if rows.vectors {
            let (mut a_rows, mut b_rows, mut c_rows) =
                (VectorRows::<A>::new(), VectorRows::<B>::new(), VectorRows::<C>::new());
            let mut r = 0;
            while r < rows.rows {
                let n = rows_per_group(rows).min(rows.rows - r);
                // SAFETY: as in `Map1`.
                let (dst, a, b, c) = unsafe {
                    let (a, b) = (a_rows.rows(rows, 0, r, n), b_rows.rows(rows, 1, r, n));
                    (dst_rows::<O>(rows, r, n), a, b, c_rows.rows(rows, 2, r, n))
                };
                map_row3(dst, a, b, c, f);
                r += n;
            }
            return;
        }
        let [a_single, b_single, c_single] = rows.single;
        for r in 0..rows.rows {
            // SAFETY: as in `Map1`.
            let (dst, a, b, c) = unsafe {
                (dst_rows::<O>(rows, r, 1), row::<A>(rows, 0, r), row::<B>(rows, 1, r), row::<C>(rows, 2, r))
            };
            if c_single {
                let c = c[0];
                map_row2(dst, (a, a_single), (b, b_single), &|a, b| f(a, b, c));
            } else if b_single {
                let b = b[0];
                map_row2(dst, (a, a_single), (c, false), &|a, c| f(a, b, c));
            } else if a_single {
                let a = a[0];
                map_row2(dst, (b, false), (c, false), &|b, c| f(a, b, c));
            } else {
                map_row3(dst, a, b, c, f);
            }
        }
    }
}

/// Applies `f` to one row of three operands.
#[inline(always)]
fn map_row3<A: Copy, B: Copy, C: Copy, O: Copy>(
    dst: &mut [O],
    a: &[A],
    b: &[B],
    c: &[C],
    f: impl Fn(A, B, C) -> O,
) {
    for (((d, &a), &b), &c) in dst.iter_mut().zip(a).zip(b).zip(c) {
        *d = f(a, b, c);
    }
}
