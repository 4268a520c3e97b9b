//! Pooling: the largest or the mean element of windows, of a given size or adapted to the size of the result.
//!
//! The same kernels serve NCHW, NHWC (channels-last) and blocked tensors. `src/kernels/pool/mod.rs` says which function runs for
//! which layout.

pub(crate) mod adaptive;
pub(crate) mod avg_pool;
pub(crate) mod max_pool;

/// Parameters that max and average pooling share.
macro_rules! window_parameters {
    ($name:ident) => {
        impl<const N: usize> $name<N> {
            /// A window of the same size along every axis.
            pub fn new(kernel: usize) -> Self {
                Self::window([kernel; N])
            }

            /// The same stride along every axis. Left out, it is the size of the window.
            pub fn stride(self, stride: usize) -> Self {
                self.strides([stride; N])
            }

            /// A stride for each axis.
            pub fn strides(mut self, stride: [usize; N]) -> Self {
                self.stride = Some(stride);
                self
            }

            /// The same padding on every side, in elements: at most half of the window.
            pub fn padding(self, padding: usize) -> Self {
                self.paddings([padding; N])
            }

            /// Padding on both sides of each axis, in elements.
            pub fn paddings(mut self, padding: [usize; N]) -> Self {
                self.padding = padding;
                self
            }

            /// Rounds the size of the result up instead of down. The last window begins inside the source or the padding before
            /// it.
            pub fn ceil_mode(mut self) -> Self {
                self.ceil_mode = true;
                self
            }
        }
    };
}
use window_parameters;
