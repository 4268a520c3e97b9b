//! Small models.

use blocktensor::StridedTensor;
use blocktensor_graph::Sizes;
use rten_onnx::onnx::{DataType, GraphProto};

use crate::support::{Model, assert_close, graph, int, ints, ramp, tensor, tensor_attribute};

/// A convolution of a 1 x 1 kernel with ones in a small classifier.
#[test]
fn a_classifier_of_eight_nodes() {
    let x = ramp(2 * 16);
    let results = Model::new()
        .input("x", &[1, 2, 4, 4])
        .floats("w", &[3, 2, 1, 1], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        .floats("b", &[3], &[0.0, 0.5, 0.0])
        .floats("scale", &[3], &[2.0, 1.0, 1.0])
        .floats("shift", &[3], &[0.0, 0.0, 1.0])
        .floats("mean", &[3], &[0.0, 0.5, 0.0])
        .floats("var", &[3], &[1.0, 1.0, 4.0])
        .floats("fc", &[2, 3], &[1.0, 1.0, 1.0, 1.0, 0.0, -1.0])
        .floats("fb", &[2], &[0.25, 0.0])
        .node("Conv", &["x", "w", "b"], &["a"])
        .node_with(
            "BatchNormalization",
            &["a", "scale", "shift", "mean", "var"],
            &["n"],
            vec![crate::support::float("epsilon", 0.0)],
        )
        .node("Relu", &["n"], &["r"])
        .node_with("MaxPool", &["r"], &["p"], vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])])
        .node("Add", &["p", "p"], &["s"])
        .node("GlobalAveragePool", &["s"], &["g"])
        .node("Flatten", &["g"], &["f"])
        .node_with("Gemm", &["f", "fc", "fb"], &["y"], vec![int("transB", 1)])
        .output("y")
        .run(&[("x", &[1, 2, 4, 4], &x)]);
    // By hand.
    let at = |c: usize, i: usize| x[c * 16 + i];
    let channel = |c: usize, i: usize| match c {
        0 => 2.0 * at(0, i),
        1 => at(1, i),
        _ => (at(0, i) + at(1, i)) / 2.0 + 1.0,
    };
    let mean = |c: usize| {
        let window = |r: usize, s: usize| {
            let corner = r * 8 + s * 2;
            [0, 1, 4, 5].into_iter().map(|k| channel(c, corner + k).max(0.0)).fold(0.0, f32::max)
        };
        2.0 * (window(0, 0) + window(0, 1) + window(1, 0) + window(1, 1)) / 4.0
    };
    let m = [mean(0), mean(1), mean(2)];
    assert_eq!(results[0].0, [1, 2]);
    assert_close(&results[0].1, &[m[0] + m[1] + m[2] + 0.25, m[0] - m[2]]);
}

/// Sizes that are computed from the input's: the graph of `view(x.size(0), -1)` and of an upsampling to another tensor's size.
#[test]
fn shape_arithmetic_leaves_no_operators() {
    let model = Model::new()
        .input("x", &[-1, 2, -1, 4])
        .node("Shape", &["x"], &["s"])
        .int("zero", 0)
        .ints("tail", &[-1])
        .node_with("Gather", &["s", "zero"], &["n"], vec![int("axis", 0)])
        .ints("axes", &[0])
        .node("Unsqueeze", &["n", "axes"], &["n1"])
        .node_with("Concat", &["n1", "tail"], &["shape"], vec![int("axis", 0)])
        .node("Reshape", &["x", "shape"], &["y"])
        .output("y");
    let graph = model.read().expect("a graph");
    let network = graph.with_sizes(&Sizes::new().with("x_0", 3).with("x_2", 5)).expect("a network");
    assert_eq!(network.nodes().len(), 1);
    assert_eq!(network.outputs().map(|(_, t)| t.dims().to_vec()).collect::<Vec<_>>(), [[3, 40]]);
}

