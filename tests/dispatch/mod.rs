//! Mirrors src/dispatch.

mod registry;
mod third_backend;
mod unsupported;
