//! Reorders from any key to any other, for planners, and those that backends of other crates bring.

use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};

use crate::buffer::Buffer;
use crate::error::{Complaint, Error, Result};
use crate::key::DispatchKey;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger::{self, Cause, Move, Moved};
use crate::tensor::any::{OpaqueTensor, Operand, Tensor, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::quantization;
use crate::tensor::strided::StridedTensor;

/// How a backend's tensors are made of strided tensors, and the way back: for those who insert reorders where they are needed,
/// such as planners of graphs. [`Tensor::reorder`] calls them.
#[derive(Clone, Copy, Debug)]
pub struct Reorders {
    /// A tensor like the descriptor, which names one of the backend's layouts, with the elements of a strided tensor of the same
    /// sizes and dtype.
    pub from_strided: fn(&StridedTensor, &TensorDesc) -> Result<Tensor>,
    /// The elements of one of the backend's tensors, row-major.
    pub to_strided: fn(&Arc<dyn OpaqueTensor>) -> Result<StridedTensor>,
}

static REGISTERED: RwLock<Vec<(DispatchKey, Reorders)>> = RwLock::new(Vec::new());

/// Keeps the reorders of a key that was just registered.
pub(crate) fn commit(key: DispatchKey, reorders: Reorders) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push((key, reorders));
}

impl DispatchKey {
    /// The backend's own reorders, if it registered any. This crate's keys have none: their tensors have methods.
    pub fn reorders(self) -> Option<Reorders> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        registered.iter().find(|(key, _)| *key == self).map(|(_, reorders)| *reorders)
    }
}

impl Moved for Tensor {
    fn storage_id(&self) -> u64 {
        match self {
            Tensor::Strided(t) => Moved::storage_id(t),
            Tensor::Blocked(t) => Moved::storage_id(t),
            Tensor::Opaque(_) => 0,
        }
    }
}

/// The call, in errors about its descriptor.
const OP: &str = "Tensor::reorder";
/// The backends' functions, in errors and in the ledger: doors have names of their own for the calls that lead to them.
const FROM_STRIDED: &str = "from_strided";
const TO_STRIDED: &str = "to_strided";

impl Tensor {
    /// A copy with the strides or the layout of a descriptor, of any key; the tensor itself if it is like that. Scales and zero
    /// points are kept: the descriptor has the same, or none. The ledger records the reorder; from one blocked or foreign layout to
    /// another it makes two, with a row-major tensor between them.
    ///
    /// ```
    /// use blocktensor::{DType, Layout, MemoryFormat, StridedTensor, Tensor, TensorDesc};
    /// let x: Tensor = StridedTensor::full(&[1, 17, 4, 4], 1f32, MemoryFormat::Contiguous)?.into();
    /// let blocked = x.reorder(&TensorDesc::blocked(&[1, 17, 4, 4], DType::F32, &Layout::NCHW16C)?)?;
    /// assert!(matches!(blocked, Tensor::Blocked(_)));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ShapeMismatch`, `DTypeMismatch`; `UnsupportedDType` if a backend's reorder loses scales and zero points; `InvalidArgument` for a
    /// key whose backend registered no reorders ([`Registrar::reorders`](crate::dispatch::Registrar::reorders)); `ReorderDenied`, `OutOfMemory`; what that backend returns.
    #[track_caller]
    pub fn reorder(&self, to: &TensorDesc) -> Result<Tensor> {
        let location = Location::caller();
        let from = TensorDesc::of(self.as_ref());
        check_same(&from, to)?;
        let quantized;
        let to = match from.quantization() {
            None => to,
            Some(_) => {
                quantized = to.clone().with_shared(from.shared());
                &quantized
            }
        };
        if from == *to {
            return Ok(self.clone());
        }
        match (self, to.key()) {
            (Tensor::Strided(x), DispatchKey::STRIDED) => {
                let mut result = place(to)?;
                x.copy_into(&mut result)?;
                Ok(result.into())
            }
            (Tensor::Strided(x), DispatchKey::BLOCKED) => match to.layout() {
                Some(layout) => Ok(x.to_blocked(layout)?.into()),
                None => Err(unlike(OP, &from, to)),
            },
            (Tensor::Strided(x), key) => {
                let reorders = reorders_of(FROM_STRIDED, key)?;
                recorded(FROM_STRIDED, &from, to, location, || (reorders.from_strided)(x, to))
            }
            (Tensor::Opaque(x), DispatchKey::STRIDED) => {
                let reorders = reorders_of(TO_STRIDED, x.key())?;
                let plain = TensorDesc::strided(to.dims(), to.dtype(), MemoryFormat::Contiguous)?;
                let plain = plain.with_shared(from.shared());
                let work = || Ok((reorders.to_strided)(x)?.into());
                let plain = recorded(TO_STRIDED, &from, &plain, location, work)?;
                plain.reorder(to)
            }
            (Tensor::Blocked(x), DispatchKey::STRIDED) => {
                let mut result = place(to)?;
                x.to_strided_into(&mut result)?;
                Ok(result.into())
            }
            _ => {
                let plain = TensorDesc::strided(to.dims(), to.dtype(), MemoryFormat::Contiguous)?;
                self.reorder(&plain)?.reorder(to)
            }
        }
    }

