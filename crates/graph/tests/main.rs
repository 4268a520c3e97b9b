//! Graphs, plans and runs.

mod passes;
mod plans;
mod steps;
mod support;
