//! Machines without a module of their own: the compiler chooses the instructions, from those that the target guarantees.

use super::bytes::{ByteLoop, PlainBytes, lookup_each};
use super::matrix::Factors;
use super::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};
use super::{Loop, MathLoop, VectorUnit};
#[cfg(target_arch = "aarch64")]
use crate::math::Fused as Native;
#[cfg(not(target_arch = "aarch64"))]
use crate::math::Separate as Native;

/// Registers of 128 bits. aarch64 has 32; of other machines at least 16 are expected.
const UNIT: VectorUnit =
    VectorUnit { lanes: 4, registers: if cfg!(target_arch = "aarch64") { 32 } else { 16 } };

/// The only level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level;

impl Level {
    /// Whether it has these instructions.
    pub(crate) fn has(self, isa: super::Isa) -> bool {
        isa == super::Isa::Baseline
    }

    /// Its name, for logs and files.
    pub(crate) fn name(self) -> &'static str {
        "baseline"
    }

    /// The registers of its vectors.
    pub(super) fn unit(self) -> VectorUnit {
        UNIT
    }
}

pub(super) fn detect(_bits: usize) -> Level {
    Level
}

#[inline]
pub(super) fn dispatch<L: Loop>(l: L) -> L::Out {
    l.run()
}

/// The only vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide;

pub(super) fn wide() -> Option<Wide> {
    Some(Wide)
}

impl Wide {
    /// Runs the loop.
    #[inline]
    pub(crate) fn run<L: Loop>(self, l: L) -> L::Out {
        l.run()
    }
}

/// Every aarch64 machine has fused multiply-add.
#[inline]
pub(super) fn dispatch_math<L: MathLoop>(l: L) -> L::Out {
    l.run::<Native>()
}

pub(super) fn dispatch_bytes<L: ByteLoop>(l: L) {
    l.run::<PlainBytes>(());
}

pub(super) fn lookup(table: &[u8; 256], x: &[u8], to: &mut [u8]) {
    lookup_each(table, x, to);
}

/// No machine here has tile registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatrixUnit {}

/// Registers that there are not.
pub(super) enum TileRegisters {}

pub(super) fn matrix_unit() -> Option<MatrixUnit> {
    None
}

impl MatrixUnit {
    pub(super) fn configure(self, _pixels: usize, _quads: usize) -> TileRegisters {
        match self {}
    }
}

impl TileRegisters {
    /// # Safety
    /// None is needed.
    pub(super) unsafe fn multiply(&self, _: Factors<'_>, _: &[[usize; 2]], _: &mut [[i32; 16]]) {
        match *self {}
    }
}

#[inline(always)]
pub(super) fn prefetch_line(_at: *const i8) {}

pub(super) fn transpose_edge(_element_bytes: usize) -> Option<usize> {
    None
}

/// Never called.
///
/// # Safety
/// [`transpose_edge`] would have to be `Some`.
pub(super) unsafe fn transpose<T: Copy>(
    _src: *const T,
    _src_stride: usize,
    _dst: *mut T,
    _dst_stride: usize,
    _stream: bool,
) {
    unreachable!("transpose_edge is None")
}

/// Copies nothing: the caller copies with plain stores.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn stream_vectors(_src: &[u8], _dst: *mut u8) -> usize {
    0
}

pub(super) fn stream_fence() {}

/// Vectors without intrinsics: the compiler chooses the instructions.
impl<const B: usize> Vector<B> for [f32; B] {
    type Proof = ();
    const REGISTERS: usize = UNIT.vectors_of(B);
    #[inline(always)]
    fn splat((): (), x: f32) -> Self {
        [x; B]
    }
    #[inline(always)]
    fn load((): (), x: &[f32; B]) -> Self {
        *x
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; B]) {
        *to = self;
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        std::array::from_fn(|l| self[l] + a[l] * b[l])
    }
    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        std::array::from_fn(|l| self[l] - a[l] * b[l])
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        std::array::from_fn(|l| self[l] + b[l])
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        std::array::from_fn(|l| self[l] - b[l])
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        std::array::from_fn(|l| self[l] * b[l])
    }
    #[inline(always)]
    fn larger_or(self, b: Self) -> Self {
        std::array::from_fn(|l| if self[l] > b[l] { self[l] } else { b[l] })
    }
    #[inline(always)]
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
        std::array::from_fn(|l| if self[l] == b[l] { yes[l] } else { no[l] })
    }
    #[inline(always)]
    fn pick(self, src: Self, index: &[i32; B]) -> Self {
        std::array::from_fn(|l| if index[l] == KEEP { self[l] } else { src[index[l] as usize] })
    }
}

impl<const B: usize> VectorWidth<B> for Width<B> {
    fn dispatch<L: VectorLoop<B>>(l: L) {
        l.run::<[f32; B]>(());
    }
}
