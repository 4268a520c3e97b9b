//! The list of implementations of an op: dtypes of operands and results together, the machine, and quantisation choose one.

use blocktensor::DType::{BF16, F16, F32, S8, S32, U8};
use blocktensor::MemoryFormat::Contiguous;
use blocktensor::dispatch::{
    self, Args, DTypeTuple, DispatchKey, Engine, Isa, Kernel, KernelResult, Op, Registrar, Results, Schema,
    Value, register_backend, schema,
};
use blocktensor::{
    BoundOp, DType, Element, Error, FormatRule, Operand, Operator, Quantization, Result, Scratchpad,
    StridedTensor, Tensor, TensorDesc, TensorRef, elementwise, ops,
};

use super::engines::{Given, calls};
use crate::support::{alone, element_bytes};

const STRIDED: DispatchKey = DispatchKey::STRIDED;

fn zeros(dims: &[usize], dtype: DType) -> StridedTensor {
    StridedTensor::zeros(dims, dtype, Contiguous).unwrap()
}

/// Kernels for u8 by s8, once for each dtype of the result.
fn product<O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    of: impl Fn(i32) -> O + Sync,
) -> KernelResult {
    let (a, b) = (args.strided(0)?, args.strided(1)?);
    let dst = results.in_any_strides(FormatRule::ElementWise, &[a, b], a.dims(), O::DTYPE)?;
    Ok(elementwise::map2_into(args.op(), dst, a, b, |a: u8, b: i8| of(i32::from(a) * i32::from(b)))?)
}

#[test]
fn dtypes_of_operands_and_results_choose_together() {
    const TEST: &str = "dispatch::implementations::dtypes_of_operands_and_results_choose_together";
    const TO_S32: Kernel = Kernel::rust(&|args, results| product(args, results, |v| v))
        .with_dtypes(&[DTypeTuple { operands: &[U8, S8], results: &[S32] }]);
    const TO_U8: Kernel = Kernel::rust(&|args, results| product(args, results, |v| v.clamp(0, 255) as u8))
        .with_dtypes(&[DTypeTuple { operands: &[U8, S8], results: &[U8] }]);
    alone(TEST, &[], || {
        let add = |kernel: Kernel| {
            register_backend(move |r| r.kernel("mul", STRIDED, kernel.with_engine(Engine::Other)))
        };
        add(TO_S32).unwrap();
        add(TO_U8).unwrap();
        let a = StridedTensor::from_slice(&[200u8, 3, 0, 7], &[2, 2]).unwrap();
        let b = StridedTensor::from_slice(&[2i8, -5, 9, 1], &[2, 2]).unwrap();
        let mul = BoundOp::new("mul", &["a", "b"], &[]).unwrap();
        let call = |a: &StridedTensor, b: &StridedTensor| -> Result<Tensor> {
            let given = [("a", a.clone().into()), ("b", b.clone().into())];
            dispatch::call("mul", &given).map(|mut y| y.remove(0))
        };
        // The first kernel that takes the operands makes new results ...
        let Tensor::Strided(y) = call(&a, &b).unwrap() else { panic!("strided") };
        assert_eq!(y.to_vec::<i32>().unwrap(), [400, -15, 0, 7]);
        let given = [("a", Value::from(a.clone())), ("b", b.clone().into())];
        assert_eq!(blocktensor::testing::check_operator("mul", &given).unwrap(), None);
        // ... and the caller's tensors choose among those that do.
        let into = |dtype| {
            let mut dst = Tensor::from(zeros(&[2, 2], dtype));
            let inputs = [a.tensor_ref(), b.tensor_ref()];
            mul.run_into(&inputs, vec![dst.tensor_mut()], &mut Scratchpad::new()).map(|()| dst)
        };
        assert_eq!(element_bytes(&into(U8).unwrap()), [255, 0, 0, 7]);
        assert_eq!(element_bytes(&into(S32).unwrap()), element_bytes(&y.into()));
        let e = into(BF16).unwrap_err();
        let c = e.complaint().unwrap();
        assert!(matches!(e, Error::DTypeMismatch(_)) && c.argument == "dst" && c.rule.contains("s32"), "{e}");
        // Dtypes that kernels take one by one, but not together.
        let f32s = zeros(&[2, 2], F32);
        for (a, b, rule) in
            [(&a, &f32s, "takes s8 beside `a` of u8"), (&f32s, &b, "takes f32 beside `a` of f32")]
        {
            let e = call(a, b).unwrap_err();
            let c = e.complaint().unwrap();
            assert!(matches!(e, Error::DTypeMismatch(_)) && c.argument == "b", "{e}");
            assert!(c.rule.ends_with(rule) && c.remedy.contains("to_dtype"), "{e}");
        }
        // Dtypes that none takes.
        let e = call(&zeros(&[2, 2], F16), &b).unwrap_err();
        assert!(
            matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("takes f32, bf16, u8"),
            "{e}"
        );
        let e = call(&a, &zeros(&[2, 2], F16)).unwrap_err();
        assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("takes s8;"), "{e}");
        // Another result is another implementation. Shorter lists stand for what the schema states.
        let tuple =
            |operands, results| TO_S32.with_dtypes(Box::leak(Box::new([DTypeTuple { operands, results }])));
        for taken in [TO_U8, tuple(&[F32], &[]), tuple(&[], &[F32]), Kernel::rust(&|_, _| unreachable!())] {
            assert!(matches!(add(taken), Err(Error::Registration(_))));
        }
        for too_long in [tuple(&[BF16; 3], &[]), tuple(&[BF16; 2], &[BF16; 2])] {
            let e = add(too_long).unwrap_err();
            assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("bf16, bf16"), "{e}");
        }
        add(tuple(&[U8, S8], &[F32])).unwrap();
        add(tuple(&[F32], &[U8])).unwrap();
        assert_eq!(dispatch::op("mul").unwrap().kernels(STRIDED).count(), 5);
    });
}

