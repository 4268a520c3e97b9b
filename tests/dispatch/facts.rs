//! The facts that ops state of themselves, each compared with what a call does.

use blocktensor::dispatch::{self, DispatchKey, Facts, Op, Packing, Sharing, Value, WeightsRole};
use blocktensor::{
    BoundOp, DType, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorDesc,
    WeightsPacker, ledger,
};

use super::engines::{Given, calls};

/// The ops of this crate that have a strided kernel.
fn ops() -> impl Iterator<Item = &'static Op> {
    dispatch::ops().into_iter().filter(|op| op.kernel(DispatchKey::STRIDED).is_some())
}

fn facts(op: &Op) -> Facts {
    op.schema().facts
}

fn is_data(op: &Op, name: &str) -> bool {
    op.schema().args.iter().any(|a| a.name == name && a.kind.is_data())
}

/// The call with its data operands changed. Those of other dtypes than f32 stay.
fn changed(op: &Op, given: Given, f: &dyn Fn(&StridedTensor) -> StridedTensor) -> Given {
    let change = |tensor: &Tensor| match tensor {
        Tensor::Strided(t) if t.to_vec::<f32>().is_ok() => Tensor::from(f(t)),
        other => other.clone(),
    };
    let value = |(name, value)| match &value {
        Value::Tensor(t) if is_data(op, name) => (name, change(t).into()),
        Value::Tensors(list) => (name, list.iter().map(change).collect::<Vec<_>>().into()),
        _ => (name, value),
    };
    given.into_iter().map(value).collect()
}

/// The same elements, each followed by one that does not belong to it.
fn sparse(t: &StridedTensor) -> StridedTensor {
    let numbers = t.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap();
    let twice = numbers.into_iter().flat_map(|v| [v, f32::NAN]).collect::<Vec<_>>();
    let pairs = StridedTensor::from_slice(&twice, &[t.dims(), &[2]].concat()).unwrap();
    pairs.to_dtype(t.dtype()).unwrap().select(-1, 0).unwrap()
}

/// Ops whose kernels ask for dense operands though they copy no others: they read them in long pieces.
const IN_LONG_PIECES: [&str; 6] =
    ["batch_norm", "channel_shuffle", "cumsum", "pad", "pixel_shuffle", "pixel_unshuffle"];

#[test]
fn kernels_that_need_dense_operands_are_those_that_copy_others() {
    for op in ops().filter(|op| !facts(op).sharing.is_view()) {
        let name = op.schema().name;
        let copies = calls(op, DispatchKey::STRIDED, &[]).into_iter().any(|(what, given)| {
            let bytes = |(name, value)| match &value {
                Value::Tensor(Tensor::Strided(t)) if t.dtype() == DType::U8 && is_data(op, name) => {
                    (name, Tensor::from(sparse(t)).into())
                }
                _ => (name, value),
            };
            let given: Given = changed(op, given, &sparse).into_iter().map(bytes).collect();
            let (results, book) = ledger::record(|| dispatch::call(name, &given));
            results.unwrap_or_else(|e| panic!("{name}, {what}: {e}"));
            // A copy without a run is the op's work.
            !book.reorders.is_empty() && !book.runs.is_empty()
        });
        let needs = op.kernels(DispatchKey::STRIDED).any(|kernel| kernel.needs_dense);
        assert_eq!(needs, copies || IN_LONG_PIECES.contains(&name), "{name}: `needing_dense` on its kernel");
    }
}

#[test]
fn results_share_storage_where_the_op_says_so() {
    for op in ops() {
        let name = op.schema().name;
        for (what, given) in calls(op, DispatchKey::STRIDED, &[]) {
            let Value::Tensor(Tensor::Strided(x)) = given[0].1.clone() else { continue };
            let shares = |given: &Given| {
                let results = dispatch::call(name, given).ok()?;
                let x = match &given[0].1 {
                    Value::Tensor(Tensor::Strided(x)) => x,
                    _ => return None,
                };
                Some(results.iter().all(|t| matches!(t, Tensor::Strided(t) if t.shares_storage(x))))
            };
            let of_sparse = shares(&changed(op, given.clone(), &sparse));
            let of_dense = shares(&given).unwrap_or_else(|| panic!("{name}, {what}"));
            let row_major = x.is_contiguous(MemoryFormat::Contiguous);
            match facts(op).sharing {
                Sharing::Always => assert!(of_dense && of_sparse != Some(false), "{name}, {what}"),
                Sharing::RowMajor => assert!(of_dense || !row_major, "{name}, {what}"),
                // `reshape` copies where it must, and plans have `view` for the rest.
                _ => assert!(
                    name == "reshape" || !of_dense,
                    "{name}, {what}: a view that its schema does not state"
                ),
            }
        }
    }
}

