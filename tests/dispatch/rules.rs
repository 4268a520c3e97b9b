//! What a schema declares is what dispatch enforces: dtypes and ranks of operands, and the results.

use blocktensor::dispatch::schema::{self, ArgKind, ArgSpec, DTypes, OutputDType, Ranks};
use blocktensor::dispatch::{
    self, Args, DTypeTuple, DispatchKey, Engine, Kernel, KernelResult, Op, Results, Schema, Value,
    register_backend,
};
use blocktensor::{
    BlockedTensor, BoundOp, DType, Error, FormatRule, Layout, MAX_RANK, MemoryFormat, Operand, Operator,
    Scratchpad, StridedTensor, Tensor, TensorDesc, TensorRef, elementwise, ops,
};

use super::engines::{Given, calls};
use crate::support::alone;

const KEYS: [DispatchKey; 2] = [DispatchKey::STRIDED, DispatchKey::BLOCKED];

fn zeros(dims: &[usize], dtype: DType) -> StridedTensor {
    StridedTensor::zeros(dims, dtype, MemoryFormat::Contiguous).unwrap()
}

/// Every op of this crate with each of its keys and a valid call.
pub fn valid_calls() -> Vec<(&'static Op, DispatchKey, Given)> {
    let mut all = Vec::new();
    for op in dispatch::ops() {
        for key in KEYS {
            // Ops of other crates, which other tests register, state no outputs.
            if op.kernel(key).is_some() && !op.schema().outputs.is_empty() {
                let (_, given) = calls(op, key, &[DType::F32]).remove(0);
                all.push((op, key, given));
            }
        }
    }
    assert!(all.len() > 180, "{}", all.len());
    all
}

/// The same tensor of zeros with another dtype.
fn with_dtype(t: TensorRef<'_>, dtype: DType) -> Tensor {
    let plain = zeros(t.dims(), dtype);
    match t {
        TensorRef::Blocked(b) => plain.to_blocked(b.layout()).unwrap().into(),
        _ => plain.into(),
    }
}

