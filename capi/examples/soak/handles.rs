//! The C interface, as a C program would call it.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use blocktensor_c::*;

use crate::shapes::{dims, integers};

pub fn ok(call: &str, status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: this thread's own text, valid until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) };
    Err(format!("{call}: status {status}, {}", text.to_string_lossy()))
}

pub fn tensor(seed: usize, dims: &[usize]) -> Result<bt_handle, String> {
    let data = integers(seed, dims.iter().product());
    let dims: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
    let mut out = 0;
    // SAFETY: the arrays have the lengths that are passed.
    let status = unsafe {
        bt_tensor_from_data(
            0,
            dims.len(),
            dims.as_ptr(),
            null(),
            data.as_ptr().cast(),
            data.len() * 4,
            &mut out,
        )
    };
    ok("bt_tensor_from_data", status).map(|()| out)
}

fn call(op: &CStr, x: bt_handle) -> Result<bt_handle, String> {
    let name = c"x".as_ptr();
    let arg = bt_arg {
        name,
        kind: bt_arg_kind::BT_ARG_TENSOR as i32,
        number: 0,
        real: 0.0,
        text: null::<c_char>(),
        integers: null(),
        tensors: &x,
        count: 1,
    };
    let mut out = 0;
    // SAFETY: one argument, and room for one result.
    let status = unsafe { bt_call(op.as_ptr(), &arg, 1, &mut out, 1, null_mut()) };
    ok("bt_call", status).map(|()| out)
}

pub fn run(i: usize) -> Result<(), String> {
    let d = dims(i);
    let (x, w) = (tensor(i, &d)?, tensor(i + 1, &[16, d[1], 1, 1])?);
    let (mut xb, mut packed, mut y, mut back) = (0, 0, 0, 0);
    // SAFETY: the results have places to be written; there are no parameters.
    unsafe {
        ok("bt_to_blocked", bt_to_blocked(x, null(), &mut xb))?;
        ok("bt_pack_conv", bt_pack_conv(w, 0, null(), 0, xb, &mut packed))?;
        ok("bt_packed_run", bt_packed_run(packed, xb, 0, &mut y))?;
        ok("bt_to_strided", bt_to_strided(y, null(), &mut back))?;
    }
    let relu = call(c"relu", y)?;
    let refused = call(c"cumsum", y);
    if !refused.as_ref().is_err_and(|e| e.contains("cumsum")) {
        return Err(format!("a blocked cumsum: {refused:?}"));
    }
    let mut got = vec![0f32; d[0] * 16 * d[2] * d[3]];
    // SAFETY: room for the numbers.
    ok("bt_tensor_read", unsafe { bt_tensor_read(back, got.as_mut_ptr().cast(), got.len() * 4) })?;
    let (xs, ws) = (integers(i, d.iter().product()), integers(i + 1, 16 * d[1]));
    let plane = d[2] * d[3];
    for (j, &g) in got.iter().enumerate() {
        let (n, o, p) = (j / (16 * plane), j / plane % 16, j % plane);
        let want: f32 = (0..d[1]).map(|c| xs[(n * d[1] + c) * plane + p] * ws[o * d[1] + c]).sum();
        if g != want {
            return Err(format!("element {j} is {g} instead of {want}"));
        }
    }
    for handle in [x, w, xb, packed, y, back, relu] {
        ok("bt_free", bt_free(handle))?;
    }
    Ok(())
}
