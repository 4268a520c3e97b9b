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
        Level::Avx512(proof) => proof.run(Computed::<L, Fused>(l, PhantomData)),
        Level::Avx2(proof) => proof.run(Computed::<L, Fused>(l, PhantomData)),
        Level::Baseline => l.run::<Separate>(),
    }
}

impl Avx512 {
    /// Runs the loop compiled for AVX-512.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: a proof exists only if every feature that the function enables was detected.
        unsafe { avx512(l) }
    }
}

impl Avx512Vnni {
    /// Runs the loop compiled for AVX-512 with VNNI.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { avx512_vnni(l) }
    }
}

impl AvxVnni {
    /// Runs the loop compiled for AVX2 with AVX-VNNI.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { avx_vnni(l) }
    }
}

impl Avx2 {
    /// Runs the loop compiled for AVX2.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { avx2(l) }
    }
}

/// # Safety
/// The machine has the features.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<L: Loop>(l: L) -> L::Out {
    l.run()
}

/// # Safety
/// The machine has the features.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn avx512_vnni<L: Loop>(l: L) -> L::Out {
    l.run()
}

/// # Safety
/// The machine has the features.
#[target_feature(enable = "avx2,fma,avxvnni")]
unsafe fn avx_vnni<L: Loop>(l: L) -> L::Out {
    l.run()
}

/// # Safety
/// The machine has the features.
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<L: Loop>(l: L) -> L::Out {
    l.run()
}
