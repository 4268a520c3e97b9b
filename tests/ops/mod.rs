//! Mirrors src/ops.

mod conv;
mod conv_transpose;
mod norm;
mod reduce;
mod softmax;
