//! A safe interface to oneDNN: the only caller of the -sys crate.
//!
//! `status` turns codes into errors; `engine` holds the engine, streams and thread-pool adapter; `memory` the descriptors;
//! `attr` the attributes. `primitive` creates and runs primitives, `flush` sets the processor's mode for a run, `cache` keeps
//! primitives. There is one file per kind of primitive, which builds its descriptor and key.

mod attr;
mod cache;
pub(crate) mod chosen;
mod conv;
mod engine;
mod flush;
mod matmul;
mod memory;
mod primitive;
mod reorder;
mod status;

pub use cache::{CAPACITY, CacheStats, cache_stats, clear_cache, drop_unused_since};
pub use engine::{cpu_runtime, effective_isa, version};

pub(crate) use conv::{ConvSpec, PostSpec};
pub(crate) use matmul::MatmulSpec;
pub(crate) use memory::{MemoryDesc, Spec};
pub(crate) use primitive::{Executable, MAX_RUN_ARGS, RunArg, reorders_inside};
pub(crate) use reorder::{pack, unpack};

use crate::error::{Error, Unsupported};
use crate::layout::dims::MAX_RANK;

/// Why there is no primitive: the op turns it into an error that names its operands.
#[derive(Debug)]
pub(crate) enum Refused {
    /// oneDNN has no fast implementation for this configuration.
    Unsupported(Unsupported),
    /// A call failed.
    Failed(Error),
}

impl Refused {
    /// A refusal of this call as an error, where the configuration is one that oneDNN always has.
    pub(crate) fn of(self, call: &'static str) -> Error {
        match self {
            Refused::Failed(e) => e,
            Refused::Unsupported(_) => {
                let status = onednn_sys::dnnl_unimplemented as i32;
                Error::Backend { call, status, name: "unimplemented" }
            }
        }
    }
}

impl From<Unsupported> for Refused {
    fn from(reason: Unsupported) -> Refused {
        Refused::Unsupported(reason)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

fn to_c_dims(values: &[usize]) -> [onednn_sys::dnnl_dim_t; MAX_RANK] {
    let mut out = [0; MAX_RANK];
    for (o, &v) in out.iter_mut().zip(values) {
        *o = v as onednn_sys::dnnl_dim_t;
    }
    out
}
