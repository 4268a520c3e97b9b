//! Checks that no two elements of a result share memory.

use super::dims::{Dims, ToDims};
use crate::error::{Result, fail};

/// `OverlappingOutput` if two elements of the tensor share memory.
pub(crate) fn check_own_memory(op: &'static str, dims: &Dims, strides: &Dims) -> Result<()> {
    if has_own_memory(dims, strides) {
        return Ok(());
    }
    fail!(
        OverlappingOutput,
        op,
        "dst",
        format!("sizes {dims} with strides {strides}"),
        "some of its elements share memory",
        "pass a destination without stride 0 or overlap, for example a copy"
    )
}

pub(crate) fn has_own_memory(dims: &[usize], strides: &[usize]) -> bool {
    if dims.contains(&0) {
        return true;
    }
    let mut used: Dims = (0..dims.len()).filter(|&d| dims[d] > 1).to_dims();
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
    // Interleaved strides may still not collide: check every element.
    let mut taken = vec![0u64; self::span(dims, strides).div_ceil(64)];
    let mut own = true;
    for_each_offset(dims, strides, |at| {
        let bit = 1 << (at % 64);
        own &= taken[at / 64] & bit == 0;
        taken[at / 64] |= bit;
    });
    own
}

/// The number of elements of memory from a view's first element to its last.
pub(crate) fn span(dims: &[usize], strides: &[usize]) -> usize {
    let steps = dims.iter().zip(strides).map(|(d, s)| d.saturating_sub(1) * s);
    if dims.contains(&0) { 0 } else { 1 + steps.sum::<usize>() }
}

/// Calls `f` with the offset of every element, in logical order.
pub(crate) fn for_each_offset(dims: &[usize], strides: &[usize], mut f: impl FnMut(usize)) {
    fn walk(dims: &[usize], strides: &[usize], base: usize, f: &mut impl FnMut(usize)) {
        match dims {
            [] => f(base),
            [n] => (0..*n).for_each(|i| f(base + i * strides[0])),
            [n, rest @ ..] => (0..*n).for_each(|i| walk(rest, &strides[1..], base + i * strides[0], f)),
        }
    }
    if !dims.contains(&0) {
        walk(dims, strides, 0, &mut f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_spans_its_first_element_to_its_last() {
        assert_eq!(span(&[], &[]), 1);
        assert_eq!(span(&[2, 0, 3], &[9, 9, 1]), 0);
        assert_eq!(span(&[2, 3], &[10, 2]), 15);
        assert_eq!(span(&[4, 5], &[0, 1]), 5);
    }

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
