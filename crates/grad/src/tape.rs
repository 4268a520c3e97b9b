//! The tape: operators in the order in which they ran, with what their gradients read.

mod back;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use blocktensor::{
    BlockedTensor, BoundOp, Complaint, Error, Kept, Layout, MemoryFormat, Operand, Operator, Result,
    StridedTensor, Tensor, TensorDesc, TensorRef,
};

/// A value of a tape: a tensor, and its number there.
#[derive(Clone, Debug)]
pub struct Var {
    tape: u64,
    number: usize,
    tensor: Tensor,
    /// Whether it depends on a variable.
    is_differentiable: bool,
}

impl Var {
    /// The tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// Whether it depends on a variable, so that gradients come back through it.
    pub fn is_differentiable(&self) -> bool {
        self.is_differentiable
    }
}

/// What made a value of others.
#[derive(Debug)]
enum Step {
    Op {
        kept: Kept,
        /// The numbers of the operands, and whether they depend on a variable.
        inputs: Vec<(usize, bool)>,
        /// The numbers of the results.
        results: Vec<usize>,
    },
    /// A reorder that the program stated: operand and result.
    Reorder(Box<(Var, Var)>),
}

/// Records operators while they run. Made by [`record`], or by [`Tape::open`] where the program is no closure.
#[derive(Debug)]
pub struct Tape {
    number: u64,
    values: usize,
    steps: Vec<Step>,
    /// Of [`check`]: operators are only described, and these are the errors of those that have no gradient.
    missing: Option<Vec<Error>>,
}

/// A finished tape, with what the program returned.
#[derive(Debug)]
pub struct Recording<T> {
    tape: Tape,
    value: T,
}

/// The gradients of a tape's variables.
#[derive(Debug)]
pub struct Gradients {
    tape: u64,
    of: HashMap<usize, Tensor>,
}

/// Runs `program` with a new tape, and keeps the tape for [`Recording::backward`].
///
/// # Errors
/// Those of `program`.
pub fn record<T>(program: impl FnOnce(&mut Tape) -> Result<T>) -> Result<Recording<T>> {
    let mut tape = Tape::open();
    let value = program(&mut tape)?;
    Ok(Recording { tape, value })
}

/// The errors of the operators of a program that a variable reaches and that have no gradient for the key or the dtypes of their
/// operands, in their order: none if [`record`] takes the program. Nothing is computed: operators are only described, and the tensors of their
/// results are zeros.
///
/// ```
/// use blocktensor::{BoundOp, StridedTensor};
/// let x = StridedTensor::from_slice(&[1f32, 2.0], &[1, 2])?;
/// let missing = blocktensor_grad::check(|tape| {
///     let x = tape.variable(x.into());
///     let y = tape.call(&BoundOp::new("relu", &["x"], &[])?, &[&x])?;
///     tape.call(&BoundOp::new("argmax", &["x"], &[("axis", vec![1i64].into())])?, &[&y])
/// })?;
/// assert_eq!(missing.len(), 1);
/// assert!(missing[0].to_string().contains("op `argmax` has no gradient for dispatch key `strided`"));
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Errors
/// Those of `program`, such as operands that do not fit.
pub fn check<T>(program: impl FnOnce(&mut Tape) -> Result<T>) -> Result<Vec<Error>> {
    let mut tape = Tape::describing();
    program(&mut tape)?;
    Ok(tape.into_missing())
}

fn foreign(call: &'static str, argument: &'static str) -> Error {
    let (got, rule) = ("a value of another tape", "values belong to the tape that made them");
    let remedy = "make it with `variable` or `constant` of this tape";
    Error::InvalidArgument(Complaint::new(call, argument, got, rule, remedy))
}

impl Tape {
    fn new(missing: Option<Vec<Error>>) -> Tape {
        static TAPES: AtomicU64 = AtomicU64::new(0);
        Tape { number: TAPES.fetch_add(1, Ordering::Relaxed), values: 0, steps: Vec::new(), missing }
    }

    /// A tape for a program that is no closure, such as one in another language. Otherwise call [`record`].
    pub fn open() -> Tape {
        Tape::new(None)
    }

    /// The tape of [`check`] for such a program: operators are only described.
    pub fn describing() -> Tape {
        Tape::new(Some(Vec::new()))
    }

    /// The errors of the operators that have no gradient, of a tape that only describes.
    pub fn into_missing(self) -> Vec<Error> {
        self.missing.unwrap_or_default()
    }

