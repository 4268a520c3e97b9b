//! Tapes, and losses against finite differences.

mod checks;
mod training;

use blocktensor::{
    BoundOp, DEFAULT_RECYCLE_LIMIT, DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor,
    TensorDesc, ledger, recycle_limit,
};
use blocktensor_grad::{AdamW, Sgd, Tape, Var, cross_entropy, mse_loss, record};

/// Uniform in -1 to 1 (SplitMix64).
fn reals(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn strided(values: &[f32], dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(values, dims).unwrap()
}

fn plain(t: &Tensor) -> Vec<f32> {
    match t {
        Tensor::Strided(t) => t.to_vec().unwrap(),
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            t.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap()
        }
        Tensor::Opaque(_) => unreachable!("no key but ours"),
    }
}

fn op(name: &str, inputs: &[&str]) -> BoundOp {
    BoundOp::new(name, inputs, &[]).unwrap()
}

/// Compares a loss of `x`, and its gradient, with a definition in f64.
fn compare_loss(
    x: StridedTensor,
    definition: impl Fn(&[f64]) -> f64,
    call: impl Fn(&mut Tape, &Var) -> blocktensor::Result<Var>,
) {
    let recording = record(|tape| {
        let x = tape.variable(x.clone().into());
        Ok((call(tape, &x)?, x))
    });
    let recording = recording.unwrap();
    let (loss, var) = recording.value().clone();
    let wide: Vec<f64> = x.to_vec::<f32>().unwrap().iter().map(|&v| v.into()).collect();
    assert!((f64::from(plain(loss.tensor())[0]) - definition(&wide)).abs() < 1e-6);
    let (gradients, book) = ledger::record(|| recording.backward(&loss).unwrap());
    assert!(book.reorders.is_empty(), "{book}");
    let Some(Tensor::Strided(gradient)) = gradients.of(&var) else { panic!("strided, as x is") };
    assert_eq!(gradient.strides(), x.strides());
    for (i, got) in gradient.to_vec::<f32>().unwrap().into_iter().enumerate() {
        let (mut above, mut below) = (wide.clone(), wide.clone());
        above[i] += 1e-6;
        below[i] -= 1e-6;
        let want = (definition(&above) - definition(&below)) / 2e-6;
        assert!((f64::from(got) - want).abs() < 1e-7, "{i}: {got} for {want}");
    }
}

#[test]
fn losses_agree_with_finite_differences() {
    let shapes: [(&[usize], MemoryFormat); 4] = [
        (&[5, 7], MemoryFormat::Contiguous),
        (&[2, 4, 3], MemoryFormat::Contiguous),
        (&[2, 3, 2, 3], MemoryFormat::Contiguous),
        (&[2, 3, 2, 3], MemoryFormat::ChannelsLast),
    ];
    for (dims, format) in shapes {
        let (n, c, pixels) = (dims[0], dims[1], dims[2..].iter().product::<usize>());
        let x = strided(&reals(1, n * c * pixels), dims).contiguous(format).unwrap();
        let classes: Vec<usize> = (0..n * pixels).map(|i| (i * 5 + i / 3) % c).collect();
        let cross = |x: &[f64]| -> f64 {
            let pixel = |(i, &class): (usize, &usize)| {
                let logit = |k: usize| x[(i / pixels * c + k) * pixels + i % pixels];
                (0..c).map(|k| logit(k).exp()).sum::<f64>().ln() - logit(class)
            };
            classes.iter().enumerate().map(pixel).sum::<f64>() / classes.len() as f64
        };
        let of: Vec<i32> = classes.iter().map(|&v| v as i32).collect();
        let target = StridedTensor::from_slice(&of, &[&[n], &dims[2..]].concat()).unwrap();
        compare_loss(x, cross, |tape, x| {
            let target = tape.constant(target.clone().into());
            cross_entropy(tape, x, &target)
        });
    }
    let (x, t) = (strided(&reals(1, 35), &[5, 7]), reals(2, 35));
    let mse = |x: &[f64]| x.iter().zip(&t).map(|(x, t)| (x - f64::from(*t)).powi(2)).sum::<f64>() / 35.0;
    compare_loss(x, mse, |tape, x| {
        let target = tape.constant(strided(&t, &[5, 7]).into());
        mse_loss(tape, x, &target)
    });
}

