//! What tests of models share: stored arrays, and the C functions with their errors as `Result`.
#![allow(dead_code)]

pub mod calls;
pub mod programs;
pub mod words;

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use blocktensor_c::*;

/// A stored file of the small networks.
pub fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/onnx_models").join(name)
}

/// Sizes and numbers of a .npy file: f32, row-major.
pub fn array(name: &str) -> (Vec<i64>, Vec<f32>) {
    let bytes = std::fs::read(stored(name)).unwrap();
    assert_eq!(&bytes[..7], b"\x93NUMPY\x01");
    let (header, data) = bytes[10..].split_at(usize::from(u16::from_le_bytes([bytes[8], bytes[9]])));
    let header = std::str::from_utf8(header).unwrap();
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
    let dims = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0;
    let dims: Vec<i64> = dims.split(',').filter_map(|d| d.trim().parse().ok()).collect();
    let values: Vec<f32> = data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(values.len() as i64, dims.iter().product::<i64>());
    (dims, values)
}

/// The relative L2 distance of two arrays.
pub fn distance(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let of = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let apart = of(&mut got.iter().zip(want).map(|(&g, &w)| f64::from(g) - f64::from(w)));
    apart / of(&mut want.iter().map(|&w| f64::from(w)))
}

pub type Outcome<T> = Result<T, (bt_status, String)>;

/// The handle that a call gave, or its error, which gives none.
fn given(status: bt_status, out: bt_handle) -> Outcome<bt_handle> {
    assert_eq!(status == 0, out != 0);
    outcome(status, out)
}

/// The status and text of a call.
pub fn outcome<T>(status: bt_status, value: T) -> Outcome<T> {
    if status == 0 {
        return Ok(value);
    }
    assert_eq!(bt_last_error_code(), status);
    // SAFETY: this thread's, until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().unwrap().to_string();
    words::check(&text);
    Err((status, text))
}

/// A string of the library's.
pub fn text(said: *const std::ffi::c_char) -> String {
    // SAFETY: a string that lives as long as the object that the caller holds.
    unsafe { CStr::from_ptr(said) }.to_str().unwrap().to_string()
}

pub fn tensor(dims: &[i64], values: &[f32]) -> bt_handle {
    let mut out = 0;
    let (data, bytes) = (values.as_ptr().cast(), values.len() * 4);
    // SAFETY: arrays of the lengths that are passed.
    let status = unsafe { bt_tensor_from_data(0, dims.len(), dims.as_ptr(), null(), data, bytes, &mut out) };
    outcome(status, out).unwrap()
}

/// The numbers of a tensor, which is freed.
pub fn take(t: bt_handle, count: usize) -> Vec<f32> {
    elements(t, count)
}

/// The elements of a tensor, which is freed: as many as there are, of its own type.
pub fn elements<E: blocktensor::Element + Default>(t: bt_handle, count: usize) -> Vec<E> {
    let mut values = vec![E::default(); count];
    // SAFETY: room for that many elements.
    let status = unsafe { bt_tensor_read(t, values.as_mut_ptr().cast(), count * size_of::<E>()) };
    outcome(status, ()).unwrap();
    assert_eq!(bt_free(t), 0);
    values
}

pub fn load(path: &Path) -> Outcome<bt_handle> {
    let (path, mut out) = (CString::new(path.to_str().unwrap()).unwrap(), 0);
    // SAFETY: a string, and a place for the result.
    let status = unsafe { bt_model_load(path.as_ptr(), &mut out) };
    given(status, out)
}

pub fn from_data(bytes: &[u8]) -> Outcome<bt_handle> {
    let mut out = 0;
    // SAFETY: an array of that length, and a place for the result.
    let status = unsafe { bt_model_from_data(bytes.as_ptr().cast(), bytes.len(), &mut out) };
    given(status, out)
}

