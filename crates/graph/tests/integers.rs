//! Graphs with `quantize` and `dequantize`: convolutions compute with the integers, and every rounding of the graph stays.

use blocktensor::dispatch::Isa;
use blocktensor::{DType, StridedTensor};
use blocktensor_graph::{
    Constant, Error, Graph, Layouts, Param, Pass, Plan, PlanOptions, Precision, Profiles, ValueId,
};

use crate::support::random;

pub(crate) struct Net {
    pub(crate) graph: Graph,
    names: usize,
}

impl Net {
    pub(crate) fn new() -> Net {
        Net { graph: Graph::new(), names: 0 }
    }

    pub(crate) fn constant(&mut self, constant: Constant) -> ValueId {
        self.names += 1;
        self.graph.constant(&format!("c{}", self.names), constant).unwrap()
    }

    pub(crate) fn floats(&mut self, values: &[f32]) -> ValueId {
        self.constant(Constant::F32(StridedTensor::from_slice(values, &[values.len()]).unwrap()))
    }

    pub(crate) fn zero_point(&mut self, value: i64) -> ValueId {
        self.constant(Constant::Int {
            of: blocktensor_graph::Integer::I32,
            dims: vec![1],
            values: vec![value],
        })
    }

    pub(crate) fn op(&mut self, op: &str, inputs: &[(&str, ValueId)], params: &[(&str, Param)]) -> ValueId {
        self.names += 1;
        self.graph.op(&format!("{op}{}", self.names), op, inputs, params).unwrap()
    }

    pub(crate) fn quantize(&mut self, x: ValueId, scale: f32, zero_point: i64, dtype: &str) -> ValueId {
        let (scale, zero_point) = (self.floats(&[scale]), self.zero_point(zero_point));
        let inputs = [("x", x), ("scale", scale), ("zero_point", zero_point)];
        self.op("quantize", &inputs, &[("dtype", dtype.into())])
    }

    /// Quantised, and dequantised again.
    pub(crate) fn rounded(&mut self, x: ValueId, scale: f32, zero_point: i64, dtype: &str) -> ValueId {
        let x = self.quantize(x, scale, zero_point, dtype);
        self.dequantize(x, scale, zero_point)
    }

    pub(crate) fn dequantize(&mut self, x: ValueId, scale: f32, zero_point: i64) -> ValueId {
        let (scale, zero_point) = (self.floats(&[scale]), self.zero_point(zero_point));
        self.op("dequantize", &[("x", x), ("scale", scale), ("zero_point", zero_point)], &[])
    }

    /// Weights of s8 with a scale for each index of an axis, as numbers.
    pub(crate) fn weights(&mut self, dims: &[usize], axis: usize) -> ValueId {
        let weights: Vec<i8> = random(dims, self.names as u64)
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .map(|v| (v * 127.0) as i8)
            .collect();
        let scales: Vec<f32> = (0..dims[axis]).map(|o| 0.002 + 0.0001 * o as f32).collect();
        self.weights_of(&weights, dims, axis, &scales)
    }

    pub(crate) fn weights_of(
        &mut self,
        weights: &[i8],
        dims: &[usize],
        axis: usize,
        scales: &[f32],
    ) -> ValueId {
        let weights = self.constant(Constant::SignedByte(StridedTensor::from_slice(weights, dims).unwrap()));
        let (scale, zero_point) = (self.floats(scales), self.zero_point(0));
        let inputs = [("x", weights), ("scale", scale), ("zero_point", zero_point)];
        self.op("dequantize", &inputs, &[("axis", (axis as i64).into())])
    }

    /// A convolution whose weights have a scale for each output channel.
    pub(crate) fn conv(&mut self, x: ValueId, dims: &[usize], params: &[(&str, Param)]) -> ValueId {
        let weights = self.weights(dims, 0);
        self.op("conv2d", &[("x", x), ("weights", weights)], params)
    }
}