/// What an op only moves may be any numbers: `-1 / x` of the results is the results of `-1 / x`. Only such ops state it.
#[test]
fn an_op_moves_elements_where_it_says_so() {
    let other = |v: f32| if v == 0.0 { 0.0 } else { -1.0 / v };
    let of = |t: &StridedTensor| {
        let values: Vec<f32> = t.to_vec::<f32>().unwrap().into_iter().map(other).collect();
        StridedTensor::from_slice(&values, t.dims()).unwrap()
    };
    let numbers = |name: &str, given: &Given| -> Option<Vec<Vec<f32>>> {
        let of = |t: &Tensor| match t {
            Tensor::Strided(t) => t.to_vec::<f32>().ok(),
            _ => None,
        };
        dispatch::call(name, given).ok()?.iter().map(of).collect()
    };
    let (mut moving, mut wrong) = (0, Vec::new());
    // Some functions are the identity, with these arguments.
    for op in ops().filter(|op| !facts(op).elementwise) {
        let (name, mut seen) = (op.schema().name, 0);
        let commutes = calls(op, DispatchKey::STRIDED, &[]).into_iter().all(|(_, given)| {
            seen += 1;
            let (before, after) = (numbers(name, &given), numbers(name, &changed(op, given.clone(), &of)));
            let mapped = before.map(|all| {
                all.into_iter().map(|list| list.into_iter().map(other).collect()).collect::<Vec<Vec<f32>>>()
            });
            // A product of so many numbers may be 0 for both.
            let is_telling = mapped.iter().flatten().flatten().any(|v| *v != 0.0);
            is_telling && mapped == after
        });
        let moves = commutes && seen > 0;
        if facts(op).movement.moves() != moves {
            wrong.push(name);
        }
        moving += usize::from(moves);
    }
    assert!(wrong.is_empty(), "`moving` on their schemas, or not: {wrong:?}");
    assert!(moving > 20, "{moving}");
}

/// The results of a call, each as a list of bits.
fn results(name: &str, given: &Given) -> Vec<Vec<u32>> {
    let bits = |t: Tensor| match t {
        Tensor::Strided(t) => match t.to_vec::<f32>() {
            Ok(values) => values.into_iter().map(f32::to_bits).collect(),
            Err(_) => t
                .to_dtype(DType::S32)
                .unwrap()
                .to_vec::<i32>()
                .unwrap()
                .into_iter()
                .map(|v| v as u32)
                .collect(),
        },
        other => panic!("{name}: {other:?}"),
    };
    dispatch::call(name, given).unwrap_or_else(|e| panic!("{name}: {e}")).into_iter().map(bits).collect()
}