#[test]
fn bad_classes_and_sizes_are_refused() {
    let call = |classes: &[i32], dims: &[usize]| {
        record(|tape| {
            let x = tape.variable(strided(&[0.0; 6], &[2, 3]).into());
            let target = tape.constant(StridedTensor::from_slice(classes, dims)?.into());
            cross_entropy(tape, &x, &target)
        })
        .map(|recording| recording.value().clone())
    };
    for wrong in [3, -1] {
        assert!(matches!(call(&[0, wrong], &[2]), Err(Error::InvalidArgument(_))));
    }
    assert!(matches!(call(&[0, 1, 2], &[3]), Err(Error::ShapeMismatch(_))));
    assert!(matches!(call(&[0, 1], &[2, 1]), Err(Error::ShapeMismatch(_))));
    assert!(call(&[0, 2], &[2]).is_ok());
    let without = record(|tape| {
        let x = tape.variable(strided(&[], &[2, 0]).into());
        let target = tape.constant(StridedTensor::from_slice(&[0i32, 0], &[2])?.into());
        cross_entropy(tape, &x, &target)
    });
    let text = without.map(|_| ()).unwrap_err().to_string();
    assert!(
        text.contains("argument `x`: got [2, 0], but its second size is the number of classes"),
        "{text}"
    );
}

/// Gradients of another dtype or layout than the weights, and weights that are integers, are named as such, not as operands of the
/// element-wise ops of a step.
#[test]
fn a_step_takes_gradients_as_the_weights_are() {
    let w = strided(&[1.0; 32], &[1, 32, 1, 1]);
    let [half, integers] = [DType::BF16, DType::S32].map(|dtype| Tensor::from(w.to_dtype(dtype).unwrap()));
    let blocked = |layout| Tensor::from(w.to_blocked(&layout).unwrap());
    let w = Tensor::from(w.clone());
    for (weights, gradient, start) in [
        (&w, &half, "op `step`: argument `gradient`: got [1, 32, 1, 1] bf16"),
        (&w, &blocked(Layout::NCHW16C), "op `step`: argument `gradient`: got [1, 32, 1, 1] f32 nChw16c"),
        (&blocked(Layout::NCHW8C), &blocked(Layout::NCHW16C), "op `step`: argument `gradient`: got [1, 32"),
        (&integers, &integers, "op `step`: argument `weights`: got [1, 32, 1, 1] s32"),
    ] {
        for error in [Sgd::new(0.1).step(0, weights, gradient), AdamW::new(0.1).step(0, weights, gradient)] {
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with(start), "{text}");
        }
    }
}

#[test]
fn an_op_without_a_gradient_is_refused_before_it_runs() {
    let is_positive = BoundOp::new("gt_scalar", &["x"], &[("other", 0.0.into())]).unwrap();
    let error = record(|tape| {
        let x = tape.variable(strided(&[1.0; 6], &[2, 3]).into());
        let (error, book) = ledger::record(|| tape.call(&is_positive, &[&x]).unwrap_err());
        assert!(book.runs.is_empty(), "{book}");
        // A constant needs no gradient.
        let constant = tape.constant(strided(&[1.0; 6], &[2, 3]).into());
        tape.call(&is_positive, &[&constant])?;
        Ok(error)
    })
    .unwrap();
    assert!(matches!(error.value(), Error::UnsupportedOp(_)));
    let text = error.value().to_string();
    assert!(text.contains("gt_scalar") && text.contains("its results are 0 and 1"), "{text}");
}

#[test]
fn values_of_another_tape_and_losses_of_many_elements_are_refused() {
    let relu = op("relu", &["x"]);
    let make = || {
        record(|tape| {
            let x = tape.variable(strided(&[1.0; 2], &[2]).into());
            tape.call(&relu, &[&x])
        })
    };
    let (first, second) = (make().unwrap(), make().unwrap());
    let other = first.value().clone();
    let foreign = record(|tape| tape.call(&relu, &[&other])).unwrap_err();
    assert!(matches!(foreign, Error::InvalidArgument(_)));
    let many = second.value().clone();
    assert!(matches!(first.backward_from(&many, many.tensor().clone()), Err(Error::InvalidArgument(_))));
    assert!(matches!(second.backward(&many), Err(Error::ShapeMismatch(_))));
    let constant = record(|tape| Ok(tape.constant(strided(&[1.0], &[]).into()))).unwrap();
    let value = constant.value().clone();
    assert!(matches!(constant.backward(&value), Err(Error::InvalidArgument(_))));
}

#[test]
fn an_open_tape_reorders_to_any_layout_and_back() {
    let x = strided(&reals(3, 2 * 17 * 6), &[2, 17, 3, 2]);
    let last = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
    let blocked = x.to_blocked(&Layout::NCHW8C).unwrap();
    let to_last = TensorDesc::of(last.tensor_ref());
    let to_other = TensorDesc::blocked(x.dims(), x.dtype(), &Layout::NCHW16C).unwrap();
    let operands = [Tensor::from(x.clone()), last.into(), blocked.into()];
    for (operand, to) in operands.iter().flat_map(|of| [&to_last, &to_other].map(|to| (of, to))) {
        let mut tape = Tape::open();
        let var = tape.variable(operand.clone());
        let moved = tape.reorder(&var, to).unwrap();
        assert_eq!(TensorDesc::of(moved.tensor().tensor_ref()), *to);
        let y = tape.call(&op("mul", &["a", "b"]), &[&moved, &moved]).unwrap();
        let diff = moved.tensor().clone();
        let gradients = tape.backward_from(&y, diff).unwrap();
        let gradient = gradients.of(&var).unwrap();
        assert_eq!(gradient.tensor_ref().describe(), operand.tensor_ref().describe());
        for (got, x) in plain(gradient).iter().zip(plain(operand)) {
            assert!((got - 2.0 * x * x).abs() < 1e-6, "{got} for {x}");
        }
    }
}

