//! `Dims`: a short list of sizes, strides or axes, kept inline.

use crate::error::{Complaint, Error, Result};

/// The largest rank of a tensor: oneDNN's `DNNL_MAX_NDIMS`.
pub const MAX_RANK: usize = 12;

/// The largest size, padding or span along one axis: below it, arithmetic of oneDNN and in `isize` does not overflow.
pub(crate) const MAX_SIZE: usize = i32::MAX as usize;

/// Up to [`MAX_RANK`] numbers, stored inline: sizes, strides (in **elements**) or axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    values: [usize; MAX_RANK],
    len: u8,
}

fn check_rank(op: &'static str, argument: &'static str, rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    Err(Error::RankMismatch(Complaint::new(
        op,
        argument,
        format!("rank {rank}"),
        format!("a tensor has at most {MAX_RANK} dimensions"),
        "merge dimensions that no operation treats differently",
    )))
}

impl Dims {
    /// The empty list: the sizes of a scalar.
    pub const EMPTY: Dims = Dims { values: [0; MAX_RANK], len: 0 };

    /// A list of `values`; more than [`MAX_RANK`] of them is [`Error::RankMismatch`].
    pub fn new(op: &'static str, argument: &'static str, values: &[usize]) -> Result<Dims> {
        check_rank(op, argument, values.len())?;
        Ok(Dims::from_slice(values))
    }

    /// `len` zeros; more than [`MAX_RANK`] of them is [`Error::RankMismatch`].
    pub(crate) fn zeros(op: &'static str, argument: &'static str, len: usize) -> Result<Dims> {
        check_rank(op, argument, len)?;
        Ok(Dims::filled(0, len))
    }

    /// As [`Dims::new`], for lists from a tensor or a literal, which are short enough.
    ///
    /// # Panics
    /// If there are more than [`MAX_RANK`] values.
    pub(crate) fn from_slice(values: &[usize]) -> Dims {
        let mut d = Dims::EMPTY;
        d.values[..values.len()].copy_from_slice(values);
        d.len = values.len() as u8;
        d
    }

    /// `rank` copies of `value`.
    pub(crate) fn filled(value: usize, rank: usize) -> Dims {
        let mut d = Dims { values: [0; MAX_RANK], len: rank as u8 };
        d[..rank].fill(value);
        d
    }

    /// Appends one value. The caller has checked the rank.
    pub(crate) fn push(&mut self, value: usize) {
        self.values[self.len as usize] = value;
        self.len += 1;
    }

    /// Inserts one value before position `at`. The caller has checked the rank.
    pub(crate) fn insert(&mut self, at: usize, value: usize) {
        let len = self.len as usize;
        self.values.copy_within(at..len, at + 1);
        self.values[at] = value;
        self.len += 1;
    }

    /// Removes and returns the value at position `at`.
    pub(crate) fn remove(&mut self, at: usize) -> usize {
        let len = self.len as usize;
        let value = self.values[at];
        self.values.copy_within(at + 1..len, at);
        self.values[len - 1] = 0;
        self.len -= 1;
        value
    }

    /// The values as a slice.
    pub fn as_slice(&self) -> &[usize] {
        &self.values[..self.len as usize]
    }

    /// The product of the values, or `None` if it overflows.
    pub fn checked_product(&self) -> Option<usize> {
        if self.contains(&0) {
            return Some(0);
        }
        self.iter().try_fold(1usize, |p, &d| p.checked_mul(d))
    }
}

impl std::ops::Deref for Dims {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        self.as_slice()
    }
}

impl std::ops::DerefMut for Dims {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.values[..self.len as usize]
    }
}

/// Collects an iterator's values into [`Dims`]. This is not `FromIterator`, which anybody could call with any number of
/// values.
pub(crate) trait ToDims: Iterator<Item = usize> + Sized {
    /// The caller guarantees that there are at most [`MAX_RANK`] values.
    fn to_dims(self) -> Dims {
        let mut d = Dims::EMPTY;
        self.for_each(|v| d.push(v));
        d
    }
}

impl<I: Iterator<Item = usize>> ToDims for I {}

impl<'a> IntoIterator for &'a Dims {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::fmt::Debug for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[")?;
        for (i, v) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{v}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_order_and_clear_what_they_drop() {
        let mut d = Dims::from_slice(&[2, 3, 4]);
        d.insert(1, 9);
        assert_eq!(&*d, &[2, 9, 3, 4]);
        assert_eq!(d.remove(1), 9);
        assert_eq!(d, Dims::from_slice(&[2, 3, 4]));
        assert_eq!(d.to_string(), "[2, 3, 4]");
    }

    #[test]
    fn product_is_checked_and_zero_wins() {
        assert_eq!(Dims::from_slice(&[usize::MAX, 2]).checked_product(), None);
        assert_eq!(Dims::from_slice(&[usize::MAX, 2, 0]).checked_product(), Some(0));
        assert_eq!(Dims::EMPTY.checked_product(), Some(1));
    }

    #[test]
    fn too_many_dimensions_is_an_error_with_a_remedy() {
        let e = Dims::new("from_slice", "dims", &[1; 13]).unwrap_err();
        assert!(matches!(e, Error::RankMismatch(_)), "{e}");
        assert!(e.to_string().contains("rank 13"), "{e}");
    }
}
