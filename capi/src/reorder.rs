//! Reorders: the calls that move data between layouts.

use std::ffi::c_char;

use blocktensor::{Complaint, Error, Layout, MemoryFormat, Operand, Result, Tensor, TensorMut};

use crate::handles::{Object, bt_handle, give, tensor};
use crate::lent::write_into;
use crate::status::{bt_status, guard, null, place, string};
use crate::tensor::strided;

/// The layout of a name. Null is this machine's native activation layout for tensors of this rank, such as `argument`.
///
/// # Safety
/// `name` is null or a string.
pub(crate) unsafe fn activation_layout(
    op: &'static str,
    argument: &'static str,
    name: *const c_char,
    rank: usize,
) -> Result<Layout> {
    match name.is_null() {
        true => Layout::native_activation(rank).map_err(|e| match e {
            Error::RankMismatch(c) => {
                let got = format!("a tensor of rank {rank}");
                Error::RankMismatch(Box::new(Complaint {
                    op: op.into(),
                    argument: argument.into(),
                    got,
                    ..*c
                }))
            }
            other => other,
        }),
        // SAFETY: the caller's promise.
        false => unsafe { string(op, "layout", name)? }.parse(),
    }
}

/// The same elements in a blocked layout, given by name. Null is this machine's native activation layout (never a weights
/// layout).
///
/// # Safety
/// `layout` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_to_blocked(
    t: bt_handle,
    layout: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_to_blocked";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let t = tensor(op, "t", t)?;
        // SAFETY: as above.
        let layout = unsafe { activation_layout(op, "t", layout, t.tensor_ref().dims().len())? };
        let made = match &t {
            Tensor::Strided(s) => s.to_blocked(&layout)?,
            Tensor::Blocked(b) => b.reorder_to(&layout)?,
            Tensor::Opaque(_) => return Err(strided(op, "t", &t).err().unwrap_or_else(|| null(op, "t"))),
        };
        out.write(give(Object::Tensor(made.into())));
        Ok(())
    })
}

/// The same elements as a strided tensor in a memory format: `contiguous`, `channels_last`, `channels_last_3d` or
/// `channels_last_1d`; null is `contiguous`.
///
/// # Safety
/// `format` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_to_strided(
    t: bt_handle,
    format: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_to_strided";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let t = tensor(op, "t", t)?;
        // SAFETY: as above.
        let name = if format.is_null() { "contiguous" } else { unsafe { string(op, "format", format)? } };
        // `preserve` is a format in Rust, and none of a new tensor.
        let format: MemoryFormat = name.parse().map_err(|_| {
            let got = format!("`{}`", name.escape_debug());
            let rule = "it is not the name of a memory format";
            let remedy = "use contiguous, channels_last, channels_last_3d or channels_last_1d";
            Error::InvalidArgument(Complaint::new(op, "format", got, rule, remedy))
        })?;
        let made = match &t {
            Tensor::Strided(s) => s.contiguous(format)?,
            Tensor::Blocked(b) => b.to_strided(format)?,
            Tensor::Opaque(_) => strided(op, "t", &t)?,
        };
        out.write(give(Object::Tensor(made.into())));
        Ok(())
    })
}

/// Copies the elements of `t` into the tensor `dst`, which has the same sizes and type, in whatever layout and strides
/// `dst` has: also into your memory (`bt_tensor_wrap`). Between different layouts, strided or blocked, this is one reorder;
/// between tensors of one layout it is a copy. No other tensor may share the memory of `dst`.
#[unsafe(no_mangle)]
pub extern "C" fn bt_reorder_into(t: bt_handle, dst: bt_handle) -> bt_status {
    let op = "bt_reorder_into";
    guard(op, || {
        let t = tensor(op, "t", t)?;
        write_into(op, "dst", &[dst], |dst| {
            dst.into_iter().try_for_each(|dst| match (&t, dst) {
                (Tensor::Strided(from), TensorMut::Strided(to)) => from.copy_into(to),
                (Tensor::Strided(from), TensorMut::Blocked(to)) => from.to_blocked_into(to),
                (Tensor::Blocked(from), TensorMut::Strided(to)) => from.to_strided_into(to),
                (Tensor::Blocked(from), TensorMut::Blocked(to)) => from.reorder_into(to),
                (Tensor::Opaque(_), _) | (_, TensorMut::Opaque(_)) => strided(op, "t", &t).map(|_| ()),
            })
        })
    })
}
