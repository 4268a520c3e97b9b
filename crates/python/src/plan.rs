//! Plans: networks that are ready to run.

use std::sync::Arc;

use blocktensor::dlpack::Unaligned;
use blocktensor::{
    Call, Complaint, Error, MemoryFormat, Operand, PackedFile, StridedTensor, Tensor, TensorDesc, counted,
};
use blocktensor_graph::{ElementType, Plan, Profiles};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::errors::{Failure, Outcome, at_line, held, invalid, on_threads, released};
use crate::exchange;
use crate::html;
use crate::name::FilePath;
use crate::number::{self, Flag, Number};
use crate::signals::Signals;
use crate::tensor::PyTensor;
use crate::written::note_writes;

/// A network that is ready to run, at sizes that are numbers.
#[pyclass(frozen, name = "Plan", module = "blocktensor")]
pub(crate) struct PyPlan {
    pub(crate) plan: Arc<Plan>,
    pub(crate) threads: Option<usize>,
}

type Value = (String, String, Vec<usize>);

/// Names, types and sizes. Integers of all widths are s32 in a run; Booleans say what they are, though they are u8.
fn values<'a>(of: impl Iterator<Item = (&'a str, &'a TensorDesc)>, types: &[ElementType]) -> Vec<Value> {
    let named = of.zip(types);
    named.map(|((name, desc), of)| (name.into(), dtype(desc, *of), desc.dims().to_vec())).collect()
}

/// The dtype of an input or a result, or `bool`.
fn dtype(desc: &TensorDesc, of: ElementType) -> String {
    match of {
        ElementType::Bool => of.to_string(),
        _ => desc.dtype().name().to_string(),
    }
}

/// The tensors of a run, in the plan's order: they come in this order, by name, or the first in order and the others by name. One
/// mapping is names, too. `rule` says which there are.
fn in_order<'py>(
    op: &'static str,
    argument: &'static str,
    names: &[&str],
    rule: &str,
    tensors: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> Outcome<Vec<Bound<'py, PyAny>>> {
    const EACH: &str = "pass one tensor for each, in this order or by name";
    let refused = |got: String, remedy: &str| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let rule = rule.replace("{}", &quoted.join(", "));
        invalid(op, argument, got, rule, remedy)
    };
    let mut given: Vec<Option<Bound<'py, PyAny>>> = vec![None; names.len()];
    let mut add = |name: Bound<'py, PyAny>, x: Bound<'py, PyAny>| {
        let place = name.extract::<&str>().ok().and_then(|name| names.iter().position(|n| *n == name));
        match place.map(|i| given[i].replace(x)) {
            None => Err(refused(format!("`{}`", name.str()?.to_string_lossy().escape_debug()), EACH)),
            Some(Some(_)) => Err(refused(format!("two tensors for `{}`", name.str()?), EACH)),
            Some(None) => Ok(()),
        }
    };
    let first = tensors.iter().next().filter(|_| tensors.len() == 1);
    match first.as_ref().map(|x| x.cast::<PyMapping>()) {
        Some(Ok(mapping)) => {
            for item in mapping.items()?.iter() {
                let (name, x) = item.extract()?;
                add(name, x)?;
            }
        }
        _ if tensors.len() > names.len() => {
            return Err(refused(counted(tensors.len(), "tensor"), EACH));
        }
        Some(Err(_)) if first.as_ref().is_some_and(is_a_list) => {
            let got = format!("a {} for all", tensors.get_item(0)?.get_type().name()?);
            return Err(refused(got, "pass its tensors one by one: `*tensors`, or by name"));
        }
        _ => {
            for (name, x) in names.iter().zip(tensors) {
                add(PyString::new(tensors.py(), name).into_any(), x)?;
            }
        }
    }
    for (name, x) in named.into_iter().flatten() {
        add(name, x)?;
    }
    let there =
        |(name, x): (&&str, Option<_>)| x.ok_or_else(|| refused(format!("no tensor for `{name}`"), EACH));
    names.iter().zip(given).map(there).collect()
}

/// Whether it holds the tensors, as neither a tensor nor a mapping does.
fn is_a_list(x: &Bound<'_, PyAny>) -> bool {
    x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>() || x.hasattr("__next__").unwrap_or(false)
}

