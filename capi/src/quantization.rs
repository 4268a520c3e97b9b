//! Scales and zero points of tensors.

use blocktensor::{Complaint, Error, Operand, Quantization, Result};

use crate::handles::{Object, bt_handle, give, tensor};
use crate::status::{array, bt_status, guard, null, place};

/// The axis of these parameters; -1 is the whole tensor.
fn axis_of(op: &'static str, axis: i64) -> Result<Option<usize>> {
    if axis == -1 {
        return Ok(None);
    }
    usize::try_from(axis).map(Some).map_err(|_| {
        let rule = "it is an axis of the tensor, or -1 for one scale of the whole tensor";
        Error::InvalidArgument(Complaint::new(op, "axis", axis.to_string(), rule, "pass 0 or more, or -1"))
    })
}

/// The same tensor with scales and zero points: a number is `scale * (integer - zero_point)`. `axis` is the axis that has `count`
/// pairs, one for each index; with -1, `count` is 1, and the pair is the whole tensor's. Elements are u8, s8 or s32. Views,
/// reorders and files keep the pairs; ops that do not read them refuse the tensor. `bt_tensor_read` gives the integers.
///
/// # Safety
/// `scales` and `zero_points` hold `count` numbers each; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_quantized(
    t: bt_handle,
    axis: i64,
    count: usize,
    scales: *const f32,
    zero_points: *const i32,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_tensor_quantized";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, scales, zero_points) = unsafe {
            (
                place(op, "out", out)?,
                array(op, "scales", scales, count)?,
                array(op, "zero_points", zero_points, count)?,
            )
        };
        let t = tensor(op, "t", t)?;
        let axis = axis_of(op, axis)?;
        // Before the lists are copied: they can be of any length.
        let wanted = axis.map_or(Some(1), |axis| t.tensor_ref().dims().get(axis).copied());
        if wanted.is_some_and(|wanted| wanted != count) {
            let (got, rule) = (format!("{count} scales"), format!("there must be {}", wanted.unwrap_or(0)));
            return Err(Error::ShapeMismatch(Complaint::new(op, "count", got, rule, "pass that many")));
        }
        let of = Quantization { axis, scales: scales.to_vec(), zero_points: zero_points.to_vec() };
        out.write(give(Object::Tensor(t.quantized(of)?)));
        Ok(())
    })
}

/// Reads the scales and zero points of a tensor. `count` gets their number, which is 0 for a tensor without; `axis` gets their
/// axis, or -1 if they are the whole tensor's or there are none. The first `room` of them are written: with 0, `scales` and
/// `zero_points` may be null.
///
/// # Safety
/// `axis` is null or may be written; `scales` and `zero_points` may be written for `room` numbers each; `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_quantization(
    t: bt_handle,
    axis: *mut i64,
    room: usize,
    scales: *mut f32,
    zero_points: *mut i32,
    count: *mut usize,
) -> bt_status {
    let op = "bt_tensor_quantization";
    guard(op, || {
        // SAFETY: the caller's promise.
        let count = unsafe { place(op, "count", count)? };
        if room > 0 && (scales.is_null() || zero_points.is_null()) {
            return Err(null(op, if scales.is_null() { "scales" } else { "zero_points" }));
        }
        let t = tensor(op, "t", t)?;
        let of = t.quantization();
        let pairs = of.map_or(0, |of| of.scales.len());
        if !axis.is_null() {
            // SAFETY: the caller's promise.
            unsafe { axis.write(of.and_then(|of| of.axis).map_or(-1, |axis| axis as i64)) };
        }
        // Without room both may be null.
        if let Some(of) = of.filter(|_| room > 0) {
            let written = pairs.min(room);
            // SAFETY: the caller's promise: both have room for as many.
            unsafe {
                std::ptr::copy_nonoverlapping(of.scales.as_ptr(), scales, written);
                std::ptr::copy_nonoverlapping(of.zero_points.as_ptr(), zero_points, written);
            }
        }
        count.write(pairs);
        Ok(())
    })
}

/// The same integers without scales and zero points. It shares the tensor's memory.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_without_quantization(t: bt_handle, out: *mut bt_handle) -> bt_status {
    let op = "bt_tensor_without_quantization";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Tensor(tensor(op, "t", t)?.without_quantization())));
        Ok(())
    })
}

/// The numbers that the integers of a tensor with scales and zero points stand for, in f32.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_dequantized(t: bt_handle, out: *mut bt_handle) -> bt_status {
    let op = "bt_tensor_dequantized";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Tensor(tensor(op, "t", t)?.dequantized()?)));
        Ok(())
    })
}
