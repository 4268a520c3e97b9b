//! What ONNX refuses or leaves undefined is an error with a remedy, and never a silent result.

use blocktensor::{PackedFile, StridedTensor};
use blocktensor_graph::{Layouts, Plan, PlanOptions, Sizes};
use rten_onnx::onnx::{DataType, GraphProto, NodeProto, ValueInfoProto};

use crate::support::{Model, graph, int, ints, tensor, tensor_attribute, value, word};

/// The error of a model on inputs of ones.
#[track_caller]
fn refused(model: Model, inputs: &[(&str, &[usize])]) -> String {
    let ones = inputs.iter().map(|(name, dims)| {
        let count = dims.iter().product();
        (*name, StridedTensor::from_slice(&vec![1f32; count], dims).expect("an input"))
    });
    model.run_on(ones.collect()).expect_err("the model is refused")
}

/// A model whose integer constant `k` becomes f32 and is added to the input.
fn adding(model: Model) -> Model {
    model
        .input("x", &[1])
        .node_with("Cast", &["k"], &["f"], vec![int("to", 1)])
        .node("Add", &["x", "f"], &["y"])
        .output("y")
}

#[test]
fn a_power_of_0_with_a_negative_exponent_is_a_division_by_0() {
    let pow = |base: &[i64], exponent: &[i64]| {
        adding(Model::new().ints("a", base).ints("b", exponent).node("Pow", &["a", "b"], &["k"]))
    };
    let error = refused(pow(&[2, 0], &[-3]), &[("x", &[1])]);
    let text = "node `n0` (Pow), exponent: got -3 for the base 0; integers are not divided by 0; ";
    assert!(error.starts_with(text), "{error}");
    // Other powers are as before.
    assert_eq!(pow(&[2, 1, -1, 0], &[-3, -3, -3, 0]).run(&[("x", &[1], &[0.0])])[0].1, [0.0, 1.0, -1.0, 1.0]);
}

#[test]
fn a_resize_has_scales_or_sizes() {
    let model = |inputs: &[&str]| {
        let model = Model::new().input("x", &[1, 1, 2, 2]).floats("scales", &[4], &[1.0, 1.0, 3.0, 3.0]);
        let model = model.ints("sizes", &[1, 1, 4, 4]).floats("none", &[0], &[]).ints("no", &[]);
        model.node("Resize", inputs, &["y"]).output("y")
    };
    let error = refused(model(&["x", "", "scales", "sizes"]), &[("x", &[1, 1, 2, 2])]);
    let text = "node `n0` (Resize), scales: got [1.0, 1.0, 3.0, 3.0] beside sizes [1, 1, 4, 4]; one of them is given; ";
    assert!(error.starts_with(text), "{error}");
    // An empty one is not given.
    let side = |inputs: &[&str]| model(inputs).run(&[("x", &[1, 1, 2, 2], &[1.0; 4])])[0].0[2];
    assert_eq!((side(&["x", "", "none", "sizes"]), side(&["x", "", "scales", "no"])), (4, 6));
}

#[test]
fn bounds_of_a_clip_are_single_numbers() {
    let model = |dims: &[i64]| {
        let count = dims.iter().product::<i64>() as usize;
        let model = Model::new().input("x", &[1, 4]).floats("b", dims, &vec![2.0; count]);
        model.node("Clip", &["x", "", "b"], &["y"]).output("y")
    };
    for dims in [&[4][..], &[1, 1], &[0]] {
        let error = refused(model(dims), &[("x", &[1, 4])]);
        let text =
            format!("node `n0` (Clip), max: got {dims:?}; a bound is one number; use `Min` in place of");
        assert!(error.starts_with(&text), "{error}");
    }
    for dims in [&[][..], &[1]] {
        assert_eq!(model(dims).run(&[("x", &[1, 4], &[1.0, 2.0, 3.0, 4.0])])[0].1, [1.0, 2.0, 2.0, 2.0]);
    }
    // Integers that are known when the model is read.
    let clip = Model::new().ints("a", &[5]).ints("b", &[1, 2]).node("Clip", &["a", "b"], &["k"]);
    let error = refused(adding(clip), &[("x", &[1])]);
    assert!(error.starts_with("node `n0` (Clip), min: got [2]; a bound is one number; "), "{error}");
}