    /// About how many bytes its steps keep.
    fn bytes(&self) -> usize {
        let mut counted = HashSet::new();
        let mut sum = 0;
        let mut count = |number: usize, t: &Tensor| {
            let t = t.tensor_ref();
            if counted.insert(number) {
                sum += t.dims().iter().product::<usize>() * t.dtype().size_bytes();
            }
        };
        for step in &self.steps {
            match step {
                Step::Op { kept, inputs, results } => {
                    let operands = kept.operands().unwrap_or_default();
                    inputs.iter().zip(operands).for_each(|((number, _), t)| count(*number, t));
                    let kept = kept.results().unwrap_or_default();
                    results.iter().zip(kept).for_each(|(number, t)| count(*number, t));
                }
                Step::Reorder(both) => {
                    count(both.0.number, &both.0.tensor);
                    count(both.1.number, &both.1.tensor);
                }
            }
        }
        sum
    }

    fn value(&mut self, tensor: Tensor, is_differentiable: bool) -> Var {
        self.values += 1;
        Var { tape: self.number, number: self.values - 1, tensor, is_differentiable }
    }

    /// A tensor whose gradient is asked for: an operand or weights.
    pub fn variable(&mut self, tensor: Tensor) -> Var {
        self.value(tensor, true)
    }

    /// A tensor without a gradient: images, labels.
    pub fn constant(&mut self, tensor: Tensor) -> Var {
        self.value(tensor, false)
    }

    /// Runs an operator with one result and records it.
    ///
    /// # Errors
    /// As [`call_all`](Self::call_all); `InvalidArgument` for an operator with several results.
    #[track_caller]
    pub fn call(&mut self, op: &BoundOp, inputs: &[&Var]) -> Result<Var> {
        let mut results = self.call_all(op, inputs)?;
        match (results.pop(), results.is_empty()) {
            (Some(only), true) => Ok(only),
            (_, _) => {
                let rule = "it has several results, or none";
                let complaint = Complaint::new(op.op(), "op", op.to_string(), rule, "use `call_all`");
                Err(Error::InvalidArgument(complaint))
            }
        }
    }

    /// Runs an operator and records it. One that no variable reaches is not recorded.
    ///
    /// # Errors
    /// Before it runs, if a variable reaches it: `UnsupportedOp` if it has no gradient for the key of its operands, `UnsupportedDType` if it
    /// has none for their dtypes. `InvalidArgument` for a value that depends on a variable where the op has no gradient by the operand, and
    /// for a value of another tape. The operator's own errors.
    #[track_caller]
    pub fn call_all(&mut self, op: &BoundOp, inputs: &[&Var]) -> Result<Vec<Var>> {
        if let Some(i) = inputs.iter().position(|var| var.tape != self.number) {
            return Err(foreign(op.op(), op.inputs().get(i).copied().unwrap_or("inputs")));
        }
        let tensors: Vec<TensorRef<'_>> = inputs.iter().map(|var| var.tensor.tensor_ref()).collect();
        let wanted: Vec<bool> = inputs.iter().map(|var| var.is_differentiable).collect();
        let is_differentiable = wanted.contains(&true);
        let checked = is_differentiable.then(|| op.check_gradient(&tensors, &wanted));
        let results = match (&mut self.missing, checked) {
            (Some(missing), checked) => {
                missing.extend(checked.and_then(Result::err));
                let inputs: Vec<TensorDesc> = tensors.iter().map(|&t| TensorDesc::of(t)).collect();
                op.infer(&inputs)?.iter().map(zeros).collect::<Result<_>>()?
            }
            (None, Some(Err(e))) => return Err(e),
            (None, _) => op.run(&tensors)?,
        };
        // Indices, masks and running statistics are constants, whatever made them.
        let count = results.len();
        let has_gradient = |i: usize, t: &Tensor| {
            is_differentiable && op.differentiates_result(i, count, t.tensor_ref().dtype())
        };
        let results: Vec<Var> = results
            .into_iter()
            .enumerate()
            .map(|(i, t)| {
                let has_gradient = has_gradient(i, &t);
                self.value(t, has_gradient)
            })
            .collect();
        if is_differentiable && self.missing.is_none() {
            let kept = op.keep(&tensors, &refs(&results))?;
            let inputs = inputs.iter().map(|var| (var.number, var.is_differentiable)).collect();
            let numbers = results.iter().map(|var| var.number).collect();
            self.steps.push(Step::Op { kept, inputs, results: numbers });
        }
        Ok(results)
    }

