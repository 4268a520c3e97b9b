//! x86-64: AVX-512, AVX2 and the baseline's SSE2.

mod amx;
mod bytes;
mod level;
mod stream;
mod transpose;
mod vectors;

pub(super) use amx::{MatrixUnit, TileRegisters, matrix_unit};
pub(super) use bytes::{dispatch_bytes, lookup};
pub(crate) use level::Level;
pub(super) use level::detect;
pub(super) use stream::{prefetch_line, stream_fence, stream_vectors};
pub(super) use transpose::{transpose, transpose_edge};

use std::marker::PhantomData;

use super::{Computed, Loop, MathLoop};
use crate::math::{Fused, Separate};
use level::{Avx2, Avx512, Avx512Vnni, AvxVnni};

/// Runs the loop with the widest vectors of this machine.
#[inline]
pub(super) fn dispatch<L: Loop>(l: L) -> L::Out {
    match super::level() {
        Level::Avx512(proof) => proof.run(l),
        Level::Avx2(proof) => proof.run(l),
        Level::Baseline => l.run(),
    }
}

/// Vectors of 256 bits and more.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {
    Avx2(Avx2),
    Avx512(Avx512),
}

pub(super) fn wide() -> Option<Wide> {
    match super::level() {
        Level::Avx512(proof) => Some(Wide::Avx512(proof)),
        Level::Avx2(proof) => Some(Wide::Avx2(proof)),
        Level::Baseline => None,
    }
}

impl Wide {
    /// Runs the loop with the widest vectors of this machine.
    #[inline]
    pub(crate) fn run<L: Loop>(self, l: L) -> L::Out {
        match self {
            Wide::Avx512(proof) => proof.run(l),
            Wide::Avx2(proof) => proof.run(l),
        }
    }
}

/// As [`dispatch`]. AVX2 and AVX-512 come with fused multiply-add.
#[inline]
pub(super) fn dispatch_math<L: MathLoop>(l: L) -> L::Out {
    match super::level() {
        Level::Avx512(proof) => proof.run((l, Computed::<Fused>(PhantomData))),
        Level::Avx2(proof) => proof.run((l, Computed::<Fused>(PhantomData))),
        Level::Baseline => l.run::<Separate>(),
    }
}

impl Avx512 {
    /// Runs the loop compiled for AVX-512.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: a proof exists only if every feature that the function enables was detected.
        unsafe { l.avx512() }
    }
}

impl Avx512Vnni {
    /// Runs the loop compiled for AVX-512 with VNNI.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { l.avx512_vnni() }
    }
}

impl AvxVnni {
    /// Runs the loop compiled for AVX2 with AVX-VNNI.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { l.avx_vnni() }
    }
}

impl Avx2 {
    /// Runs the loop compiled for AVX2.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { l.avx2() }
    }
}

/// A loop, compiled for each instruction set. These are methods of a trait since the compiler puts the code of a method where the type is
/// that has it: beside the kernel, and not with all other loops into one unit, which one thread would compile.
trait Compiled: Loop + Sized {
    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline(never)]
    unsafe fn avx512(self) -> Self::Out {
        self.run()
    }

    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline(never)]
    unsafe fn avx512_vnni(self) -> Self::Out {
        self.run()
    }

    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma,avxvnni")]
    #[inline(never)]
    unsafe fn avx_vnni(self) -> Self::Out {
        self.run()
    }

    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    unsafe fn avx2(self) -> Self::Out {
        self.run()
    }
}

impl<L: Loop> Compiled for L {}
