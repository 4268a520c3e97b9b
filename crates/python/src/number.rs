//! Numbers of Python: those that no count can be, such as -1 and 2**70, become errors of this package.

use std::collections::BTreeMap;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::errors::{Outcome, invalid};
use crate::name::Name;

/// A number that an argument takes, or the text of one that does not fit `T`. A function takes this in place of `T`: the
/// interpreter converts arguments before the function can say which call they belong to.
pub(crate) struct Number<T>(Result<T, Refused>);

/// A number that does not fit.
struct Refused {
    got: String,
    /// Whether it is negative and `T` takes no such number. Otherwise it has too many bits.
    is_negative: bool,
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Number<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Number<T>> {
        match x.extract::<T>() {
            Ok(number) => Ok(Number(Ok(number))),
            Err(e) => {
                let (py, e): (_, PyErr) = (x.py(), e.into());
                if !e.is_instance_of::<PyOverflowError>(py) {
                    return Err(e);
                }
                let is_signed = PyInt::new(py, -1).extract::<T>().is_ok();
                let is_negative = x.lt(0).unwrap_or(false) && !is_signed;
                Ok(Number(Err(Refused { got: text(&x), is_negative })))
            }
        }
    }
}

/// The sizes of a tensor: a sequence of integers, or one integer for a tensor of rank 1.
pub(crate) struct Sizes(pub(crate) Vec<Number<usize>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Sizes {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Sizes> {
        if let Ok(one) = x.extract() {
            return Ok(Sizes(vec![one]));
        }
        let all: PyResult<Vec<_>> =
            x.try_iter().and_then(|items| items.map(|item| item?.extract()).collect());
        all.map(Sizes).map_err(|e| {
            let text = format!("sizes are an integer or a sequence of integers, got {}", text(&x));
            let made = PyTypeError::new_err(text);
            made.set_cause(x.py(), Some(e));
            made
        })
    }
}

/// The default of an argument.
impl<T> From<T> for Number<T> {
    fn from(number: T) -> Number<T> {
        Number(Ok(number))
    }
}

/// The number as Python writes it, if it is not too long for that.
fn text(x: &Borrowed<'_, '_, PyAny>) -> String {
    let text = x.str().map_or_else(|_| "a very large number".to_string(), |s| s.to_string());
    match text.len() {
        0..=40 => text,
        digits => format!("a number of {digits} digits"),
    }
}

impl<T> Number<T> {
    /// The number, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<T> {
        self.0.map_err(|Refused { got, is_negative }| {
            let (rule, remedy) = match (is_negative, argument) {
                (true, "shape" | "sizes") => ("a size is 0 or more", "pass a size of 0 or more"),
                (true, _) => ("this number is 0 or more", "pass a number of 0 or more"),
                (false, _) => ("the machine's integers do not hold it", "pass a number that is nearer to 0"),
            };
            invalid(op, argument, got, rule.to_string(), remedy)
        })
    }
}

/// All numbers of a list.
pub(crate) fn all<T>(op: &'static str, argument: &str, list: Vec<Number<T>>) -> Outcome<Vec<T>> {
    list.into_iter().map(|number| number.of(op, argument)).collect()
}

/// An optional number.
pub(crate) fn maybe<T>(op: &'static str, argument: &str, number: Option<Number<T>>) -> Outcome<Option<T>> {
    number.map(|number| number.of(op, argument)).transpose()
}

/// Numbers by name.
pub(crate) type Named = BTreeMap<Name, Number<usize>>;
