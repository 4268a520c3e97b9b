//! Plans of models, and their runs.

use std::ffi::c_char;
use std::fmt;

use blocktensor::{Complaint, Error, PackedFile, Result, StridedTensor, TensorMut};
use blocktensor_graph::{Error as GraphError, Plan, PlanOptions, Profiles, Sizes};

use crate::handles::{self, Object, bt_handle, give};
use crate::lent::write_into;
use crate::model::with_model;
use crate::status::{Failure, array, bt_status, guard_model, place, string};
use crate::text::write_out;
use crate::values::{Port, bt_value_info, check_room, read_inputs, write_list, write_objects};

/// A plan, with what C is told of its inputs and outputs.
pub(crate) struct Planned {
    plan: Plan,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

impl Planned {
    fn object(plan: Plan) -> Object {
        let inputs = plan.inputs().map(Port::of_plan).collect();
        let outputs = plan.outputs().map(Port::of_plan).collect();
        Object::Plan(Box::new(Planned { plan, inputs, outputs }))
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// A number for one of the sizes that a model leaves open.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bt_named_size {
    /// The name, as in `bt_model_inputs`.
    pub name: *const c_char,
    /// The number.
    pub size: i64,
}

/// The options of a list.
fn planning(op: &'static str, list: &str) -> Result<PlanOptions, Failure> {
    list.parse().map_err(|e| match e {
        GraphError::Invalid { what, got, rule, remedy } => {
            let remedy = remedy + ", or pass null for the default";
            Error::InvalidArgument(Complaint::new(op, "layout", format!("{got} ({what})"), rule, remedy))
                .into()
        }
        e => e.into(),
    })
}

/// # Safety
/// `sizes` holds `count` sizes with names.
unsafe fn read_sizes(op: &'static str, sizes: *const bt_named_size, count: usize) -> Result<Sizes> {
    let mut numbers = Sizes::new();
    // SAFETY: the caller's promise.
    for s in unsafe { array(op, "sizes", sizes, count)? } {
        // SAFETY: as above.
        let name = unsafe { string(op, "sizes", s.name)? };
        let invalid = |got: String, rule: &str, remedy: &str| {
            Error::InvalidArgument(Complaint::new(op, "sizes", got, rule.to_string(), remedy.to_string()))
        };
        let Ok(size) = usize::try_from(s.size) else {
            let got = format!("{} for `{}`", s.size, name.escape_debug());
            return Err(invalid(got, "sizes are not negative", "pass the number of elements"));
        };
        if let Some((_, other)) = numbers.iter().find(|&(known, other)| known == name && other != size) {
            let got = format!("{other} and {size} for `{}`", name.escape_debug());
            return Err(invalid(got, "a name has one size", "pass one of them"));
        }
        numbers = numbers.with(name, size);
    }
    Ok(numbers)
}

/// Calls `f` with the plan of a handle.
fn with_plan<R>(
    op: &'static str,
    plan: bt_handle,
    f: impl FnOnce(&Planned) -> Result<R, Failure>,
) -> Result<R, Failure> {
    handles::with(op, "plan", plan, "a plan", |object| match object {
        Object::Plan(plan) => Some(Ok(f(plan))),
        _ => None,
    })?
}

/// Plans a model: packs its weights, chooses a layout for every tensor and a place in memory for every intermediate result.
/// The plan no longer needs the model. It is for this process's number of threads. `bt_plan_save` writes it into a file.
///
/// `layout` is a layout, or a list of options such as `blocked, precision=bf16, strict`; null is measured layouts. `layouts` is `nchw`,
/// `nhwc`, `blocked` or `measured`, which times the others on this machine and takes the fastest, or a mixture; the name of a layout alone
/// stands for it. Times are kept for the next planning (`BLOCKTENSOR_CACHE`), unless `profiles` is `measured` or `estimated`. `exact`
/// keeps convolutions to the direct algorithm, `precision` is `f32` or `bf16`, `strict` refuses quantised nodes that no kernel computes on
/// integers, `weight_growth` limits packed weights to so many times the plain ones, and `reorders` is the most that a run may make. `sizes` has a number for each size that the model leaves open. `outputs` names the values that become
/// the plan's outputs, in this order; any value of the model may be one. With no names they are the model's own outputs. Nodes
/// that no output needs do not run.
///
/// Nodes that cannot run are an error, `BT_UNSUPPORTED_OP`. Its text lists all of them, each with the reason, and the values
/// that can be computed without them.
///
/// # Safety
/// `layout` is null or a string; `sizes` holds `size_count` elements with strings as names; `outputs` holds `output_count`
/// strings; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_new(
    model: bt_handle,
    layout: *const c_char,
    sizes: *const bt_named_size,
    size_count: usize,
    outputs: *const *const c_char,
    output_count: usize,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_plan_new";
    guard_model(op, || {
        // SAFETY: the caller's promises.
        let (out, sizes, outputs) = unsafe {
            let outputs = array(op, "outputs", outputs, output_count)?.iter();
            let outputs = outputs.map(|&name| string(op, "outputs", name)).collect::<Result<Vec<_>>>()?;
            (place(op, "out", out)?, read_sizes(op, sizes, size_count)?, outputs)
        };
        let options = match layout.is_null() {
            true => PlanOptions::default(),
            // SAFETY: as above.
            false => planning(op, unsafe { string(op, "layout", layout)? })?,
        };
        let options = options.sizes(sizes);
        let plan = with_model(op, model, |model| match outputs.is_empty() {
            true => Ok(model.graph().plan(&options)?),
            false => Ok(model.graph().with_outputs(&outputs)?.plan(&options)?),
        })?;
        out.write(give(Planned::object(plan)));
        Ok(())
    })
}

/// Writes a plan and its packed weights into a file, for `bt_plan_load`, `blocktensor run` and Python. With `keep_plain` the
/// plain weights are in it too, about twice as large: `bt_plan_load` can then plan again on another machine. A plan in bf16 has none: its
/// weights are rounded. Afterwards the file is
/// complete; on an error a file that was there is unchanged. A file of another kind is not replaced.
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_save(plan: bt_handle, path: *const c_char, keep_plain: bool) -> bt_status {
    let op = "bt_plan_save";
    guard_model(op, || {
        // SAFETY: the caller's promise.
        let path = unsafe { string(op, "path", path)? };
        with_plan(op, plan, |plan| Ok(plan.plan.save(path, keep_plain)?))
    })
}

/// Reads a plan that `bt_plan_save`, `blocktensor pack` or Python's `Plan.save` wrote. A run gives the same bits. The file is read
/// into memory, and not used after the call.
///
/// Weights that were packed for another machine or number of threads are an error, `BT_PACK_MISMATCH`. If `replan`, the plan is
/// made again instead, from the plain weights of a file that keeps them.
///
/// # Safety
/// `path` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_load(path: *const c_char, replan: bool, out: *mut bt_handle) -> bt_status {
    let op = "bt_plan_load";
    guard_model(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        let plan = match replan {
            true => Plan::load_or_replan(&PackedFile::read_or_repack(path)?, &Profiles::Kept)?,
            false => Plan::load(&PackedFile::read(path)?)?,
        };
        out.write(give(Planned::object(plan)));
        Ok(())
    })
}

