//! One binary, so that the engine links once. The modules mirror `src`.

mod goldens_strides;
mod layout;
mod tensor;
