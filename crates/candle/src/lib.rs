//! blocktensor for [candle](candle_core): tensors go to blocked layouts and back with one reorder each, and a planned region of a
//! network runs as a candle [`Module`](candle_core::Module).
//!
//! candle's `Device` is a closed enum, so blocktensor cannot be one of its devices. Instead, tensors are moved by calls that say so:
//!
//! - [`to_blocked`] reads candle's storage under its lock, with one reorder and no other copy; [`to_candle`] writes a new `Vec` of
//!   candle's.
//! - [`Builder`] has candle-nn's layers, reads the same weights by the same names from a `VarBuilder`, and makes a [`Region`].
//! - A [`Region`] is a `Module` and a `CustomOp1`. It never copies its input to make it fit: a tensor that is not row-major is an error.
//! - [`Error`] has the library's errors with candle's names for what to call; `?` turns it into candle's error, with its text.
//!
//! ```
//! use blocktensor_candle::{Builder, Layouts, PlanOptions};
//! use candle_core::{DType, Device, Module, Tensor};
//! use candle_nn::{BatchNormConfig, Conv2dConfig, VarBuilder, VarMap};
//!
//! let weights = VarMap::new();
//! let vb = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
//! let (mut net, x) = Builder::new((1, 3, 16, 16))?;
//! let y = net.conv2d(x, 3, 20, 3, Conv2dConfig { padding: 1, ..Default::default() }, vb.pp("conv"))?;
//! let y = net.batch_norm(y, 20, BatchNormConfig::default(), vb.pp("norm"))?;
//! let y = net.relu(y)?;
//! let y = net.max_pool2d(y, 2)?;
//! let region = net.region(y, &PlanOptions::new(Layouts::Blocked))?;
//!
//! println!("{}", region.plan()); // every layout and every reorder
//! let image = Tensor::randn(0f32, 1.0, (1, 3, 16, 16), &Device::Cpu)?;
//! assert_eq!(region.forward(&image)?.dims(), [1, 20, 8, 8]);
//! # Ok::<(), candle_core::Error>(())
//! ```

mod builder;
mod error;
mod memory;
mod region;
mod reorder;

pub use blocktensor_graph::{Layouts, PlanOptions, ValueId};
pub use builder::Builder;
pub use error::{Candle, Error, Result};
pub use region::Region;
pub use reorder::{to_blocked, to_blocked_in, to_candle, to_strided};
