//! Numbers of Python: those that no count can be, such as -1, 2**70, 2.5 and "3", become errors of this package.

use std::collections::BTreeMap;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyFloat, PyFrozenSet, PyInt, PyIterator, PyList, PyMapping, PyMemoryView,
    PySet, PyString, PyTuple,
};

use crate::errors::{Outcome, invalid, no_threads};
use crate::name::{self, Name, shown};

/// A number that an argument takes, or the text of one that does not fit `T`. A function takes this in place of `T`: the
/// interpreter converts arguments before the function can say which call they belong to.
pub(crate) struct Number<T>(Result<T, Refused>);

/// What does not fit.
struct Refused {
    got: String,
    why: Why,
}

enum Why {
    /// `T` takes no negative number.
    Negative,
    /// It has too many bits.
    Large,
    /// It is no integer, and `T` takes no other object.
    NoInteger,
    /// It is no number.
    NoNumber,
    /// It is no list of sizes.
    NoSizes,
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Number<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Number<T>> {
        // To Python `True` is 1.
        if x.is_instance_of::<PyBool>() && PyFloat::new(x.py(), 0.5).extract::<T>().is_err() {
            return Ok(Number(Err(Refused { got: shown(&x), why: Why::NoInteger })));
        }
        match x.extract::<T>() {
            Ok(number) => Ok(Number(Ok(number))),
            Err(e) => {
                let (py, e): (_, PyErr) = (x.py(), e.into());
                if e.is_instance_of::<PyOverflowError>(py) {
                    let is_signed = PyInt::new(py, -1).extract::<T>().is_ok();
                    let is_negative = x.lt(0).unwrap_or(false) && !is_signed;
                    let why = if is_negative { Why::Negative } else { Why::Large };
                    return Ok(Number(Err(Refused { got: text(&x), why })));
                }
                // Text in an array is a ValueError to Python, and a complex tensor a RuntimeError to PyTorch.
                if e.is_instance_of::<PyTypeError>(py)
                    || e.is_instance_of::<PyValueError>(py)
                    || e.is_instance_of::<PyRuntimeError>(py)
                {
                    let takes_floats = PyFloat::new(py, 0.5).extract::<T>().is_ok();
                    let why = if takes_floats { Why::NoNumber } else { Why::NoInteger };
                    return Ok(Number(Err(Refused { got: shown(&x), why })));
                }
                Err(e)
            }
        }
    }
}

/// The sizes of a tensor: a sequence of integers, or one integer for a tensor of rank 1.
pub(crate) struct Sizes<T = usize>(pub(crate) Vec<Number<T>>);

impl<'a, 'py, T> FromPyObject<'a, 'py> for Sizes<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Sizes<T>> {
        let one = x.extract::<Number<T>>()?;
        if !matches!(one.0, Err(Refused { why: Why::NoInteger, .. })) {
            return Ok(Sizes(vec![one]));
        }
        match items(&x) {
            Some(items) => items.map(|item| item?.extract()).collect::<PyResult<Vec<_>>>().map(Sizes),
            None => Ok(Sizes(vec![Number(Err(Refused { got: shown(&x), why: Why::NoSizes }))])),
        }
    }
}

/// Whether the items of an object are no list: the characters of a text, bytes, and what has keys or no order.
fn is_no_list(x: &Bound<'_, PyAny>) -> bool {
    if x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>() {
        return false;
    }
    let is_text = x.is_instance_of::<PyString>() || x.is_instance_of::<PyBytes>();
    let is_memory = x.is_instance_of::<PyByteArray>() || x.is_instance_of::<PyMemoryView>();
    let is_set = x.is_instance_of::<PySet>() || x.is_instance_of::<PyFrozenSet>();
    is_text || is_memory || is_set || x.cast::<PyMapping>().is_ok()
}

/// The items of an argument that is a list; `None` for another object.
pub(crate) fn items<'py>(x: &Bound<'py, PyAny>) -> Option<Bound<'py, PyIterator>> {
    if is_no_list(x) { None } else { x.try_iter().ok() }
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
        self.0.map_err(|Refused { got, why }| {
            let (rule, remedy) = match why {
                Why::Negative | Why::Large if argument == "threads" => return no_threads(op, got),
                Why::Negative if matches!(argument, "shape" | "sizes") => {
                    ("a size is 0 or more", "pass a size of 0 or more")
                }
                Why::Negative => ("this number is 0 or more", "pass a number of 0 or more"),
                Why::Large => ("the machine's integers do not hold it", "pass a number that is nearer to 0"),
                Why::NoInteger => ("it is an integer", "pass an integer: `int(x)` of text or a float"),
                Why::NoNumber => (
                    "it is a number",
                    "pass one number: `float(x)` of text, `x[0]` of several, `x.real` of a complex one",
                ),
                Why::NoSizes => ("sizes are an integer or a sequence of integers", "pass them as a list"),
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

/// What an argument takes, or the text of another object.
pub(crate) struct Given<T>(Result<T, String>);

/// `True` or `False`.
pub(crate) type Flag = Given<bool>;

/// Two numbers of a sequence.
pub(crate) type Pair = Given<[Number<f64>; 2]>;

impl<'a, 'py, T> FromPyObject<'a, 'py> for Given<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Given<T>> {
        Ok(Given(if is_no_list(&x) { Err(shown(&x)) } else { x.extract().map_err(|_| shown(&x)) }))
    }
}

/// The default of an argument.
impl From<bool> for Flag {
    fn from(flag: bool) -> Flag {
        Given(Ok(flag))
    }
}

/// The default of an argument.
impl From<[f64; 2]> for Pair {
    fn from(pair: [f64; 2]) -> Pair {
        Given(Ok(pair.map(Number::from)))
    }
}

impl<T> Given<T> {
    fn or(self, op: &'static str, argument: &str, rule: &str, remedy: &str) -> Outcome<T> {
        self.0.map_err(|got| invalid(op, argument, got, rule.to_string(), remedy))
    }
}

impl Flag {
    /// The flag, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<bool> {
        self.or(op, argument, "it is `True` or `False`", "pass one of them")
    }
}

impl Pair {
    /// The numbers, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<[Number<f64>; 2]> {
        self.or(op, argument, "it is a pair of numbers", "pass a tuple of two")
    }
}

/// Numbers by name, or the text of what is no mapping.
pub(crate) struct Named(Result<Vec<(Name, Number<usize>)>, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Named {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Named> {
        let Ok(mapping) = x.cast::<PyMapping>() else {
            return Ok(Named(Err(shown(&x))));
        };
        let mut all = Vec::new();
        for item in mapping.items()? {
            let (name, number) = item.extract::<(Bound<'_, PyAny>, Number<usize>)>()?;
            match name::of_text(&name) {
                Some(name) => all.push((name, number)),
                None => return Ok(Named(Err(shown(&x)))),
            }
        }
        Ok(Named(Ok(all)))
    }
}

impl Named {
    /// The numbers, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<BTreeMap<String, usize>> {
        let all = self.0.map_err(|got| {
            let rule = "it is a mapping from names to integers".to_string();
            invalid(op, argument, got, rule, "pass a dict such as `{\"batch\": 1}`")
        })?;
        let number =
            |(name, number): (Name, Number<usize>)| Ok((name.of(op, argument)?, number.of(op, argument)?));
        all.into_iter().map(number).collect()
    }
}
