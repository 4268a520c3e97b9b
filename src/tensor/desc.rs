//! `TensorDesc`: a tensor's descriptor: everything but its elements.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::any::{OpaqueTensor, Tensor, TensorRef};
use super::blocked::BlockedTensor;
use super::formats::Described;
use super::quantization::{Quantization, Shared};
use super::strided::{StridedTensor, byte_count, element_count};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Call, Result, Text, fail};
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;

/// A tensor's descriptor: its sizes, dtype, key, and strides or layout. [`Operator::infer`](crate::Operator::infer) takes and
/// returns descriptors.
///
/// ```
/// use blocktensor::{DType, Layout, MemoryFormat, TensorDesc};
/// let plain = TensorDesc::strided(&[1, 3, 8, 8], DType::F32, MemoryFormat::ChannelsLast)?;
/// assert_eq!(plain.to_string(), "[1, 3, 8, 8] f32 channels_last");
/// let blocked = TensorDesc::blocked(&[1, 3, 8, 8], DType::F32, &Layout::NCHW16C)?;
/// assert_eq!(blocked.bytes()?, 16 * 8 * 8 * 4);
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorDesc {
    dims: Dims,
    dtype: DType,
    order: Order,
    quantization: Option<Arc<Quantization>>,
}

/// The order of the elements in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Order {
    Strided { strides: Dims, tag: Option<MemoryFormat> },
    Blocked(Layout),
    Opaque { key: DispatchKey, layout: Arc<str> },
}

impl TensorDesc {
    /// The descriptor of a dense strided tensor in a memory format.
    ///
    /// # Errors
    /// `RankMismatch` if the format is for another rank; `InvalidArgument` for `Preserve`; `Overflow`.
    pub fn strided(dims: &[usize], dtype: DType, format: MemoryFormat) -> Result<TensorDesc> {
        let op = "TensorDesc::strided";
        let sizes = Dims::new(op, "dims", dims)?;
        byte_count(op, element_count(op, &sizes)?, dtype)?;
        Ok(TensorDesc::of_strides(sizes, format.strides(op, dims)?, None, dtype))
    }

    /// The descriptor of a strided tensor with strides of its own, in **elements**, such as that of a view.
    ///
    /// # Errors
    /// `RankMismatch` unless there is a stride for each size; `Overflow`.
    pub fn with_strides(dims: &[usize], dtype: DType, strides: &[usize]) -> Result<TensorDesc> {
        let op = "TensorDesc::with_strides";
        let sizes = Dims::new(op, "dims", dims)?;
        if strides.len() != dims.len() {
            fail!(
                RankMismatch,
                op,
                "strides",
                format!("{strides:?} for sizes {dims:?}"),
                "there is a stride for each size",
                format!("pass {}", dims.len())
            );
        }
        let reach = dims
            .iter()
            .zip(strides)
            .try_fold(1usize, |at, (&d, &s)| at.checked_add(d.saturating_sub(1).checked_mul(s)?));
        if reach.and_then(|n| dtype.bytes_of(n)).is_none() {
            fail!(
                Overflow,
                op,
                "strides",
                format!("{strides:?} for sizes {dims:?} of {dtype}"),
                format!("the last element ends within {} bytes", isize::MAX),
                "pass the strides in elements"
            );
        }
        byte_count(op, element_count(op, &sizes)?, dtype)?;
        Ok(TensorDesc::of_strides(sizes, Dims::from_slice(strides), None, dtype))
    }

    /// The same strided descriptor with a format tag, which its strides must fit.
    pub(crate) fn tagged(self, format: MemoryFormat) -> Result<TensorDesc> {
        let op = "TensorDesc::tagged";
        let dense = format.strides(op, &self.dims)?;
        let fits = |strides: &Dims| (0..dense.len()).all(|i| self.dims[i] <= 1 || strides[i] == dense[i]);
        match self.order {
            Order::Strided { strides, .. } if fits(&strides) => {
                Ok(TensorDesc { order: Order::Strided { strides, tag: Some(format) }, ..self })
            }
            _ => fail!(
                InvalidArgument,
                op,
                "format",
                format.name(),
                "the strides are those of the format",
                "leave the tag out"
            ),
        }
    }

