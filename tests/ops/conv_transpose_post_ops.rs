//! Bias and post-ops of transposed convolutions. For some kernels a pass of our own applies them.

use blocktensor::ops::{Activation, ConvTranspose2d, Fusion, PostOp};
use blocktensor::{Layout, MemoryFormat, PackedConvTranspose2d, Source, StridedTensor};

use super::conv_transpose::{Data, params, problem};
use crate::support::{Rng, assert_close};

/// Runs the call in every layout. `check` gets the name of the layout, the name of the kernel, and the elements of the result
/// in row-major order.
fn in_every_layout(
    packer: &blocktensor::ConvPacker<2, blocktensor::ops::Transposed>,
    x: &StridedTensor,
    residual: Option<&StridedTensor>,
    channel: &[&StridedTensor],
    check: impl Fn(&str, &[f32]),
) {
    for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
        let x = x.contiguous(format).unwrap();
        let residual = residual.map(|r| r.contiguous(format).unwrap());
        let packed = packer.pack_for(&Source::strided(x.dims(), format).unwrap()).unwrap();
        let y = packed.run_fused(&x, Fusion { residual: residual.as_ref(), channel }).unwrap();
        check(&format!("{format} {}", packed.implementation()), &y.to_vec().unwrap());
    }
    for layout in [16, 8].map(|b| Layout::blocked_activation(4, b).unwrap()) {
        let x = x.to_blocked(&layout).unwrap();
        let residual = residual.map(|r| r.to_blocked(&layout).unwrap());
        let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let y = packed.run_fused(&x, Fusion { residual: residual.as_ref(), channel }).unwrap();
        let what = format!("{layout} {}", packed.implementation());
        y.check_tail().unwrap_or_else(|e| panic!("{what}: {e}"));
        check(&what, &y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap());
    }
}

fn exact(a: Activation, v: f64) -> f64 {
    match a {
        Activation::Relu => v.max(0.0),
        Activation::LeakyRelu(slope) => v * if v > 0.0 { 1.0 } else { f64::from(slope) },
        Activation::Clip(low, high) => v.clamp(low.into(), high.into()),
        other => unreachable!("{other} is not exact"),
    }
}

#[test]
fn conv_transpose_with_lists_of_post_ops_is_exact_in_every_layout() {
    let mut rng = Rng(75);
    let mut cases = 0;
    while cases < 150 {
        let mut p = problem(&mut rng, 2);
        if rng.below(3) == 0 {
            // Kernels that are built on the gradient of a pointwise or a depthwise convolution.
            p.of.kernel = [1; 3];
        }
        let Some([_, h, w]) = p.output() else { continue };
        cases += 1;
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let residual = rng.integers(data.want.len());
        let (mut want, mut params) = (data.want.clone(), params::<2>(&p));
        let bias = rng.below(4) > 0;
        if !bias {
            let b = data.b.to_vec::<f32>().unwrap();
            want.iter_mut().enumerate().for_each(|(i, v)| *v -= f64::from(b[i / (h * w) % p.of.o]));
        }
        let mut numbers: Vec<Vec<f32>> = Vec::new();
        let mut takes_residual = false;
        for _ in 0..1 + rng.below(5) {
            let op = match rng.below(8) {
                0 if !takes_residual => PostOp::Residual,
                1 if numbers.len() < 2 => PostOp::MulChannel,
                2 => PostOp::AddChannel,
                3 if numbers.len() < 2 => PostOp::Prelu,
                7 => PostOp::Activation(Activation::Relu),
                4 => PostOp::Activation(Activation::LeakyRelu(0.5)),
                5 => PostOp::Activation(Activation::LeakyRelu(-2.0)),
                _ => PostOp::Activation(Activation::Clip(-9.0, 20.0)),
            };
            params = params.post_op(op);
            let own = if matches!(op, PostOp::MulChannel | PostOp::AddChannel | PostOp::Prelu) {
                numbers.push(rng.integers(p.of.o));
                &numbers[numbers.len() - 1][..]
            } else {
                &[]
            };
            takes_residual |= op == PostOp::Residual;
            for (i, v) in want.iter_mut().enumerate() {
                let c = i / (h * w) % p.of.o;
                *v = match op {
                    PostOp::Residual => *v + f64::from(residual[i]),
                    PostOp::MulChannel => *v * f64::from(own[c]),
                    PostOp::AddChannel => *v + f64::from(own[c]),
                    PostOp::Prelu if *v > 0.0 => *v,
                    PostOp::Prelu => *v * f64::from(own[c]),
                    PostOp::Activation(a) => exact(a, *v),
                    other => unreachable!("{other:?}"),
                };
            }
        }
        let residual = StridedTensor::from_slice(&residual, &[p.of.n, p.of.o, h, w]).unwrap();
        let residual = takes_residual.then_some(&residual);
        let numbers: Vec<StridedTensor> =
            numbers.iter().map(|n| StridedTensor::from_slice(n, &[p.of.o]).unwrap()).collect();
        let channel: Vec<&StridedTensor> = numbers.iter().collect();
        let packer = PackedConvTranspose2d::new(&data.w, bias.then_some(&data.b), params.clone()).unwrap();
        in_every_layout(&packer, &data.x, residual, &channel, |what, y| {
            assert_close(&format!("case {cases} {what} {params:?} bias {bias} {p:?}"), y, &want, |_| 0.0);
        });
    }
}

