//! The f64 versions as a backend of their own, on PyTorch's answers.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use blocktensor::dispatch::{
    Arg, Args, DTypeTuple, DispatchKey, Engine, Kernel, KernelResult, KeySpec, Results, Schema, Stop, Value,
    ops, register_backend,
};
use blocktensor::testing::{Backend, Cases, conformance};
use blocktensor::{
    BoundOp, DType, Error, MemoryFormat, OpaqueTensor, Operand, Operator, Result, StridedTensor, Tensor,
    TensorDesc, TensorRef,
};

use super::{Values, evaluate, evaluator};

const LAYOUT: &str = "f64";

#[derive(Debug)]
struct Stored {
    dtype: DType,
    values: Arc<Values>,
}

impl OpaqueTensor for Stored {
    fn key(&self) -> DispatchKey {
        key()
    }
    fn dims(&self) -> &[usize] {
        &self.values.dims
    }
    fn dtype(&self) -> DType {
        self.dtype
    }
    fn layout_name(&self) -> String {
        LAYOUT.into()
    }
}

fn engine_error(error: crate::Error) -> Error {
    match error {
        crate::Error::Engine(error) => error,
        other => panic!("{other}"),
    }
}

fn values(tensor: TensorRef<'_>) -> Result<Arc<Values>> {
    if let TensorRef::Opaque(t) = tensor {
        let any: &dyn Any = t.as_ref();
        return Ok(Arc::clone(&any.downcast_ref::<Stored>().expect("a tensor of this backend").values));
    }
    Values::of(tensor).map(Arc::new).map_err(engine_error)
}

/// The call as an operator, its tensors, and the descriptor of its only result.
pub(crate) fn bound<'a>(args: &Args<'a>) -> Result<(BoundOp, Vec<TensorRef<'a>>, TensorDesc)> {
    let op = blocktensor::dispatch::op(args.op()).expect("a registered op");
    let (mut names, mut tensors, mut params) = (vec![], vec![], vec![]);
    for (spec, arg) in op.schema().args.iter().zip(args.values()) {
        match *arg {
            Arg::Absent => {}
            Arg::Tensor(t) => tensors.push((spec.name, t)),
            Arg::Tensors(list) => tensors.extend(list.iter().map(|t| (spec.name, *t))),
            Arg::Int(v) => params.push((spec.name, Value::Int(v))),
            Arg::Ints(v) => params.push((spec.name, Value::Ints(v.to_vec()))),
            Arg::Sizes(v) => {
                params.push((spec.name, Value::Ints(v.iter().map(|&n| n as i64).collect())));
            }
            Arg::Float(v) => params.push((spec.name, Value::Float(v))),
            Arg::Bool(v) => params.push((spec.name, Value::Bool(v))),
            Arg::Str(v) => params.push((spec.name, Value::Str(v.to_string()))),
            Arg::PostOps(v) => params.push((spec.name, Value::Str(v.to_string()))),
        }
    }
    names.extend(tensors.iter().map(|(name, _)| *name));
    let tensors: Vec<TensorRef<'a>> = tensors.into_iter().map(|(_, t)| t).collect();
    let bound = BoundOp::of(op, &names, &params)?;
    let plain = |t: &TensorRef<'_>| TensorDesc::strided(t.dims(), t.dtype(), MemoryFormat::Contiguous);
    let inferred = bound.infer(&tensors.iter().map(plain).collect::<Result<Vec<_>>>()?)?;
    Ok((bound, tensors, inferred.into_iter().next().expect("a result")))
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, tensors, result) = bound(args)?;
    if evaluator(&op).is_none() {
        return Err(Stop::Declined);
    }
    let desc = TensorDesc::opaque(result.dims(), result.dtype(), key(), LAYOUT)?;
    results.opaque(desc, |given| {
        let inputs = tensors.iter().map(|t| values(*t)).collect::<Result<Vec<_>>>()?;
        let made = evaluate(&op, &inputs, &[result.dims()]).map_err(engine_error)?;
        let values = made.expect("an f64 version").remove(0);
        let made: Arc<dyn OpaqueTensor> =
            Arc::new(Stored { dtype: result.dtype(), values: Arc::new(values) });
        match given {
            Some(place) => {
                *place = made;
                Ok(None)
            }
            None => Ok(Some(Tensor::Opaque(made))),
        }
    })
}

fn preferred(
    _: &'static Schema,
    key: DispatchKey,
    _: &[Arg<'_>],
    inputs: &[TensorDesc],
) -> Result<Vec<TensorDesc>> {
    inputs.iter().map(|x| TensorDesc::opaque(x.dims(), x.dtype(), key, LAYOUT)).collect()
}

static KEY: OnceLock<DispatchKey> = OnceLock::new();

/// The key. It has no reorders, so that no plan uses it.
fn key() -> DispatchKey {
    *KEY.get_or_init(|| {
        let mut made = None;
        register_backend(|r| {
            let key = r.key(KeySpec { name: "f64", to_strided: "none", from_strided: "none" })?;
            for op in ops() {
                let schema = op.schema();
                // One result, and not a list of results.
                if schema.outputs.len() == 1 && !schema.outputs[0].is_list {
                    let all = &[
                        DTypeTuple { operands: &[DType::F32], results: &[] },
                        DTypeTuple { operands: &[DType::S32], results: &[] },
                        DTypeTuple { operands: &[DType::U8], results: &[] },
                    ];
                    let kernel = Kernel::rust(&run).with_engine(Engine::Other).with_preferred(&preferred);
                    r.kernel(schema.name, key, kernel.with_dtypes(all))?;
                }
            }
            made = Some(key);
            Ok(())
        })
        .expect("registered once");
        made.expect("the closure ran")
    })
}

struct F64;

impl Backend for F64 {
    fn key(&self) -> DispatchKey {
        key()
    }

    fn data(&self, t: &StridedTensor, _: usize) -> Result<Tensor> {
        key();
        let dtype = if t.dtype() == DType::U8 { DType::U8 } else { t.dtype() };
        Ok(Tensor::Opaque(Arc::new(Stored { dtype, values: values(t.tensor_ref())? })))
    }

    fn back(&self, t: &Tensor) -> Result<StridedTensor> {
        let values = values(t.tensor_ref())?;
        match t.tensor_ref().dtype() {
            DType::U8 => StridedTensor::from_slice(
                &values.data.iter().map(|&v| v as u8).collect::<Vec<_>>(),
                &values.dims,
            ),
            DType::S32 => StridedTensor::from_slice(
                &values.data.iter().map(|&v| v as i32).collect::<Vec<_>>(),
                &values.dims,
            ),
            _ => StridedTensor::from_slice(
                &values.data.iter().map(|&v| v as f32).collect::<Vec<_>>(),
                &values.dims,
            ),
        }
    }
}

#[test]
fn pytorchs_answers() {
    let report = conformance(&F64, &Cases::ours()).unwrap();
    println!("{report}");
    assert!(report.wrong().is_empty(), "{report}");
    assert!(report.passed() > 100, "{report}");
}