    /// The descriptor of a blocked tensor.
    ///
    /// # Errors
    /// `LayoutMismatch` for a layout without inner blocks; `RankMismatch` if the layout is for another rank; `Overflow`.
    pub fn blocked(dims: &[usize], dtype: DType, layout: &Layout) -> Result<TensorDesc> {
        let (dims, _) = super::blocked::checked("TensorDesc::blocked", dims, layout, dtype)?;
        Ok(TensorDesc::of_layout(dims, layout, dtype))
    }

    /// The descriptor of a tensor of another crate's backend; `layout` is that backend's name for its layout.
    ///
    /// # Errors
    /// `KeyMismatch` for one of this crate's own keys; `RankMismatch`.
    pub fn opaque(dims: &[usize], dtype: DType, key: DispatchKey, layout: &str) -> Result<TensorDesc> {
        let op = "TensorDesc::opaque";
        if [DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&key) {
            fail!(
                KeyMismatch,
                op,
                "key",
                key.name(),
                "this crate's own tensors are not opaque to it",
                Text::from("use ") + Call::StridedDesc + " or " + Call::BlockedDesc
            );
        }
        let order = Order::Opaque { key, layout: layout.into() };
        Ok(TensorDesc { dims: Dims::new(op, "dims", dims)?, dtype, order, quantization: None })
    }

    pub(crate) fn of_strides(
        dims: Dims,
        strides: Dims,
        tag: Option<MemoryFormat>,
        dtype: DType,
    ) -> TensorDesc {
        TensorDesc { dims, dtype, order: Order::Strided { strides, tag }, quantization: None }
    }

    pub(crate) fn of_layout(dims: Dims, layout: &Layout, dtype: DType) -> TensorDesc {
        TensorDesc { dims, dtype, order: Order::Blocked(*layout), quantization: None }
    }

    /// The descriptor of a tensor.
    pub fn of(t: TensorRef<'_>) -> TensorDesc {
        let dims = Dims::from_slice(t.dims());
        let order = match t {
            TensorRef::Strided(t) => Order::Strided { strides: t.strides, tag: t.format_tag },
            TensorRef::Blocked(t) => Order::Blocked(*t.layout()),
            TensorRef::Opaque(t) => Order::Opaque { key: t.key(), layout: t.layout_name().into() },
        };
        TensorDesc { dims, dtype: t.dtype(), order, quantization: t.shared_quantization() }
    }

    /// The same descriptor with quantisation parameters.
    ///
    /// # Errors
    /// As [`StridedTensor::quantized`].
    pub fn quantized(self, quantization: Quantization) -> Result<TensorDesc> {
        quantization.check("TensorDesc::quantized", &self.dims, self.dtype)?;
        Ok(TensorDesc { quantization: Some(Arc::new(quantization)), ..self })
    }

    /// The same descriptor without quantisation parameters.
    pub fn without_quantization(self) -> TensorDesc {
        TensorDesc { quantization: None, ..self }
    }

    /// The same descriptor with the parameters that tensors share.
    pub(crate) fn with_shared(self, quantization: Shared) -> TensorDesc {
        TensorDesc { quantization, ..self }
    }

    /// The parameters, for a tensor to share.
    pub(crate) fn shared(&self) -> Shared {
        self.quantization.clone()
    }

    /// Sizes, in logical order.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The tensor's dispatch key.
    pub fn key(&self) -> DispatchKey {
        match &self.order {
            Order::Strided { .. } => DispatchKey::STRIDED,
            Order::Blocked(_) => DispatchKey::BLOCKED,
            Order::Opaque { key, .. } => *key,
        }
    }

