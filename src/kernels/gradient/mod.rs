//! The kernels of gradients: of windows (pooling), and of the weights of convolutions.

pub(crate) mod conv_weights;
pub(crate) mod windows;

use std::sync::Mutex;

use crate::threads::parallel_for;

/// Calls `work(i, chunk)` for the chunks of `len` elements that cover `dst`; the threads of the team share them.
fn for_each_chunk(dst: &mut [f32], len: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    if dst.is_empty() {
        return;
    }
    // Each chunk is locked once, by the task that has it.
    let chunks: Vec<Mutex<&mut [f32]>> = dst.chunks_mut(len).map(Mutex::new).collect();
    parallel_for(chunks.len(), |i| work(i, &mut chunks[i].lock().unwrap_or_else(|e| e.into_inner())));
}
