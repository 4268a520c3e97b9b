//! Gradients of every op against finite differences of its f64 version, in NCHW, NHWC, nChw16c and nChw8c.

use super::{Evaluate, Values, evaluate};
use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::{BoundOp, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorRef};
use std::sync::Arc;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn reals(&mut self, n: usize, [low, high]: [f32; 2]) -> Vec<f32> {
        (0..n).map(|_| low + (self.next() >> 40) as f32 / (1u64 << 24) as f32 * (high - low)).collect()
    }
}

/// Where the data of a call are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nchw,
    Nhwc,
    Blocked(usize),
}

const KINDS: [Kind; 4] = [Kind::Nchw, Kind::Nhwc, Kind::Blocked(16), Kind::Blocked(8)];

/// An operand: its argument, sizes, and the range of its elements. Conditions and indices are integers below the upper end.
#[derive(Clone)]
struct Input(&'static str, Vec<usize>, [f32; 2]);

struct Case {
    op: &'static str,
    inputs: Vec<Input>,
    params: Vec<(&'static str, Value)>,
    /// Whether blocked tensors can express it.
    blocked: bool,
}

const ALL: [f32; 2] = [-2.0, 2.0];
const POSITIVE: [f32; 2] = [0.3, 3.0];

fn case(op: &'static str, inputs: Vec<Input>, params: Vec<(&'static str, Value)>) -> Case {
    Case { op, inputs, params, blocked: true }
}

fn strided(op: &'static str, inputs: Vec<Input>, params: Vec<(&'static str, Value)>) -> Case {
    Case { blocked: false, ..case(op, inputs, params) }
}

fn x(dims: &[usize]) -> Vec<Input> {
    vec![Input("x", dims.to_vec(), ALL)]
}

fn ints(list: &[i64]) -> Value {
    list.to_vec().into()
}

/// Element-wise ops of one operand: all that are registered. Some take a range or parameters of their own.
fn unary(dims: &[usize]) -> Vec<Case> {
    let ops = dispatch::ops();
    let with_gradient = ops.iter().filter(|op| op.gradients(DispatchKey::STRIDED).next().is_some());
    let one_operand = with_gradient.map(|op| op.schema()).filter(|schema| {
        let tensors = schema.args.iter().filter(|arg| arg.kind.is_tensor()).count();
        schema.facts.elementwise && tensors == 1 && schema.args[0].name == "x"
    });
    let of = |name: &'static str| {
        let range = match name {
            "log" | "sqrt" | "rsqrt" | "reciprocal" | "pow_scalar" => POSITIVE,
            "logit" => [0.05, 0.95],
            _ => [-5.0, 5.0],
        };
        let params = match name {
            "clamp" | "hardtanh" => vec![("min", (-1.5).into()), ("max", 2.5.into())],
            "leaky_relu" => vec![("slope", 0.2.into())],
            "elu" | "celu" => vec![("alpha", 0.7.into())],
            "softplus" => vec![("beta", 2.0.into()), ("threshold", 3.0.into())],
            _ if name.ends_with("_scalar") => vec![("other", 1.7.into())],
            _ => vec![],
        };
        case(name, vec![Input("x", dims.to_vec(), range)], params)
    };
    let mut cases: Vec<Case> = one_operand.map(|schema| of(schema.name)).collect();
    cases.push(case("logit", vec![Input("x", dims.to_vec(), [-0.2, 1.2])], vec![("eps", 0.1.into())]));
    cases.push(case("celu", x(dims), vec![("alpha", (-0.7).into())]));
    cases.push(case("feature_dropout", x(dims), vec![("seed", 3.into())]));
    for power in [0.0, 2.0, 3.0] {
        cases.push(case("pow_scalar", x(dims), vec![("other", power.into())]));
    }
    cases
}