    /// Reorders a strided value into a blocked layout. Its gradient is the reorder back.
    ///
    /// # Errors
    /// `KeyMismatch` for a value that is not strided; those of the reorder.
    #[track_caller]
    pub fn to_blocked(&mut self, var: &Var, layout: &Layout) -> Result<Var> {
        let x = strided("to_blocked", var)?;
        let reordered = match self.missing {
            Some(_) => BlockedTensor::zeros(x.dims(), x.dtype(), layout)?,
            None => x.to_blocked(layout)?,
        };
        self.reordered(var, reordered.into())
    }

    /// Reorders a blocked value into a memory format. Its gradient is the reorder back.
    ///
    /// # Errors
    /// `KeyMismatch` for a value that is not blocked; those of the reorder.
    #[track_caller]
    pub fn to_strided(&mut self, var: &Var, format: MemoryFormat) -> Result<Var> {
        let Tensor::Blocked(blocked) = &var.tensor else {
            let got = var.tensor.tensor_ref().describe();
            let complaint = Complaint::new("to_strided", "var", got, "it is blocked", "leave the call out");
            return Err(Error::KeyMismatch(complaint));
        };
        let reordered = match self.missing {
            Some(_) => StridedTensor::zeros(blocked.dims(), blocked.dtype(), format)?,
            None => blocked.to_strided(format)?,
        };
        self.reordered(var, reordered.into())
    }

    /// Reorders a value of any key into the strides or the layout of a descriptor ([`Tensor::reorder`]). Its gradient is the reorder
    /// back.
    ///
    /// # Errors
    /// Those of the reorder; `InvalidArgument` for a value of another tape.
    #[track_caller]
    pub fn reorder(&mut self, var: &Var, to: &TensorDesc) -> Result<Var> {
        let reordered = match self.missing {
            Some(_) => zeros(to)?,
            None => var.tensor.reorder(to)?,
        };
        self.reordered(var, reordered)
    }

    fn reordered(&mut self, var: &Var, tensor: Tensor) -> Result<Var> {
        if var.tape != self.number {
            return Err(foreign("reorder", "var"));
        }
        let result = self.value(tensor, var.is_differentiable);
        if var.is_differentiable {
            self.steps.push(Step::Reorder(Box::new((var.clone(), result.clone()))));
        }
        Ok(result)
    }
}

fn strided<'a>(call: &'static str, var: &'a Var) -> Result<&'a StridedTensor> {
    match &var.tensor {
        Tensor::Strided(t) => Ok(t),
        other => {
            let got = other.tensor_ref().describe();
            Err(Error::KeyMismatch(Complaint::new(call, "var", got, "it is strided", "leave the call out")))
        }
    }
}

impl<T> Recording<T> {
    /// What the program returned.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// As [`Tape::backward`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn backward(self, loss: &Var) -> Result<Gradients> {
        self.tape.backward(loss)
    }

    /// As [`Tape::backward_from`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn backward_from(self, from: &Var, diff: Tensor) -> Result<Gradients> {
        self.tape.backward_from(from, diff)
    }
}

/// Zeros with this descriptor.
fn zeros(desc: &TensorDesc) -> Result<Tensor> {
    match (desc.layout(), desc.strides()) {
        (Some(layout), _) => Ok(BlockedTensor::zeros(desc.dims(), desc.dtype(), layout)?.into()),
        (None, Some(strides)) => {
            let is_last = |format: &MemoryFormat| {
                format.strides("check", desc.dims()).is_ok_and(|of| of[..] == *strides)
            };
            let format = MemoryFormat::channels_last_of(desc.dims().len()).filter(is_last);
            let format = format.unwrap_or(MemoryFormat::Contiguous);
            Ok(StridedTensor::zeros(desc.dims(), desc.dtype(), format)?.into())
        }
        (None, None) => {
            let (got, rule) = (desc.key().to_string(), "only strided and blocked tensors are made here");
            let complaint = Complaint::new(
                "check",
                "result",
                got,
                rule,
                "record the program: each call is checked before it runs",
            );
            Err(Error::KeyMismatch(complaint))
        }
    }
}

fn refs(vars: &[Var]) -> Vec<TensorRef<'_>> {
    vars.iter().map(|var| var.tensor.tensor_ref()).collect()
}

impl Gradients {
    /// The gradient of a variable. `None` if the result does not depend on it, and for a value of another tape.
    pub fn of(&self, var: &Var) -> Option<&Tensor> {
        (var.tape == self.tape).then(|| self.of.get(&var.number)).flatten()
    }
}