/// A residual block between integers: a stem, a max pool, two convolutions, a sum, a depthwise convolution.
fn network() -> Graph {
    let mut n = Net::new();
    let image = n.graph.input("image", &[1.into(), 3.into(), 20.into(), 24.into()]).unwrap();
    let x = n.rounded(image, 0.01, 120, "u8");
    let padded = |padding: i64| -> (&str, Param) { ("padding", vec![padding, padding].into()) };
    let x = n.conv(x, &[24, 3, 3, 3], &[padded(1)]);
    let x = n.op("relu", &[("x", x)], &[]);
    let x = n.rounded(x, 0.02, 0, "u8");
    let pooled = n.op("max_pool2d", &[("x", x)], &[("kernel", vec![2i64, 2].into())]);
    let pooled = n.rounded(pooled, 0.02, 0, "u8");
    let y = n.conv(pooled, &[24, 24, 3, 3], &[padded(1)]);
    let y = n.rounded(y, 0.05, 3, "s8");
    let sum = n.op("add", &[("a", pooled), ("b", y)], &[]);
    let sum = n.op("relu", &[("x", sum)], &[]);
    let sum = n.rounded(sum, 0.04, 0, "u8");
    let z = n.conv(sum, &[24, 1, 3, 3], &[padded(1), ("groups", 24i64.into())]);
    let z = n.op("silu", &[("x", z)], &[]);
    let z = n.rounded(z, 0.03, 90, "u8");
    n.graph.output("z", z).unwrap();
    n.graph
}

/// The plan of a graph without any pass.
pub(crate) fn as_written(graph: &Graph) -> Plan {
    let bare = Pass::ALL.into_iter().fold(PlanOptions::new(Layouts::Nchw), PlanOptions::without);
    graph.plan(&bare).unwrap()
}

fn numbers(plan: &Plan, x: &StridedTensor) -> Vec<f32> {
    plan.run(&[x]).unwrap()[0].to_vec::<f32>().unwrap()
}

#[test]
fn convolutions_compute_with_integers_and_keep_each_rounding() {
    let graph = network();
    let x = random(&[1, 3, 20, 24], 5);
    let plain = PlanOptions::new(Layouts::Nchw).without(Pass::UseIntegers);
    let want = numbers(&graph.plan(&plain).unwrap(), &x);
    assert!(want.iter().any(|v| *v != want[0]));
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts).keep_constants()).unwrap();
        let text = plan.to_string();
        let convolutions = plan.steps().filter(|s| s.implementation == Some("blocktensor:int8")).count();
        if !Isa::has_byte_products() {
            // Such machines compute in f32 between the roundings.
            assert_eq!(convolutions, 0, "{layouts:?}: {text}");
            continue;
        }
        assert_eq!(convolutions, 3, "{layouts:?}: {text}");
        // The first one and the last one are all that is left; the sum and its roundings are the convolution's.
        for (op, count) in [("quantize", 1), ("dequantize", 0), ("add", 0), ("max_pool2d", 1)] {
            assert_eq!(plan.steps().filter(|s| s.op == op).count(), count, "{op}, {layouts:?}: {text}");
        }
        let got = numbers(&plan, &x);
        // Sums of products of f32 round elsewhere: a number near a tie may become the next one.
        let step = 0.03f32;
        let apart = got.iter().zip(&want).filter(|(g, w)| (*g - *w).abs() > step / 2.0).count();
        assert!(apart * 20 < want.len(), "{layouts:?}: {apart} of {}", want.len());
        assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 2.5 * step), "{layouts:?}");
        // Each step against its definition in f64.
        let errors = plan.errors(&[&x]).unwrap();
        assert!(errors.steps.iter().all(|step| step.relative_l2.is_some_and(|e| e < 2e-3)), "{errors:?}");
    }
}

/// More products than 32 bits hold the sum of are added in f32.
#[test]
fn no_sum_of_integers_wraps_around() {
    for (channels, value) in [(7000, 127i8), (7300, 127), (7300, -128)] {
        let mut n = Net::new();
        let image = n.graph.input("image", &[1.into(), channels.into(), 3.into(), 3.into()]).unwrap();
        let x = n.rounded(image, 1.0, 0, "u8");
        let weights = vec![value; channels * 9];
        let weights = n.weights_of(&weights, &[1, channels, 3, 3], 0, &[1.0]);
        let y = n.op("conv2d", &[("x", x), ("weights", weights)], &[]);
        n.graph.output("y", y).unwrap();
        let x =
            StridedTensor::full(&[1, channels, 3, 3], 300f32, blocktensor::MemoryFormat::Contiguous).unwrap();
        let exact = (channels * 9) as f32 * 255.0 * f32::from(value);
        for layouts in Layouts::FIXED {
            let got = numbers(&n.graph.plan(&PlanOptions::new(layouts)).unwrap(), &x)[0];
            assert!((got / exact - 1.0).abs() < 1e-4, "{channels} {layouts:?}: {got}, not {exact}");
        }
    }
}

