//! Gradients of convolutions.

use blocktensor::dispatch::Value;
use blocktensor::{BoundOp, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, ledger};

use super::{KINDS, Kind, activation, bound, check, plain, refs};
use crate::support::Rng;
use crate::support::conv::Problem;

fn list(axes: &[usize]) -> Value {
    axes.iter().map(|&v| v as i64).collect::<Vec<_>>().into()
}

/// A problem with `spatial` dimensions as an op and its operands.
fn call(p: &Problem, spatial: usize, kind: Kind, with_bias: bool, rng: &mut Rng) -> (BoundOp, Vec<Tensor>) {
    call_of(p, spatial, kind, (with_bias, false), rng)
}

/// The same, or the transposed convolution from its result to its source.
fn call_of(
    p: &Problem,
    spatial: usize,
    kind: Kind,
    (with_bias, transposed): (bool, bool),
    rng: &mut Rng,
) -> (BoundOp, Vec<Tensor>) {
    let first = 3 - spatial;
    let padding = [&p.pad_begin[first..], &p.pad_end[first..]].concat();
    let mut params = vec![
        ("stride", list(&p.stride[first..])),
        ("padding", list(&padding)),
        ("dilation", list(&p.dilation[first..])),
        ("groups", (p.groups as i64).into()),
    ];
    if transposed {
        let rest = |a: usize| {
            let reach = p.dilation[a] * (p.kernel[a] - 1) + 1;
            (p.input[a] + p.pad_begin[a] + p.pad_end[a] - reach) % p.stride[a]
        };
        params.push(("output_padding", list(&(first..3).map(rest).collect::<Vec<_>>())));
    }
    let inputs: &[&str] = if with_bias { &["x", "weights", "bias"] } else { &["x", "weights"] };
    let name = if transposed { "conv_transpose" } else { "conv" };
    let op = bound(&format!("{name}{spatial}d"), inputs, &params);
    let output = p.output();
    let (channels, sizes) = if transposed { (p.o, &output) } else { (p.c, &p.input) };
    let dims = [&[p.n, channels], &sizes[first..]].concat();
    let x = activation(&rng.reals(dims.iter().product()), &dims, kind);
    let (c, o) = (p.c / p.groups, p.o / p.groups);
    let w = rng.reals(p.o * c * p.kernel.iter().product::<usize>());
    let w: Tensor = match kind {
        Kind::Blocked(block) => {
            let apart = [&[p.groups, o, c], &p.kernel[first..]].concat();
            let dims = if p.groups > 1 { &apart[..] } else { &apart[1..] };
            let order: Vec<usize> = (0..dims.len()).collect();
            let blocks = match p.groups {
                1 => vec![(1, block), (0, block)],
                groups if groups == p.c && groups == p.o => vec![(0, block)],
                _ => vec![(2, block), (1, block)],
            };
            let layout = Layout::new(&order, &blocks).unwrap().with_role(if p.groups > 1 {
                blocktensor::Role::GroupedWeights
            } else {
                blocktensor::Role::Weights
            });
            let mut w = StridedTensor::from_slice(&w, dims).unwrap();
            if transposed {
                // Blocked weights have their output channels first.
                let axis = dims.len() - spatial - 2;
                w = w.transpose(axis, axis + 1).unwrap();
            }
            w.to_blocked(&layout).unwrap().into()
        }
        _ => {
            let dims = [&[p.o, c], &p.kernel[first..]].concat();
            let w = StridedTensor::from_slice(&w, &dims).unwrap();
            match MemoryFormat::channels_last_of(dims.len()) {
                Some(last) if kind == Kind::Nhwc => w.contiguous(last).unwrap().into(),
                _ => w.into(),
            }
        }
    };
    let mut tensors = vec![x, w];
    if with_bias {
        let count = if transposed { p.c } else { p.o };
        tensors.push(StridedTensor::from_slice(&rng.reals(count), &[count]).unwrap().into());
    }
    (op, tensors)
}

