//! No step relies on what its place in the arena held: a run on memory of NaN gives the bits of a run on zeros, for every op of
//! PyTorch's cases.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use blocktensor::dispatch::{
    Args, DTypeTuple, DispatchKey, Engine, Kernel, KernelResult, KeySpec, Results, Schema, Stop, ops,
    register_backend,
};
use blocktensor::testing::{Backend, Cases, conformance};
use blocktensor::{
    Arena, BoundOp, DType, MemoryFormat, OpaqueTensor, Operand, Operator, Result, Scratchpad, StridedTensor,
    Tensor, TensorDesc, TensorRef,
};

use super::run::{State, Watch};
use super::{Layouts, Memory, Plan, PlanOptions};
use crate::constant::Constant;
use crate::graph::Graph;
use crate::reference::goldens::bound;

/// Looks at the padding of every blocked result, right after the step that wrote it.
struct Tails(usize);

impl Watch for Tails {
    fn after(&mut self, step: usize, state: &State<'_>) -> crate::Result<()> {
        for slot in &state.plan.steps[step].outputs {
            if let Tensor::Blocked(t) = state.tensor(*slot)? {
                t.check_tail()?;
                self.0 += usize::from(t.bytes() > t.numel() * t.dtype().size_bytes());
            }
        }
        Ok(())
    }
}