/// Found before: `relu` made NaN of minus infinity and -0 of negative numbers, and `sigmoid` made 0 of NaN.
#[test]
fn conv_transpose_activations_of_nan_and_infinities_match_pytorch() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let values = [-inf, inf, nan, -2.0, 3.0];
    // Results of PyTorch 2.15. NaN stands where the docs of `Activation` say that kernels differ.
    let functions = [
        (Activation::Relu, [0.0, inf, nan, 0.0, 3.0]),
        (Activation::LeakyRelu(0.5), [-inf, inf, nan, -1.0, 3.0]),
        (Activation::Clip(-1.0, 2.0), [-1.0, 2.0, nan, -1.0, 2.0]),
        (Activation::Silu, [nan, inf, nan, -0.238_405_84, 2.857_722_3]),
        (Activation::HardSwish, [nan, inf, nan, -0.333_333_34, 3.0]),
        (Activation::Sigmoid, [0.0, 1.0, nan, 0.119_202_92, 0.952_574_13]),
        (Activation::Tanh, [-1.0, 1.0, nan, -0.964_027_6, 0.995_054_8]),
    ];
    for (groups, per_group, kernel) in [(1, 5, 1), (1, 17, 1), (16, 1, 1), (17, 1, 1), (1, 16, 3)] {
        let x: Vec<f32> = (0..groups).flat_map(|_| values).collect();
        let x = StridedTensor::from_slice(&x, &[1, groups, 1, 5]).unwrap();
        // The kernel is 3 x 1 with one weight that is not 0, and that weight meets each number.
        let w: Vec<f32> =
            (0..groups * per_group * kernel).map(|i| f32::from(u8::from(i % kernel == kernel / 2))).collect();
        let w = StridedTensor::from_slice(&w, &[groups, per_group, kernel, 1]).unwrap();
        for (function, want) in functions {
            let params = ConvTranspose2d::new().groups(groups).paddings([kernel / 2, 0], [kernel / 2, 0]);
            let packer = PackedConvTranspose2d::new(&w, None, params.activation(function)).unwrap();
            in_every_layout(&packer, &x, None, &[], |what, y| {
                for (i, &y) in y.iter().enumerate() {
                    let (x, want) = (values[i % 5], want[i % 5]);
                    let may_be_a_bound = matches!(function, Activation::Relu | Activation::Clip(..));
                    let fits = match want.is_nan() {
                        true => y.is_nan() || may_be_a_bound && x.is_nan(),
                        false if want == 0.0 => y.to_bits() == 0,
                        false => y == want || (y - want).abs() < 1e-6,
                    };
                    assert!(fits, "{function}({x}) is {y}, {what}, {groups} {per_group} {kernel}");
                }
            });
        }
    }
}
