//! Reductions of blocked tensors over the channels alone. For each pixel, the channel blocks are folded into one vector of
//! lanes, and then the lanes are merged. Only the loop is special: with a constant number of lanes it takes two thirds of the
//! time of the loops in `elementwise::reduce`.

use crate::dtype::Element;
use crate::elementwise::{Fold, merge_lanes};
use crate::kernels::lanes::Lanes;
use crate::simd::{self, Loop};

/// Folds the channels of every pixel. Returns `false` and does nothing for blocks of other than 4, 8, 16, 32 or 64 lanes.
pub(crate) fn fold<E: Element, F: Fold<In = E, Out = E>>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[E],
    dst: &mut [E],
) -> bool {
    match view.lanes {
        4 => fold_pixels::<E, F, 4>(view, to, fold, src, dst),
        8 => fold_pixels::<E, F, 8>(view, to, fold, src, dst),
        16 => fold_pixels::<E, F, 16>(view, to, fold, src, dst),
        32 => fold_pixels::<E, F, 32>(view, to, fold, src, dst),
        64 => fold_pixels::<E, F, 64>(view, to, fold, src, dst),
        _ => return false,
    }
    true
}

fn fold_pixels<E: Element, F: Fold<In = E, Out = E>, const L: usize>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[E],
    dst: &mut [E],
) {
    to.for_each_pixel_run(dst, |p, dst| {
        let from = &src[p.n * view.stride_n + p.first * L..];
        simd::dispatch(FoldChannels::<E, F, L> { fold, view, from, dst });
    });
}

/// The lanes of the block that begins at `at`.
#[inline(always)]
fn block_lanes<E, const L: usize>(from: &[E], at: usize) -> &[E; L] {
    from[at..].first_chunk::<L>().expect("blocks are whole")
}

/// Folds the channels of some neighbouring pixels of one image.
struct FoldChannels<'a, E, F, const L: usize> {
    fold: &'a F,
    view: &'a Lanes,
    /// The source from the first pixel's first lane on.
    from: &'a [E],
    dst: &'a mut [E],
}

impl<E: Element, F: Fold<In = E, Out = E>, const L: usize> Loop for FoldChannels<'_, E, F, L> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldChannels { fold, view, from, dst } = self;
        // The number of full blocks, and the channels of the last block if it is not full.
        let (full, used) = (view.c / L, view.c % L);
        for (i, y) in dst.as_chunks_mut::<L>().0.iter_mut().enumerate() {
            let mut accs = [fold.identity(); L];
            for b in 0..full {
                let x = block_lanes::<E, L>(from, i * L + b * view.stride_block);
                for l in 0..L {
                    accs[l] = fold.step(accs[l], x[l]);
                }
                simd::end_of_chunk();
            }
            if used > 0 {
                let x = block_lanes::<E, L>(from, i * L + full * view.stride_block);
                for l in 0..L {
                    accs[l] = if l < used { fold.step(accs[l], x[l]) } else { accs[l] };
                }
            }
            *y = [E::zeroed(); L];
            y[0] = fold.finish(merge_lanes(fold, accs), view.c);
        }
    }
}
