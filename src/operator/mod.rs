//! `Operator`: an op with its parameters, and with its weights where they are packed, as a value.
//!
//! A graph is made of operators. What they are asked before a run needs descriptions alone: what comes out, which layouts
//! suit, how much scratchpad a run takes. A run writes into tensors of the caller's.
//!
//! ```
//! use blocktensor::{BoundOp, DType, MemoryFormat, Operand, Operator, Scratchpad, StridedTensor, Tensor, TensorDesc};
//!
//! let pool = BoundOp::new("max_pool2d", &["x"], &[("kernel", vec![2i64, 2].into())])?;
//! let x = TensorDesc::strided(&[1, 3, 8, 8], DType::F32, MemoryFormat::ChannelsLast)?;
//! let y = pool.infer(&[x])?.remove(0);
//! assert_eq!(y.to_string(), "[1, 3, 4, 4] f32 channels_last");
//!
//! let x = StridedTensor::full(&[1, 3, 8, 8], 1f32, MemoryFormat::ChannelsLast)?;
//! let mut y = Tensor::from(StridedTensor::zeros(y.dims(), y.dtype(), MemoryFormat::ChannelsLast)?);
//! pool.run_into(&[x.tensor_ref()], vec![y.tensor_mut()], &mut Scratchpad::new())?;
//! # Ok::<(), blocktensor::Error>(())
//! ```

mod bound;
mod facts;
mod kept;

pub use crate::op::param_value::ParamValue;
pub use bound::BoundOp;
pub use kept::Kept;

use std::fmt::Debug;

use crate::error::Result;
use crate::key::DispatchKey;
use crate::op::schema::Schema;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;

/// An op bound to its parameters, and to its weights where they are packed.
pub trait Operator: Debug + Send + Sync {
    /// The op's name.
    fn op(&self) -> &'static str;

    /// The schema of the registered op that it computes, with what is known of that op. `None` if it is another one: then nothing is
    /// known.
    fn schema(&self) -> Option<&'static Schema> {
        None
    }

    /// The names of the tensors that a run takes, in order. An argument that is a list has its name once for each tensor.
    fn inputs(&self) -> &[&'static str];

    /// What comes out for such inputs: sizes, dtype, strides or layout of every result.
    ///
    /// # Errors
    /// Those that the op has for such operands.
    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>>;

    /// The same inputs as the kernels for a key want them; `None` where the op has no kernel for it.
    ///
    /// # Errors
    /// `InvalidArgument` for another number of inputs; those that the op has for operands of such sizes.
    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>>;

    /// **Bytes** of scratchpad that a run takes. What oneDNN's kernels need is known when they are made, so this makes them.
    ///
    /// # Errors
    /// As [`infer`](Self::infer), and the engine's.
    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize>;

    /// Runs into new tensors.
    ///
    /// # Errors
    /// Those that the op has for such operands.
    #[track_caller]
    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>>;

    /// Runs into tensors of the caller's, which are as [`infer`](Self::infer) says, and in a scratchpad of the caller's.
    ///
    /// # Errors
    /// As [`run`](Self::run); `ShapeMismatch`, `DTypeMismatch`, `LayoutMismatch`, `KeyMismatch` for an output that is not as
    /// the result; `Aliasing` where another tensor shares its storage. Outputs are as they were, unless a kernel had begun.
    #[track_caller]
    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()>;
}
