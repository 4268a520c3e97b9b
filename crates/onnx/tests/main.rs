//! Tests of the importer. `onnx_nodes` runs ONNX's own tests of single nodes; the others build models with the parser's writer.

mod bad_files;
mod definitions;
mod exported;
mod external;
mod integer_batches;
mod integer_products;
mod integers;
mod lines;
mod memory;
mod microsoft;
mod models;
mod onnx_nodes;
mod ops;
mod qoperator;
mod qoperator_network;
mod quantize;
mod refused;
mod shapes;
mod show;
mod support;

/// Large allocations fail where a test asks for it.
#[global_allocator]
static ALLOCATOR: blocktensor::testing::TestAllocator = blocktensor::testing::TestAllocator;
