//! Passes change how a network is written, not what it computes.

use blocktensor::StridedTensor;
use blocktensor_graph::{Constant, Graph, Layouts, Param, Pass, PlanOptions, ValueId};

use crate::support::{random, relative_error};

struct Net {
    graph: Graph,
    seed: u64,
}

impl Net {
    fn constant(&mut self, dims: &[usize]) -> ValueId {
        self.seed += 1;
        self.graph.constant(&format!("c{}", self.seed), Constant::F32(random(dims, self.seed))).unwrap()
    }

    /// Numbers between 0.5 and 1.5.
    fn positive(&mut self, dims: &[usize]) -> ValueId {
        self.seed += 1;
        let values = random(dims, self.seed).to_vec::<f32>().unwrap();
        let values: Vec<f32> = values.iter().map(|v| 1.0 + v / 2.0).collect();
        let t = StridedTensor::from_slice(&values, dims).unwrap();
        self.graph.constant(&format!("c{}", self.seed), Constant::F32(t)).unwrap()
    }

    fn integer(&mut self, value: i64) -> ValueId {
        self.seed += 1;
        let values =
            Constant::Int { of: blocktensor_graph::Integer::I32, dims: vec![1], values: vec![value] };
        self.graph.constant(&format!("c{}", self.seed), values).unwrap()
    }

    fn op(&mut self, op: &str, inputs: &[(&str, ValueId)], params: &[(&str, Param)]) -> ValueId {
        self.seed += 1;
        self.graph.op(&format!("{op}{}", self.seed), op, inputs, params).unwrap()
    }

    fn conv(&mut self, op: &str, x: ValueId, weights: &[usize], params: &[(&str, Param)]) -> ValueId {
        let weights = self.constant(weights);
        self.op(op, &[("x", x), ("weights", weights)], params)
    }

    fn batch_norm(&mut self, x: ValueId, channels: usize) -> ValueId {
        let (mean, var) = (self.constant(&[channels]), self.positive(&[channels]));
        let (weight, bias) = (self.positive(&[channels]), self.constant(&[channels]));
        let inputs = [("x", x), ("mean", mean), ("var", var), ("weight", weight), ("bias", bias)];
        self.op("batch_norm", &inputs, &[])
    }
}

