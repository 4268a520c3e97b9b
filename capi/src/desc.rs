//! Descriptions: tensors without their elements.

use std::ffi::c_char;

use blocktensor::{Arena, Complaint, DType, Error, Layout, MemoryFormat, Result, TensorDesc};

use crate::handles::{Object, bt_handle, description, give};
use crate::status::{bt_status, guard, place, string};
use crate::tensor::{dtype, sizes};

/// The description of a tensor in the layout of a name.
fn described(op: &'static str, dims: &[usize], dtype: DType, layout: &str) -> Result<TensorDesc> {
    if layout == "blocked" {
        return TensorDesc::blocked(dims, dtype, &Layout::native_activation(dims.len())?);
    }
    if let Ok(format) = layout.parse::<MemoryFormat>() {
        return TensorDesc::strided(dims, dtype, format);
    }
    match layout.parse::<Layout>() {
        Ok(layout) => TensorDesc::blocked(dims, dtype, &layout),
        Err(_) => {
            let rule = "it is neither `blocked`, nor a memory format, nor a layout";
            let remedy =
                "pass `contiguous`, `channels_last`, `blocked`, or a layout's name such as `nChw16c`";
            let got = format!("`{}`", layout.escape_debug());
            Err(Error::InvalidArgument(Complaint::new(op, "layout", got, rule, remedy)))
        }
    }
}

/// Describes a tensor that need not exist: to pack weights for it (`bt_pack_conv`), and to ask operators (`bt_op_infer`).
/// `layout` is a memory format (`contiguous`, `channels_last`, `channels_last_3d`, `channels_last_1d`), a blocked layout
/// (`nChw16c`), or `blocked`: this machine's native activation layout. Null is `contiguous`. `bt_tensor_info` reads a
/// description.
///
/// # Safety
/// `dims` holds `rank` sizes; `layout` is null or a string; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_desc_new(
    dtype: i32,
    rank: usize,
    dims: *const i64,
    layout: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_desc_new";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, dims) = unsafe { (place(op, "out", out)?, sizes(op, "dims", dims, rank)?) };
        // SAFETY: as above.
        let layout = if layout.is_null() { "contiguous" } else { unsafe { string(op, "layout", layout)? } };
        out.write(give(described(op, &dims, self::dtype(op, dtype)?, layout)?.into()));
        Ok(())
    })
}

/// Makes a tensor of zeros, strided or blocked, as described: `like` is a description or a tensor. Calls that write into a
/// tensor of yours can write into it. If `like` has scales and zero points, the tensor has the same, and its integers are 0.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_zeros(like: bt_handle, out: *mut bt_handle) -> bt_status {
    let op = "bt_tensor_zeros";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let desc = description(op, "like", like)?;
        // An arena of one tensor: it makes any strides and layout.
        let zeros = Arena::new(desc.bytes()?)?.tensor(0, &desc)?;
        out.write(give(Object::Tensor(zeros)));
        Ok(())
    })
}
