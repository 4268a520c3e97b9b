//! Ops that ONNX Runtime writes when it saves a model that it has optimised.

use blocktensor_graph::Sizes;
use blocktensor_onnx::{Attribute, HostModel, HostNode, HostValue, Importer};
use rten_onnx::onnx::{AttributeProto, DataType};

use crate::support::{Model, assert_close, float, floats, int, ramp, word};

/// The last node is one of `com.microsoft`.
pub fn of_microsoft(mut model: Model) -> Model {
    if let Some(node) = model.graph.node.last_mut() {
        node.domain = Some("com.microsoft".to_string());
    }
    model
}

/// The attributes of an activation, and the function.
type Case = (Vec<AttributeProto>, fn(f32) -> f32);

/// A convolution of 1 x 1 that doubles, with a bias of -1, and with `z` if there is one.
fn conv(attributes: Vec<AttributeProto>, z: Option<&[f32]>) -> Vec<f32> {
    let x = ramp(16);
    let mut model = Model::new().input("x", &[1, 1, 4, 4]);
    model = model.floats("w", &[1, 1, 1, 1], &[2.0]).floats("b", &[1], &[-1.0]);
    let mut inputs = vec!["x", "w", "b"];
    if let Some(z) = z {
        model = model.floats("z", &[1, 1, 4, 4], z);
        inputs.push("z");
    }
    let model = of_microsoft(model.node_with("FusedConv", &inputs, &["y"], attributes));
    model.output("y").run(&[("x", &[1, 1, 4, 4], &x)]).swap_remove(0).1
}

#[test]
fn convolutions_with_activations() {
    let before: Vec<f32> = ramp(16).iter().map(|x| 2.0 * x - 1.0).collect();
    assert!(before.iter().any(|x| *x < -1.0) && before.iter().any(|x| *x > 7.0), "{before:?}");
    let params = |values: &[f32]| floats("activation_params", values);
    let cases: [Case; 7] = [
        (vec![], |x| x),
        (vec![word("activation", "Relu")], |x| x.max(0.0)),
        (vec![word("activation", "Sigmoid")], |x| 1.0 / (1.0 + (-x).exp())),
        (vec![word("activation", "Tanh")], f32::tanh),
        (vec![word("activation", "LeakyRelu"), params(&[0.25])], |x| if x < 0.0 { 0.25 * x } else { x }),
        (vec![word("activation", "Clip"), params(&[-1.0, 6.0])], |x| x.clamp(-1.0, 6.0)),
        (vec![word("activation", "HardSigmoid"), params(&[0.3, 0.4])], |x| (0.3 * x + 0.4).clamp(0.0, 1.0)),
    ];
    for (attributes, function) in cases {
        let want: Vec<f32> = before.iter().map(|x| function(*x)).collect();
        assert_close(&conv(attributes, None), &want);
    }
    // The sum comes before the activation.
    let z: Vec<f32> = before.iter().map(|x| 3.0 - x / 2.0).collect();
    let want: Vec<f32> = before.iter().zip(&z).map(|(x, z)| (x + z).max(0.0)).collect();
    assert!(want.contains(&0.0));
    assert_close(&conv(vec![word("activation", "Relu")], Some(&z)), &want);
}

#[test]
fn linear_layers_with_activations() {
    let run = |attributes: Vec<AttributeProto>| {
        let model = Model::new().input("x", &[1, 2]).floats("w", &[2, 2], &[1.0, -1.0, 2.0, 0.5]);
        let model = model.floats("b", &[2], &[-1.0, 1.0]);
        let attributes = [attributes, vec![int("transB", 1)]].concat();
        let model = of_microsoft(model.node_with("FusedGemm", &["x", "w", "b"], &["y"], attributes));
        model.output("y").run(&[("x", &[1, 2], &[1.0, 3.0])]).swap_remove(0).1
    };
    assert_close(&run(vec![]), &[-3.0, 4.5]);
    assert_close(&run(vec![word("activation", "Relu")]), &[0.0, 4.5]);
    let leaky = vec![word("activation", "LeakyRelu"), float("activation_alpha", 0.5)];
    assert_close(&run(leaky), &[-1.5, 4.5]);
}

