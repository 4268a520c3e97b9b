//! Tapes, losses against finite differences, and a small CNN that trains in two layouts.

use blocktensor::dispatch::{self, Backward, Kernel, register_backend};
use blocktensor::{
    BoundOp, DEFAULT_RECYCLE_LIMIT, DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor,
    TensorDesc, WeightsKind, ledger, recycle_limit, run_with_threads,
};
use blocktensor_grad::{AdamW, AdamWState, Sgd, Tape, Var, check, cross_entropy, mse_loss, record};
use blocktensor_third_backend::{Reversed, key};

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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nhwc,
    Blocked,
}

const CLASSES: usize = 3;

/// Images of 3 channels whose class is the orientation of a wave; a linear classifier does not see it.
fn images(n: usize) -> (StridedTensor, StridedTensor) {
    let phases = reals(10, n);
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for (i, phase) in phases.iter().enumerate() {
        let class = i % CLASSES;
        classes.push(class as i32);
        for c in 0..3 {
            for at in 0..144 {
                let (h, w) = ((at / 12) as f32, (at % 12) as f32);
                let along = [h, w, h + w][class];
                values.push((along * 1.3 + phase * 3.0 + c as f32).sin());
            }
        }
    }
    (strided(&values, &[n, 3, 12, 12]), StridedTensor::from_slice(&classes, &[n]).unwrap())
}

/// Weights of a network with a residual connection and a depthwise convolution, in the layout of `kind`.
fn weights(kind: Kind) -> Vec<Tensor> {
    let shapes: [(&[usize], WeightsKind); 4] = [
        (&[17, 3, 3, 3], WeightsKind::Dense),
        (&[17, 17, 3, 3], WeightsKind::Dense),
        (&[17, 1, 1, 3, 3], WeightsKind::Depthwise),
        (&[33, 17, 1, 1], WeightsKind::Dense),
    ];
    let mut all = Vec::new();
    for (seed, (dims, weights_kind)) in shapes.into_iter().enumerate() {
        let fan: usize = dims[1..].iter().product();
        let scale = (3.0 / fan as f32).sqrt();
        let values: Vec<f32> =
            reals(20 + seed as u64, dims.iter().product()).iter().map(|v| v * scale).collect();
        let w = strided(&values, dims);
        all.push(match kind {
            Kind::Nhwc => Tensor::from(w),
            Kind::Blocked => {
                w.to_blocked(&Layout::native_weights(dims.len(), weights_kind).unwrap()).unwrap().into()
            }
        });
    }
    all.push(strided(&[0.0; 17], &[17]).into());
    let linear: Vec<f32> = reals(30, CLASSES * 33).iter().map(|v| v * 0.2).collect();
    all.push(strided(&linear, &[CLASSES, 33]).into());
    all.push(strided(&[0.0; CLASSES], &[CLASSES]).into());
    all
}

fn network(tape: &mut Tape, x: &Var, w: &[Var], kind: Kind) -> blocktensor::Result<Var> {
    let conv = |inputs: &[&str], padding: i64, stride: i64, groups: i64| {
        let params =
            [("padding", vec![padding].into()), ("stride", vec![stride].into()), ("groups", groups.into())];
        BoundOp::new("conv2d", inputs, &params)
    };
    let (plain, with_bias) = (["x", "weights"], ["x", "weights", "bias"]);
    let relu = op("relu", &["x"]);
    let x = tape.call(&conv(&with_bias, 1, 1, 1)?, &[x, &w[0], &w[4]])?;
    let x = tape.call(&relu, &[&x])?;
    let pool = BoundOp::new("max_pool2d", &["x"], &[("kernel", vec![2i64].into())])?;
    let x = tape.call(&pool, &[&x])?;
    let y = tape.call(&conv(&plain, 1, 1, 1)?, &[&x, &w[1]])?;
    let x = tape.call(&op("add", &["a", "b"]), &[&x, &y])?;
    let x = tape.call(&op("silu", &["x"]), &[&x])?;
    let x = tape.call(&conv(&plain, 1, 2, 17)?, &[&x, &w[2]])?;
    let x = tape.call(&conv(&plain, 0, 1, 1)?, &[&x, &w[3]])?;
    let x = tape.call(&relu, &[&x])?;
    let mut x = tape.call(&op("global_avg_pool", &["x"]), &[&x])?;
    if kind == Kind::Blocked {
        x = tape.to_strided(&x, MemoryFormat::Contiguous)?;
    }
    let flatten = BoundOp::new("flatten", &["x"], &[("start", 1.into()), ("end", (-1).into())])?;
    let x = tape.call(&flatten, &[&x])?;
    tape.call(&op("linear", &with_bias), &[&x, &w[5], &w[6]])
}

