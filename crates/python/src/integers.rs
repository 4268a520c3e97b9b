//! Integers of other widths in objects that have only a buffer, as s32. Those of DLPack are converted by the library itself.

use blocktensor::{Complaint, Error, StridedTensor, memory};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;

use crate::errors::Outcome;

/// A copy in s32 of a buffer of other integers, where the argument takes them: as by DLPack, which converts them there.
pub(crate) fn of_buffer(x: &Bound<'_, PyAny>) -> Outcome<Option<StridedTensor>> {
    type Narrow = fn(&Bound<'_, PyAny>) -> Outcome<Option<StridedTensor>>;
    let all: [Narrow; 7] = [
        narrowed::<i8>,
        narrowed::<u8>,
        narrowed::<i16>,
        narrowed::<u16>,
        narrowed::<u32>,
        narrowed::<i64>,
        narrowed::<u64>,
    ];
    for narrow in all {
        if let Some(made) = narrow(x)? {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

/// The copy of a buffer of such integers; `None` for another buffer.
fn narrowed<T: Element + Default + Into<i128>>(x: &Bound<'_, PyAny>) -> Outcome<Option<StridedTensor>> {
    let Ok(buffer) = PyBuffer::<T>::get(x) else { return Ok(None) };
    let mut numbers = memory::try_filled("from_dlpack", buffer.item_count(), T::default())?;
    buffer.copy_to_slice(x.py(), &mut numbers)?;
    let mut narrow = memory::try_filled("from_dlpack", numbers.len(), 0i32)?;
    for (at, (to, number)) in narrow.iter_mut().zip(numbers).enumerate() {
        let number: i128 = number.into();
        let Ok(fits) = i32::try_from(number) else {
            let mut index = vec![0; buffer.shape().len()];
            let mut rest = at;
            for (i, size) in index.iter_mut().zip(buffer.shape()).rev() {
                (*i, rest) = (rest % size, rest / size);
            }
            let got = format!("{number} at index {index:?}");
            let rule = format!("integers have 32 bits here, from {} to {}", i32::MIN, i32::MAX);
            let complaint = Complaint::new("", "numbers", got, rule, "pass numbers in this range");
            return Err(Error::InvalidArgument(complaint).into());
        };
        *to = fits;
    }
    Ok(Some(StridedTensor::from_slice(&narrow, buffer.shape())?))
}
