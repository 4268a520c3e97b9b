//! Reductions of blocked tensors over the channels alone: block after block into one vector of lanes, then across the
//! lanes, pixel by pixel.

use crate::elementwise::Fold;
use crate::kernels::lanes::Lanes;
use crate::simd::{self, Loop};

/// Every pixel's channels, folded into one. False, and nothing done, for blocks of other than 4 to 64 lanes.
pub(crate) fn fold<F: Fold<In = f32, Out = f32>>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[f32],
    dst: &mut [f32],
) -> bool {
    match view.lanes {
        4 => pixels::<F, 4>(view, to, fold, src, dst),
        8 => pixels::<F, 8>(view, to, fold, src, dst),
        16 => pixels::<F, 16>(view, to, fold, src, dst),
        32 => pixels::<F, 32>(view, to, fold, src, dst),
        64 => pixels::<F, 64>(view, to, fold, src, dst),
        _ => return false,
    }
    true
}

fn pixels<F: Fold<In = f32, Out = f32>, const L: usize>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[f32],
    dst: &mut [f32],
) {
    to.for_each_pixel_run(dst, |p, dst| {
        let from = &src[p.n * view.stride_n + p.first * L..];
        simd::dispatch(Pixels::<F, L> { fold, view, from, dst });
    });
}

/// The blocks of a pixel: how many are full, and the channels of the one that is not.
fn blocks<const L: usize>(view: &Lanes) -> (usize, usize) {
    (view.c / L, view.c % L)
}

/// The lanes of a block from an element on.
#[inline(always)]
fn lanes<const L: usize>(from: &[f32], at: usize) -> &[f32; L] {
    from[at..].first_chunk::<L>().expect("blocks are whole")
}

/// All lanes into the first, by halves.
#[inline(always)]
fn across<T: Copy, const L: usize>(mut lanes: [T; L], f: impl Fn(T, T) -> T) -> T {
    let mut half = L / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = f(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

struct Pixels<'a, F, const L: usize> {
    fold: &'a F,
    view: &'a Lanes,
    /// From the first pixel's first lane on.
    from: &'a [f32],
    dst: &'a mut [f32],
}

impl<F: Fold<In = f32, Out = f32>, const L: usize> Loop for Pixels<'_, F, L> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Pixels { fold, view, from, dst } = self;
        let (full, used) = blocks::<L>(view);
        for (i, y) in dst.as_chunks_mut::<L>().0.iter_mut().enumerate() {
            let mut accs = [fold.identity(); L];
            for b in 0..full {
                let x = lanes::<L>(from, i * L + b * view.stride_block);
                for l in 0..L {
                    accs[l] = fold.step(accs[l], x[l]);
                }
                simd::end_of_chunk();
            }
            if used > 0 {
                let x = lanes::<L>(from, i * L + full * view.stride_block);
                for l in 0..L {
                    accs[l] = if l < used { fold.step(accs[l], x[l]) } else { accs[l] };
                }
            }
            *y = [0.0; L];
            y[0] = fold.finish(across(accs, |a, b| fold.merge(a, b)), view.c);
        }
    }
}
