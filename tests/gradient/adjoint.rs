//! The adjoint identity of ops that are linear in an operand, at sizes that are drawn: `<A x, u> = <x, A^T u>`, with every element.
//! That of convolutions is in `conv`.

use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::{Operand, Operator, StridedTensor, Tensor};

use super::{KINDS, Kind, activation, assert_as_operand, bound, diffs_for, plain, refs};
use crate::support::Rng;

/// What an op is linear in.
#[derive(Clone, Copy, PartialEq)]
enum In {
    /// All its operands as one.
    All,
    /// Each operand while the others stay.
    Each,
    /// The first operand; the others have no gradient, or are not linear.
    First,
}

struct Case {
    op: &'static str,
    inputs: Vec<(&'static str, Vec<usize>)>,
    params: Vec<(&'static str, Value)>,
    linear: In,
    /// Whether blocked tensors can express it.
    blocked: bool,
}

type Params = Vec<(&'static str, Value)>;

fn of_x(op: &'static str, dims: &[usize], params: Params) -> Case {
    Case { op, inputs: vec![("x", dims.to_vec())], params, linear: In::All, blocked: true }
}

fn strided(op: &'static str, dims: &[usize], params: Params) -> Case {
    Case { blocked: false, ..of_x(op, dims, params) }
}

fn of(op: &'static str, inputs: Vec<(&'static str, Vec<usize>)>, params: Params, linear: In) -> Case {
    Case { op, inputs, params, linear, blocked: true }
}

fn ints(list: &[usize]) -> Value {
    list.iter().map(|&v| v as i64).collect::<Vec<_>>().into()
}

fn int(v: usize) -> Value {
    (v as i64).into()
}

fn word(v: &str) -> Value {
    Value::Str(v.into())
}

/// A batch of `n` images with `c` channels, and their sizes: up to three, no two next to each other the same.
struct Sizes {
    n: usize,
    c: usize,
    space: [usize; 3],
}

impl Sizes {
    fn draw(c: usize, rng: &mut Rng) -> Sizes {
        let [d, h] = [0; 2].map(|_| 3 + rng.below(5));
        let w = h + 1 + rng.below(4);
        Sizes { n: rng.pick(&[0, 1, 2, 3]), c, space: if rng.below(2) == 0 { [d, h, w] } else { [d, w, h] } }
    }

    /// Those of activations with 1 to 3 spatial axes.
    fn dims(&self, spatial: usize) -> Vec<usize> {
        [&[self.n, self.c], &self.space[3 - spatial..]].concat()
    }
}

fn pools(s: &Sizes, rng: &mut Rng) -> Vec<Case> {
    let mut cases = vec![of_x("global_avg_pool", &s.dims(2), vec![])];
    let fixed = ["avg_pool1d", "avg_pool2d", "avg_pool3d"];
    let adaptive = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"];
    for spatial in 1..=3 {
        let dims = s.dims(spatial);
        let mut axes = |first: usize, count: usize| -> Vec<usize> {
            (0..spatial).map(|_| first + rng.below(count)).collect()
        };
        let (kernel, stride, output) = (axes(1, 3), axes(1, 3), axes(1, 5));
        let padding: Vec<usize> = kernel.iter().map(|k| k / 2).collect();
        for counts in [true, false] {
            let shape = [("kernel", &kernel), ("stride", &stride), ("padding", &padding)];
            let mut params: Params = shape.iter().map(|(name, list)| (*name, ints(list))).collect();
            params.push(("count_include_pad", counts.into()));
            cases.push(of_x(fixed[spatial - 1], &dims, params));
        }
        cases.push(of_x(adaptive[spatial - 1], &dims, vec![("output", ints(&output))]));
    }
    cases
}

fn resampling(s: &Sizes, rng: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    for (spatial, smooth) in [(1, "upsample_linear"), (2, "upsample_bilinear"), (3, "upsample_trilinear")] {
        let dims = s.dims(spatial);
        let output: Vec<usize> = (0..spatial).map(|_| 1 + rng.below(9)).collect();
        cases.push(of_x("upsample_nearest", &dims, vec![("output", ints(&output))]));
        for align in [true, false] {
            let params = vec![("output", ints(&output)), ("align_corners", align.into())];
            cases.push(of_x(smooth, &dims, params));
        }
    }
    for mode in ["bilinear", "nearest", "bicubic"] {
        for padding in ["zeros", "border", "reflection"] {
            let inputs = vec![("x", s.dims(2)), ("grid", vec![s.n, 3, 1 + rng.below(4), 2])];
            let params = vec![("mode", word(mode)), ("padding_mode", word(padding))];
            cases.push(of("grid_sample", inputs, params, In::First));
        }
    }
    cases
}

fn moves(s: &Sizes, rng: &mut Rng) -> Vec<Case> {
    let (dims, [n, c]) = (s.dims(2), [s.n, s.c]);
    let axis = rng.below(4);
    let shift = Value::Ints(vec![rng.below(9) as i64 - 4, rng.below(9) as i64 - 4]);
    let mut cases = vec![
        of_x("flip", &dims, vec![("axes", ints(&[1, 2 + rng.below(2)]))]),
        of_x("roll", &dims, vec![("shifts", shift), ("axes", ints(&[1, 2 + rng.below(2)]))]),
        of_x("pixel_shuffle", &[n, 4 * c, 3, 2], vec![("factor", 2.into())]),
        of_x("pixel_unshuffle", &[n, c, 6, 4], vec![("factor", 2.into())]),
        of_x("channel_shuffle", &[n, 3 * c, 3, 2], vec![("groups", int(rng.pick(&[3, c])))]),
        strided("tril", &dims, vec![("diagonal", (rng.below(5) as i64 - 2).into())]),
        strided("triu", &dims, vec![("diagonal", (rng.below(5) as i64 - 2).into())]),
        strided("cumsum", &dims, vec![("axis", int(axis))]),
    ];
    for mode in ["constant", "reflect", "replicate", "circular"] {
        for spatial in 1..=3 {
            // Less than a size, and also a crop.
            let padding: Vec<i64> = (0..2 * spatial).map(|_| rng.below(4) as i64 - 1).collect();
            let params = vec![("padding", padding.into()), ("mode", word(mode))];
            cases.push(of_x("pad", &s.dims(spatial), params));
        }
    }
    for axis in 0..4 {
        let lists: Vec<_> = (0..3)
            .map(|_| {
                let mut other = dims.clone();
                other[axis] = rng.below(20);
                ("tensors", other)
            })
            .collect();
        cases.push(of("cat", lists, vec![("axis", int(axis))], In::All));
        if axis > 0 {
            let first = rng.below(dims[axis] + 1);
            let sizes = ints(&[first, dims[axis] - first]);
            cases.push(of_x("split", &dims, vec![("sizes", sizes), ("axis", int(axis))]));
            cases.push(of_x("chunk", &dims, vec![("chunks", int(1 + rng.below(4))), ("axis", int(axis))]));
        }
        let stack = of("stack", vec![("tensors", s.dims(1)); 2], vec![("axis", int(axis))], In::All);
        cases.push(Case { blocked: axis > 1, ..stack });
    }
    cases
}

fn views(s: &Sizes, rng: &mut Rng) -> Vec<Case> {
    let (dims, [n, c], [_, h, w]) = (s.dims(2), [s.n, s.c], s.space);
    let start = rng.below(w);
    let of_index = |op, index: Vec<usize>| Case {
        blocked: false,
        ..of(op, vec![("x", dims.clone()), ("index", index)], vec![("axis", int(2))], In::First)
    };
    vec![
        strided("reshape", &dims, vec![("dims", ints(&[h, n, w, c]))]),
        strided("view", &[n, c, h * w], vec![("dims", ints(&dims))]),
        strided("flatten", &dims, vec![("start", 1.into()), ("end", 2.into())]),
        strided("permute", &dims, vec![("axes", ints(&[2, 0, 3, 1]))]),
        strided("transpose", &dims, vec![("a", 1.into()), ("b", 3.into())]),
        strided(
            "narrow",
            &dims,
            vec![("axis", 3.into()), ("start", int(start)), ("length", int(rng.below(w - start + 1)))],
        ),
        strided("slice", &dims, vec![("axis", 3.into()), ("start", 1.into()), ("step", 2.into())]),
        strided("select", &dims, vec![("axis", 1.into()), ("index", int(rng.below(c)))]),
        strided("expand", &[n, 1, h, 1], vec![("dims", ints(&[2, n, c, h, w]))]),
        strided("squeeze", &[n, 1, h], vec![("axis", 1.into())]),
        strided("unsqueeze", &dims, vec![("axis", 2.into())]),
        of_index("gather", vec![n, c, 7, w]),
        of_index("index_select", vec![5]),
    ]
}

fn sums_and_products(s: &Sizes, rng: &mut Rng) -> Vec<Case> {
    let (dims, [n, c], [_, h, w]) = (s.dims(2), [s.n, s.c], s.space);
    let mut cases = Vec::new();
    for op in ["sum", "mean"] {
        for axes in [&[2, 3][..], &[1], &[0, 2], &[]] {
            // The mean of nothing is NaN.
            if op == "mean" && n == 0 && (axes.is_empty() || axes.contains(&0)) {
                continue;
            }
            for keepdim in [true, false] {
                let case = of_x(op, &dims, vec![("axes", ints(axes)), ("keepdim", keepdim.into())]);
                cases.push(Case { blocked: keepdim, ..case });
            }
        }
    }
    for other in [dims.clone(), vec![1, c, 1, 1], vec![n, 1, h, w]] {
        let both = vec![("a", dims.clone()), ("b", other.clone())];
        for op in ["add", "sub", "axpby"] {
            let params =
                if op == "axpby" { vec![("alpha", 0.7.into()), ("beta", (-1.3).into())] } else { vec![] };
            cases.push(of(op, both.clone(), params, In::All));
        }
        cases.push(of("mul", both, vec![], In::Each));
    }
    for op in ["mul_scalar", "div_scalar"] {
        cases.push(of_x(op, &dims, vec![("other", 1.7.into())]));
    }
    for op in ["dropout", "feature_dropout"] {
        cases.push(of_x(op, &dims, vec![("seed", int(rng.below(99)))]));
    }
    cases.push(of_x("neg", &dims, vec![]));
    cases.push(of("mul_channel", vec![("x", dims), ("values", vec![c])], vec![], In::Each));
    let o = 1 + rng.below(40);
    let layer = of("linear", vec![("x", vec![n, h, c]), ("weights", vec![o, c])], vec![], In::Each);
    cases.push(Case { blocked: false, ..layer });
    for [a, b] in
        [[vec![n, h, c], vec![c, o]], [vec![n, 1, h, c], vec![w, c, 2]], [vec![h, c], vec![n, c, o]]]
    {
        let product = of("matmul", vec![("a", a), ("b", b)], vec![], In::Each);
        cases.push(Case { blocked: false, ..product });
    }
    cases
}

fn tensor(name: &str, dims: &[usize], kind: Kind, rng: &mut Rng) -> Tensor {
    let count = dims.iter().product();
    if name == "index" {
        let below: Vec<i32> = (0..count).map(|_| rng.below(3) as i32).collect();
        return StridedTensor::from_slice(&below, dims).unwrap().into();
    }
    let values = rng.reals(count);
    match dims.len() {
        3..=5 => activation(&values, dims, kind),
        _ => StridedTensor::from_slice(&values, dims).unwrap().into(),
    }
}

/// The sum of the products of all elements, and of their absolute values.
fn dot(a: &Tensor, b: &Tensor) -> [f64; 2] {
    let (a, b) = (plain(a), plain(b));
    assert_eq!(a.len(), b.len());
    let products = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.fold([0.0; 2], |[sum, size], v| [sum + v, size + v.abs()])
}

/// Runs a case in one layout. Returns what is wrong.
fn check(case: &Case, kind: Kind, what: &str, rng: &mut Rng) -> Result<(), String> {
    let names: Vec<&str> = case.inputs.iter().map(|input| input.0).collect();
    let op = bound(case.op, &names, &case.params);
    let is_data = |name: &str| {
        let mut args = op.registered().schema().args.iter();
        args.any(|arg| arg.name == name && arg.kind.is_data())
    };
    let inputs: Vec<Tensor> = case
        .inputs
        .iter()
        .map(|(name, dims)| tensor(name, dims, if is_data(name) { kind } else { Kind::Nchw }, rng))
        .collect();
    let results = op.run(&refs(&inputs)).map_err(|e| e.to_string())?;
    let wanted: Vec<bool> = (0..inputs.len()).map(|i| i == 0 || case.linear != In::First).collect();
    // A strided gradient comes in two formats.
    let both: Vec<Vec<Tensor>> = results.iter().map(|y| diffs_for(y, rng)).collect();
    for format in 0..both.iter().map(Vec::len).max().unwrap_or(0) {
        let diffs: Vec<&Tensor> = both.iter().map(|of| of.get(format).unwrap_or(&of[0])).collect();
        let diff_refs: Vec<_> = diffs.iter().map(|d| Some(d.tensor_ref())).collect();
        let made =
            op.backward(&refs(&inputs), &refs(&results), &diff_refs, &wanted).map_err(|e| e.to_string())?;
        let sum = |pairs: &mut dyn Iterator<Item = [f64; 2]>| {
            pairs.fold([0.0; 2], |[sum, size], [s, t]| [sum + s, size + t])
        };
        let [want, of_want] = sum(&mut results.iter().zip(&diffs).map(|(y, u)| dot(y, u)));
        let mut sides = Vec::new();
        for (x, made) in inputs.iter().zip(&made) {
            let Some(made) = made else { continue };
            assert_as_operand(what, x, made);
            sides.push(dot(x, made));
        }
        assert_eq!(sides.len(), wanted.iter().filter(|w| **w).count(), "{what}");
        if case.linear == In::All {
            sides = vec![sum(&mut sides.into_iter())];
        }
        for [got, of_got] in sides {
            let limit = 1e-6 * (1.0 + of_want + of_got);
            let is_close = (got - want).abs() <= limit;
            if !is_close {
                return Err(format!("<x, A^T u> is {got}, <A x, u> is {want}"));
            }
        }
    }
    Ok(())
}

/// Rows of many vectors and of one pixel, sizes that grow, stay and shrink.
#[test]
fn of_pools_and_resampling_of_long_rows() {
    let mut cases = Vec::new();
    for (dims, output) in [
        ([2, 3, 17, 40], [34, 80]),
        ([1, 17, 9, 56], [23, 19]),
        ([2, 1, 5, 33], [5, 67]),
        ([1, 3, 40, 7], [13, 7]),
        ([3, 3, 1, 1], [5, 70]),
        ([1, 17, 6, 50], [1, 1]),
        ([0, 3, 6, 50], [12, 100]),
    ] {
        cases.push(of_x("upsample_nearest", &dims, vec![("output", ints(&output))]));
        for align in [true, false] {
            let params = vec![("output", ints(&output)), ("align_corners", align.into())];
            cases.push(of_x("upsample_bilinear", &dims, params));
        }
        cases.push(of_x("adaptive_avg_pool2d", &dims, vec![("output", ints(&output))]));
        cases.push(of_x("global_avg_pool", &dims, vec![]));
        for [kernel, stride, padding] in [[3, 2, 1], [2, 2, 0], [1, 3, 0], [5, 1, 2]] {
            if dims[2] + 2 * padding < kernel {
                continue;
            }
            let shape = [("kernel", kernel), ("stride", stride), ("padding", padding)];
            let mut params: Params = shape.map(|(name, v)| (name, int(v))).to_vec();
            params.extend([("ceil_mode", true.into()), ("count_include_pad", false.into())]);
            cases.push(of_x("avg_pool2d", &dims, params));
        }
    }
    let rng = &mut Rng(4560);
    for (case, kind) in cases.iter().flat_map(|case| KINDS.map(|kind| (case, kind))) {
        let what = format!("{kind:?}: {} {:?} of {:?}", case.op, case.params, case.inputs);
        check(case, kind, &what, rng).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

/// A result on a pixel of the source reads it alone: its infinite gradient is not multiplied by the weight 0 of a neighbour.
#[test]
fn of_resampling_with_infinite_gradients() {
    let params = [("output", ints(&[5, 37])), ("align_corners", true.into())];
    let op = bound("upsample_bilinear", &["x"], &params);
    for kind in KINDS {
        let x = [activation(&[1.0; 2 * 3 * 19], &[1, 2, 3, 19], kind)];
        let y = op.run(&refs(&x)).unwrap();
        let mut diff = vec![1.0; 2 * 5 * 37];
        diff[2 * 37 + 8] = f32::INFINITY;
        let diff = activation(&diff, &[1, 2, 5, 37], kind);
        let made = op.backward(&refs(&x), &refs(&y), &[Some(diff.tensor_ref())], &[true]).unwrap();
        let made = plain(made[0].as_ref().unwrap());
        let infinite: Vec<usize> = (0..made.len()).filter(|&i| !made[i].is_finite()).collect();
        assert_eq!((infinite, made[19 + 4]), (vec![19 + 4], f32::INFINITY), "{kind:?}");
    }
}

#[test]
fn of_linear_ops_at_sizes_that_are_drawn() {
    let (mut blocked, mut wrong) = (0, Vec::new());
    for seed in 4500..4530 {
        let mut rng = Rng(seed);
        let s = Sizes::draw([1, 3, 16, 17, 33][seed as usize % 5], &mut rng);
        let families = [pools, resampling, moves, views, sums_and_products];
        for case in families.into_iter().flat_map(|family| family(&s, &mut rng)).collect::<Vec<_>>() {
            let has = dispatch::op(case.op).unwrap().gradients(DispatchKey::BLOCKED).next().is_some();
            for kind in KINDS {
                let is_blocked = matches!(kind, Kind::Blocked(_));
                if is_blocked && !(case.blocked && has) {
                    continue;
                }
                blocked += usize::from(is_blocked);
                let what =
                    format!("seed {seed}, {kind:?}: {} {:?} of {:?}", case.op, case.params, case.inputs);
                if let Err(e) = check(&case, kind, &what, &mut rng) {
                    wrong.push(format!("{what}: {e}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(blocked > 1000, "{blocked}");
}
