//! Tensors whose channels are blocked in memory, with their own dispatch key.
//!
//! CNN kernels are fastest on channels in blocks (activations `nChw16c`, weights `OIhw16i16o`). Strides cannot express such
//! layouts. A [`BlockedTensor`] is therefore opaque: it has sizes, dtype and layout, but no strides, pointer or views. Only
//! explicit calls change the layout of data. An operator without a kernel for a key returns an error that names the remedy.
//! [`StridedTensor`] is a second, strided backend, whose memory formats are PyTorch's.
//!
//! ```
//! use blocktensor::ops::{self, Conv2d};
//! use blocktensor::{DType, Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};
//!
//! # fn main() -> blocktensor::Result<()> {
//! let x = StridedTensor::full(&[1, 32, 14, 14], 0.5f32, MemoryFormat::Contiguous)?;
//! let w = StridedTensor::full(&[64, 32, 3, 3], 0.01f32, MemoryFormat::Contiguous)?;
//!
//! let (activations, _) = Layout::native();             // nChw16c with AVX-512, nChw8c otherwise
//! let xb = x.to_blocked(&activations)?;                // an explicit reorder: one copy
//! let conv = PackedConv2d::new(&w, None, Conv2d::new().padding(1).relu())?;
//! let conv = conv.pack_for(&Source::of(&xb)?)?;        // weights reordered once
//! let yb = blocktensor::run(|| conv.run(&xb))?;        // nothing is reordered here
//! let y = yb.to_strided(MemoryFormat::ChannelsLast)?;  // an explicit reorder back
//! assert_eq!(y.dims(), [1, 64, 14, 14]);
//! # Ok(())
//! # }
//! ```
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | *logical dims* | sizes as the user sees them: N, C, D, H, W, whatever the order in memory |
//! | *physical (padded) dims* | sizes in memory: C rounded up to whole blocks |
//! | *memory format* | how the strides of a strided tensor order its dimensions ([`MemoryFormat`]) |
//! | *format tag* | a memory format that the user states for a strided tensor whose strides leave it open ([`StridedTensor::with_format_tag`]) |
//! | *layout* | the order of dimensions and the blocks of a blocked tensor ([`Layout`]) |
//! | *inner blocks* | the innermost part of a layout: 16 channels in `nChw16c` |
//! | *channel tail* | the lanes of the last block beyond the last channel; always zero |
//! | *lane* | the position of one channel in a block |
//! | *descriptor* | a tensor without its elements: sizes, dtype, key, and strides or layout ([`TensorDesc`]) |
//! | *reorder* | a copy into another layout; never called "convert" |
//! | *packing* | a reorder of weights into the layout that one kernel needs, for a stated [`Source`] |
//! | *dispatch key* | which backend's kernels a tensor uses ([`dispatch::DispatchKey`]) |
//! | *op* | an operation such as `conv2d`: a schema, and kernels for each key |
//! | *operator* | an op as a value, called by name or with boxed arguments ([`Operator`]) |
//! | *schema* | the names, kinds and defaults of an op's arguments, the dtypes and ranks of its operands, and its results |
//! | *data operand* | an operand whose key chooses the kernel; all data operands of a call must have the same key |
//! | *parameter* | a 1-D strided operand, whatever the key: bias, statistics, per-channel vectors; also a plain number or list |
//! | *kernel* | an op's code for one key and for the dtypes of its operands |
//! | *primitive* | a kernel of oneDNN, generated for one configuration |
//! | *primitive descriptor* | oneDNN's choice of an implementation for a configuration |
//! | *memory descriptor* | oneDNN's description of dims, dtype and layout |
//! | *post-op* | what a kernel does to its own result before it writes it ([`ops::PostOp`]) |
//! | *attribute* | what oneDNN attaches to a primitive: post-ops, scratchpad mode, arithmetic mode |
//! | *scratchpad* | memory that a primitive needs while it runs; each run has its own |
//! | *arena* | one block of storage from which many tensors are allocated at stated offsets ([`Arena`]) |
//! | *team* | rayon workers that one caller leads during a [`run`] |
//! | *section* | a set of tasks that a team shares |
//! | *ledger* | a record of reorders and kernel runs, made on request ([`ledger::record`]) |
//! | `src`, `weights`, `bias`, `dst` | oneDNN's names of operands |
//!
//! Sizes in bytes end in `_bytes`; strides and offsets are in elements.
//!
//! # The path of a call
//!
//! 1. `ops::conv2d(&xb, &wb, ...)` puts its arguments in the order of the op's schema.
//! 2. The schema check compares their kinds, and finds the one key of the data operands.
//! 3. The op asks those of its kernels for that key that take the dtypes of the operands, in order; before the first it checks the
//!    ranks that the schema states. A kernel checks shapes and layouts, and may decline: oneDNN's kernel declines if oneDNN has no
//!    fast implementation, and the op's next kernel is asked. If no kernel takes the
//!    operands, the call is an [`Error::UnsupportedOp`], which names the remedy.
//! 4. The kernel asks [`Results`](dispatch::Results) for its results. These are new tensors with recycled storage, the tensors
//!    that the caller passed to [`Operator::run_into`], or none: for [`Operator::infer`] the kernel ends here, with
//!    descriptors of its results.
//! 5. The kernel computes on the team, and writes the results. A kernel of oneDNN looks its primitive up in the cache; on a
//!    miss, oneDNN creates it.
//!
//! Blocked kernels reorder nothing. A strided kernel may copy a view that it needs dense, or pack plain weights; the ledger
//! records such a copy, and [`ledger::deny_reorders`] refuses it.
#![deny(unsafe_code)]