/// What a node computes or refuses for a scale that is not positive does not depend on the nodes beside it.
#[test]
fn scales_that_are_not_positive_stay_with_their_nodes() {
    let net = |of_result: f32, of_weights: [f32; 2]| {
        let mut n = Net::new();
        let image = n.graph.input("image", &[1.into(), 1.into(), 2.into(), 2.into()]).unwrap();
        let x = n.rounded(image, 0.5, 3, "u8");
        let weights = n.weights_of(&[4, -6], &[2, 1, 1, 1], 0, &of_weights);
        let y = n.op("conv2d", &[("x", x), ("weights", weights)], &[]);
        let y = n.op("relu", &[("x", y)], &[]);
        let y = n.quantize(y, of_result, 0, "s8");
        n.graph.output("y", y).unwrap();
        n.graph
    };
    let x = StridedTensor::from_slice(&[-1f32, 0.5, 1.0, 2.0], &[1, 1, 2, 2]).unwrap();
    for layouts in Layouts::FIXED {
        let run = |graph: Graph| graph.plan(&PlanOptions::new(layouts)).and_then(|plan| plan.run(&[&x]));
        for scale in [-0.5, 0.0, f32::NAN] {
            let e = run(net(scale, [1.0, 1.0])).unwrap_err().to_string();
            assert!(e.contains("a scale is positive and finite"), "{layouts:?}: {e}");
        }
        let e = run(net(0.5, [1.0, f32::INFINITY])).unwrap_err().to_string();
        assert!(e.contains("a scale is finite"), "{layouts:?}: {e}");
        let got = run(net(0.5, [0.0, -0.25])).unwrap();
        assert_eq!(got[0].to_vec::<i8>().unwrap(), [0, 0, 0, 0, 0, 2, 3, 6], "{layouts:?}");
    }
}

/// A convolution that has post-ops already computes as it did, and so does a max pool whose windows may be empty.
#[test]
fn what_is_not_the_definition_alone_stays_as_it_is() {
    let mut n = Net::new();
    let image = n.graph.input("image", &[1.into(), 3.into(), 6.into(), 5.into()]).unwrap();
    let x = n.rounded(image, 0.01, 120, "u8");
    let y = n.conv(x, &[8, 3, 1, 1], &[("post_ops", "relu".into())]);
    let y = n.rounded(y, 0.002, 128, "u8");
    n.graph.output("y", y).unwrap();
    // The last window of 2 along W reads padding alone: taps at columns -1 and 5 + 1.
    let params: [(&str, Param); 3] = [
        ("kernel", vec![1i64, 2].into()),
        ("padding", vec![0i64, 1].into()),
        ("dilation", vec![1i64, 6].into()),
    ];
    let pooled = n.op("max_pool2d", &[("x", x)], &params);
    n.graph.output("pooled", pooled).unwrap();
    let x = random(&[1, 3, 6, 5], 6);
    let want = as_written(&n.graph).run(&[&x]).unwrap();
    assert!(want[1].to_vec::<f32>().unwrap().contains(&f32::NEG_INFINITY));
    for layouts in Layouts::FIXED {
        let got = n.graph.plan(&PlanOptions::new(layouts)).unwrap().run(&[&x]).unwrap();
        let (y, exact) = (got[0].to_vec::<f32>().unwrap(), want[0].to_vec::<f32>().unwrap());
        assert!(y.iter().all(|v| *v >= 0.0) && y.iter().any(|v| *v > 0.0));
        assert!(y.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 0.003), "{layouts:?}");
        assert_eq!(got[1].to_vec::<f32>().unwrap(), want[1].to_vec::<f32>().unwrap(), "{layouts:?}");
    }
}

