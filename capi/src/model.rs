//! Models: reading ONNX files, and running them.

use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::StridedTensor;
use blocktensor_graph::{Dim, Graph, Layouts, Plan, PlanOptions, Sizes};

use crate::handles::{self, Object, bt_handle, give};
use crate::status::{Failure, array, bt_status, c_string, guard_model, place, string};
use crate::values::{Port, bt_value_info, check_room, read_inputs, write_list, write_objects};

/// A model, with the plan of the last sizes that `bt_model_run` ran it with.
pub(crate) struct Model {
    graph: Graph,
    inputs: Vec<Port>,
    outputs: Vec<CString>,
    last: Mutex<Option<(Sizes, Arc<Plan>)>>,
}

impl Model {
    fn new(graph: Graph) -> Model {
        let inputs = graph.inputs().map(Port::of_model).collect();
        let outputs = graph.outputs().map(c_string).collect();
        Model { graph, inputs, outputs, last: Mutex::new(None) }
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The plan for inputs of these sizes. It is made without the lock: threads that need a new one at once make one each.
    fn plan_for(&self, inputs: &[&StridedTensor]) -> Result<Arc<Plan>, Failure> {
        let given: Vec<_> = inputs.iter().map(|x| (x.dtype(), x.dims())).collect();
        let sizes = self.graph.sizes_of(&given)?;
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = last().as_ref().filter(|(of, _)| *of == sizes) {
            return Ok(Arc::clone(plan));
        }
        let plan = self.graph.plan(&PlanOptions::new(unmeasured_layouts()).sizes(sizes.clone()))?;
        let plan = Arc::new(plan);
        let before = last().replace((sizes, Arc::clone(&plan)));
        drop(before);
        Ok(plan)
    }
}

/// The layouts of the plans that `bt_model_run` makes: measuring would take too long there.
fn unmeasured_layouts() -> Layouts {
    if cfg!(feature = "onednn") { Layouts::Blocked } else { Layouts::Nchw }
}

fn list(dims: &[Dim]) -> String {
    format!("[{}]", dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "))
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, of, dims) in self.graph.inputs() {
            writeln!(f, "input {name}: {of} {}", list(dims))?;
        }
        for name in self.graph.outputs() {
            writeln!(f, "output {name}")?;
        }
        writeln!(f, "nodes: {}", self.graph.nodes().count())
    }
}

/// Calls `f` with the model of a handle.
pub(crate) fn with_model<R>(
    op: &'static str,
    model: bt_handle,
    f: impl FnOnce(&Model) -> Result<R, Failure>,
) -> Result<R, Failure> {
    handles::with(op, "model", model, "a model", |object| match object {
        Object::Model(model) => Some(Ok(f(model))),
        _ => None,
    })?
}

/// Reads an ONNX model, with the data that it keeps in other files of its folder. `bt_plan_new` plans it, `bt_describe` tells
/// its inputs and outputs. Nodes that this library cannot run become an error only when a plan needs them.
///
/// # Safety
/// `path` is a string, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_model_load(path: *const c_char, out: *mut bt_handle) -> bt_status {
    let op = "bt_model_load";
    guard_model(op, || {
        // SAFETY: the caller's promises.
        let (path, out) = unsafe { (string(op, "path", path)?, place(op, "out", out)?) };
        let graph = blocktensor_onnx::from_path(Path::new(path))?;
        out.write(give(Object::Model(Box::new(Model::new(graph)))));
        Ok(())
    })
}

/// Reads an ONNX model that is in memory, in `bytes` bytes. They are not used after the call. Data in other files is an error.
///
/// # Safety
/// `data` holds `bytes` bytes, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_model_from_data(
    data: *const c_void,
    bytes: usize,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_model_from_data";
    guard_model(op, || {
        // SAFETY: the caller's promises.
        let (data, out) = unsafe { (array(op, "data", data.cast::<u8>(), bytes)?, place(op, "out", out)?) };
        let graph = blocktensor_onnx::from_bytes(data)?;
        out.write(give(Object::Model(Box::new(Model::new(graph)))));
        Ok(())
    })
}

/// Writes what is known of a model's inputs, in their order, to the first `room` elements of `values`, and the number of all
/// inputs to `count`. With no room it only counts.
///
/// # Safety
/// `values` may be written for `room` elements; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_model_inputs(
    model: bt_handle,
    values: *mut bt_value_info,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_model_inputs";
    guard_model(op, || {
        with_model(op, model, |model| {
            // SAFETY: the caller's promises.
            unsafe { write_list(op, "values", model.inputs.iter().map(Port::info), values, room, count) }
                .map_err(Failure::from)
        })
    })
}

/// Writes the names of a model's outputs, in their order, to the first `room` elements of `names`, and the number of all
/// outputs to `count`. The names are valid until the model's handle is freed. Only a plan knows the outputs' sizes:
/// `bt_plan_outputs`.
///
/// # Safety
/// `names` may be written for `room` elements; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_model_outputs(
    model: bt_handle,
    names: *mut *const c_char,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_model_outputs";
    guard_model(op, || {
        with_model(op, model, |model| {
            let all = model.outputs.iter().map(|name| name.as_ptr());
            // SAFETY: the caller's promises.
            unsafe { write_list(op, "names", all, names, room, count) }.map_err(Failure::from)
        })
    })
}

/// Runs a model on `input_count` strided tensors, in the order of `bt_model_inputs`: as `bt_plan_run`, with a plan for the
/// inputs' sizes. Nothing is measured for it: its layout is `blocked`, or `nchw` in a library without oneDNN. The model keeps only
/// the plan of the last sizes. Inputs of other sizes are planned again, which takes much longer than a run; `bt_plan_new` makes a
/// plan that stays. Any number of threads may run a model at the same time.
///
/// # Safety
/// As `bt_plan_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_model_run(
    model: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_model_run";
    guard_model(op, || {
        with_model(op, model, |model| {
            // SAFETY: the caller's promises.
            let inputs = unsafe {
                check_room(op, model.outputs.len(), outs, room, count)?;
                read_inputs(op, inputs, input_count)?
            };
            let inputs: Vec<&StridedTensor> = inputs.iter().collect();
            let results = model.plan_for(&inputs)?.run(&inputs)?;
            // SAFETY: as above.
            unsafe { write_objects(op, results, outs, room, count) }.map_err(Failure::from)
        })
    })
}
