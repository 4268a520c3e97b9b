//! A packed layer and an operator of the C interface, written into tensors that were made from descriptions, and saved and
//! mapped. One scope frees every handle.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr::null;

use blocktensor_c::*;

use crate::handles::{ok, tensor};
use crate::shapes::{dims, integers};

const F32: i32 = bt_dtype::BT_F32 as i32;
/// Shapes between two that write a file.
const SAVED: usize = 16;

struct Work {
    shape: usize,
    result: Result<(), String>,
}

pub fn run(shape: usize) -> Result<(), String> {
    let mut work = Work { shape, result: Ok(()) };
    // SAFETY: the body gets its work, which outlives the call.
    let status = unsafe { bt_scope(Some(body), (&raw mut work).cast()) };
    work.result.and_then(|()| ok("bt_scope", status))
}

unsafe extern "C" fn body(context: *mut c_void) -> bt_status {
    // SAFETY: the work of `run`, which nobody else uses meanwhile.
    let work = unsafe { &mut *context.cast::<Work>() };
    work.result = steps(work.shape);
    0
}

fn made(call: &str, f: impl FnOnce(*mut bt_handle) -> bt_status) -> Result<bt_handle, String> {
    let mut out = 0;
    ok(call, f(&mut out)).map(|()| out)
}

/// A description of a tensor in the machine's blocked layout.
fn described(dims: &[usize]) -> Result<bt_handle, String> {
    let d: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
    // SAFETY: an array of that length, a string, and a place.
    made("bt_desc_new", |out| unsafe { bt_desc_new(F32, d.len(), d.as_ptr(), c"blocked".as_ptr(), out) })
}

fn zeros(like: bt_handle) -> Result<bt_handle, String> {
    // SAFETY: a place.
    made("bt_tensor_zeros", |out| unsafe { bt_tensor_zeros(like, out) })
}

fn numbers(t: bt_handle, count: usize) -> Result<Vec<f32>, String> {
    let mut got = vec![0f32; count];
    // SAFETY: places for the handle and the numbers.
    let plain = made("bt_to_strided", |out| unsafe { bt_to_strided(t, null(), out) })?;
    // SAFETY: as above.
    ok("bt_tensor_read", unsafe { bt_tensor_read(plain, got.as_mut_ptr().cast(), count * 4) })?;
    Ok(got)
}

fn operator(name: &CStr) -> Result<bt_handle, String> {
    let inputs = [c"x".as_ptr()];
    // SAFETY: strings, no parameters, and a place.
    made("bt_op_new", |out| unsafe { bt_op_new(name.as_ptr(), inputs.as_ptr(), 1, null(), 0, out) })
}

fn steps(i: usize) -> Result<(), String> {
    let d = dims(i);
    let (x, w) = (tensor(i, &d)?, tensor(i + 1, &[16, d[1], 1, 1])?);
    let like = described(&d)?;
    // SAFETY: no parameters, and a place.
    let packed = made("bt_pack_conv", |out| unsafe { bt_pack_conv(w, 0, null(), 0, like, out) })?;
    let xb = zeros(like)?;
    ok("bt_reorder_into", bt_reorder_into(x, xb))?;
    let (mut y_like, mut count) = (0, 0);
    // SAFETY: one input, and room for one result.
    ok("bt_op_infer", unsafe { bt_op_infer(packed, &like, 1, &mut y_like, 1, &mut count) })?;
    let (y, z) = (zeros(y_like)?, zeros(y_like)?);
    ok("bt_packed_run_into", bt_packed_run_into(packed, xb, 0, y))?;
    // SAFETY: a place.
    let pad = made("bt_scratchpad_new", |out| unsafe { bt_scratchpad_new(0, out) })?;
    let neg = operator(c"neg")?;
    // SAFETY: one input, one result, and a scratchpad.
    ok("bt_op_run_into", unsafe { bt_op_run_into(neg, &y, 1, &z, 1, pad) })?;
    let n = d[0] * 16 * d[2] * d[3];
    let (want, negated) = (numbers(y, n)?, numbers(z, n)?);
    if want.iter().zip(&negated).any(|(a, b)| *a != -b) {
        return Err("the negated result differs".to_string());
    }
    if numbers(xb, d.iter().product())? != integers(i, d.iter().product()) {
        return Err("the source differs after its reorder".to_string());
    }
    if i.is_multiple_of(SAVED) {
        let folder = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
        let again = saved(packed, &folder.path().join("one.packed"))?;
        ok("bt_packed_run_into", bt_packed_run_into(again, xb, 0, z))?;
        if numbers(z, n)? != want {
            return Err("the mapped weights gave other numbers".to_string());
        }
    }
    Ok(())
}

/// The same packed weights, saved and mapped. The mapping keeps the file's memory after the file is removed.
fn saved(packed: bt_handle, path: &Path) -> Result<bt_handle, String> {
    let path = CString::new(path.to_str().ok_or("no UTF-8 in the folder")?).map_err(|e| e.to_string())?;
    let name = c"layer";
    // SAFETY: strings and places; nobody changes the file.
    unsafe {
        let writer = made("bt_packed_writer_new", |out| bt_packed_writer_new(false, out))?;
        ok("bt_packed_writer_add", bt_packed_writer_add(writer, name.as_ptr(), packed))?;
        ok("bt_packed_writer_save", bt_packed_writer_save(writer, path.as_ptr()))?;
        let file = made("bt_packed_file_map", |out| bt_packed_file_map(path.as_ptr(), false, out))?;
        made("bt_packed_file_get", |out| bt_packed_file_get(file, name.as_ptr(), out))
    }
}
