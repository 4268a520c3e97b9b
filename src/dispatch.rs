//! Dispatch: keys, schemas, kernels, and how a call finds its kernel.
//!
//! The data operands of a call choose the key, and must agree on it. A call asks the op's kernels for that key in the order
//! of their registration; the first that takes the dtypes of the operands and does not decline runs. The schema states the
//! dtypes and ranks of operands; they are checked before a kernel is asked. A key without a kernel is an error that names the keys
//! that have one. Dispatch itself never reorders a tensor.

pub use crate::key::{DispatchKey, KeySpec, MAX_KEYS};
pub use crate::op::args::{Arg, Args, Value};
pub use crate::op::fallback::{Fallback, FallbackNote, allow_fallback};
pub use crate::op::kernel::{Engine, Kernel, KernelFn, Op, Outputs, PreferredFn};
pub use crate::op::results::{KernelResult, Results, Stop};
pub use crate::op::schema::{self, ArgKind, ArgSpec, Schema};
pub use crate::registry::{Registrar, call, call_in_order, op, ops, register, register_backend};
pub use crate::reorders::Reorders;
