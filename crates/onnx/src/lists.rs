//! The values of constants as lists.

use blocktensor::memory;

/// What errors about memory call the lists of constants.
pub(crate) const CONSTANT: &str = "a constant of the model";

/// The values of a constant as a list.
pub(crate) fn collect<T>(values: impl IntoIterator<Item = T>) -> blocktensor::Result<Vec<T>> {
    memory::try_collect(CONSTANT, values)
}

/// The values of a constant as a list, or the first error.
pub(crate) fn collect_results<T, E: From<blocktensor::Error>>(
    values: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    memory::try_collect_results(CONSTANT, values)
}

/// A list of one value.
pub(crate) fn filled<T: Clone>(count: usize, value: T) -> blocktensor::Result<Vec<T>> {
    memory::try_filled(CONSTANT, count, value)
}

/// The number of elements of a tensor, where that is a number.
pub(crate) fn numel(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// The values of bytes in little-endian order.
pub(crate) fn words<const N: usize, T>(
    bytes: &[u8],
    value: impl Fn([u8; N]) -> T,
) -> blocktensor::Result<Vec<T>> {
    collect(bytes.as_chunks::<N>().0.iter().map(|chunk| value(*chunk)))
}
