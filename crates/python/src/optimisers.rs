//! Optimisers: the next weights of a step, by name, in the layout of the weights.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use blocktensor::{DType, MemoryFormat, StridedTensor, Tensor};
use blocktensor_grad::{AdamW, AdamWState, Sgd};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::errors::{Outcome, held, invalid, released};
use crate::exchange;
use crate::name::{self, shown};
use crate::number::{Number, Pair};
use crate::tensor::PyTensor;

/// An optimiser of Rust, which counts weights, and the names that they have here.
#[derive(Clone)]
struct Named<T> {
    of: T,
    names: Vec<String>,
    /// The names whose state was loaded, and that no step had since.
    loaded: BTreeSet<String>,
}

/// What this file needs of an optimiser.
trait Optimiser: Clone + Send {
    /// The endings of the names of what it keeps of weights.
    const PARTS: &[&str];

    fn step(&mut self, number: usize, w: &Tensor, g: &Tensor) -> blocktensor::Result<Tensor>;
    /// What it keeps of weights, each tensor with the ending of its name.
    fn kept(&self, number: usize) -> Outcome<Vec<(&'static str, Tensor)>>;
    /// Puts back what `kept` gave.
    fn keep(&mut self, number: usize, kept: &BTreeMap<String, Tensor>) -> Outcome<()>;
}

/// The tensor of a saved state.
fn saved<'a>(kept: &'a BTreeMap<String, Tensor>, ending: &'static str) -> Outcome<&'a Tensor> {
    kept.get(ending).ok_or_else(|| {
        let got = kept.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let rule = format!("each of its weights has a tensor `{ending}`");
        invalid("load_state_dict", "state", got, rule, "pass what `state_dict()` of the same optimiser gave")
    })
}

impl Optimiser for Sgd {
    const PARTS: &[&str] = &["velocity"];

    fn step(&mut self, number: usize, w: &Tensor, g: &Tensor) -> blocktensor::Result<Tensor> {
        Sgd::step(self, number, w, g)
    }

    fn kept(&self, number: usize) -> Outcome<Vec<(&'static str, Tensor)>> {
        Ok(self.velocity(number).map(|v| ("velocity", v.clone())).into_iter().collect())
    }

    fn keep(&mut self, number: usize, kept: &BTreeMap<String, Tensor>) -> Outcome<()> {
        self.set_velocity(number, saved(kept, "velocity")?.clone());
        Ok(())
    }
}

impl Optimiser for AdamW {
    const PARTS: &[&str] = &["steps", "mean", "square"];

    fn step(&mut self, number: usize, w: &Tensor, g: &Tensor) -> blocktensor::Result<Tensor> {
        AdamW::step(self, number, w, g)
    }

    fn kept(&self, number: usize) -> Outcome<Vec<(&'static str, Tensor)>> {
        let Some(AdamWState { steps, mean, square }) = self.state(number) else { return Ok(Vec::new()) };
        let steps = StridedTensor::from_slice(&[*steps], &[])?;
        Ok(vec![("steps", steps.into()), ("mean", mean.clone()), ("square", square.clone())])
    }

    fn keep(&mut self, number: usize, kept: &BTreeMap<String, Tensor>) -> Outcome<()> {
        let steps = match saved(kept, "steps")? {
            Tensor::Strided(t) if t.dtype() == DType::S32 && t.numel() == 1 => t.to_vec::<i32>()?[0],
            other => {
                let got = blocktensor::Operand::tensor_ref(other).describe();
                let rule = "`steps` is one number of s32".to_string();
                return Err(invalid("load_state_dict", "state", got, rule, "pass what `state_dict()` gave"));
            }
        };
        // The step after it is counted too.
        if !(0..i32::MAX).contains(&steps) {
            let rule = format!("`steps` is a count: 0 or more, and below {}", i32::MAX);
            let remedy = "pass what `state_dict()` gave";
            return Err(invalid("load_state_dict", "state", format!("`steps` of {steps}"), rule, remedy));
        }
        let (mean, square) = (saved(kept, "mean")?.clone(), saved(kept, "square")?.clone());
        self.set_state(number, AdamWState { steps, mean, square });
        Ok(())
    }
}

/// The tensors of a mapping by name, in its order. With `may_lack` some may be `None`, and are left out. `entry` checks a
/// name, and says what errors about its tensor call it.
fn tensors(
    op: &'static str,
    argument: &str,
    x: &Bound<'_, PyAny>,
    may_lack: bool,
    entry: impl Fn(&str) -> Outcome<String>,
) -> Outcome<Vec<(String, Tensor)>> {
    let Ok(mapping) = x.cast::<PyMapping>() else {
        let rule = "it is a mapping from names to tensors".to_string();
        return Err(invalid(op, argument, shown(x), rule, "pass a dict"));
    };
    let mut all = Vec::new();
    for item in mapping.items()? {
        let (name, x) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let name = name::of_text(&name).ok_or_else(|| {
            let rule = "tensors have names here".to_string();
            invalid(op, argument, shown(&name), rule, "pass a dict whose keys are `str`")
        })?;
        if !(may_lack && x.is_none()) {
            let name = name.of(op, argument)?;
            let t = exchange::import(&x, op, &entry(&name)?)?;
            all.push((name, t));
        }
    }
    Ok(all)
}

fn dict<'py>(
    py: Python<'py>,
    all: impl IntoIterator<Item = (String, Tensor)>,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    all.into_iter().try_for_each(|(name, t)| made.set_item(name, PyTensor(t)))?;
    Ok(made)
}

