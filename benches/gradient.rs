//! Times of forward and backward calls beside the time to copy what a backward call reads and writes, in NCHW, NHWC and blocked
//! layout: layers of ResNet-18 at 56x56 to 7x7, with batch norm, activation and pooling. Each time is the least of seven, taken by turns.
//! `cargo bench --bench gradient -- 4` has a batch of 4 (the default).

use std::time::{Duration, Instant};

use blocktensor::dispatch::Value;
use blocktensor::{
    BoundOp, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorRef, WeightsKind,
    current_threads,
};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Nchw,
    Nhwc,
    Blocked,
}

fn values(n: usize) -> Vec<f32> {
    (0..n as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
        .collect()
}

fn data(dims: &[usize], kind: Kind) -> Tensor {
    let t = StridedTensor::from_slice(&values(dims.iter().product()), dims).unwrap();
    match kind {
        Kind::Nchw => t.into(),
        Kind::Nhwc => t.contiguous(MemoryFormat::ChannelsLast).unwrap().into(),
        Kind::Blocked => t.to_blocked(&Layout::native_activation(4).unwrap()).unwrap().into(),
    }
}

fn weights(dims: &[usize], kind: Kind, groups: usize) -> Tensor {
    let t = StridedTensor::from_slice(&values(dims.iter().product()), dims).unwrap();
    match kind {
        Kind::Nchw => t.into(),
        Kind::Nhwc => t.contiguous(MemoryFormat::ChannelsLast).unwrap().into(),
        Kind::Blocked => {
            let (t, of) = match groups {
                1 => (t, WeightsKind::Dense),
                _ => (t.reshape(&[groups, 1, 1, dims[2], dims[3]]).unwrap(), WeightsKind::Depthwise),
            };
            t.to_blocked(&Layout::native_weights(t.rank(), of).unwrap()).unwrap().into()
        }
    }
}

fn vector(n: usize) -> Tensor {
    StridedTensor::from_slice(&values(n).iter().map(|v| v + 1.5).collect::<Vec<_>>(), &[n]).unwrap().into()
}

fn refs(list: &[Tensor]) -> Vec<TensorRef<'_>> {
    list.iter().map(Operand::tensor_ref).collect()
}

fn bytes(list: &[Tensor]) -> usize {
    list.iter().map(|t| 4 * t.tensor_ref().dims().iter().product::<usize>()).sum()
}

/// The least time of seven of each, by turns.
fn least(all: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; all.len()];
    for _ in 0..8 {
        for (f, best) in all.iter_mut().zip(&mut best) {
            let start = Instant::now();
            f();
            *best = (*best).min(start.elapsed());
        }
    }
    best
}

fn row(name: &str, kind: Kind, op: &BoundOp, inputs: &[Tensor], only: Option<usize>) {
    let y = op.run(&refs(inputs)).unwrap();
    let mut diffs: Vec<Option<TensorRef<'_>>> = vec![None; y.len()];
    diffs[0] = Some(y[0].tensor_ref());
    let differentiable = |i: usize| !op.to_string().contains("batch_norm_train") || i == 0 || i > 2;
    let wanted: Vec<bool> =
        (0..inputs.len()).map(|i| differentiable(i) && only.is_none_or(|only| only == i)).collect();
    // A backward call reads operands and the incoming gradient, and writes gradients of the operands' sizes.
    let moved = 2 * bytes(inputs) + bytes(&y[..1]);
    let from = StridedTensor::full(&[moved / 8], 1f32, MemoryFormat::Contiguous).unwrap();
    let mut to = from.clone();
    to = to.copy(MemoryFormat::Contiguous).unwrap();
    let mut forward = || drop(op.run(&refs(inputs)).unwrap());
    let mut backward = || drop(op.backward(&refs(inputs), &refs(&y), &diffs, &wanted).unwrap());
    let mut copy = || blocktensor::elementwise::copy_into("copy", &mut to, &from).unwrap();
    let times = least(&mut [&mut forward, &mut backward, &mut copy]);
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    println!(
        "| {name} | {kind:?} | {:.2} | {:.2} | {:.1} | {:.2} | {:.1} |",
        ms(times[0]),
        ms(times[1]),
        ms(times[1]) / ms(times[0]),
        ms(times[2]),
        ms(times[1]) / ms(times[2])
    );
}

