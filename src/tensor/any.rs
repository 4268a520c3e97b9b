//! `Tensor`: a tensor of any backend, for code that chooses the backend at run time.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::blocked::BlockedTensor;
use super::quantization::{Quantization, Shared};
use super::strided::StridedTensor;
use crate::dtype::DType;
use crate::error::{Call, Result, Text, fail};
use crate::key::DispatchKey;

/// A tensor of another crate's backend. This crate knows only what errors and schemas need.
pub trait OpaqueTensor: Any + Send + Sync + Debug {
    /// The key that its backend registered.
    fn key(&self) -> DispatchKey;
    /// Sizes, in logical order.
    fn dims(&self) -> &[usize];
    /// Type of the elements.
    fn dtype(&self) -> DType;
    /// The name of its layout.
    fn layout_name(&self) -> String;
    /// Its scales and zero points, if it has any. Kernels that do not read them are not given the tensor.
    fn quantization(&self) -> Option<&Quantization> {
        None
    }
}

/// A tensor of any backend. Cloning is cheap: the storage is shared.
#[derive(Clone, Debug)]
pub enum Tensor {
    /// Plain sizes and strides.
    Strided(StridedTensor),
    /// Channels blocked in memory.
    Blocked(BlockedTensor),
    /// A tensor of a backend that another crate registered.
    Opaque(Arc<dyn OpaqueTensor>),
}

/// A borrowed tensor of any backend. Operands are passed to kernels as this type.
#[derive(Clone, Copy, Debug)]
pub enum TensorRef<'a> {
    /// Plain sizes and strides.
    Strided(&'a StridedTensor),
    /// Channels blocked in memory.
    Blocked(&'a BlockedTensor),
    /// A tensor of a backend that another crate registered.
    Opaque(&'a Arc<dyn OpaqueTensor>),
}

impl<'a> TensorRef<'a> {
    /// The dispatch key of the tensor's backend.
    pub fn key(self) -> DispatchKey {
        match self {
            TensorRef::Strided(_) => DispatchKey::STRIDED,
            TensorRef::Blocked(_) => DispatchKey::BLOCKED,
            TensorRef::Opaque(t) => t.key(),
        }
    }

    /// Sizes, in logical order.
    pub fn dims(self) -> &'a [usize] {
        match self {
            TensorRef::Strided(t) => t.dims(),
            TensorRef::Blocked(t) => t.dims(),
            TensorRef::Opaque(t) => t.dims(),
        }
    }

    /// Type of the elements.
    pub fn dtype(self) -> DType {
        match self {
            TensorRef::Strided(t) => t.dtype(),
            TensorRef::Blocked(t) => t.dtype(),
            TensorRef::Opaque(t) => t.dtype(),
        }
    }

    /// The name of the layout. For a strided tensor, its memory format, or its strides if they match no format.
    pub fn layout_name(self) -> String {
        match self {
            TensorRef::Strided(t) => t.format_name(),
            TensorRef::Blocked(t) => t.layout().to_string(),
            TensorRef::Opaque(t) => t.layout_name(),
        }
    }

    /// The scales and zero points, if it has any.
    #[inline]
    pub fn quantization(self) -> Option<&'a Quantization> {
        match self {
            TensorRef::Strided(t) => t.quantization(),
            TensorRef::Blocked(t) => t.quantization(),
            TensorRef::Opaque(t) => t.quantization(),
        }
    }

    /// As [`quantization`](Self::quantization), for another tensor or a descriptor to share.
    pub(crate) fn shared_quantization(self) -> Shared {
        match self {
            TensorRef::Strided(t) => t.quantization.clone(),
            TensorRef::Blocked(t) => t.quantization.clone(),
            TensorRef::Opaque(t) => t.quantization().map(|q| Arc::new(q.clone())),
        }
    }

    /// How errors describe an operand: `[1, 64, 56, 56] f32 nChw16c`.
    pub fn describe(self) -> String {
        let quantization = self.quantization().map_or(String::new(), Quantization::describe);
        format!("{:?} {} {}{quantization}", self.dims(), self.dtype(), self.layout_name())
    }

    /// An owned tensor that shares the storage.
    pub fn to_tensor(self) -> Tensor {
        match self {
            TensorRef::Strided(t) => Tensor::Strided(t.clone()),
            TensorRef::Blocked(t) => Tensor::Blocked(t.clone()),
            TensorRef::Opaque(t) => Tensor::Opaque(Arc::clone(t)),
        }
    }
}

