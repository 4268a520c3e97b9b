//! Ops: schemas, arguments of calls, kernels, and results.

pub(crate) mod arg;
pub(crate) mod args;
pub(crate) mod call;
pub mod facts;
pub(crate) mod fallback;
pub(crate) mod gradient;
pub(crate) mod kernel;
pub(crate) mod lookup;
pub(crate) mod param_value;
pub(crate) mod params;
pub(crate) mod preferred;
pub(crate) mod results;
pub(crate) mod rules;
pub mod schema;
mod signature;
mod way_in;

pub(crate) use args::{Arg, Args, Value};
pub(crate) use call::{Implementation, Op};
pub(crate) use gradient::{Backward, Gradients};
pub(crate) use kernel::{Kernel, Reads};
pub(crate) use lookup::DTypeTuple;
pub(crate) use results::{KernelResult, Results};
pub(crate) use schema::{ArgSpec, Schema};
