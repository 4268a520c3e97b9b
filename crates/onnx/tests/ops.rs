//! Single ops whose attributes ONNX's own tests leave out.

use crate::support::{Model, assert_close, float, int, ints, ramp, word};

fn x4() -> Model {
    Model::new().input("x", &[1, 1, 4, 4])
}

#[test]
fn asymmetric_pads_of_pools() {
    let x: Vec<f32> = (1..=16).map(|v| v as f32).collect();
    let run = |op: &str, attributes| {
        x4().node_with(op, &["x"], &["y"], attributes).output("y").run(&[("x", &[1, 1, 4, 4], &x)])
    };
    let window =
        |pads: &[i64]| vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", pads)];
    let y = run("MaxPool", window(&[0, 0, 1, 1]));
    assert_eq!(y[0], (vec![1, 1, 2, 2], vec![11.0, 12.0, 15.0, 16.0]));
    // Means of what is inside the source, and of zeros too.
    let y = run("AveragePool", window(&[0, 0, 1, 1]));
    assert_close(&y[0].1, &[6.0, 7.5, 12.0, 13.5]);
    let with = [window(&[0, 0, 1, 1]), vec![int("count_include_pad", 1)]].concat();
    let y = run("AveragePool", with);
    assert_close(&y[0].1, &[6.0, 45.0 / 9.0, 72.0 / 9.0, 54.0 / 9.0]);
    // The last window of `ceil_mode` reaches one element beyond the source.
    let ceil = vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), int("ceil_mode", 1)];
    let y = run("AveragePool", ceil.clone());
    assert_close(&y[0].1, &[6.0, 7.5, 12.0, 13.5]);
    let y = run("MaxPool", ceil);
    assert_eq!(y[0].1, [11.0, 12.0, 15.0, 16.0]);
    let same = vec![ints("kernel_shape", &[2, 2]), word("auto_pad", "SAME_LOWER")];
    let y = run("MaxPool", same);
    assert_eq!(y[0].1, x);
}

#[test]
fn convolutions_pad_as_they_are_told() {
    let x = ramp(16);
    let run = |attributes| {
        let model = x4().floats("w", &[1, 1, 2, 2], &[1.0, 0.0, 0.0, 0.0]);
        model.node_with("Conv", &["x", "w"], &["y"], attributes).output("y").run(&[("x", &[1, 1, 4, 4], &x)])
    };
    assert_eq!(run(vec![word("auto_pad", "SAME_UPPER")])[0].1, x);
    let lower = run(vec![word("auto_pad", "SAME_LOWER")]);
    assert_eq!(lower[0].0, [1, 1, 4, 4]);
    assert_eq!(lower[0].1[5..8], x[0..3]);
    assert_eq!(run(vec![word("auto_pad", "VALID")])[0].0, [1, 1, 3, 3]);
    assert_eq!(run(vec![ints("pads", &[1, 0, 0, 2])])[0].0, [1, 1, 4, 5]);
}

#[test]
fn softmax_of_old_versions_is_of_a_matrix() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let run = |version, attributes| {
        let model = Model::new().opset(version).input("x", &[1, 2, 2]);
        model.node_with("Softmax", &["x"], &["y"], attributes).output("y").run(&[("x", &[1, 2, 2], &x)])
    };
    let sum: f32 = x.iter().map(|v| v.exp()).sum();
    assert_close(&run(12, vec![])[0].1, &x.map(|v| v.exp() / sum));
    let pair = 1.0 + 1f32.exp();
    assert_close(&run(13, vec![])[0].1, &[1.0 / pair, 1f32.exp() / pair, 1.0 / pair, 1f32.exp() / pair]);
}

#[test]
fn gemm_scales_its_terms() {
    let run = |model: Model, attributes| {
        let inputs: &[(&str, &[usize], &[f32])] =
            &[("a", &[2, 2], &[1.0, 2.0, 3.0, 4.0]), ("b", &[2, 2], &[1.0, 0.0, 1.0, 1.0])];
        let count = model.graph.input.len();
        model.node_with("Gemm", &["a", "b", "c"], &["y"], attributes).output("y").run(&inputs[..count])
    };
    let constant = || Model::new().input("a", &[2, 2]).floats("b", &[2, 2], &[1.0, 0.0, 1.0, 1.0]);
    let both = || Model::new().input("a", &[2, 2]).input("b", &[2, 2]);
    for model in [constant as fn() -> Model, both] {
        let attributes = || vec![float("alpha", 2.0), float("beta", 0.5), int("transA", 1)];
        let y = run(model().floats("c", &[2], &[2.0, 4.0]), attributes());
        // A^T B = [[4, 3], [6, 4]].
        assert_close(&y[0].1, &[9.0, 8.0, 13.0, 10.0]);
        let y = run(model().floats("c", &[2, 1], &[2.0, 4.0]), attributes());
        assert_close(&y[0].1, &[9.0, 7.0, 14.0, 10.0]);
        let y = run(model().floats("c", &[], &[2.0]), vec![int("transB", 1)]);
        assert_close(&y[0].1, &[3.0, 5.0, 5.0, 9.0]);
    }
}

