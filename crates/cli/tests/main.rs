//! Runs the real binary on small files.

mod odd;
mod ops;
mod pictures;
mod run;
mod support;
mod usage;