#[test]
fn branches_with_known_conditions_are_inlined() {
    let branch = |op: &str| Model::new().node(op, &["x"], &["b"]).output("b").graph;
    let results = Model::new()
        .input("x", &[1, 3])
        .node("Shape", &["x"], &["s"])
        .ints("limit", &[1, 2])
        .node("Equal", &["s", "limit"], &["each"])
        .node_with("Cast", &["each"], &["ints"], vec![int("to", 7)])
        .node_with("ReduceMin", &["ints"], &["all"], vec![int("keepdims", 0)])
        .node_with("Cast", &["all"], &["flag"], vec![int("to", 9)])
        .node_with(
            "If",
            &["flag"],
            &["y"],
            vec![graph("then_branch", branch("Neg")), graph("else_branch", branch("Abs"))],
        )
        .output("y")
        .run(&[("x", &[1, 3], &[-1.0, 2.0, -3.0])]);
    assert_eq!(results[0].1, [1.0, 2.0, 3.0]);
}

/// The error of an `If` whose condition `c` is what `with` adds to a model.
fn error_of_condition(with: impl FnOnce(Model) -> Model) -> String {
    let branch = || Model::new().node("Neg", &["x"], &["b"]).output("b").graph;
    with(Model::new().input("x", &[1]))
        .node_with("If", &["c"], &["y"], vec![graph("then_branch", branch()), graph("else_branch", branch())])
        .output("y")
        .read()
        .expect("a graph")
        .with_sizes(&Sizes::new())
        .expect_err("an error")
        .to_string()
}

#[test]
fn conditions_of_a_run_are_refused() {
    let error = error_of_condition(|model| model.input_of("c", DataType::BOOL, &[]));
    assert!(error.contains("a condition that depends on the values of an input"), "{error}");
}

#[test]
fn a_condition_of_two_values_is_told_as_such() {
    let error = error_of_condition(|model| model.bytes_of("c", DataType::BOOL, &[2], &[1, 0]));
    assert!(error.contains("condition: got 2 values; it is one; export the model again"), "{error}");
}

#[test]
fn inputs_of_too_many_elements_are_named() {
    let model =
        || Model::new().input("x", &[1 << 40, 1 << 30, 4, 4]).node("Relu", &["x"], &["y"]).output("y");
    let error = model().read().expect("a graph").with_sizes(&Sizes::new()).expect_err("an error").to_string();
    let text = "op `plan`: argument `sizes`: got [1099511627776, 1073741824, 4, 4] of input `x`, but no memory has so many elements; \
                give this input smaller sizes";
    assert_eq!(error, text);
}

/// A body that adds `x` to the state in each round, and stacks the states.
fn adding_body() -> GraphProto {
    let mut body = Model::new()
        .node("Add", &["v", "x"], &["w"])
        .node("Identity", &["c"], &["d"])
        .output("d")
        .output("w")
        .output("w")
        .graph;
    body.input = vec![
        crate::support::value("i", DataType::INT64, &[]),
        crate::support::value("c", DataType::BOOL, &[]),
        crate::support::value("v", DataType::FLOAT, &[2]),
    ];
    body
}

#[test]
fn loops_with_a_known_number_of_rounds_are_written_out() {
    let results = Model::new()
        .input("x", &[2])
        .int("rounds", 3)
        .node_with("Loop", &["rounds", "", "x"], &["last", "all"], vec![graph("body", adding_body())])
        .output("last")
        .output("all")
        .run(&[("x", &[2], &[1.0, 2.0])]);
    assert_eq!(results[0].1, [4.0, 8.0]);
    assert_eq!(results[1], (vec![3, 2], vec![2.0, 4.0, 3.0, 6.0, 4.0, 8.0]));
}

