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

use blocktensor::dispatch::DispatchKey;
use blocktensor::{Complaint, Error, Operand, Result, Tensor, TensorRef};

pub use adamw::{AdamW, AdamWState};
pub use loss::{cross_entropy, loss, mse_loss};
pub use sgd::Sgd;
pub use tape::{Gradients, Recording, Tape, Var, check, record};

/// Checks that `x` is as `of`: nothing is broadcast, cast or reordered on the way. `complain` gets what they differ in.
fn check_like(of: TensorRef<'_>, x: TensorRef<'_>, complain: impl Fn(&str) -> Box<Complaint>) -> Result<()> {
    let has_other_layout = || of.key() != DispatchKey::STRIDED && x.layout_name() != of.layout_name();
    match () {
        () if x.dims() != of.dims() => Err(Error::ShapeMismatch(complain("shape"))),
        () if x.dtype() != of.dtype() => Err(Error::DTypeMismatch(complain("dtype"))),
        () if x.key() != of.key() => Err(Error::KeyMismatch(complain("key"))),
        () if has_other_layout() => Err(Error::LayoutMismatch(complain("layout"))),
        () => Ok(()),
    }
}

/// Checks that a gradient, and what is kept of weights, are as the weights: the element-wise ops of a step would name operands of their own.
fn check_step<'a>(
    weights: &Tensor,
    gradient: &Tensor,
    kept: impl IntoIterator<Item = &'a Tensor>,
) -> Result<()> {
    let weights = weights.tensor_ref();
    if !weights.dtype().is_float() {
        let rule = "weights that an optimiser moves are numbers of f32 or bf16";
        let complaint =
            Complaint::new("step", "weights", weights.describe(), rule, "leave them out of the step");
        return Err(Error::UnsupportedDType(complaint));
    }
    let check = |argument: &'static str, x: &Tensor, remedy: &'static str| {
        let x = x.tensor_ref();
        check_like(weights, x, |what| {
            let rule = format!("the weights are {}, and it has their {what}", weights.describe());
            Complaint::new("step", argument, x.describe(), rule, remedy)
        })
    };
    check("gradient", gradient, "pass the gradient of these weights")?;
    let remedy = "load the state of these weights, or make another optimiser for other weights";
    kept.into_iter().try_for_each(|kept| check("state", kept, remedy))
}

/// What an optimiser keeps of the weights of this number, made where there is no place for it yet.
fn slot<T: Clone>(kept: &mut Vec<Option<T>>, number: usize) -> &mut Option<T> {
    if kept.len() <= number {
        kept.resize(number + 1, None);
    }
    &mut kept[number]
}
