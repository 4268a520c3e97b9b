//! blocktensor as a plug-in execution provider of ONNX Runtime: a shared library that a program registers at run time.
//!
//! `ffi` declares the structs that ONNX Runtime reads, `ort` and `graph` call ONNX Runtime, `entry`, `compile` and `compute` are what
//! ONNX Runtime calls, `session` and `kept` hold what it has pointers to, and `tensors` wraps its memory. The rest is safe: `options`,
//! `claim` (which nodes run here), `region` (a fused node: its graph, and a plan for each shape), `context` (compiled models), `report`
//! (a file that shows the plans).

mod assumed;
mod claim;
mod compile;
mod compute;
mod context;
mod entry;
mod failure;
mod ffi;
mod graph;
mod kept;
#[cfg(test)]
mod oldest;
mod options;
mod ort;
mod region;
mod report;
mod session;
mod tensors;
