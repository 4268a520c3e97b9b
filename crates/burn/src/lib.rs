//! blocktensor for [burn]: packed convolutions and planned regions as operations of burn's CPU backend, `Flex`.
//!
//! burn's dispatch is a closed enum of backends, so blocktensor cannot be one of its devices. What burn has instead is the
//! `backend_extension`: [`BlockedOps`] is a trait of further operations, which `Flex` has here, and which burn's tensors reach through
//! their own dispatch.
//!
//! - [`Region`] runs a planned part of a network, [`PackedConv`] one convolution with packed weights. Both read `Flex`'s memory without a
//!   copy, and write into new memory of `Flex`.
//! - [`Builder`] makes a region from burn's own modules, with their weights.
//! - [`to_blocked`] and [`to_burn`] reorder, once each. [`to_strided`] wraps a tensor without a copy: `Flex` copies what it shares before
//!   it writes.
//! - Nothing is copied to make it fit: a tensor of other strides is an error that says what to call.
//!
//! ```
//! use blocktensor_burn::{Builder, Layouts, PlanOptions};
//! use burn::nn::conv::Conv2dConfig;
//! use burn::tensor::{Device, Distribution, Tensor};
//!
//! let device = Device::flex();
//! let conv = Conv2dConfig::new([3, 20], [3, 3]).init(&device);
//! let (mut net, x) = Builder::new(&[1, 3, 16, 16])?;
//! let y = net.conv2d("conv", x, &conv)?;
//! let y = net.relu(y)?;
//! let region = net.region(y, &PlanOptions::new(Layouts::Blocked))?;
//!
//! println!("{}", region.plan()); // every layout and every reorder
//! let image = Tensor::<4>::random([1, 3, 16, 16], Distribution::Default, &device);
//! let features: Tensor<4> = region.forward(image)?;
//! assert_eq!(features.dims(), [1, 20, 14, 14]);
//! # Ok::<(), blocktensor_burn::Error>(())
//! ```

mod builder;
mod conv;
mod error;
mod extension;
mod memory;
mod region;
mod reorder;

pub use blocktensor_graph::{Layouts, PlanOptions, ValueId};
pub use builder::Builder;
pub use conv::PackedConv;
pub use error::{Burn, Error, Result};
pub use extension::{BlockedOps, Outcome};
pub use region::Region;
pub use reorder::{contiguous, to_blocked, to_blocked_in, to_burn, to_strided};
