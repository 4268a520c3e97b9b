//! Integers of other libraries, of widths that no dtype has, as s32.

use super::strided::StridedTensor;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::memory::try_filled;

/// Integers of 8, 16, 32 or 64 bits that are not s32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Width {
    pub bits: u8,
    pub is_signed: bool,
}

impl Width {
    /// The dtype of the parts that such an integer has in memory.
    pub(crate) fn of_part(self) -> DType {
        if self.bits <= 16 { DType::U8 } else { DType::S32 }
    }

    /// A tensor of the parts of such integers as s32: the last axis has those of one, in the order of memory.
    ///
    /// # Errors
    /// `InvalidArgument` for a number that s32 does not hold; `OutOfMemory`.
    pub(crate) fn narrowed(self, op: &'static str, parts: &StridedTensor) -> Result<StridedTensor> {
        let mut dims = parts.dims().to_vec();
        dims.pop();
        let mut numbers = try_filled(op, dims.iter().product(), 0i32)?;
        let outside = match self.bits {
            8 => {
                let each = |byte: &u8| if self.is_signed { i128::from(*byte as i8) } else { (*byte).into() };
                narrow(parts.values::<u8>()?.iter().map(each), &mut numbers)
            }
            16 => {
                let bytes = parts.values::<u8>()?;
                let each = bytes.as_chunks().0.iter().map(|of| match self.is_signed {
                    true => i16::from_ne_bytes(*of).into(),
                    false => u16::from_ne_bytes(*of).into(),
                });
                narrow(each, &mut numbers)
            }
            32 => narrow(parts.values::<i32>()?.iter().map(|v| (*v as u32).into()), &mut numbers),
            _ => {
                let words = parts.values::<i32>()?;
                let each = words.as_chunks().0.iter().map(|[first, second]: &[i32; 2]| {
                    let (high, low) =
                        if cfg!(target_endian = "little") { (second, first) } else { (first, second) };
                    let bits = (u64::from(*high as u32) << 32) | u64::from(*low as u32);
                    if self.is_signed { i128::from(bits as i64) } else { bits.into() }
                });
                narrow(each, &mut numbers)
            }
        };
        if let Some((at, number)) = outside {
            let index = index_of(at, &dims);
            fail!(
                InvalidArgument,
                op,
                "numbers",
                format!("{number} at index {index:?}"),
                format!("integers have 32 bits here, from {} to {}", i32::MIN, i32::MAX),
                "pass numbers in this range"
            );
        }
        StridedTensor::from_slice(&numbers, &dims)
    }
}

/// Fills a list with numbers. The first that does not fit, and its place.
fn narrow(from: impl Iterator<Item = i128>, to: &mut [i32]) -> Option<(usize, i128)> {
    to.iter_mut().zip(from).enumerate().find_map(|(i, (to, number))| match i32::try_from(number) {
        Ok(fits) => {
            *to = fits;
            None
        }
        Err(_) => Some((i, number)),
    })
}

/// The index of an element by its place in row-major order.
fn index_of(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (index, size) in index.iter_mut().zip(dims).rev() {
        *index = at % size;
        at /= size;
    }
    index
}
