//! The calls whose gradients are checked.

use blocktensor::dispatch::{self, DispatchKey, Value};

/// An operand: its argument, sizes, and the range of its elements. Conditions and indices are integers below the upper end.
#[derive(Clone)]
pub(super) struct Input(pub &'static str, pub Vec<usize>, pub [f32; 2]);

pub(super) struct Case {
    pub op: &'static str,
    pub inputs: Vec<Input>,
    pub params: Vec<(&'static str, Value)>,
    /// Whether blocked tensors can express it.
    pub blocked: bool,
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
fn binary(n: usize, c: usize, [h, w]: [usize; 2]) -> Vec<Case> {
    let mut cases = Vec::new();
    for op in ["add", "sub", "mul", "div", "maximum", "minimum", "pow", "axpby"] {
        let [of_a, of_b] = match op {
            "pow" => [POSITIVE, ALL],
            "div" => [ALL, POSITIVE],
            _ => [ALL; 2],
        };
        for [a, b] in
            [[[n, c, h, w], [n, c, h, w]], [[n, c, h, w], [1, c, 1, 1]], [[n, 1, h, w], [n, c, h, 1]]]
        {
            let inputs = vec![Input("a", a.to_vec(), of_a), Input("b", b.to_vec(), of_b)];
            let params = match op {
                "axpby" => vec![("alpha", 0.7.into()), ("beta", (-1.3).into())],
                _ => vec![],
            };
            cases.push(case(op, inputs, params));
        }
    }
    for b in [vec![n, c, h, w], vec![1, c, 1, 1]] {
        let condition = Input("condition", vec![n, c, h, w], [0.0, 2.0]);
        let inputs = vec![condition, Input("a", vec![n, 1, h, w], ALL), Input("b", b, ALL)];
        cases.push(case("where", inputs, vec![]));
    }
    for (op, values) in [("add_channel", "values"), ("mul_channel", "values"), ("prelu", "weights")] {
        for count in [c, 1] {
            let inputs = vec![Input("x", vec![n, c, h, w], ALL), Input(values, vec![count], ALL)];
            cases.push(case(op, inputs, vec![]));
        }
    }
    cases
}

fn norms(dims: [usize; 4]) -> Vec<Case> {
    let c = dims[1];
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
    // With each, whether it has a value of no elements.
    for (op, of_none) in [("sum", true), ("mean", true), ("prod", true), ("amax", false), ("amin", false)] {
        for axes in [&[2, 3][..], &[1], &[0, 2], &[]] {
            if n == 0 && !of_none && (axes.is_empty() || axes.contains(&0)) {
                continue;
            }
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

fn spatial(n: usize, c: usize, [h, w]: [usize; 2]) -> Vec<Case> {
    let mut cases = Vec::new();
    let output = |sizes: &[i64]| ("output", ints(sizes));
    for (op, dims, to) in [
        ("upsample_nearest", vec![n, c, h, w], vec![8, 10]),
        ("upsample_nearest", vec![n, c, w], vec![7]),
        ("upsample_nearest", vec![n, c, 2, h, w], vec![3, 2, 9]),
        ("upsample_linear", vec![n, c, w], vec![9]),
        ("upsample_bilinear", vec![n, c, h, w], vec![7, 3]),
        ("upsample_bilinear", vec![n, c, h, w], vec![h as i64, 11]),
        ("upsample_trilinear", vec![n, c, 2, h, w], vec![3, 5, 2]),
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
            let inputs = [x(&[n, c, h, w]), vec![grid(&[n, 3, 4, 2])]].concat();
            cases.push(case("grid_sample", inputs.clone(), params.clone()));
            let cubic = [&params[..], &[("mode", Value::Str("bicubic".into()))]].concat();
            cases.push(case("grid_sample", inputs, cubic));
            let inputs = [x(&[n, c, h, w, 2]), vec![grid(&[n, 2, 3, 2, 3])]].concat();
            cases.push(case("grid_sample", inputs, params));
        }
    }
    let kernel = |k: i64| vec![("kernel", ints(&[k])), ("stride", ints(&[2])), ("padding", ints(&[1]))];
    for (i, dims) in [vec![n, c, h + w], vec![n, c, h, w], vec![n, c, w, h, 3]].iter().enumerate() {
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
    cases.push(case("global_avg_pool", x(&[n, c, h, w]), vec![]));
    cases.push(case("global_max_pool", x(&[n, c, h, w]), vec![]));
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

/// Calls of every op, with batches of `n`, about `c` channels, and images of `image` where the sizes do not matter.
pub(super) fn cases(n: usize, c: usize, image: [usize; 2]) -> Vec<Case> {
    let [h, w] = image;
    let families = [
        unary(&[n, c, h, w]),
        binary(n, c, image),
        norms([n, c, h, w]),
        reductions(n, c),
        moves(n, c),
        views(n, c),
        spatial(n, c, image),
        products(n, c),
    ];
    families.into_iter().flatten().collect()
}