/// The first operand plus a number.
fn plus(args: &Args<'_>, results: &mut Results<'_>, number: f32) -> KernelResult {
    let x = args.strided(0)?;
    let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), F32)?;
    Ok(elementwise::map1_into(args.op(), dst, x, move |v: f32| v + number)?)
}

#[test]
fn implementations_that_the_machine_lacks_the_instructions_for_are_not_asked() {
    const TEST: &str = "dispatch::implementations::implementations_that_the_machine_lacks_the_instructions_for_are_not_asked";
    static SCHEMA: Schema = Schema::new("of_level", &[schema::data("x")]);
    static OP: Op = Op::new(&SCHEMA);
    const AVX512: Kernel = Kernel::rust(&|a, r| plus(a, r, 512.0)).with_isa(Isa::Avx512);
    const AVX2: Kernel = Kernel::rust(&|a, r| plus(a, r, 2.0)).with_isa(Isa::Avx2);
    const PORTABLE: Kernel = Kernel::rust(&|a, r| plus(a, r, 1.0));
    for allowed in ["SSE41", "AVX2", "ALL"] {
        let child = alone(TEST, &[("ONEDNN_MAX_CPU_ISA", allowed)], || {
            let allowed = std::env::var("ONEDNN_MAX_CPU_ISA").unwrap();
            let blocked_only = DispatchKey::BLOCKED;
            register_backend(|r: &mut dyn Registrar| {
                r.op(&OP)?;
                [AVX512, AVX2, PORTABLE].into_iter().try_for_each(|k| r.kernel("of_level", STRIDED, k))?;
                r.kernel("of_level", blocked_only, AVX512)
            })
            .unwrap();
            let (number, kernels) = match () {
                () if Isa::Avx512.is_here() => (512.0, 3),
                () if Isa::Avx2.is_here() => (2.0, 2),
                () => (1.0, 1),
            };
            assert!(allowed != "SSE41" || number == 1.0);
            assert!(allowed != "AVX2" || number < 3.0);
            let x = zeros(&[2], F32);
            let y = dispatch::call("of_level", &[("x", x.clone().into())]).unwrap().remove(0);
            assert_eq!(element_bytes(&y), bytemuck::cast_slice::<f32, u8>(&[number; 2]));
            assert_eq!((OP.kernels(STRIDED).count(), OP.implementations().count()), (kernels, 4));
            // A key whose kernels all need more has none, and a host that calls one by itself hears so.
            assert_eq!(OP.kernel(blocked_only).is_some(), Isa::Avx512.is_here());
            let values = [dispatch::Arg::Tensor(x.tensor_ref())];
            let args = Args::new(&OP, &values).unwrap();
            assert_eq!(AVX512.call(&args).unwrap().is_some(), Isa::Avx512.is_here());
        });
        if child.is_none() {
            return;
        }
    }
}

