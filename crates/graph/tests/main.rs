//! Graphs, plans and runs.

mod algorithms;
mod compared;
mod errors;
mod faults;
mod groups;
mod integers;
mod layers;
mod like;
mod moves;
mod names;
mod passes;
mod plans;
mod profiles;
mod run_into;
mod saved;
mod steps;
mod support;
mod third;
mod types;

/// Large allocations fail where a test asks for it.
#[global_allocator]
static ALLOCATOR: blocktensor::testing::TestAllocator = blocktensor::testing::TestAllocator;
