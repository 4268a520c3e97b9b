//! Mirrors src/pack.

mod batches;
mod conv;
mod linear;
mod operator;
