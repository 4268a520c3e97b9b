//! Gradients against finite differences in f64 of small definitions, the adjoint identity, and the rules that hold for all ops.

mod adjoint;
mod conv;
mod elementwise;
mod pool_linear;
mod rules;

use blocktensor::dispatch::Value;
use blocktensor::{BoundOp, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorRef};

use crate::support::Rng;
pub use crate::support::activation::elements as plain;

/// How activations of a call lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Nchw,
    Nhwc,
    Blocked(usize),
}

pub const KINDS: [Kind; 4] = [Kind::Nchw, Kind::Nhwc, Kind::Blocked(16), Kind::Blocked(8)];

/// An activation of rank 3 to 5.
pub fn activation(values: &[f32], dims: &[usize], kind: Kind) -> Tensor {
    let t = StridedTensor::from_slice(values, dims).unwrap();
    match kind {
        Kind::Nchw => t.into(),
        Kind::Nhwc => t.contiguous(MemoryFormat::channels_last_of(dims.len()).unwrap()).unwrap().into(),
        Kind::Blocked(block) => {
            t.to_blocked(&Layout::blocked_activation(dims.len(), block).unwrap()).unwrap().into()
        }
    }
}

pub fn refs(list: &[Tensor]) -> Vec<TensorRef<'_>> {
    list.iter().map(Operand::tensor_ref).collect()
}

/// The op with parameters.
pub fn bound(op: &str, inputs: &[&str], params: &[(&str, Value)]) -> BoundOp {
    BoundOp::new(op, inputs, params).unwrap()
}

/// A tensor of random numbers that is as another one. A strided one comes in the other format, too, if it has one.
pub fn diffs_for(y: &Tensor, rng: &mut Rng) -> Vec<Tensor> {
    let dims = y.tensor_ref().dims();
    let values = StridedTensor::from_slice(&rng.reals(dims.iter().product()), dims).unwrap();
    match y {
        Tensor::Blocked(y) => vec![values.to_blocked(y.layout()).unwrap().into()],
        _ => {
            let other = MemoryFormat::channels_last_of(dims.len());
            let other = other.map(|format| values.contiguous(format).unwrap().into());
            std::iter::once(values.into()).chain(other).collect()
        }
    }
}

/// Whether a gradient is as its operand in memory.
#[track_caller]
pub fn assert_as_operand(what: &str, operand: &Tensor, made: &Tensor) {
    let (x, d) = (operand.tensor_ref(), made.tensor_ref());
    assert_eq!((x.dims(), x.dtype(), x.key()), (d.dims(), d.dtype(), d.key()), "{what}");
    match (operand, made) {
        (Tensor::Strided(x), Tensor::Strided(d)) => {
            let of = |t: &StridedTensor| -> Vec<usize> {
                (0..t.rank()).filter(|&a| t.dims()[a] > 1).map(|a| t.strides()[a]).collect()
            };
            if x.numel() > 0 && x.is_non_overlapping_and_dense() {
                assert_eq!(of(x), of(d), "{what}: strides");
            }
        }
        (Tensor::Blocked(x), Tensor::Blocked(d)) => assert_eq!(x.layout(), d.layout(), "{what}"),
        _ => unreachable!("keys are equal"),
    }
}

/// Compares the gradients of the first `count` inputs with finite differences of `f`, which gives the op's result in f64 from the
/// elements of all inputs.
#[track_caller]
pub fn check(
    op: &BoundOp,
    inputs: &[Tensor],
    count: usize,
    f: impl Fn(&[Vec<f64>]) -> Vec<f64>,
    rng: &mut Rng,
) {
    let y = op.run(&refs(inputs)).unwrap().remove(0);
    let wanted: Vec<bool> = (0..inputs.len()).map(|i| i < count).collect();
    let elements: Vec<Vec<f64>> =
        inputs.iter().map(|t| plain(t).iter().map(|&v| v.into()).collect()).collect();
    for diff in diffs_for(&y, rng) {
        let what = format!(
            "{op} of {:?}, gradient {}",
            inputs.iter().map(|t| t.tensor_ref().describe()).collect::<Vec<_>>(),
            diff.tensor_ref().layout_name()
        );
        let made =
            op.backward(&refs(inputs), &[y.tensor_ref()], &[Some(diff.tensor_ref())], &wanted).unwrap();
        assert!(made[count..].iter().all(Option::is_none), "{what}");
        let u: Vec<f64> = plain(&diff).iter().map(|&v| v.into()).collect();
        let loss = |x: &[Vec<f64>]| -> f64 { f(x).iter().zip(&u).map(|(y, u)| y * u).sum() };
        for (i, made) in made[..count].iter().enumerate() {
            let made = made.as_ref().unwrap();
            assert_as_operand(&what, &inputs[i], made);
            let got = plain(made);
            let scale = got.iter().fold(1f64, |m, v| m.max(f64::from(*v).abs()));
            for _ in 0..got.len().min(60) {
                let at = rng.below(got.len());
                let h = 1e-6;
                let mut x = elements.clone();
                x[i][at] += h;
                let above = loss(&x);
                x[i][at] -= 2.0 * h;
                let want = (above - loss(&x)) / (2.0 * h);
                let error = (f64::from(got[at]) - want).abs();
                assert!(error <= 2e-5 * scale, "{what}: input {i}, element {at}: {} for {want}", got[at]);
            }
        }
    }
}
