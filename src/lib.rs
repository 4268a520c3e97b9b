//! Tensors whose channels are blocked in memory, behind a dispatch key of their own.
//!
//! CNN kernels are fastest when channels lie in blocks (activations `nChw16c`, weights `OIhw16i16o`). Strides cannot
//! express that. Here a [`BlockedTensor`] is opaque: it tells sizes, dtype and layout, and has no strides, pointer or
//! views. Data changes layout only by calls that say so, and an operator without a kernel for a key is an error that
//! names the way out. Beside it stands a strided backend, [`StridedTensor`], whose memory formats are PyTorch's.
//!
//! ```
//! use blocktensor::ops::{self, Conv2d};
//! use blocktensor::{DType, Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};
//!
//! # fn main() -> blocktensor::Result<()> {
//! let x = StridedTensor::full(&[1, 32, 14, 14], 0.5f32, MemoryFormat::Contiguous)?;
//! let w = StridedTensor::full(&[64, 32, 3, 3], 0.01f32, MemoryFormat::Contiguous)?;
//!
//! let (activations, _) = Layout::native();             // nChw16c with AVX-512, nChw8c else
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
//! | *logical dims* | sizes as the user sees them: N, C, D, H, W, whatever the memory |
//! | *physical (padded) dims* | sizes in memory: C rounded up to whole blocks |
//! | *memory format* | the order in memory of a strided tensor ([`MemoryFormat`]): the strides themselves |
//! | *layout* | the order and the blocks of a blocked tensor ([`Layout`]) |
//! | *inner blocks* | the innermost part of a layout: 16 channels in `nChw16c` |
//! | *channel tail* | the lanes of the last block that no channel fills; zero, always |
//! | *lane* | one channel's place in a block |
//! | *reorder* | a copy into another layout; never called "convert" |
//! | *packing* | a reorder of weights into the layout that one kernel wants, for a stated [`Source`] |
//! | *dispatch key* | which backend's kernels a tensor is for ([`dispatch::DispatchKey`]) |
//! | *data operand* | an operand whose key chooses the kernel; all of a call must agree |
//! | *parameter* | a plain 1-D strided operand, whatever the key: bias, statistics, per-channel vectors |
//! | *kernel* | an op's code for one key |
//! | *primitive* | a kernel of oneDNN, generated for one configuration |
//! | *primitive descriptor* | oneDNN's choice of an implementation for a configuration |
//! | *memory descriptor* | oneDNN's description of dims, dtype and layout |
//! | *post-op* | what a kernel does to its own result before it writes it ([`ops::PostOp`]) |
//! | *attribute* | what oneDNN attaches to a primitive: post-ops, scratchpad mode, arithmetic mode |
//! | *scratchpad* | memory that a primitive needs while it runs; ours, one a run |
//! | *team* | rayon workers that one caller leads for the length of a [`run`] |
//! | *section* | tasks that a team shares |
//! | *ledger* | what moved and ran, written down when asked ([`ledger::record`]) |
//! | `src`, `weights`, `bias`, `dst` | oneDNN's names of operands |
//!
//! Sizes in bytes end in `_bytes`; strides and offsets are in elements.
//!
//! # The way of one call
//!
//! `ops::conv2d(&xb, &wb, ...)` packs its arguments into the order of its schema. The schema's check looks at kinds and
//! finds the one key of the data operands; the op's slot for that key gives the kernel, or an
//! [`Error::UnsupportedOp`]. The kernel checks shapes, looks its primitive up in the cache by everything that decides it
//! (a miss asks oneDNN, and refuses `ref`), takes a result and a scratchpad from the recycling allocator, and runs on the
//! team. No step moves data to another layout.
#![deny(unsafe_code)]

mod arena;
#[allow(unsafe_code)]
mod buffer;
mod build_info;
mod cause;
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
mod kernels;
mod key;
mod layout;
pub mod ledger;
mod lists;
#[doc(hidden)]
pub mod math;
#[allow(unsafe_code)]
mod matmul;
#[cfg(feature = "onednn")]
#[allow(unsafe_code)]
pub mod onednn;
mod op;
mod operator;
pub mod ops;
mod pack;
mod post_ops;
mod registry;
mod scratchpad;
#[allow(unsafe_code)]
mod simd;
mod tensor;
#[cfg(feature = "testing")]
pub mod testing;
#[allow(unsafe_code)]
mod threads;

pub use arena::Arena;
pub use buffer::{ALIGN, DEFAULT_RECYCLE_LIMIT, recycled_bytes, set_recycle_limit};
pub use build_info::{BuildInfo, EngineInfo, build_info};
pub use dispatch::register;
pub use dtype::{DType, Element};
pub use error::{Complaint, Error, ReorderDenied, Result, Unsupported, UnsupportedOp};
pub use file::{Keys, LayerTensors, Module, NormTensors, Packable, PackedFile, PackedWriter, StateDict};
pub use layout::blocked::{Layout, MAX_INNER_BLOCKS, Role};
pub use layout::dims::{Dims, MAX_RANK};
pub use layout::memory_format::MemoryFormat;
pub use layout::native::WeightsKind;
pub use operator::{BoundOp, Operator, ParamValue};
pub use pack::{
    ConvPacker, PackedConv, PackedConv1d, PackedConv2d, PackedConv3d, PackedConvTranspose,
    PackedConvTranspose1d, PackedConvTranspose2d, PackedConvTranspose3d, PackedLinear, PackedStem, Source,
};
pub use scratchpad::Scratchpad;
pub use tensor::any::{OpaqueTensor, Operand, Tensor, TensorMut, TensorRef};
pub use tensor::blocked::BlockedTensor;
pub use tensor::desc::{Quantization, TensorDesc};
pub use tensor::foreign::Foreign;
pub use tensor::result_format::FormatRule;
pub use tensor::strided::StridedTensor;
#[doc(hidden)]
pub use threads::check_process;
pub use threads::{MIN_STACK, current_threads, flush_engine_subnormals, parallel_for, run};

/// The programs in README.md and in docs/ compile, and those that need no files run: `cargo test --doc guides`.
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
