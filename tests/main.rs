//! One binary, so that the engine links once. The modules mirror `src`.

mod elementwise;
mod goldens_strides;
mod layout;
mod random;
mod tensor;
