//! A third backend, registered from outside blocktensor: dense tensors whose elements lie back to front.
//!
//! It shows what another crate does: an opaque tensor, a key, kernels for ops that exist, an op of its own.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use blocktensor::dispatch::schema::{data, float};
use blocktensor::dispatch::{
    Arg, Args, DispatchKey, Engine, Kernel, KernelResult, KeySpec, Op, Registrar, Reorders, Results, Schema,
    register_backend,
};
use blocktensor::{
    Complaint, DType, Error, OpaqueTensor, Operand, Result, StridedTensor, Tensor, TensorDesc, TensorMut,
    TensorRef,
};

static KEY: OnceLock<DispatchKey> = OnceLock::new();

/// The backend's dispatch key; the first call registers the backend.
pub fn key() -> DispatchKey {
    *KEY.get_or_init(|| register().expect("registered once"))
}

/// The name of the backend's only layout.
const LAYOUT: &str = "back_to_front";

/// The storage behind a [`Reversed`].
#[derive(Debug)]
struct Storage {
    dims: Vec<usize>,
    /// Row-major, last element first.
    data: Vec<f32>,
}

impl OpaqueTensor for Storage {
    fn key(&self) -> DispatchKey {
        key()
    }
    fn dims(&self) -> &[usize] {
        &self.dims
    }
    fn dtype(&self) -> DType {
        DType::F32
    }
    fn layout_name(&self) -> String {
        LAYOUT.into()
    }
}

/// An f32 tensor whose elements lie back to front.
#[derive(Clone, Debug)]
pub struct Reversed(Arc<dyn OpaqueTensor>);

impl Reversed {
    /// A copy of a strided f32 tensor.
    pub fn from_strided(t: &StridedTensor) -> Result<Reversed> {
        key();
        Reversed::copy_of(t)
    }

    fn copy_of(t: &StridedTensor) -> Result<Reversed> {
        let mut data = t.to_vec::<f32>()?;
        data.reverse();
        Ok(Reversed(Arc::new(Storage { dims: t.dims().to_vec(), data })))
    }

    /// The way back.
    pub fn to_strided(&self) -> Result<StridedTensor> {
        let s = storage("to_strided", &self.0)?;
        let data: Vec<f32> = s.data.iter().rev().copied().collect();
        StridedTensor::from_slice(&data, &s.dims)
    }
}

impl Operand for Reversed {
    fn tensor_ref(&self) -> TensorRef<'_> {
        TensorRef::Opaque(&self.0)
    }
    fn tensor_mut(&mut self) -> TensorMut<'_> {
        TensorMut::Opaque(&mut self.0)
    }
    fn from_tensor(tensor: Tensor) -> std::result::Result<Self, Tensor> {
        match tensor {
            Tensor::Opaque(t) if t.key() == key() => Ok(Reversed(t)),
            other => Err(other),
        }
    }
}

fn storage<'a>(op: &str, t: &'a Arc<dyn OpaqueTensor>) -> Result<&'a Storage> {
    let any: &dyn Any = t.as_ref();
    any.downcast_ref::<Storage>().ok_or_else(|| {
        let got = format!("{t:?}");
        let rule = "it is a tensor of this backend";
        Error::KeyMismatch(Complaint::new(
            op.to_string(),
            "x",
            got,
            rule,
            "make it with `Reversed::from_strided`",
        ))
    })
}

fn operand<'a>(args: &Args<'a>, i: usize) -> Result<&'a Storage> {
    match args.tensor(i)? {
        TensorRef::Opaque(t) => storage(args.op(), t),
        other => Err(Error::KeyMismatch(Complaint::new(
            args.op(),
            args.name(i),
            other.describe(),
            "not ours",
            "-",
        ))),
    }
}

fn map(args: &Args<'_>, results: &mut Results<'_>, f: impl Fn(f32) -> f32) -> KernelResult {
    let x = args.tensor(0)?;
    // What comes out is known before the elements are looked at: a graph asks for it with descriptions alone.
    let desc = TensorDesc::opaque(x.dims(), x.dtype(), x.key(), &x.layout_name())?;
    results.opaque(desc, |given| {
        let x = operand(args, 0)?;
        let data = x.data.iter().map(|&v| f(v)).collect();
        let made: Arc<dyn OpaqueTensor> = Arc::new(Storage { dims: x.dims.clone(), data });
        match given {
            Some(place) => {
                *place = made;
                Ok(None)
            }
            None => Ok(Some(Tensor::Opaque(made))),
        }
    })
}

static SHIFT_SCHEMA: Schema = Schema::new("reversed_shift", &[data("x"), float("by", 1.0)]);
static SHIFT: Op = Op::new(&SHIFT_SCHEMA);

/// The format that the kernels want their operands in.
fn back_to_front(
    _: &'static Schema,
    key: DispatchKey,
    _: &[Arg<'_>],
    inputs: &[TensorDesc],
) -> Result<Vec<TensorDesc>> {
    inputs.iter().map(|x| TensorDesc::opaque(x.dims(), x.dtype(), key, LAYOUT)).collect()
}

fn register() -> Result<DispatchKey> {
    let mut made = None;
    register_backend(|r: &mut dyn Registrar| {
        let key = r.key(KeySpec {
            name: "reversed",
            to_strided: "Reversed::to_strided()",
            from_strided: "Reversed::from_strided(&t)",
        })?;
        r.reorders(
            key,
            Reorders {
                from_strided: |x, _| Reversed::copy_of(x).map(|x| Tensor::Opaque(x.0)),
                to_strided: |x| Reversed(Arc::clone(x)).to_strided(),
            },
        )?;
        r.op(&SHIFT)?;
        r.kernel(
            "reversed_shift",
            key,
            Kernel::rust(&|args, results| {
                let by = args.float(1)? as f32;
                map(args, results, |v| v + by)
            })
            .with_engine(Engine::Other)
            .with_preferred(&back_to_front),
        )?;
        r.kernel(
            "relu",
            key,
            Kernel::rust(&|args, results| map(args, results, |v| v.max(0.0)))
                .with_engine(Engine::Other)
                .with_preferred(&back_to_front),
        )?;
        made = Some(key);
        Ok(())
    })?;
    made.ok_or(Error::Registration(Complaint::new(
        "register_backend",
        "key",
        "none",
        "the closure ran",
        "report this",
    )))
}
