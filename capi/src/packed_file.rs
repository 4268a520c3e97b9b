//! Files of packed weights: written once, then read or mapped.

use std::ffi::c_char;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::{Complaint, Error, PackedFile, PackedOp, PackedWriter, Result};

use crate::dict::Names;
use crate::handles::{self, Object, bt_handle, give, object};
use crate::status::{bt_status, guard, place, string};

/// Packed weights that will be written to a file.
#[derive(Default)]
pub(crate) struct Writer {
    keep_plain: bool,
    /// Names, and objects that are packed weights.
    items: Vec<(String, Arc<Object>)>,
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a writer of {} packed ops", self.items.len())
    }
}

/// A packed file, with its names for C.
pub(crate) struct File {
    file: PackedFile,
    names: Names,
}

impl File {
    fn new(file: PackedFile) -> Box<File> {
        Box::new(File { names: Names::new(file.names()), file })
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.file)
    }
}

/// Creates a writer of a packed file. If `keep_plain`, the file also holds the plain weights, with batch norms folded in:
/// about twice as large, it can then be packed again on another machine.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_writer_new(keep_plain: bool, out: *mut bt_handle) -> bt_status {
    let op = "bt_packed_writer_new";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Writer(Mutex::new(Writer { keep_plain, ..Writer::default() }))));
        Ok(())
    })
}

/// Calls `f` with the writer of a handle.
fn with_writer<R>(
    op: &'static str,
    writer: bt_handle,
    f: impl FnOnce(&mut Writer) -> Result<R>,
) -> Result<R> {
    handles::with(op, "writer", writer, "a writer of packed files", |object| match object {
        Object::Writer(writer) => Some(f(&mut writer.lock().unwrap_or_else(PoisonError::into_inner))),
        _ => None,
    })
}

/// Adds packed weights under a name. Their handle may be freed afterwards.
///
/// # Safety
/// `name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_writer_add(
    writer: bt_handle,
    name: *const c_char,
    packed: bt_handle,
) -> bt_status {
    let op = "bt_packed_writer_add";
    guard(op, || {
        // SAFETY: the caller's promise.
        let name = unsafe { string(op, "name", name)? };
        let is_packed = |object: &Object| matches!(object, Object::Packed(_)).then_some(Ok(()));
        handles::with(op, "packed", packed, "packed weights", is_packed)?;
        let packed = object(op, "packed", packed)?;
        with_writer(op, writer, |writer| {
            if writer.items.iter().any(|(taken, _)| taken == name) {
                let got = format!("`{}` again", name.escape_debug());
                let rule = "packed weights in a file need different names";
                let c = Complaint::new(op, "name", got, rule, "pass another name");
                return Err(Error::InvalidArgument(c));
            }
            writer.items.push((name.to_string(), packed));
            Ok(())
        })
    })
}

/// Writes the file. Afterwards it is complete; on an error a file that was there is unchanged. A file of packed weights and an empty
/// one are replaced, others are an error. Of a symbolic link, the target is replaced; a pipe or a device is written directly. The
/// writer may write again.
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_writer_save(writer: bt_handle, path: *const c_char) -> bt_status {
    let op = "bt_packed_writer_save";
    guard(op, || {
        // SAFETY: the caller's promise.
        let path = unsafe { string(op, "path", path)? };
        with_writer(op, writer, |writer| {
            let mut file = PackedWriter::new();
            if writer.keep_plain {
                file = file.keep_plain();
            }
            for (name, object) in &writer.items {
                if let Object::Packed(packed) = &**object {
                    file.add(name, &**packed)?;
                }
            }
            file.save(path)
        })
    })
}

/// Reads a file of packed weights into memory, and checks all of it: checksums, and that it is for this machine, and this
/// version of oneDNN. If `repack`, weights that do not fit this machine or number of threads are packed again instead, from
/// plain weights that the file keeps.
///
/// # Safety
/// `path` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_file_read(
    path: *const c_char,
    repack: bool,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_packed_file_read";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        let file = if repack { PackedFile::read_or_repack(path)? } else { PackedFile::read(path)? };
        out.write(give(Object::File(File::new(file))));
        Ok(())
    })
}

/// As `bt_packed_file_read`, without a copy: the file is mapped into memory, and processes that map it share its pages.
/// Until the handle and all packed weights from it are freed, neither this process nor another may write to the file or
/// shorten it. Another file may be renamed over it, as `bt_packed_writer_save` does, and it may be deleted.
///
/// # Safety
/// `path` is a string, `out` may be written. The file is not changed, as stated above: otherwise running its weights may
/// end the process or be undefined behaviour.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_file_map(
    path: *const c_char,
    repack: bool,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_packed_file_map";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        // SAFETY: the caller's promise about the file.
        let file = unsafe { if repack { PackedFile::map_or_repack(path)? } else { PackedFile::map(path)? } };
        out.write(give(Object::File(File::new(file))));
        Ok(())
    })
}

/// The packed weights of a name, of whatever kind: a convolution, transposed or not, a stem or a linear layer. They use the
/// file's memory; the file's handle may be freed. `bt_dict_len` and `bt_dict_name` tell the names.
///
/// # Safety
/// `name` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_file_get(
    file: bt_handle,
    name: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_packed_file_get";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (name, out) = unsafe { (string(op, "name", name)?, place(op, "out", out)?) };
        let packed = handles::with(op, "file", file, "a packed file", |object| match object {
            Object::File(file) => Some(file.file.get::<PackedOp>(name)),
            _ => None,
        })?;
        out.write(give(Object::Packed(Box::new(packed))));
        Ok(())
    })
}