/// The inputs of a run.
fn operands(
    op: &'static str,
    plan: &Plan,
    inputs: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> Outcome<Vec<StridedTensor>> {
    let names: Vec<&str> = plan.inputs().map(|(name, _)| name).collect();
    let rule = "the inputs are {}; initializers of a model are constants";
    let given = in_order(op, "inputs", &names, rule, inputs, named)?;
    let strided = |((name, of), x): ((&str, &ElementType), Bound<'_, PyAny>)| match exchange::import_for(
        &x,
        op,
        name,
        Some(*of),
        Unaligned::CopiedFor(op),
    )? {
        Tensor::Strided(t) => Ok(t),
        other => {
            let rule = "the inputs of a plan are strided; it reorders them itself where it runs blocked";
            let got = other.tensor_ref().describe();
            Err(Error::OpaqueLayout(Complaint::new(op, name.to_string(), got, rule, "pass `x.to_strided()`"))
                .into())
        }
    };
    let all = names.iter().copied().zip(plan.input_types()).zip(given);
    at_line(inputs.py(), || all.map(strided).collect())
}

/// The memory for the results of a run, and the objects that have it.
fn results_of(
    op: &'static str,
    plan: &Plan,
    outs: &Bound<'_, PyTuple>,
) -> Outcome<(Vec<StridedTensor>, Vec<Py<PyAny>>)> {
    let names: Vec<&str> = plan.outputs().map(|(name, _)| name).collect();
    let given = in_order(op, "outputs", &names, "the outputs are {}", outs, None)?;
    let results = plan
        .outputs()
        .zip(&given)
        .map(|((name, desc), x)| exchange::import_for_result(x, op, name, desc))
        .collect::<Outcome<_>>()?;
    Ok((results, given.into_iter().map(Bound::unbind).collect()))
}

/// What one argument holds: a list or tuple, one mapping, or one tensor.
fn as_tuple<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    match x.cast::<PyTuple>() {
        Ok(tuple) => Ok(tuple.clone()),
        Err(_) => match x.cast::<PyList>() {
            Ok(list) => Ok(list.to_tuple()),
            Err(_) => PyTuple::new(x.py(), [x]),
        },
    }
}

/// Results whose memory is the caller's alone. A result that no step makes, such as that of an `Identity`, has the memory of an
/// input, which its owner writes into.
fn owned(results: Vec<StridedTensor>, inputs: &[&StridedTensor]) -> Outcome<Vec<StridedTensor>> {
    let own = |t: StridedTensor| match inputs.iter().any(|x| x.shares_storage(&t)) {
        true => Ok(t.copy(MemoryFormat::Preserve)?),
        false => Ok(t),
    };
    results.into_iter().map(own).collect()
}

impl PyPlan {
    /// Runs, and asks for signals between steps.
    fn results(&self, inputs: &[StridedTensor]) -> Outcome<Vec<StridedTensor>> {
        let inputs: Vec<&StridedTensor> = inputs.iter().collect();
        let signals = Signals::new();
        let run = || match self.plan.run_until(&inputs, &mut || signals.stop())? {
            Some(results) => Ok(Some(owned(results, &inputs)?)),
            None => Ok(None),
        };
        // Without results the run was stopped, and then there is what stopped it.
        signals.end(on_threads("run", self.threads, run)).map(Option::unwrap_or_default)
    }

    fn headline(&self) -> String {
        let plan = &self.plan;
        let value = |((name, desc), of): ((&str, &TensorDesc), &ElementType)| {
            format!("{name} {} {:?}", dtype(desc, *of), desc.dims())
        };
        let inputs = plan.inputs().zip(plan.input_types()).map(value).collect::<Vec<_>>().join(", ");
        let outputs = plan.outputs().zip(plan.output_types()).map(value).collect::<Vec<_>>().join(", ");
        let reorders = counted(plan.reorders().len(), "reorder");
        let layouts = plan.layouts().name();
        format!("Plan({inputs} -> {outputs}; {layouts}, {} steps, {reorders})", plan.len())
    }
}

