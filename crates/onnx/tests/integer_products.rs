//! `ConvInteger` and `MatMulInteger`, with ONNX's own examples and against loops over integers.

use blocktensor::StridedTensor;
use blocktensor_graph::{Layouts, PlanOptions};
use rten_onnx::onnx::DataType;

use crate::support::{Model, int, ints, value};

/// ONNX's examples, whose weights and zero points are inputs, or constants.
#[test]
fn products_of_integers_are_those_of_onnx() {
    let numbers = |values: &[i32], dims: &[usize]| StridedTensor::from_slice(values, dims).unwrap();
    let (a, b) = ([11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0], [1, 4, 2, 5, 3, 6]);
    let want = [-38.0, -83.0, -44.0, -98.0, -50.0, -113.0, -56.0, -128.0];
    let model = Model::new()
        .input_of("a", DataType::UINT8, &[4, 3])
        .input_of("b", DataType::UINT8, &[3, 2])
        .input_of("a_zero", DataType::UINT8, &[1])
        .input_of("b_zero", DataType::UINT8, &[1])
        .node("MatMulInteger", &["a", "b", "a_zero", "b_zero"], &["y"])
        .output("y");
    let given = vec![
        ("a", numbers(&a, &[4, 3])),
        ("b", numbers(&b, &[3, 2])),
        ("a_zero", numbers(&[12], &[1])),
        ("b_zero", numbers(&[0], &[1])),
    ];
    assert_eq!(model.run_on(given).unwrap()[0], (vec![4, 2], want.to_vec()));

    let x: Vec<i32> = (2..11).collect();
    for (pads, dims, want) in [
        ([0; 4], vec![1, 1, 2, 2], vec![12.0, 16.0, 24.0, 28.0]),
        (
            [1; 4],
            vec![1, 1, 4, 4],
            vec![1., 3., 5., 3., 5., 12., 16., 9., 11., 24., 28., 15., 7., 15., 17., 9.],
        ),
    ] {
        let model = Model::new()
            .input_of("x", DataType::UINT8, &[1, 1, 3, 3])
            .bytes_of("w", DataType::UINT8, &[1, 1, 2, 2], &[1; 4])
            .bytes_of("zero", DataType::UINT8, &[], &[1])
            .node_with("ConvInteger", &["x", "w", "zero"], &["y"], vec![ints("pads", &pads)])
            .output("y");
        assert_eq!(model.run_on(vec![("x", numbers(&x, &[1, 1, 3, 3]))]).unwrap()[0], (dims, want));
    }
}

/// The sums are INT32: what follows takes them so, and a result is declared so.
#[test]
fn sums_are_integers_of_32_bits() {
    for op in ["ConvInteger", "MatMulInteger"] {
        let dims: &[i64] = if op == "ConvInteger" { &[1, 2, 1, 2] } else { &[1, 2] };
        let (w, y): (&[i64], &[i64]) =
            if op == "ConvInteger" { (&[1, 2, 1, 1], &[1, 1, 1, 2]) } else { (&[2, 1], &[1, 1]) };
        let model = Model::new()
            .input_of("x", DataType::UINT8, dims)
            .bytes_of("w", DataType::INT8, w, &[3, -2])
            .node(op, &["x", "w"], &["sums"])
            .node("Add", &["sums", "sums"], &["twice"])
            .output("twice")
            .output("sums");
        let mut proto = model.proto();
        let graph = proto.graph.as_mut().unwrap();
        graph.output = ["twice", "sums"].map(|name| value(name, DataType::INT32, y)).to_vec();
        let graph = blocktensor_onnx::from_bytes(&proto.write_buf().unwrap()).unwrap();
        let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
        let types: Vec<String> = plan.output_types().iter().map(ToString::to_string).collect();
        assert_eq!(types, ["i32", "i32"], "{op}");
    }
}

/// Random integers of 8 bits: an operand of a product.
pub struct Drawn {
    pub of: DataType,
    pub dims: Vec<usize>,
    pub values: Vec<i64>,
}

impl Drawn {
    pub fn new(rng: &mut u64, signed: bool, dims: &[usize]) -> Drawn {
        let mut next = || {
            *rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*rng >> 56) as i64
        };
        let values = (0..dims.iter().product()).map(|_| if signed { next() - 128 } else { next() }).collect();
        Drawn { of: if signed { DataType::INT8 } else { DataType::UINT8 }, dims: dims.to_vec(), values }
    }

    /// Adds it as an input, whose tensor is returned, or as a constant.
    fn add(
        &self,
        model: Model,
        name: &'static str,
        constant: bool,
    ) -> (Model, Option<(&'static str, StridedTensor)>) {
        let dims: Vec<i64> = self.dims.iter().map(|&d| d as i64).collect();
        if constant {
            let values: Vec<i16> = self.values.iter().map(|&v| v as i16).collect();
            return (model.bytes_of(name, self.of, &dims, &values), None);
        }
        // A run takes inputs of all integers as s32.
        let values: Vec<i32> = self.values.iter().map(|&v| v as i32).collect();
        let tensor = StridedTensor::from_slice(&values, &self.dims);
        (model.input_of(name, self.of, &dims), Some((name, tensor.unwrap())))
    }
}

