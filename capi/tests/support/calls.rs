//! The C functions with their errors as `Result`, for tests that are not about pointers.
#![allow(dead_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use blocktensor_c::*;

use super::{Outcome, outcome};

pub const F32: i32 = bt_dtype::BT_F32 as i32;

/// The handle that a call writes, or its error, which writes none.
fn made(call: impl FnOnce(*mut bt_handle) -> bt_status) -> Outcome<bt_handle> {
    let mut out = 0;
    let status = call(&mut out);
    assert_eq!(status == 0, out != 0);
    outcome(status, out)
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

const NOTHING: bt_arg = bt_arg {
    name: null(),
    kind: 0,
    number: 0,
    real: 0.0,
    text: null(),
    integers: null(),
    tensors: null(),
    count: 0,
};

pub fn t(name: &'static CStr, t: bt_handle) -> bt_arg {
    bt_arg { name: name.as_ptr(), kind: 1, number: t.cast_signed(), ..NOTHING }
}

pub fn ints(name: &'static CStr, values: &'static [i64]) -> bt_arg {
    bt_arg { name: name.as_ptr(), kind: 4, integers: values.as_ptr(), count: values.len(), ..NOTHING }
}

pub fn float(name: &'static CStr, value: f64) -> bt_arg {
    bt_arg { name: name.as_ptr(), kind: 5, real: value, ..NOTHING }
}

pub fn word(name: &'static CStr, text: &'static CStr) -> bt_arg {
    bt_arg { name: name.as_ptr(), kind: 7, text: text.as_ptr(), ..NOTHING }
}

/// Numbers between -1 and 1 that look random.
pub fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor of noise.
pub fn random(dims: &[i64], seed: u64) -> bt_handle {
    super::tensor(dims, &noise(dims.iter().product::<i64>() as usize, seed))
}

pub fn desc(dims: &[i64], layout: Option<&CStr>) -> Outcome<bt_handle> {
    let layout = layout.map_or(null(), CStr::as_ptr);
    // SAFETY: an array of that length, null or a string, and a place for the result.
    made(|out| unsafe { bt_desc_new(F32, dims.len(), dims.as_ptr(), layout, out) })
}

pub fn zeros(like: bt_handle) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_tensor_zeros(like, out) })
}

pub fn blocked(t: bt_handle) -> bt_handle {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_to_blocked(t, null(), out) }).unwrap()
}

pub fn strided(t: bt_handle) -> bt_handle {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_to_strided(t, null(), out) }).unwrap()
}

pub fn cast(t: bt_handle, dtype: i32) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_cast(t, dtype, out) })
}

pub fn reshape(t: bt_handle, dims: &[i64]) -> Outcome<bt_handle> {
    // SAFETY: an array of that length, and a place for the result.
    made(|out| unsafe { bt_reshape(t, dims.len(), dims.as_ptr(), out) })
}

/// Sizes, key and layout of a tensor or a description.
pub fn info(t: bt_handle) -> (Vec<i64>, String, String) {
    let mut info = bt_info {
        struct_size: size_of::<bt_info>(),
        dtype: -1,
        rank: 0,
        dims: [0; 12],
        key: [0; 32],
        layout: [0; 32],
    };
    // SAFETY: a structure of its size.
    outcome(unsafe { bt_tensor_info(t, &mut info) }, ()).unwrap();
    (info.dims[..info.rank].to_vec(), super::text(info.key.as_ptr()), super::text(info.layout.as_ptr()))
}

/// The numbers of a tensor of any layout, in row-major order. Its handle stays.
pub fn numbers(t: bt_handle) -> Vec<f32> {
    let count = info(t).0.iter().product::<i64>() as usize;
    super::take(strided(t), count)
}

pub fn call(op: &CStr, args: &[bt_arg]) -> Outcome<bt_handle> {
    // SAFETY: a string, arguments as they say, and room for one result.
    made(|out| unsafe { bt_call(op.as_ptr(), args.as_ptr(), args.len(), out, 1, null_mut()) })
}

pub fn call_into(op: &CStr, args: &[bt_arg], outs: &[bt_handle]) -> Outcome<()> {
    // SAFETY: as above; an array of that length.
    let status = unsafe { bt_call_into(op.as_ptr(), args.as_ptr(), args.len(), outs.as_ptr(), outs.len()) };
    outcome(status, ())
}

pub type Pack =
    unsafe extern "C" fn(bt_handle, bt_handle, *const bt_arg, usize, bt_handle, *mut bt_handle) -> bt_status;