/// The convolution in f64 by its definition.
fn solve(p: &Problem, x: &[Vec<f64>]) -> Vec<f64> {
    let mut y = vec![0.0; p.n * p.o * p.output().iter().product::<usize>()];
    if let Some(bias) = x.get(2) {
        let pixels = p.output().iter().product::<usize>();
        y.iter_mut().enumerate().for_each(|(i, y)| *y = bias[i / pixels % p.o]);
    }
    for_each_product(p, |of_y, of_x, of_w| y[of_y] += x[0][of_x] * x[1][of_w]);
    y
}

/// The transposed convolution in f64 by its definition. `w` are the elements of the weights of `p`.
fn spread(p: &Problem, x: &[f64], w: &[f64], bias: Option<&Vec<f64>>) -> Vec<f64> {
    let pixels: usize = p.input.iter().product();
    let mut y: Vec<f64> =
        (0..p.n * p.c * pixels).map(|i| bias.map_or(0.0, |b| b[i / pixels % p.c])).collect();
    for_each_product(p, |of_x, of_y, of_w| y[of_y] += x[of_x] * w[of_w]);
    y
}

/// Calls `f` with the numbers of the elements of result, source and weights of each product.
fn for_each_product(p: &Problem, mut f: impl FnMut(usize, usize, usize)) {
    let (out, k) = (p.output(), p.kernel);
    let (cg, og) = (p.c / p.groups, p.o / p.groups);
    let mut of_y = 0;
    for n in 0..p.n {
        for o in 0..p.o {
            for i in 0..out.iter().product::<usize>() {
                let at = [i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]];
                for c in 0..cg {
                    for t in 0..k.iter().product::<usize>() {
                        let tap = [t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]];
                        let pos: [usize; 3] = std::array::from_fn(|a| {
                            (at[a] * p.stride[a] + tap[a] * p.dilation[a]).wrapping_sub(p.pad_begin[a])
                        });
                        if (0..3).all(|a| pos[a] < p.input[a]) {
                            let of_x = (n * p.c + o / og * cg + c) * p.input[0] + pos[0];
                            let of_x = (of_x * p.input[1] + pos[1]) * p.input[2] + pos[2];
                            f(of_y, of_x, (o * cg + c) * k.iter().product::<usize>() + t);
                        }
                    }
                }
                of_y += 1;
            }
        }
    }
}

/// Problems of 1 to 3 dimensions: their number, then the problem.
fn problems() -> Vec<(usize, Problem)> {
    let flat = |n, c, o| Problem::new([n, c, o], [1, 5, 4], [1, 3, 3]);
    let mut all: Vec<(usize, Problem)> = [1, 3, 15, 16, 17, 31, 33]
        .into_iter()
        .flat_map(|c| [(2, flat(1, c, 17).padded([0, 1, 1])), (2, flat(2, 3, c))])
        .collect();
    all.push((2, Problem { stride: [1, 2, 3], ..Problem::new([2, 17, 5], [1, 8, 9], [1, 3, 2]) }));
    all.push((2, Problem { dilation: [1, 2, 3], ..Problem::new([1, 3, 18], [1, 9, 8], [1, 3, 2]) }));
    let uneven = Problem { pad_begin: [0, 2, 0], pad_end: [0, 1, 3], ..flat(1, 16, 16) };
    all.push((2, Problem { stride: [1, 2, 2], ..uneven }));
    all.push((2, Problem::new([2, 17, 33], [1, 3, 5], [1, 1, 1])));
    // Some of the source is read by nothing.
    all.push((2, Problem { stride: [1, 3, 3], ..Problem::new([1, 3, 3], [1, 6, 6], [1, 1, 1]) }));
    for (groups, c, o) in [(2, 6, 10), (2, 32, 48), (3, 51, 33), (17, 17, 17), (16, 16, 16), (5, 5, 15)] {
        all.push((2, Problem { groups, ..flat(2, c, o).padded([0, 1, 1]) }));
    }
    all.push((1, Problem::new([2, 17, 3], [1, 1, 9], [1, 1, 3]).padded([0, 0, 1])));
    all.push((3, Problem::new([1, 3, 17], [4, 3, 5], [2, 3, 2]).padded([1, 1, 0])));
    all.push((2, flat(0, 17, 3)));
    // First convolutions: few channels, and whole blocks of outputs.
    let first = |c, o, size, k| Problem::new([1, c, o], [1, size, size - 2], [1, k, k]);
    all.push((2, first(3, 16, 6, 3).padded([0, 1, 1])));
    all.push((2, Problem { stride: [1, 2, 2], ..first(3, 16, 9, 7).padded([0, 3, 3]) }));
    all.push((2, Problem { stride: [1, 3, 3], ..first(4, 16, 8, 2) }));
    all.push((2, Problem { pad_begin: [0, 2, 5], pad_end: [0, 0, 4], ..first(1, 16, 5, 5) }));
    all.push((1, Problem::new([2, 2, 16], [1, 1, 9], [1, 1, 3]).padded([0, 0, 1])));
    all.push((3, Problem::new([1, 3, 16], [3, 4, 5], [2, 3, 3]).padded([1, 1, 1])));
    all.extend(depthwise_problems());
    all
}