/// All types, constant operands and such that are inputs, zero points of all kinds, against loops over integers.
#[test]
fn products_of_integers_are_exact() {
    let mut rng = 0x5eed_0160;
    for case in 0..48usize {
        let bit = |i: usize| case >> i & 1 == 1;
        let (m, k, n) = (3 + case % 5, [1, 5, 17, 33][case % 4], [1, 4, 19][case % 3]);
        let a = Drawn::new(&mut rng, bit(0), &[2, m, k]);
        let b = Drawn::new(&mut rng, bit(1), &[k, n]);
        let a_zero = Drawn::new(&mut rng, bit(0), if bit(4) { &[][..] } else { std::slice::from_ref(&m) });
        let b_zero =
            Drawn::new(&mut rng, bit(1), if case % 3 == 0 { &[][..] } else { std::slice::from_ref(&n) });
        let (mut model, mut given) = (Model::new(), Vec::new());
        for (of, name, constant) in
            [(&a, "a", false), (&b, "b", bit(2)), (&a_zero, "a_zero", bit(3)), (&b_zero, "b_zero", bit(5))]
        {
            let added = of.add(model, name, constant);
            model = added.0;
            given.extend(added.1);
        }
        let model = model.node("MatMulInteger", &["a", "b", "a_zero", "b_zero"], &["y"]).output("y");
        let zero = |of: &Drawn, i: usize| of.values[if of.values.len() == 1 { 0 } else { i }];
        let mut want = Vec::new();
        for row in 0..2 * m {
            for column in 0..n {
                let product = |i: usize| {
                    (a.values[row * k + i] - zero(&a_zero, row % m))
                        * (b.values[i * n + column] - zero(&b_zero, column))
                };
                want.push((0..k).map(product).sum::<i64>() as f32);
            }
        }
        assert_eq!(model.run_on(given).unwrap()[0], (vec![2, m, n], want), "case {case}");
    }
}

/// Padding stands for the zero point, also where that is known in a run only.
#[test]
fn convolutions_of_integers_are_exact() {
    let mut rng = 0x5eed_0161;
    for case in 0..32usize {
        let bit = |i: usize| case >> i & 1 == 1;
        let (groups, c, o) = [(1, 3, 5), (2, 4, 6), (5, 5, 5), (1, 17, 2)][case % 4];
        let (h, w, kh, kw) = (5, 4, 3, 2);
        let x = Drawn::new(&mut rng, bit(0), &[2, c, h, w]);
        let weights = Drawn::new(&mut rng, bit(1), &[o, c / groups, kh, kw]);
        let x_zero = Drawn::new(&mut rng, bit(0), &[]);
        let w_zero =
            Drawn::new(&mut rng, bit(1), if case % 3 == 0 { &[][..] } else { std::slice::from_ref(&o) });
        let (mut model, mut given) = (Model::new(), Vec::new());
        for (of, name, constant) in [
            (&x, "x", false),
            (&weights, "w", bit(2)),
            (&x_zero, "x_zero", bit(3)),
            (&w_zero, "w_zero", bit(4)),
        ] {
            let added = of.add(model, name, constant);
            model = added.0;
            given.extend(added.1);
        }
        let attributes =
            vec![int("group", groups as i64), ints("pads", &[1, 0, 1, 1]), ints("strides", &[1, 2])];
        let inputs = ["x", "w", "x_zero", "w_zero"];
        let model = model.node_with("ConvInteger", &inputs, &["y"], attributes).output("y");
        let (oh, ow) = (h + 2 - kh + 1, (w + 1 - kw) / 2 + 1);
        let mut want = Vec::new();
        for i in 0..2 * o * oh * ow {
            let (image, channel, y, z) = (i / (o * oh * ow), i / (oh * ow) % o, i / ow % oh, i % ow);
            let mut sum = 0;
            for j in 0..c / groups * kh * kw {
                let (part, p, q) = (j / (kh * kw), j / kw % kh, j % kw);
                let (Some(row), column) = ((y + p).checked_sub(1), 2 * z + q) else { continue };
                if row < h && column < w {
                    let of = channel / (o / groups) * (c / groups) + part;
                    let value = x.values[((image * c + of) * h + row) * w + column] - x_zero.values[0];
                    let zero = w_zero.values[if w_zero.values.len() == 1 { 0 } else { channel }];
                    sum += value
                        * (weights.values[(channel * (c / groups) + part) * kh * kw + p * kw + q] - zero);
                }
            }
            want.push(sum as f32);
        }
        assert_eq!(model.run_on(given).unwrap()[0], (vec![2, o, oh, ow], want), "case {case}");
    }
}

