//! Dispatch: keys, schemas, kernels, and the table that leads from a call to one of them.
//!
//! One key, one kernel. The data operands of a call choose the key and must agree; a key without a kernel is an
//! error that names the keys that have one, never a conversion.

pub(crate) mod args;
mod fallback;
mod key;
mod op;
pub(crate) mod preferred;
mod registry;
mod results;
pub mod schema;

pub use args::{Arg, Args, Value};
pub use fallback::{Fallback, FallbackNote, allow_fallback};
pub use key::{DispatchKey, KeySpec, MAX_KEYS};
pub use op::{Engine, Kernel, KernelFn, Op, Outputs, PreferredFn};
pub use registry::{Registrar, call, op, ops, register, register_backend};
pub use results::{KernelResult, Results, Stop};
pub use schema::{ArgKind, ArgSpec, Schema};
