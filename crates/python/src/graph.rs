//! Graphs of operators: made by name, or read from ONNX files.

use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::{DType, Element, MemoryFormat, StridedTensor, Tensor, dispatch, memory};
use blocktensor_cli::Progress;
use blocktensor_graph::{
    Constant, Dim, ElementType, Graph, Integer, Layouts, Outcome as NodeOutcome, Plan, PlanOptions,
    Precision, Profiles, Sizes, ValueId,
};
use pyo3::prelude::*;

use crate::call::value;
use crate::errors::{Outcome, check_threads, held, invalid, on_threads, released};
use crate::exchange;
use crate::name::{self, FilePath, Mapped, Name, Names, Pairs, shown};
use crate::number::{self, Flag, Named, Number};
use crate::plan::PyPlan;
use crate::signals::Signals;

/// A model: inputs, outputs, and nodes in an order in which they can run.
#[pyclass(frozen, name = "Model", module = "blocktensor")]
pub(crate) struct PyModel(Mutex<Graph>);

fn sizes_of(op: &'static str, sizes: Option<Named>) -> Outcome<Sizes> {
    let named = sizes.map(|sizes| sizes.of(op, "sizes")).transpose()?.unwrap_or_default();
    Ok(named.into_iter().fold(Sizes::new(), |all, (name, size)| all.with(&name, size)))
}

fn layouts_of(op: &'static str, name: Name) -> Outcome<Layouts> {
    let name = name.of(op, "layouts")?;
    Layouts::ALL.into_iter().find(|l| l.name() == name).ok_or_else(|| {
        let names = Layouts::ALL.map(Layouts::name).join(", ");
        invalid(op, "layouts", format!("`{name}`"), format!("layouts are {names}"), "pass one of them")
    })
}

fn precision_of(op: &'static str, name: Name) -> Outcome<Precision> {
    let name = name.of(op, "precision")?;
    Precision::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
        let names = Precision::ALL.map(Precision::name).join(", ");
        let rule = format!("precisions are {names}");
        invalid(op, "precision", format!("`{name}`"), rule, "pass one of them")
    })
}

fn profiles_of(op: &'static str, name: Name) -> Outcome<Profiles> {
    match &*name.of(op, "profiles")? {
        "kept" => Ok(Profiles::Kept),
        "measured" => Ok(Profiles::Measured),
        "estimated" => Ok(Profiles::Estimated),
        other => {
            let rule = "profiles are kept, measured and estimated".to_string();
            Err(invalid(op, "profiles", format!("`{other}`"), rule, "pass one of them"))
        }
    }
}

/// The options, and the number of threads.
fn options_of(
    op: &'static str,
    layouts: Name,
    threads: Option<Number<usize>>,
    profiles: Name,
    precision: Name,
) -> Outcome<(PlanOptions, Option<usize>)> {
    let threads = number::maybe(op, "threads", threads)?;
    check_threads(op, threads)?;
    let options = PlanOptions::new(layouts_of(op, layouts)?).profiles(profiles_of(op, profiles)?);
    Ok((options.precision(precision_of(op, precision)?), threads))
}

/// The plan whose choices another one takes.
fn like_of(
    op: &'static str,
    like: Option<&Bound<'_, PyAny>>,
    options: &PlanOptions,
) -> Outcome<Option<Arc<Plan>>> {
    let Some(like) = like else { return Ok(None) };
    let Ok(plan) = like.cast::<PyPlan>() else {
        let rule = "it is a plan of the same model at other sizes".to_string();
        return Err(invalid(op, "like", shown(like), rule, "pass what `plan` returned"));
    };
    if options.layouts() != Layouts::Measured {
        let rule = format!("{} layouts leave nothing to choose", options.layouts().name());
        let remedy = "leave `like` out, or pass `layouts=\"measured\"`";
        return Err(invalid(op, "like", "a plan".into(), rule, remedy));
    }
    Ok(Some(Arc::clone(&plan.get().plan)))
}