/// Bytes that nodes make, as the source, the weights and their zero points, in plans of each layout.
#[test]
fn products_of_bytes_that_nodes_make() {
    let model = Model::new()
        .input("x", &[2, 3])
        .input("y", &[3, 2])
        .node("DynamicQuantizeLinear", &["x"], &["a", "a_scale", "a_zero"])
        .node("DynamicQuantizeLinear", &["y"], &["b", "b_scale", "b_zero"])
        .node("MatMulInteger", &["a", "b", "a_zero", "b_zero"], &["sums"])
        .output("sums");
    // Steps of 0.01 from -1 and from 0.
    let x = StridedTensor::from_slice(&[-1f32, 1.55, 0.25, 0.0, -0.5, 1.0], &[2, 3]).unwrap();
    let y = StridedTensor::from_slice(&[2.55f32, 0.0, 0.5, 1.0, 0.01, 2.0], &[3, 2]).unwrap();
    let want = [-25500 + 155 * 50 + 25, 15500 + 25 * 200, -50 * 50 + 100, -50 * 100 + 100 * 200];
    let graph = model.read().unwrap();
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        assert_eq!(plan.run(&[&x, &y]).unwrap()[0].to_vec::<i32>().unwrap(), want, "{layouts:?}");
    }
}

/// What ONNX Runtime's dynamic quantiser makes of a linear layer.
#[test]
fn a_dynamically_quantised_layer() {
    let model = Model::new()
        .input("x", &[2, 3])
        .bytes_of("w", DataType::INT8, &[3, 2], &[100, -7, 3, 120, -128, 55])
        .floats("w_scale", &[], &[0.02])
        .bytes_of("w_zero", DataType::INT8, &[], &[0])
        .node("DynamicQuantizeLinear", &["x"], &["q", "scale", "zero"])
        .node("MatMulInteger", &["q", "w", "zero", "w_zero"], &["sums"])
        .node_with("Cast", &["sums"], &["numbers"], vec![int("to", DataType::FLOAT.0.into())])
        .node("Mul", &["scale", "w_scale"], &["both"])
        .node("Mul", &["numbers", "both"], &["y"])
        .output("y");
    // 255 steps of 0.01 from -1 to 1.55, so that all are whole: the zero point is 100.
    let x = [-1.0, 1.55, 0.25, 0.0, -0.5, 1.0];
    let got = model.run(&[("x", &[2, 3], &x)]);
    let columns = [[100.0, 3.0, -128.0], [-7.0, 120.0, 55.0]];
    for (i, &got) in got[0].1.iter().enumerate() {
        let (x, w) = (&x[i / 2 * 3..][..3], &columns[i % 2]);
        let want: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * w * 0.02).sum();
        assert!((f64::from(got) - want).abs() < 1e-5, "{got}, not {want}");
    }
}

/// An error of the convolution that computes it says what is wrong with the node.
#[test]
fn errors_name_the_node_s_op_and_inputs() {
    let model = Model::new()
        .input_of("x", DataType::UINT8, &[1, 4, 3, 3])
        .bytes_of("w", DataType::INT8, &[2, 5, 1, 1], &[1; 10])
        .node("ConvInteger", &["x", "w"], &["y"])
        .output("y");
    let x = StridedTensor::from_slice(&[1i32; 36], &[1, 4, 3, 3]).unwrap();
    let error = model.run_on(vec![("x", x)]).unwrap_err();
    let text =
        "node `n0` (ConvInteger): op `ConvInteger`: argument `w`: got [2, 5, 1, 1], but x has 4 channels";
    assert!(error.starts_with(text), "{error}");
}

