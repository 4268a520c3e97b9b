//! Mirrors src/ops.

mod conv;
mod norm;
mod reduce;
mod softmax;
