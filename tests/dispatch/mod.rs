//! Mirrors src/dispatch.

pub mod engines;
mod host;
mod operator;
mod outside_of_views;
mod registry;
mod third_backend;
mod unsupported;