/// Rows of taps three at a time and what is left of them, taps of a row in one part and in two, and images that are smaller than the kernel.
fn depthwise_problems() -> Vec<(usize, Problem)> {
    let of = |n, c, input, kernel| Problem { groups: c, ..Problem::new([n, c, c], input, kernel) };
    vec![
        (2, Problem { stride: [1, 2, 2], ..of(1, 16, [1, 7, 6], [1, 3, 3]).padded([0, 1, 1]) }),
        (2, Problem { dilation: [1, 2, 2], ..of(1, 3, [1, 7, 8], [1, 3, 3]).padded([0, 2, 2]) }),
        (2, of(2, 17, [1, 3, 4], [1, 5, 5]).padded([0, 2, 2])),
        (2, of(1, 2, [1, 3, 2], [1, 7, 7]).padded([0, 3, 3])),
        (2, of(2, 3, [1, 1, 1], [1, 3, 3]).padded([0, 1, 1])),
        (2, of(1, 3, [1, 6, 5], [1, 4, 2])),
        (1, Problem { stride: [1, 1, 2], ..of(2, 5, [1, 1, 9], [1, 1, 4]).padded([0, 0, 2]) }),
        (3, of(1, 3, [3, 4, 5], [2, 4, 3]).padded([1, 1, 1])),
    ]
}

/// Several blocks of channels in a task: too many numbers for differences.
fn large_problems() -> [(usize, Problem); 3] {
    [
        (2, Problem::new([1, 64, 80], [1, 2, 3], [1, 1, 1])),
        (2, Problem::new([2, 70, 64], [1, 3, 2], [1, 1, 3]).padded([0, 0, 1])),
        (
            2,
            Problem {
                stride: [1, 2, 2],
                ..Problem::new([2, 3, 48], [1, 31, 29], [1, 7, 7]).padded([0, 3, 3])
            },
        ),
    ]
}

/// A problem of 1 to 3 dimensions at sizes that are drawn: tails of channels, groups, strides, dilation, uneven padding, no images.
fn drawn(rng: &mut Rng) -> (usize, Problem) {
    let spatial = 1 + rng.below(3);
    let groups = rng.pick(&[1, 1, 1, 2, 3, 17]);
    let per_group = if groups == 1 { &[1, 3, 16, 17, 33][..] } else { &[1, 2, 5] };
    let [c, o] = [0; 2].map(|_| groups * rng.pick(per_group));
    let mut p = Problem { groups, ..Problem::new([rng.below(3), c, o], [1; 3], [1; 3]) };
    for axis in 3 - spatial..3 {
        (p.kernel[axis], p.stride[axis], p.dilation[axis]) =
            (1 + rng.below(4), 1 + rng.below(3), 1 + rng.below(2));
        let reach = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
        (p.pad_begin[axis], p.pad_end[axis]) = (rng.below(reach), rng.below(reach));
        // At least one window, and no two axes alike.
        p.input[axis] = reach + 2 * axis + rng.below(2);
    }
    (spatial, p)
}

