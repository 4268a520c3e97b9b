//! The outcome of one run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::{Error, Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor, Unsupported};

/// The layouts that every problem runs in.
pub const LAYOUTS: [&str; 3] = ["blocked", "nhwc", "nchw"];

/// The outcome of a run: one problem in one layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// The reason, without the problem's sizes.
    Unsupported(String),
    /// What is wrong.
    Failed(String),
}

impl Outcome {
    pub fn unsupported(why: impl Into<String>) -> Outcome {
        Outcome::Unsupported(why.into())
    }

    /// Combines this outcome with that of another part of the same run.
    pub fn and(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Failed(a), Outcome::Failed(b)) => Outcome::Failed(format!("{a}; {b}")),
            (failed @ Outcome::Failed(_), _) | (_, failed @ Outcome::Failed(_)) => failed,
            (Outcome::Passed, other) => other,
            (unsupported, _) => unsupported,
        }
    }
}

/// An error that the library must return: the argument that breaks one of PyTorch's rules, and that rule.
pub struct Refusal {
    pub argument: &'static str,
    pub rule: &'static str,
}

/// The expected result.
pub struct Want<'a> {
    pub dims: &'a [usize],
    pub values: &'a [f64],
    /// The largest allowed error of an element.
    pub limit: &'a dyn Fn(usize) -> f64,
    /// For algorithms that round otherwise: the largest allowed norm of all errors, beside the norm of the values.
    pub norm: Option<f64>,
    pub refusal: Option<Refusal>,
}

impl Want<'_> {
    /// Runs something and checks its result: shape, zeros in the padding of blocks, every element.
    pub fn of(&self, what: &str, run: impl FnOnce() -> Result<Tensor>) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| run().and_then(|y| self.difference(&y)))) {
            Ok(Ok(None)) => Outcome::Passed,
            Ok(Ok(Some(difference))) => Outcome::Failed(format!("{what}: {difference}")),
            Ok(Err(e)) => self.of_error(what, &e),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a text");
                Outcome::Failed(format!("{what}: panicked: {text}"))
            }
        }
    }

    fn of_error(&self, what: &str, e: &Error) -> Outcome {
        match (e, &self.refusal) {
            (Error::UnsupportedOp(u), _) => {
                let why = match &u.reason {
                    Unsupported::NoKernel => "no kernel".to_string(),
                    Unsupported::NoGradient => "no gradient".into(),
                    Unsupported::RefOnly { .. } => "only a reference implementation".into(),
                    Unsupported::NoImplementation => "no implementation".into(),
                    Unsupported::Layout { layout } => format!("no kernel for layout {layout}"),
                    Unsupported::EngineNotBuilt => "needs oneDNN, which this build leaves out".into(),
                };
                Outcome::unsupported(format!("{what}: {}, {}: {why}", u.op, u.key))
            }
            // An implementation was asked for that is not for this problem.
            (Error::InvalidArgument(c), _) if c.argument == "implementation" => {
                Outcome::unsupported(format!("{}, {}", c.got, c.rule))
            }
            (Error::InvalidArgument(c), Some(refusal)) if c.argument == refusal.argument => {
                Outcome::unsupported(format!("{}: {}", c.op, refusal.rule))
            }
            _ => Outcome::Failed(format!("{what}: {e}")),
        }
    }

    fn difference(&self, y: &Tensor) -> Result<Option<String>> {
        if y.tensor_ref().dims() != self.dims {
            return Ok(Some(format!("the result is {:?} instead of {:?}", y.tensor_ref().dims(), self.dims)));
        }
        let plain = match y {
            Tensor::Blocked(y) => {
                y.check_tail()?;
                y.to_strided(MemoryFormat::Contiguous)?.to_vec::<f32>()?
            }
            Tensor::Strided(y) => y.to_vec::<f32>()?,
            Tensor::Opaque(_) => return Ok(Some("the result is of another backend".into())),
        };
        Ok(self.compare(&plain))
    }

    /// Compares numbers in logical order.
    pub fn compare(&self, got: &[f32]) -> Option<String> {
        if got.len() != self.values.len() {
            return Some(format!("{} elements instead of {}", got.len(), self.values.len()));
        }
        if let Some(most) = self.norm {
            let square = |v: f64| v * v;
            let errors: f64 = got.iter().zip(self.values).map(|(g, v)| square(f64::from(*g) - v)).sum();
            let values: f64 = self.values.iter().map(|v| square(*v)).sum();
            let error = (errors / values.max(1.0)).sqrt();
            return (error.is_nan() || error > most)
                .then(|| format!("an error of {error:.2e} by norm, more than {most:.0e}"));
        }
        let right = |i: usize| {
            let (got, want) = (f64::from(got[i]), self.values[i]);
            got == want || (got - want).abs() <= (self.limit)(i)
        };
        let mut wrong = (0..got.len()).filter(|&i| !right(i));
        let first = wrong.next()?;
        let (mut rest, mut index) = (first, vec![0; self.dims.len()]);
        for (at, &size) in index.iter_mut().zip(self.dims).rev() {
            (*at, rest) = (rest % size, rest / size);
        }
        Some(format!(
            "{} of {} elements differ, first {index:?}: {} instead of {}",
            1 + wrong.count(),
            got.len(),
            got[first],
            self.values[first]
        ))
    }
}

/// Runs `run` on a plain source in each layout that exists for its rank.
pub fn in_layouts(
    x: &StridedTensor,
    mut run: impl FnMut(&'static str, &Tensor) -> Outcome,
) -> Result<[Outcome; 3]> {
    let rank = x.rank();
    let source = |layout: &str| -> Result<Option<Tensor>> {
        Ok(match layout {
            "blocked" if !(3..=5).contains(&rank) => None,
            "blocked" => Some(x.to_blocked(&Layout::native_activation(rank)?)?.into()),
            "nhwc" => match MemoryFormat::channels_last_of(rank) {
                Some(format) => Some(x.contiguous(format)?.into()),
                None => None,
            },
            _ => Some(x.clone().into()),
        })
    };
    let mut outcomes = [const { Outcome::Passed }; 3];
    for (outcome, layout) in outcomes.iter_mut().zip(LAYOUTS) {
        *outcome = match source(layout)? {
            Some(x) => run(layout, &x),
            None => Outcome::unsupported(format!("there is no {layout} of rank {rank}")),
        };
    }
    Ok(outcomes)
}