/// Packs with `bt_pack_conv` or `bt_pack_conv_transpose`.
pub fn pack(
    function: Pack,
    weights: bt_handle,
    bias: bt_handle,
    params: &[bt_arg],
    like: bt_handle,
) -> Outcome<bt_handle> {
    // SAFETY: arguments as they say, and a place for the result.
    made(|out| unsafe { function(weights, bias, params.as_ptr(), params.len(), like, out) })
}

pub fn pack_stem(
    weights: bt_handle,
    params: &[bt_arg],
    like: bt_handle,
    layout: Option<&CStr>,
) -> Outcome<bt_handle> {
    let layout = layout.map_or(null(), CStr::as_ptr);
    // SAFETY: arguments as they say, null or a string, and a place for the result.
    made(|out| unsafe { bt_pack_stem(weights, 0, params.as_ptr(), params.len(), like, layout, out) })
}

pub fn pack_linear(weights: bt_handle, bias: bt_handle, rows: usize) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_pack_linear(weights, bias, rows, out) })
}

pub fn run_packed(packed: bt_handle, x: bt_handle, residual: bt_handle) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_packed_run(packed, x, residual, out) })
}

pub fn writer(keep_plain: bool) -> bt_handle {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_packed_writer_new(keep_plain, out) }).unwrap()
}

pub fn add(writer: bt_handle, name: &CStr, packed: bt_handle) -> Outcome<()> {
    // SAFETY: a string.
    outcome(unsafe { bt_packed_writer_add(writer, name.as_ptr(), packed) }, ())
}

pub fn save(writer: bt_handle, path: &Path) -> Outcome<()> {
    let path = c_path(path);
    // SAFETY: a string.
    outcome(unsafe { bt_packed_writer_save(writer, path.as_ptr()) }, ())
}

type Open = unsafe extern "C" fn(*const c_char, bool, *mut bt_handle) -> bt_status;

/// Opens with `bt_packed_file_read` or `bt_packed_file_map` a file that nobody changes.
pub fn open(function: Open, path: &Path, repack: bool) -> Outcome<bt_handle> {
    let path = c_path(path);
    // SAFETY: a string, a file that nobody changes, and a place for the result.
    made(|out| unsafe { function(path.as_ptr(), repack, out) })
}

pub fn get(file: bt_handle, name: &CStr) -> Outcome<bt_handle> {
    // SAFETY: a string, and a place for the result.
    made(|out| unsafe { bt_packed_file_get(file, name.as_ptr(), out) })
}

pub fn dict(path: &Path) -> Outcome<bt_handle> {
    let path = c_path(path);
    // SAFETY: a string, and a place for the result.
    made(|out| unsafe { bt_dict_load(path.as_ptr(), out) })
}

pub fn take_at(dict: bt_handle, index: usize) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_dict_take_at(dict, index, out) })
}

pub fn take_named(dict: bt_handle, name: &CStr) -> Outcome<bt_handle> {
    // SAFETY: a string, and a place for the result.
    made(|out| unsafe { bt_dict_take(dict, name.as_ptr(), out) })
}

/// The names of a state dict or a packed file, one by one.
pub fn names(dict: bt_handle) -> Outcome<Vec<String>> {
    let mut count = 0;
    // SAFETY: a place for the result.
    outcome(unsafe { bt_dict_len(dict, &mut count) }, ())?;
    (0..count).map(|index| name(dict, index)).collect()
}

pub fn name(dict: bt_handle, index: usize) -> Outcome<String> {
    let (mut name, mut length) = (null(), 0);
    // SAFETY: places for the results.
    outcome(unsafe { bt_dict_name(dict, index, &mut name, &mut length) }, ())?;
    // SAFETY: that many bytes, followed by NUL, as long as the handle lives.
    let bytes = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length + 1) };
    assert_eq!(bytes[length], 0);
    Ok(String::from_utf8(bytes[..length].to_vec()).unwrap())
}

pub fn operator(op: &CStr, inputs: &[&CStr], params: &[bt_arg]) -> Outcome<bt_handle> {
    let inputs: Vec<_> = inputs.iter().map(|name| name.as_ptr()).collect();
    let (names, count) = (inputs.as_ptr(), inputs.len());
    // SAFETY: strings, arguments as they say, and a place for the result.
    made(|out| unsafe { bt_op_new(op.as_ptr(), names, count, params.as_ptr(), params.len(), out) })
}

