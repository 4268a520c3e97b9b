//! Relations between two calls that hold for any numbers: layouts agree, a batch may be split, channels may be permuted,
//! elements outside of a view of the channels are not read, and the number of threads changes no bit.

mod convolutions;

use std::sync::LazyLock;

use blocktensor::dispatch::{self, Value};
use blocktensor::{Error, MemoryFormat, Operand, StridedTensor, Tensor};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::support::activation::{elements, forms};
use crate::support::{Rng, amid, unary_ops};

type Given = Vec<(&'static str, Value)>;

/// One op. The function makes its arguments from an activation and from a source of vectors with a number for each channel.
#[derive(Clone, Copy)]
struct Subject {
    op: &'static str,
    args: fn(Tensor, &dyn Fn(u64) -> StridedTensor) -> Given,
    /// Each channel of the result comes from the same channel of the source.
    by_channel: bool,
    /// Layouts may add in different orders: the largest allowed difference, relative to 1.
    slack: f32,
}

const fn subject(
    op: &'static str,
    by_channel: bool,
    slack: f32,
    args: fn(Tensor, &dyn Fn(u64) -> StridedTensor) -> Given,
) -> Subject {
    Subject { op, args, by_channel, slack }
}

/// The ops that are tested, besides every element-wise op of one operand.
const SUBJECTS: &[Subject] = &[
    subject("add", true, 0.0, |x, _| vec![("a", x.clone().into()), ("b", x.into())]),
    subject("div", true, 0.0, |x, _| vec![("a", x.clone().into()), ("b", x.into())]),
    subject("prelu", true, 0.0, |x, v| vec![("x", x.into()), ("weights", v(1).into())]),
    subject("batch_norm", true, 0.0, |x, v| {
        let var = v(2);
        let square = [("a", var.clone().into()), ("b", var.into())];
        let square = dispatch::call("mul", &square).unwrap().remove(0);
        vec![
            ("x", x.into()),
            ("mean", v(1).into()),
            ("var", square.into()),
            ("weight", v(3).into()),
            ("bias", v(4).into()),
        ]
    }),
    subject("max_pool2d", true, 0.0, |x, _| {
        vec![("x", x.into()), ("kernel", vec![2, 1].into()), ("padding", vec![1, 0].into())]
    }),
    subject("avg_pool2d", true, 0.0, |x, _| {
        vec![("x", x.into()), ("kernel", vec![1, 1].into()), ("stride", vec![2, 1].into())]
    }),
    subject("adaptive_avg_pool2d", true, 1e-5, |x, _| vec![("x", x.into()), ("output", vec![2, 3].into())]),
    subject("upsample_nearest", true, 0.0, |x, _| vec![("x", x.into()), ("output", vec![5, 4].into())]),
    subject("upsample_bilinear", true, 0.0, |x, _| {
        vec![("x", x.into()), ("output", vec![3, 7].into()), ("align_corners", false.into())]
    }),
    subject("instance_norm", true, 1e-4, |x, _| vec![("x", x.into())]),
    subject("softmax", true, 1e-5, |x, _| vec![("x", x.into()), ("axis", 3.into())]),
    subject("softmax", false, 1e-5, |x, _| vec![("x", x.into()), ("axis", 1.into())]),
    subject("log_softmax", false, 1e-4, |x, _| vec![("x", x.into()), ("axis", 1.into())]),
    subject("local_response_norm", false, 1e-5, |x, _| vec![("x", x.into()), ("size", 5.into())]),
    subject("group_norm", false, 1e-4, |x, v| {
        vec![("x", x.into()), ("groups", 1.into()), ("weight", v(1).into()), ("bias", v(2).into())]
    }),
    subject("cat", false, 0.0, |x, _| vec![("tensors", vec![x.clone(), x].into()), ("axis", 1.into())]),
    subject("sum", false, 1e-4, |x, _| {
        vec![("x", x.into()), ("axes", vec![1].into()), ("keepdim", true.into())]
    }),
    subject("amax", true, 0.0, |x, _| {
        vec![("x", x.into()), ("axes", vec![2, 3].into()), ("keepdim", true.into())]
    }),
    subject("pad", true, 0.0, |x, _| vec![("x", x.into()), ("padding", vec![1, 0, 2, 1].into())]),
];

/// `SUBJECTS`, and every element-wise op of one operand with its default parameters.
fn subjects() -> Vec<Subject> {
    let unary = unary_ops().map(|op| subject(op.schema().name, true, 0.0, |x, _| vec![("x", x.into())]));
    SUBJECTS.iter().copied().chain(unary).collect()
}

fn pool(threads: usize) -> &'static ThreadPool {
    static POOLS: LazyLock<[ThreadPool; 3]> =
        LazyLock::new(|| [1, 2, 3].map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()));
    &POOLS[threads - 1]
}

/// The bits of the elements. All NaN count as equal.
fn bits(t: &Tensor) -> Vec<u32> {
    elements(t).into_iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }).collect()
}

fn strided(t: &Tensor) -> StridedTensor {
    match t {
        Tensor::Strided(t) => t.clone(),
        Tensor::Blocked(t) => t.to_strided(MemoryFormat::Contiguous).unwrap(),
        Tensor::Opaque(_) => unreachable!("no key but ours"),
    }
}

/// A part of a tensor along an axis, in the layout of the whole.
fn part(t: &Tensor, axis: usize, start: usize, length: usize) -> Tensor {
    let narrow = strided(t).narrow(axis, start, length).unwrap();
    match t {
        Tensor::Blocked(b) => narrow.to_blocked(b.layout()).unwrap().into(),
        _ => narrow.into(),
    }
}