/// Trains 50 steps; the losses, and the weights at the end.
fn train(kind: Kind) -> (Vec<f32>, Vec<Vec<f32>>) {
    let (images, classes) = images(24);
    let images = images.contiguous(MemoryFormat::ChannelsLast).unwrap();
    let mut weights = weights(kind);
    let mut sgd = Sgd::new(0.05).momentum(0.9).weight_decay(1e-4);
    let mut losses = Vec::new();
    for step in 0..50 {
        let run = || {
            let recording = record(|tape| {
                let mut x = tape.constant(images.clone().into());
                if kind == Kind::Blocked {
                    x = tape.to_blocked(&x, &Layout::native().0)?;
                }
                let w: Vec<Var> = weights.iter().map(|w| tape.variable(w.clone())).collect();
                let y = network(tape, &x, &w, kind)?;
                let target = tape.constant(classes.clone().into());
                Ok((w, cross_entropy(tape, &y, &target)?))
            })?;
            let (w, loss) = recording.value().clone();
            let gradients = recording.backward(&loss)?;
            let next: blocktensor::Result<Vec<Tensor>> = w
                .iter()
                .enumerate()
                .map(|(i, var)| sgd.step(i, var.tensor(), gradients.of(var).expect("the loss needs it")))
                .collect();
            Ok::<_, Error>((plain(loss.tensor())[0], next?))
        };
        let (loss, next) = if step == 1 && kind == Kind::Blocked {
            let (result, book) = ledger::record(run);
            let of = |cause| book.reorders.iter().filter(|r| r.cause == cause).count();
            // The images' way in, the pooled features' way out and their gradient's way back.
            assert_eq!(of(ledger::Cause::Call), 3, "{book}");
            assert_eq!(of(ledger::Cause::DenseCopy), 0, "{book}");
            result.unwrap()
        } else {
            let mut run = run;
            run().unwrap()
        };
        losses.push(loss);
        weights = next;
    }
    (losses, weights.iter().map(plain).collect())
}

#[test]
fn a_small_cnn_trains_in_both_layouts_alike() {
    let nhwc = train(Kind::Nhwc).0;
    let blocked = train(Kind::Blocked).0;
    for (step, (a, b)) in nhwc.iter().zip(&blocked).enumerate() {
        assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "step {step}: {a} in NHWC, {b} in blocked layout");
    }
    assert!(nhwc[49] < 0.3 * nhwc[0], "{nhwc:?}");
}

#[test]
fn a_saved_velocity_goes_on() {
    let (w, g) = (Tensor::from(strided(&reals(1, 6), &[6])), Tensor::from(strided(&reals(2, 6), &[6])));
    let new = || Sgd::new(0.1).momentum(0.9);
    let (mut whole, mut second) = (new(), new());
    assert!(whole.velocity(1).is_none());
    let once = whole.step(1, &w, &g).unwrap();
    second.set_velocity(1, whole.velocity(1).unwrap().clone());
    let [a, b] = [whole, second].map(|mut sgd| plain(&sgd.step(1, &once, &g).unwrap()));
    assert_eq!(a, b);
    assert_ne!(a, plain(&new().step(1, &once, &g).unwrap()));
}

#[test]
fn a_saved_state_of_adamw_goes_on() {
    let (w, g) = (Tensor::from(strided(&reals(1, 6), &[6])), Tensor::from(strided(&reals(2, 6), &[6])));
    let new = || AdamW::new(0.1);
    let (mut whole, mut second) = (new(), new());
    assert!(whole.state(1).is_none());
    let once = whole.step(1, &w, &g).unwrap();
    second.set_state(1, whole.state(1).unwrap().clone());
    // A rate that is set counts from the next step on.
    for adamw in [&mut whole, &mut second] {
        adamw.set_rate(adamw.rate() / 2.0);
    }
    let [a, b] = [whole, second].map(|mut adamw| plain(&adamw.step(1, &once, &g).unwrap()));
    assert_eq!(a, b);
    assert_ne!(a, plain(&new().step(1, &once, &g).unwrap()));
}