/// Ops of two or three operands that broadcast, and those with the values of channels.
fn binary(n: usize, c: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for op in ["add", "sub", "mul", "div", "maximum", "minimum", "pow"] {
        let [of_a, of_b] = match op {
            "pow" => [POSITIVE, ALL],
            "div" => [ALL, POSITIVE],
            _ => [ALL; 2],
        };
        for [a, b] in
            [[[n, c, 3, 5], [n, c, 3, 5]], [[n, c, 3, 5], [1, c, 1, 1]], [[n, 1, 3, 5], [n, c, 3, 1]]]
        {
            let inputs = vec![Input("a", a.to_vec(), of_a), Input("b", b.to_vec(), of_b)];
            cases.push(case(op, inputs, vec![]));
        }
    }
    for b in [vec![n, c, 3, 5], vec![1, c, 1, 1]] {
        let condition = Input("condition", vec![n, c, 3, 5], [0.0, 2.0]);
        let inputs = vec![condition, Input("a", vec![n, 1, 3, 5], ALL), Input("b", b, ALL)];
        cases.push(case("where", inputs, vec![]));
    }
    for (op, values) in [("add_channel", "values"), ("mul_channel", "values"), ("prelu", "weights")] {
        for count in [c, 1] {
            let inputs = vec![Input("x", vec![n, c, 3, 5], ALL), Input(values, vec![count], ALL)];
            cases.push(case(op, inputs, vec![]));
        }
    }
    cases
}

fn norms(n: usize, c: usize) -> Vec<Case> {
    let dims = [n, c, 5, 4];
    let with = |name: &'static str, range| Input(name, vec![c], range);
    let (weight, bias) = (with("weight", ALL), with("bias", ALL));
    let mut cases = Vec::new();
    for (op, mut inputs) in [
        ("batch_norm", vec![with("mean", ALL), with("var", POSITIVE)]),
        ("batch_norm_train", vec![with("running_mean", ALL), with("running_var", POSITIVE)]),
        ("instance_norm", vec![]),
        ("group_norm", vec![]),
    ] {
        inputs.insert(0, Input("x", dims.to_vec(), [1.0, 4.0]));
        let mut variants = vec![inputs.clone()];
        inputs.push(weight.clone());
        variants.push(inputs.clone());
        inputs.push(bias.clone());
        variants.push(inputs.clone());
        inputs.remove(inputs.len() - 2);
        variants.push(inputs);
        for inputs in variants {
            if op != "group_norm" {
                cases.push(case(op, inputs, vec![("eps", 0.01.into())]));
                continue;
            }
            for groups in (1..=c).filter(|g| c.is_multiple_of(*g)) {
                cases.push(case(op, inputs.clone(), vec![("groups", (groups as i64).into())]));
            }
        }
    }
    for shape in [&dims[3..], &dims[2..], &dims[1..]] {
        let count = shape.iter().product();
        let shape: Vec<i64> = shape.iter().map(|&v| v as i64).collect();
        let params = vec![("normalized_shape", ints(&shape)), ("eps", 0.01.into())];
        let (w, b) = (Input("weight", vec![count], ALL), Input("bias", vec![count], ALL));
        for more in [vec![], vec![w.clone()], vec![w, b]] {
            cases.push(case("layer_norm", [x(&dims), more].concat(), params.clone()));
        }
    }
    for (size, beta) in [(1, 0.75), (4, 0.5), (5, 0.6), (99, 1.0)] {
        let params = vec![("size", i64::into(size)), ("alpha", 0.7.into()), ("beta", beta.into())];
        cases.push(case("local_response_norm", x(&dims), params));
    }
    for op in ["softmax", "log_softmax"] {
        cases.extend((0..4).map(|axis: i64| case(op, x(&dims), vec![("axis", axis.into())])));
    }
    cases
}

