//! Operators: outputs of the caller that `run_into` refuses, bad operands that `infer` and `run` refuse with the same error, and
//! the order in which kernels of several backends are asked.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::dispatch::{
    self, DTypeTuple, DispatchKey, Engine, Kernel, KernelResult, Op, Results, Schema, Stop, Value,
    register_backend, schema,
};
use blocktensor::{
    BoundOp, DType, Error, FormatRule, Layout, MemoryFormat, Operand, Operator, Result, Scratchpad,
    StridedTensor, Tensor, TensorDesc, TensorRef, elementwise, ledger,
};
use blocktensor_third_backend::Reversed;

use crate::catalogue::cases::{Case, cases};
use crate::support::{alone, element_bytes};

use MemoryFormat::{ChannelsLast, Contiguous};

fn image(dims: &[usize], format: MemoryFormat) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i * 37 % 23) as f32 - 11.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap().contiguous(format).unwrap()
}

/// A tensor of this description, full of one value.
fn output(desc: &TensorDesc) -> Tensor {
    match (desc.layout(), desc.dtype()) {
        (Some(layout), DType::F32) => {
            blocktensor::BlockedTensor::full(desc.dims(), 7f32, layout).unwrap().into()
        }
        (Some(layout), dtype) => blocktensor::BlockedTensor::ones(desc.dims(), dtype, layout).unwrap().into(),
        (None, dtype) => {
            let dense = StridedTensor::ones(desc.dims(), dtype, Contiguous).unwrap();
            let format = [ChannelsLast, Contiguous]
                .into_iter()
                .find(|format| dense.contiguous(*format).is_ok_and(|t| Some(t.strides()) == desc.strides()));
            dense.contiguous(format.expect("a dense result")).unwrap().into()
        }
    }
}