#[pymethods]
impl PyPlan {
    /// Runs the plan on one tensor for each input, and returns a list of one tensor for each output. Other libraries' tensors
    /// share their memory with the run, but not with its results. Tensors also go by name: as keywords, or in a dictionary. Ctrl-C works between two steps.
    #[pyo3(signature = (*inputs, **named))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<PyTensor>> {
        let inputs = operands("run", &self.plan, inputs, named).map_err(|e| e.raise(py))?;
        let results = released(py, "run", || self.results(&inputs))?;
        Ok(results.into_iter().map(|t| PyTensor(t.into())).collect())
    }

    /// As `run`, into memory that is there: arrays of numpy or tensors of torch, one for each output, in the order of `outputs` or in
    /// a dictionary by name. Inputs and outputs are a list, a dictionary or one tensor.
    fn run_into(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        outputs: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let op = "run_into";
        let given = || {
            let inputs = operands(op, &self.plan, &as_tuple(inputs)?, None)?;
            Ok((inputs, results_of(op, &self.plan, &as_tuple(outputs)?)?))
        };
        let (inputs, (mut outputs, written)) = given().map_err(|e: Failure| e.raise(py))?;
        released(py, op, || {
            let inputs: Vec<&StridedTensor> = inputs.iter().collect();
            let mut outputs: Vec<&mut StridedTensor> = outputs.iter_mut().collect();
            let signals = Signals::new();
            // Made before the first step, when all checks have passed: a run that is refused writes nothing.
            let mut noted: Option<PyResult<()>> = None;
            let mut stop = || noted.get_or_insert_with(|| note_writes(&written)).is_err() || signals.stop();
            let run = || Ok(self.plan.run_into_until(&inputs, &mut outputs, &mut stop)?);
            let done = signals.end(on_threads(op, self.threads, run));
            if let Some(Err(e)) = noted {
                return Err(e.into());
            }
            done?;
            // A plan without steps only copies.
            if noted.is_none() {
                note_writes(&written)?;
            }
            Ok(())
        })
    }

    /// As `run`, with the seconds that each step took.
    #[pyo3(signature = (*inputs, **named))]
    fn run_timed<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Vec<PyTensor>, Vec<f64>)> {
        let inputs = operands("run_timed", &self.plan, inputs, named).map_err(|e| e.raise(py))?;
        let (results, seconds) = released(py, "run_timed", || {
            let inputs: Vec<&StridedTensor> = inputs.iter().collect();
            on_threads("run_timed", self.threads, || {
                let (results, seconds) = self.plan.run_timed(&inputs)?;
                Ok((owned(results, &inputs)?, seconds))
            })
        })?;
        Ok((results.into_iter().map(|t| PyTensor(t.into())).collect(), seconds))
    }

    /// Inputs: name, dtype (`bool` for Booleans, which are u8), sizes.
    #[getter]
    fn inputs(&self) -> Vec<Value> {
        values(self.plan.inputs(), self.plan.input_types())
    }

    /// Outputs: name, dtype (`bool` for Booleans, which are u8), sizes.
    #[getter]
    fn outputs(&self) -> Vec<Value> {
        values(self.plan.outputs(), self.plan.output_types())
    }

    /// nchw, nhwc, blocked or measured.
    #[getter]
    fn layouts(&self) -> &'static str {
        self.plan.layouts().name()
    }

    /// The number of threads that the weights were packed for; `None` for the process's.
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Bytes of memory that a run takes for intermediate results.
    #[getter]
    fn arena_bytes(&self) -> usize {
        self.plan.arena_bytes()
    }

    /// Every reorder of one run: node, from, to, shape, bytes, in_kernel.
    #[getter]
    fn reorders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for r in self.plan.reorders() {
            let row = PyDict::new(py);
            row.set_item("node", &r.node)?;
            row.set_item("from", &r.from)?;
            row.set_item("to", &r.to)?;
            row.set_item("shape", &r.dims)?;
            row.set_item("bytes", r.bytes)?;
            row.set_item("in_kernel", r.in_kernel)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// Every step of one run: name, nodes (the names of those that it computes: several where they run as one), op, kind, fused,
    /// implementation, rounds_otherwise (the stated relative error of a convolution that is not direct, else None), layouts of its
    /// results.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for step in self.plan.steps() {
            let row = PyDict::new(py);
            row.set_item("name", step.name)?;
            row.set_item("nodes", step.nodes.clone())?;
            row.set_item("op", step.op)?;
            row.set_item("kind", step.kind.name())?;
            row.set_item("fused", step.fused)?;
            row.set_item("implementation", step.implementation)?;
            row.set_item("rounds_otherwise", step.rounds_otherwise)?;
            let layouts: Vec<String> = step.outputs.iter().map(|t| t.desc.layout_name()).collect();
            row.set_item("layouts", layouts)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// The nodes that compute with integers of 8 bits and would take clearly less time in f32: name, seconds, f32_seconds. Leave these out
    /// when quantising (`nodes_to_exclude` of ONNX Runtime's quantiser). Empty unless layouts were measured.
    #[getter]
    fn faster_in_f32<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for node in self.plan.faster_in_f32() {
            let row = PyDict::new(py);
            row.set_item("name", &node.name)?;
            row.set_item("seconds", node.seconds)?;
            row.set_item("f32_seconds", node.f32_seconds)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// The plan as text: every node with its layout, what is fused into it, every reorder with its bytes; then how the layouts
    /// were chosen, if they were measured.
    fn explain(&self) -> String {
        match self.plan.measurements() {
            Some(m) => format!("{}\n{m}", self.plan),
            None => self.plan.to_string(),
        }
    }

    /// The plan as a drawing.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        held(py, "svg", || {
            self.plan.check_drawing()?;
            Ok(self.plan.to_svg(None))
        })
    }

    /// The plan for Graphviz.
    fn dot(&self, py: Python<'_>) -> PyResult<String> {
        held(py, "dot", || {
            self.plan.check_drawing()?;
            Ok(self.plan.to_dot())
        })
    }

    /// How far each step of a run is from f64. The plan must have been made with `keep_constants=True`.
    #[pyo3(signature = (*inputs, **named))]
    fn errors<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        let inputs = operands("errors", &self.plan, inputs, named).map_err(|e| e.raise(py))?;
        released(py, "errors", || {
            let inputs: Vec<&StridedTensor> = inputs.iter().collect();
            on_threads("errors", self.threads, || Ok(self.plan.errors(&inputs)?.to_string()))
        })
    }

    /// Writes the plan and its packed weights into a file, with the plain weights too if it may have to be planned again
    /// elsewhere. A plan in bf16 has none: its weights are rounded.
    #[pyo3(signature = (path, *, keep_plain = false.into()), text_signature = "($self, path, *, keep_plain=False)")]
    fn save(&self, py: Python<'_>, path: FilePath, keep_plain: Flag) -> PyResult<()> {
        let op = "save";
        released(py, op, || {
            let (path, keep_plain) = (path.of(op)?, keep_plain.of(op, "keep_plain")?);
            on_threads(op, self.threads, || Ok(self.plan.save(&path, keep_plain)?))
        })
    }

    /// Pickles the packed file.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("blocktensor._pickle")?.getattr("reduce_plan")?.call1((slf,))
    }

    fn __copy__(&self) -> PyPlan {
        PyPlan { plan: Arc::clone(&self.plan), threads: self.threads }
    }

    /// A plan never changes: a copy may share everything.
    fn __deepcopy__(&self, _memo: Bound<'_, PyAny>) -> PyPlan {
        self.__copy__()
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.svg(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "<details><summary>{}</summary>{}</details>{}",
            html::escape(&self.headline()),
            html::preformatted(&self.explain()),
            self.svg(py)?
        ))
    }

    fn __repr__(&self) -> String {
        self.headline()
    }

    fn __str__(&self) -> String {
        self.explain()
    }
}