fn reductions(n: usize, c: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for op in ["sum", "mean", "prod", "amax", "amin"] {
        for axes in [&[2, 3][..], &[1], &[0, 2], &[]] {
            for keepdim in [true, false] {
                let params = vec![("axes", ints(axes)), ("keepdim", keepdim.into())];
                let range = if op == "prod" { [0.7, 1.3] } else { ALL };
                let inputs = vec![Input("x", vec![n, c, 3, 2], range)];
                cases.push(Case { blocked: keepdim, ..case(op, inputs, params) });
            }
        }
    }
    cases
}

fn moves(n: usize, c: usize) -> Vec<Case> {
    let dims = [n, c, 4, 6];
    let axis = |axis: i64| ("axis", Value::from(axis));
    let mut cases = vec![
        case("flip", x(&dims), vec![("axes", ints(&[1, 3]))]),
        case("roll", x(&dims), vec![("shifts", ints(&[2, -1])), ("axes", ints(&[1, 2]))]),
        case("pixel_unshuffle", x(&dims), vec![("factor", 2.into())]),
        case("pixel_shuffle", x(&[n, 4 * c, 3, 2]), vec![("factor", 2.into())]),
        case("channel_shuffle", x(&[n, 2 * c, 3, 2]), vec![("groups", 2.into())]),
        case("channel_shuffle", x(&[n, 3 * c, 3]), vec![("groups", (c as i64).into())]),
        strided("tril", x(&dims), vec![("diagonal", 1.into())]),
        strided("triu", x(&dims), vec![("diagonal", (-1).into())]),
    ];
    for a in [1, 2] {
        let mut other = dims;
        other[a as usize] = 5;
        let tensors = vec![Input("tensors", dims.to_vec(), ALL), Input("tensors", other.to_vec(), ALL)];
        cases.push(case("cat", tensors, vec![axis(a)]));
        let size = dims[a as usize] as i64;
        cases.push(case("split", x(&dims), vec![("sizes", ints(&[1, size - 1])), axis(a)]));
        cases.push(case("chunk", x(&dims), vec![("chunks", 2.into()), axis(a)]));
    }
    for a in 0..4 {
        let tensors = vec![Input("tensors", vec![n, c, 3], ALL); 3];
        cases.push(Case { blocked: a > 1, ..case("stack", tensors, vec![axis(a)]) });
    }
    for mode in ["constant", "reflect", "replicate", "circular"] {
        let mode = ("mode", Value::Str(mode.into()));
        for padding in [&[1, 2][..], &[2, 0, 1, 3], &[-1, 2, 1, -2], &[0, -1]] {
            cases.push(case("pad", x(&dims), vec![("padding", ints(padding)), mode.clone()]));
        }
        if c > 2 {
            cases.push(case("pad", x(&dims), vec![("padding", ints(&[0, 0, 1, 0, 2, 1])), mode]));
        }
    }
    cases
}

fn views(n: usize, c: usize) -> Vec<Case> {
    let dims = [n, c, 4, 6];
    let axis = |axis: i64| ("axis", Value::from(axis));
    vec![
        strided("permute", x(&dims), vec![("axes", ints(&[2, 0, 3, 1]))]),
        strided("transpose", x(&dims), vec![("a", 1.into()), ("b", 3.into())]),
        strided("narrow", x(&dims), vec![axis(3), ("start", 2.into()), ("length", 3.into())]),
        strided("slice", x(&dims), vec![axis(3), ("start", 1.into()), ("step", 2.into())]),
        strided("select", x(&dims), vec![axis(1), ("index", (-1).into())]),
        strided("expand", x(&[n, 1, 4, 1]), vec![("dims", ints(&[3, n as i64, c as i64, 4, 6]))]),
        strided("squeeze", x(&[n, 1, 4]), vec![axis(1)]),
        strided("unsqueeze", x(&dims), vec![axis(2)]),
        strided("flatten", x(&dims), vec![("start", 1.into()), ("end", 2.into())]),
        strided("reshape", x(&dims), vec![("dims", ints(&[4, n as i64, 6, c as i64]))]),
        strided("view", x(&[n, c, 6]), vec![("dims", ints(&[n as i64, c as i64, 2, 3]))]),
        strided("cumsum", x(&dims), vec![axis(1)]),
        strided("sort", x(&dims), vec![axis(2), ("descending", true.into())]),
        strided("topk", x(&dims), vec![axis(3), ("k", 3.into())]),
        strided(
            "gather",
            [x(&dims), vec![Input("index", vec![n, c.div_ceil(2), 7, 5], [0.0, 4.0])]].concat(),
            vec![axis(2)],
        ),
        strided(
            "index_select",
            [x(&dims), vec![Input("index", vec![9], [0.0, 6.0])]].concat(),
            vec![axis(3)],
        ),
    ]
}