/// What lies beyond an image is nothing, and no zero that an infinity would make a NaN of.
#[test]
fn an_infinity_at_the_edge_reaches_the_taps_that_it_meets() {
    let mut rng = Rng(459);
    let dense = Problem::new([1, 3, 16], [1, 5, 6], [1, 3, 3]).padded([0, 1, 1]);
    let depthwise = Problem { groups: 16, c: 16, ..dense.clone() };
    for (p, kind) in [&dense, &depthwise].into_iter().flat_map(|p| KINDS.map(|kind| (p, kind))) {
        let (op, inputs) = call(p, 2, kind, false, &mut rng);
        let y = op.run(&refs(&inputs)).unwrap().remove(0);
        let mut u = rng.reals(16 * 30);
        u[7 * 30] = f32::INFINITY;
        let u = activation(&u, &[1, 16, 5, 6], kind);
        let made = op.backward(&refs(&inputs), &[y.tensor_ref()], &[Some(u.tensor_ref())], &[false, true]);
        let made = plain(made.unwrap()[1].as_ref().unwrap());
        for (i, got) in made.iter().enumerate() {
            // The first pixel of output channel 7 meets the taps below and right of it, and its own.
            let meets = i / (p.c / p.groups * 9) == 7 && i % 9 / 3 > 0 && i % 3 > 0;
            assert_eq!(got.is_infinite(), meets, "{kind:?}, groups {}, {i}: {got}", p.groups);
            assert!(!got.is_nan(), "{kind:?}, groups {}, {i}", p.groups);
        }
    }
}

#[test]
fn of_source_weights_and_bias() {
    let mut rng = Rng(453);
    for (i, (spatial, p)) in problems().into_iter().enumerate() {
        for kind in KINDS {
            let with_bias = i % 2 == 0;
            let (op, inputs) = call(&p, spatial, kind, with_bias, &mut rng);
            check(&op, &inputs, inputs.len(), |x| solve(&p, x), &mut rng);
        }
    }
}

/// Parameters of a 3x3 convolution by an algorithm.
fn by_algorithm(p: &Problem, algorithm: &str) -> BoundOp {
    let padding = [&p.pad_begin[1..], &p.pad_end[1..]].concat();
    let params =
        [("padding", list(&padding)), ("groups", (p.groups as i64).into()), ("algorithm", algorithm.into())];
    bound("conv2d", &["x", "weights"], &params)
}

/// The gradients by source and weights are computed by the forward's algorithm; that of the source is a convolution of the ledger.
#[test]
fn of_convolutions_by_winograds_algorithm() {
    let mut rng = Rng(458);
    let flat = |n, c, o| Problem::new([n, c, o], [1, 7, 6], [1, 3, 3]);
    let mut all: Vec<Problem> =
        [3, 16, 17, 33].into_iter().flat_map(|c| [flat(1, c, 17).padded([0, 1, 1]), flat(2, 3, c)]).collect();
    all.push(Problem { groups: 2, ..flat(2, 32, 64).padded([0, 1, 1]) });
    all.push(Problem { groups: 2, ..flat(1, 34, 40) });
    all.push(flat(1, 16, 16).padded([0, 2, 2]));
    // More padding than a gradient's convolution reads: the edges of the incoming gradient reach no pixel.
    all.push(Problem { pad_begin: [0, 4, 0], pad_end: [0, 1, 3], ..flat(1, 16, 5) });
    all.push(Problem {
        pad_begin: [0, 3, 3],
        pad_end: [0, 3, 3],
        ..Problem::new([1, 3, 16], [1, 1, 1], [1, 3, 3])
    });
    all.push(flat(0, 17, 3));
    let ways = [(16, "winograd4"), (8, "winograd4"), (16, "winograd2")];
    for (p, (block, algorithm)) in all.iter().flat_map(|p| ways.map(|way| (p, way))) {
        let (_, inputs) = call(p, 2, Kind::Blocked(block), false, &mut rng);
        let op = by_algorithm(p, algorithm);
        check(&op, &inputs, 2, |x| solve(p, x), &mut rng);
        let y = op.run(&refs(&inputs)).unwrap().remove(0);
        let (_, ledger) = ledger::record(|| {
            op.backward(&refs(&inputs), &[y.tensor_ref()], &[Some(y.tensor_ref())], &[true, false]).unwrap()
        });
        let runs: Vec<&str> = ledger.runs.iter().map(|run| &*run.implementation).collect();
        let is_so = runs.iter().any(|name| name.contains(algorithm));
        assert!(is_so || p.n == 0, "{p:?}, {block}, {algorithm}: {runs:?}");
    }
}