/// What ONNX Runtime's quantiser writes with `UseQDQContribOps`.
#[test]
fn quantised_numbers() {
    let model = |of: DataType, zero: i16| {
        let model = Model::new().input("x", &[4]).pair("a", 2.0, of, zero);
        let model = of_microsoft(model.node("QuantizeLinear", &["x", "a_scale", "a_zero"], &["q"]));
        of_microsoft(model.node("DequantizeLinear", &["q", "a_scale", "a_zero"], &["y"])).output("y")
    };
    let x = [-300.0, 3.0, 4.9, 400.0];
    let run = |model: Model| model.run(&[("x", &[4], &x)]).swap_remove(0).1;
    // 1.5 is halfway between 1 and 2, of which 2 is even.
    assert_eq!(run(model(DataType::UINT8, 128)), [-256.0, 4.0, 4.0, 254.0]);
    assert_eq!(run(model(DataType::INT8, 0)), [-256.0, 4.0, 4.0, 254.0]);
    let axis = |at: i64| {
        let model = Model::new().input("x", &[2, 2]).floats("s", &[2], &[1.0, 4.0]);
        let model = model.bytes_of("z", DataType::INT8, &[2], &[0, 1]);
        let model =
            of_microsoft(model.node_with("QuantizeLinear", &["x", "s", "z"], &["y"], vec![int("axis", at)]));
        model.output("y").run(&[("x", &[2, 2], &[8.0, 8.0, -4.0, -4.0])]).swap_remove(0).1
    };
    assert_eq!(axis(1), [8.0, 3.0, -4.0, 0.0]);
    assert_eq!(axis(0), [8.0, 8.0, 0.0, 0.0]);
    for op in ["QuantizeLinear", "DequantizeLinear"] {
        let model = Model::new().input("x", &[4]).pair("a", 2.0, DataType::UINT8, 0);
        let model = of_microsoft(model.node(op, &["x", "a_scale", "a_zero", "x"], &["y"])).output("y");
        let error = model.run_on(vec![]).expect_err("an error");
        assert!(error.contains("this op has at most 3"), "{error}");
    }
}

#[test]
fn a_number_of_an_activation_is_not_taken_for_the_one_before_it() {
    let attributes = vec![word("activation", "LeakyRelu"), float("activation_beta", 0.5)];
    let model = Model::new().input("x", &[1, 2]).floats("w", &[2, 1], &[1.0, -1.0]);
    let model = of_microsoft(model.node_with("FusedGemm", &["x", "w"], &["y"], attributes)).output("y");
    let error = model.run_on(vec![]).expect_err("an error");
    assert!(error.contains("LeakyRelu") && error.contains("Some(0.5)"), "{error}");
}

#[test]
fn gelus() {
    let x = [-3.0f32, -0.5, 0.0, 1.0, 4.0];
    let run = |op: &str, attributes: Vec<AttributeProto>| {
        let model = Model::new().input("x", &[5]).node_with(op, &["x"], &["y"], attributes);
        of_microsoft(model).output("y").run(&[("x", &[5], &x)]).swap_remove(0).1
    };
    let quick = |alpha: f32| x.map(|x| x / (1.0 + (-alpha * x).exp()));
    assert_close(&run("QuickGelu", vec![]), &quick(1.702));
    assert_close(&run("QuickGelu", vec![float("alpha", 1.0)]), &quick(1.0));
    assert_close(&run("Gelu", vec![]), &[-0.004_049_7, -0.154_268_8, 0.0, 0.841_344_7, 3.999_873]);
}

