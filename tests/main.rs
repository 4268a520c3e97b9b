//! One test binary, so that oneDNN is linked once. The modules mirror `src`.

mod arena;
mod catalogue;
mod dispatch;
mod dlpack;
mod elementwise;
mod faults;
mod file;
mod goldens_ops;
mod goldens_strides;
mod gradient;
mod layout;
mod ledger;
mod metamorphic;
mod modules;
mod nets;
#[cfg(feature = "bundled")]
mod notices;
#[cfg(feature = "onednn")]
mod onednn;
mod ops;
mod pack;
mod problems;
mod random;
mod readme;
mod remedies;
mod support;
mod tensor;
mod threads;

/// Large allocations fail where a test asks for it.
#[global_allocator]
static ALLOCATOR: blocktensor::testing::TestAllocator = blocktensor::testing::TestAllocator;
