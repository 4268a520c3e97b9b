//! Reductions of blocked tensors over the channels alone. For each pixel, the channel blocks are folded into one vector of
//! lanes, and then the lanes are merged. Only the loop is special: with a constant number of lanes it takes two thirds of the
//! time of the loops in `elementwise::reduce`.

use crate::elementwise::{Fold, merge_lanes};
use crate::kernels::lanes::Lanes;
use crate::simd::{self, Loop};

/// Folds the channels of every pixel. Returns `false` and does nothing for blocks of other than 4, 8, 16, 32 or 64 lanes.
pub(crate) fn fold<F: Fold<In = f32, Out = f32>>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[f32],
    dst: &mut [f32],
) -> bool {
    match view.lanes {
        4 => fold_pixels::<F, 4>(view, to, fold, src, dst),
        8 => fold_pixels::<F, 8>(view, to, fold, src, dst),
        16 => fold_pixels::<F, 16>(view, to, fold, src, dst),
        32 => fold_pixels::<F, 32>(view, to, fold, src, dst),
        64 => fold_pixels::<F, 64>(view, to, fold, src, dst),
        _ => return false,
    }
    true
}

fn fold_pixels<F: Fold<In = f32, Out = f32>, const L: usize>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[f32],
    dst: &mut [f32],
) {
    to.for_each_pixel_run(dst, |p, dst| {
        let from = &src[p.n * view.stride_n + p.first * L..];
        simd::dispatch(FoldChannels::<F, L> { fold, view, from, dst });
    });
}

/// The lanes of the block that begins at `at`.
#[inline(always)]
fn block_lanes<const L: usize>(from: &[f32], at: usize) -> &[f32; L] {
    from[at..].first_chunk::<L>().expect("blocks are whole")
}

/// Folds the channels of some neighbouring pixels of one image.
struct FoldChannels<'a, F, const L: usize> {
    fold: &'a F,
    view: &'a Lanes,
    /// The source from the first pixel's first lane on.
    from: &'a [f32],
    dst: &'a mut [f32],
}

impl<F: Fold<In = f32, Out = f32>, const L: usize> Loop for FoldChannels<'_, F, L> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldChannels { fold, view, from, dst } = self;
        // The number of full blocks, and the channels of the last block if it is not full.
        let (full, used) = (view.c / L, view.c % L);
        for (i, y) in dst.as_chunks_mut::<L>().0.iter_mut().enumerate() {
            let mut accs = [fold.identity(); L];
            for b in 0..full {
                let x = block_lanes::<L>(from, i * L + b * view.stride_block);
                for l in 0..L {
                    accs[l] = fold.step(accs[l], x[l]);
                }
                simd::end_of_chunk();
            }
            if used > 0 {
                let x = block_lanes::<L>(from, i * L + full * view.stride_block);
                for l in 0..L {
                    accs[l] = if l < used { fold.step(accs[l], x[l]) } else { accs[l] };
                }
            }
            *y = [0.0; L];
            y[0] = fold.finish(merge_lanes(fold, accs), view.c);
        }
    }
}