/// Gradients of weights by Winograd's algorithm: the norm of all errors is at most 3e-6 of that of the gradient, which has the same bits
/// on any number of threads. Direct sums differ, so it was that algorithm.
#[test]
fn of_weights_by_winograds_algorithm_for_many_tiles_and_blocks() {
    let mut rng = Rng(460);
    let flat = |n, c, o, size: [usize; 2]| Problem::new([n, c, o], [1, size[0], size[1]], [1, 3, 3]);
    let problems = [
        flat(3, 70, 150, [9, 14]).padded([0, 1, 1]),
        Problem { groups: 3, ..flat(2, 96, 48, [7, 5]) },
        flat(2, 17, 31, [50, 45]).padded([0, 1, 0]),
        // Tiles enough for sums in f64.
        flat(3, 16, 5, [112, 100]).padded([0, 1, 1]),
    ];
    let ways = [(16, "winograd4"), (8, "winograd4"), (16, "winograd2"), (8, "winograd2")];
    for (p, (block, algorithm)) in problems.iter().flat_map(|p| ways.map(|way| (p, way))) {
        let (direct, inputs) = call(p, 2, Kind::Blocked(block), false, &mut rng);
        let [oh, ow] = [1, 2].map(|axis| p.output()[axis]);
        let u = rng.reals(p.n * p.o * oh * ow);
        let diff = activation(&u, &[p.n, p.o, oh, ow], Kind::Blocked(block));
        let y = direct.run(&refs(&inputs)).unwrap().remove(0);
        let gradient = |op: &BoundOp| {
            let made =
                op.backward(&refs(&inputs), &[y.tensor_ref()], &[Some(diff.tensor_ref())], &[false, true]);
            let made = made.unwrap().remove(1).unwrap();
            let Tensor::Blocked(made) = made else { panic!("{made:?}") };
            made.check_tail().unwrap();
            plain(&made.into())
        };
        let op = by_algorithm(p, algorithm);
        let made = gradient(&op);
        for threads in [1, 2, 7] {
            assert_eq!(made, blocktensor::run_with_threads(threads, || gradient(&op)), "{threads} threads");
        }
        let (x, mut want) = (plain(&inputs[0]), vec![0f64; made.len()]);
        for_each_product(p, |of_y, of_x, of_w| want[of_w] += f64::from(u[of_y]) * f64::from(x[of_x]));
        let norm = |of: &mut dyn Iterator<Item = f64>| of.map(|v| v * v).sum::<f64>().sqrt();
        let error = |made: &[f32]| {
            norm(&mut made.iter().zip(&want).map(|(a, b)| f64::from(*a) - b))
                / norm(&mut want.iter().copied())
        };
        let (got, of_direct) = (error(&made), error(&gradient(&direct)));
        assert!(got <= 3e-6, "{p:?}, {block}, {algorithm}: {got}, direct {of_direct}");
        assert_ne!(made, gradient(&direct), "{p:?}, {block}, {algorithm}: not by this algorithm");
    }
}