/// A linear layer with a bias and a function, and a product with a matrix, of rows that have any number of leading axes.
#[test]
fn layers_and_products_compute_with_integers() {
    for leading in [&[1usize][..], &[5], &[2, 3], &[0]] {
        let mut n = Net::new();
        let dims: Vec<usize> = [leading, &[36]].concat();
        let sizes: Vec<_> = dims.iter().map(|d| (*d).into()).collect();
        let rows = n.graph.input("rows", &sizes).unwrap();
        let x = n.rounded(rows, 0.01, 120, "u8");
        let weights = n.weights(&[21, 36], 0);
        // Not all of it whole in units of the sums.
        let bias: Vec<f32> = (0..21).map(|o| 0.01 * o as f32 - 0.1).collect();
        let bias = n.floats(&bias);
        let y = n.op("linear", &[("x", x), ("weights", weights), ("bias", bias)], &[]);
        let y = n.op("relu", &[("x", y)], &[]);
        let y = n.rounded(y, 0.004, 0, "u8");
        let matrix = n.weights(&[21, 17], 1);
        let z = n.op("matmul", &[("a", y), ("b", matrix)], &[]);
        let z = n.rounded(z, 0.002, -3, "s8");
        n.graph.output("z", z).unwrap();
        let x = random(&dims, 7);
        let want = numbers(&as_written(&n.graph), &x);
        assert!(dims[0] == 0 || want.iter().any(|v| *v != want[0]));
        for layouts in Layouts::FIXED {
            let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
            let count = |op: &str| plan.steps().filter(|step| step.op == op).count();
            let expected = if Isa::has_byte_products() {
                [("linear", 0), ("matmul", 0), ("conv2d", 2), ("quantize", 1)]
            } else {
                [("linear", 2), ("matmul", 0), ("conv2d", 0), ("quantize", 3)]
            };
            expected
                .iter()
                .for_each(|&(op, number)| assert_eq!(count(op), number, "{op}, {layouts:?}: {plan}"));
            let got = numbers(&plan, &x);
            let apart = got.iter().zip(&want).filter(|(g, w)| (*g - *w).abs() > 0.001).count();
            assert!(apart * 20 <= want.len(), "{leading:?}, {layouts:?}: {apart} of {}", want.len());
            assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 0.005), "{leading:?}, {layouts:?}");
        }
    }
}

/// A sum of two convolutions, each of which the graph rounds: the one that runs first leaves integers.
#[test]
fn both_sides_of_a_sum_stay_integers() {
    let mut n = Net::new();
    let image = n.graph.input("image", &[2.into(), 8.into(), 9.into(), 7.into()]).unwrap();
    let x = n.rounded(image, 0.01, 120, "u8");
    let a = n.conv(x, &[20, 8, 1, 1], &[]);
    let a = n.rounded(a, 0.004, 130, "u8");
    let b = n.conv(x, &[20, 8, 1, 1], &[]);
    let b = n.rounded(b, 0.005, -4, "s8");
    let sum = n.op("add", &[("a", a), ("b", b)], &[]);
    let sum = n.op("relu", &[("x", sum)], &[]);
    let sum = n.rounded(sum, 0.006, 0, "u8");
    n.graph.output("sum", sum).unwrap();
    let x = random(&[2, 8, 9, 7], 9);
    let want = numbers(&as_written(&n.graph), &x);
    for layouts in Layouts::FIXED {
        let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
        let text = plan.to_string();
        if Isa::has_byte_products() {
            assert!(text.contains("residual(s8,") || text.contains("residual(u8,"), "{text}");
            assert!(!text.contains("residual,"), "{text}");
        }
        let got = numbers(&plan, &x);
        let apart = got.iter().zip(&want).filter(|(g, w)| (*g - *w).abs() > 0.003).count();
        assert!(apart * 20 < want.len(), "{layouts:?}: {apart} of {}", want.len());
        assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 0.013), "{layouts:?}");
    }
}

