//! Packed weights and state dicts.

use std::ffi::c_char;

use blocktensor::dispatch::Value;
use blocktensor::ops::{Conv, Fusion, PostOps};
use blocktensor::{
    Complaint, Error, Operand, PackedConv, PackedLinear, Result, Source, StateDict, StridedTensor, Tensor,
};

use crate::call::{bt_arg, values};
use crate::handles::{self, Object, Packed, bt_handle, give, optional, tensor};
use crate::status::{bt_status, guard, place, string};

fn plain(op: &'static str, argument: &'static str, t: Tensor) -> Result<StridedTensor> {
    StridedTensor::from_tensor(t).map_err(|t| {
        let got = t.tensor_ref().describe();
        let rule = "only plain weights can be packed";
        Error::KeyMismatch(Complaint::new(op, argument, got, rule, "reorder it with `bt_to_strided`"))
    })
}

fn pack<const N: usize>(
    op: &'static str,
    weights: &StridedTensor,
    bias: Option<&StridedTensor>,
    params: &[(&str, Value)],
    like: &Tensor,
) -> Result<PackedConv<N>> {
    let text = params.iter().find_map(|(name, value)| match value {
        Value::Str(text) if *name == "post_ops" => Some(text),
        _ => None,
    });
    if let Some(text) = text
        && let Ok(list) = text.parse::<PostOps>()
        && list.channel_operands() > 0
    {
        let rule = "packed weights take no per-channel vectors in C";
        let remedy = "call `mul_channel` or `add_channel` on the result";
        return Err(Error::InvalidArgument(Complaint::new(
            op,
            "post_ops",
            format!("`{list}`"),
            rule,
            remedy,
        )));
    }
    PackedConv::<N>::new(weights, bias, Conv::from_values(params)?)?.pack_for(&Source::of(like)?)
}

/// Packs the plain weights of a convolution, `[O, C/groups, k...]`, and its bias (0 for none), for sources like `like` and
/// this process's number of threads. `params` are the op's `stride`, `padding`, `dilation`, `groups` and `post_ops`.
///
/// # Safety
/// `params` holds `param_count` arguments, as `bt_call` asks; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_pack_conv(
    weights: bt_handle,
    bias: bt_handle,
    params: *const bt_arg,
    param_count: usize,
    like: bt_handle,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_pack_conv";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, params) = unsafe { (place(op, "out", out)?, values(op, params, param_count)?) };
        let weights = plain(op, "weights", tensor(op, "weights", weights)?)?;
        let bias = optional(op, "bias", bias)?.map(|b| plain(op, "bias", b)).transpose()?;
        let like = tensor(op, "like", like)?;
        let (w, b) = (&weights, bias.as_ref());
        let packed = match like.tensor_ref().dims().len() {
            3 => Packed::Conv1(pack(op, w, b, &params, &like)?),
            4 => Packed::Conv2(pack(op, w, b, &params, &like)?),
            5 => Packed::Conv3(pack(op, w, b, &params, &like)?),
            rank => {
                let c = Complaint::new(
                    op,
                    "like",
                    format!("a tensor of rank {rank}"),
                    "convolutions have 1 to 3 spatial dimensions: rank 3 to 5",
                    "pass a source of one of these ranks",
                );
                return Err(Error::RankMismatch(c));
            }
        };
        *out = give(Object::Packed(Box::new(packed)));
        Ok(())
    })
}

/// Packs the weights of a linear layer, `[O, K]`, and its bias (0 for none), for inputs of `rows` rows.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_pack_linear(
    weights: bt_handle,
    bias: bt_handle,
    rows: usize,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_pack_linear";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let weights = plain(op, "weights", tensor(op, "weights", weights)?)?;
        let bias = optional(op, "bias", bias)?.map(|b| plain(op, "bias", b)).transpose()?;
        let packed = Packed::Linear(PackedLinear::new(&weights, bias.as_ref(), rows)?);
        *out = give(Object::Packed(Box::new(packed)));
        Ok(())
    })
}

/// Runs packed weights on `x`. `residual` is the operand of a `residual` post-op, 0 if there is none.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_packed_run(
    packed: bt_handle,
    x: bt_handle,
    residual: bt_handle,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_packed_run";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let (x, residual) = (tensor(op, "x", x)?, optional(op, "residual", residual)?);
        let fusion = || Fusion { residual: residual.as_ref(), channel: &[] };
        let y = handles::with(op, "packed", packed, "packed weights", |o| match o {
            Object::Packed(packed) => Some(match &**packed {
                Packed::Conv1(c) => c.run_fused(&x, fusion()),
                Packed::Conv2(c) => c.run_fused(&x, fusion()),
                Packed::Conv3(c) => c.run_fused(&x, fusion()),
                Packed::Linear(_) if residual.is_some() => {
                    let rule = "a packed linear layer has no post-ops";
                    let c =
                        Complaint::new(op, "residual", "a tensor", rule, "pass 0, and add it to the result");
                    Err(Error::InvalidArgument(c))
                }
                Packed::Linear(l) => plain(op, "x", x.clone()).and_then(|x| l.run(&x)).map(Tensor::from),
            }),
            _ => None,
        })?;
        *out = give(Object::Tensor(y));
        Ok(())
    })
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
        *out = give(Object::Dict(StateDict::read(path)?.into()));
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
        *out = give(Object::Dict(unsafe { StateDict::map(path) }?.into()));
        Ok(())
    })
}

/// Takes a tensor out of a state dict, by name: it is removed from the dict. `bt_describe` lists the names.
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
        let t = handles::with(op, "dict", dict, "a state dict", |o| match o {
            Object::Dict(d) => Some(d.lock().unwrap_or_else(|e| e.into_inner()).take(name)),
            _ => None,
        })?;
        *out = give(Object::Tensor(t.into()));
        Ok(())
    })
}