#[test]
fn pads_of_a_pool_are_less_than_its_window() {
    let model = |op: &str, pads: &[i64]| {
        let attributes = vec![ints("kernel_shape", &[2, 3]), ints("pads", pads)];
        let model = Model::new().input("x", &[1, 1, 4, 4]);
        model.node_with(op, &["x"], &["y"], attributes).output("y")
    };
    for op in ["MaxPool", "AveragePool"] {
        for pads in [[2, 0, 0, 0], [0, 0, 0, 3], [0, 0, 5, 0]] {
            let error = refused(model(op, &pads), &[("x", &[1, 1, 4, 4])]);
            let text = format!(
                "node `n0` ({op}), pads: got {pads:?}; each is less than the size of the window, [2, 3]; "
            );
            assert!(error.starts_with(&text), "{error}");
        }
        let y = model(op, &[1, 2, 1, 2]).run(&[("x", &[1, 1, 4, 4], &[1.0; 16])]);
        assert_eq!(y[0].0, [1, 1, 5, 6]);
    }
}

#[test]
fn ops_of_newer_versions_are_told_from_names_that_no_version_has() {
    for (op, since) in [("CumProd", 26), ("SwiGLU", 28)] {
        let model = Model::new().opset(24).input("x", &[2]).node(op, &["x"], &["y"]).output("y");
        let error = refused(model, &[("x", &[2])]);
        let text = format!(
            "the model uses version 24 of ONNX's operator set, and this op came with version {since}"
        );
        assert!(error.contains(&text), "{error}");
    }
    let model = Model::new().input("x", &[2]).node("CumProduct", &["x"], &["y"]).output("y");
    assert!(refused(model, &[("x", &[2])]).contains("ONNX has no op of this name"));
}

#[test]
fn an_unknown_word_for_pads_is_refused_with_the_words_that_there_are() {
    let attributes = vec![ints("kernel_shape", &[2, 2]), word("auto_pad", "SAME")];
    let model =
        Model::new().input("x", &[1, 1, 4, 4]).node_with("MaxPool", &["x"], &["y"], attributes).output("y");
    let error = refused(model, &[("x", &[1, 1, 4, 4])]);
    let text = "auto_pad: got \"SAME\"; it is NOTSET, VALID, SAME_UPPER or SAME_LOWER; write one of these";
    assert!(error.contains(text), "{error}");
}

/// A model file with these strings in its tensors of strings, for which the writer has no field.
fn with_strings(model: Model, strings: &[&[u8]]) -> Vec<u8> {
    let mut bytes = model.bytes();
    // Raw bytes of the same length give their place to the strings.
    let field: Vec<u8> =
        strings.iter().flat_map(|text| [&[6 << 3 | 2, text.len() as u8], *text].concat()).collect();
    let raw = [&[9 << 3 | 2, MARKER.len() as u8], MARKER].concat();
    assert_eq!(field.len(), raw.len());
    let mut count = 0;
    for i in 0..bytes.len() - raw.len() {
        if bytes[i..].starts_with(&raw) {
            bytes[i..i + raw.len()].copy_from_slice(&field);
            count += 1;
        }
    }
    assert!(count > 0);
    bytes
}

/// Stands for strings in a model that is written.
const MARKER: &[u8] = b"marker of text";