/// The kernels refuse weights whose sums might not fit into 32 bits, so they get parts of the channels.
#[test]
fn long_sums_are_exact_or_an_error_of_the_run() {
    let count = 70_001usize;
    // The weights are these by turns.
    for (x, w, constant) in [
        (255, [127, -128], true),
        (255, [127, -127], false),
        (3, [-128, -128], true),
        (100, [126, 3], false),
        (255, [-128, -128], true),
        (255, [127, 127], false),
    ] {
        for op in ["MatMulInteger", "ConvInteger"] {
            let dims: &[usize] = if op == "MatMulInteger" { &[1, count] } else { &[1, count, 1, 1] };
            let of_w = if op == "MatMulInteger" { [count, 1].to_vec() } else { dims.to_vec() };
            let sizes = |dims: &[usize]| dims.iter().map(|&d| d as i64).collect::<Vec<_>>();
            let weights: Vec<i16> = (0..count).map(|i| w[i % 2]).collect();
            let mut given = vec![StridedTensor::from_slice(&vec![x; count], dims).unwrap()];
            let mut model = Model::new().input_of("x", DataType::UINT8, &sizes(dims));
            model = match constant {
                true => model.bytes_of("w", DataType::INT8, &sizes(&of_w), &weights),
                false => {
                    let wide: Vec<i32> = weights.iter().map(|&w| w.into()).collect();
                    given.push(StridedTensor::from_slice(&wide, &of_w).unwrap());
                    model.input_of("w", DataType::INT8, &sizes(&of_w))
                }
            };
            let graph = model.node(op, &["x", "w"], &["y"]).output("y").read().unwrap();
            let want: i64 = weights.iter().map(|&w| i64::from(w) * i64::from(x)).sum();
            for layouts in [Layouts::Nchw, Layouts::Blocked] {
                let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
                let got = plan.run(&given.iter().collect::<Vec<_>>());
                match (i32::try_from(want), got) {
                    (Ok(want), Ok(y)) => assert_eq!(y[0].to_vec::<i32>().unwrap(), [want], "{op} {w:?}"),
                    (Err(_), Err(e)) => {
                        let text = format!(
                            "node `n0` ({op}): op `{op}`: argument `operands`: got a result of {want}, but the node's output is i32, "
                        );
                        assert!(e.to_string().starts_with(&text), "{e}");
                    }
                    (_, got) => panic!("{op} {w:?}: {want} and {got:?}"),
                }
            }
        }
    }
}

/// Sums of parts may need more than 32 bits where the result does not: with unknown weights, zero points and sources.
#[test]
fn parts_of_long_sums_are_added_up_in_64_bits() {
    // More than three parts. The first half of the products cancels the second.
    let count = 65_278usize * 3 + 1_001;
    let half = |i: usize| if i < count / 2 { 1 } else { -1 };
    for op in ["MatMulInteger", "ConvInteger"] {
        let dims: &[usize] = if op == "MatMulInteger" { &[1, count] } else { &[1, count, 1, 1] };
        let of_w = if op == "MatMulInteger" { [count, 1].to_vec() } else { dims.to_vec() };
        let sizes = |dims: &[usize]| dims.iter().map(|&d| d as i64).collect::<Vec<_>>();
        let x = StridedTensor::from_slice(&vec![255i32; count], dims).unwrap();
        let run = |model: Model, given: &[&StridedTensor], want: i64| {
            let graph = model.read().unwrap();
            for layouts in [Layouts::Nchw, Layouts::Blocked] {
                let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
                let y = plan.run(given).unwrap()[0].to_vec::<i32>().unwrap();
                assert_eq!(y.iter().map(|&y| i64::from(y)).collect::<Vec<_>>(), [want], "{op}");
            }
        };
        let weights: Vec<i16> = (0..count).map(|i| 127 * half(i)).collect();
        let want: i64 = weights.iter().map(|&w| 255 * i64::from(w)).sum();
        let start = || Model::new().input_of("x", DataType::UINT8, &sizes(dims));
        let model = start().bytes_of("w", DataType::INT8, &sizes(&of_w), &weights);
        run(model.node(op, &["x", "w"], &["y"]).output("y"), &[&x], want);
        // Less their zero point of 100, the weights have 9 bits.
        let zero = 100i16;
        let weights: Vec<i16> = (0..count).map(|i| zero + 100 * half(i)).collect();
        let want: i64 = weights.iter().map(|&w| 255 * i64::from(w - zero)).sum();
        let model = start()
            .input_of("w", DataType::UINT8, &sizes(&of_w))
            .bytes_of("x_zero", DataType::UINT8, &[], &[0])
            .bytes_of("zero", DataType::UINT8, &[], &[zero]);
        let wide: Vec<i32> = weights.iter().map(|&w| w.into()).collect();
        let w = StridedTensor::from_slice(&wide, &of_w).unwrap();
        run(model.node(op, &["x", "w", "x_zero", "zero"], &["y"]).output("y"), &[&x, &w], want);
        // The zero point of the source is an input, too.
        let model = start()
            .input_of("x_zero", DataType::UINT8, &[1])
            .bytes_of("w", DataType::UINT8, &sizes(&of_w), &vec![255; count])
            .bytes_of("zero", DataType::UINT8, &[], &[0]);
        let x_zero = StridedTensor::from_slice(&[255i32], &[1]).unwrap();
        run(model.node(op, &["x", "w", "x_zero", "zero"], &["y"]).output("y"), &[&x, &x_zero], 0);
    }
}
