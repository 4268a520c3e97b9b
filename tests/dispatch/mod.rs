//! Mirrors src/dispatch.

pub mod engines;
mod facts;
mod host;
mod implementations;
mod operator;
mod outside_of_views;
mod preferred;
mod registry;
pub mod rules;
mod signature;
mod third_backend;
mod unsupported;
