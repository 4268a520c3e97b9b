//! Names and paths of Python: a `str` that UTF-8 or the file system has no bytes for becomes an error of this package.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Outcome, invalid};

/// What an argument takes, made of a `str`, or the text of one that has no bytes. A function takes this in place of `T`, as it
/// takes a [`Number`](crate::number::Number).
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Encoded<T>(Result<T, String>);

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
                let e: PyErr = e.into();
                match e.is_instance_of::<PyUnicodeEncodeError>(x.py()) {
                    true => Ok(Encoded(Err(shown(&x)))),
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
        self.0.map_err(|got| {
            let rule = "it is text that UTF-8 can encode".to_string();
            invalid(op, argument, got, rule, "pass a `str` without surrogates")
        })
    }
}

impl FilePath {
    /// The path, for this function.
    pub(crate) fn of(self, op: &'static str) -> Outcome<PathBuf> {
        self.0.0.map_err(|got| {
            let rule = "it is a path that `os.fsencode` can encode".to_string();
            invalid(op, "path", got, rule, "pass a path as `os.listdir` or `os.fsdecode` gives it")
        })
    }
}

/// All names of a list.
pub(crate) fn all(op: &'static str, argument: &str, list: Vec<Name>) -> Outcome<Vec<String>> {
    list.into_iter().map(|name| name.of(op, argument)).collect()
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