fn main() {
    let n = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(4);
    println!("batch {n}, {} threads", current_threads());
    println!(
        "| call | layout | forward ms | backward ms | ratio | copy ms | backward / copy |\n|---|---|---|---|---|---|---|"
    );
    let ints = |list: &[i64]| Value::from(list.to_vec());
    for kind in [Kind::Nchw, Kind::Nhwc, Kind::Blocked] {
        for (c, o, size, k, stride, groups) in [
            (64, 64, 56, 3, 1, 1),
            (64, 128, 56, 3, 2, 1),
            (128, 128, 28, 3, 1, 1),
            (256, 256, 14, 3, 1, 1),
            (512, 512, 7, 3, 1, 1),
            (64, 128, 56, 1, 2, 1),
            (64, 256, 56, 1, 1, 1),
            (96, 96, 56, 3, 1, 96),
        ] {
            let params = [
                ("stride", ints(&[stride])),
                ("padding", ints(&[k / 2])),
                ("groups", (groups as i64).into()),
            ];
            let op = BoundOp::new("conv2d", &["x", "weights"], &params).unwrap();
            let w = weights(&[o, c / groups, k as usize, k as usize], kind, groups);
            let inputs = [data(&[n, c, size, size], kind), w];
            let name = format!("conv {k}x{k} {c} to {o}, {size}, stride {stride}, groups {groups}");
            for (only, by) in [(0, "by x"), (1, "by weights")] {
                row(&format!("{name}, {by}"), kind, &op, &inputs, Some(only));
            }
        }
        let x = data(&[n, 64, 56, 56], kind);
        let norm =
            BoundOp::new("batch_norm_train", &["x", "running_mean", "running_var", "weight", "bias"], &[]);
        let inputs = [x.clone(), vector(64), vector(64), vector(64), vector(64)];
        row("batch_norm_train 64, 56", kind, &norm.unwrap(), &inputs, None);
        let unary = [("relu", vec![]), ("gelu", vec![]), ("softmax", vec![("axis", Value::Int(1))])];
        for (op, params) in unary {
            row(op, kind, &BoundOp::new(op, &["x"], &params).unwrap(), std::slice::from_ref(&x), None);
        }
        row("add", kind, &BoundOp::new("add", &["a", "b"], &[]).unwrap(), &[x.clone(), x.clone()], None);
        let pool = [("kernel", ints(&[3])), ("stride", ints(&[2])), ("padding", ints(&[1]))];
        for op in ["max_pool2d", "avg_pool2d"] {
            row(op, kind, &BoundOp::new(op, &["x"], &pool).unwrap(), std::slice::from_ref(&x), None);
        }
        row(
            "global_avg_pool",
            kind,
            &BoundOp::new("global_avg_pool", &["x"], &[]).unwrap(),
            std::slice::from_ref(&x),
            None,
        );
        let to = [("output", ints(&[112, 112]))];
        for op in ["upsample_nearest", "upsample_bilinear"] {
            row(op, kind, &BoundOp::new(op, &["x"], &to).unwrap(), std::slice::from_ref(&x), None);
        }
        let norm = BoundOp::new("group_norm", &["x"], &[("groups", 8.into())]).unwrap();
        row("group_norm", kind, &norm, std::slice::from_ref(&x), None);
        let norm = BoundOp::new("layer_norm", &["x"], &[("normalized_shape", ints(&[64, 56, 56]))]).unwrap();
        row("layer_norm", kind, &norm, std::slice::from_ref(&x), None);
    }
}