/// Of a loop without rounds, results that nothing uses need no value, whether they have a name or not.
#[test]
fn a_loop_without_rounds_gives_what_it_carries() {
    let model = |stacked: &str| {
        let outputs = ["last", stacked];
        let model = Model::new().input("x", &[2]).int("rounds", 0);
        model.node_with("Loop", &["rounds", "", "x"], &outputs, vec![graph("body", adding_body())])
    };
    for stacked in ["", "all"] {
        let results = model(stacked).output("last").run(&[("x", &[2], &[1.0, 2.0])]);
        assert_eq!(results[0].1, [1.0, 2.0], "{stacked}");
    }
    let x = || StridedTensor::from_slice(&[1f32, 2.0], &[2]).expect("a tensor");
    for used in [model("all").output("all"), model("all").node("Exp", &["all"], &["y"]).output("y")] {
        let error = used.run_on(vec![("x", x())]).expect_err("a result without sizes");
        assert!(error.contains("a stacked result of a loop without rounds"), "{error}");
    }
    let chosen = model("all").output("last").read().and_then(|g| Ok(g.with_outputs(&["all"])?));
    let error = chosen.expect("the output has a name").with_sizes(&Sizes::new()).expect_err("as above");
    assert!(error.to_string().contains("a stacked result of a loop without rounds"), "{error}");
}

/// The same loop inside the body of another one.
#[test]
fn a_loop_without_rounds_inside_another_gives_what_it_carries() {
    let outer = |inner_stacked: &str| {
        let outputs = ["w", "none"];
        let mut body = Model::new()
            .int("rounds", 0)
            .node("Identity", &["c"], &["d"])
            .node_with("Loop", &["rounds", "", "v"], &outputs, vec![graph("body", adding_body())])
            .output("d")
            .output("w")
            .output(inner_stacked)
            .graph;
        body.input = vec![
            crate::support::value("i", DataType::INT64, &[]),
            crate::support::value("c", DataType::BOOL, &[]),
            crate::support::value("v", DataType::FLOAT, &[2]),
        ];
        let model = Model::new().input("x", &[2]).int("two", 2);
        let model = model.node_with("Loop", &["two", "", "x"], &["y", "all"], vec![graph("body", body)]);
        let x = StridedTensor::from_slice(&[1f32, 2.0], &[2]).expect("a tensor");
        model.output("y").output("all").run_on(vec![("x", x)])
    };
    assert_eq!(outer("w").map(|y| y[0].1.clone()), Ok(vec![1.0, 2.0]));
    let error = outer("none").expect_err("a result without sizes");
    assert!(error.contains("a stacked result of a loop without rounds"), "{error}");
}

/// No axis is as long as these strides.
#[test]
fn strides_longer_than_any_axis_make_one_window() {
    for stride in [1 << 31, 1 << 40, i64::MAX] {
        let attributes = vec![ints("kernel_shape", &[2, 2]), ints("strides", &[stride, stride])];
        let results = Model::new()
            .input("x", &[1, 1, 3, 3])
            .node_with("MaxPool", &["x"], &["y"], attributes)
            .output("y")
            .run(&[("x", &[1, 1, 3, 3], &[1.0, 2.0, 9.0, 3.0, 4.0, 9.0, 9.0, 9.0, 9.0])]);
        assert_eq!(results[0], (vec![1, 1, 1, 1], vec![4.0]), "{stride}");
    }
}

#[test]
fn constants_in_all_forms() {
    let value = tensor("", DataType::FLOAT, &[2], [1f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect());
    let results = Model::new()
        .input("x", &[2])
        .node_with("Constant", &[], &["a"], vec![tensor_attribute("value", value)])
        .node_with("Constant", &[], &["b"], vec![crate::support::float("value_float", 0.5)])
        .node_with("Constant", &[], &["c"], vec![ints("value_ints", &[3, 4])])
        .node_with("Cast", &["c"], &["d"], vec![int("to", 1)])
        .node("Add", &["x", "a"], &["p"])
        .node("Mul", &["p", "b"], &["q"])
        .node("Add", &["q", "d"], &["y"])
        .output("y")
        .run(&[("x", &[2], &[10.0, 20.0])]);
    assert_eq!(results[0].1, [8.5, 15.0]);
}
