//! Packed weights: packing them, and running them.

use blocktensor::dispatch::Value;
use blocktensor::{
    Complaint, Error, Operand, Operator, PackedLinear, PackedOp, Result, Scratchpad, Source, StridedTensor,
    Tensor, TensorRef,
};
use blocktensor_door::{Norm, Request};

use crate::call::{bt_arg, values};
use crate::handles::{self, Object, bt_handle, description, give, optional, tensor};
use crate::lent::write_into;
use crate::reorder::activation_layout;
use crate::status::{bt_status, guard, place};
use std::ffi::c_char;

/// The strided tensor of a handle.
fn plain(op: &'static str, argument: &'static str, handle: bt_handle) -> Result<StridedTensor> {
    strided(op, argument, tensor(op, argument, handle)?)
}

fn strided(op: &'static str, argument: &str, t: Tensor) -> Result<StridedTensor> {
    StridedTensor::from_tensor(t).map_err(|t| {
        let got = t.tensor_ref().describe();
        let rule = "only plain weights can be packed";
        let remedy = "reorder it with `bt_to_strided`";
        Error::KeyMismatch(Complaint::new(op, argument.to_string(), got, rule, remedy))
    })
}

/// Takes the batch norm out of the parameters, if there is one.
fn take_norm(op: &'static str, params: &mut Vec<(&str, Value)>) -> Result<Option<Norm>> {
    if !params.iter().any(|(name, _)| name.starts_with("norm_")) {
        return Ok(None);
    }
    let mut value =
        |name: &str| params.iter().position(|(given, _)| *given == name).map(|at| params.swap_remove(at).1);
    let invalid = |name: &str, got: String, rule: &str, remedy: &str| {
        Error::InvalidArgument(Complaint::new(op, name.to_string(), got, rule, remedy))
    };
    let mut vector = |name: &'static str| match value(name) {
        Some(Value::Tensor(t)) => strided(op, name, t).map(Some),
        Some(other) => Err(invalid(name, other.to_string(), "it is a tensor", "pass a BT_ARG_TENSOR")),
        None => Ok(None),
    };
    let given = (vector("norm_mean")?, vector("norm_var")?, vector("norm_weight")?, vector("norm_bias")?);
    let eps = match value("norm_eps") {
        Some(Value::Float(eps)) => eps,
        Some(other) => {
            let (rule, remedy) = ("it is a floating-point number", "pass a BT_ARG_FLOAT");
            return Err(invalid("norm_eps", other.to_string(), rule, remedy));
        }
        None => Norm::EPS,
    };
    let (Some(mean), Some(var), weight, bias) = given else {
        let rule = "a batch norm has a mean and a variance";
        let remedy = "pass `norm_mean` and `norm_var`, or no argument whose name begins with `norm_`";
        return Err(invalid("norm_mean", "a part of a batch norm".to_string(), rule, remedy));
    };
    Ok(Some(Norm { mean, var, weight, bias, eps }))
}

/// What a convolution of this kind, `conv` or `conv_transpose`, is packed of and for, and its op.
///
/// # Safety
/// `params` holds `param_count` arguments, as `bt_call` asks.
unsafe fn request<'a>(
    op: &'static str,
    kind: &str,
    weights: bt_handle,
    bias: bt_handle,
    params: *const bt_arg,
    param_count: usize,
    like: bt_handle,
) -> Result<(Request<'a>, String)> {
    // SAFETY: the caller's promise.
    let mut params = unsafe { values(op, params, param_count)? };
    let weights = plain(op, "weights", weights)?;
    let bias = optional(op, "bias", bias)?.map(|b| strided(op, "bias", b)).transpose()?;
    let like = description(op, "like", like)?;
    let conv = Request::op(op, kind, like.dims().len())?;
    let norm = take_norm(op, &mut params)?;
    Ok((Request { weights, bias, norm, params, source: Source::of_desc(&like)? }, conv))
}

/// Packs the plain weights of a convolution, `[O, C/groups, k...]`, and its bias (0 for none). `like` is a tensor such as the
/// weights will meet, or the description of one (`bt_desc_new`); they run on any batch of it. They are for the number of
/// threads that a run here has. `params` are the op's `stride`, `padding`, `dilation`, `groups`, `post_ops` and
/// `allow_reference`.
///
/// A batch norm after the convolution is folded into weights and bias, before any post-op: pass the tensors `norm_mean` and
/// `norm_var`, `norm_weight` and `norm_bias` if it has them, and the number `norm_eps` if it is not 1e-5.
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
        let (out, (request, conv)) = unsafe {
            (place(op, "out", out)?, request(op, "conv", weights, bias, params, param_count, like)?)
        };
        let packed = request.packer(&conv)?.pack_for(&request.source)?;
        out.write(give(Object::Packed(Box::new(packed.into()))));
        Ok(())
    })
}