impl<T: Optimiser> Named<T> {
    fn new(of: T) -> Mutex<Named<T>> {
        Mutex::new(Named { of, names: Vec::new(), loaded: BTreeSet::new() })
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        })
    }

    /// Weights begin without a state; but not beside a loaded one of others, which would be lost.
    fn check_loaded(&mut self, name: &str) -> Outcome<()> {
        let Some(other) = self.loaded.first().cloned() else { return Ok(()) };
        let number = self.number(name);
        if !self.of.kept(number)?.is_empty() {
            return Ok(());
        }
        let got = format!("`{}`", name.escape_debug());
        let rule = format!(
            "the state that was loaded has nothing of it, but of `{}`, which no weights are called",
            other.escape_debug()
        );
        Err(invalid("step", "weights", got, rule, "load the state of these weights, under their names"))
    }
}

/// A step: all weights move, or none.
fn step<'py, T: Optimiser>(
    py: Python<'py>,
    of: &Mutex<Named<T>>,
    weights: &Bound<'py, PyAny>,
    gradients: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let op = "step";
    let (weights, gradients) = held(py, op, || {
        let of = |argument: &str, x| tensors(op, argument, x, true, |_| Ok(argument.to_string()));
        Ok((of("weights", weights)?, of("gradients", gradients)?))
    })?;
    let next = released(py, op, || {
        let gradients: BTreeMap<String, Tensor> = gradients.into_iter().collect();
        if let Some(unknown) = gradients.keys().find(|name| !weights.iter().any(|(of, _)| of == *name)) {
            let (got, rule) = (format!("`{}`", unknown.escape_debug()), "no weights have this name");
            return Err(invalid(
                op,
                "gradients",
                got,
                rule.to_string(),
                "pass gradients under the names of weights",
            ));
        }
        let mut of = of.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = of.clone();
        for (name, _) in &weights {
            after.loaded.remove(name);
        }
        for (name, _) in weights.iter().filter(|(name, _)| gradients.contains_key(name)) {
            after.check_loaded(name)?;
        }
        let next = weights.into_iter().map(|(name, w)| {
            let moved = match gradients.get(&name) {
                Some(g) => {
                    let number = after.number(&name);
                    after.of.step(number, &w, g)?
                }
                // The loss does not depend on these weights.
                None => w,
            };
            Ok((name, moved))
        });
        let next = next.collect::<Outcome<Vec<_>>>()?;
        *of = after;
        Ok(next)
    })?;
    dict(py, next)
}

fn state_dict<'py, T: Optimiser>(py: Python<'py>, of: &Mutex<Named<T>>) -> PyResult<Bound<'py, PyDict>> {
    let all = held(py, "state_dict", || {
        let of = of.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for (number, name) in of.names.iter().enumerate() {
            let kept = of.of.kept(number)?;
            all.extend(kept.into_iter().map(|(ending, t)| (format!("{name}.{ending}"), t)));
        }
        Ok(all)
    })?;
    dict(py, all)
}

/// Loads all, or nothing.
fn load_state_dict<T: Optimiser>(
    py: Python<'_>,
    of: &Mutex<Named<T>>,
    state: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let op = "load_state_dict";
    held(py, op, || {
        let mut by_name: BTreeMap<String, BTreeMap<String, Tensor>> = BTreeMap::new();
        // Before its tensor: of another library's optimiser neither fits.
        let entry = |name: &str| -> Outcome<String> {
            let rule = match name.rsplit_once('.') {
                None => "names are `weights.part`".to_string(),
                Some((_, ending)) if !T::PARTS.contains(&ending) => {
                    format!("what it keeps of weights is called {}", T::PARTS.join(", "))
                }
                Some(_) => return Ok(format!("state[\"{}\"]", name.escape_debug())),
            };
            let remedy = "pass what `state_dict()` of the same optimiser gave";
            Err(invalid(op, "state", format!("`{}`", name.escape_debug()), rule, remedy))
        };
        for (name, t) in tensors(op, "state", state, false, entry)? {
            let Some((of, ending)) = name.rsplit_once('.') else { continue };
            // Its arrays may change later.
            let t = match t {
                Tensor::Strided(t) => t.copy(MemoryFormat::Preserve)?.into(),
                other => other,
            };
            by_name.entry(of.to_string()).or_default().insert(ending.to_string(), t);
        }
        let mut of = of.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = of.clone();
        for (name, kept) in by_name {
            let number = after.number(&name);
            after.of.keep(number, &kept)?;
            after.loaded.insert(name);
        }
        *of = after;
        Ok(())
    })
}