/// Calls `run_into`. If it is an error, checks that the outputs keep their bytes.
fn run_into(op: &BoundOp, inputs: &[TensorRef<'_>], outputs: &mut [Tensor]) -> Result<()> {
    let bytes = |outputs: &[Tensor]| outputs.iter().map(element_bytes).collect::<Vec<_>>();
    let before = bytes(outputs);
    let places = outputs.iter_mut().map(Operand::tensor_mut).collect();
    let done = op.run_into(inputs, places, &mut Scratchpad::new());
    if let Err(e) = &done {
        assert!(bytes(outputs) == before, "{op}: an output has changed: {e}");
    }
    done
}

#[track_caller]
fn assert_code(result: Result<()>, code: i32, op: &BoundOp, what: &str) {
    let e = result.expect_err(what);
    assert_eq!(e.code(), code, "{op}, {what}: {e}");
    let c = e.complaint().unwrap();
    assert_eq!(c.op, op.op(), "{what}: {e}");
}

const SHAPE: i32 = 7;
const DTYPE: i32 = 5;
const LAYOUT: i32 = 3;
const KEY: i32 = 2;
const COUNT: i32 = 8;
const OVERLAP: i32 = 12;
const ALIASING: i32 = 13;

/// Ops with one result: one with prescribed strides, one that writes into any strides, one whose result is a view, and a
/// convolution.
fn ops_with_operands(x: &Tensor, weights: &Tensor) -> Vec<(BoundOp, Vec<Tensor>)> {
    let bind = |op: &str, params: &[(&str, Value)]| BoundOp::new(op, &["x"], params).unwrap();
    let mut list = vec![
        (bind("max_pool2d", &[("kernel", vec![2i64, 2].into())]), vec![x.clone()]),
        (bind("relu", &[]), vec![x.clone()]),
        (BoundOp::new("conv2d", &["x", "weights"], &[]).unwrap(), vec![x.clone(), weights.clone()]),
    ];
    if let Tensor::Strided(_) = x {
        list.push((bind("permute", &[("axes", vec![0i64, 1, 3, 2].into())]), vec![x.clone()]));
    }
    list
}

/// A source and convolution weights in every layout, with the name of the layout.
fn forms() -> Vec<(&'static str, Tensor, Tensor)> {
    let (x, w) = (image(&[1, 32, 4, 6], Contiguous), image(&[16, 32, 3, 3], Contiguous));
    let (activations, weights) = Layout::native();
    vec![
        ("contiguous", x.clone().into(), w.clone().into()),
        (
            "channels_last",
            x.contiguous(ChannelsLast).unwrap().into(),
            w.contiguous(ChannelsLast).unwrap().into(),
        ),
        ("blocked", x.to_blocked(&activations).unwrap().into(), w.to_blocked(&weights).unwrap().into()),
    ]
}

#[test]
fn run_into_refuses_outputs_of_another_count_shape_dtype_layout_or_key_and_leaves_them() {
    let mut written = 0;
    for (form, x, w) in forms() {
        for (op, operands) in ops_with_operands(&x, &w) {
            let inputs: Vec<TensorRef<'_>> = operands.iter().map(Operand::tensor_ref).collect();
            let descs: Vec<TensorDesc> = inputs.iter().map(|&t| TensorDesc::of(t)).collect();
            // A build without the engine has no kernel for some convolutions.
            let Ok(results) = op.run(&inputs) else { continue };
            let desc = op.infer(&descs).unwrap().remove(0);
            let refuse = |outputs: &mut [Tensor], code, what: &str| {
                assert_code(run_into(&op, &inputs, outputs), code, &op, &format!("{form}, {what}"));
            };
            let dims = desc.dims().to_vec();
            let of = |dims: &[usize], dtype| match desc.layout() {
                Some(layout) => output(&TensorDesc::blocked(dims, dtype, layout).unwrap()),
                None => output(&TensorDesc::strided(dims, dtype, Contiguous).unwrap()),
            };

            refuse(&mut [], COUNT, "no output");
            refuse(&mut [of(&dims, DType::F32), of(&dims, DType::F32)], COUNT, "two outputs");
            let longer = [&dims[..3], &[dims[3] + 1]].concat();
            refuse(&mut [of(&longer, DType::F32)], SHAPE, "another shape");
            if desc.layout().is_none() {
                refuse(&mut [of(&dims[1..], DType::F32)], SHAPE, "another rank");
            }
            refuse(&mut [of(&dims, DType::S32)], DTYPE, "another dtype");

            let strided = output(&TensorDesc::strided(&dims, DType::F32, Contiguous).unwrap());
            let reversed = |dims: &[usize]| {
                Reversed::from_strided(&image(dims, Contiguous)).unwrap().tensor_ref().to_tensor()
            };
            match desc.layout() {
                Some(layout) => {
                    refuse(&mut [strided], KEY, "a strided output");
                    let other = if *layout == Layout::NCHW16C { Layout::NCHW8C } else { Layout::NCHW16C };
                    let blocked = TensorDesc::blocked(&dims, DType::F32, &other).unwrap();
                    refuse(&mut [output(&blocked)], LAYOUT, "another block");
                }
                None => {
                    let blocked = TensorDesc::blocked(&dims, DType::F32, &Layout::NCHW16C).unwrap();
                    refuse(&mut [output(&blocked)], KEY, "a blocked output");
                    // `relu` writes into any strides, and so does the copy of a view.
                    if !matches!(op.op(), "relu" | "permute") {
                        let other = if form == "contiguous" { ChannelsLast } else { Contiguous };
                        let other = TensorDesc::strided(&dims, DType::F32, other).unwrap();
                        refuse(&mut [output(&other)], LAYOUT, "other strides");
                    }
                }
            }
            // Only its backend can read its bytes, so they are not compared.
            let mut foreign = reversed(&dims);
            let places = vec![foreign.tensor_mut()];
            let done = op.run_into(&inputs, places, &mut Scratchpad::new());
            assert_code(done, KEY, &op, &format!("{form}, an output of another backend"));

            let mut right = [match &results[0] {
                Tensor::Strided(t) if !t.is_non_overlapping_and_dense() || op.op() == "permute" => {
                    strided_like(t)
                }
                _ => output(&desc),
            }];
            run_into(&op, &inputs, &mut right).unwrap();
            assert!(element_bytes(&right[0]) == element_bytes(&results[0]), "{form}, {op}");
            written += 1;
        }
    }
    assert!(written >= 9, "{written}");
}

fn strided_like(t: &StridedTensor) -> Tensor {
    StridedTensor::full(t.dims(), 7f32, Contiguous).unwrap().into()
}

#[test]
fn run_into_refuses_outputs_whose_memory_is_shared_or_overlaps_and_leaves_them() {
    for (form, x, w) in forms() {
        for (op, operands) in ops_with_operands(&x, &w) {
            let inputs: Vec<TensorRef<'_>> = operands.iter().map(Operand::tensor_ref).collect();
            let Ok(results) = op.run(&inputs) else { continue };
            let desc = TensorDesc::of(results[0].tensor_ref());
            let dims = desc.dims().to_vec();
            let fresh = || if op.op() == "permute" { output(&dense(&dims)) } else { output(&desc) };

            let mut shared = [fresh()];
            let other = shared[0].clone();
            let done = run_into(&op, &inputs, &mut shared);
            assert_code(done, ALIASING, &op, &format!("{form}, a clone is alive"));
            drop(other);
            run_into(&op, &inputs, &mut shared).unwrap();
            assert!(element_bytes(&shared[0]) == element_bytes(&results[0]), "{form}, {op}");

            // `relu` writes into any strides, and so does the copy of a view. The others refuse the strides first.
            if let ("relu" | "permute", Tensor::Strided(_)) = (op.op(), &results[0]) {
                let row = [&dims[..3], &[1]].concat();
                let expanded = StridedTensor::full(&row, 7f32, Contiguous).unwrap().expand(&dims).unwrap();
                let done = run_into(&op, &inputs, &mut [expanded.into()]);
                assert_code(done, OVERLAP, &op, &format!("{form}, overlapping strides"));
            }
        }
        // A clone of the operand as the output shares its storage.
        let relu = BoundOp::new("relu", &["x"], &[]).unwrap();
        let done = run_into(&relu, &[x.tensor_ref()], &mut [x.clone()]);
        assert_code(done, ALIASING, &relu, &format!("{form}, the operand itself"));
    }
}

fn dense(dims: &[usize]) -> TensorDesc {
    TensorDesc::strided(dims, DType::F32, Contiguous).unwrap()
}

#[test]
fn run_into_names_the_output_of_several_that_is_wrong_and_writes_none() {
    let x = image(&[2, 8, 3, 3], Contiguous);
    let vector = image(&[8], Contiguous);
    let train = BoundOp::new("batch_norm_train", &["x", "running_mean", "running_var"], &[]).unwrap();
    let chunk = BoundOp::new("chunk", &["x"], &[("chunks", 2.into()), ("axis", 1.into())]).unwrap();
    let all = [x.tensor_ref(), vector.tensor_ref(), vector.tensor_ref()];
    let named = [(train, ["y", "new_running_mean", "new_running_var"]), (chunk, ["dst 0", "dst 1", ""])];
    for (op, names) in named {
        let inputs = &all[..op.inputs().len()];
        let descs: Vec<TensorDesc> = op
            .infer(&inputs.iter().map(|&t| TensorDesc::of(t)).collect::<Vec<_>>())
            .unwrap()
            .iter()
            .map(|desc| dense(desc.dims()))
            .collect();
        assert!(descs.len() > 1, "{op}");
        let outputs = || descs.iter().map(output).collect::<Vec<_>>();
        assert_code(run_into(&op, inputs, &mut outputs()[1..]), COUNT, &op, "one output fewer");
        for i in 0..descs.len() {
            let mut wrong = outputs();
            wrong[i] = output(&dense(&[3]));
            let e = run_into(&op, inputs, &mut wrong).unwrap_err();
            assert_eq!((e.code(), &*e.complaint().unwrap().argument), (SHAPE, names[i]), "{op}: {e}");
        }
        let mut right = outputs();
        run_into(&op, inputs, &mut right).unwrap();
        let want = op.run(inputs).unwrap();
        assert!(right.iter().map(element_bytes).eq(want.iter().map(element_bytes)), "{op}");
    }
}

/// The bad calls by name of the catalogue. Those that can be bound give the same error from `infer`, `scratchpad_bytes`, `run`
/// and `run_into`.
#[test]
fn infer_and_run_refuse_bad_operands_with_the_same_error() {
    let (mut not_bound, mut of_values, mut same) = (0, BTreeSet::new(), 0);
    for Case(row, name, given, code, _) in cases() {
        let Ok((op, operands)) = BoundOp::of_call(name, &given) else {
            not_bound += 1;
            continue;
        };
        let inputs: Vec<TensorRef<'_>> = operands.iter().map(Operand::tensor_ref).collect();
        let descs: Vec<TensorDesc> = inputs.iter().map(|&t| TensorDesc::of(t)).collect();
        let by_run = op.run(&inputs).map(|_| ()).expect_err(name);
        assert_eq!(by_run.code(), code, "row {row}, {op}: {by_run}");
        match op.infer(&descs) {
            Err(e) => assert_eq!(e, by_run, "row {row}, {op}"),
            Ok(_) => {
                of_values.insert(name);
                continue;
            }
        }
        let into = op.run_into(&inputs, Vec::new(), &mut Scratchpad::new());
        assert_eq!(into.unwrap_err(), by_run, "row {row}, {op}");
        assert_eq!(op.scratchpad_bytes(&descs).unwrap_err(), by_run, "row {row}, {op}");
        same += 1;
    }
    // `var + eps`, scales, zero points, and weights and bias of integers have rules, but `infer` has no elements to check.
    assert!(of_values.into_iter().eq([
        "batch_norm",
        "conv2d",
        "dequantize",
        "linear",
        "quantize",
        "requantize"
    ]));
    assert!(same > 60 && not_bound < 20, "{same} {not_bound}");
}

#[test]
fn another_number_of_inputs_is_refused_before_and_at_a_run() {
    let x = image(&[1, 16, 2, 2], Contiguous);
    let op = BoundOp::new("add", &["a", "b"], &[]).unwrap();
    let desc = TensorDesc::of(x.tensor_ref());
    let all = [
        op.infer(std::slice::from_ref(&desc)).map(|_| ()).unwrap_err(),
        op.scratchpad_bytes(std::slice::from_ref(&desc)).map(|_| ()).unwrap_err(),
        op.preferred(DispatchKey::STRIDED, std::slice::from_ref(&desc)).map(|_| ()).unwrap_err(),
        op.run(&[x.tensor_ref()]).map(|_| ()).unwrap_err(),
        op.run_into(&[x.tensor_ref()], Vec::new(), &mut Scratchpad::new()).unwrap_err(),
    ];
    for e in &all {
        assert_eq!(e, &all[0]);
        assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("1 tensors"), "{e}");
    }
}

