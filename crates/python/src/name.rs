//! Names and paths of Python: a `str` that UTF-8 or the file system has no bytes for becomes an error of this package.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::{Outcome, invalid};

/// What an argument takes, made of a `str`, or what another object is. A function takes this in place of `T`, as it takes a
/// [`Number`](crate::number::Number).
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Encoded<T>(Result<T, Refused>);

/// An object that is no name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Refused {
    got: String,
    /// Whether it is a `str`, which has no bytes.
    is_text: bool,
}

/// A name: UTF-8.
pub(crate) type Name = Encoded<String>;

/// A path, a `str`, `bytes` or an `os.PathLike`: the bytes that `os.fsencode` makes of it.
pub(crate) struct FilePath(Encoded<PathBuf>);

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<FilePath> {
        let path = PyModule::import(x.py(), "os")?.call_method1("fspath", (x,))?;
        match path.cast::<PyBytes>() {
            Ok(bytes) => Ok(FilePath(Encoded(Ok(PathBuf::from(OsStr::from_bytes(bytes.as_bytes())))))),
            Err(_) => path.extract().map(FilePath),
        }
    }
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Encoded<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Encoded<T>> {
        match x.extract::<T>() {
            Ok(made) => Ok(Encoded(Ok(made))),
            Err(e) => {
                let (py, e): (_, PyErr) = (x.py(), e.into());
                let is_text = e.is_instance_of::<PyUnicodeEncodeError>(py);
                match is_text || e.is_instance_of::<PyTypeError>(py) {
                    true => Ok(Encoded(Err(Refused { got: shown(&x), is_text }))),
                    false => Err(e),
                }
            }
        }
    }
}

/// The default of an argument.
impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Encoded(Ok(name.to_string()))
    }
}

/// An object as Python writes it: `repr` escapes what has no bytes. At most 80 characters.
pub(crate) fn shown(x: &Bound<'_, PyAny>) -> String {
    let text = x.repr().map_or_else(|_| "an object".to_string(), |r| r.to_string_lossy().into_owned());
    text.chars().take(80).collect()
}

impl Name {
    /// The name, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<String> {
        self.0.map_err(|Refused { got, is_text }| {
            let (rule, remedy) = match is_text {
                true => ("it is text that UTF-8 can encode", "pass a `str` without surrogates"),
                false => ("it is a name", "pass a `str`"),
            };
            invalid(op, argument, got, rule.to_string(), remedy)
        })
    }
}

/// The name that an object is, if it is a `str`.
pub(crate) fn of_text(x: &Bound<'_, PyAny>) -> Option<Name> {
    x.is_instance_of::<PyString>().then(|| x.extract().ok()).flatten()
}

impl FilePath {
    /// The path, for this function.
    pub(crate) fn of(self, op: &'static str) -> Outcome<PathBuf> {
        self.0.0.map_err(|Refused { got, .. }| {
            let rule = "it is a path that `os.fsencode` can encode".to_string();
            invalid(op, "path", got, rule, "pass a path as `os.listdir` or `os.fsdecode` gives it")
        })
    }
}

/// A list of what names are in, or the text of another object.
pub(crate) struct Listed<T>(Result<Vec<T>, String>);

/// Names: a sequence, or one `str`.
pub(crate) type Names = Listed<Name>;

/// Pairs of names.
pub(crate) type Pairs = Listed<(Name, Name)>;

/// What lists are of.
pub(crate) trait IsText {
    /// Whether it was made of `str` alone.
    fn is_text(&self) -> bool;
}

impl IsText for Name {
    fn is_text(&self) -> bool {
        self.0.as_ref().map_or_else(|refused| refused.is_text, |_| true)
    }
}

impl IsText for (Name, Name) {
    fn is_text(&self) -> bool {
        self.0.is_text() && self.1.is_text()
    }
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Listed<T>
where
    T: FromPyObjectOwned<'py> + IsText,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Listed<T>> {
        let refused = || Ok(Listed(Err(shown(&x))));
        // The characters of a text are no names.
        if x.is_instance_of::<PyString>() {
            return x.extract::<T>().map_or_else(|_| refused(), |one| Ok(Listed(Ok(vec![one]))));
        }
        let Ok(items) = x.try_iter() else { return refused() };
        let mut list = Vec::new();
        for item in items {
            match item?.extract::<T>() {
                Ok(one) if one.is_text() => list.push(one),
                _ => return refused(),
            }
        }
        Ok(Listed(Ok(list)))
    }
}

impl Names {
    /// The names, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<Vec<String>> {
        let list = self.0.map_err(|got| {
            let rule = "it is a name, or a sequence of names".to_string();
            invalid(op, argument, got, rule, "pass a list of `str`")
        })?;
        list.into_iter().map(|name| name.of(op, argument)).collect()
    }
}

impl Pairs {
    /// The names, for an argument of this function.
    pub(crate) fn of(self, op: &'static str, argument: &str) -> Outcome<Vec<(String, String)>> {
        let list = self.0.map_err(|got| {
            let rule = "it is a sequence of pairs: an argument's name and a value's".to_string();
            invalid(op, argument, got, rule, "pass a list such as `[(\"x\", \"image\")]`")
        })?;
        list.into_iter().map(|(a, b)| Ok((a.of(op, argument)?, b.of(op, argument)?))).collect()
    }
}

/// A name that a program gives: other programs find it by this text, in C up to the first NUL.
pub(crate) fn checked(op: &'static str, argument: &str, name: String) -> Outcome<String> {
    match name.is_empty() || name.contains('\0') {
        false => Ok(name),
        true => {
            let (got, rule) =
                (format!("`{}`", name.escape_debug()), "a name has characters, and none is NUL");
            Err(invalid(op, argument, got, rule.to_string(), "choose another name"))
        }
    }
}

/// An optional name.
pub(crate) fn maybe(op: &'static str, argument: &str, name: Option<Name>) -> Outcome<Option<String>> {
    name.map(|name| name.of(op, argument)).transpose()
}

/// Values by name, sorted.
pub(crate) fn by_name<T>(
    op: &'static str,
    argument: &str,
    values: BTreeMap<Name, T>,
) -> Outcome<BTreeMap<String, T>> {
    values.into_iter().map(|(name, value)| Ok((name.of(op, argument)?, value))).collect()
}