#[test]
fn gradients_that_are_not_as_their_value_are_refused_before_the_way_back() {
    let x = strided(&reals(3, 2 * 17 * 6), &[2, 17, 3, 2]);
    let blocked = x.to_blocked(&Layout::NCHW16C).unwrap();
    let mut tape = Tape::open();
    let var = tape.variable(blocked.clone().into());
    let y = tape.call(&op("relu", &["x"]), &[&var]).unwrap();
    let first = |diff: Tensor| tape.first_gradient(&y, Some(diff));
    assert!(matches!(first(strided(&[1.0], &[1]).into()), Err(Error::ShapeMismatch(_))));
    assert!(matches!(first(blocked.to_dtype(DType::BF16).unwrap().into()), Err(Error::DTypeMismatch(_))));
    assert!(matches!(first(x.into()), Err(Error::KeyMismatch(_))));
    let other = blocked.reorder_to(&Layout::NCHW8C).unwrap();
    assert!(matches!(first(other.into()), Err(Error::LayoutMismatch(_))));
    // A variable has a gradient even where no operator comes back to it.
    let diff = first(blocked.into()).unwrap();
    assert!(tape.backward_from(&var, diff).unwrap().of(&var).is_some());
}

#[test]
fn a_way_back_stops_before_the_step_that_it_is_asked_at() {
    let run = |steps: usize| {
        let mut tape = Tape::open();
        let x = tape.variable(strided(&[1.0, -2.0], &[1, 2]).into());
        let mut y = x.clone();
        for _ in 0..3 {
            y = tape.call(&op("relu", &["x"]), &[&y]).unwrap();
        }
        let (mut asked, one) = (0, strided(&[1.0, 1.0], &[1, 2]).into());
        let made = tape.backward_until(&y, one, &mut || {
            asked += 1;
            asked > steps
        });
        (made.unwrap().map(|made| plain(made.of(&x).unwrap())), asked)
    };
    assert_eq!(run(2), (None, 3));
    assert_eq!(run(3), (Some(vec![1.0, 0.0]), 3));
}

#[test]
fn the_ledger_has_forward_and_backward_apart() {
    let native = Layout::native().0;
    let program = || {
        let recording = record(|tape| {
            let x = tape.variable(strided(&reals(80, 2 * 17 * 16), &[2, 17, 4, 4]).into());
            let y = tape.to_blocked(&x, &native)?;
            let y = tape.call(&op("relu", &["x"]), &[&y])?;
            // Twice, so that gradients are summed.
            let y = tape.call(&op("mul", &["a", "b"]), &[&y, &y])?;
            Ok((x, tape.to_strided(&y, MemoryFormat::Contiguous)?))
        })
        .unwrap();
        let (_, y) = recording.value().clone();
        recording.backward_from(&y, y.tensor().clone()).unwrap();
    };
    let (_, book) = ledger::record(program);
    let (all, reorders) = (book.runs.len(), book.reorders.len());
    let text = book.to_string();
    let (forward, backward) = book.apart();
    let names =
        |book: &ledger::Ledger| -> Vec<String> { book.runs.iter().map(|r| r.op.to_string()).collect() };
    assert_eq!(names(&forward), ["relu", "mul"]);
    assert!(names(&backward).iter().any(|op| op == "add"), "the sum: {backward}");
    assert_eq!(forward.runs.len() + backward.runs.len(), all);
    assert_eq!((forward.reorders.len(), backward.reorders.len(), reorders), (2, 2, 4));
    assert_eq!(text.matches(", backward").count(), 2, "{text}");
}

/// All other tapes here are smaller.
#[test]
fn the_memory_of_a_tape_is_kept_for_the_next() {
    let n = 1 << 20;
    let recording = record(|tape| {
        let x = tape.variable(strided(&vec![1.0; n], &[n]).into());
        let y = tape.call(&op("relu", &["x"]), &[&x])?;
        // The gradient of a sum reads nothing, and that of `relu` its result, which is kept once.
        tape.call(&op("add", &["a", "b"]), &[&y, &y])
    })
    .unwrap();
    let y = recording.value().clone();
    recording.backward_from(&y, y.tensor().clone()).unwrap();
    assert_eq!(recycle_limit(), DEFAULT_RECYCLE_LIMIT + 4 * n);
}