/// Labels of classes, which programs read.
#[test]
fn strings_are_refused_only_where_they_are_read() {
    let network = || Model::new().input("x", &[2]).node("Relu", &["x"], &["y"]).output("y");
    let text = |name| tensor(name, DataType::STRING, &[3], MARKER.to_vec());
    let labels = || {
        let mut model = network();
        model.graph.initializer.push(text("labels"));
        model
    };
    let made = |model: Model| {
        model.node_with("Constant", &[], &["labels"], vec![tensor_attribute("value", text(""))])
    };
    let read = |model| blocktensor_onnx::from_bytes(&with_strings(model, &[b"cat", b"\xff\xfe", b"a dog"]));
    let mut empty = network();
    empty.graph.initializer.push(tensor("labels", DataType::STRING, &[0], vec![]));
    assert_eq!(empty.run(&[("x", &[2], &[-1.0, 2.0])])[0].1, [0.0, 2.0]);
    for model in [labels(), made(network())] {
        let graph = read(model).expect("nothing reads the strings");
        assert_eq!((graph.nodes().count(), graph.outputs().count()), (1, 1));
    }
    let readers: [&dyn Fn(Model) -> Model; 3] = [
        &|model| model.output("labels"),
        &|model| model.node("Identity", &["labels"], &["z"]).output("z"),
        // In a graph inside of another.
        &|model| {
            let inner = Model::new().node("Identity", &["labels"], &["z"]).output("z").graph;
            model.node_with("If", &["x"], &["w"], vec![graph("then_branch", inner)])
        },
    ];
    for reads in readers {
        for (model, what) in
            [(labels(), "initializer `labels`"), (made(network()), "node `n1` (Constant), attribute `value`")]
        {
            let error = read(reads(model)).expect_err("a reader").to_string();
            assert!(error.starts_with(what) && error.contains("the data type STRING"), "{error}");
        }
    }
}

#[test]
fn slopes_are_broadcast_to_x_and_x_to_nothing() {
    let model = |x: &[i64], slope: &[i64]| {
        let count = slope.iter().product::<i64>() as usize;
        let model = Model::new().input("x", x).floats("s", slope, &vec![2.0; count]);
        model.node("PRelu", &["x", "s"], &["y"]).output("y")
    };
    for (x, slope) in [(&[1, 3][..], &[2, 3][..]), (&[3], &[2, 3]), (&[3, 1], &[3, 2]), (&[3, 2], &[1, 3, 2])]
    {
        let dims: Vec<usize> = x.iter().map(|&d| d as usize).collect();
        let error = refused(model(x, slope), &[("x", &dims)]);
        let text = format!("node `n0` (PRelu), slope: got {slope:?}; it is broadcast to x, {x:?}, ");
        assert!(error.starts_with(&text) && error.contains("correct the shapes"), "{error}");
    }
    // A vector of a slope for each channel, as PyTorch has it.
    let error = refused(model(&[1, 3, 2, 4], &[3]), &[("x", &[1, 3, 2, 4])]);
    assert!(error.ends_with("for a slope of each channel reshape it to [3, 1, 1]"), "{error}");
    let y = model(&[1, 3, 2, 4], &[3, 1, 1]).run(&[("x", &[1, 3, 2, 4], &[-1.0; 24])]);
    assert_eq!(y[0].1, [-2.0; 24]);
    for slope in [&[][..], &[1], &[3, 1], &[1, 2], &[2, 3, 2]] {
        let y = model(&[2, 3, 2], slope).run(&[("x", &[2, 3, 2], &[-1.0; 12])]);
        assert_eq!((&y[0].0[..], &y[0].1[..]), (&[2, 3, 2][..], &[-2.0; 12][..]));
    }
}

#[test]
fn output_padding_is_less_than_the_stride_or_the_dilation() {
    let model = |attributes| {
        let model = Model::new().input("x", &[1, 1, 4, 4]).floats("w", &[1, 1, 3, 3], &[1.0; 9]);
        model.node_with("ConvTranspose", &["x", "w"], &["y"], attributes).output("y")
    };
    for list in [[5, 5], [0, 1]] {
        let error = refused(model(vec![ints("output_padding", &list)]), &[("x", &[1, 1, 4, 4])]);
        let text = format!("node `n0` (ConvTranspose), output_padding: got {list:?}; ");
        let rule = "on each axis it is less than the stride or the dilation; ";
        assert!(error.starts_with(&(text + rule)), "{error}");
    }
    let fits = model(vec![ints("output_padding", &[1, 0]), ints("strides", &[2, 1])]);
    assert_eq!(fits.run(&[("x", &[1, 1, 4, 4], &[1.0; 16])])[0].0, [1, 1, 10, 6]);
    // A larger result that `output_shape` asks for still grows at its end.
    let grown = model(vec![ints("output_shape", &[8, 8])]);
    assert_eq!(grown.run(&[("x", &[1, 1, 4, 4], &[1.0; 16])])[0].0, [1, 1, 8, 8]);
    // It has neither the batch nor the channels.
    let error = refused(model(vec![ints("output_shape", &[1, 1, 6, 6])]), &[("x", &[1, 1, 4, 4])]);
    let text = "node `n0` (ConvTranspose), output_shape: got [1, 1, 6, 6]; ";
    assert!(
        error.starts_with(&format!("{text}it has one value for each of the 2 spatial axes, ")),
        "{error}"
    );
}