type Results =
    unsafe extern "C" fn(bt_handle, *const bt_handle, usize, *mut bt_handle, usize, *mut usize) -> bt_status;

/// The handles that `bt_op_infer` or `bt_op_run` gives.
pub fn results(function: Results, op: bt_handle, inputs: &[bt_handle]) -> Outcome<Vec<bt_handle>> {
    super::run(function, op, inputs)
}

pub fn preferred(op: bt_handle, key: &CStr, inputs: &[bt_handle]) -> Outcome<Vec<bt_handle>> {
    let (mut outs, mut count) = ([0; 4], 9);
    let (room, out) = (outs.len(), outs.as_mut_ptr());
    // SAFETY: a string, and arrays of the lengths that are passed.
    let status =
        unsafe { bt_op_preferred(op, key.as_ptr(), inputs.as_ptr(), inputs.len(), out, room, &mut count) };
    outcome(status, ())?;
    Ok(outs[..count].to_vec())
}

pub fn scratchpad_bytes(op: bt_handle, inputs: &[bt_handle]) -> Outcome<usize> {
    let mut bytes = 0;
    // SAFETY: an array of that length, and a place for the result.
    outcome(unsafe { bt_op_scratchpad_bytes(op, inputs.as_ptr(), inputs.len(), &mut bytes) }, ())?;
    Ok(bytes)
}

pub fn scratchpad(bytes: usize) -> Outcome<bt_handle> {
    // SAFETY: a place for the result.
    made(|out| unsafe { bt_scratchpad_new(bytes, out) })
}

pub fn run_into(
    op: bt_handle,
    inputs: &[bt_handle],
    outs: &[bt_handle],
    scratchpad: bt_handle,
) -> Outcome<()> {
    // SAFETY: arrays of the lengths that are passed.
    let status =
        unsafe { bt_op_run_into(op, inputs.as_ptr(), inputs.len(), outs.as_ptr(), outs.len(), scratchpad) };
    outcome(status, ())
}

/// Wraps numbers of the caller, which outlive the handle.
pub fn wrap(dims: &[i64], data: &mut [f32], writable: bool) -> bt_handle {
    let data = data.as_mut_ptr().cast();
    let none = null_mut();
    // SAFETY: arrays of the lengths that are passed; the caller's promise about the numbers.
    made(|out| unsafe {
        bt_tensor_wrap(F32, dims.len(), dims.as_ptr(), null(), data, writable, none, None, out)
    })
    .unwrap()
}

type Scope = unsafe extern "C" fn(bt_body, *mut c_void) -> bt_status;

/// Runs a closure inside a scope such as `bt_scope`. What it returns is the body's status.
pub fn inside<F: FnMut() -> bt_status>(scope: Scope, mut f: F) -> bt_status {
    unsafe extern "C" fn body<F: FnMut() -> bt_status>(context: *mut c_void) -> bt_status {
        // SAFETY: the closure of `inside`, which is not used elsewhere meanwhile.
        unsafe { (*context.cast::<F>())() }
    }
    // SAFETY: the body gets its closure, which outlives the call.
    unsafe { scope(Some(body::<F>), (&raw mut f).cast()) }
}

/// Runs a closure inside `bt_record`: its status, and the ledger's text.
pub fn recorded<F: FnMut() -> bt_status>(mut f: F) -> (bt_status, bt_handle) {
    unsafe extern "C" fn body<F: FnMut() -> bt_status>(context: *mut c_void) -> bt_status {
        // SAFETY: the closure of `recorded`, which is not used elsewhere meanwhile.
        unsafe { (*context.cast::<F>())() }
    }
    let mut book = 0;
    // SAFETY: the body gets its closure, which outlives the call; a place for the result.
    let status = unsafe { bt_record(Some(body::<F>), (&raw mut f).cast(), &mut book) };
    (status, book)
}

/// Frees them all.
pub fn free(handles: &[bt_handle]) {
    handles.iter().for_each(|&h| assert_eq!(bt_free(h), 0));
}

pub fn int(name: &'static CStr, value: i64) -> bt_arg {
    bt_arg { name: name.as_ptr(), kind: 3, number: value, ..NOTHING }
}

pub fn blocked_as(t: bt_handle, layout: &CStr) -> bt_handle {
    // SAFETY: a string, and a place for the result.
    made(|out| unsafe { bt_to_blocked(t, layout.as_ptr(), out) }).unwrap()
}

/// The text of this thread's last error.
pub fn last() -> String {
    let text = super::text(bt_last_error_message());
    super::words::check(&text);
    text
}
