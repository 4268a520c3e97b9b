//! Mirrors src/ops.

mod binary;
mod cat;
mod conv;
mod conv_channel;
mod conv_edges;
mod conv_finish;
mod conv_transpose;
mod dropout;
mod grid_sample;
mod moves;
mod norm;
mod params;
mod pool;
mod reduce;
mod resample;
mod softmax;
mod strided_only;
mod unary;