#[test]
fn pieces_of_an_axis_are_equal_or_stated() {
    let model = |version, attributes| {
        let model = Model::new().opset(version).input("x", &[9]);
        model.node_with("Split", &["x"], &["y", "z"], attributes).output("y").output("z")
    };
    // Before version 18 there is no `num_outputs`.
    for version in [11, 13, 18] {
        let error = refused(model(version, vec![]), &[("x", &[9])]);
        let rule = "they are equal pieces of an axis of 9 elements";
        let text =
            format!("node `n0` (Split), outputs: got 2; {rule}; state the sizes of the pieces in `split`");
        assert_eq!(error, text);
    }
    let error = refused(model(18, vec![int("num_outputs", -3)]), &[("x", &[9])]);
    let text = "node `n0` (Split), num_outputs: got -3; it is the number of outputs, 2; ";
    assert!(error.starts_with(text), "{error}");
    let pieces = model(18, vec![int("num_outputs", 2)]).run(&[("x", &[9], &[1.0; 9])]);
    assert_eq!(pieces.iter().map(|(dims, _)| dims[0]).collect::<Vec<_>>(), [5, 4]);
}

#[test]
fn a_type_that_an_op_does_not_compute_is_named() {
    let model =
        Model::new().input_of("x", DataType::INT32, &[2]).node("ReduceSum", &["x"], &["y"]).output("y");
    let network = model.read().expect("a graph").with_sizes(&Sizes::new());
    let error = network.expect_err("the model is refused").to_string();
    assert!(
        error.contains("the type i32 is not supported for tensors that a run computes; cast them"),
        "{error}"
    );
}

#[test]
fn instance_normalization_has_an_axis_besides_batch_and_channels() {
    let model = |dims: &[i64]| {
        let model = Model::new().input("x", dims).floats("s", &[3], &[1.0; 3]);
        model.node("InstanceNormalization", &["x", "s", "s"], &["y"]).output("y")
    };
    let error = refused(model(&[2, 3]), &[("x", &[2, 3])]);
    let text = "node `n0` (InstanceNormalization), input: got [2, 3]; it has 3 axes or more: ";
    assert!(error.starts_with(text), "{error}");
    model(&[2, 3, 4]).run(&[("x", &[2, 3, 4], &[1.0; 24])]);
}

