//! Mirrors src/dispatch.

pub mod engines;
mod host;
mod operator;
mod registry;
mod surroundings;
mod third_backend;
mod unsupported;
