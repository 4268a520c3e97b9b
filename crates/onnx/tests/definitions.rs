//! Nodes and values against what ONNX, and the model itself, say about them.

use blocktensor_graph::Sizes;
use blocktensor_onnx::{HostModel, HostNode, HostValue, Importer};
use rten_onnx::onnx::{AttributeProto, DataType, GraphProto, OperatorSetIdProto, TypeProto, ValueInfoProto};

use crate::support::{Model, float, graph, int, ints, tensor, value, word};

/// The error of a model that is read and gets its sizes.
#[track_caller]
fn refused(model: Model) -> String {
    match model.read() {
        Err(error) => error.to_string(),
        Ok(graph) => graph.with_sizes(&Sizes::new()).expect_err("an error").to_string(),
    }
}

#[track_caller]
fn assert_refused(model: Model, parts: &[&str]) {
    let error = refused(model);
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

fn two() -> Model {
    Model::new().input("x", &[1, 4]).input("z", &[1, 4])
}

#[test]
fn inputs_and_outputs_that_an_op_does_not_know_are_not_ignored() {
    assert_refused(
        two().node("Relu", &["x", "z"], &["y"]).output("y"),
        &["got 2 inputs; Relu has at most 1"],
    );
    assert_refused(
        two().node("Relu", &["x"], &["y", "z2"]).output("y"),
        &["got 2 outputs; Relu has at most 1"],
    );
    assert_refused(two().node("Add", &["x", "z", "x"], &["y"]).output("y"), &["got 3 inputs"]);
    // Names that are left out are not there.
    assert!(two().node("Relu", &["x", "", ""], &["y", ""]).output("y").read().is_ok());
}

#[test]
fn inputs_that_every_node_has_are_there() {
    for (op, inputs, place) in [
        ("Unsqueeze", vec!["x"], "input 1"),
        ("LayerNormalization", vec!["x"], "input 1"),
        ("Add", vec!["", "x"], "input 0"),
        ("Concat", vec!["x", "", "z"], "input 1"),
        ("Sum", vec![], "input 0"),
    ] {
        let attributes = if op == "Concat" { vec![int("axis", 1)] } else { vec![] };
        let model = two().node_with(op, &inputs, &["y"], attributes).output("y");
        assert_refused(model, &["`n0`", op, place, "got nothing"]);
    }
}

#[test]
fn attributes_belong_to_the_version_of_the_operator_set() {
    let x = || Model::new().input("x", &[1, 4]);
    let clip = x().opset(13).node_with("Clip", &["x"], &["y"], vec![float("max", 6.0)]).output("y");
    assert_refused(clip, &["`n0`", "`max`", "version 13"]);
    let axes = vec![ints("axes", &[1])];
    let squeeze = x().opset(13).ints("a", &[0]).node_with("Squeeze", &["x", "a"], &["y"], axes).output("y");
    assert_refused(squeeze, &["`axes`", "version 13"]);
    assert_refused(x().opset(17).node("Gelu", &["x"], &["y"]).output("y"), &["came with version 20"]);
    assert_refused(x().opset(23).node("Swish", &["x"], &["y"]).output("y"), &["came with version 24"]);
    assert!(x().opset(24).node("Swish", &["x"], &["y"]).output("y").read().is_ok());
    assert_refused(
        x().node("Concat", &["x"], &["y"]).output("y"),
        &["attribute `axis`", "every Concat has it"],
    );
}

#[test]
fn attributes_have_the_value_of_their_type() {
    let wrong = AttributeProto { i: Some(1), f: None, ..float("alpha", 0.0) };
    let model = Model::new().input("x", &[4]).node_with("Elu", &["x"], &["y"], vec![wrong]).output("y");
    assert_refused(model, &["`n0` (Elu)", "`alpha`"]);
}

#[test]
fn declared_types_are_compared() {
    let model = |of| {
        let mut model = Model::new().input("x", &[2]).node("Relu", &["x"], &["y"]);
        model.graph.output.push(value("y", of, &[2]));
        model
    };
    assert!(model(DataType::FLOAT).read().is_ok_and(|g| g.with_sizes(&Sizes::new()).is_ok()));
    assert_refused(model(DataType::DOUBLE), &["`n0` (Relu)", "output `y`", "got f32", "it is DOUBLE"]);
    assert_refused(model(DataType::INT64), &["got f32", "it is i64"]);
    let mut inner = Model::new().input("x", &[2]).node("Relu", &["x"], &["a"]).node("Relu", &["a"], &["y"]);
    inner.graph.value_info.push(value("a", DataType::INT32, &[2]));
    assert_refused(inner.output("y"), &["output `a`", "it is i32"]);
}

/// `TypeProto()` without a member: what scripts write that make an inner value an output.
#[test]
fn an_empty_type_says_nothing() {
    let model = |of: TypeProto| {
        let mut model = Model::new().input("x", &[2]).node("Relu", &["x"], &["y"]);
        model.graph.output.push(ValueInfoProto { name: Some("y".to_string()), r#type: Some(of) });
        model
    };
    assert_eq!(model(TypeProto::default()).run(&[("x", &[2], &[-1.0, 2.0])])[0].1, [0.0, 2.0]);
    let sequence = TypeProto { sequence: Some(Box::default()), ..TypeProto::default() };
    assert_refused(model(sequence), &["output `y`", "it is no tensor"]);
}

/// Versions 18 to 20 have a scale and a bias for each group, later ones for each channel.
#[test]
fn group_normalization_has_a_scale_for_each_group_before_version_21() {
    let model = |opset, count: usize, by_version: &[f32]| {
        let bias: Vec<f32> = by_version.iter().map(|v| v * 10.0).collect();
        let model = Model::new().opset(opset).input("x", &[1, 4, 2]);
        let model = model.floats("s", &[count as i64], by_version).floats("b", &[count as i64], &bias);
        model
            .node_with("GroupNormalization", &["x", "s", "b"], &["y"], vec![int("num_groups", 2)])
            .output("y")
    };
    let x: [f32; 8] = [1.0, 2.0, 3.0, 4.0, -1.0, 0.0, 1.0, 6.0];
    let inputs: &[(&str, &[usize], &[f32])] = &[("x", &[1, 4, 2], &x)];
    let old = model(18, 2, &[2.0, 3.0]).run(inputs);
    assert_eq!(old, model(20, 2, &[2.0, 3.0]).run(inputs));
    assert_eq!(old, model(21, 4, &[2.0, 2.0, 3.0, 3.0]).run(inputs));
    // The first group's mean is 2.5, its variance 1.25.
    let want = (1.0f32 - 2.5) / (1.25f32 + 1e-5).sqrt() * 2.0 + 20.0;
    assert!((old[0].1[0] - want).abs() < 1e-5, "{old:?}");
    assert_refused(model(20, 4, &[2.0; 4]), &["`n0` (GroupNormalization)", "scale: got [4]", "of 2 groups"]);
    assert_refused(
        model(21, 2, &[2.0; 2]),
        &["`n0` (GroupNormalization)", "scale: got [2]", "of 4 channels"],
    );
}

/// A host cannot say which ops are functions of the model; a file that has some is refused as a whole.
#[test]
fn functions_of_a_model_are_to_be_inlined() {
    let model = HostModel {
        opsets: vec![(String::new(), 18), ("local".to_string(), 1)],
        inputs: vec![HostValue { name: "x".into(), data_type: 1, dims: Some(vec![2.into()]) }],
        nodes: vec![HostNode {
            name: "f".into(),
            domain: "local".into(),
            op_type: "Twice".into(),
            inputs: vec!["x".into()],
            outputs: vec!["y".into()],
            ..HostNode::default()
        }],
        outputs: vec![HostValue { name: "y".into(), ..HostValue::default() }],
        ..HostModel::default()
    };
    let graph = Importer::new().from_host(model).expect("a graph");
    let error = graph.with_sizes(&Sizes::new()).expect_err("an error").to_string();
    // The function may have another version of ONNX's ops than the model.
    let inline = "`onnx.inliner.inline_local_functions` and `convert_version=True`";
    for part in ["`local`", "if this is a function of the model", inline] {
        assert!(error.contains(part), "{error}");
    }
    let mut bytes = Model::new().input("x", &[2]).node("Relu", &["x"], &["y"]).output("y").bytes();
    // Field 25 of a model, of no bytes: a function.
    bytes.extend([0xca, 0x01, 0x00]);
    let error = blocktensor_onnx::from_bytes(&bytes).expect_err("an error").to_string();
    assert!(error.contains("a function of the model's own"), "{error}");
    assert!(error.contains(inline), "{error}");
}

#[test]
fn initializers_agree_with_the_inputs_of_their_name() {
    let model = |of, dims: &[i64]| {
        let model = Model::new().input("x", &[2]).floats("w", &[2], &[1.0, 2.0]).input_of("w", of, dims);
        model.node("Add", &["x", "w"], &["y"]).output("y")
    };
    assert!(model(DataType::FLOAT, &[2]).read().is_ok());
    assert!(model(DataType::FLOAT, &[-1]).read().is_ok());
    assert_refused(model(DataType::FLOAT, &[3]), &["initializer `w`", "f32 [2]", "f32 [3]"]);
    assert_refused(model(DataType::INT64, &[2]), &["initializer `w`", "i64 [2]"]);
}

#[test]
fn sizes_of_operands_that_change_nothing_are_checked() {
    let norm = Model::new().input("x", &[2, 4]).floats("s", &[5], &[1.0; 5]);
    assert_refused(
        norm.node("LayerNormalization", &["x", "s"], &["y"]).output("y"),
        &["Scale", "[5]", "[4]"],
    );
    let split = Model::new().input("x", &[4]).ints("s", &[1, 2, 1]);
    assert_refused(split.node("Split", &["x", "s"], &["a", "b"]).output("a"), &["[1, 2, 1]", "there are 2"]);
    let scatter = Model::new().input("x", &[3, 2]).ints("i", &[0]).floats("u", &[2, 1], &[1.0, 2.0]);
    assert_refused(
        scatter.node("ScatterND", &["x", "i", "u"], &["y"]).output("y"),
        &["updates", "[2, 1]", "[2]"],
    );
    let attributes = vec![word("auto_pad", "VALID"), ints("pads", &[1, 1, 1, 1])];
    let conv = Model::new().input("x", &[1, 1, 4, 4]).floats("w", &[1, 1, 3, 3], &[1.0; 9]);
    assert_refused(
        conv.node_with("Conv", &["x", "w"], &["y"], attributes).output("y"),
        &["pads", "auto_pad"],
    );
}

#[test]
fn names_have_no_control_characters() {
    assert_refused(
        Model::new().input("a\nb", &[2]).node("Relu", &["a\nb"], &["y"]).output("y"),
        &["a\\nb", "control"],
    );
    assert_refused(two().node("Relu", &["x"], &["\u{1b}[2J"]).output("\u{1b}[2J"), &["control"]);
    let attribute = two().node_with("Relu", &["x"], &["y"], vec![word("a\u{1b}[31m", "b")]);
    assert_refused(attribute.output("y"), &["a\\u{1b}", "control"]);
    let padding = Model::new().input("x", &[1, 1, 4, 4]).input("g", &[1, 2, 2, 2]);
    let padding =
        padding.node_with("GridSample", &["x", "g"], &["y"], vec![word("padding_mode", "\u{1b}[31m")]);
    assert_refused(padding.output("y"), &["padding_mode", "\\u{1b}"]);
    let model = || two().node("Relu", &["x"], &["y"]).output("y").proto();
    let (mut domain, mut size) = (model(), model());
    let mut nodes = domain.graph.take().expect("a graph");
    nodes.node[0].domain = Some("d\u{1b}".into());
    domain.graph = Some(nodes);
    let mut values = size.graph.take().expect("a graph");
    let of = values.input[0].r#type.as_mut().and_then(|of| of.tensor_type.as_mut()).expect("a tensor");
    let dim = &mut of.shape.as_mut().expect("a shape").dim[0];
    (dim.dim_value, dim.dim_param) = (None, Some("d\n\u{1b}".into()));
    size.graph = Some(values);
    for proto in [domain, size] {
        let error = blocktensor_onnx::from_bytes(&proto.write_buf().expect("bytes"))
            .expect_err("an error")
            .to_string();
        assert!(error.contains("a control character") && !error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn versions_are_given_once_and_known() {
    let model = || two().node("Relu", &["x"], &["y"]).output("y").proto();
    let mut twice = model();
    twice.opset_import.push(OperatorSetIdProto { domain: Some("ai.onnx".into()), version: Some(12) });
    // The same version under ONNX's two names is no contradiction.
    let mut same = model();
    same.opset_import.push(OperatorSetIdProto { domain: Some("ai.onnx".into()), version: Some(18) });
    assert!(blocktensor_onnx::from_bytes(&same.write_buf().expect("bytes")).is_ok());
    let mut new = model();
    new.ir_version = Some(99);
    for (proto, part) in [(twice, "two versions"), (new, "version 99 of ONNX's file format")] {
        let bytes = proto.write_buf().expect("bytes");
        let error = blocktensor_onnx::from_bytes(&bytes).expect_err("an error").to_string();
        assert!(error.contains(part), "{error}");
        // A second graph in the file would replace the first, or be merged with it.
        let both = [&bytes[..], &model().write_buf().expect("bytes")[..]].concat();
        let error = blocktensor_onnx::from_bytes(&both).expect_err("an error").to_string();
        assert!(error.contains("two graphs"), "{error}");
    }
}

#[test]
fn computed_constants_have_a_limit_together() {
    let mut model = Model::new().input("x", &[1]).ints("k0", &[1]);
    for i in 0..40 {
        let (from, to) = (format!("k{i}"), format!("k{}", i + 1));
        model = model.node_with("Concat", &[&from, &from], &[&to], vec![int("axis", 0)]);
    }
    assert_refused(model.node("Size", &["k40"], &["y"]).output("y"), &["at most", "elements"]);
    let mut model = Model::new().input("x", &[1]).ints("s", &[1 << 24]).output("x");
    for i in 0..30 {
        let (k, y) = (format!("k{i}"), format!("y{i}"));
        model = model.node("ConstantOfShape", &["s"], &[&k]).node("Size", &[&k], &[&y]).output(&y);
    }
    assert_refused(model, &["`n32`", "1 GiB", "store it in the file"]);
    let padded = Model::new().input("x", &[1]).floats("a", &[1], &[1.0]).ints("p", &[0, 1 << 30]);
    assert_refused(padded.node("Pad", &["a", "p"], &["y"]).output("y"), &["`n0` (Pad)", "1 GiB"]);
}

#[test]
fn operands_have_the_types_of_their_op() {
    let ints = || Model::new().input_of("i", DataType::INT64, &[2]).input("x", &[2, 2]);
    let cases = [
        ints().node("And", &["i", "i"], &["y"]),
        ints().node("Where", &["i", "x", "x"], &["y"]),
        ints().node("Not", &["x"], &["y"]),
        ints().node("Sum", &["i", "i"], &["y"]),
        ints().node("Add", &["x", "i"], &["y"]),
        ints().floats("a", &[], &[0.7]).node("CumSum", &["x", "a"], &["y"]),
        ints().floats("a", &[], &[5.5]).int("b", 1).node("Range", &["b", "a", "b"], &["y"]),
        ints().floats("s", &[2], &[2.0, 2.0]).node("Reshape", &["x", "s"], &["y"]),
        ints().ints("s", &[1, 1]).node("Resize", &["x", "", "s"], &["y"]),
    ];
    for (i, model) in cases.into_iter().enumerate() {
        let error = refused(model.output("y"));
        assert!(error.contains("`n0`") && error.contains("cast"), "case {i}: {error}");
    }
}

#[test]
fn graphs_in_nodes_are_what_they_say() {
    let branch = |of, outputs: &[&str]| {
        let mut branch = Model::new();
        for name in outputs {
            branch = branch.node("Relu", &["x"], &[name]);
            branch.graph.output.push(value(name, of, &[2]));
        }
        branch.graph
    };
    let model = |then: GraphProto, otherwise: GraphProto| {
        let attributes = vec![graph("then_branch", then), graph("else_branch", otherwise)];
        let model = Model::new().input("x", &[2]);
        let condition = tensor("c", DataType::BOOL, &[], vec![1]);
        let mut model = model.node_with("If", &["c"], &["y"], attributes).output("y");
        model.graph.initializer.push(condition);
        model
    };
    let float = || branch(DataType::FLOAT, &["a"]);
    assert!(model(float(), float()).read().is_ok_and(|g| g.with_sizes(&Sizes::new()).is_ok()));
    assert_refused(model(branch(DataType::INT64, &["a"]), float()), &["output `a`", "it is i64"]);
    assert_refused(model(branch(DataType::FLOAT, &["a", "b"]), float()), &["then_branch", "2 outputs"]);
    assert_refused(model(float(), branch(DataType::FLOAT, &["a", "b"])), &["else_branch", "2 outputs"]);
}

#[test]
fn repeated_constants_count_too() {
    let model = || Model::new().input("x", &[1]).floats("c", &[2], &[1.0, 2.0]).ints("s", &[1 << 23]);
    let mut tiles = model();
    for i in 0..40 {
        tiles = tiles.node("Tile", &["c", "s"], &[&format!("t{i}")]).output(&format!("t{i}"));
    }
    assert_refused(tiles, &["(Tile)", "1 GiB"]);
}