/// The class of an optimiser.
macro_rules! optimiser {
    ($(#[$doc:meta])* $class:ident, $name:literal, $of:ty, $new:item) => {
        $(#[$doc])*
        #[pyclass(frozen, name = $name, module = "blocktensor.grad")]
        pub(crate) struct $class(Mutex<Named<$of>>);

        #[pymethods]
        impl $class {
            #[new]
            $new

            /// The rate of the next steps. Set it for a schedule.
            #[getter]
            fn lr(&self) -> f64 {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).of.rate()
            }

            #[setter]
            fn set_lr(&self, py: Python<'_>, lr: Number<f64>) -> PyResult<()> {
                let lr = held(py, "lr", || factor("lr", "lr", lr, ANY))?;
                self.0.lock().unwrap_or_else(PoisonError::into_inner).of.set_rate(lr);
                Ok(())
            }

            /// The next weights, from the weights and their gradients by name. Weights without a gradient stay.
            fn step<'py>(
                &self,
                py: Python<'py>,
                weights: &Bound<'py, PyAny>,
                gradients: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyDict>> {
                step(py, &self.0, weights, gradients)
            }

            /// What it keeps of the weights, for saving.
            fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                state_dict(py, &self.0)
            }

            /// Goes on from a saved state.
            fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
                load_state_dict(py, &self.0, state)
            }
        }
    };
}

/// A number that PyTorch's optimisers take: 0 or more, and below `end`.
fn factor(op: &'static str, argument: &str, number: Number<f64>, end: f64) -> Outcome<f64> {
    let number = number.of(op, argument)?;
    if (0.0..end).contains(&number) {
        return Ok(number);
    }
    let rule = match end.is_finite() {
        true => format!("it is 0 or more, and below {end}"),
        false => "it is a finite number of 0 or more".to_string(),
    };
    Err(invalid(op, argument, number.to_string(), rule, "pass such a number"))
}

const ANY: f64 = f64::INFINITY;

optimiser! {
    /// Stochastic gradient descent, as `torch.optim.SGD`.
    PySgd, "SGD", Sgd,
    #[pyo3(
        signature = (lr, *, momentum = 0.0.into(), weight_decay = 0.0.into()),
        text_signature = "(lr, *, momentum=0.0, weight_decay=0.0)"
    )]
    fn new(py: Python<'_>, lr: Number<f64>, momentum: Number<f64>, weight_decay: Number<f64>) -> PyResult<Self> {
        let op = "SGD";
        held(py, op, || {
            let sgd = Sgd::new(factor(op, "lr", lr, ANY)?).momentum(factor(op, "momentum", momentum, ANY)?);
            Ok(Self(Named::new(sgd.weight_decay(factor(op, "weight_decay", weight_decay, ANY)?))))
        })
    }
}

optimiser! {
    /// AdamW, as `torch.optim.AdamW`.
    PyAdamW, "AdamW", AdamW,
    #[pyo3(
        signature = (lr = 1e-3.into(), *, betas = [0.9, 0.999].into(), eps = 1e-8.into(), weight_decay = 0.01.into()),
        text_signature = "(lr=0.001, *, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01)"
    )]
    fn new(
        py: Python<'_>,
        lr: Number<f64>,
        betas: Pair,
        eps: Number<f64>,
        weight_decay: Number<f64>,
    ) -> PyResult<Self> {
        let op = "AdamW";
        held(py, op, || {
            let [b1, b2] = betas.of(op, "betas")?;
            let (b1, b2) = (factor(op, "betas", b1, 1.0)?, factor(op, "betas", b2, 1.0)?);
            let adamw = AdamW::new(factor(op, "lr", lr, ANY)?).betas(b1, b2).eps(factor(op, "eps", eps, ANY)?);
            Ok(Self(Named::new(adamw.weight_decay(factor(op, "weight_decay", weight_decay, ANY)?))))
        })
    }
}