/// `x * sigmoid(x)` with a rounding in between, as quantisers write it, and a function of that: tables of the first integers. A small
/// tensor keeps its functions.
#[test]
fn functions_of_integers_become_tables() {
    for (height, tables) in [(40, 2), (4, 0)] {
        let mut n = Net::new();
        let image = n.graph.input("image", &[1.into(), 5.into(), height.into(), 16.into()]).unwrap();
        let x = n.rounded(image, 0.05, 131, "u8");
        let gate = n.op("sigmoid", &[("x", x)], &[]);
        let gate = n.rounded(gate, 1.0 / 255.0, 0, "u8");
        let y = n.op("mul", &[("a", x), ("b", gate)], &[]);
        let y = n.rounded(y, 0.03, -100, "s8");
        n.graph.output("y", y).unwrap();
        let z = n.op("tanh", &[("x", y)], &[]);
        let z = n.op("mul_scalar", &[("x", z)], &[("other", 0.7.into())]);
        let z = n.rounded(z, 0.01, 128, "u8");
        n.graph.output("z", z).unwrap();
        let x = StridedTensor::from_slice(
            &(0..5 * height * 16).map(|i| i as f32 * 0.011 - 7.0).collect::<Vec<_>>(),
            &[1, 5, height, 16],
        )
        .unwrap();
        let want = as_written(&n.graph).run(&[&x]).unwrap();
        for layouts in Layouts::FIXED {
            let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
            let count = |op: &str| plan.steps().filter(|step| step.op == op).count();
            let tables = if Isa::has_byte_products() { tables } else { 0 };
            assert_eq!(count("lookup"), tables, "{layouts:?}: {plan}");
            assert_eq!(count("tanh"), usize::from(tables == 0), "{layouts:?}: {plan}");
            for (got, want) in plan.run(&[&x]).unwrap().iter().zip(&want) {
                assert_eq!(got.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap(), "{layouts:?}");
            }
        }
    }
}

/// Sums and products that no convolution takes are one step over the integers, with the bits that the graph's own steps have.
#[test]
fn sums_and_products_between_integers_are_one_step() {
    let mut n = Net::new();
    let sizes = |dims: [usize; 4]| dims.map(|d| d.into());
    let image = n.graph.input("image", &sizes([2, 19, 6, 5])).unwrap();
    let gates = n.graph.input("gates", &sizes([2, 19, 1, 1])).unwrap();
    let x = n.rounded(image, 0.01, 120, "u8");
    let whole = n.rounded(gates, 0.004, 128, "u8");
    let signed = n.rounded(gates, 0.008, 3, "s8");
    // Of one dtype, of two, with numbers that were never integers; and the gate first.
    let by_whole = n.op("mul", &[("a", x), ("b", whole)], &[]);
    let by_whole = n.rounded(by_whole, 0.005, 100, "u8");
    let by_signed = n.op("mul", &[("a", signed), ("b", x)], &[]);
    let by_signed = n.rounded(by_signed, 0.006, -7, "s8");
    let more = n.op("add", &[("a", gates), ("b", by_whole)], &[]);
    let more = n.rounded(more, 0.009, 130, "u8");
    let both = n.op("add", &[("a", x), ("b", more)], &[]);
    let both = n.rounded(both, 0.02, 128, "u8");
    // Its sum is an output too, so that it stays.
    let kept = n.op("add", &[("a", both), ("b", x)], &[]);
    let rounded = n.rounded(kept, 0.03, 128, "u8");
    for (name, id) in [("signed", by_signed), ("both", both), ("kept", kept), ("rounded", rounded)] {
        n.graph.output(name, id).unwrap();
    }
    let (x, gates) = (random(&[2, 19, 6, 5], 8), random(&[2, 19, 1, 1], 9));
    let bits = |plan: &Plan| -> Vec<Vec<f32>> {
        plan.run(&[&x, &gates]).unwrap().iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
    };
    let want = bits(&as_written(&n.graph));
    assert!(want.iter().all(|list| list.iter().any(|v| *v != list[0])));
    for layouts in Layouts::FIXED {
        let plan = n.graph.plan(&PlanOptions::new(layouts).keep_constants()).unwrap();
        for (op, count) in [("quantized_mul", 2), ("quantized_add", 2), ("mul", 0), ("add", 1)] {
            assert_eq!(plan.steps().filter(|step| step.op == op).count(), count, "{op}, {layouts:?}: {plan}");
        }
        assert_eq!(bits(&plan), want, "{layouts:?}");
        let errors = plan.errors(&[&x, &gates]).unwrap();
        assert!(errors.steps.iter().all(|step| step.relative_l2.is_some_and(|e| e < 2e-3)), "{errors:?}");
        let without = PlanOptions::new(layouts).without(Pass::UseIntegers);
        let without = n.graph.plan(&without).unwrap();
        assert!(without.steps().all(|step| !step.op.starts_with("quantized")), "{without}");
    }
}