#[test]
fn einsum_is_a_product_of_matrices() {
    let (a, b) = (ramp(12), ramp(24));
    let y = Model::new()
        .input("a", &[1, 2, 3, 2])
        .input("b", &[1, 2, 4, 3])
        .node_with("Einsum", &["a", "b"], &["y"], vec![word("equation", "b g i d, b g j i -> b j g d")])
        .output("y")
        .run(&[("a", &[1, 2, 3, 2], &a), ("b", &[1, 2, 4, 3], &b)]);
    let mut want = Vec::new();
    for j in 0..4 {
        for g in 0..2 {
            for d in 0..2 {
                want.push((0..3).map(|i| a[(g * 3 + i) * 2 + d] * b[(g * 4 + j) * 3 + i]).sum());
            }
        }
    }
    assert_eq!(y[0].0, [1, 4, 2, 2]);
    assert_close(&y[0].1, &want);
    let y = Model::new()
        .input("a", &[2, 3])
        .node_with("Einsum", &["a"], &["y"], vec![word("equation", "ij->j")])
        .output("y")
        .run(&[("a", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_close(&y[0].1, &[5.0, 7.0, 9.0]);
}

#[test]
fn slices_and_pads_of_tensors() {
    let x: Vec<f32> = (0..6).map(|v| v as f32).collect();
    let y = Model::new()
        .input("x", &[6])
        .ints("s", &[-1])
        .ints("e", &[-7])
        .ints("a", &[0])
        .ints("k", &[-2])
        .node("Slice", &["x", "s", "e", "a", "k"], &["y"])
        .output("y")
        .run(&[("x", &[6], &x)]);
    assert_eq!(y[0].1, [5.0, 3.0, 1.0]);
    let pad = |mode: &str, pads: &[i64]| {
        let model = Model::new().opset(19).input("x", &[6]).ints("p", pads);
        model
            .node_with("Pad", &["x", "p"], &["y"], vec![word("mode", mode)])
            .output("y")
            .run(&[("x", &[6], &x)])
            .remove(0)
            .1
    };
    assert_eq!(pad("constant", &[-2, 1]), [2.0, 3.0, 4.0, 5.0, 0.0]);
    assert_eq!(pad("reflect", &[2, -3]), [2.0, 1.0, 0.0, 1.0, 2.0]);
    assert_eq!(pad("edge", &[1, 1]), [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0]);
    assert_eq!(pad("wrap", &[2, 1]), [4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0]);
}

#[test]
fn booleans_of_a_run() {
    let y = Model::new()
        .input("x", &[4])
        .floats("one", &[], &[1.0])
        .floats("three", &[], &[3.0])
        .node("Greater", &["x", "one"], &["a"])
        .node("Less", &["x", "three"], &["b"])
        .node("And", &["a", "b"], &["both"])
        .node("Xor", &["a", "b"], &["one_of"])
        .node("Not", &["both"], &["none"])
        .node_with("Cast", &["both"], &["n"], vec![int("to", 1)])
        .output("n")
        .output("one_of")
        .output("none")
        .run(&[("x", &[4], &[0.0, 2.0, 3.0, 2.5])]);
    assert_eq!(y[0].1, [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(y[1].1, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(y[2].1, [1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn operands_for_channels_become_channel_ops() {
    let graph = Model::new()
        .input("x", &[1, 3, 2, 2])
        .floats("c", &[3, 1, 1], &[1.0, 2.0, 3.0])
        .floats("s", &[], &[2.0])
        .node("Mul", &["x", "c"], &["a"])
        .node("Sub", &["a", "c"], &["b"])
        .node("Sub", &["s", "b"], &["y"])
        .output("y")
        .read()
        .expect("a graph");
    let network = graph.with_sizes(&blocktensor_graph::Sizes::new()).expect("a network");
    let ops: Vec<&str> = network.nodes().iter().map(|n| n.operator().op()).collect();
    assert_eq!(ops, ["mul_channel", "add_channel", "neg", "add_scalar"]);
}

#[test]
fn integers_of_a_run() {
    let x = [1.0, 5.0, 2.0, 7.0, 0.0, 3.0];
    let y = Model::new()
        .input("x", &[2, 3])
        .ints("ten", &[10])
        .int("four", 4)
        .node_with("ArgMax", &["x"], &["i"], vec![int("axis", 1), int("keepdims", 0)])
        .node("Add", &["i", "ten"], &["j"])
        .node("Mod", &["j", "four"], &["k"])
        .node("Greater", &["i", "four"], &["g"])
        .node("Where", &["g", "four", "k"], &["w"])
        .node_with("Cast", &["w"], &["f"], vec![int("to", 1)])
        .node("Gather", &["x", "i"], &["row"])
        .output("j")
        .output("f")
        .output("row")
        .run(&[("x", &[2, 3], &x)]);
    assert_eq!(y[0].1, [11.0, 10.0]);
    assert_eq!(y[1].1, [3.0, 2.0]);
    assert_eq!(y[2].1, [7.0, 0.0, 3.0, 1.0, 5.0, 2.0]);
}