fn dims_of(op: &'static str, dims: &Bound<'_, PyAny>) -> Outcome<Vec<Dim>> {
    let refused = |got: &Bound<'_, PyAny>| {
        invalid(op, "shape", shown(got), "sizes are numbers or names".into(), "pass a list of them")
    };
    let mut made = Vec::new();
    for dim in number::items(dims).ok_or_else(|| refused(dims))? {
        let dim = dim?;
        made.push(match (dim.extract::<usize>(), name::of_text(&dim)) {
            (Ok(size), _) => Dim::Size(size),
            (_, Some(name)) => Dim::Named(name::checked(op, "shape", name.of(op, "shape")?)?),
            _ => return Err(refused(&dim)),
        });
    }
    Ok(made)
}

impl PyModel {
    fn with<T>(&self, f: impl FnOnce(&mut Graph) -> Outcome<T>) -> Outcome<T> {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A copy, so that nothing long runs with the lock held. Constants are shared.
    fn graph(&self) -> Graph {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The values of these numbers: each is the place of a value in the order in which values were added.
    fn id(graph: &Graph, op: &'static str, name: &str) -> Outcome<ValueId> {
        graph.find(name).ok_or_else(|| {
            let rule = "no value of the model has this name".to_string();
            invalid(
                op,
                "inputs",
                format!("`{name}`"),
                rule,
                "pass the name of an input, a constant or a node",
            )
        })
    }
}

fn integers<E: Element + Into<i64>>(op: &'static str, of: Integer, t: &StridedTensor) -> Outcome<Constant> {
    let values = memory::try_collect(op, t.to_vec::<E>()?.into_iter().map(Into::into))?;
    Ok(Constant::Int { of, dims: t.dims().to_vec(), values })
}

#[pymethods]
impl PyModel {
    /// A model without nodes.
    #[new]
    fn new() -> PyModel {
        PyModel(Mutex::new(Graph::new()))
    }

    /// Adds an input of f32 numbers; sizes may be names.
    fn input(&self, py: Python<'_>, name: Name, shape: &Bound<'_, PyAny>) -> PyResult<()> {
        let op = "input";
        held(py, op, || {
            let name = name::checked(op, "name", name.of(op, "name")?)?;
            let dims = dims_of(op, shape)?;
            self.with(|g| Ok(g.input(&name, &dims).map(|_| ())?))
        })
    }

    /// Adds a constant: integers of u8, s8 or s32, or an f32 tensor, which all others become.
    fn constant(&self, py: Python<'_>, name: Name, tensor: &Bound<'_, PyAny>) -> PyResult<()> {
        let op = "constant";
        held(py, op, || {
            let name = name::checked(op, "name", name.of(op, "name")?)?;
            let t = match exchange::import(tensor, op, "tensor")? {
                Tensor::Strided(t) => t,
                Tensor::Blocked(t) => t.to_strided(MemoryFormat::Contiguous)?,
                Tensor::Opaque(_) => {
                    let got = "another program's tensor".to_string();
                    return Err(invalid(
                        op,
                        "tensor",
                        got,
                        "constants are strided".into(),
                        "call `.to_strided()`",
                    ));
                }
            };
            let constant = match t.dtype() {
                DType::S32 => integers::<i32>(op, Integer::I32, &t)?,
                DType::S8 => integers::<i8>(op, Integer::I8, &t)?,
                DType::U8 => integers::<u8>(op, Integer::U8, &t)?,
                // A copy: an array may change later, and plans compute with constants as they are.
                DType::F32 => Constant::F32(t.copy(MemoryFormat::Preserve)?),
                _ => Constant::F32(t.to_dtype(DType::F32)?),
            };
            self.with(|g| Ok(g.constant(&name, constant).map(|_| ())?))
        })
    }

    /// Adds an op by name. `inputs` are pairs of an argument's name and a value's, in the schema's order; `outputs` names the
    /// results: each of them.
    fn op(
        &self,
        py: Python<'_>,
        node: Name,
        op: Name,
        inputs: Pairs,
        params: Mapped,
        outputs: Names,
    ) -> PyResult<()> {
        let here = "Model.op";
        held(py, here, || {
            let (node, op) = (name::checked(here, "node", node.of(here, "node")?)?, op.of(here, "op")?);
            let inputs = inputs.of(here, "inputs")?;
            let outputs = outputs.of(here, "outputs")?.into_iter();
            let outputs =
                outputs.map(|name| name::checked(here, "outputs", name)).collect::<Outcome<Vec<_>>>()?;
            let mut given = Vec::new();
            let specs = dispatch::op(&op).map_or(&[][..], |op| op.schema().args);
            for (name, x) in params.of(py, here, "params", "parameters")? {
                let Some(spec) = specs.iter().find(|s| s.name == name && !s.kind.is_tensor()) else {
                    let rule = format!("op `{op}` has no such parameter");
                    return Err(invalid(here, "params", format!("`{name}`"), rule, "see `blocktensor.ops`"));
                };
                given.push((spec.name, value(here, spec, &x)?));
            }
            self.with(|g| {
                let inputs = inputs.iter().map(|(arg, name)| Ok((arg.as_str(), PyModel::id(g, here, name)?)));
                let inputs = inputs.collect::<Outcome<Vec<_>>>()?;
                let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
                g.ops(&node, &op, &inputs, &given, &outputs)?;
                Ok(())
            })
        })
    }

    /// Makes a value an output.
    fn output(&self, py: Python<'_>, name: Name, value: Name) -> PyResult<()> {
        let op = "output";
        held(py, op, || {
            let name = name::checked(op, "name", name.of(op, "name")?)?;
            let value = value.of(op, "value")?;
            self.with(|g| {
                let id = PyModel::id(g, op, &value)?;
                Ok(g.output(&name, id)?)
            })
        })
    }

    /// Inputs: name, dtype, and sizes, which may be names.
    #[getter]
    fn inputs(&self) -> Vec<(String, String, Vec<String>)> {
        let graph = self.graph();
        let inputs = graph.inputs().map(|(name, of, dims)| {
            (name.to_string(), of.to_string(), dims.iter().map(Dim::to_string).collect())
        });
        inputs.collect()
    }

    /// Names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.graph().outputs().map(str::to_string).collect()
    }

    /// Nodes: name, op, attributes.
    #[getter]
    fn nodes(&self) -> Vec<(String, String, String)> {
        self.graph().nodes().map(|(name, op, attributes)| (name.into(), op.into(), attributes)).collect()
    }

    /// Names of the sizes that a plan needs numbers for.
    #[getter]
    fn named_sizes(&self) -> Vec<String> {
        self.graph().named_sizes().into_iter().map(str::to_string).collect()
    }

    /// Nodes that cannot run at these sizes: name, op, reason.
    #[pyo3(signature = (sizes = None))]
    fn missing(&self, py: Python<'_>, sizes: Option<Named>) -> PyResult<Vec<(String, String, String)>> {
        let graph = self.graph();
        let sizes = sizes_of("missing", sizes).map_err(|e| e.raise(py))?;
        released(py, "missing", || {
            let (outcomes, _) = graph.outcomes(&sizes)?;
            let missing = graph.nodes().zip(outcomes).filter_map(|((name, op, _), outcome)| match outcome {
                NodeOutcome::Missing(reason) => Some((name.to_string(), op.to_string(), reason)),
                _ => None,
            });
            Ok(missing.collect())
        })
    }

    /// The same model with other outputs: any values, by name. One output is a `str`, too.
    fn with_outputs(&self, py: Python<'_>, names: Names) -> PyResult<PyModel> {
        let (op, graph) = ("with_outputs", self.graph());
        held(py, op, || {
            let names = names.of(op, "names")?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Ok(PyModel(Mutex::new(graph.with_outputs(&names)?)))
        })
    }

    /// Plans the model: layouts, reorders, fusions, packed weights, memory. `layouts` is nchw, nhwc, blocked or measured. Measured
    /// ones also choose how convolutions compute, unless `exact` keeps them to the direct algorithm; packed weights then grow to
    /// at most `weight_growth` times the plain ones. `reorders` is the most that a run may make: measured layouts keep to it where
    /// that is possible. `precision` is f32 or bf16: the type in which ops compute that have kernels for it. `strict` refuses quantised
    /// nodes that no kernel computes on integers. `like` is a plan of the model at other sizes: each node runs as there if it can, and
    /// nothing is measured. Ctrl-C ends it.
    #[pyo3(
        signature = (*, layouts = "measured".into(), sizes = None, threads = None, profiles = "kept".into(),
            keep_constants = false.into(), exact = false.into(), weight_growth = 1.25.into(), reorders = None,
            precision = "f32".into(), strict = false.into(), like = None),
        text_signature = "($self, *, layouts='measured', sizes=None, threads=None, profiles='kept', \
                          keep_constants=False, exact=False, weight_growth=1.25, reorders=None, precision='f32', \
                          strict=False, like=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn plan(
        &self,
        py: Python<'_>,
        layouts: Name,
        sizes: Option<Named>,
        threads: Option<Number<usize>>,
        profiles: Name,
        keep_constants: Flag,
        exact: Flag,
        weight_growth: Number<f64>,
        reorders: Option<Number<usize>>,
        precision: Name,
        strict: Flag,
        like: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyPlan> {
        let (op, graph) = ("plan", self.graph());
        let checked = || {
            let options = options_of(op, layouts, threads, profiles, precision)?;
            let growth = weight_growth.of(op, "weight_growth")?;
            if !(growth >= 1.0 && growth.is_finite()) {
                let rule = "it is a number of times, 1 or more".to_string();
                return Err(invalid(op, "weight_growth", growth.to_string(), rule, "pass one such as 1.25"));
            }
            let reorders = number::maybe(op, "reorders", reorders)?;
            let like = like_of(op, like, &options.0)?;
            let flags =
                [keep_constants.of(op, "keep_constants")?, exact.of(op, "exact")?, strict.of(op, "strict")?];
            Ok((options, sizes_of(op, sizes)?, growth, reorders, like, flags))
        };
        let ((options, threads), sizes, weight_growth, reorders, like, [keep_constants, exact, strict]) =
            checked().map_err(|e| e.raise(py))?;
        released(py, op, || {
            let signals = Signals::new();
            let options = options.sizes(sizes);
            let options = if keep_constants { options.keep_constants() } else { options };
            let options = if exact { options.exact() } else { options }.weight_growth(weight_growth);
            let options = if strict { options.strict() } else { options };
            let options = match reorders {
                Some(most) => options.at_most_reorders(most),
                None => options,
            };
            let options = match &like {
                Some(plan) => options.like(plan),
                None => options,
            };
            let asked = signals.clone();
            let options = options.stop_if(move || asked.stop());
            // Only on a terminal, and only if it takes more than a second.
            let _progress = options.measures().then(|| Progress::start("measuring layouts"));
            let plan = signals.end(on_threads(op, threads, || Ok(graph.plan(&options)?)))?;
            Ok(PyPlan { plan: Arc::new(plan), threads })
        })
    }

    fn __repr__(&self) -> String {
        let graph = self.graph();
        let inputs = graph.inputs().map(|(name, of, dims): (&str, ElementType, &[Dim])| {
            let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
            format!("{name}: {of} [{}]", dims.join(", "))
        });
        let inputs = inputs.collect::<Vec<_>>().join(", ");
        let outputs = graph.outputs().collect::<Vec<_>>().join(", ");
        format!("Model({inputs} -> {outputs}; {} nodes)", graph.nodes().count())
    }
}

/// Checks options of `Model.plan` before the work that leads to it.
#[pyfunction]
pub(crate) fn check_options(
    py: Python<'_>,
    layouts: Name,
    threads: Option<Number<usize>>,
    profiles: Name,
    precision: Name,
) -> PyResult<()> {
    options_of("plan", layouts, threads, profiles, precision).map(|_| ()).map_err(|e| e.raise(py))
}

/// The nodes that run as one plan each, and those that stay with PyTorch, each alone, in an order in which all can run.
#[pyfunction]
pub(crate) fn schedule(reads: Vec<Vec<usize>>, runs: Vec<bool>) -> Vec<Vec<usize>> {
    blocktensor_graph::schedule(&reads, &runs)
}

/// Reads an ONNX model, with the data that it keeps in other files of its folder.
#[pyfunction]
pub(crate) fn load_onnx(py: Python<'_>, path: FilePath) -> PyResult<PyModel> {
    let op = "load_onnx";
    released(py, op, || {
        let path = path.of(op)?;
        blocktensor::check_process(op)?;
        Ok(PyModel(Mutex::new(blocktensor_onnx::from_path(&path)?)))
    })
}