/// Writes what a run of a plan takes, in this order, to the first `room` elements of `values`, and the number of all inputs to
/// `count`. With no room it only counts.
///
/// # Safety
/// `values` may be written for `room` elements; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_inputs(
    plan: bt_handle,
    values: *mut bt_value_info,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_plan_inputs";
    guard_model(op, || {
        with_plan(op, plan, |plan| {
            // SAFETY: the caller's promises.
            unsafe { write_list(op, "values", plan.inputs.iter().map(Port::info), values, room, count) }
                .map_err(Failure::from)
        })
    })
}

/// Writes what a run of a plan gives: as `bt_plan_inputs`.
///
/// # Safety
/// As `bt_plan_inputs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_outputs(
    plan: bt_handle,
    values: *mut bt_value_info,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_plan_outputs";
    guard_model(op, || {
        with_plan(op, plan, |plan| {
            // SAFETY: the caller's promises.
            unsafe { write_list(op, "values", plan.outputs.iter().map(Port::info), values, room, count) }
                .map_err(Failure::from)
        })
    })
}

/// Writes a plan as text into `room` bytes, as `bt_describe` does: every step with the layout of its results, every reorder
/// with its **bytes**, and the memory of a run.
///
/// # Safety
/// `text` may be written for `room` bytes; `needed` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_text(
    plan: bt_handle,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> bt_status {
    let op = "bt_plan_text";
    guard_model(op, || {
        with_plan(op, plan, |plan| {
            // SAFETY: the caller's promises.
            unsafe { write_out(op, &plan.to_string(), text, room, needed) }.map_err(Failure::from)
        })
    })
}