mod arena;
#[allow(unsafe_code)]
mod buffer;
mod build_info;
pub mod dispatch;
#[allow(unsafe_code)]
pub mod dlpack;
mod dtype;
#[allow(unsafe_code)]
pub mod elementwise;
mod error;
#[allow(unsafe_code)]
mod fault;
mod file;
pub mod fusion;
mod int;
mod kernels;
mod key;
mod layout;
pub mod ledger;
mod machine;
#[doc(hidden)]
pub mod math;
#[allow(unsafe_code)]
mod matmul;
pub mod memory;
#[cfg(feature = "onednn")]
#[allow(unsafe_code)]
pub mod onednn;
mod op;
mod operator;
pub mod ops;
mod pack;
mod post_ops;
mod registry;
mod reorders;
mod scratchpad;
#[allow(unsafe_code)]
mod simd;
mod stand_ins;
mod tensor;
#[cfg(feature = "testing")]
pub mod testing;
#[allow(unsafe_code)]
mod threads;
mod weights_kind;

pub use arena::Arena;
pub use buffer::{
    ALIGN, DEFAULT_RECYCLE_LIMIT, raise_recycle_limit, recycle_limit, recycled_bytes, set_recycle_limit,
    trim_recycled,
};
pub use build_info::{BuildInfo, EngineInfo, build_info};
pub use dispatch::register;
pub use dtype::{DType, Element};
#[doc(hidden)]
pub use error::counted;
pub use error::{
    Call, Complaint, Door, Error, ReorderDenied, Result, Rust, Text, Unsupported, UnsupportedOp,
};
#[doc(hidden)]
pub use file::shown_path;
pub use file::whole as files;
pub use file::{
    Keys, LayerTensors, Module, NormTensors, Packable, PackedFile, PackedKind, PackedWriter, StateDict,
};
pub use int::{ALL_AXES, Int};
pub use layout::blocked::{Layout, MAX_INNER_BLOCKS, Role};
pub use layout::dims::{Dims, MAX_RANK};
pub use layout::memory_format::MemoryFormat;
pub use machine::{Caches, Costs, Machine, machine};
pub use operator::{BoundOp, Kept, Operator, ParamValue};
pub use pack::{
    AnyConvPacker, AnyPackedConv, Candidate, ConvPacker, PackedConv, PackedConv1d, PackedConv2d,
    PackedConv3d, PackedConvTranspose, PackedConvTranspose1d, PackedConvTranspose2d, PackedConvTranspose3d,
    PackedLinear, PackedOp, PackedStem, Source, WeightsPacker,
};
pub use scratchpad::Scratchpad;
#[doc(hidden)]
pub use stand_ins::{are_stand_ins, with_stand_ins};
pub use tensor::any::{OpaqueTensor, Operand, Tensor, TensorMut, TensorRef};
pub use tensor::blocked::BlockedTensor;
pub use tensor::desc::TensorDesc;
pub use tensor::foreign::{Foreign, ForeignInput};
pub use tensor::quantization::Quantization;
pub use tensor::result_format::FormatRule;
pub use tensor::strided::StridedTensor;
#[doc(hidden)]
pub use threads::check_process;
pub use threads::{
    MIN_STACK, current_threads, flush_engine_subnormals, max_threads, parallel_for, run, run_with_threads,
};
pub use weights_kind::WeightsKind;

/// Compiles the programs in README.md and in docs/, and runs those that need no files: `cargo test --doc guides`.
#[cfg(all(doctest, feature = "onednn"))]
mod guides {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/errors.md")]
    struct Errors;
    #[doc = include_str!("../docs/hosts.md")]
    struct Hosts;
    #[doc = include_str!("../docs/layouts.md")]
    struct Layouts;
    #[doc = include_str!("../docs/networks.md")]
    struct Networks;
}