/// Operands with the scale of the result are joined as they are; of others the integers change.
#[test]
fn concatenations_between_integers_join_integers() {
    let mut n = Net::new();
    let image = n.graph.input("image", &[1, 19, 12, 10].map(|d| d.into())).unwrap();
    let x = n.rounded(image, 0.01, 120, "u8");
    let left = n.conv(x, &[17, 19, 1, 1], &[]);
    let left = n.rounded(left, 0.02, 100, "u8");
    let right = n.conv(x, &[33, 19, 1, 1], &[]);
    let right = n.rounded(right, 0.03, 90, "u8");
    let axis: [(&str, Param); 1] = [("axis", 1.into())];
    let list = |list: &[ValueId]| list.iter().map(|id| ("tensors", *id)).collect::<Vec<_>>();
    // Two other scales, and one that stays.
    let all = n.op("cat", &list(&[left, x, right]), &axis);
    let all = n.rounded(all, 0.02, 100, "u8");
    // One scale: without a rounding after it.
    let twice = n.op("cat", &list(&[all, all]), &axis);
    // Of signed integers, and read by two.
    let both = n.op("cat", &list(&[right, left]), &axis);
    let signed = n.rounded(both, 0.04, -3, "s8");
    for (name, id) in [("all", all), ("twice", twice), ("both", both), ("signed", signed)] {
        n.graph.output(name, id).unwrap();
    }
    let x = random(&[1, 19, 12, 10], 8);
    let bits = |plan: &Plan| -> Vec<Vec<f32>> {
        plan.run(&[&x]).unwrap().iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
    };
    for layouts in Layouts::FIXED {
        let options = PlanOptions::new(layouts);
        let plan = n.graph.plan(&options).unwrap();
        let of_bytes =
            |dtype| plan.steps().filter(|s| s.op == "cat" && s.outputs[0].desc.dtype() == dtype).count();
        assert_eq!((of_bytes(DType::U8), of_bytes(DType::F32)), (2, 1), "{layouts:?}: {plan}");
        // The sums of a convolution of integers are exact, those of f32 are not: what follows them is compared alone.
        let kept = n.graph.plan(&options.without(Pass::FusePostOps)).unwrap();
        assert_eq!(bits(&plan), bits(&kept), "{layouts:?}: {plan}");
    }
}

#[test]
fn strict_refuses_what_computes_in_f32_between_integers() {
    let mut n = Net::new();
    let x = n.graph.input("x", &[1.into(), 4.into(), 6.into(), 6.into()]).unwrap();
    let x = n.rounded(x, 0.02, 3, "u8");
    let conv = n.conv(x, &[8, 4, 3, 3], &[]);
    let y = n.rounded(conv, 0.03, 0, "s8");
    let kernel: [(&str, Param); 1] = [("kernel", vec![2i64].into())];
    let largest = n.op("max_pool2d", &[("x", y)], &kernel);
    let mean = n.op("avg_pool2d", &[("x", y)], &kernel);
    let mean = n.rounded(mean, 0.03, 0, "s8");
    let mean = n.op("cumsum", &[("x", mean)], &[("axis", 1.into())]);
    let mean = n.rounded(mean, 0.03, 0, "s8");
    let sum = n.op("add", &[("a", largest), ("b", mean)], &[]);
    let sum = n.rounded(sum, 0.05, 0, "s8");
    let softmax = n.op("softmax", &[("x", sum)], &[("axis", 1.into())]);
    // The file leaves this one in f32: nothing quantises its result.
    n.graph.output("softmax", softmax).unwrap();
    let rounded = n.rounded(softmax, 0.004, 0, "u8");
    n.graph.output("y", rounded).unwrap();
    let options = PlanOptions::new(Layouts::Nchw);
    let named = |options: &PlanOptions| match n.graph.plan(options) {
        Err(Error::InFloat { nodes, .. }) => nodes.iter().map(|node| node.op.clone()).collect::<Vec<_>>(),
        other => panic!("it is refused, not {other:?}"),
    };
    n.graph.plan(&options).unwrap();
    let strict = options.clone().strict();
    match Isa::has_byte_products() {
        true => assert_eq!(named(&strict), ["cumsum"]),
        false => assert_eq!(named(&strict), ["conv2d", "cumsum"]),
    }
    let text = n.graph.plan(&strict).unwrap_err().to_string();
    assert!(text.contains("leave `strict` out") && text.contains("cumsum"), "{text}");
    assert_eq!(
        named(&strict.without(Pass::UseIntegers)),
        ["conv2d", "max_pool2d", "avg_pool2d", "cumsum", "add"]
    );
}