/// As `bt_pack_conv`, for a transposed convolution: weights `[C, O/groups, k...]`, as PyTorch has them. `params` may also
/// have `output_padding`.
///
/// # Safety
/// As `bt_pack_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_pack_conv_transpose(
    weights: bt_handle,
    bias: bt_handle,
    params: *const bt_arg,
    param_count: usize,
    like: bt_handle,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_pack_conv_transpose";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, (request, conv)) = unsafe {
            (place(op, "out", out)?, request(op, "conv_transpose", weights, bias, params, param_count, like)?)
        };
        let packed = request.packer(&conv)?.pack_for(&request.source)?;
        out.write(give(Object::Packed(Box::new(packed.into()))));
        Ok(())
    })
}

/// As `bt_pack_conv`, for a network's stem: a strided contiguous source of fewer channels than a block, and a blocked
/// result. It costs no reorder. `layout` is the result's; null is this machine's native activation layout.
///
/// # Safety
/// As `bt_pack_conv`; `layout` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_pack_stem(
    weights: bt_handle,
    bias: bt_handle,
    params: *const bt_arg,
    param_count: usize,
    like: bt_handle,
    layout: *const c_char,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_pack_stem";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, (request, conv)) = unsafe {
            (place(op, "out", out)?, request(op, "conv", weights, bias, params, param_count, like)?)
        };
        let rank = request.source.dims().len();
        // SAFETY: as above.
        let to = unsafe { activation_layout(op, "like", layout, rank)? };
        let packed = request.packer(&conv)?.pack_stem(&request.source, &to)?;
        out.write(give(Object::Packed(Box::new(packed.into()))));
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
        let weights = plain(op, "weights", weights)?;
        let bias = optional(op, "bias", bias)?.map(|b| strided(op, "bias", b)).transpose()?;
        let packed = PackedOp::from(PackedLinear::new(&weights, bias.as_ref(), rows)?);
        out.write(give(Object::Packed(Box::new(packed))));
        Ok(())
    })
}

/// Calls `run` with packed weights and the inputs of a run.
fn with_inputs(
    op: &'static str,
    packed: bt_handle,
    x: bt_handle,
    residual: bt_handle,
    run: impl FnOnce(&dyn Operator, &[TensorRef<'_>]) -> Result<()>,
) -> Result<()> {
    let (x, residual) = (tensor(op, "x", x)?, optional(op, "residual", residual)?);
    handles::with(op, "packed", packed, "packed weights", |object| match object {
        Object::Packed(packed) => Some((|| {
            let operator: &dyn Operator = &**packed;
            let names = operator.inputs();
            let remedy = match (names, &residual) {
                (["x"], None) | (["x", "residual"], Some(_)) => None,
                (["x"], Some(_)) => Some("pass 0, or pack with the post-op `residual`"),
                (["x", "residual"], None) => Some("pass a tensor, or pack without the post-op `residual`"),
                _ => Some("pass all of them to `bt_op_run` or `bt_op_run_into`"),
            };
            if let Some(remedy) = remedy {
                let got = if residual.is_some() { "a tensor" } else { "nothing" };
                let rule = format!("these packed weights take {}", names.join(", "));
                return Err(Error::InvalidArgument(Complaint::new(op, "residual", got, rule, remedy)));
            }
            let inputs: Vec<TensorRef<'_>> =
                [&x].into_iter().chain(&residual).map(Operand::tensor_ref).collect();
            run(operator, &inputs)
        })()),
        _ => None,
    })
}

/// Runs packed weights on `x`. `residual` is the operand of a `residual` post-op, 0 if there is none. Packed weights whose
/// post-ops take numbers for each channel run with `bt_op_run`.
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
        with_inputs(op, packed, x, residual, |operator, inputs| {
            for y in operator.run(inputs)? {
                out.write(give(Object::Tensor(y)));
            }
            Ok(())
        })
    })
}

/// As `bt_packed_run`, into the tensor `dst`, which has the sizes and the layout of the result: `bt_op_infer` describes it,
/// `bt_tensor_zeros` makes it, `bt_tensor_wrap` makes it of your memory. No other tensor may share its memory.
#[unsafe(no_mangle)]
pub extern "C" fn bt_packed_run_into(
    packed: bt_handle,
    x: bt_handle,
    residual: bt_handle,
    dst: bt_handle,
) -> bt_status {
    let op = "bt_packed_run_into";
    guard(op, || {
        with_inputs(op, packed, x, residual, |operator, inputs| {
            write_into(op, "dst", &[dst], |dst| operator.run_into(inputs, dst, &mut Scratchpad::new()))
        })
    })
}
