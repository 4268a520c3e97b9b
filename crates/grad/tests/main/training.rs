//! A small CNN that trains in two layouts, and optimisers.

use blocktensor::{
    BoundOp, Error, Layout, MemoryFormat, StridedTensor, Tensor, WeightsKind, ledger, run_with_threads,
};
use blocktensor_grad::{AdamW, AdamWState, Sgd, Tape, Var, cross_entropy, record};

use crate::{op, plain, reals, strided};

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

/// Six weights, and a gradient of them.
fn weights_and_gradient() -> [Tensor; 2] {
    [1, 2].map(|seed| strided(&reals(seed, 6), &[6]).into())
}

#[test]
fn a_saved_velocity_goes_on() {
    let [w, g] = weights_and_gradient();
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
    let [w, g] = weights_and_gradient();
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
    let [w, g] = weights_and_gradient();
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