/// Runs a plan on `input_count` strided row-major tensors, in the order of `bt_plan_inputs`. The handles of the results, which
/// are strided as well, are written to `outs`, which has room for `room` handles, and their number to `count`. If there is too
/// little room, it is an error, nothing runs and no handle is written.
///
/// A result that no step computes, such as an input that is an output too, or a reshape of one, shares the input's memory, as views do
/// in PyTorch: memory of `bt_tensor_wrap` is then used until the result is freed. `bt_plan_run_into` copies such results.
///
/// Any number of threads may run a plan at the same time. Each run in flight has its own memory for intermediate results,
/// which the plan keeps for later runs.
///
/// # Safety
/// `inputs` holds `input_count` handles; `outs` may be written for `room` handles; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_run(
    plan: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_plan_run";
    guard_model(op, || {
        with_plan(op, plan, |plan| {
            // SAFETY: the caller's promises.
            let inputs = unsafe {
                check_room(op, plan.outputs.len(), outs, room, count)?;
                read_inputs(op, inputs, input_count)?
            };
            let results = plan.plan.run(&inputs.iter().collect::<Vec<&StridedTensor>>())?;
            // SAFETY: as above.
            unsafe { write_objects(op, results, outs, room, count) }.map_err(Failure::from)
        })
    })
}

/// As `bt_plan_run`, into the strided row-major tensors `outputs`, one for each output of the plan in its order, of its sizes and dtype.
/// They may be memory of the caller's (`bt_tensor_wrap`), which kernels write into. No other tensor may have that memory: inputs and
/// other outputs that do are `BT_ALIASING`. Inputs at any address are memory of `bt_input_wrap`. All is checked before anything runs; where
/// a step fails, their elements are those of before or of results.
///
/// # Safety
/// `inputs` holds `input_count` handles, `outputs` holds `output_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_plan_run_into(
    plan: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outputs: *const bt_handle,
    output_count: usize,
) -> bt_status {
    let op = "bt_plan_run_into";
    guard_model(op, || {
        with_plan(op, plan, |plan| {
            // SAFETY: the caller's promises.
            let (inputs, outs) = unsafe {
                (read_inputs(op, inputs, input_count)?, array(op, "outputs", outputs, output_count)?)
            };
            let inputs: Vec<&StridedTensor> = inputs.iter().collect();
            let mut done = Ok(());
            write_into(op, "outputs", outs, |outs| {
                done = plan.plan.run_into(&inputs, &mut strided(op, outs)?);
                Ok(())
            })?;
            Ok(done?)
        })
    })
}

fn strided<'a>(op: &'static str, outs: Vec<TensorMut<'a>>) -> Result<Vec<&'a mut StridedTensor>> {
    let strided = |out: TensorMut<'a>| match out {
        TensorMut::Strided(out) => Ok(out),
        other => {
            let (got, rule) = (other.as_ref().describe(), "a run gives strided tensors");
            let remedy = "make one with `bt_tensor_zeros` or `bt_tensor_wrap`";
            Err(Error::OpaqueLayout(Complaint::new(op, "outputs", got, rule, remedy)))
        }
    };
    outs.into_iter().map(strided).collect()
}