#[test]
fn products_with_a_factor_and_transposed_operands() {
    // [[0, 1, 2], [3, 4, 5]] times [[1, 2], [0, 1], [1, 0]].
    let (a, b) = ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 0.0, 1.0, 1.0, 0.0]);
    let (a_t, b_t) = ([0.0, 3.0, 1.0, 4.0, 2.0, 5.0], [1.0, 0.0, 1.0, 2.0, 1.0, 0.0]);
    let want = [2.0, 1.0, 8.0, 10.0];
    for (trans_a, trans_b, is_constant) in
        [(0, 0, false), (1, 0, false), (0, 1, true), (1, 1, false), (1, 1, true)]
    {
        let (a, a_dims) = if trans_a == 1 { (&a_t, [1, 3, 2]) } else { (&a, [1, 2, 3]) };
        let (b, b_dims) = if trans_b == 1 { (&b_t, [1, 2, 3]) } else { (&b, [1, 3, 2]) };
        let attributes = vec![float("alpha", 0.5), int("transA", trans_a), int("transB", trans_b)];
        let model = Model::new().input("a", &a_dims);
        let model = match is_constant {
            true => model.floats("b", &b_dims, b),
            false => model.input("b", &b_dims),
        };
        let model = of_microsoft(model.node_with("FusedMatMul", &["a", "b"], &["y"], attributes)).output("y");
        let [a_sizes, b_sizes] = [a_dims, b_dims].map(|dims| dims.map(|d| d as usize));
        let given = [("a", &a_sizes[..], &a[..]), ("b", &b_sizes[..], &b[..])];
        let (dims, y) = model.run(&given[..if is_constant { 1 } else { 2 }]).swap_remove(0);
        assert_eq!(dims, [1, 2, 2]);
        assert_close(&y, &want.map(|y| y / 2.0));
    }
    // Rows before the batch, and columns before rows.
    let (a, b) = (ramp(12), [2.0, 1.0, 0.0, -1.0]);
    for trans in [0, 1] {
        // a[m][n][k], or a[k][n][m].
        let at = |n: usize, m: usize, k: usize| {
            if trans == 0 { a[4 * m + 2 * n + k] } else { a[6 * k + 3 * n + m] }
        };
        let a_dims = if trans == 0 { [3, 2, 2] } else { [2, 2, 3] };
        let attributes = vec![int("transA", trans), int("transBatchA", 1)];
        let model = Model::new().input("a", &a_dims).floats("b", &[2, 2, 1], &b);
        let model = of_microsoft(model.node_with("FusedMatMul", &["a", "b"], &["y"], attributes)).output("y");
        let (dims, y) = model.run(&[("a", &a_dims.map(|d| d as usize), &a)]).swap_remove(0);
        let rows = (0..2).flat_map(|n| (0..3).map(move |m| (n, m)));
        let want: Vec<f32> = rows.map(|(n, m)| at(n, m, 0) * b[2 * n] + at(n, m, 1) * b[2 * n + 1]).collect();
        assert_eq!(dims, [2, 3, 1]);
        assert_close(&y, &want);
    }
    // A vector is not transposed.
    let model = Model::new().input("a", &[2]).floats("b", &[2, 1], &[3.0, 4.0]);
    let attributes = vec![int("transA", 1)];
    let model = of_microsoft(model.node_with("FusedMatMul", &["a", "b"], &["y"], attributes)).output("y");
    assert_close(&model.run(&[("a", &[2], &[1.0, 2.0])]).swap_remove(0).1, &[11.0]);
}

