//! Names and paths of Python: a `str` that UTF-8 or the file system has no bytes for becomes an error of this package.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};

use crate::errors::{Outcome, invalid};
use crate::number;

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
pub(crate) struct FilePath(Result<PathBuf, NoPath>);

/// An object that is no path.
struct NoPath {
    got: String,
    why: Why,
}

enum Why {
    /// It is text that the file system has no bytes for.
    Text,
    /// It is a model in memory.
    Message,
    Other,
}

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<FilePath> {
        let is_path =
            x.is_instance_of::<PyString>() || x.is_instance_of::<PyBytes>() || x.hasattr("__fspath__")?;
        if !is_path {
            let got = x.get_type().fully_qualified_name()?.to_string_lossy().into_owned();
            // Messages of protocol buffers, such as a model of the package `onnx`.
            let is_message = x.hasattr("SerializeToString")?;
            return Ok(FilePath(Err(NoPath {
                got,
                why: if is_message { Why::Message } else { Why::Other },
            })));
        }
        let path = PyModule::import(x.py(), "os")?.call_method1("fspath", (x,))?;
        match path.cast::<PyBytes>() {
            Ok(bytes) => Ok(FilePath(Ok(PathBuf::from(OsStr::from_bytes(bytes.as_bytes()))))),
            Err(_) => {
                let path: Encoded<PathBuf> = path.extract()?;
                Ok(FilePath(path.0.map_err(|Refused { got, .. }| NoPath { got, why: Why::Text })))
            }
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
        self.0.map_err(|NoPath { got, why }| {
            let is_path = "it is a path: `str`, `bytes` or `os.PathLike`";
            let (rule, remedy) = match why {
                Why::Text => (
                    "it is a path that `os.fsencode` can encode",
                    "pass a path as `os.listdir` or `os.fsdecode` gives it",
                ),
                Why::Message => {
                    (is_path, "write it to a file first, `onnx.save(model, path)`, and pass the path")
                }
                Why::Other => (is_path, "pass the path of a file"),
            };
            invalid(op, "path", got, rule.to_string(), remedy)
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
        let Some(items) = number::items(&x) else { return refused() };
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

/// The keys and values of a mapping.
type Items = Vec<(Py<PyAny>, Py<PyAny>)>;

/// Objects by name, or the text of what is no mapping: any mapping of Python, of which `dict` is one.
pub(crate) struct Mapped(Result<Items, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Mapped {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Mapped> {
        match x.cast::<PyMapping>() {
            Ok(mapping) => Ok(Mapped(Ok(mapping.items()?.extract()?))),
            Err(_) => Ok(Mapped(Err(shown(&x)))),
        }
    }
}

/// The default of an argument.
impl Default for Mapped {
    fn default() -> Mapped {
        Mapped(Ok(Vec::new()))
    }
}

impl Mapped {
    /// The names and objects, in the mapping's order. `of` says what the objects are.
    pub(crate) fn of<'py>(
        self,
        py: Python<'py>,
        op: &'static str,
        argument: &str,
        of: &str,
    ) -> Outcome<Vec<(String, Bound<'py, PyAny>)>> {
        let items = self.0.map_err(|got| {
            invalid(op, argument, got, format!("it is a mapping from names to {of}"), "pass a dict")
        })?;
        let item = |(name, x): (Py<PyAny>, Py<PyAny>)| {
            let name = name.into_bound(py);
            let known = of_text(&name).ok_or_else(|| {
                let rule = format!("it is a mapping from names to {of}");
                invalid(op, argument, shown(&name), rule, "pass a dict whose keys are `str`")
            })?;
            Ok((known.of(op, argument)?, x.into_bound(py)))
        };
        items.into_iter().map(item).collect()
    }
}