/// The same error about the argument that would help: the number of threads, if a plan was packed for another one.
fn of_threads(error: blocktensor_graph::Error) -> blocktensor_graph::Error {
    match error {
        blocktensor_graph::Error::Engine(Error::PackMismatch(mut complaint)) => {
            let packed = complaint.remedy.calls().find_map(|call| match call {
                Call::RunWithThreads(threads) => Some(*threads),
                _ => None,
            });
            match packed {
                Some(threads) => {
                    complaint.argument = "threads".into();
                    complaint.got = blocktensor::current_threads().to_string();
                    complaint.rule = format!("the plan is packed for {}", counted(threads, "thread")).into();
                }
                // Another machine, or more threads than this one has.
                None => complaint.argument = "path".into(),
            }
            Error::PackMismatch(complaint).into()
        }
        other => other,
    }
}

/// The plan in a file that `Plan.save` wrote; with `keep_constants`, for `errors`, from a file that keeps plain weights. With
/// `mapped`, processes share the file's pages, and nobody may change the file while the plan lives.
#[pyfunction]
#[pyo3(
    signature = (path, *, threads = None, replan = false.into(), keep_constants = false.into(), mapped = false.into()),
    text_signature = "(path, *, threads=None, replan=False, keep_constants=False, mapped=False)"
)]
pub(crate) fn load_plan(
    py: Python<'_>,
    path: FilePath,
    threads: Option<Number<usize>>,
    replan: Flag,
    keep_constants: Flag,
    mapped: Flag,
) -> PyResult<PyPlan> {
    let op = "load_plan";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    released(py, op, || {
        let path = path.of(op)?;
        let (replan, mapped) = (replan.of(op, "replan")?, mapped.of(op, "mapped")?);
        let keep_constants = keep_constants.of(op, "keep_constants")?;
        blocktensor::check_process(op)?;
        let open = || match (mapped, replan) {
            (true, _) => crate::mapped::map(&path, replan),
            (false, true) => PackedFile::read_or_repack(&path),
            (false, false) => PackedFile::read(&path),
        };
        let signals = Signals::new();
        let plan = signals.end(on_threads(op, threads, || {
            Ok(match (replan, keep_constants) {
                (true, true) => {
                    let rule = "with `replan` a plan is loaded without its plain weights, made again or not".to_string();
                    let remedy = "pass one of the two, or plan the model itself with `Model.plan(keep_constants=True)`";
                    let got = "True, with `replan`".to_string();
                    return Err(invalid(op, "keep_constants", got, rule, remedy));
                }
                (true, false) => {
                    let (file, asked) = (open()?, signals.clone());
                    Plan::load_or_replan_until(&file, &Profiles::Kept, move || asked.stop())
                }
                (false, true) => Plan::load_with_constants(&open()?),
                (false, false) => Plan::load(&open()?),
            }
            .map_err(of_threads)?)
        }))?;
        Ok(PyPlan { plan: Arc::new(plan), threads })
    })
}