/// A caller's tensor of any backend that receives a result.
#[derive(Debug)]
pub enum TensorMut<'a> {
    /// Plain sizes and strides.
    Strided(&'a mut StridedTensor),
    /// Channels blocked in memory.
    Blocked(&'a mut BlockedTensor),
    /// A tensor of a backend that another crate registered.
    Opaque(&'a mut Arc<dyn OpaqueTensor>),
}

/// Returns `UnsupportedDType` for an argument that is not f32.
pub(crate) fn check_f32(
    op: &'static str,
    name: &'static str,
    t: TensorRef<'_>,
    rule: &'static str,
) -> Result<()> {
    check_dtype(op, name, t, DType::F32, rule)
}

/// Refuses a tensor of another dtype.
pub(crate) fn check_dtype(
    op: &'static str,
    name: &'static str,
    t: TensorRef<'_>,
    wanted: DType,
    rule: &'static str,
) -> Result<()> {
    if t.dtype() != wanted {
        let remedy = Text::from("convert it with ") + Call::ToDType(wanted.name());
        fail!(UnsupportedDType, op, name, t.describe(), rule, remedy);
    }
    Ok(())
}

impl TensorMut<'_> {
    /// The same tensor, borrowed for reading.
    pub fn as_ref(&self) -> TensorRef<'_> {
        match self {
            TensorMut::Strided(t) => TensorRef::Strided(t),
            TensorMut::Blocked(t) => TensorRef::Blocked(t),
            TensorMut::Opaque(t) => TensorRef::Opaque(t),
        }
    }

    /// The same tensor, borrowed for writing for a shorter time.
    pub(crate) fn reborrow(&mut self) -> TensorMut<'_> {
        match self {
            TensorMut::Strided(t) => TensorMut::Strided(t),
            TensorMut::Blocked(t) => TensorMut::Blocked(t),
            TensorMut::Opaque(t) => TensorMut::Opaque(t),
        }
    }
}

/// A type that ops can be called on. All operands of one call have the same such type, so mixing backends does not compile.
/// With [`Tensor`] the backend is chosen at run time, and mixing backends is an error.
// The `Err` of `from_tensor` is a tensor handed back; it is not propagated as an error.
#[allow(clippy::result_large_err)]
pub trait Operand: Sized {
    /// Borrows the tensor.
    fn tensor_ref(&self) -> TensorRef<'_>;
    /// Borrows the tensor, to write a result into it.
    fn tensor_mut(&mut self) -> TensorMut<'_>;
    /// Takes a kernel's result; returns it as `Err` if it is of another backend.
    fn from_tensor(tensor: Tensor) -> std::result::Result<Self, Tensor>;
}

impl Operand for StridedTensor {
    fn tensor_ref(&self) -> TensorRef<'_> {
        TensorRef::Strided(self)
    }
    fn tensor_mut(&mut self) -> TensorMut<'_> {
        TensorMut::Strided(self)
    }
    fn from_tensor(tensor: Tensor) -> std::result::Result<Self, Tensor> {
        match tensor {
            Tensor::Strided(t) => Ok(t),
            other => Err(other),
        }
    }
}

impl Operand for BlockedTensor {
    fn tensor_ref(&self) -> TensorRef<'_> {
        TensorRef::Blocked(self)
    }
    fn tensor_mut(&mut self) -> TensorMut<'_> {
        TensorMut::Blocked(self)
    }
    fn from_tensor(tensor: Tensor) -> std::result::Result<Self, Tensor> {
        match tensor {
            Tensor::Blocked(t) => Ok(t),
            other => Err(other),
        }
    }
}

impl Operand for Tensor {
    fn tensor_ref(&self) -> TensorRef<'_> {
        match self {
            Tensor::Strided(t) => TensorRef::Strided(t),
            Tensor::Blocked(t) => TensorRef::Blocked(t),
            Tensor::Opaque(t) => TensorRef::Opaque(t),
        }
    }
    fn tensor_mut(&mut self) -> TensorMut<'_> {
        match self {
            Tensor::Strided(t) => TensorMut::Strided(t),
            Tensor::Blocked(t) => TensorMut::Blocked(t),
            Tensor::Opaque(t) => TensorMut::Opaque(t),
        }
    }
    fn from_tensor(tensor: Tensor) -> std::result::Result<Self, Tensor> {
        Ok(tensor)
    }
}

impl From<StridedTensor> for Tensor {
    fn from(t: StridedTensor) -> Tensor {
        Tensor::Strided(t)
    }
}

impl From<BlockedTensor> for Tensor {
    fn from(t: BlockedTensor) -> Tensor {
        Tensor::Blocked(t)
    }
}
