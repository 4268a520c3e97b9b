//! Every fused activation and `prelu` after a convolution, in every layout, against f64 definitions.

use blocktensor::ops::{self, Activation, Conv2d, Fusion, PostOp};
use blocktensor::{Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};

use super::conv::{Data, conv2d, problem};
use super::unary::erf;
use crate::support::{Rng, assert_close};

pub(super) const ACTIVATIONS: [Activation; 9] = [
    Activation::Relu,
    Activation::LeakyRelu(0.25),
    Activation::Clip(-1.0, 6.0),
    Activation::Silu,
    Activation::HardSwish,
    Activation::HardSigmoid,
    Activation::Gelu,
    Activation::Sigmoid,
    Activation::Tanh,
];

/// What an activation makes of a number.
pub(super) fn of(activation: Activation, v: f64) -> f64 {
    match activation {
        Activation::Relu => v.max(0.0),
        Activation::LeakyRelu(slope) => v * if v > 0.0 { 1.0 } else { f64::from(slope) },
        Activation::Clip(low, high) => v.clamp(low.into(), high.into()),
        Activation::Silu => v / (1.0 + (-v).exp()),
        Activation::HardSwish => v * (v + 3.0).clamp(0.0, 6.0) / 6.0,
        Activation::HardSigmoid => (v + 3.0).clamp(0.0, 6.0) / 6.0,
        Activation::Gelu => v / 2.0 * (1.0 + erf(v / 2f64.sqrt())),
        Activation::Sigmoid => 1.0 / (1.0 + (-v).exp()),
        Activation::Tanh => v.tanh(),
        other => unreachable!("{other} has no definition here"),
    }
}

/// Runs the convolution under both strided formats and both blocked layouts, packed, and once not packed.
fn in_every_layout(
    data: &Data,
    params: &Conv2d,
    fusion: Fusion<'_, StridedTensor>,
    check: impl Fn(&str, &[f32]),
) {
    let packer = PackedConv2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
    let y = ops::conv2d_fused(&data.x, &data.w, Some(&data.b), params, fusion).unwrap();
    check("not packed", &y.to_vec().unwrap());
    for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
        let x = data.x.contiguous(format).unwrap();
        let residual = fusion.residual.map(|r| r.contiguous(format).unwrap());
        let packed = packer.pack_for(&Source::strided(x.dims(), format).unwrap()).unwrap();
        let y =
            packed.run_fused(&x, Fusion { residual: residual.as_ref(), channel: fusion.channel }).unwrap();
        check(&format!("{format} {}", packed.implementation()), &y.to_vec().unwrap());
    }
    for layout in [16, 8].map(|b| Layout::blocked_activation(4, b).unwrap()) {
        let x = data.x.to_blocked(&layout).unwrap();
        let residual = fusion.residual.map(|r| r.to_blocked(&layout).unwrap());
        let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let y =
            packed.run_fused(&x, Fusion { residual: residual.as_ref(), channel: fusion.channel }).unwrap();
        let what = format!("{layout} {}", packed.implementation());
        y.check_tail().unwrap_or_else(|e| panic!("{what}: {e}"));
        check(&what, &y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap());
    }
}

#[test]
fn conv2d_with_each_activation_agrees_with_f64_definitions_in_every_layout() {
    let mut rng = Rng(83);
    for round in 0..4 {
        for activation in ACTIVATIONS {
            let p = problem(&mut rng, 2);
            let data = Data::new(&p, 2, |n| rng.reals(n));
            let want: Vec<f64> = data.want.iter().map(|v| of(activation, *v)).collect();
            let params = conv2d(&p).activation(activation);
            let fusion = Fusion { residual: None, channel: &[] };
            in_every_layout(&data, &params, fusion, |what, y| {
                let what = format!("{round} {activation:?} {what} {p:?}");
                assert_close(&what, y, &want, |i| 3e-6 * (1.0 + data.magnitude[i]));
            });
        }
    }
}

/// `prelu` is ours on every kernel; what stands before and after it must keep its place.
#[test]
fn conv2d_with_prelu_among_other_post_ops_is_exact_in_every_layout() {
    let mut rng = Rng(84);
    for case in 0..60 {
        let p = problem(&mut rng, 2);
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let (slope, shift) = (rng.integers(p.o), rng.integers(p.o));
        let residual = rng.integers(data.want.len());
        let output = p.output();
        let pixels = output.iter().product::<usize>();
        let of = |i: usize| {
            let c = i / pixels % p.o;
            let v = data.want[i] + f64::from(residual[i]);
            (if v > 0.0 { v } else { v * f64::from(slope[c]) }) + f64::from(shift[c])
        };
        let want: Vec<f64> = (0..data.want.len()).map(of).collect();
        let residual = StridedTensor::from_slice(&residual, &[p.n, p.o, output[1], output[2]]).unwrap();
        let [slope, shift] = [slope, shift].map(|v| StridedTensor::from_slice(&v, &[p.o]).unwrap());
        let params = conv2d(&p).residual().post_op(PostOp::Prelu).post_op(PostOp::AddChannel);
        let channel = [&slope, &shift];
        let fusion = Fusion { residual: Some(&residual), channel: &channel };
        in_every_layout(&data, &params, fusion, |what, y| {
            assert_close(&format!("case {case} {what} {p:?}"), y, &want, |_| 0.0);
        });
    }
}