/// A network with every pattern that a pass looks for, channels that fill no block, and sides of different lengths.
fn network() -> Graph {
    let mut n = Net { graph: Graph::new(), seed: 0 };
    let x = n.graph.input("image", &[2.into(), 5.into(), 9.into(), 12.into()]).unwrap();
    // A pad, a convolution, a batch norm, relu6.
    let pads = [("padding", Param::Ints(vec![1, 2, 0, 1]))];
    let y = n.op("pad", &[("x", x)], &pads);
    let y = n.conv("conv2d", y, &[18, 5, 3, 3], &[("padding", vec![1i64, 0, 1, 0].into())]);
    let y = n.batch_norm(y, 18);
    let y = n.op("clamp", &[("x", y)], &[("min", 0.0.into()), ("max", 6.0.into())]);
    // A grouped convolution, numbers for each channel, silu as exporters write it.
    let z = n.conv("conv2d", y, &[18, 6, 1, 1], &[("groups", 3i64.into())]);
    let scale = n.positive(&[1, 18, 1, 1]);
    let z = n.op("mul", &[("a", z), ("b", scale)], &[]);
    let shift = n.constant(&[18, 1, 1]);
    let z = n.op("add", &[("a", shift), ("b", z)], &[]);
    let gate = n.op("sigmoid", &[("x", z)], &[]);
    let z = n.op("mul", &[("a", gate), ("b", z)], &[]);
    // A residual sum, whose other operand comes later than the convolution.
    let w = n.conv("conv2d", z, &[18, 18, 3, 3], &[("padding", 1i64.into())]);
    let other = n.op("hardswish", &[("x", y)], &[]);
    let w = n.op("add", &[("a", w), ("b", other)], &[]);
    let w = n.op("relu", &[("x", w)], &[]);
    // What no weights can take up: slopes for each channel, and a batch norm after them.
    let w = n.conv("conv2d", w, &[18, 18, 1, 1], &[]);
    let slopes = n.constant(&[18]);
    let w = n.op("prelu", &[("x", w), ("weights", slopes)], &[]);
    let w = n.batch_norm(w, 18);
    let w = n.op("hardsigmoid", &[("x", w)], &[]);
    // Uneven padding, which a pool takes up.
    let pads = [("padding", Param::Ints(vec![0, 1, 1, 0])), ("value", f64::NEG_INFINITY.into())];
    let p = n.op("pad", &[("x", y)], &pads);
    let p = n.op("max_pool2d", &[("x", p)], &[("kernel", 3i64.into()), ("stride", vec![2i64, 2].into())]);
    n.graph.output("pooled", p).unwrap();
    // A grouped transposed convolution and its batch norm.
    let params = [("groups", Param::Int(2)), ("stride", vec![2i64, 2].into())];
    let t = n.conv("conv_transpose2d", w, &[18, 7, 2, 2], &params);
    let t = n.batch_norm(t, 14);
    // gelu by its formula, on a number that no kernel broadcasts in blocked tensors.
    let half =
        n.graph.constant("half", Constant::F32(StridedTensor::from_slice(&[0.5f32], &[]).unwrap())).unwrap();
    let one =
        n.graph.constant("one", Constant::F32(StridedTensor::from_slice(&[1f32], &[1]).unwrap())).unwrap();
    let root = StridedTensor::from_slice(&[std::f32::consts::SQRT_2], &[]).unwrap();
    let root = n.graph.constant("root", Constant::F32(root)).unwrap();
    let e = n.op("div", &[("a", t), ("b", root)], &[]);
    let e = n.op("erf", &[("x", e)], &[]);
    let e = n.op("add", &[("a", e), ("b", one)], &[]);
    let e = n.op("mul", &[("a", t), ("b", e)], &[]);
    let e = n.op("mul", &[("a", e), ("b", half)], &[]);
    // A channel shuffle as exporters write it.
    let e = n.op("view", &[("x", e)], &[("dims", vec![2i64, 2, 7, 20, 26].into())]);
    let e = n.op("transpose", &[("x", e)], &[("a", 1i64.into()), ("b", 2i64.into())]);
    let e = n.op("view", &[("x", e)], &[("dims", vec![2i64, 14, 20, 26].into())]);
    // Parts that are the whole, one of them repeated along the image before it is multiplied.
    let part = |start: i64, length: i64| {
        [("axis", Param::Int(1)), ("start", Param::Int(start)), ("length", Param::Int(length))]
    };
    let first = n.op("narrow", &[("x", e)], &part(0, 5));
    let second = n.op("narrow", &[("x", e)], &part(5, 9));
    let small = n.op("mean", &[("x", second)], &[("axes", vec![2i64, 3].into()), ("keepdim", true.into())]);
    let wide = n.op("expand", &[("x", small)], &[("dims", vec![2i64, 9, 20, 26].into())]);
    let second = n.op("mul", &[("a", wide), ("b", second)], &[]);
    let e = n.op("cat", &[("tensors", second), ("tensors", first)], &[("axis", 1i64.into())]);
    // The same node twice.
    let p = n.op("tanh", &[("x", e)], &[]);
    let q = n.op("tanh", &[("x", e)], &[]);
    let r = n.op("sub", &[("a", p), ("b", q)], &[]);
    let r = n.op("add", &[("a", r), ("b", e)], &[]);
    let m = n.op("mean", &[("x", r)], &[("axes", vec![2i64, 3].into())]);
    // Integers that are pooled as numbers.
    let (scale, zero) = (n.positive(&[1]), n.integer(100));
    let pair = |x| [("x", x), ("scale", scale), ("zero_point", zero)];
    let bytes = n.op("quantize", &pair(x), &[]);
    let numbers = n.op("dequantize", &pair(bytes), &[]);
    let most = n.op("max_pool2d", &[("x", numbers)], &[("kernel", 2i64.into())]);
    n.graph.output("most", most).unwrap();
    n.graph.output("features", r).unwrap();
    n.graph.output("mean", m).unwrap();
    n.graph
}

#[test]
fn results_agree_with_every_pass_switched_off_and_with_each_one_switched_off() {
    let graph = network();
    let x = random(&[2, 5, 9, 12], 99);
    let bare = Pass::ALL.into_iter().fold(PlanOptions::new(Layouts::Nchw), PlanOptions::without);
    let want = graph.plan(&bare).unwrap().run(&[&x]).unwrap();
    for layouts in Layouts::FIXED {
        let options = std::iter::once(PlanOptions::new(layouts))
            .chain(Pass::ALL.into_iter().map(|pass| PlanOptions::new(layouts).without(pass)));
        for options in options {
            let plan = graph.plan(&options).unwrap();
            let got = plan.run(&[&x]).unwrap();
            for (got, want) in got.iter().zip(&want) {
                assert!(relative_error(got, want) < 2e-6, "{options:?}\n{plan}");
            }
        }
    }
}

/// What follows a product with a constant matrix is in its weights, whichever axis it names, if it means the last.
#[test]
fn products_take_up_what_follows_along_the_last_axis_alone() {
    let mut n = Net { graph: Graph::new(), seed: 40 };
    let x = n.graph.input("tokens", &[1.into(), 6.into(), 5.into()]).unwrap();
    let weights = n.constant(&[5, 6]);
    let y = n.op("matmul", &[("a", x), ("b", weights)], &[]);
    let (bias, scale) = (n.constant(&[6]), n.positive(&[1, 1, 6]));
    let y = n.op("add", &[("a", bias), ("b", y)], &[]);
    let y = n.op("mul", &[("a", y), ("b", scale)], &[]);
    n.graph.output("last", y).unwrap();
    // As many rows as columns: these numbers are for the rows.
    let rows = n.constant(&[6, 1]);
    let weights = n.constant(&[5, 6]);
    let z = n.op("matmul", &[("a", x), ("b", weights)], &[]);
    let z = n.op("add", &[("a", z), ("b", rows)], &[]);
    n.graph.output("rows", z).unwrap();
    let x = random(&[1, 6, 5], 3);
    let bare = Pass::ALL.into_iter().fold(PlanOptions::new(Layouts::Nchw), PlanOptions::without);
    let want = n.graph.plan(&bare).unwrap().run(&[&x]).unwrap();
    let plan = n.graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    for (got, want) in plan.run(&[&x]).unwrap().iter().zip(&want) {
        assert!(relative_error(got, want) < 2e-6, "{plan}");
    }
    let text = plan.to_string();
    assert_eq!(text.matches(": linear (").count(), 2, "{plan}");
    assert!(!text.contains(": mul (") && text.matches(": add").count() == 1, "{plan}");
}