/// `relu` for s32, which no kernel of this crate takes.
fn relu_s32(args: &dispatch::Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let x = args.strided(0)?;
    let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), DType::S32)?;
    Ok(elementwise::map1_into("relu", dst, x, |v: i32| v.max(0))?)
}

/// In a process of its own, as other tests check the kernels that our keys have.
#[test]
fn a_kernel_that_another_backend_adds_for_its_own_dtype_is_asked() {
    const TEST: &str = "dispatch::operator::a_kernel_that_another_backend_adds_for_its_own_dtype_is_asked";
    const F32: DTypeTuple = DTypeTuple { operands: &[DType::F32], results: &[] };
    const RELU_S32: Kernel = Kernel::rust(&relu_s32)
        .with_dtypes(&[DTypeTuple { operands: &[DType::S32], results: &[] }])
        .with_engine(Engine::Other);
    alone(TEST, &[], || {
        let x = StridedTensor::from_slice(&[-3i32, 4, -5, 6], &[2, 2]).unwrap();
        let relu = BoundOp::new("relu", &["x"], &[]).unwrap();
        let refused = |t: &StridedTensor| {
            let e = relu.run(&[t.tensor_ref()]).map(|_| ()).unwrap_err();
            assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
            assert_eq!(relu.infer(&[TensorDesc::of(t.tensor_ref())]).unwrap_err(), e);
            e.to_string()
        };
        assert!(refused(&x).contains("f32"));
        let add = |kernel| register_backend(move |r| r.kernel("relu", DispatchKey::STRIDED, kernel));
        add(RELU_S32).unwrap();

        let y = relu.run(&[x.tensor_ref()]).unwrap().remove(0);
        let Tensor::Strided(y) = &y else { panic!("{y:?}") };
        assert_eq!(y.to_vec::<i32>().unwrap(), [0, 4, 0, 6]);
        assert_eq!(relu.infer(&[TensorDesc::of(x.tensor_ref())]).unwrap(), [TensorDesc::of(y.tensor_ref())]);
        let mut into = [StridedTensor::zeros(&[2, 2], DType::S32, Contiguous).unwrap().into()];
        run_into(&relu, &[x.tensor_ref()], &mut into).unwrap();
        assert!(element_bytes(&into[0]) == element_bytes(&y.clone().into()));

        // Ours still runs f32, other dtypes are refused, and the error lists those of both kernels.
        let ours = dispatch::call("relu", &[("x", image(&[2, 2], Contiguous).into())]).unwrap();
        assert_eq!(ours[0].tensor_ref().dtype(), DType::F32);
        let text = refused(&x.to_dtype(DType::U8).unwrap());
        assert!(text.contains("f32") && text.contains("s32"), "{text}");
        // Another kernel for a dtype that is taken is refused.
        for taken in [
            RELU_S32,
            RELU_S32.with_dtypes(&[F32]),
            RELU_S32.with_dtypes(&[DTypeTuple { operands: &[DType::U8], results: &[] }, F32]),
        ] {
            assert!(matches!(add(taken), Err(Error::Registration(_))));
        }
    });
}

