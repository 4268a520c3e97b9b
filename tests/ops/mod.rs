//! Mirrors src/ops.

mod conv;