#[test]
fn every_pass_finds_its_pattern_and_fused_nodes_are_gone() {
    let plan = network().plan(&PlanOptions::new(Layouts::Blocked)).unwrap();
    let changes: Vec<(&str, usize)> = plan.passes().iter().map(|r| (r.pass.name(), r.changes)).collect();
    // This network joins nothing.
    for (name, changes) in changes.iter().filter(|(name, _)| *name != "nest_concatenations") {
        assert!(*changes > 0, "{name} found nothing");
    }
    let text = plan.to_string();
    for op in [
        "batch_norm",
        "erf",
        "clamp",
        "pad",
        "sigmoid",
        "relu",
        "prelu",
        "hardsigmoid",
        "mul_channel",
        "transpose",
        "narrow",
        "expand",
    ] {
        assert!(!text.contains(&format!(": {op} (")), "{op} is still there\n{text}");
    }
}

/// Folded into the weights, such a scale would make sums of infinite products of both signs.
#[test]
fn scales_that_weights_cannot_hold_are_not_folded() {
    for scale in [1e300, 1e39, f64::from(f32::MAX), -1e40] {
        let mut net = Net { graph: Graph::new(), seed: 1 };
        let x = net.graph.input("x", &[1.into(), 4.into(), 5.into(), 5.into()]).unwrap();
        let y = net.conv("conv2d", x, &[8, 4, 1, 1], &[]);
        let y = net.op("mul_scalar", &[("x", y)], &[("other", scale.into())]);
        net.graph.output("y", y).unwrap();
        let x = random(&[1, 4, 5, 5], 9);
        for layouts in Layouts::FIXED {
            let run = |options: PlanOptions| {
                let y = net.graph.plan(&options).unwrap().run(&[&x]).unwrap().remove(0);
                y.to_vec::<f32>().unwrap()
            };
            let got = run(PlanOptions::new(layouts));
            let apart =
                Pass::ALL.into_iter().fold(PlanOptions::new(layouts), |options, pass| options.without(pass));
            let want = run(apart);
            assert!(!want.iter().any(|v| v.is_nan()) && want.iter().any(|v| v.is_infinite()));
            let same = |(a, b): (&f32, &f32)| a == b || (a - b).abs() <= 1e-5 * b.abs();
            assert!(got.iter().zip(&want).all(same), "{scale} {layouts:?}");
        }
    }
}

/// Folded into the weights, such a scale would make subnormal numbers or zeros of them; as a factor of a post-op it is infinite.
#[test]
fn scales_that_weights_vanish_in_are_not_folded() {
    for (op, before, after) in
        [("div_scalar", 1e37, 1e37), ("mul_scalar", 1e37, 1e-37), ("div_scalar", 1.0, 2e-39)]
    {
        for small in [1f32, 1e-8] {
            let mut net = Net { graph: Graph::new(), seed: 1 };
            let x = net.graph.input("x", &[1.into(), 4.into(), 5.into(), 5.into()]).unwrap();
            let x = net.op("mul_scalar", &[("x", x)], &[("other", (before * f64::from(small)).into())]);
            let y = net.conv("conv2d", x, &[8, 4, 1, 1], &[]);
            let y = net.op("relu", &[("x", y)], &[]);
            let y = net.op(op, &[("x", y)], &[("other", after.into())]);
            net.graph.output("y", y).unwrap();
            let x = random(&[1, 4, 5, 5], 9);
            for layouts in Layouts::FIXED {
                let run = |options: PlanOptions| {
                    let y = net.graph.plan(&options).unwrap().run(&[&x]).unwrap().remove(0);
                    y.to_vec::<f32>().unwrap()
                };
                let got = run(PlanOptions::new(layouts));
                let apart = Pass::ALL
                    .into_iter()
                    .fold(PlanOptions::new(layouts), |options, pass| options.without(pass));
                let want = run(apart);
                assert!(!want.iter().any(|v| v.is_nan()) && want.iter().any(|v| *v != 0.0));
                let same = |(a, b): (&f32, &f32)| a == b || (a - b).abs() <= 1e-4 * b.abs().max(1e-6);
                assert!(
                    got.iter().zip(&want).all(same),
                    "{op} {after} {small} {layouts:?}\n{got:?}\n{want:?}"
                );
            }
        }
    }
}