static FIRST: AtomicUsize = AtomicUsize::new(0);
static SECOND: AtomicUsize = AtomicUsize::new(0);

fn add_number(args: &dispatch::Args<'_>, results: &mut Results<'_>, number: f32) -> KernelResult {
    let x = args.strided(0)?;
    let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), DType::F32)?;
    Ok(elementwise::map1_into(args.op(), dst, x, move |v: f32| v + number)?)
}

/// Declines all but one dimension.
fn first_kernel(args: &dispatch::Args<'_>, results: &mut Results<'_>) -> KernelResult {
    FIRST.fetch_add(1, SeqCst);
    if args.strided(0)?.rank() != 1 {
        return Err(Stop::Declined);
    }
    add_number(args, results, 1.0)
}

/// Declines more than two dimensions.
fn second_kernel(args: &dispatch::Args<'_>, results: &mut Results<'_>) -> KernelResult {
    SECOND.fetch_add(1, SeqCst);
    if args.strided(0)?.rank() > 2 {
        return Err(Stop::Declined);
    }
    add_number(args, results, 2.0)
}

#[test]
fn a_kernel_that_declines_passes_the_call_to_the_next_kernel() {
    const TEST: &str = "dispatch::operator::a_kernel_that_declines_passes_the_call_to_the_next_kernel";
    static SCHEMA: Schema = Schema::new("declining", &[schema::data("x")]);
    static DECLINING: Op = Op::new(&SCHEMA);
    alone(TEST, &[], || {
        register_backend(|r| {
            r.op(&DECLINING)?;
            r.kernel("declining", DispatchKey::STRIDED, Kernel::rust(&first_kernel))?;
            r.kernel("declining", DispatchKey::STRIDED, Kernel::rust(&second_kernel))
        })
        .unwrap();
        let op = BoundOp::new("declining", &["x"], &[]).unwrap();
        let asked = || (FIRST.swap(0, SeqCst), SECOND.swap(0, SeqCst));
        for (dims, added, kernels) in [(&[4][..], 1.0, (1, 0)), (&[2, 2], 2.0, (1, 1))] {
            let x = StridedTensor::full(dims, 10f32, Contiguous).unwrap();
            let y = StridedTensor::from_tensor(op.run(&[x.tensor_ref()]).unwrap().remove(0)).unwrap();
            assert_eq!((y.to_vec::<f32>().unwrap(), asked()), (vec![10.0 + added; 4], kernels));
            assert_eq!(
                op.infer(&[TensorDesc::of(x.tensor_ref())]).unwrap(),
                [TensorDesc::of(y.tensor_ref())]
            );
            assert_eq!(asked(), kernels);
            let mut into = [StridedTensor::zeros(dims, DType::F32, Contiguous).unwrap().into()];
            run_into(&op, &[x.tensor_ref()], &mut into).unwrap();
            assert_eq!(asked(), kernels);
            assert!(element_bytes(&into[0]) == element_bytes(&y.into()));
        }
        // If both decline, every call gives the error of a missing kernel.
        let x = StridedTensor::full(&[1, 2, 2], 10f32, Contiguous).unwrap();
        let e = op.run(&[x.tensor_ref()]).map(|_| ()).unwrap_err();
        assert!(matches!(&e, Error::UnsupportedOp(u) if u.op == "declining" && u.key == "strided"), "{e}");
        assert_eq!(op.infer(&[TensorDesc::of(x.tensor_ref())]).unwrap_err(), e);
        assert_eq!(op.scratchpad_bytes(&[TensorDesc::of(x.tensor_ref())]).unwrap_err(), e);
        let mut into = [StridedTensor::zeros(&[1, 2, 2], DType::F32, Contiguous).unwrap().into()];
        assert_eq!(run_into(&op, &[x.tensor_ref()], &mut into).unwrap_err(), e);
        assert_eq!(asked(), (4, 4));
    });
}

/// The copy of a view into an output of the caller is not a reorder.
#[test]
fn run_into_of_a_result_that_shares_storage_is_a_copy_and_no_reorder() {
    let x = image(&[1, 4, 3, 2], Contiguous);
    let op = BoundOp::new("permute", &["x"], &[("axes", vec![0i64, 2, 3, 1].into())]).unwrap();
    let mut into = [output(&dense(&[1, 3, 2, 4]))];
    let (done, book) = ledger::record(|| run_into(&op, &[x.tensor_ref()], &mut into));
    done.unwrap();
    assert!(book.reorders.is_empty(), "{book}");
    let Tensor::Strided(y) = &into[0] else { panic!("{:?}", into[0]) };
    assert!(!y.shares_storage(&x));
    assert_eq!(y.to_vec::<f32>().unwrap(), x.permute(&[0, 2, 3, 1]).unwrap().to_vec::<f32>().unwrap());
}
