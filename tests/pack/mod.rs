//! Mirrors src/pack.

mod conv;
mod linear;
