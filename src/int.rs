//! Integers of callers: axes, indices and sizes of any integer type, where negative numbers count from the end.

use crate::error::{Complaint, Error, Result};
use crate::layout::dims::Dims;

mod sealed {
    pub trait Sealed {}
}

/// An integer that a call takes for an axis, an index or a size: `usize`, or signed. Negative axes and indices count from the
/// end, as in PyTorch: -1 is the last. The trait is sealed.
pub trait Int: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn to_i64(self) -> i64;
}

macro_rules! ints {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Int for $t {
            fn to_i64(self) -> i64 {
                // A `usize` that does not fit is out of every range.
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }
    )*};
}
ints!(i32, i64, isize, u32, usize);

/// All axes of a tensor, for reductions: `ops::sum(&x, ALL_AXES, false)`.
pub const ALL_AXES: &[usize] = &[];

/// The numbers of a list.
pub(crate) fn to_i64s(list: &[impl Int]) -> Vec<i64> {
    list.iter().map(|n| n.to_i64()).collect()
}

/// The axis that `axis` names among `rank` of them. A scalar counts as one axis if `scalars` have one: `softmax` has it, `narrow`
/// has not, as in PyTorch.
pub(crate) fn axis(
    op: &'static str,
    argument: &'static str,
    axis: i64,
    rank: usize,
    scalars: Scalars,
) -> Result<usize> {
    let axes = if scalars == Scalars::HaveOneAxis { rank.max(1) } else { rank };
    let n = axes as i64;
    if (-n..n).contains(&axis) {
        return Ok(if axis < 0 { axis + n } else { axis } as usize);
    }
    let (rule, remedy) = match n {
        0 => ("a scalar has no axes".to_string(), "pass a tensor of rank 1 or more"),
        _ => (
            format!("a tensor of rank {rank} has the axes {} to {}", -n, n - 1),
            "name an axis that is there",
        ),
    };
    Err(Error::InvalidArgument(Complaint::new(op, argument, format!("axis {axis}"), rule, remedy)))
}

/// What a scalar's axes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// 0 and -1 name one.
    HaveOneAxis,
    /// It has none.
    HaveNone,
}

/// An index counted from the front: a negative one counts from the end of `size`. It may lie outside.
pub(crate) fn from_front(index: i64, size: usize) -> i64 {
    if index < 0 { index.saturating_add_unsigned(size as u64) } else { index }
}

/// A place among `size` indices, clamped to it; a negative one counts from the end.
pub(crate) fn clamped(place: i64, size: usize) -> usize {
    usize::try_from(from_front(place, size)).unwrap_or(0).min(size)
}

/// The sizes of a view of `count` elements: at most one of them is -1, which stands for what is left over.
pub(crate) fn inferred(op: &'static str, dims: &[impl Int], count: usize) -> Result<Dims> {
    let complaint =
        |rule: &str, remedy: &str| Complaint::new(op, "dims", format!("{:?}", to_i64s(dims)), rule, remedy);
    let invalid = |rule: &str, remedy: &str| Err(Error::InvalidArgument(complaint(rule, remedy)));
    let (mut known, mut open) = (Some(1usize), None);
    let mut to = Dims::zeros(op, "dims", dims.len())?;
    for (i, dim) in dims.iter().enumerate() {
        match dim.to_i64() {
            -1 if open.is_some() => return invalid("only one size can be left to be found", "pass -1 once"),
            -1 => open = Some(i),
            dim @ 0.. => {
                to[i] = dim as usize;
                known = known.and_then(|product| product.checked_mul(to[i]));
            }
            _ => return invalid("sizes are 0 or more, and -1 stands for what is left", "pass such sizes"),
        }
    }
    let Some(open) = open else { return Ok(to) };
    to[open] = match known {
        Some(0) => return invalid("beside a size of 0, -1 can be any number", "pass every size"),
        Some(known) if count.is_multiple_of(known) => count / known,
        _ => {
            let rule = format!("the tensor has {count} elements, no multiple of the other sizes' product");
            return Err(Error::ShapeMismatch(complaint(&rule, "pass sizes with that product")));
        }
    };
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        for (n, rank, scalars, want) in [
            (0, 3, Scalars::HaveNone, Some(0)),
            (-1, 3, Scalars::HaveNone, Some(2)),
            (-3, 3, Scalars::HaveNone, Some(0)),
            (3, 3, Scalars::HaveNone, None),
            (-4, 3, Scalars::HaveNone, None),
            (0, 0, Scalars::HaveOneAxis, Some(0)),
            (-1, 0, Scalars::HaveOneAxis, Some(0)),
            (1, 0, Scalars::HaveOneAxis, None),
            (0, 0, Scalars::HaveNone, None),
            (i64::MIN, 3, Scalars::HaveNone, None),
            (i64::MAX, 3, Scalars::HaveNone, None),
        ] {
            assert_eq!(axis("op", "axis", n, rank, scalars).ok(), want, "{n} of {rank}");
        }
    }

    /// What Python gives for `range(5)[place:]`.
    #[test]
    fn places_are_clamped() {
        for (place, want) in [(0, 0), (2, 2), (9, 5), (-1, 4), (-5, 0), (-9, 0), (i64::MIN, 0), (i64::MAX, 5)]
        {
            assert_eq!(clamped(place, 5), want, "{place}");
        }
    }

    /// PyTorch's `view` of these.
    #[test]
    fn an_open_size_is_found() {
        let of = |dims: &[i64], count| inferred("view", dims, count).ok().map(|d| d.to_vec());
        assert_eq!(of(&[-1], 6), Some(vec![6]));
        assert_eq!(of(&[2, -1], 6), Some(vec![2, 3]));
        assert_eq!(of(&[-1, 3], 0), Some(vec![0, 3]));
        assert_eq!(of(&[-1], 1), Some(vec![1]));
        assert_eq!(of(&[], 1), Some(vec![]));
        for (dims, count) in [(&[-1, -1][..], 6), (&[-1, 4], 6), (&[0, -1], 0), (&[-1, 0], 0), (&[-2, 3], 6)]
        {
            assert_eq!(of(dims, count), None, "{dims:?}");
        }
    }
}