#[test]
fn an_element_wise_op_changes_where_its_operand_changes() {
    let mut seen = 0;
    for op in ops().filter(|op| facts(op).elementwise) {
        let name = op.schema().name;
        for (what, given) in calls(op, DispatchKey::STRIDED, &[]) {
            let given = changed(op, given, &|t| t.contiguous(MemoryFormat::Contiguous).unwrap());
            let (at, other) = (
                100,
                changed(op, given.clone(), &|t| {
                    let mut values = t.to_vec::<f32>().unwrap();
                    values[100] = 0.3;
                    StridedTensor::from_slice(&values, t.dims()).unwrap()
                }),
            );
            let (before, after) = (results(name, &given).remove(0), results(name, &other).remove(0));
            let others = before.iter().zip(&after).enumerate().filter(|(i, (a, b))| *i != at && a != b);
            assert_eq!(others.count(), 0, "{name}, {what}");
            assert_eq!(before.len(), 2 * 16 * 36, "{name}, {what}");
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen}");
}

/// A convolution that copies its source has the op as a post-op: its result is the op's.
#[test]
fn a_post_op_computes_what_the_op_does() {
    let x =
        StridedTensor::from_slice(&(0..54).map(|i| i as f32 / 5.0 - 5.0).collect::<Vec<_>>(), &[1, 6, 3, 3])
            .unwrap();
    let channel = StridedTensor::from_slice(&[0.5f32, -2.0, 0.0, 1.0, 3.0, 0.25], &[6]).unwrap();
    let mut eye = vec![0f32; 36];
    (0..6).for_each(|i| eye[7 * i] = 1.0);
    let eye = StridedTensor::from_slice(&eye, &[6, 6, 1, 1]).unwrap();
    let numbers: [&[(&str, Value)]; 4] = [
        &[],
        &[("min", (-1.5).into()), ("max", 2.0.into())],
        &[("min", 0.0.into()), ("max", f64::INFINITY.into())],
        &[("slope", 0.3.into())],
    ];
    let mut words = Vec::new();
    for op in ops() {
        let name = op.schema().name;
        let inputs: Vec<&str> =
            op.schema().args.iter().filter(|a| a.kind.is_tensor()).map(|a| a.name).collect();
        for params in numbers {
            let Some(bound) = BoundOp::of(op, &inputs, params).ok() else { continue };
            let Some(word) = bound.post_op() else { continue };
            let mut given: Given = params.to_vec();
            let mut conv: Given = vec![
                ("x", x.clone().into()),
                ("weights", eye.clone().into()),
                ("post_ops", word.as_str().into()),
            ];
            given.push((inputs[0], x.clone().into()));
            if let Some(second) = inputs.get(1) {
                let residual = is_data(op, second);
                given.push((second, if residual { x.clone() } else { channel.clone() }.into()));
                conv.push(match residual {
                    true => ("residual", x.clone().into()),
                    false => ("channel", vec![Tensor::from(channel.clone())].into()),
                });
            }
            let close = |a: &u32, b: &u32| (f32::from_bits(*a) - f32::from_bits(*b)).abs() < 1e-5;
            let (own, fused) = (results(name, &given).remove(0), results("conv2d", &conv).remove(0));
            assert!(own.iter().zip(&fused).all(|(a, b)| close(a, b)), "{name} as {word}");
            words.push(word);
        }
    }
    words.sort();
    words.dedup();
    assert!(words.len() >= 14, "{words:?}");
}

#[test]
fn packed_weights_compute_what_the_op_does() {
    let mut packed = Vec::new();
    for op in ops() {
        let (name, args) = (op.schema().name, op.schema().args);
        let of_role = |role| args.iter().filter(|a| a.role == Some(role)).count();
        assert_eq!(of_role(WeightsRole::Weights), usize::from(facts(op).packing.is_some()), "{name}");
        assert!(of_role(WeightsRole::Bias) <= of_role(WeightsRole::Weights), "{name}");
        assert_eq!(facts(op).multiply_adds.is_some(), facts(op).packing.is_some(), "{name}");
        let Some(packing) = facts(op).packing else { continue };
        for (what, given) in calls(op, DispatchKey::STRIDED, &[]) {
            let (bound, tensors) = BoundOp::of_call(name, &given).unwrap();
            let strided = |t: &Tensor| match t {
                Tensor::Strided(t) => t.clone(),
                other => panic!("{other:?}"),
            };
            let all: Vec<StridedTensor> = tensors.iter().map(strided).collect();
            let beside = bound.inputs_beside_weights();
            let constants: Vec<Option<&StridedTensor>> =
                all.iter().enumerate().map(|(i, t)| (!beside.contains(&i)).then_some(t)).collect();
            let packer = WeightsPacker::new(&bound, all[0].dims(), &constants).expect("constant weights");
            let x = TensorDesc::of(all[0].tensor_ref());
            let op = packer.pack_for(&x).unwrap_or_else(|e| panic!("{name}, {what}: {e}"));
            assert_eq!((beside, Some(op.op())), (vec![0], bound.packed_op()), "{name}");
            let (a, b) = (op.run(&[all[0].tensor_ref()]).unwrap(), results(name, &given).remove(0));
            let a = strided(&a[0]).to_vec::<f32>().unwrap();
            let largest = a.iter().fold(1f32, |m, v| m.max(v.abs()));
            assert!(
                a.iter().zip(b).all(|(a, b)| (a - f32::from_bits(b)).abs() <= 1e-5 * largest),
                "{name}, {what}"
            );
            // A stem is a convolution's.
            let layout = Layout::native().0;
            assert!(packing == Packing::Conv || packer.pack_stem(&x, &layout).is_err(), "{name}");
            // Without constant weights there is nothing to pack.
            assert!(WeightsPacker::new(&bound, all[0].dims(), &vec![None; all.len()]).is_none());
        }
        packed.push(name);
    }
    assert_eq!(packed.len(), 8, "{packed:?}");
}

/// Each is the number of `+` and `*` in a loop over the definition.
#[test]
fn multiply_adds_of_convolutions_count_groups_and_strides() {
    let count = |op: &str, inputs: &[&[usize]], result: &[usize]| {
        let names = if op == "matmul" { ["a", "b"] } else { ["x", "weights"] };
        BoundOp::new(op, &names, &[]).unwrap().multiply_adds(inputs, &[result]).unwrap()
    };
    // 2 images of 5 x 5 pixels, 8 outputs, each of a group of 4 channels and 3 x 3 pixels.
    let (plain, apart): (&[usize], &[usize]) = (&[8, 4, 3, 3], &[2, 4, 4, 3, 3]);
    for weights in [plain, apart] {
        assert_eq!(count("conv2d", &[&[2, 8, 10, 10], weights], &[2, 8, 5, 5]), 2 * 25 * 8 * 4 * 9);
    }
    // Each of 2 x 100 pixels of 8 channels adds to 4 outputs and 3 x 3 pixels.
    for weights in [plain, apart] {
        assert_eq!(
            count("conv_transpose2d", &[&[2, 8, 10, 10], weights], &[2, 8, 21, 21]),
            2 * 100 * 8 * 4 * 9
        );
    }
    assert_eq!(count("linear", &[&[2, 3, 64], &[10, 64]], &[2, 3, 10]), 6 * 10 * 64);
    assert_eq!(count("matmul", &[&[2, 3, 64], &[64, 10]], &[2, 3, 10]), 6 * 10 * 64);
    assert!(BoundOp::new("relu", &["x"], &[]).unwrap().multiply_adds(&[&[2]], &[&[2]]).is_none());
}