#[test]
fn a_range_names_the_number_that_is_not_finite() {
    let range = |numbers: [f32; 3]| {
        let model = Model::new().input("x", &[1]);
        let names = ["start", "limit", "delta"];
        let model = names.iter().zip(numbers).fold(model, |m, (name, value)| m.floats(name, &[], &[value]));
        model.node("Range", &names, &["k"]).node("Add", &["x", "k"], &["y"]).output("y")
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let cases = [
        ([0.0, inf, 1.0], "limit: got inf; it is a finite number; "),
        ([nan, 3.0, 1.0], "start: got NaN; it is a finite number; "),
        ([0.0, 3.0, -inf], "delta: got -inf; it is a finite number; "),
        ([0.0, 3.0, 0.0], "delta: got 0; it is not 0; "),
        ([0.0, 3e38, 1e-38], "shape: got more than 2^64 elements; constants that are computed have at most"),
    ];
    for (numbers, text) in cases {
        let error = refused(range(numbers), &[("x", &[1])]);
        assert!(error.starts_with(&format!("node `n0` (Range), {text}")), "{numbers:?}: {error}");
    }
    assert_eq!(range([0.0, 3.0, 2.0]).run(&[("x", &[1], &[0.0])])[0].1, [0.0, 2.0]);
}

/// Integers that are known are folded through shape arithmetic only; the texts of other ops say so.
#[test]
fn integer_constants_that_an_op_does_not_fold_are_named() {
    let model = || {
        let model = Model::new().ints("a", &[3, 4]).ints("i", &[1, 0]).ints("one", &[1]);
        model.floats("half", &[], &[0.5])
    };
    let nodes: [(&str, &[&str]); 5] = [
        ("Pow", &["a", "half"]),
        ("ReduceMean", &["a"]),
        ("GatherElements", &["a", "i"]),
        ("ScatterElements", &["a", "i", "a"]),
        ("TopK", &["a", "one"]),
    ];
    for (op, inputs) in nodes {
        let outputs: &[&str] = if op == "TopK" { &["k", "places"] } else { &["k"] };
        let error = refused(adding(model().node(op, inputs, outputs)), &[("x", &[1])]);
        assert!(error.contains(&format!("constants of i64 are not folded through `{op}`; cast")), "{error}");
    }
    // The remedy works.
    let cast = model().node_with("Cast", &["a"], &["c"], vec![int("to", 1)]);
    let cast = cast.node("GatherElements", &["c", "i"], &["g"]).node_with(
        "Cast",
        &["g"],
        &["k"],
        vec![int("to", DataType::INT64.0.into())],
    );
    assert_eq!(adding(cast).run(&[("x", &[1], &[0.0])])[0].1, [4.0, 3.0]);
}

#[test]
fn pads_that_are_too_large_are_told_apart_from_a_wrong_count() {
    let pad = |pads: &[i64]| {
        let model = Model::new().input("x", &[2, 3]).ints("s", pads);
        refused(model.node("Pad", &["x", "s"], &["y"]).output("y"), &[("x", &[2, 3])])
    };
    let error = pad(&[1 << 40, 0, 0, 0]);
    let text = "node `n0` (Pad), pads: got 1099511627776; a tensor grows or shrinks by at most 2^31 elements";
    assert!(error.starts_with(text), "{error}");
    assert!(pad(&[1, 2, 3]).contains("there are 2 values for the begins, then as many for the ends"));
}

#[test]
fn a_negative_k_is_no_matter_of_the_input() {
    let top = |k: i64| {
        let model = Model::new().input("x", &[2, 3]).ints("k", &[k]);
        refused(model.node("TopK", &["x", "k"], &["y", "i"]).output("y"), &[("x", &[2, 3])])
    };
    let error = top(-1);
    assert!(error.starts_with("node `n0` (TopK), k: got -1; it is 0 or more; "), "{error}");
    assert!(!error.contains("larger input"), "{error}");
    assert!(top(4).contains("the axis has 3 elements; use a larger input"));
}

/// A run names the ONNX op of a node, and not the function of this library that computes its integers.
#[test]
fn errors_of_a_run_name_the_ops_of_the_model() {
    let model = |op, inputs: &[&str]| {
        let model =
            Model::new().input("x", &[2, 3]).input_of("i", DataType::INT64, &[2, 3]).ints("zero", &[0]);
        model.node(op, inputs, &["y"]).output("y")
    };
    let cases: [(&str, &[&str], &str); 4] = [
        ("Gather", &["x", "i"], "indices`: got 7, "),
        ("GatherElements", &["x", "i"], "indices`: got 7, "),
        ("Div", &["i", "zero"], "divisor`: got 0, "),
        ("Mul", &["i", "i"], "operands`: got a result of "),
    ];
    for (op, inputs, text) in cases {
        let x = StridedTensor::from_slice(&[1f32; 6], &[2, 3]).expect("an input");
        let value = if op == "Mul" { 100_000 } else { 7 };
        let i = StridedTensor::from_slice(&[value; 6], &[2, 3]).expect("an input");
        let graph = model(op, inputs).read().expect("a graph");
        let folder = tempfile::tempdir().expect("a folder");
        let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).expect("a plan");
        let path = folder.path().join("model.plan");
        plan.save(&path, false).expect("a file");
        let loaded = Plan::load(&PackedFile::read(&path).expect("a file")).expect("a plan");
        for plan in [plan, loaded] {
            let error = plan.run(&[&x, &i]).expect_err("no such integers").to_string();
            let start = format!("node `n0` ({op}): op `{op}`: argument `{text}");
            assert!(error.starts_with(&start), "{error}");
        }
    }
}

