//! Ops that move elements and change none: joining and cutting, flips, padding, shuffles, views.

pub(crate) mod cat;
pub(crate) mod flip;
pub(crate) mod pad;
pub(crate) mod shuffle;
pub(crate) mod views;
