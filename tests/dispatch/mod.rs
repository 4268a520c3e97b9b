//! Mirrors src/dispatch.

mod host;
mod registry;
mod surroundings;
mod third_backend;
mod unsupported;
