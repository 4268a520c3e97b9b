//! What weights are packed for.

pub(crate) use crate::layout::either::SourceLayout;

use crate::dtype::DType;
use crate::error::{Call, Result, Text, counted, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::threads;

/// The source that packed weights will meet: sizes, dtype, layout and number of threads. oneDNN's choice of weight
/// layout depends on all of them but the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub(crate) dims: Dims,
    pub(crate) dtype: DType,
    pub(crate) layout: SourceLayout,
    pub(crate) threads: usize,
}

impl Source {
    /// A source like this tensor, on the threads that a run here would have.
    ///
    /// # Errors
    /// `LayoutMismatch` for a strided tensor that is not dense in a memory format, or a tensor of another backend.
    pub fn of<T: Operand>(x: &T) -> Result<Source> {
        let x = x.tensor_ref();
        let layout = match x {
            TensorRef::Blocked(b) => SourceLayout::Blocked(*b.layout()),
            TensorRef::Strided(s) => {
                // Strides of sizes of 1 may hide the format from the first.
                let formats = [
                    Some(s.suggest_memory_format(false)),
                    Some(MemoryFormat::Contiguous),
                    MemoryFormat::channels_last_of(s.rank()),
                ];
                let Some(format) = formats.into_iter().flatten().find(|&f| s.is_contiguous(f)) else {
                    fail!(
                        LayoutMismatch,
                        "Source::of",
                        "x",
                        x.describe(),
                        "weights are packed for a dense source",
                        Text::from("call ")
                            + Call::Contiguous
                            + ", or with the memory format that you mean, or name the source with "
                            + Call::StridedSource
                    );
                };
                SourceLayout::Strided(format)
            }
            TensorRef::Opaque(_) => fail!(
                LayoutMismatch,
                "Source::of",
                "x",
                x.describe(),
                "weights are packed for our own backends",
                "reorder it to strided or blocked"
            ),
        };
        Ok(Source::new(Dims::from_slice(x.dims()), x.dtype(), layout))
    }

    /// A source like the tensor that is described, on the threads that a run here would have.
    ///
    /// ```
    /// use blocktensor::{DType, MemoryFormat, Source, StridedTensor, TensorDesc};
    /// let x = StridedTensor::full(&[1, 3, 8, 8], 1f32, MemoryFormat::ChannelsLast)?;
    /// let described = TensorDesc::strided(&[1, 3, 8, 8], DType::F32, MemoryFormat::ChannelsLast)?;
    /// assert_eq!(Source::of_desc(&described)?, Source::of(&x)?);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_desc(desc: &TensorDesc) -> Result<Source> {
        Source::of(&desc.without_elements())
    }

    /// A dense f32 strided source.
    ///
    /// # Errors
    /// `RankMismatch` when the format is for another rank, `InvalidArgument` for `Preserve`.
    pub fn strided(dims: &[usize], format: MemoryFormat) -> Result<Source> {
        format.strides("Source::strided", dims)?;
        let d = Dims::new("Source::strided", "dims", dims)?;
        Ok(Source::new(d, DType::F32, SourceLayout::Strided(format)))
    }

    /// An f32 blocked source.
    ///
    /// # Errors
    /// `LayoutMismatch` for a layout without inner blocks, `RankMismatch` when it is for another rank, `Overflow`.
    pub fn blocked(dims: &[usize], layout: &Layout) -> Result<Source> {
        layout.check_blocks(
            "Source::blocked",
            Text::from("name a plain one with ") + Call::StridedSource + " and its memory format",
        )?;
        layout.size_bytes(dims, DType::F32)?;
        let d = Dims::new("Source::blocked", "dims", dims)?;
        Ok(Source::new(d, DType::F32, SourceLayout::Blocked(*layout)))
    }

    fn new(dims: Dims, dtype: DType, layout: SourceLayout) -> Source {
        Source { dims, dtype, layout, threads: threads::current_threads() }
    }

    /// The same source, on another number of threads than a run here would have: 1 to 1024, others become the nearest.
    pub fn threads(mut self, threads: usize) -> Source {
        self.threads = threads.clamp(1, 1024);
        self
    }

    /// The same source, of elements of another dtype.
    ///
    /// ```
    /// use blocktensor::{DType, Layout, Source};
    /// let source = Source::blocked(&[1, 64, 56, 56], &Layout::NCHW16C)?.dtype(DType::BF16);
    /// assert!(source.to_string().contains("bf16"));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: DType) -> Source {
        self.dtype = dtype;
        self
    }

    /// Sizes, in logical order.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Name of its layout or memory format.
    pub fn layout_name(&self) -> String {
        self.layout.to_string()
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = counted(self.threads, "thread");
        write!(f, "{} {} {} on {threads}", self.dims, self.dtype, self.layout_name())
    }
}