fn spatial(n: usize, c: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let output = |sizes: &[i64]| ("output", ints(sizes));
    for (op, dims, to) in [
        ("upsample_nearest", vec![n, c, 4, 5], vec![8, 10]),
        ("upsample_nearest", vec![n, c, 5], vec![7]),
        ("upsample_nearest", vec![n, c, 2, 3, 4], vec![3, 2, 9]),
        ("upsample_linear", vec![n, c, 5], vec![9]),
        ("upsample_bilinear", vec![n, c, 4, 5], vec![7, 3]),
        ("upsample_bilinear", vec![n, c, 4, 5], vec![4, 11]),
        ("upsample_trilinear", vec![n, c, 2, 3, 4], vec![3, 5, 2]),
    ] {
        cases.push(case(op, x(&dims), vec![output(&to)]));
        if op != "upsample_nearest" {
            cases.push(case(op, x(&dims), vec![output(&to), ("align_corners", true.into())]));
        }
    }
    for padding in ["zeros", "border", "reflection"] {
        for align in [true, false] {
            let params = vec![("padding_mode", Value::Str(padding.into())), ("align_corners", align.into())];
            let grid = |dims: &[usize]| Input("grid", dims.to_vec(), [-1.6, 1.6]);
            let inputs = [x(&[n, c, 4, 5]), vec![grid(&[n, 3, 4, 2])]].concat();
            cases.push(case("grid_sample", inputs.clone(), params.clone()));
            let cubic = [&params[..], &[("mode", Value::Str("bicubic".into()))]].concat();
            cases.push(case("grid_sample", inputs, cubic));
            let inputs = [x(&[n, c, 3, 4, 2]), vec![grid(&[n, 2, 3, 2, 3])]].concat();
            cases.push(case("grid_sample", inputs, params));
        }
    }
    let kernel = |k: i64| vec![("kernel", ints(&[k])), ("stride", ints(&[2])), ("padding", ints(&[1]))];
    for (i, dims) in [vec![n, c, 7], vec![n, c, 6, 5], vec![n, c, 4, 5, 3]].iter().enumerate() {
        let [max, avg, adaptive_max, adaptive_avg] = [
            ["max_pool1d", "avg_pool1d", "adaptive_max_pool1d", "adaptive_avg_pool1d"],
            ["max_pool2d", "avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool2d"],
            ["max_pool3d", "avg_pool3d", "adaptive_max_pool3d", "adaptive_avg_pool3d"],
        ][i];
        cases.push(case(max, x(dims), kernel(3)));
        cases.push(case(avg, x(dims), kernel(3)));
        cases.push(case(avg, x(dims), [kernel(2), vec![("count_include_pad", false.into())]].concat()));
        let to = vec![2; i + 1];
        cases.push(case(adaptive_max, x(dims), vec![output(&to)]));
        cases.push(case(adaptive_avg, x(dims), vec![output(&to)]));
    }
    cases.push(case("global_avg_pool", x(&[n, c, 4, 3]), vec![]));
    cases.push(case("global_max_pool", x(&[n, c, 4, 3]), vec![]));
    cases
}