/// A plan in a layout, or in the default one.
pub fn plan(
    model: bt_handle,
    layout: Option<&str>,
    sizes: &[(&str, i64)],
    outputs: &[&str],
) -> Outcome<bt_handle> {
    let layout = layout.map(|l| CString::new(l).unwrap());
    let names: Vec<CString> = sizes.iter().map(|(name, _)| CString::new(*name).unwrap()).collect();
    let sizes: Vec<bt_named_size> = names
        .iter()
        .zip(sizes)
        .map(|(name, (_, size))| bt_named_size { name: name.as_ptr(), size: *size })
        .collect();
    let outputs: Vec<CString> = outputs.iter().map(|o| CString::new(*o).unwrap()).collect();
    let outputs: Vec<_> = outputs.iter().map(|o| o.as_ptr()).collect();
    let (layout, mut out) = (layout.as_ref().map_or(null(), |l| l.as_ptr()), 0);
    // SAFETY: strings, and arrays of the lengths that are passed.
    let status = unsafe {
        bt_plan_new(model, layout, sizes.as_ptr(), sizes.len(), outputs.as_ptr(), outputs.len(), &mut out)
    };
    given(status, out)
}

pub fn save_plan(plan: bt_handle, path: &Path, keep_plain: bool) -> Outcome<()> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a string.
    outcome(unsafe { bt_plan_save(plan, path.as_ptr(), keep_plain) }, ())
}

pub fn load_plan(path: &Path, replan: bool) -> Outcome<bt_handle> {
    let (path, mut out) = (CString::new(path.to_str().unwrap()).unwrap(), 0);
    // SAFETY: a string, and a place for the result.
    let status = unsafe { bt_plan_load(path.as_ptr(), replan, &mut out) };
    given(status, out)
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(got: Outcome<T>, code: bt_code, parts: &[&str]) -> String {
    let (status, said) = got.unwrap_err();
    assert_eq!(status, code as i32, "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    said
}

type Run =
    unsafe extern "C" fn(bt_handle, *const bt_handle, usize, *mut bt_handle, usize, *mut usize) -> bt_status;

/// Runs a plan (`bt_plan_run`) or a model (`bt_model_run`) that has at most eight outputs.
pub fn run(function: Run, object: bt_handle, inputs: &[bt_handle]) -> Outcome<Vec<bt_handle>> {
    let (mut outs, mut count) = ([0; 8], 0);
    // SAFETY: arrays of the lengths that are passed.
    let status =
        unsafe { function(object, inputs.as_ptr(), inputs.len(), outs.as_mut_ptr(), outs.len(), &mut count) };
    assert!(outs.iter().enumerate().all(|(i, &out)| (out != 0) == (status == 0 && i < count)));
    outcome(status, outs[..count].to_vec())
}

type Infos = unsafe extern "C" fn(bt_handle, *mut bt_value_info, usize, *mut usize) -> bt_status;

/// What is known of inputs or outputs: names, and sizes as text.
pub fn infos(function: Infos, object: bt_handle) -> Outcome<Vec<(String, Vec<String>)>> {
    let none = bt_value_info { name: null(), dtype: -1, rank: 0, dims: [0; 12], dim_names: [null(); 12] };
    let mut count = 0;
    // SAFETY: a null array has no room.
    outcome(unsafe { function(object, null_mut(), 0, &mut count) }, ())?;
    let mut list = vec![none; count];
    // SAFETY: an array of that length.
    outcome(unsafe { function(object, list.as_mut_ptr(), list.len(), null_mut()) }, ())?;
    Ok(list
        .iter()
        .map(|info| {
            assert_eq!(info.dtype, bt_dtype::BT_F32 as i32);
            let dims = info.dims.iter().zip(&info.dim_names).take(info.rank).map(|(size, name)| {
                assert_eq!(name.is_null(), *size >= 0);
                if name.is_null() { size.to_string() } else { text(*name) }
            });
            (text(info.name), dims.collect())
        })
        .collect())
}

/// What a function such as `bt_describe` writes.
pub fn described(
    function: unsafe extern "C" fn(bt_handle, *mut std::ffi::c_char, usize, *mut usize) -> bt_status,
    object: bt_handle,
) -> Outcome<String> {
    let mut needed = 0;
    // SAFETY: a null place has no room.
    outcome(unsafe { function(object, null_mut(), 0, &mut needed) }, ())?;
    let mut room = vec![0; needed];
    // SAFETY: a place of that length.
    outcome(unsafe { function(object, room.as_mut_ptr(), needed, null_mut()) }, ())?;
    Ok(text(room.as_ptr()))
}