#[test]
fn every_op_refuses_quantised_operands_that_its_kernels_do_not_read() {
    let (mut count, mut readers) = (0, Vec::new());
    for op in dispatch::ops() {
        for key in [STRIDED, DispatchKey::BLOCKED] {
            // Ops of other crates, which other tests register, state no outputs.
            if op.kernel(key).is_none() || op.schema().outputs.is_empty() {
                continue;
            }
            if op.kernels(key).any(|kernel| kernel.reads_quantization) {
                readers.push((op.schema().name, key));
                continue;
            }
            for (_, given) in [F32, U8, S8, S32].iter().flat_map(|dtype| calls(op, key, &[*dtype])) {
                count += refused_quantized(op, key, &given);
            }
        }
    }
    assert!(count > 100, "{count}");
    // Those that read scales have tests of their own.
    let of =
        |key| readers.iter().filter(move |(_, of)| *of == key).map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(of(DispatchKey::BLOCKED), ["chunk", "dequantize", "requantize", "split"]);
    let mut views = VIEWS.to_vec();
    views.extend(["chunk", "dequantize", "requantize", "split"]);
    views.sort_unstable();
    assert_eq!(of(STRIDED), views);
}

/// The ops that are methods of strided tensors.
const VIEWS: [&str; 11] = [
    "expand",
    "flatten",
    "narrow",
    "permute",
    "reshape",
    "select",
    "slice",
    "squeeze",
    "transpose",
    "unsqueeze",
    "view",
];

/// Gives each operand of integers scales, for a call that is valid without. The number of operands.
fn refused_quantized(op: &Op, key: DispatchKey, given: &Given) -> usize {
    let (bound, tensors) = BoundOp::of_call(op.schema().name, given).unwrap();
    let plain: Vec<TensorDesc> = tensors.iter().map(|t| TensorDesc::of(t.tensor_ref())).collect();
    if bound.infer(&plain).is_err() {
        return 0;
    }
    let mut count = 0;
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.tensor_ref().dtype().is_float() {
            continue;
        }
        let mut operands = tensors.clone();
        operands[i] = tensor.quantized(Quantization::per_tensor(0.5, 3)).unwrap();
        let refs: Vec<TensorRef<'_>> = operands.iter().map(Operand::tensor_ref).collect();
        let descs: Vec<TensorDesc> = refs.iter().map(|&t| TensorDesc::of(t)).collect();
        let e = bound.run(&refs).expect_err(op.schema().name);
        assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
        let c = e.complaint().unwrap();
        assert_eq!((&*c.op, &*c.argument), (op.schema().name, bound.inputs()[i]), "{e}");
        assert!(c.rule.contains(key.name()) && c.rule.contains("zero points"), "{e}");
        assert!(c.got.contains("quantised"), "{e}");
        assert_eq!(bound.infer(&descs).unwrap_err(), e);
        assert_eq!(bound.scratchpad_bytes(&descs).unwrap_err(), e);
        count += 1;
    }
    count
}