/// Runs on an arena that holds this value everywhere: the results as bits, and how many blocked results had padding.
fn run_on(plan: &Plan, value: f32, inputs: &[&StridedTensor]) -> crate::Result<(Vec<Vec<u32>>, usize)> {
    let arena = Arena::new(plan.arena_bytes())?;
    let whole = TensorDesc::strided(&[plan.arena_bytes() / 4], DType::F32, MemoryFormat::Contiguous)?;
    if let Tensor::Strided(mut all) = arena.tensor(0, &whole)? {
        StridedTensor::full(all.dims(), value, MemoryFormat::Contiguous)?.copy_into(&mut all)?;
    }
    *plan.idle.lock().unwrap() = vec![Memory { arena, scratchpad: Scratchpad::new() }];
    let mut tails = Tails(0);
    let results = plan.run_watched(inputs, &mut tails)?;
    let bits = |t: &StridedTensor| -> Result<Vec<u32>> {
        Ok(t.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
    };
    Ok((results.iter().map(bits).collect::<Result<_>>()?, tails.0))
}

/// A tensor of the backend: it is only carried to the kernel.
#[derive(Debug)]
struct Held(StridedTensor);

impl OpaqueTensor for Held {
    fn key(&self) -> DispatchKey {
        key()
    }
    fn dims(&self) -> &[usize] {
        self.0.dims()
    }
    fn dtype(&self) -> DType {
        self.0.dtype()
    }
    fn layout_name(&self) -> String {
        "held".into()
    }
}

fn held(tensor: TensorRef<'_>) -> Result<StridedTensor> {
    match tensor {
        TensorRef::Opaque(t) => {
            let any: &dyn Any = t.as_ref();
            Ok(any.downcast_ref::<Held>().expect("a tensor of this backend").0.clone())
        }
        TensorRef::Strided(t) => t.contiguous(MemoryFormat::Contiguous),
        TensorRef::Blocked(t) => t.to_strided(MemoryFormat::Contiguous),
    }
}

/// What was seen: ops whose plans ran, and how many blocked results had padding.
static SEEN: Mutex<(BTreeSet<&'static str>, usize)> = Mutex::new((BTreeSet::new(), 0));

/// The op between two others, planned. Operands of the first one's sizes are computed in the run, all others are constants.
fn plan(op: BoundOp, tensors: &[StridedTensor], layouts: Layouts) -> crate::Result<(Plan, StridedTensor)> {
    let mut graph = Graph::new();
    let x = &tensors[0];
    let dims: Vec<_> = x.dims().iter().map(|&n| n.into()).collect();
    let input = graph.input("x", &dims)?;
    // Something that the op reads from the arena.
    let before = graph.op("before", "abs", &[("x", input)], &[])?;
    let mut operands = vec![];
    for (i, (name, t)) in op.inputs().iter().zip(tensors).enumerate() {
        let id = match t.dims() == x.dims() {
            true => before,
            false => graph.constant(&format!("constant {i}"), Constant::F32(t.clone()))?,
        };
        operands.push((*name, id));
    }
    let params: Vec<_> = op.params().map(|(name, value)| (name, value.into())).collect();
    let result = graph.op("op", op.op(), &operands, &params)?;
    let after = graph.op("after", "neg", &[("x", result)], &[])?;
    graph.output("y", after)?;
    // Passes would merge the steps.
    let mut options = PlanOptions::new(layouts);
    for pass in crate::Pass::ALL {
        options = options.without(pass);
    }
    Ok((graph.plan(&options)?, x.clone()))
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, tensors, result) = bound(args)?;
    let f32_alone = tensors.iter().all(|t| t.dtype() == DType::F32) && result.dtype() == DType::F32;
    if !f32_alone || tensors[0].dims().contains(&0) {
        return Err(Stop::Declined);
    }
    let desc = TensorDesc::opaque(result.dims(), result.dtype(), key(), "held")?;
    let name = blocktensor::dispatch::op(args.op()).expect("a registered op").schema().name;
    results.opaque(desc, |given| {
        let tensors = tensors.into_iter().map(held).collect::<Result<Vec<_>>>()?;
        for layouts in Layouts::FIXED {
            let (op, _, _) = bound(args)?;
            let (plan, x) = match plan(op, &tensors, layouts) {
                Ok(planned) => planned,
                Err(e) => panic!("{name} {layouts:?}: {e}"),
            };
            let [zeros, nans] = [0.0, f32::NAN].map(|value| {
                run_on(&plan, value, &[&x]).unwrap_or_else(|e| panic!("{name} {layouts:?} on {value}: {e}"))
            });
            assert_eq!(zeros.0, nans.0, "{name} {layouts:?}: {plan}");
            let mut seen = SEEN.lock().unwrap();
            seen.0.insert(name);
            seen.1 += nans.1;
        }
        let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
        let Tensor::Strided(y) = op.run(&inputs)?.remove(0) else { unreachable!("operands are strided") };
        let made: Arc<dyn OpaqueTensor> = Arc::new(Held(y));
        Ok(match given {
            Some(place) => {
                *place = made;
                None
            }
            None => Some(Tensor::Opaque(made)),
        })
    })
}

fn preferred(
    _: &'static Schema,
    key: DispatchKey,
    _: &[blocktensor::dispatch::Arg<'_>],
    inputs: &[TensorDesc],
) -> Result<Vec<TensorDesc>> {
    inputs.iter().map(|x| TensorDesc::opaque(x.dims(), x.dtype(), key, "held")).collect()
}

/// The key. It has no reorders, so that no plan uses it.
fn key() -> DispatchKey {
    static KEY: OnceLock<DispatchKey> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut made = None;
        register_backend(|r| {
            let key = r.key(KeySpec { name: "held", to_strided: "none", from_strided: "none" })?;
            for op in ops() {
                let schema = op.schema();
                if schema.outputs.len() == 1 && !schema.outputs[0].is_list {
                    let kernel = Kernel::rust(&run).with_engine(Engine::Other).with_preferred(&preferred);
                    let all = &[
                        DTypeTuple { operands: &[DType::F32], results: &[] },
                        DTypeTuple { operands: &[DType::S32], results: &[] },
                        DTypeTuple { operands: &[DType::U8], results: &[] },
                    ];
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

struct Planned;

impl Backend for Planned {
    fn key(&self) -> DispatchKey {
        key()
    }

    fn data(&self, t: &StridedTensor, _: usize) -> Result<Tensor> {
        Ok(Tensor::Opaque(Arc::new(Held(t.contiguous(MemoryFormat::Contiguous)?))))
    }

    fn back(&self, t: &Tensor) -> Result<StridedTensor> {
        held(t.tensor_ref())
    }
}

#[test]
fn a_run_on_memory_of_nan_gives_the_bits_of_a_run_on_zeros() {
    let report = conformance(&Planned, &Cases::ours()).unwrap();
    // The plans inside have scratchpads of their own, which no operator announces.
    let wrong = report.wrong();
    assert!(wrong.iter().all(|what| what.contains("bytes of scratchpad were announced")), "{report}");
    let seen = SEEN.lock().unwrap();
    println!("{report}\n{} ops, {} padded results: {:?}", seen.0.len(), seen.1, seen.0);
    // Blocks of 8 channels (AVX2) have fewer tails than those of 16.
    let least = if blocktensor::Layout::native().0.block_of(1) == 16 { 70 } else { 60 };
    assert!(seen.0.len() >= 60 && seen.1 >= least, "{} ops, {} padded results", seen.0.len(), seen.1);
}
