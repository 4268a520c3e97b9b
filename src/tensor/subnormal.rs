//! Subnormal numbers: f32 numbers below 2^-126, which have fewer significant bits. Arithmetic on them can be many times
//! slower.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::any::TensorRef;
use super::strided::StridedTensor;
use crate::elementwise::map1;
use crate::error::Result;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::any::check_f32;
use crate::threads::parallel_for;

/// Elements per task.
const CHUNK: usize = 1 << 18;

fn is_subnormal(x: f32) -> bool {
    // With the sign removed, the bits of a subnormal are between those of 0 and of the smallest normal number.
    (x.to_bits() & 0x7fff_ffff).wrapping_sub(1) < 0x007f_ffff
}

impl StridedTensor {
    /// The number of elements that are subnormal: below 1.18e-38 in magnitude, and not 0.
    ///
    /// # Errors
    /// `UnsupportedDType` unless f32; `OutOfMemory`.
    pub fn count_subnormals(&self) -> Result<usize> {
        check_f32("count_subnormals", "self", TensorRef::Strided(self), "f32 elements are counted")?;
        let copy;
        let values = if self.is_contiguous(MemoryFormat::Contiguous) {
            self.as_slice::<f32>()?
        } else {
            copy = self.to_vec::<f32>()?;
            &copy
        };
        let total = AtomicUsize::new(0);
        parallel_for(values.len().div_ceil(CHUNK), |i| {
            let chunk = &values[i * CHUNK..values.len().min((i + 1) * CHUNK)];
            // Counted in u32, so that the loop vectorises.
            let count: u32 = chunk.iter().map(|&x| u32::from(is_subnormal(x))).sum();
            total.fetch_add(count as usize, Relaxed);
        });
        Ok(total.into_inner())
    }

    /// A copy in which each subnormal number is a 0 of the same sign. The layout does not change.
    ///
    /// # Errors
    /// `UnsupportedDType` unless f32; `OutOfMemory`.
    pub fn flush_subnormals(&self) -> Result<StridedTensor> {
        let op = "flush_subnormals";
        check_f32(op, "self", TensorRef::Strided(self), "f32 elements are flushed")?;
        map1(op, self, |x: f32| if is_subnormal(x) { 0f32.copysign(x) } else { x })
    }
}

#[cfg(test)]
mod tests {
    use super::is_subnormal;

    #[test]
    fn subnormal_is_what_the_standard_library_says() {
        let edges =
            [0u32, 1, 2, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000];
        for bits in edges.into_iter().flat_map(|b| [b, b | 0x8000_0000]) {
            let x = f32::from_bits(bits);
            assert_eq!(is_subnormal(x), x.is_subnormal(), "{x:e}");
        }
    }
}