#[test]
fn a_state_of_adamw_with_a_count_that_no_step_follows_is_refused() {
    let (w, g) = (Tensor::from(strided(&reals(1, 6), &[6])), Tensor::from(strided(&reals(2, 6), &[6])));
    let mut adamw = AdamW::new(0.1);
    let once = adamw.step(0, &w, &g).unwrap();
    let state = adamw.state(0).unwrap().clone();
    for steps in [-1, i32::MIN, i32::MAX] {
        adamw.set_state(0, AdamWState { steps, ..state.clone() });
        let e = adamw.step(0, &once, &g).unwrap_err();
        assert!(
            matches!(e, Error::InvalidArgument(_)) && e.to_string().contains(&format!("got {steps} steps")),
            "{e}"
        );
        assert_eq!(adamw.state(0).unwrap().steps, steps);
    }
    adamw.set_state(0, AdamWState { steps: i32::MAX - 1, ..state });
    assert!(plain(&adamw.step(0, &once, &g).unwrap()).iter().all(|v| v.is_finite()));
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
fn two_runs_give_the_same_bits_with_one_thread_and_two() {
    for kind in [Kind::Nhwc, Kind::Blocked] {
        let one = run_with_threads(1, || train(kind));
        assert!(one == run_with_threads(2, || train(kind)), "{kind:?}: two threads");
        assert!(one == run_with_threads(1, || train(kind)), "{kind:?}: again");
    }
}

/// Weights in blocked layout, and the same in row-major order.
fn both_layouts(dims: &[usize], seed: u64) -> [Tensor; 2] {
    let w = strided(&reals(seed, dims.iter().product()), dims);
    let layout = Layout::native_weights(dims.len(), WeightsKind::Dense).unwrap();
    [w.clone().into(), w.to_blocked(&layout).unwrap().into()]
}

#[test]
fn adamw_is_its_formula_in_both_layouts() {
    let dims = [17, 3, 3, 3];
    let (rate, b1, b2, eps, decay) = (0.02, 0.8, 0.95, 1e-6, 0.1);
    let n = dims.iter().product::<usize>();
    let (mut mean, mut square) = (vec![0f64; n], vec![0f64; n]);
    let mut want: Vec<f64> = reals(50, n).iter().map(|&v| v.into()).collect();
    let mut weights = both_layouts(&dims, 50);
    let mut optimisers = [0, 1].map(|_| AdamW::new(rate).betas(b1, b2).eps(eps).weight_decay(decay));
    for step in 1..=5 {
        let gradients = both_layouts(&dims, 60 + step as u64);
        for (i, g) in plain(&gradients[0]).iter().map(|&g| f64::from(g)).enumerate() {
            mean[i] = b1 * mean[i] + (1.0 - b1) * g;
            square[i] = b2 * square[i] + (1.0 - b2) * g * g;
            want[i] -= rate * decay * want[i];
            let root = (square[i] / (1.0 - b2.powi(step))).sqrt() + eps;
            want[i] -= rate * mean[i] / (1.0 - b1.powi(step)) / root;
        }
        for ((w, g), adamw) in weights.iter_mut().zip(&gradients).zip(&mut optimisers) {
            let (next, book) = ledger::record(|| adamw.step(3, w, g).unwrap());
            assert!(book.reorders.is_empty(), "{book}");
            *w = next;
            for (got, want) in plain(w).iter().zip(&want) {
                assert!((f64::from(*got) - want).abs() < 1e-5, "step {step}: {got} for {want}");
            }
        }
        assert_eq!(plain(&weights[0]), plain(&weights[1]));
    }
}

/// A program with two ops that have no gradient.
fn with_gaps(tape: &mut Tape, layout: Option<&Layout>) -> blocktensor::Result<Var> {
    let x = tape.variable(strided(&reals(70, 2 * 17 * 16), &[2, 17, 4, 4]).into());
    let x = match layout {
        Some(layout) => tape.to_blocked(&x, layout)?,
        None => x,
    };
    let positive = BoundOp::new("gt_scalar", &["x"], &[("other", 0.0.into())])?;
    let mask = tape.call(&positive, &[&x])?;
    let largest = BoundOp::new("argmax", &["x"], &[("axis", vec![1i64].into()), ("keepdim", true.into())])?;
    tape.call(&largest, &[&x])?;
    let pool = BoundOp::new("max_pool2d", &["x"], &[("kernel", vec![2i64].into())])?;
    tape.call(&op("where", &["condition", "a", "b"]), &[&mask, &x, &x])?;
    tape.call(&pool, &[&x])
}

#[test]
fn check_names_every_op_without_a_gradient_and_computes_nothing() {
    let native = Layout::native().0;
    for (layout, key) in [(None, "strided"), (Some(&native), "blocked")] {
        let (missing, book) = ledger::record(|| check(|tape| with_gaps(tape, layout)).unwrap());
        assert!(book.runs.is_empty() && book.reorders.is_empty(), "{book}");
        let texts: Vec<String> = missing.iter().map(Error::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        for (text, op) in texts.iter().zip(["gt_scalar", "argmax"]) {
            assert!(text.contains(&format!("op `{op}` has no gradient for dispatch key `{key}`")), "{text}");
        }
        let error = record(|tape| with_gaps(tape, layout)).unwrap_err();
        assert_eq!(error.to_string(), texts[0]);
    }
    // The key has a gradient, which takes no bf16.
    let half = StridedTensor::zeros(&[1, 2], DType::BF16, MemoryFormat::Contiguous).unwrap();
    let relu = |tape: &mut Tape| {
        let x = tape.variable(half.clone().into());
        tape.call(&op("relu", &["x"]), &[&x])
    };
    let missing = check(relu).unwrap();
    assert!(matches!(missing[..], [Error::UnsupportedDType(_)]), "{missing:?}");
    assert_eq!(record(relu).unwrap_err().to_string(), missing[0].to_string());
    // A fused call does not keep what the gradients of its post-ops read.
    for (name, sizes) in [("linear", &[3, 4][..]), ("conv2d", &[3, 4, 1, 1])] {
        let fused = |tape: &mut Tape| {
            let x = tape.variable(strided(&[0.5; 8], &[&[2, 4], &sizes[2..]].concat()).into());
            let w = tape.constant(strided(&[0.25; 12], sizes).into());
            let op = BoundOp::new(name, &["x", "weights"], &[("post_ops", "relu".into())])?;
            tape.call(&op, &[&x, &w])
        };
        let missing = check(fused).unwrap();
        let [Error::InvalidArgument(c)] = &missing[..] else { panic!("{missing:?}") };
        assert_eq!((&*c.op, &*c.argument), (name, "post_ops"));
        assert_eq!(record(fused).unwrap_err().to_string(), missing[0].to_string());
    }
    // Sizes and results are those of the run.
    let dims = |tape: &mut Tape| {
        let x = tape.constant(strided(&[0.5; 48], &[1, 3, 4, 4]).into());
        let x = tape.to_blocked(&x, &Layout::native().0)?;
        let y = tape.call(&op("global_avg_pool", &["x"]), &[&x])?;
        let y = tape.to_strided(&y, MemoryFormat::Contiguous)?;
        Ok(y)
    };
    let described = std::cell::RefCell::new(Vec::new());
    check(|tape| {
        let y = dims(tape)?;
        described.borrow_mut().extend_from_slice(match y.tensor() {
            Tensor::Strided(t) => t.dims(),
            _ => unreachable!("it was reordered"),
        });
        Ok(())
    })
    .unwrap();
    assert_eq!(*described.borrow(), [1, 3, 1, 1]);
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

#[test]
fn a_key_of_another_crate_brings_its_gradients() {
    fn gradient(call: &Backward<'_>) -> blocktensor::Result<dispatch::Gradients> {
        // Of `relu` where all elements are positive.
        call.each(|_| Ok(call.diff()?.to_tensor()))
    }
    let x = Reversed::from_strided(&strided(&[1.0, 2.0], &[2])).unwrap().tensor_ref().to_tensor();
    let relu = op("relu", &["x"]);
    let run = || {
        record(|tape| {
            let x = tape.variable(x.clone());
            let y = tape.call(&relu, &[&x])?;
            Ok((x, y))
        })
    };
    let error = run().unwrap_err().to_string();
    assert!(error.contains("relu") && error.contains(key().name()), "{error}");
    register_backend(|r| r.kernel("relu", key(), Kernel::gradient(&gradient))).unwrap();
    let recording = run().unwrap();
    let (x, y) = recording.value().clone();
    let gradients = recording.backward_from(&y, y.tensor().clone()).unwrap();
    assert_eq!(gradients.of(&x).unwrap().tensor_ref().key(), key());
}
