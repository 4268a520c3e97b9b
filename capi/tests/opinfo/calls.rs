//! Tensors and calls by name, through the C functions alone.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use blocktensor_c::*;

use crate::samples::Array;

/// A status and its text.
pub type Failure = (bt_status, String);

/// A tensor's handle, freed with it.
pub struct Held(pub bt_handle);

impl Drop for Held {
    fn drop(&mut self) {
        assert_eq!(bt_free(self.0), 0);
    }
}

/// The text of this thread's last error.
fn failure(status: bt_status) -> Failure {
    assert_eq!(bt_last_error_code(), status);
    // SAFETY: this thread's, until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().unwrap();
    crate::support::words::check(text);
    (status, text.to_string())
}

fn held(status: bt_status, out: bt_handle) -> Result<Held, Failure> {
    assert_eq!(status == 0, out != 0, "a handle exactly if the call succeeds");
    if status == 0 { Ok(Held(out)) } else { Err(failure(status)) }
}

/// A stored array. One with strides keeps them: it is wrapped where it is, so it must outlive the tensor.
pub fn tensor(a: &Array) -> Held {
    let (mut out, rank) = (0, a.dims.len());
    let data = a.as_bytes().as_ptr();
    // SAFETY: arrays of these lengths. What is wrapped is only read, and the caller keeps it.
    let status = unsafe {
        match &a.strides {
            None => {
                bt_tensor_from_data(a.dtype, rank, a.dims.as_ptr(), null(), data.cast(), a.bytes, &mut out)
            }
            Some(strides) => bt_tensor_wrap(
                a.dtype,
                rank,
                a.dims.as_ptr(),
                strides.as_ptr(),
                data.cast_mut().cast(),
                false,
                null_mut(),
                None,
                &mut out,
            ),
        }
    };
    held(status, out).unwrap()
}

pub fn to_blocked(t: &Held, layout: Option<&str>) -> Result<Held, Failure> {
    let layout = layout.map(|l| CString::new(l).unwrap());
    let mut out = 0;
    // SAFETY: null or a string, and a place for the result.
    let status = unsafe { bt_to_blocked(t.0, layout.as_ref().map_or(null(), |l| l.as_ptr()), &mut out) };
    held(status, out)
}

pub fn to_strided(t: &Held) -> Held {
    let mut out = 0;
    // SAFETY: a place for the result.
    held(unsafe { bt_to_strided(t.0, null(), &mut out) }, out).unwrap()
}

/// What is known of a tensor.
pub struct Info {
    pub dtype: i32,
    pub dims: Vec<i64>,
    pub key: String,
    pub layout: String,
}

pub fn info(t: &Held) -> Info {
    let mut info = bt_info {
        struct_size: size_of::<bt_info>(),
        dtype: -1,
        rank: 0,
        dims: [0; 12],
        key: [0; 32],
        layout: [0; 32],
    };
    // SAFETY: a whole structure.
    assert_eq!(unsafe { bt_tensor_info(t.0, &mut info) }, 0);
    // SAFETY: strings that end with NUL.
    let text = |s: &[std::ffi::c_char]| unsafe { CStr::from_ptr(s.as_ptr()) }.to_str().unwrap().to_string();
    Info {
        dtype: info.dtype,
        dims: info.dims[..info.rank].to_vec(),
        key: text(&info.key),
        layout: text(&info.layout),
    }
}

/// The bytes of a strided tensor's elements, row-major.
pub fn read(t: &Held, bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut data = vec![0u8; bytes];
    // SAFETY: room for that many bytes.
    let status = unsafe { bt_tensor_read(t.0, data.as_mut_ptr().cast(), bytes) };
    if status == 0 { Ok(data) } else { Err(failure(status)) }
}

/// What `bt_schema` writes of an op.
pub fn schema(op: &str) -> String {
    let (op, mut needed) = (CString::new(op).unwrap(), 0);
    // SAFETY: a string; a null place has no room.
    assert_eq!(unsafe { bt_schema(op.as_ptr(), null_mut(), 0, &mut needed) }, 0);
    let mut text = vec![0; needed];
    // SAFETY: a place of that length.
    assert_eq!(unsafe { bt_schema(op.as_ptr(), text.as_mut_ptr(), needed, null_mut()) }, 0);
    // SAFETY: written above, NUL included.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_string()
}

/// The value of an argument.
pub enum Given<'a> {
    Tensor(bt_handle),
    Tensors(Vec<bt_handle>),
    Int(i64),
    Ints(&'a [i64]),
    Float(f64),
    Bool(bool),
    Word(CString),
}

/// Calls an op by name.
pub fn call(op: &str, args: &[(&str, Given<'_>)]) -> Result<Vec<Held>, Failure> {
    let names: Vec<CString> = args.iter().map(|(name, _)| CString::new(*name).unwrap()).collect();
    let passed = names.iter().zip(args).map(|(name, (_, given))| {
        let mut arg = bt_arg {
            name: name.as_ptr(),
            kind: 0,
            number: 0,
            real: 0.0,
            text: null(),
            integers: null(),
            tensors: null(),
            count: 0,
        };
        match given {
            Given::Tensor(handle) => (arg.kind, arg.tensors, arg.count) = (1, handle, 1),
            Given::Tensors(list) => (arg.kind, arg.tensors, arg.count) = (2, list.as_ptr(), list.len()),
            Given::Int(v) => (arg.kind, arg.number) = (3, *v),
            Given::Ints(list) => (arg.kind, arg.integers, arg.count) = (4, list.as_ptr(), list.len()),
            Given::Float(v) => (arg.kind, arg.real) = (5, *v),
            Given::Bool(v) => (arg.kind, arg.number) = (6, i64::from(*v)),
            Given::Word(word) => (arg.kind, arg.text) = (7, word.as_ptr()),
        }
        arg
    });
    let args: Vec<bt_arg> = passed.collect();
    let (op, mut outs, mut count) = (CString::new(op).unwrap(), [0; 64], 0);
    // SAFETY: strings and arrays as their fields say, and room for the results.
    let status =
        unsafe { bt_call(op.as_ptr(), args.as_ptr(), args.len(), outs.as_mut_ptr(), outs.len(), &mut count) };
    assert!(outs.iter().enumerate().all(|(i, &out)| (out != 0) == (status == 0 && i < count)));
    if status == 0 { Ok(outs[..count].iter().map(|&out| Held(out)).collect()) } else { Err(failure(status)) }
}

/// An op of one tensor and one list of integers, such as `reshape`.
pub fn shaped(op: &str, t: &Held, name: &str, list: &[i64]) -> Result<Held, Failure> {
    Ok(call(op, &[("x", Given::Tensor(t.0)), (name, Given::Ints(list))])?.remove(0))
}
