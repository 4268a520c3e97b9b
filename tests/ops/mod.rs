//! Mirrors src/ops.

mod binary;
mod cat;
mod conv;
mod dropout;
mod moves;
mod conv_transpose;
mod norm;
mod pool;
mod reduce;
mod resample;
mod softmax;
mod strided_only;
mod unary;
