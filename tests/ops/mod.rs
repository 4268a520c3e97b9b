//! Mirrors src/ops.

mod as_pytorch;
mod bf16;
mod bf16_kernels;
mod binary;
mod cat;
mod conv;
mod conv_activations;
mod conv_channel_affine;
mod conv_tails;
mod conv_transpose;
mod conv_transpose_post_ops;
mod dropout;
mod grid_sample;
mod norm;
mod pad_flip_roll_shuffle;
mod params;
mod pool;
mod post_ops;
mod reduce;
mod resample;
mod softmax;
mod sort_index_view;
mod triangle;
mod unary;
mod winograd;
