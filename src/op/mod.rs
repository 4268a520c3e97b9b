//! What an op is: its schema, the arguments of a call, its kernels, and where results go.

pub(crate) mod args;
pub(crate) mod fallback;
pub(crate) mod kernel;
pub(crate) mod preferred;
pub(crate) mod results;
pub mod schema;

pub use args::{Arg, Args, Value};
pub use kernel::{Engine, Kernel, KernelFn, Op, Outputs};
pub use results::{KernelResult, Results, Stop};
pub use schema::{ArgKind, ArgSpec, Schema};
