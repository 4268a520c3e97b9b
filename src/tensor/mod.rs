//! The tensors: strided, blocked, or either.

pub mod any;
pub mod blocked;
pub(crate) mod cast;
pub mod desc;
mod desc_text;
mod display;
mod factories;
#[allow(unsafe_code)]
pub mod foreign;
pub mod formats;
pub mod integers;
pub(crate) mod quantization;
mod reorder;
pub mod reshape;
pub mod result_format;
pub mod strided;
mod subnormal;
pub mod views;