/// Products. Convolutions with blocked weights are in the library's own tests.
fn products(n: usize, c: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for [a, b] in [
        [vec![5, c], vec![c, 4]],
        [vec![c], vec![c, 4]],
        [vec![3, c], vec![c]],
        [vec![c], vec![c]],
        [vec![n, 5, c], vec![c, 4]],
        [vec![n, 1, 5, c], vec![3, c, 2]],
        [vec![5, c], vec![n, c, 2]],
        [vec![n, 5, c], vec![c]],
        [vec![c], vec![n, c, 2]],
    ] {
        cases.push(strided("matmul", vec![Input("a", a, ALL), Input("b", b, ALL)], vec![]));
    }
    let weights = |dims: &[usize]| Input("weights", dims.to_vec(), ALL);
    cases.push(strided(
        "linear",
        [x(&[n, 3, c]), vec![weights(&[4, c]), Input("bias", vec![4], ALL)]].concat(),
        vec![],
    ));
    let numbers = |list: &[(&'static str, i64)]| -> Vec<(&'static str, Value)> {
        list.iter().map(|&(name, v)| (name, if name == "groups" { v.into() } else { ints(&[v]) })).collect()
    };
    for list in [
        &[("stride", 2), ("padding", 1)][..],
        &[("stride", 2), ("output_padding", 1), ("padding", 1)],
        &[("dilation", 2), ("output_padding", 1)],
        &[("dilation", 3), ("output_padding", 2), ("padding", 1)],
        &[("stride", 3), ("groups", 2)],
    ] {
        let groups = if list.iter().any(|p| p.0 == "groups") { 2 } else { 1 };
        let bias = Input("bias", vec![3 * groups], ALL);
        for (op, spatial) in
            [("conv_transpose1d", &[5][..]), ("conv_transpose2d", &[4, 3]), ("conv_transpose3d", &[2, 3, 2])]
        {
            let of = |channels: &[usize], sizes: &[usize]| [channels, sizes].concat();
            let inputs = [
                x(&of(&[n, 2 * c], spatial)),
                vec![weights(&of(&[2 * c, 3], &vec![2; spatial.len()])), bias.clone()],
            ]
            .concat();
            cases.push(strided(op, inputs, numbers(list)));
        }
        let list: Vec<_> = list.iter().copied().filter(|p| p.0 != "output_padding").collect();
        for (op, spatial) in [("conv1d", &[9][..]), ("conv2d", &[8, 7]), ("conv3d", &[4, 5, 4])] {
            let of = |channels: &[usize], sizes: &[usize]| [channels, sizes].concat();
            let inputs = [
                x(&of(&[n, 2 * c], spatial)),
                vec![weights(&of(&[3 * groups, 2 * c / groups], &vec![2; spatial.len()])), bias.clone()],
            ]
            .concat();
            cases.push(strided(op, inputs, numbers(&list)));
        }
    }
    cases
}

fn cases(n: usize, c: usize) -> Vec<Case> {
    let families = [
        unary(&[n, c, 3, 5]),
        binary(n, c),
        norms(n, c),
        reductions(n, c),
        moves(n, c),
        views(n, c),
        spatial(n, c),
        products(n, c),
    ];
    families.into_iter().flatten().collect()
}

/// Definitions of ops that graphs do not have, or not with these parameters.
fn other_definition(op: &BoundOp) -> Option<Evaluate> {
    match op.registered().schema().name {
        "batch_norm_train" => Some(|call| {
            let x = call.input("x")?;
            let (c, eps) = (x.dims[1], call.double("eps")?);
            let pixels: usize = x.dims[2..].iter().product();
            let channel = |i: usize| i / pixels % c;
            let count = (x.data.len() / c) as f64;
            let mut y = x.data.clone();
            for of in 0..c {
                let own = || (0..x.data.len()).filter(|&i| channel(i) == of);
                let mean = own().map(|i| x.data[i]).sum::<f64>() / count;
                let var = own().map(|i| (x.data[i] - mean).powi(2)).sum::<f64>() / count;
                let param = |name: &str, default| call.optional(name).map_or(default, |p| p.data[of]);
                let (w, b) = (param("weight", 1.0), param("bias", 0.0));
                own().for_each(|i| y[i] = (x.data[i] - mean) / (var + eps).sqrt() * w + b);
            }
            Ok(vec![y])
        }),
        // Kept or dropped is read from the result of ones.
        "dropout" | "feature_dropout" => Some(|call| {
            let x = call.input("x")?;
            let ones = StridedTensor::full(&x.dims, 1f32, MemoryFormat::Contiguous)?;
            let kept = call.op.run(&[ones.tensor_ref()])?;
            let kept = Values::of(kept[0].tensor_ref())?;
            Ok(vec![x.data.iter().zip(&kept.data).map(|(x, k)| x * k).collect()])
        }),
        // Of finite coordinates: cubic convolution with the weights of its paper, a = -0.75.
        "grid_sample" => Some(|call| {
            let (x, grid) = (call.input("x")?, call.input("grid")?);
            let [n, c, h, w] = [x.dims[0], x.dims[1], x.dims[2], x.dims[3]];
            let points: usize = grid.dims[1..3].iter().product();
            let (align, padding) = (call.flag("align_corners")?, call.word("padding_mode")?);
            let place = |v: f64, size: usize| {
                let size = size as f64;
                if align { (v + 1.0) / 2.0 * (size - 1.0) } else { ((v + 1.0) * size - 1.0) / 2.0 }
            };
            let index = |mut i: i64, size: usize| -> Option<usize> {
                let last = size as i64 - 1;
                match padding {
                    "border" => i = i.clamp(0, last),
                    "reflection" => {
                        while i < 0 || i > last {
                            i = match (i < 0, align) {
                                (true, true) => -i,
                                (true, false) => -1 - i,
                                (false, true) => 2 * last - i,
                                (false, false) => 2 * last + 1 - i,
                            };
                        }
                    }
                    _ => {}
                }
                usize::try_from(i).ok().filter(|&i| i < size)
            };
            let kernel = |t: f64| {
                let (t, a) = (t.abs(), -0.75);
                if t <= 1.0 {
                    (a + 2.0) * t.powi(3) - (a + 3.0) * t.powi(2) + 1.0
                } else {
                    a * t.powi(3) - 5.0 * a * t.powi(2) + 8.0 * a * t - 4.0 * a
                }
            };
            let mut y = Vec::new();
            for i in 0..n * c * points {
                let (image, plane, point) = (i / points / c, i / points, i % points);
                let at = |k: usize| grid.data[(image * points + point) * 2 + k];
                let (px, py) = (place(at(0), w), place(at(1), h));
                let mut sum = 0.0;
                for dy in -1..=2 {
                    for dx in -1..=2 {
                        let (qy, qx) = (py.floor() as i64 + dy, px.floor() as i64 + dx);
                        if let (Some(row), Some(column)) = (index(qy, h), index(qx, w)) {
                            let weight = kernel(py - qy as f64) * kernel(px - qx as f64);
                            sum += weight * x.data[(plane * h + row) * w + column];
                        }
                    }
                }
                y.push(sum);
            }
            Ok(vec![y])
        }),
        _ => None,
    }
}

/// The results of a call in f64. Only the first `dims.len()` are compared.
fn results_of(op: &BoundOp, inputs: &[Arc<Values>], dims: &[&[usize]]) -> Vec<Vec<f64>> {
    if let Some(made) = evaluate(op, inputs, dims).unwrap() {
        return made.into_iter().map(|values| values.data).collect();
    }
    let definition = other_definition(op).unwrap_or_else(|| panic!("{op} has no definition"));
    definition(&super::Call { op, inputs, outputs: dims }).unwrap()
}

/// A tensor of an argument: data in the layout of the kind, all else row-major.
fn tensor(op: &BoundOp, input: &Input, kind: Kind, rng: &mut Rng) -> Tensor {
    let Input(name, dims, range) = input;
    let count = dims.iter().product();
    let integers = |rng: &mut Rng| (0..count).map(|_| rng.below(range[1] as usize)).collect::<Vec<_>>();
    let t = match *name {
        "condition" => {
            StridedTensor::from_slice(&integers(rng).iter().map(|&v| v as u8).collect::<Vec<_>>(), dims)
        }
        "index" => {
            StridedTensor::from_slice(&integers(rng).iter().map(|&v| v as i32).collect::<Vec<_>>(), dims)
        }
        _ => StridedTensor::from_slice(&rng.reals(count, *range), dims),
    };
    let is_data = op.registered().schema().args.iter().any(|arg| arg.name == *name && arg.kind.is_data());
    in_kind(t.unwrap(), if is_data { kind } else { Kind::Nchw })
}

fn in_kind(t: StridedTensor, kind: Kind) -> Tensor {
    match (kind, MemoryFormat::channels_last_of(t.rank())) {
        (Kind::Nhwc, Some(last)) => t.contiguous(last).unwrap().into(),
        (Kind::Blocked(block), _) => {
            t.to_blocked(&Layout::blocked_activation(t.rank(), block).unwrap()).unwrap().into()
        }
        _ => t.into(),
    }
}

fn refs(list: &[Tensor]) -> Vec<TensorRef<'_>> {
    list.iter().map(Operand::tensor_ref).collect()
}

