//! State dicts: safetensors files of plain weights. Their names, one by one, and those of packed files.

use std::ffi::c_char;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blocktensor::{Complaint, Error, Result, StateDict, StridedTensor};

use crate::handles::{self, Object, bt_handle, give};
use crate::status::{bt_status, guard, place, string};

/// A state dict, and the names that it had when it was opened.
pub(crate) struct Dict {
    names: Names,
    dict: Mutex<StateDict>,
}

impl Dict {
    fn new(dict: StateDict) -> Box<Dict> {
        Box::new(Dict { names: Names::new(dict.names()), dict: Mutex::new(dict) })
    }

    fn lock(&self) -> MutexGuard<'_, StateDict> {
        self.dict.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, op: &'static str, name: &str) -> Result<StridedTensor> {
        let mut dict = self.lock();
        let is_left = dict.names().any(|left| left == name);
        if !is_left && self.names.0.iter().any(|known| known.text() == name) {
            let (got, rule) = (format!("`{}`, which was taken", name.escape_debug()), "each is taken once");
            let remedy = "keep its handle, or load the file again";
            return Err(Error::InvalidArgument(Complaint::new(op, "name", got, rule, remedy)));
        }
        dict.take(name)
    }
}

/// The names that are left, one a line.
impl fmt::Display for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lock().names().collect::<Vec<_>>().join("\n"))
    }
}

/// Names at fixed addresses.
pub(crate) struct Names(Vec<Name>);

/// A name, followed by NUL.
struct Name(Box<str>);

impl Name {
    fn text(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }
}

impl Names {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Names {
        Names(names.map(|name| Name(format!("{name}\0").into())).collect())
    }

    fn get(&self, op: &'static str, index: usize) -> Result<&Name> {
        self.0.get(index).ok_or_else(|| {
            let rule = format!("there are {} names, and the first has index 0", self.0.len());
            let remedy = "ask `bt_dict_len` for their number";
            Error::InvalidArgument(Complaint::new(op, "index", index.to_string(), rule, remedy))
        })
    }
}

/// Reads a safetensors file of plain weights into memory.
///
/// # Safety
/// `path` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_load(path: *const c_char, out: *mut bt_handle) -> bt_status {
    let op = "bt_dict_load";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        out.write(give(Object::Dict(Dict::new(StateDict::read(path)?))));
        Ok(())
    })
}

/// Maps a safetensors file of plain weights into memory: as `bt_dict_load`, without the copy. Until the state dict and all
/// tensors taken from it are freed, neither this process nor another may write to the file or shorten it. Another file may be
/// renamed over it, and it may be deleted.
///
/// # Safety
/// `path` is a string, `out` may be written. The file is not changed, as stated above: otherwise reading a tensor may end the
/// process or be undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_map(path: *const c_char, out: *mut bt_handle) -> bt_status {
    let op = "bt_dict_map";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        // SAFETY: the caller's promise about the file.
        out.write(give(Object::Dict(Dict::new(unsafe { StateDict::map(path) }?))));
        Ok(())
    })
}

/// Calls `f` with the state dict of a handle.
fn with_dict<R>(op: &'static str, dict: bt_handle, f: impl FnOnce(&Dict) -> Result<R>) -> Result<R> {
    handles::with(op, "dict", dict, "a state dict", |object| match object {
        Object::Dict(dict) => Some(f(dict)),
        _ => None,
    })
}

/// Takes a tensor out of a state dict, by name: it is removed from the dict. `bt_dict_name` tells the names.
///
/// # Safety
/// `name` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_take(
    dict: bt_handle,
    name: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_dict_take";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (name, out) = unsafe { (string(op, "name", name)?, place(op, "out", out)?) };
        out.write(give(Object::Tensor(with_dict(op, dict, |dict| dict.take(op, name))?.into())));
        Ok(())
    })
}

/// As `bt_dict_take`, by the index of the name in `bt_dict_name`: also for names that contain NUL.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_take_at(dict: bt_handle, index: usize, out: *mut bt_handle) -> bt_status {
    let op = "bt_dict_take_at";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let taken = with_dict(op, dict, |dict| dict.take(op, dict.names.get(op, index)?.text()))?;
        out.write(give(Object::Tensor(taken.into())));
        Ok(())
    })
}

/// Calls `f` with the names of a state dict or a packed file.
fn with_names<R>(op: &'static str, handle: bt_handle, f: impl FnOnce(&Names) -> Result<R>) -> Result<R> {
    handles::with(op, "dict", handle, "a state dict or a packed file", |object| match object {
        Object::Dict(dict) => Some(f(&dict.names)),
        Object::File(file) => Some(f(file.names())),
        _ => None,
    })
}

/// The number of names in a state dict or a packed file, as it was opened: taking a tensor does not change it.
///
/// # Safety
/// `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_len(dict: bt_handle, count: *mut usize) -> bt_status {
    let op = "bt_dict_len";
    guard(op, || {
        // SAFETY: the caller's promise.
        let count = unsafe { place(op, "count", count)? };
        count.write(with_names(op, dict, |names| Ok(names.0.len()))?);
        Ok(())
    })
}

/// One of the names of a state dict or a packed file, which are sorted: its address, and its length in **bytes**. A name may
/// contain any character, newlines and NUL too; the NUL that ends it does not count. It is valid until the handle is freed.
///
/// # Safety
/// `name` and `length` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_dict_name(
    dict: bt_handle,
    index: usize,
    name: *mut *const c_char,
    length: *mut usize,
) -> bt_status {
    let op = "bt_dict_name";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (name, length) = unsafe { (place(op, "name", name)?, place(op, "length", length)?) };
        with_names(op, dict, |names| {
            let found = names.get(op, index)?;
            name.write(found.0.as_ptr().cast());
            length.write(found.text().len());
            Ok(())
        })
    })
}
