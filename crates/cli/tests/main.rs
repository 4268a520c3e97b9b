//! Runs the real binary on small files.

mod bench;
mod errors;
mod memory;
mod odd;
mod ops;
mod pack;
mod pictures;
mod run;
mod support;
mod usage;
mod written;
