//! One binary, so that the engine links once. The modules mirror `src`.

mod layout;
mod ops;
mod support;
mod tensor;
