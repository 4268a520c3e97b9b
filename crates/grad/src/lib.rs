//! Gradients of programs of blocktensor's ops: [`record`] makes a [`Tape`], which stores each operator with its operands and results;
//! [`Recording::backward`] runs it back. Nothing is reordered on the way: a gradient has the layout of its operand, and the program
//! states the reorders between layouts ([`Tape::to_blocked`], [`Tape::to_strided`]), whose gradients are the reorders back.
//!
//! ```
//! use blocktensor::{BoundOp, StridedTensor, Tensor};
//! let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0], &[3])?;
//! let recording = blocktensor_grad::record(|tape| {
//!     let x = tape.variable(x.into());
//!     // The same value twice: its gradients are summed.
//!     let product = tape.call(&BoundOp::new("mul", &["a", "b"], &[])?, &[&x, &x])?;
//!     let sum = tape.call(&BoundOp::new("add", &["a", "b"], &[])?, &[&product, &x])?;
//!     Ok((x, sum))
//! })?;
//! let (x, sum) = recording.value().clone();
//! let ones: Tensor = StridedTensor::from_slice(&[1f32; 3], &[3])?.into();
//! let gradients = recording.backward_from(&sum, ones)?;
//! let Some(Tensor::Strided(of_x)) = gradients.of(&x) else { panic!("strided, as x is") };
//! assert_eq!(of_x.to_vec::<f32>()?, [3.0, 5.0, 7.0]);
//! # Ok::<(), blocktensor::Error>(())
//! ```

mod adamw;
mod loss;
mod sgd;
mod tape;

use blocktensor::{Complaint, Error, Operand, Result, Tensor, TensorRef};

pub use adamw::{AdamW, AdamWState};
pub use loss::{cross_entropy, loss, mse_loss};
pub use sgd::Sgd;
pub use tape::{Gradients, Recording, Tape, Var, check, record};

/// Refuses what is not as the weights are: element-wise ops would broadcast the one or the other, or name operands of their own.
fn check_sizes(weights: &Tensor, argument: &'static str, x: &Tensor, remedy: &str) -> Result<()> {
    let (weights, x) = (weights.tensor_ref(), x.tensor_ref());
    if !weights.dtype().is_float() {
        let rule = "weights that an optimiser moves are numbers of f32 or bf16";
        let remedy = "leave them out of the step";
        return Err(Error::UnsupportedDType(Complaint::new(
            "step",
            "weights",
            weights.describe(),
            rule,
            remedy,
        )));
    }
    let has_other_layout =
        matches!((weights, x), (TensorRef::Blocked(w), TensorRef::Blocked(x)) if w.layout() != x.layout());
    let (error, what): (fn(Box<Complaint>) -> Error, _) = match () {
        () if weights.dims() != x.dims() => (Error::ShapeMismatch, "sizes"),
        () if weights.dtype() != x.dtype() => (Error::DTypeMismatch, "dtype"),
        () if weights.key() != x.key() => (Error::KeyMismatch, "key"),
        () if has_other_layout => (Error::LayoutMismatch, "layout"),
        () => return Ok(()),
    };
    let rule = format!("the weights are {}, and it has their {what}", weights.describe());
    Err(error(Complaint::new("step", argument, x.describe(), rule, remedy)))
}

/// As `check_sizes`, of a gradient and of what is kept of weights.
fn check_step<'a>(
    weights: &Tensor,
    gradient: &Tensor,
    kept: impl IntoIterator<Item = &'a Tensor>,
) -> Result<()> {
    check_sizes(weights, "gradient", gradient, "pass the gradient of these weights")?;
    let remedy = "load the state of these weights, or make another optimiser for other weights";
    kept.into_iter().try_for_each(|kept| check_sizes(weights, "state", kept, remedy))
}

/// What an optimiser keeps of the weights of this number, made where there is no place for it yet.
fn slot<T: Clone>(kept: &mut Vec<Option<T>>, number: usize) -> &mut Option<T> {
    if kept.len() <= number {
        kept.resize(number + 1, None);
    }
    &mut kept[number]
}