/// The call with `change` of one of its tensors. Optional arguments that the call leaves out are given.
fn changed(given: &Given, arg: &ArgSpec, change: impl Fn(TensorRef<'_>) -> Tensor) -> (Given, Tensor) {
    let old = given.iter().find(|(name, _)| *name == arg.name).map(|(_, value)| value);
    let tensor = match (old, &given[0].1) {
        (Some(Value::Tensor(t)), _) => change(t.tensor_ref()),
        (Some(Value::Tensors(list)), _) => change(list[1].tensor_ref()),
        (None, Value::Tensor(x)) if arg.kind.is_data() => change(x.tensor_ref()),
        _ => change(TensorRef::Strided(&zeros(&[16], DType::F32))),
    };
    let value = match (old, arg.kind) {
        (Some(Value::Tensors(list)), _) => vec![list[0].clone(), tensor.clone()].into(),
        (_, ArgKind::ParamList) => vec![tensor.clone()].into(),
        _ => tensor.clone().into(),
    };
    let mut given: Given = given.iter().filter(|(name, _)| *name != arg.name).cloned().collect();
    given.push((arg.name, value));
    (given, tensor)
}

#[track_caller]
fn refused(op: &Op, arg: &ArgSpec, given: &Given, tensor: &Tensor) -> Error {
    let e = dispatch::call(op.schema().name, given).map(|_| ()).expect_err(op.schema().name);
    let Some(c) = e.complaint() else { panic!("{}: {e}", op.schema()) };
    assert_eq!((&*c.op, &*c.argument), (op.schema().name, arg.name), "{e}");
    assert!(c.got.starts_with(&tensor.tensor_ref().describe()), "{e}");
    assert!(!c.rule.is_empty() && !c.remedy.is_empty(), "{e}");
    // What a call refuses, a question about the same op refuses alike.
    let (bound, tensors) = BoundOp::of_call(op.schema().name, given).unwrap();
    let descs: Vec<TensorDesc> = tensors.iter().map(|t| TensorDesc::of(t.tensor_ref())).collect();
    assert_eq!(bound.infer(&descs).unwrap_err(), e);
    e
}

#[test]
fn operands_of_dtypes_that_the_schema_does_not_allow_are_refused() {
    let mut count = 0;
    for (op, _, given) in valid_calls() {
        for arg in op.schema().args.iter().filter(|arg| arg.kind.is_tensor()) {
            let allowed = arg.dtypes.list().unwrap_or_else(|| panic!("{} of {}", arg.name, op.schema()));
            // A kernel may take others too.
            let taken = |d: &DType| {
                let kernels = op.implementations().map(|(_, kernel)| kernel);
                kernels.filter_map(|k| k.dtypes_of(op.schema(), arg.name)).any(|list| list.contains(d))
            };
            for dtype in DType::ALL.into_iter().filter(|d| !allowed.contains(d) && !taken(d)) {
                let (given, tensor) = changed(&given, arg, |t| with_dtype(t, dtype));
                let e = refused(op, arg, &given, &tensor);
                let rule = &e.complaint().unwrap().rule;
                match arg.dtypes {
                    DTypes::Fixed(_, stated) => {
                        assert!(matches!(e, Error::DTypeMismatch(_)) && **rule == *stated, "{e}");
                    }
                    _ => {
                        assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
                        assert!(allowed.iter().all(|d| rule.contains(d.name())), "{e}");
                    }
                }
                count += 1;
            }
        }
    }
    assert!(count > 900, "{count}");
}

/// A tensor of another rank under the key of `t`; `None` if blocked tensors have no such rank.
fn with_rank(t: TensorRef<'_>, rank: usize) -> Option<Tensor> {
    let plain = zeros(&vec![2; rank], t.dtype());
    match t {
        TensorRef::Blocked(_) => {
            Some(plain.to_blocked(&Layout::native_activation(rank).ok()?).unwrap().into())
        }
        _ => Some(plain.into()),
    }
}

#[test]
fn operands_of_ranks_that_the_schema_does_not_allow_are_refused() {
    let mut count = 0;
    for (op, _, given) in valid_calls() {
        for arg in op.schema().args.iter().filter(|arg| arg.kind.is_tensor()) {
            let (rule, remedy, ranks) = match arg.ranks {
                Ranks::Any => continue,
                Ranks::Between { min, max, rule, remedy, .. } => {
                    (rule, Some(remedy), [min.checked_sub(1), max.checked_add(1)])
                }
                // Their remedy depends on the operand; tests/remedies follows it.
                Ranks::Images { min, max } => ("it has rank", None, [Some(min - 1), Some(max + 1)]),
                Ranks::SameAs { arg: other, remedy } => {
                    let Some((_, Value::Tensor(t))) = given.iter().find(|(name, _)| *name == other) else {
                        panic!("{other} of {}", op.schema())
                    };
                    let rank = t.tensor_ref().dims().len();
                    ("it has the rank of", Some(remedy), [Some(rank - 1), Some(rank + 1)])
                }
            };
            for rank in ranks.into_iter().flatten().filter(|&rank| rank <= MAX_RANK) {
                let exists = std::cell::Cell::new(true);
                let (given, tensor) = changed(&given, arg, |t| {
                    with_rank(t, rank).unwrap_or_else(|| {
                        exists.set(false);
                        t.to_tensor()
                    })
                });
                if exists.get() {
                    let e = refused(op, arg, &given, &tensor);
                    let c = e.complaint().unwrap();
                    assert!(matches!(e, Error::RankMismatch(_)) && c.rule.starts_with(rule), "{e}");
                    assert!(
                        remedy.is_none_or(|r| c.remedy.starts_with(r))
                            && c.got.ends_with(&format!("of rank {rank}")),
                        "{e}"
                    );
                    count += 1;
                }
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// That number and dtypes are the declared ones, `check_operator` compares; the conformance run does so for its cases.
#[test]
fn results_have_the_number_dtypes_and_names_that_the_schema_states() {
    for (op, key, given) in valid_calls() {
        let schema = op.schema();
        assert_eq!(blocktensor::testing::check_operator(schema.name, &given).unwrap(), None, "{schema}");
        let results = dispatch::call(schema.name, &given).unwrap();
        let (bound, tensors) = BoundOp::of_call(schema.name, &given).unwrap();
        let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
        for i in 0..results.len() {
            // The result that is wrong is named.
            let mut outputs: Vec<Tensor> = results
                .iter()
                .enumerate()
                .map(|(j, t)| {
                    let t = t.tensor_ref();
                    let dtype = if t.dtype() == DType::S8 || j != i { t.dtype() } else { DType::S8 };
                    with_dtype(t, dtype)
                })
                .collect();
            let into = outputs.iter_mut().map(Operand::tensor_mut).collect();
            let e = bound.run_into(&inputs, into, &mut Scratchpad::new()).unwrap_err();
            let name = schema.output_name(i, results.len());
            let c = e.complaint().unwrap_or_else(|| panic!("{schema} on {key}: {e}"));
            assert!(matches!(e, Error::DTypeMismatch(_)) && c.argument == name, "{schema} on {key}: {e}");
            let declared = schema.outputs.get(i).unwrap_or(&schema.outputs[0]);
            assert!(name.starts_with(declared.name), "{name} of {schema}");
        }
    }
}

#[test]
fn check_operator_finds_results_that_the_schema_does_not_state() {
    const TEST: &str = "dispatch::rules::check_operator_finds_results_that_the_schema_does_not_state";
    static SCHEMA: Schema =
        Schema::new("misdeclared", &[schema::data("x")]).with_outputs(&[schema::output_of("dst", DType::U8)]);
    static TWO: Schema = Schema::new("misdeclared_number", &[schema::data("x")])
        .with_outputs(&[schema::output_like("a", "x"), schema::output_like("b", "x")]);
    static OPS: [Op; 2] = [Op::new(&SCHEMA), Op::new(&TWO)];
    fn same(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
        results.view(args.strided(0)?.clone())
    }
    alone(TEST, &[], || {
        for op in &OPS {
            let name = op.schema().name;
            register_backend(|r| {
                r.op(op)?;
                r.kernel(name, DispatchKey::STRIDED, Kernel::rust(&same))
            })
            .unwrap();
            let given = [("x", zeros(&[2], DType::F32).into())];
            let wrong = blocktensor::testing::check_operator(name, &given).unwrap();
            assert!(wrong.is_some_and(|w| w.contains(&op.schema().to_string())));
        }
    });
}

#[test]
fn the_text_of_a_schema_has_its_rules_and_results() {
    let text = |name: &str| dispatch::op(name).unwrap().schema().to_string();
    assert_eq!(text("relu"), "relu(x: a data tensor [f32]) -> dst [as x]");
    assert_eq!(text("eq"), "eq(a: a data tensor [f32], b: a data tensor [f32]) -> dst [u8]");
    assert_eq!(
        text("gather"),
        "gather(x: a data tensor [any dtype], index: a data tensor [s32, the rank of x], axis: an integer) -> dst [as x]"
    );
    assert_eq!(
        text("split"),
        "split(x: a data tensor [any dtype], sizes: a list of integers, axis: an integer = 0) -> list of dst [as x]"
    );
    assert_eq!(
        text("sort"),
        "sort(x: a data tensor [f32], axis: an integer, descending: a flag = false) -> values [as x], indices [s32]"
    );
    let conv = text("conv2d");
    assert!(
        conv.starts_with(
            "conv2d(x: a data tensor [f32, rank 4], weights: a data tensor [f32, rank 4 to 5], bias: a 1-D strided \
             tensor or nothing [f32], residual: a data tensor or nothing [f32], channel: a list of 1-D strided tensors \
             [f32], "
        ) && conv.ends_with(") -> dst [as x]"),
        "{conv}"
    );
    assert!(text("matmul").contains("a: a data tensor [f32, rank 1 or more]"));
    // Nothing is said that the schema does not state.
    static UNSTATED: Schema = Schema::new("other", &[schema::data("x"), schema::plain("p")]);
    assert_eq!(UNSTATED.to_string(), "other(x: a data tensor, p: a strided tensor)");
    assert_eq!(dispatch::op("sort").unwrap().schema().outputs[1].dtype, OutputDType::Fixed(DType::S32));
}

/// `gather` along the only axis with indices of u8, which no kernel of this crate takes.
fn gather_u8(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (x, index) = (args.strided(0)?, args.strided(1)?);
    let dst = results.by_rule(FormatRule::Contiguous, &[x], index.dims(), DType::F32)?;
    let x = x.to_vec::<f32>()?;
    Ok(elementwise::map1_into(args.op(), dst, index, move |i: u8| x[usize::from(i)])?)
}

/// In a process of its own, as other tests check the kernels that our keys have.
#[test]
fn a_kernel_for_another_dtype_of_one_operand_is_found() {
    const TEST: &str = "dispatch::rules::a_kernel_for_another_dtype_of_one_operand_is_found";
    const U8_INDEX: Kernel = Kernel::rust(&gather_u8)
        .with_dtypes(&[DTypeTuple { operands: &[DType::F32, DType::U8], results: &[] }])
        .with_engine(Engine::Other);
    alone(TEST, &[], || {
        let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
        let wide = StridedTensor::from_slice(&[2i32, 0], &[2]).unwrap();
        let call = |x: &StridedTensor, index: &StridedTensor| {
            let given = [("x", x.clone().into()), ("axis", 0i64.into()), ("index", index.clone().into())];
            dispatch::call("gather", &given).map(|mut y| StridedTensor::from_tensor(y.remove(0)).unwrap())
        };
        let narrow = wide.to_dtype(DType::U8).unwrap();
        let e = call(&x, &narrow).unwrap_err();
        assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("indices are s32"), "{e}");
        let add = |kernel| register_backend(move |r| r.kernel("gather", DispatchKey::STRIDED, kernel));
        add(U8_INDEX).unwrap();
        for index in [&narrow, &wide] {
            assert_eq!(call(&x, index).unwrap().to_vec::<f32>().unwrap(), [3.0, 1.0], "{}", index.dtype());
        }
        // Other dtypes are refused, and the error lists those of both kernels.
        let e = call(&x, &wide.to_dtype(DType::S8).unwrap()).unwrap_err();
        assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("s32, u8"), "{e}");
        let e = call(&x.to_dtype(DType::BF16).unwrap(), &narrow).unwrap_err();
        assert_eq!(e.complaint().unwrap().argument, "index", "{e}");
        // The rules for ranks hold for every kernel.
        let e = call(&x, &zeros(&[2, 1], DType::U8)).unwrap_err();
        assert!(matches!(e, Error::RankMismatch(_)), "{e}");
        // Kernels for dtypes that are taken, and for operands that are not there, are refused.
        let e = add(U8_INDEX).unwrap_err();
        assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("these dtypes"), "{e}");
        assert!(matches!(add(Kernel::rust(&gather_u8)), Err(Error::Registration(_))));
        let e =
            add(U8_INDEX.with_dtypes(&[DTypeTuple { operands: &[DType::S8; 3], results: &[] }])).unwrap_err();
        assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("s8, s8, s8"), "{e}");
        // Both operands together choose the kernel.
        add(U8_INDEX.with_dtypes(&[DTypeTuple { operands: &[DType::S8, DType::S8], results: &[] }])).unwrap();
        let e = call(&x, &wide.to_dtype(DType::S8).unwrap()).unwrap_err();
        assert_eq!(e.complaint().unwrap().argument, "index", "{e}");
    });
}

/// Multiplies a blocked tensor by the number of elements of a plain one.
fn times_count(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (x, count) = (args.blocked(0)?, args.strided(1)?.numel());
    results.scratchpad(0)?;
    results.describe(&TensorDesc::of(TensorRef::Blocked(x)))?;
    results.view(ops::mul_scalar(x, count as f64)?)
}

#[test]
fn a_blocked_operand_goes_with_a_plain_operand_of_any_rank() {
    const TEST: &str = "dispatch::rules::a_blocked_operand_goes_with_a_plain_operand_of_any_rank";
    static SCHEMA: Schema = Schema::new(
        "times_count",
        &[schema::data("x").f32(), schema::plain("p").with_dtypes(&[DType::F32, DType::S32])],
    )
    .with_outputs(&[schema::output_like("dst", "x")]);
    static OP: Op = Op::new(&SCHEMA);
    alone(TEST, &[], || {
        register_backend(|r| {
            r.op(&OP)?;
            r.kernel("times_count", DispatchKey::BLOCKED, Kernel::rust(&times_count))
        })
        .unwrap();
        let x = StridedTensor::full(&[1, 5, 2, 2], 3f32, MemoryFormat::Contiguous).unwrap();
        let x: BlockedTensor = x.to_blocked(&Layout::native().0).unwrap();
        for rank in 0..=MAX_RANK {
            for dtype in [DType::F32, DType::S32] {
                let p = zeros(&vec![2; rank], dtype);
                let given = [("x", Value::from(x.clone())), ("p", p.into())];
                let Tensor::Blocked(y) = dispatch::call("times_count", &given).unwrap().remove(0) else {
                    panic!("rank {rank}")
                };
                let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(y, [3.0 * f32::powi(2.0, rank as i32); 20], "rank {rank}");
                assert_eq!(blocktensor::testing::check_operator("times_count", &given).unwrap(), None);
            }
        }
        let call =
            |p: Value| dispatch::call("times_count", &[("x", x.clone().into()), ("p", p)]).unwrap_err();
        let e = call(zeros(&[2], DType::U8).into());
        assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("it is f32 or s32"), "{e}");
        let e = call(x.clone().into());
        assert!(matches!(e, Error::KeyMismatch(_)) && e.complaint().unwrap().argument == "p", "{e}");
    });
}