    fn as_ref(&self) -> TensorRef<'_> {
        Operand::tensor_ref(self)
    }
}

/// Refuses what no reorder does.
fn check_same(from: &TensorDesc, to: &TensorDesc) -> Result<()> {
    let differs = |got: String, what: &str| {
        let (rule, remedy) =
            (format!("a reorder keeps the {what}"), format!("pass a descriptor of the same {what}"));
        Complaint::new(OP, "to", got, rule, remedy)
    };
    if from.dims() != to.dims() {
        let got = format!("{:?} to {:?}", from.dims(), to.dims());
        return Err(Error::ShapeMismatch(differs(got, "sizes")));
    }
    if from.dtype() != to.dtype() {
        let got = format!("{} to {}", from.dtype(), to.dtype());
        return Err(Error::DTypeMismatch(differs(got, "dtype")));
    }
    // A descriptor without scales and zero points is for any tensor.
    if to.quantization().is_some() && to.quantization() != from.quantization() {
        let got = format!("{from} to {to}");
        return Err(Error::DTypeMismatch(differs(got, "scales and zero points")));
    }
    Ok(())
}

/// A strided tensor to write to.
fn place(to: &TensorDesc) -> Result<StridedTensor> {
    let storage = Arc::new(Buffer::for_result(to.bytes()?)?);
    match to.clone().with_storage(storage) {
        Tensor::Strided(t) => Ok(t),
        other => Err(unlike(OP, &TensorDesc::of(other.as_ref()), to)),
    }
}

/// Runs a reorder of another backend, and checks what it made.
fn recorded(
    op: &'static str,
    from: &TensorDesc,
    to: &TensorDesc,
    location: &'static Location<'static>,
    work: impl FnOnce() -> Result<Tensor>,
) -> Result<Tensor> {
    let bytes = from.dims().iter().product::<usize>().saturating_mul(from.dtype().size_bytes());
    let (old, new) = (from.layout_name(), to.layout_name());
    let what =
        Move { op, cause: Cause::Call, from: &old, to: &new, dims: from.dims(), bytes, source: 0, location };
    ledger::reorder(what, || {
        let made = match (work()?, to.strides()) {
            // Strides of no elements say nothing; numpy's are 0.
            (Tensor::Strided(t), Some(strides)) if t.numel() == 0 && t.dims() == to.dims() => {
                t.as_strided(t.dims(), strides, 0)?.into()
            }
            (made, _) => made,
        };
        let is = TensorDesc::of(made.as_ref());
        if is.quantization() != to.quantization() {
            let rule = "the reorder of the backend does not keep its scales and zero points";
            return Err(quantization::refused(op, "self", from.to_string(), rule));
        }
        if is == *to { Ok(made) } else { Err(unlike(op, &is, to)) }
    })
}

fn reorders_of(op: &'static str, key: DispatchKey) -> Result<Reorders> {
    key.reorders().ok_or_else(|| {
        let got = format!("a tensor of the key `{key}`");
        let rule = "the backend of that key registered no reorders";
        let remedy = "register them with `Registrar::reorders`, or reorder with the backend's own calls";
        Error::InvalidArgument(Complaint::new(op, "to", got, rule, remedy))
    })
}

fn unlike(op: &'static str, is: &TensorDesc, to: &TensorDesc) -> Error {
    let rule = format!("the reorder to `{to}` makes a tensor like that");
    Error::InvalidArgument(Complaint::new(op, "to", is.to_string(), rule, "correct the backend's reorders"))
}