#[test]
fn a_kernel_that_reads_quantisation_is_asked_about_quantised_operands() {
    const TEST: &str =
        "dispatch::implementations::a_kernel_that_reads_quantisation_is_asked_about_quantised_operands";
    const READS: Kernel = Kernel::rust(&|args, results| {
        let x = args.strided(0)?;
        let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), S32)?;
        Ok(elementwise::map1_into(args.op(), dst, x, |v: u8| i32::from(v))?)
    })
    .with_engine(Engine::Other)
    .reading_quantization();
    static SCHEMA: Schema =
        Schema::new("of_quantised", &[schema::data("x")]).with_outputs(&[schema::output_like("dst", "x")]);
    static OP: Op = Op::new(&SCHEMA);
    alone(TEST, &[], || {
        let add = |kernel| {
            register_backend(move |r| r.op(&OP).and_then(|()| r.kernel("of_quantised", STRIDED, kernel)))
        };
        add(Kernel::rust(&|_, _| unreachable!("it does not read scales"))
            .with_dtypes(&[DTypeTuple { operands: &[U8], results: &[] }]))
        .unwrap();
        let x = zeros(&[2, 2], U8);
        let op = BoundOp::new("of_quantised", &["x"], &[]).unwrap();
        let x = x.quantized(Quantization::per_tensor(0.5, 3)).unwrap();
        let ask = || op.infer(&[TensorDesc::of(x.tensor_ref())]);
        assert!(ask().unwrap_err().to_string().contains("quantised"));
        // One that reads them, but for other dtypes.
        add(READS).unwrap();
        assert!(ask().is_err());
        add(READS.with_dtypes(&[DTypeTuple { operands: &[U8], results: &[S32] }])).unwrap();
        assert_eq!(ask().unwrap(), [TensorDesc::strided(&[2, 2], S32, Contiguous).unwrap()]);
    });
}

#[test]
fn the_kernel_for_the_dtypes_states_the_preferred_formats() {
    const TEST: &str = "dispatch::implementations::the_kernel_for_the_dtypes_states_the_preferred_formats";
    const TURNED: Kernel = Kernel::rust(&|_, _| unreachable!("only asked for formats"))
        .with_dtypes(&[DTypeTuple { operands: &[S32], results: &[] }])
        .with_preferred(&|_, _, _, inputs| {
            inputs.iter().map(|x| TensorDesc::with_strides(x.dims(), x.dtype(), &[1, 2])).collect()
        });
    alone(TEST, &[], || {
        register_backend(|r| r.kernel("relu", STRIDED, TURNED)).unwrap();
        let relu = BoundOp::new("relu", &["x"], &[]).unwrap();
        for (dtype, strides) in [(S32, [1, 2]), (F32, [3, 1]), (BF16, [3, 1])] {
            let x = TensorDesc::strided(&[2, 3], dtype, Contiguous).unwrap();
            let wanted = relu.preferred(STRIDED, &[x]).unwrap().unwrap();
            assert_eq!(wanted[0].strides().unwrap(), strides, "{dtype}");
        }
    });
}

#[test]
fn a_list_of_tensors_has_one_dtype() {
    let (a, b) = (zeros(&[2, 2], F32), zeros(&[2, 2], U8));
    for e in [ops::cat(&[&a, &a, &b], 0).unwrap_err(), ops::stack(&[&a, &a, &b], 0).unwrap_err()] {
        let c = e.complaint().unwrap();
        assert!(matches!(e, Error::DTypeMismatch(_)) && c.argument == "tensors", "{e}");
        assert!(c.got.ends_with("number 2 of the list"), "{e}");
        assert!(c.rule.ends_with("takes f32 beside `tensors` of f32"), "{e}");
    }
    let x = zeros(&[1, 1, 2, 2], F32);
    let e = ops::conv2d(&x, &x.to_dtype(U8).unwrap(), None, &ops::Conv2d::new()).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)) && e.complaint().unwrap().argument == "weights", "{e}");
}