/// Also not the zeros beyond the channels.
#[test]
fn an_infinity_reaches_the_weights_of_its_channels_and_no_others_by_winograds_algorithm() {
    let mut rng = Rng(461);
    let p = Problem::new([1, 17, 19], [1, 9, 6], [1, 3, 3]).padded([0, 1, 1]);
    for (block, of_x) in [(8, true), (16, true), (8, false), (16, false)] {
        let (_, mut inputs) = call(&p, 2, Kind::Blocked(block), false, &mut rng);
        let op = by_algorithm(&p, "winograd4");
        let (mut x, mut u) = (plain(&inputs[0]), rng.reals(19 * 54));
        if of_x {
            x[3 * 54 + 20] = f32::INFINITY
        } else {
            u[3 * 54 + 20] = f32::INFINITY
        }
        inputs[0] = activation(&x, &[1, 17, 9, 6], Kind::Blocked(block));
        let u = activation(&u, &[1, 19, 9, 6], Kind::Blocked(block));
        let y = op.run(&refs(&inputs)).unwrap().remove(0);
        let made = op.backward(&refs(&inputs), &[y.tensor_ref()], &[Some(u.tensor_ref())], &[false, true]);
        let Some(Tensor::Blocked(made)) = made.unwrap().remove(1) else { panic!("no blocked gradient") };
        made.check_tail().unwrap();
        for (i, got) in plain(&made.into()).iter().enumerate() {
            let reaches = if of_x { i / 9 % 17 == 3 } else { i / 9 / 17 == 3 };
            assert_eq!(!got.is_finite(), reaches, "{block}, {of_x}, {i}: {got}");
        }
    }
}

#[test]
fn of_transposed_convolutions() {
    let mut rng = Rng(457);
    for (i, (spatial, p)) in problems().into_iter().enumerate() {
        for kind in KINDS {
            let with_bias = i % 2 == 0;
            let (op, inputs) = call_of(&p, spatial, kind, (with_bias, true), &mut rng);
            // The elements of blocked weights come with output channels first.
            let (og, cg) = (p.o / p.groups, p.c / p.groups);
            let taps = p.kernel.iter().product::<usize>();
            let of_weights = |w: &[f64]| -> Vec<f64> {
                let place = |i: usize| {
                    let (group, o, c, t) = (i / taps / cg / og, i / taps / cg % og, i / taps % cg, i % taps);
                    ((group * cg + c) * og + o) * taps + t
                };
                (0..w.len())
                    .map(|i| if matches!(kind, Kind::Blocked(_)) { w[place(i)] } else { w[i] })
                    .collect()
            };
            let f = |x: &[Vec<f64>]| spread(&p, &x[0], &of_weights(&x[1]), x.get(2));
            check(&op, &inputs, inputs.len(), f, &mut rng);
        }
    }
}

/// `<A x, u> = <x, A^T u>`, with every element, in the source and in the weights.
fn check_adjoint((spatial, p): (usize, Problem), what: &str, rng: &mut Rng) {
    let dot = |a: &Tensor, b: &Tensor| -> f64 {
        plain(a).iter().zip(plain(b)).map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
    };
    for (kind, transposed) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let (op, inputs) = call_of(&p, spatial, kind, (false, transposed), rng);
        let y = op.run(&refs(&inputs)).unwrap_or_else(|e| panic!("{what}{p:?} {kind:?}: {e}")).remove(0);
        for diff in super::diffs_for(&y, rng) {
            let made = op
                .backward(&refs(&inputs), &[y.tensor_ref()], &[Some(diff.tensor_ref())], &[true, true])
                .unwrap();
            let want = dot(&y, &diff);
            let size = plain(&y).iter().fold(1f64, |m, v| m + f64::from(v.abs()));
            for (operand, made) in inputs.iter().zip(&made) {
                let got = dot(operand, made.as_ref().unwrap());
                assert!((got - want).abs() <= 1e-6 * size, "{what}{p:?} {kind:?}: {got} for {want}");
            }
        }
    }
}

