//! Mirrors src/ops.

mod conv;
mod norm;
mod pool;
mod reduce;
mod resample;
mod softmax;