#[test]
fn a_node_inside_another_one_follows_its_name() {
    let body = |node: NodeProto| GraphProto {
        node: vec![
            NodeProto {
                op_type: Some("Identity".to_string()),
                input: vec!["c".to_string()],
                output: vec!["again".to_string()],
                ..NodeProto::default()
            },
            node,
        ],
        input: ["round", "c", "v"].map(|n| value(n, DataType::FLOAT, &[])).to_vec(),
        output: ["again", "w"].map(|n| ValueInfoProto { name: Some(n.to_string()), r#type: None }).to_vec(),
        ..GraphProto::default()
    };
    let node = |op: &str, inputs: &[&str], attribute| NodeProto {
        op_type: Some(op.to_string()),
        input: inputs.iter().map(|n| n.to_string()).collect(),
        output: vec!["w".to_string()],
        attribute,
        ..NodeProto::default()
    };
    let gather = body(node("Gather", &["v", "seven"], vec![]));
    let inner = body(node("Loop", &["two", "", "v"], vec![graph("body", gather)]));
    let model = Model::new().input("x", &[2]).int("two", 2).int("seven", 7);
    let model = model.node_with("Loop", &["two", "", "x"], &["y"], vec![graph("body", inner)]).output("y");
    let error = refused(model, &[("x", &[2])]);
    assert!(error.starts_with("node `n0/Loop_1/Gather_1` (Gather), indices: got 7; "), "{error}");
}

/// Some runtimes take any other number than 0 as on, others any other than 1 as off.
#[test]
fn a_switch_is_0_or_1() {
    let constant = || Model::new().ints("k", &[1, 2]);
    let image = || Model::new().input("x", &[1, 1, 4, 4]).int("zero", 0);
    let window = |switch, value| vec![ints("kernel_shape", &[2, 2]), int(switch, value)];
    for (model, op, inputs, attributes, switch) in [
        (image(), "ReduceSum", &["x"][..], vec![int("keepdims", 65_536)], "keepdims` is 65536"),
        (image(), "CumSum", &["x", "zero"], vec![int("exclusive", 7)], "exclusive` is 7"),
        (image(), "MaxPool", &["x"], window("ceil_mode", 2), "ceil_mode` is 2"),
        (image(), "AveragePool", &["x"], window("count_include_pad", -1), "count_include_pad` is -1"),
        (constant(), "ReduceSum", &["k"], vec![int("keepdims", 2)], "keepdims` is 2"),
    ] {
        let error = model.node_with(op, inputs, &["y"], attributes).output("y").run_on(vec![]).unwrap_err();
        let text = format!(": the attribute `{switch}, and it is 0 or 1");
        assert!(error.contains("node `n0`") && error.contains(&text), "{op}: {error}");
    }
    let mut model = image().node_with("FusedMatMul", &["x", "x"], &["y"], vec![int("transA", 3)]).output("y");
    model.graph.node[0].domain = Some("com.microsoft".to_string());
    let error = model.run_on(vec![]).unwrap_err();
    assert!(error.contains("the attribute `transA` is 3, and it is 0 or 1"), "{error}");
}

/// A mean and a variance are of f32; a model may ask for those of another type.
#[test]
fn a_mean_of_another_type_is_refused() {
    for of in [DataType::BFLOAT16, DataType::INT64] {
        let model = Model::new().input("x", &[1, 4]).floats("s", &[4], &[1.0; 4]);
        let stash = vec![int("stash_type", of.0.into())];
        let model = model.node_with("LayerNormalization", &["x", "s"], &["y"], stash).output("y");
        let error = refused(model, &[("x", &[1, 4])]);
        assert!(error.contains("node `n0`") && error.contains(&format!("stash_type = {of}")), "{error}");
    }
}