    /// The strides of a strided tensor, in **elements**.
    pub fn strides(&self) -> Option<&[usize]> {
        match &self.order {
            Order::Strided { strides, .. } => Some(strides),
            _ => None,
        }
    }

    /// The format tag of a strided tensor.
    pub fn format_tag(&self) -> Option<MemoryFormat> {
        match &self.order {
            Order::Strided { tag, .. } => *tag,
            _ => None,
        }
    }

    /// The layout of a blocked tensor.
    pub fn layout(&self) -> Option<&Layout> {
        match &self.order {
            Order::Blocked(layout) => Some(layout),
            _ => None,
        }
    }

    /// The quantisation parameters, if there are any.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.quantization.as_deref()
    }

    /// The name of the layout. For a strided tensor, its memory format, or its strides if they match no format.
    pub fn layout_name(&self) -> String {
        match &self.order {
            Order::Strided { strides, .. } => Described(&self.dims, strides).to_string(),
            Order::Blocked(layout) => layout.to_string(),
            Order::Opaque { layout, .. } => layout.to_string(),
        }
    }

    /// **Bytes** of storage that such a tensor needs, padding included. For a strided tensor, from its first element to its
    /// last.
    ///
    /// # Errors
    /// `KeyMismatch` for a tensor of another crate's backend; `Overflow`.
    pub fn bytes(&self) -> Result<usize> {
        let op = "TensorDesc::bytes";
        match &self.order {
            Order::Strided { strides, .. } => {
                byte_count(op, crate::layout::overlap::span(&self.dims, strides), self.dtype)
            }
            Order::Blocked(layout) => Ok(super::blocked::checked(op, &self.dims, layout, self.dtype)?.1),
            Order::Opaque { key, .. } => fail!(
                KeyMismatch,
                op,
                "self",
                self.to_string(),
                format!("only the backend of key `{key}` knows its storage"),
                "ask that backend"
            ),
        }
    }

    /// A tensor with this descriptor but no elements. An op gets it when only the descriptors of its results are wanted.
    pub(crate) fn without_elements(&self) -> Tensor {
        static NOTHING: LazyLock<Arc<Buffer>> = LazyLock::new(|| Arc::new(Buffer::none()));
        self.clone().with_storage(Arc::clone(&NOTHING))
    }

    /// A tensor in this storage, whose length is [`bytes`](Self::bytes).
    pub(crate) fn with_storage(self, storage: Arc<Buffer>) -> Tensor {
        let TensorDesc { dims, dtype, order, quantization } = self;
        match order {
            Order::Strided { strides, tag } => Tensor::Strided(StridedTensor {
                storage,
                dims,
                strides,
                offset: 0,
                dtype,
                format_tag: tag,
                quantization,
            }),
            Order::Blocked(layout) => {
                Tensor::Blocked(BlockedTensor { storage, dims, layout, dtype, quantization })
            }
            Order::Opaque { key, layout } => {
                Tensor::Opaque(Arc::new(WithoutElements { dims, dtype, key, layout, quantization }))
            }
        }
    }
}

impl fmt::Display for TensorDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.dims, self.dtype, self.layout_name())?;
        self.quantization.as_ref().map_or(Ok(()), |q| f.write_str(&q.describe()))
    }
}

/// Takes the place of another backend's tensor while its kernel describes its results.
#[derive(Debug)]
struct WithoutElements {
    dims: Dims,
    dtype: DType,
    key: DispatchKey,
    layout: Arc<str>,
    quantization: Shared,
}

impl OpaqueTensor for WithoutElements {
    fn key(&self) -> DispatchKey {
        self.key
    }
    fn dims(&self) -> &[usize] {
        &self.dims
    }
    fn dtype(&self) -> DType {
        self.dtype
    }
    fn layout_name(&self) -> String {
        self.layout.to_string()
    }
    fn quantization(&self) -> Option<&Quantization> {
        self.quantization.as_deref()
    }
}