/// Whether a gradient is in the layout of its operand.
fn is_as_operand(operand: &Tensor, made: &Tensor) -> bool {
    match (operand, made) {
        (Tensor::Strided(x), Tensor::Strided(d)) => {
            let of = |t: &StridedTensor| -> Vec<usize> {
                (0..t.rank()).filter(|&a| t.dims()[a] > 1).map(|a| t.strides()[a]).collect()
            };
            x.numel() == 0 || of(x) == of(d)
        }
        (Tensor::Blocked(x), Tensor::Blocked(d)) => x.layout() == d.layout() && d.check_tail().is_ok(),
        _ => false,
    }
}

/// Runs a case in one layout. Returns what is wrong.
fn check(case: &Case, kind: Kind, rng: &mut Rng) -> Result<(), String> {
    let names: Vec<&str> = case.inputs.iter().map(|input| input.0).collect();
    let op = BoundOp::new(case.op, &names, &case.params).unwrap();
    let inputs: Vec<Tensor> = case.inputs.iter().map(|input| tensor(&op, input, kind, rng)).collect();
    let is_empty = case.inputs[0].1.contains(&0);
    let results = match op.run(&refs(&inputs)) {
        Ok(results) => results,
        // Some ops take no empty batch.
        Err(_) if is_empty => return Ok(()),
        Err(e) => return Err(e.to_string()),
    };
    // Running statistics and indices are not differentiated.
    let counted = match case.op {
        "batch_norm_train" | "sort" | "topk" => 1,
        _ => results.len(),
    };
    let no_gradient = ["condition", "index", "running_mean", "running_var"];
    let wanted: Vec<bool> = names.iter().map(|name| !no_gradient.contains(name)).collect();
    let dims: Vec<&[usize]> = results.iter().map(|y| y.tensor_ref().dims()).collect();
    let elements: Vec<Values> = inputs.iter().map(|t| Values::of(t.tensor_ref()).unwrap()).collect();
    let kinds = if let Kind::Blocked(_) = kind { vec![kind] } else { vec![Kind::Nchw, Kind::Nhwc] };
    for of_diff in kinds {
        let diff = |(i, y): (usize, &Tensor), rng: &mut Rng| {
            let dims = y.tensor_ref().dims();
            let values = rng.reals(dims.iter().product(), [-1.0, 1.0]);
            let t = StridedTensor::from_slice(&values, dims).unwrap();
            (i < counted).then(|| match y {
                Tensor::Blocked(y) => t.to_blocked(y.layout()).unwrap().into(),
                _ => in_kind(t, of_diff),
            })
        };
        let diffs: Vec<Option<Tensor>> = results.iter().enumerate().map(|y| diff(y, rng)).collect();
        let diff_refs: Vec<_> = diffs.iter().map(|d| d.as_ref().map(Operand::tensor_ref)).collect();
        let made =
            op.backward(&refs(&inputs), &refs(&results), &diff_refs, &wanted).map_err(|e| e.to_string())?;
        let weights: Vec<Vec<f64>> =
            diff_refs.iter().flatten().map(|d| Values::of(*d).unwrap().data).collect();
        let loss = |x: &[Values]| -> f64 {
            let x: Vec<Arc<Values>> = x.iter().cloned().map(Arc::new).collect();
            let all = results_of(&op, &x, &dims);
            all.iter().zip(&weights).flat_map(|(y, u)| y.iter().zip(u)).map(|(y, u)| y * u).sum()
        };
        for (i, made) in made.iter().enumerate() {
            let what = format!("by {} from {of_diff:?}", names[i]);
            let Some(made) = made else {
                if wanted[i] {
                    return Err(format!("{what}: none"));
                }
                continue;
            };
            let got = Values::of(made.tensor_ref()).unwrap();
            if !is_as_operand(&inputs[i], made) || got.dims != elements[i].dims {
                let [d, x] = [made, &inputs[i]].map(|t| t.tensor_ref().describe());
                return Err(format!("{what}: {d} for {x}"));
            }
            let scale = got.data.iter().fold(1f64, |m, v| m.max(v.abs()));
            for _ in 0..got.data.len().min(12) {
                let (at, h) = (rng.below(got.data.len()), 1e-6);
                let mut x = elements.clone();
                x[i].data[at] += h;
                let above = loss(&x);
                x[i].data[at] -= 2.0 * h;
                let want = (above - loss(&x)) / (2.0 * h);
                let got = got.data[at];
                let is_close = (got - want).abs() <= 4e-5 * scale;
                if !is_close {
                    return Err(format!("{what}: element {at} is {got}, not {want}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_agree_with_finite_differences() {
    let mut rng = Rng(45);
    let mut wrong = Vec::new();
    for (n, c) in [(2, 17), (1, 3), (3, 1), (1, 33), (2, 16), (0, 17)] {
        for case in cases(n, c) {
            let ranks = case.inputs.iter().map(|input| input.1.len());
            let op = dispatch::op(case.op).unwrap();
            for kind in KINDS {
                let is_blocked = matches!(kind, Kind::Blocked(_));
                let can_block = case.blocked && op.gradients(DispatchKey::BLOCKED).next().is_some();
                let has_last = ranks.clone().any(|rank| (3..=5).contains(&rank));
                if is_blocked && !can_block || kind == Kind::Nhwc && !has_last {
                    continue;
                }
                if let Err(e) = check(&case, kind, &mut rng) {
                    let dims: Vec<_> = case.inputs.iter().map(|input| &input.1).collect();
                    wrong.push(format!("{} {:?} of {dims:?} in {kind:?}: {e}", case.op, case.params));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_gradient_has_a_case() {
    let all = cases(2, 17);
    for op in dispatch::ops() {
        let schema = op.schema();
        let ours = [DispatchKey::STRIDED, DispatchKey::BLOCKED].into_iter();
        let has = ours.filter(|key| op.gradients(*key).next().is_some()).count() > 0;
        assert!(!has || all.iter().any(|case| case.op == schema.name), "{} has no case", schema.name);
        assert_ne!(has, schema.facts.without_gradient.is_some(), "{}: a gradient or a reason", schema.name);
    }
}
