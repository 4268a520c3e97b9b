//! One binary, so that the engine links once. The modules mirror `src`.

mod goldens_calls;
mod goldens_ops;
mod layout;
mod ops;
mod support;
mod tensor;