#[test]
fn layer_norms_of_a_sum() {
    // Sums of [1, 3] and [10, 10], with a bias and without.
    let run = |bias: bool, outputs: &[&str]| {
        let model = Model::new().input("x", &[2, 1, 2]).input("skip", &[2, 1, 2]);
        let model = model.floats("gamma", &[2], &[2.0, 3.0]).floats("beta", &[2], &[0.5, -0.5]);
        let model = model.floats("bias", &[2], &[0.0, 4.0]);
        let inputs = ["x", "skip", "gamma", "beta", "bias"];
        let inputs = &inputs[..if bias { 5 } else { 4 }];
        let attributes = vec![float("epsilon", 0.0625)];
        let mut model = of_microsoft(model.node_with("SkipLayerNormalization", inputs, outputs, attributes));
        for name in outputs.iter().filter(|name| !name.is_empty()) {
            model = model.output(name);
        }
        let dims = [2, 1, 2];
        model.run(&[("x", &dims, &[1.0, 1.0, 4.0, 4.0]), ("skip", &dims, &[0.0, 2.0, 6.0, 6.0])])
    };
    // The rows differ from their mean by 1 and 0; with the bias by 3 and 2.
    let of = |distance: f32| {
        let y = distance / (distance * distance + 0.0625).sqrt();
        [0.5 - 2.0 * y, 3.0 * y - 0.5]
    };
    let results = run(false, &["y"]);
    assert_close(&results[0].1, &[of(1.0), of(0.0)].concat());
    let results = run(true, &["y", "", "", "sum"]);
    assert_close(&results[0].1, &[of(3.0), of(2.0)].concat());
    assert_close(&results[1].1, &[1.0, 7.0, 10.0, 14.0]);
    let results = run(true, &["y", "mean", "inverse", "sum"]);
    assert_close(&results[1].1, &[4.0, 12.0]);
    assert_close(&results[2].1, &[9.0625f32, 4.0625].map(|v| 1.0 / v.sqrt()));
    assert_close(&results[3].1, &[1.0, 7.0, 10.0, 14.0]);
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let refused = |op: &str, inputs: &[&str], attributes: Vec<AttributeProto>, domain: &str| {
        let model = Model::new().input("x", &[1, 1, 2, 2]).floats("w", &[1, 1, 1, 1], &[2.0]);
        let mut model = model.node_with(op, inputs, &["y"], attributes).output("y");
        model.graph.node[0].domain = Some(domain.to_string());
        let graph = model.read().expect("a graph");
        graph.with_sizes(&Sizes::new()).expect_err("an error").to_string()
    };
    let (ours, both) = ("com.microsoft", ["x", "w"]);
    let reads = |text: String, parts: &[&str]| {
        assert!(text.contains("n0") && parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    };
    let before = "pass the model as it was before";
    reads(refused("FusedMatMulActivation", &both, vec![], ours), &["`com.microsoft`", before]);
    reads(refused("Conv", &both, vec![], "com.microsoft.nchwc"), &["`com.microsoft.nchwc`", before]);
    reads(refused("FusedConv", &both, vec![], "com.example"), &["`com.example`"]);
    reads(refused("FusedConv", &both, vec![word("activation", "Elu")], ours), &["activation = \"Elu\""]);
    let lacking = vec![word("activation", "Clip"), floats("activation_params", &[1.0])];
    reads(refused("FusedConv", &both, lacking, ours), &["activation = \"Clip\"", "[1.0]"]);
    reads(refused("FusedConv", &both, vec![word("speed", "high")], ours), &["`speed` = \"high\""]);
    reads(refused("FusedConv", &both, vec![int("strides", 2)], ours), &["`strides` = 2"]);
    reads(refused("QuickGelu", &both, vec![], ours), &["number of inputs", "at most 1"]);
}

#[test]
fn a_host_s_nodes_are_refused_by_the_same_texts() {
    let refused = |op: &str, domain: &str| {
        let value = |name: &str| HostValue { name: name.into(), data_type: 1, dims: Some(vec![2.into()]) };
        let node = HostNode {
            name: "n0".into(),
            op_type: op.into(),
            domain: domain.into(),
            inputs: vec!["x".into()],
            outputs: vec!["y".into()],
            attributes: vec![("speed".into(), Attribute::Int(2))],
        };
        let (inputs, nodes, outputs) = (vec![value("x")], vec![node], vec![value("y")]);
        let opsets = vec![(String::new(), 17), (domain.to_string(), 1)];
        let model = HostModel { opsets, inputs, nodes, outputs, ..HostModel::default() };
        let graph = Importer::new().from_host(model).expect("a graph");
        graph.with_sizes(&Sizes::new()).expect_err("an error").to_string()
    };
    for (op, domain, part) in [
        ("Conv", "com.microsoft.nchwc", "pass the model as it was before"),
        ("QuickGelu", "com.microsoft", "`speed` = 2"),
        ("Twice", "local", "if this is a function of the model"),
    ] {
        let text = refused(op, domain);
        assert!(text.contains("n0") && text.contains(part), "{text}");
    }
}
