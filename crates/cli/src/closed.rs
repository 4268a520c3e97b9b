//! Whether the caller left the standard output closed. Rust's start-up opens /dev/null in its place, which nothing tells from the caller's
//! own later, so this looks before it.
#![allow(unsafe_code)]

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and before Rust's start-up.
extern "C" fn look() {
    let is_closed = std::io::stdout().as_fd().try_clone_to_owned().is_err();
    IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: the C library calls each pointer of this section once, as a function of this type. `look` only asks for a descriptor, which
// needs no part of Rust's start-up, and does not panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

pub fn is_output_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}