/// A result that is an output is a number, and what reads it computes with numbers.
#[test]
fn strict_tells_of_operands_that_are_outputs() {
    let net = |is_output: bool, op: &str, params: &[(&str, Param)]| {
        let mut n = Net::new();
        let x = n.graph.input("x", &[1.into(), 4.into(), 6.into(), 6.into()]).unwrap();
        let x = n.rounded(x, 0.02, 3, "u8");
        let conv = n.conv(x, &[8, 4, 3, 3], &[]);
        if is_output {
            n.graph.output("conv", conv).unwrap();
        }
        let y = n.op(op, &[("x", conv)], params);
        let y = n.rounded(y, 0.03, 0, "s8");
        n.graph.output("y", y).unwrap();
        n.graph.plan(&PlanOptions::new(Layouts::Nchw).strict()).map(drop)
    };
    if !Isa::has_byte_products() {
        return;
    }
    net(false, "relu", &[]).unwrap();
    let text = |op, params: &[(&str, Param)]| net(true, op, params).unwrap_err().to_string();
    let relu = text("relu", &[]);
    assert!(relu.contains(": its operand is also an output of the model, and so a number of f32"), "{relu}");
    // No kernel computes this one, whatever its operand is.
    let softmax = text("softmax", &[("axis", 1.into())]);
    assert!(softmax.contains(": no kernel computes it on integers"), "{softmax}");
}

/// The conversions behind a convolution are its post-ops in the end; few elements have a table if they must.
#[test]
fn strict_sees_what_follows_a_convolution() {
    let net = |ops: &[(&str, &[(&str, Param)])]| {
        let mut n = Net::new();
        let x = n.graph.input("x", &[1.into(), 4.into(), 6.into(), 6.into()]).unwrap();
        let x = n.rounded(x, 0.02, 3, "u8");
        let conv = n.conv(x, &[8, 4, 3, 3], &[]);
        let y = n.rounded(conv, 0.03, 0, "s8");
        let y = ops.iter().fold(y, |y, (op, params)| n.op(op, &[("x", y)], params));
        let y = n.rounded(y, 0.01, 0, "u8");
        n.graph.output("y", y).unwrap();
        n.graph
    };
    let strict = PlanOptions::new(Layouts::Nchw).strict();
    let last = |graph: &Graph| match graph.plan(&strict) {
        Err(Error::InFloat { nodes, .. }) => nodes.last().unwrap().op.clone(),
        other => panic!("it is refused, not {other:?}"),
    };
    for op in ["sigmoid", "relu"] {
        assert_eq!(net(&[(op, &[])]).plan(&strict).is_ok(), Isa::has_byte_products(), "{op}");
    }
    let axis: &[(&str, Param)] = &[("axis", 1.into())];
    let kernel: &[(&str, Param)] = &[("kernel", vec![2i64].into())];
    assert_eq!(last(&net(&[("softmax", axis)])), "softmax");
    assert_eq!(last(&net(&[("relu", &[]), ("avg_pool2d", kernel)])), "avg_pool2d");
    let text =
        net(&[("relu", &[])]).plan(&strict.clone().without(Pass::UseIntegers)).unwrap_err().to_string();
    assert!(text.contains("the pass `use_integers` is switched off"), "{text}");
    // Without roundings in between, what follows the convolution computes in f32.
    let behind = |op: &str, params: &[(&str, Param)]| {
        let mut n = Net::new();
        let x = n.graph.input("x", &[1.into(), 4.into(), 6.into(), 6.into()]).unwrap();
        let x = n.rounded(x, 0.02, 3, "u8");
        let conv = n.conv(x, &[8, 4, 3, 3], &[]);
        let y = n.op(op, &[("x", conv)], params);
        let y = n.rounded(y, 0.01, 0, "u8");
        n.graph.output("y", y).unwrap();
        n.graph
    };
    assert_eq!(last(&behind("softmax", axis)), "softmax");
    assert_eq!(last(&behind("avg_pool2d", kernel)), "avg_pool2d");
    assert_eq!(behind("relu", &[]).plan(&strict).is_ok(), Isa::has_byte_products());
    // A view computes nothing.
    let order: &[(&str, Param)] = &[("axes", vec![0i64, 2, 3, 1].into())];
    assert_eq!(net(&[("permute", order)]).plan(&strict).is_ok(), Isa::has_byte_products());
}