/// What counts from 1 is not told to be 0 or more.
#[test]
fn negative_counts_are_told_the_least_that_an_op_takes() {
    let x = || Value::from(zeros(&[1, 4, 8, 8], DType::F32));
    let weights = || Value::from(zeros(&[4, 4, 3, 3], DType::F32));
    let conv = |name: &'static str| ("conv2d", name, vec![("x", x()), ("weights", weights())]);
    let pool = |op: &'static str, name: &'static str| {
        let kernel = Some(("kernel", Value::from(2i64))).filter(|_| name != "kernel");
        (op, name, [("x", x())].into_iter().chain(kernel).collect())
    };
    let plain = |op: &'static str, name: &'static str| (op, name, vec![("x", x())]);
    let from_one = [
        conv("stride"),
        conv("dilation"),
        conv("groups"),
        pool("max_pool2d", "kernel"),
        pool("max_pool2d", "stride"),
        pool("max_pool2d", "dilation"),
        pool("avg_pool2d", "kernel"),
        pool("avg_pool2d", "stride"),
        plain("group_norm", "groups"),
        plain("channel_shuffle", "groups"),
        plain("pixel_shuffle", "factor"),
        plain("local_response_norm", "size"),
        ("chunk", "chunks", vec![("x", x()), ("axis", Value::from(1i64))]),
        ("slice", "step", vec![("x", x()), ("axis", Value::from(1i64))]),
    ];
    let from_zero = [conv("padding"), plain("adaptive_avg_pool2d", "output")];
    let told = [("it counts from 1", "pass 1 or more"), ("negative", "pass 0 or more")];
    for (cases, (rule, remedy)) in [&from_one[..], &from_zero].into_iter().zip(told) {
        for (op, name, given) in cases {
            let given: Given = [&given[..], &[(*name, Value::from(-1i64))]].concat();
            let e = dispatch::call(op, &given).unwrap_err();
            let c = e.complaint().unwrap();
            assert!(c.argument == *name && c.rule.to_string().contains(rule), "{op}: {e}");
            assert_eq!(c.remedy.to_string(), remedy, "{op}: {e}");
        }
    }
}
