//! The index of the largest element of a whole tensor.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::plan::{Part, Reduction};
use crate::elementwise::folds::Amax;
use crate::elementwise::run::in_parallel;
use crate::error::Result;
use crate::simd::{self, Loop};

/// Elements that are looked at one by one if one of them equals the largest.
const PIECE: usize = 128;

/// The smallest index of a largest element, where the reduction has one result. NaN counts as the largest.
pub(crate) fn argmax(op: &'static str, reduction: &Reduction, src: &[f32]) -> Result<usize> {
    assert_eq!(reduction.kept.numel(), 1, "an index in the whole tensor");
    let mut largest = [0f32; 1];
    Reduction { kept: reduction.kept.clone(), parts: reduction.parts.clone(), tail: 0 }.run(
        op,
        &Amax,
        src,
        &mut largest,
    )?;
    Ok(first_index_of(reduction, src, largest[0]))
}

/// The smallest index of an element that equals `largest`.
fn first_index_of(reduction: &Reduction, src: &[f32], largest: f32) -> usize {
    let first = AtomicUsize::new(usize::MAX);
    for part in &reduction.parts {
        let count = part.loops.numel();
        let rows = count / part.loops.sizes[0];
        in_parallel(rows, count, |rows| {
            let found = simd::dispatch(FirstIndex { part, src, largest, rows });
            first.fetch_min(found, Ordering::Relaxed);
        });
    }
    first.into_inner()
}

/// Finds the smallest index of an element that equals `largest` in some rows along the innermost loop.
struct FirstIndex<'a> {
    part: &'a Part,
    src: &'a [f32],
    largest: f32,
    rows: Range<usize>,
}

impl Loop for FirstIndex<'_> {
    type Out = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let FirstIndex { part, src, largest, rows } = self;
        let (sizes, [steps, apart]) = (&part.loops.sizes, &part.loops.steps);
        let n = sizes[0];
        let next = |steps: &[usize]| steps.get(1).copied().unwrap_or(0);
        let mut first = usize::MAX;
        let mut row = rows.start;
        while row < rows.end {
            // Up to the end of the second loop.
            let together = sizes.get(1).map_or(1, |&size| size - row % size).min(rows.end - row);
            let run = part.run(row * n, (row + 1) * n);
            for i in 0..together {
                let (start, index) = (run.start + i * next(steps), run.index + i * next(apart));
                for k in (0..n).step_by(PIECE) {
                    // Indices grow along a row.
                    if index + k * run.apart >= first {
                        break;
                    }
                    let end = n.min(k + PIECE);
                    if run.step == 1 && !contains(&src[start + k..start + end], largest) {
                        continue;
                    }
                    let equal = |k: &usize| {
                        let x = src[start + k * run.step];
                        x == largest || x.is_nan() && largest.is_nan()
                    };
                    if let Some(k) = (k..end).find(equal) {
                        first = first.min(index + k * run.apart);
                    }
                }
            }
            row += together;
        }
        first
    }
}

/// Whether an element equals `largest`, without an early end, so that the loop becomes vectors.
#[inline(always)]
fn contains(x: &[f32], largest: f32) -> bool {
    let nan = largest.is_nan();
    let equal = |x: f32| u32::from((x == largest) | (nan & x.is_nan()));
    let (whole, rest) = x.as_chunks::<16>();
    let mut found = [0u32; 16];
    for x in whole {
        for l in 0..16 {
            found[l] |= equal(x[l]);
        }
    }
    found.iter().any(|&f| f != 0) || rest.iter().any(|&x| equal(x) != 0)
}