/// The tensor with its channels in another order.
fn renamed(x: &StridedTensor, order: &[usize]) -> StridedTensor {
    let [n, c, h, w] = *x.dims() else { unreachable!() };
    let data = x.to_vec::<f32>().unwrap();
    let turned: Vec<f32> = (0..n * c * h * w)
        .map(|i| data[(i / (c * h * w) * c + order[i / (h * w) % c]) * h * w + i % (h * w)])
        .collect();
    StridedTensor::from_slice(&turned, x.dims()).unwrap()
}

/// The same elements as a view of some channels of a larger tensor, whose other channels are NaN, in two formats.
fn poisoned(x: &StridedTensor) -> [StridedTensor; 2] {
    [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast].map(|format| amid(x, 1, [3, 18], f32::NAN, format))
}

#[test]
fn ops_satisfy_every_metamorphic_relation() {
    let mut rng = Rng(20);
    let (mut compared, mut unsupported) = ([0; 5], 0);
    let subjects = subjects();
    for case in 0..30 * subjects.len() {
        let s = &subjects[case % subjects.len()];
        let c = rng.pick(&[1, 3, 15, 16, 17, 31, 33]);
        let dims = [1 + rng.below(3), c, 1 + rng.below(5), 1 + rng.below(6)];
        let data: Vec<f32> = rng.reals(dims.iter().product());
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        let seed = rng.next();
        let vector = |order: &[usize]| {
            let order = order.to_vec();
            move |which: u64| {
                let v = Rng(seed ^ which).reals(c);
                let v: Vec<f32> = order.iter().map(|&c| v[c]).collect();
                StridedTensor::from_slice(&v, &[c]).unwrap()
            }
        };
        let plain: Vec<usize> = (0..c).collect();
        let call_with = |t: &Tensor, order: &[usize]| {
            let args = (s.args)(t.clone(), &vector(order));
            dispatch::call(s.op, &args).map(|mut y| y.remove(0))
        };
        let call = |t: &Tensor| call_with(t, &plain).unwrap();
        let want = match call_with(&x.clone().into(), &plain) {
            Ok(want) => want,
            // Norms refuse the variance of a single element.
            Err(Error::InvalidArgument(_)) if s.op.ends_with("_norm") => continue,
            Err(e) => panic!("{}: {e}", s.op),
        };
        let mut order = plain.clone();
        (1..c).rev().for_each(|i| order.swap(i, rng.below(i + 1)));
        for (name, form) in forms(&x) {
            let what = format!("case {case}: {} of {dims:?}, {name}", s.op);
            let y = match call_with(&form, &plain) {
                Ok(y) => y,
                Err(Error::UnsupportedOp(_)) => {
                    unsupported += 1;
                    continue;
                }
                Err(e) => panic!("{what}: {e}"),
            };
            // Layouts agree.
            let (got, expected) = (elements(&y), elements(&want));
            let near = |(g, w): (&f32, &f32)| {
                g.to_bits() == w.to_bits()
                    || (g - w).abs() <= s.slack * w.abs().max(1.0)
                    || g.is_nan() && w.is_nan()
            };
            assert!(
                got.len() == expected.len() && got.iter().zip(&expected).all(near),
                "{what}: {got:?} {expected:?}"
            );
            compared[0] += 1;
            let whole = bits(&y);
            // A batch may be split.
            let n = rng.below(dims[0]);
            let one = call(&part(&form, 0, n, 1));
            assert_eq!(bits(&one), bits(&part(&y, 0, n, 1)), "{what}: image {n} alone");
            compared[1] += 1;
            // Channels may be permuted.
            if s.by_channel {
                let turned: Tensor = match &form {
                    Tensor::Blocked(b) => renamed(&x, &order).to_blocked(b.layout()).unwrap().into(),
                    _ => renamed(&x, &order).into(),
                };
                let turned = call_with(&turned, &order).unwrap();
                let expected = match form.tensor_ref() {
                    blocktensor::TensorRef::Blocked(_) => strided(&y),
                    _ => strided(&want),
                };
                assert_eq!(
                    bits(&turned),
                    bits(&renamed(&expected, &order).into()),
                    "{what}: renamed by {order:?}"
                );
                compared[2] += 1;
            }
            // Threads change no bit.
            for threads in 1..=3 {
                let again = pool(threads).install(|| bits(&call(&form)));
                assert!(again == whole, "{what}: {threads} threads");
                compared[3] += 1;
            }
        }
        // Elements outside of the view are not read.
        for (view, name) in poisoned(&x).into_iter().zip(["contiguous", "channels_last"]) {
            let what = format!("case {case}: {} of {dims:?} amid NaN, {name}", s.op);
            let near = |(g, w): (&f32, &f32)| {
                (g - w).abs() <= s.slack.max(1e-5) * w.abs().max(1.0) || g == w || g.is_nan() && w.is_nan()
            };
            let mut check = |t: Tensor| {
                let y = match call_with(&t, &plain) {
                    Ok(y) => y,
                    Err(Error::UnsupportedOp(_)) => return,
                    Err(e) => panic!("{what}: {e}"),
                };
                let (got, expected) = (elements(&y), elements(&want));
                assert!(got.iter().zip(&expected).all(near), "{what}: {got:?} {expected:?}");
                compared[4] += 1;
            };
            for block in [4, 8, 16] {
                let layout = blocktensor::Layout::blocked_activation(4, block).unwrap();
                check(view.to_blocked(&layout).unwrap().into());
            }
            check(view.into());
        }
    }
    println!(
        "compared: layouts, splits, renamings, threads, poison: {compared:?}; {unsupported} without a kernel"
    );
    assert!(compared[0] > 6000 && compared[2] > 4000 && compared[4] > 6000, "{compared:?}");
}