#[test]
fn the_adjoint_identity() {
    let mut rng = Rng(454);
    problems().into_iter().chain(large_problems()).for_each(|p| check_adjoint(p, "", &mut rng));
}

#[test]
fn the_adjoint_identity_at_sizes_that_are_drawn() {
    for seed in 0..40 {
        let mut rng = Rng(462 + seed);
        check_adjoint(drawn(&mut rng), &format!("seed {}: ", 462 + seed), &mut rng);
    }
}

/// More pixels than one partial sum has, and the same bits for any number of threads.
#[test]
fn many_pixels_give_the_same_bits_with_one_thread_and_two() {
    let mut rng = Rng(455);
    let p = Problem::new([3, 33, 17], [1, 23, 29], [1, 3, 3]).padded([0, 1, 1]);
    for kind in KINDS {
        let (op, inputs) = call(&p, 2, kind, true, &mut rng);
        let y = op.run(&refs(&inputs)).unwrap().remove(0);
        let diff = super::diffs_for(&y, &mut rng).remove(0);
        let run = |threads| {
            blocktensor::run_with_threads(threads, || {
                let diffs = [Some(diff.tensor_ref())];
                let made = op.backward(&refs(&inputs), &[y.tensor_ref()], &diffs, &[true; 3]).unwrap();
                made.iter().map(|t| plain(t.as_ref().unwrap())).collect::<Vec<_>>()
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{kind:?}");
        assert_eq!(one, run(1), "{kind:?}");
        let (x, u) = (plain(&inputs[0]), plain(&diff));
        // One weight of the middle tap by its definition.
        let (o, c, pixels) = (16, 32, 23 * 29);
        let want: f64 = (0..3 * pixels)
            .map(|i| {
                let (n, at) = (i / pixels, i % pixels);
                f64::from(x[(n * 33 + c) * pixels + at]) * f64::from(u[(n * 17 + o) * pixels + at])
            })
            .sum();
        let got = one[1][(o * 33 + c) * 9 + 4];
        assert!((f64::from(got) - want).abs() < 1e-4, "{kind:?}: {got} for {want}");
    }
}

/// With more threads than blocks of channels each row of taps is a task of its own; with fewer, three rows are added up together.
#[test]
fn depthwise_weights_get_the_same_bits_with_one_thread_and_four() {
    let mut rng = Rng(463);
    for k in [3, 5] {
        let p = Problem { groups: 17, ..Problem::new([3, 17, 17], [1, 23, 29], [1, k, k]).padded([0, 1, 1]) };
        for kind in KINDS {
            let (op, inputs) = call(&p, 2, kind, false, &mut rng);
            let y = op.run(&refs(&inputs)).unwrap().remove(0);
            let diff = super::diffs_for(&y, &mut rng).remove(0);
            let [one, four] = [1, 4].map(|threads| {
                blocktensor::run_with_threads(threads, || {
                    let diffs = [Some(diff.tensor_ref())];
                    let made =
                        op.backward(&refs(&inputs), &[y.tensor_ref()], &diffs, &[false, true]).unwrap();
                    plain(made[1].as_ref().unwrap())
                })
            });
            assert_eq!(one, four, "{kind:?}, {k} rows of taps");
        }
    }
}

/// Images that lie apart, as those of some channels of a larger tensor do, in groups with tails of channels and without.
#[test]
fn of_weights_with_a_view_as_source() {
    let mut rng = Rng(466);
    for (groups, c) in [(1, 19), (2, 6), (2, 32), (5, 5)] {
        let p = Problem { groups, ..Problem::new([3, c, 2 * c], [1, 5, 4], [1, 3, 3]) };
        let (op, mut inputs) = call(&p, 2, Kind::Nchw, false, &mut rng);
        let wide = StridedTensor::from_slice(&rng.reals(3 * (c + 3) * 20), &[3, c + 3, 5, 4]).unwrap();
        inputs[0] = wide.narrow(1, 2, c).unwrap().into();
        check(&op, &inputs, 2, |x| solve(&p, x), &mut rng);
    }
}
