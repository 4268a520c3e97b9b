//! Products of matrices of integers, whose sums have 32 bits: each is a convolution of single pixels, by its kernel.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use super::epilogue::Finish;
use super::implementation::{ConvKernel, ConvOperands, ConvTypes, Elements, NoKernel, Problem};
use super::weights::{PlainWeights, moved};
use super::{ConvGeometry, ConvNumbers, implementations};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::layout::memory_format::MemoryFormat;
use crate::post_ops::PostOps;
use crate::tensor::strided::StridedTensor;
use crate::threads::current_threads;

/// Products of these sizes.
pub(crate) struct Products {
    g: ConvGeometry,
    kernel: Arc<dyn ConvKernel>,
}

/// The right operands of products as the kernel reads them, one after the other.
pub(crate) struct Packed {
    all: StridedTensor,
    bytes: usize,
}

impl Products {
    /// Of rows of `k` integers of this dtype with this zero point, by `k` rows of `n`. None of the sizes is 0.
    pub fn new(op: &'static str, [rows, k, n]: [usize; 3], src: DType, zero_point: i32) -> Result<Products> {
        let each = |value: usize| Dims::filled(value, 2);
        let (stride, dilation, padding) = (each(1), each(1), Dims::filled(0, 4));
        let numbers = ConvNumbers { stride, padding, dilation, groups: 1, transposed: None, zero_point };
        let g = ConvGeometry::new(op, 2, &[1, k, 1, rows], &[n, k, 1, 1], None, &numbers)?;
        let layout = SourceLayout::Strided(MemoryFormat::ChannelsLast);
        let problem = Problem {
            g: &g,
            types: ConvTypes::of(src, &PostOps::new()),
            src: layout,
            dst: layout,
            weights: None,
            bias: false,
            post_ops: &PostOps::new(),
            allow_reference: false,
            threads: current_threads(),
        };
        for implementation in implementations::of_types(&problem) {
            match implementation.kernel(&problem) {
                Ok(kernel) => return Ok(Products { g, kernel }),
                Err(NoKernel::Failed(e)) => return Err(e),
                Err(NoKernel::Refused(_)) => {}
            }
        }
        let rule = "no kernel of this build takes these sizes";
        fail!(InvalidArgument, op, "a", g.src_dims().to_string(), rule, "use smaller sizes")
    }

    /// Packs matrices of s8, `[N, K, 1, 1]` each, which one of storage `source` has. In the ledger it is one packing.
    pub fn pack(
        &self,
        matrices: &[StridedTensor],
        source: u64,
        location: &'static Location<'static>,
    ) -> Result<Packed> {
        let (bytes, to) = (self.kernel.weight_bytes(), self.kernel.weights_name()?);
        let dims = [matrices.len(), self.g.c, self.g.o];
        let all =
            moved(self.g.op, &dims, (&"strided", &to), bytes * matrices.len(), source, location, || {
                let mut all = Buffer::for_result(bytes * matrices.len())?;
                for (matrix, to) in matrices.iter().zip(all.as_bytes_mut().chunks_exact_mut(bytes)) {
                    let ordered = self.kernel.order(&PlainWeights::new(&self.g, matrix))?;
                    to.copy_from_slice(ordered.as_bytes());
                }
                super::weights::in_order(self.g.op, Arc::new(all), DType::S8)
            })?;
        Ok(Packed { all, bytes })
    }

    /// Writes the product of rows, one after the other, with the matrix of this number.
    pub fn run(
        &self,
        rows: &[u8],
        packed: &Packed,
        matrix: usize,
        dst: &mut [u8],
        location: &'static Location<'static>,
    ) -> Result<()> {
        let Range { start, end } = matrix * packed.bytes..(matrix + 1) * packed.bytes;
        let operands = ConvOperands {
            src: Elements { bytes: rows, strides: &[] },
            weights: &packed.all.bytes()[start..end],
            finish: Finish::bias(None),
            residual: None,
            location,
        };
        self.kernel.run(&operands, dst, None)
    }
}