#[test]
fn options_have_names() {
    let debug = |options: PlanOptions| format!("{options:?}");
    let parsed = |list: &str| list.parse::<PlanOptions>().map(debug).map_err(|e| e.to_string());
    let all = PlanOptions::new(Layouts::Measured).exact().strict().weight_growth(2.0).at_most_reorders(3);
    let all = debug(all.profiles(Profiles::Estimated).precision(Precision::Bf16));
    let list = "measured,exact, strict=1,weight_growth = 2,reorders=3,profiles=estimated,precision=bf16";
    assert_eq!(parsed(list), Ok(all));
    assert_eq!(parsed("blocked"), Ok(debug(PlanOptions::new(Layouts::Blocked))));
    for list in ["measured", "exact=0"] {
        assert_eq!(parsed(list), Ok(debug(PlanOptions::default())));
    }
    for (list, told) in [
        ("", "got ``; the layouts are nchw, nhwc, blocked, measured, the options layouts, exact"),
        ("exact,", "got ``; the layouts are"),
        ("NCHW", "got `NCHW`; the layouts are"),
        ("precision", "option `precision`: got ``; it is f32 or bf16; write `precision=`"),
        ("exact,exact=0", "option `exact`: got `0`; it was set before"),
        ("nchw,nhwc", "option `layouts`: got `nhwc`; it was set before"),
        (
            "blocked,weight_growth=2",
            "option `weight_growth`: got `weight_growth`; it is for measured layouts, and these are blocked",
        ),
        ("profiles=measured, nchw", "it is for measured layouts"),
        ("strict=yes", "option `strict`: got `yes`; it is 0 or 1"),
        ("weight_growth=0.5", "a number of 1 or more"),
        ("reorders=-1", "a whole number"),
        ("layout=nchw", "got `layout`; the options are layouts, exact, precision"),
    ] {
        assert!(parsed(list).is_err_and(|text| text.contains(told)), "{list}: {:?}", parsed(list));
    }
}

/// The model quantises these, and it is their weights that keep them from integers.
#[test]
fn strict_tells_what_is_wrong_with_weights() {
    let net = |layer: &dyn Fn(&mut Net, ValueId) -> ValueId, dims: &[usize]| {
        let mut n = Net { graph: Graph::new(), names: 0 };
        let x = n.graph.input("x", &dims.iter().map(|d| (*d).into()).collect::<Vec<_>>()).unwrap();
        let x = n.rounded(x, 0.02, 3, "u8");
        let y = layer(&mut n, x);
        let y = n.rounded(y, 0.03, 0, "s8");
        n.graph.output("y", y).unwrap();
        match n.graph.plan(&PlanOptions::new(Layouts::Nchw).strict()) {
            Err(Error::InFloat { nodes, .. }) => {
                nodes.into_iter().map(|node| (node.op, node.reason)).collect()
            }
            other => other.map(|_| Vec::new()).unwrap(),
        }
    };
    let unsymmetric = |n: &mut Net, x| {
        let values = StridedTensor::from_slice(&[-128i8; 8 * 4 * 9], &[8, 4, 3, 3]).unwrap();
        let weights = n.constant(Constant::SignedByte(values));
        let weights = n.dequantize(weights, 0.01, 100);
        n.op("conv2d", &[("x", x), ("weights", weights)], &[])
    };
    // As `alpha` of a Gemm.
    let scaled = |n: &mut Net, x| {
        let weights = n.weights(&[8, 4], 0);
        let weights = n.op("mul_scalar", &[("x", weights)], &[("other", 0.5.into())]);
        n.op("linear", &[("x", x), ("weights", weights)], &[])
    };
    let plain = |n: &mut Net, x| n.conv(x, &[8, 4, 3, 3], &[]);
    let dims = [1usize, 4, 6, 6];
    let told = |nodes: Vec<(String, String)>, op: &str, why: &str| {
        assert!(nodes.iter().any(|node| node.0 == op && node.1.contains(why)), "{nodes:?}");
    };
    if !Isa::has_byte_products() {
        told(net(&plain, &dims), "conv2d", "machines with VNNI");
        return;
    }
    assert_eq!(net(&plain, &dims), []);
    told(net(&unsymmetric, &dims), "conv2d", "its weights minus their zero points do not fit into 8 bits");
    told(net(&scaled, &[2, 4]), "linear", "a factor such as `alpha` changes them");
}
