//! Networks that train in blocked layout (`nChw16c`) or in NHWC, from the same start on the same made data.
//!
//! [`data`] makes images, [`net`] has the networks, [`layers`] the calls that they are made of, [`model`] what a step changes and a
//! file keeps, and [`step`] trains and evaluates. `main.rs` is the program around them.

pub mod data;
pub mod layers;
pub mod model;
pub mod net;
pub mod random;
pub mod step;
pub mod svg;