/// The plan in a packed file that a pickle holds.
#[pyfunction]
pub(crate) fn _plan_from_bytes(
    py: Python<'_>,
    bytes: &[u8],
    threads: Option<Number<usize>>,
) -> PyResult<PyPlan> {
    let op = "unpickle";
    let threads = number::maybe(op, "threads", threads).map_err(|e| e.raise(py))?;
    let of_pickle = |e: Error| match e {
        Error::CorruptFile(c) => {
            let remedy = "pickle the plan again, or copy the pickle again".into();
            Error::CorruptFile(Box::new(Complaint { remedy, ..*c }))
        }
        Error::PackMismatch(c) => {
            let remedy =
                "plan the model again on this machine, or with `threads=`, which the pickle keeps".into();
            Error::PackMismatch(Box::new(Complaint { remedy, ..*c }))
        }
        other => other,
    };
    // The interpreter keeps the bytes only while its lock is held.
    let bytes = bytes.to_vec();
    released(py, op, || {
        blocktensor::check_process(op)?;
        let file = PackedFile::of_bytes("the pickled plan", &bytes);
        let file = file.map_err(|e| of_pickle(e.in_call(op, "bytes")))?;
        let plan = on_threads(op, threads, || {
            Ok(Plan::load(&file).map_err(|e| match e {
                blocktensor_graph::Error::Engine(e) => of_pickle(e.in_call(op, "bytes")).into(),
                other => other,
            })?)
        })?;
        Ok(PyPlan { plan: Arc::new(plan), threads })
    })
}
