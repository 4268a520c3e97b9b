//! Dispatch: keys, schemas, kernels, and how a call finds its kernel.
//!
//! The data operands of a call choose the key, and must agree on it. Every op has one ordered list of kernels: each with its key,
//! the dtypes of operands and results together, and the instructions that it needs. A call asks those of its key in the order
//! of their registration; the first that takes the dtypes and does not decline runs. The schema states the
//! dtypes and ranks of operands; they are checked before a kernel is asked. A key without a kernel is an error that names the keys
//! that have one. Dispatch itself never reorders a tensor.

pub use crate::key::{DispatchKey, KeySpec, MAX_KEYS};
pub use crate::op::args::{Arg, Args, Value};
pub use crate::op::call::{Op, Outputs};
pub use crate::op::facts::{
    self, CallSizes, Facts, Movement, MultiplyAdds, Packing, PostOpWord, Sharing, WeightsRole,
};
pub use crate::op::fallback::{Fallback, FallbackNote, allow_fallback};
pub use crate::op::gradient::{Backward, GradientFn, Gradients};
pub use crate::op::kernel::{Engine, Kernel, KernelFn, PreferredFn, Propagation, Reads};
pub use crate::op::lookup::DTypeTuple;
pub use crate::op::results::{KernelResult, Results, Stop};
pub use crate::op::schema::{self, ArgKind, ArgSpec, Schema};
pub use crate::registry::{Registrar, call, call_in_order, op, ops, register, register_backend};
pub use crate::reorders::Reorders;
pub use crate::simd::Isa;
