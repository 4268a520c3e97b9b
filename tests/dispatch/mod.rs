//! Mirrors src/dispatch.

mod host;
mod registry;
mod third_backend;
mod unsupported;
