//! Graphs, plans and runs.

mod algorithms;
mod errors;
mod faults;
mod passes;
mod plans;
mod profiles;
mod saved;
mod steps;
mod support;
mod third;
