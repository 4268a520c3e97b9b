//! blocktensor as a plug-in execution provider of ONNX Runtime: a shared library that a program registers at run time.
//!
//! `ffi` declares the structs that ONNX Runtime reads, `ort` and `graph` call ONNX Runtime, `entry` is what ONNX Runtime calls, and
//! `tensors` wraps its memory. The rest is safe: `options`, `claim` (which nodes run here), `region` (a fused node: its graph,
//! and a plan for each shape).

mod claim;
mod entry;
mod failure;
mod ffi;
mod graph;
mod options;
mod ort;
mod region;
mod tensors;
