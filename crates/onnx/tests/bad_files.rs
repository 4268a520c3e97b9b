//! Files that are no models, or break a rule: errors that name the place, never a panic.

use blocktensor::MIN_STACK;
use blocktensor_graph::{Expansion, Result, Sizes, Value};
use blocktensor_onnx::{Attribute, Error, Importer, OnnxNode};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataLocation, DataType, GraphProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, ValueInfoProto,
};

use crate::support::{Model, float, graph, int, ints, run, tensor, tensor_attribute, value, word};

#[track_caller]
fn message(model: Model) -> String {
    model.read().expect_err("an error").to_string()
}

fn relu() -> Model {
    Model::new().input("x", &[1, 2]).node("Relu", &["x"], &["y"]).output("y")
}

#[test]
fn truncated_files_are_errors() {
    let bytes = relu().floats("w", &[3], &[1.0, 2.0, 3.0]).bytes();
    for end in 0..bytes.len() {
        // A file may end between two fields; then a part of the model is missing.
        let _ = blocktensor_onnx::from_bytes(&bytes[..end]).map(|g| g.with_sizes(&Sizes::new()));
    }
    for i in 0..bytes.len() {
        for change in [1u8, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[i] ^= change;
            let _ = blocktensor_onnx::from_bytes(&damaged).map(|g| g.with_sizes(&Sizes::new()));
        }
    }
}

#[test]
fn lengths_are_checked_before_memory_is_taken() {
    // A graph of 2^60 bytes.
    let bytes = [0x3a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert!(matches!(blocktensor_onnx::from_bytes(&bytes), Err(Error::Malformed { .. })));
    assert!(matches!(blocktensor_onnx::from_bytes(b"GIF89a, really"), Err(Error::Malformed { .. })));
}

/// The parser would look for the end of such a number for ever.
#[test]
fn numbers_have_an_end() {
    for field in [0x2a, 0x3a] {
        let numbers = [&[field, 12][..], &[0xff; 12]].concat();
        let initializer = [&[0x2a, 14][..], &numbers].concat();
        let model = [&[0x3a, 16][..], &initializer].concat();
        let error = blocktensor_onnx::from_bytes(&model).expect_err("an error").to_string();
        assert!(error.contains("64 bits"), "{error}");
    }
}

/// A model whose attribute `data` has this string, and these strings, in place of what the writer has there.
fn with_string(model: Model, text: &str, bytes: &[u8]) -> Vec<u8> {
    assert_eq!(text.len(), bytes.len());
    let mut file = model.bytes();
    let at: Vec<usize> = file
        .windows(text.len())
        .enumerate()
        .filter(|(_, one)| *one == text.as_bytes())
        .map(|(i, _)| i)
        .collect();
    assert_eq!(at.len(), 1);
    file[at[0]..at[0] + text.len()].copy_from_slice(bytes);
    file
}

/// In `onnx.proto` they are bytes: compiled models have plans in them, and labels may be Latin-1.
#[test]
fn strings_of_attributes_are_any_bytes() {
    let labels = AttributeProto {
        r#type: Some(AttributeType::STRINGS),
        strings: vec!["ok".to_string(), "LABEL".to_string()],
        ..word("labels", "")
    };
    let labels = AttributeProto { s: None, ..labels };
    for (attribute, text, bytes) in
        [(word("data", "BLOB"), "BLOB", &b"\xff\xfe\0\xe9"[..]), (labels, "LABEL", b"caf\xe9s")]
    {
        let model = || {
            let mut model = relu().node_with("Blob", &["x"], &["z"], vec![attribute.clone()]);
            model.graph.node[1].domain = Some("my".to_string());
            model
        };
        let file = with_string(model(), text, bytes);
        let graph = blocktensor_onnx::from_bytes(&file).expect("a graph");
        graph.with_sizes(&Sizes::new()).expect("nobody asks for what it makes");
        // An importer of its own reads the bytes.
        fn blob(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
            let (name, wanted) = match node.attribute("data") {
                Some(_) => ("data", vec![b"\xff\xfe\0\xe9".to_vec()]),
                None => ("labels", vec![b"ok".to_vec(), b"caf\xe9s".to_vec()]),
            };
            assert!(matches!(node.attribute(name), Some(Attribute::Bytes(bytes)) if *bytes == wanted));
            assert!(node.str(name).is_none());
            Ok(vec![cx.op("relu", &[("x", inputs[0].as_ref().expect("x"))], &[])?])
        }
        let file = with_string(model().output("z"), text, bytes);
        let graph = Importer::new().register("my", "Blob", blob).from_bytes(&file).expect("a graph");
        graph.with_sizes(&Sizes::new()).expect("an importer");
        // Without one the node is named.
        let graph = blocktensor_onnx::from_bytes(&file).expect("a graph");
        let error = graph.with_sizes(&Sizes::new()).expect_err("an error").to_string();
        assert!(
            error.contains("node `n1`: Blob(data = bytes that are not UTF-8)")
                || error.contains("node `n1`: Blob(labels = "),
            "{error}"
        );
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_where_an_op_reads_it() {
    let bytes = b"\xff\xfe\0\xe9";
    let conv = Model::new().input("x", &[1, 1, 4, 4]).floats("w", &[1, 1, 3, 3], &[1.0; 9]);
    let conv = conv.node_with("Conv", &["x", "w"], &["y"], vec![word("auto_pad", "WORD")]).output("y");
    let graph = blocktensor_onnx::from_bytes(&with_string(conv, "WORD", bytes)).expect("a graph");
    let error = graph.with_sizes(&Sizes::new()).expect_err("an error").to_string();
    assert!(error.contains("node `n0`: Conv("), "{error}");
    let text = "the attribute `auto_pad` is bytes that are not UTF-8, and this op reads it as text";
    assert!(error.contains(text), "{error}");
    let conv = Model::new().input("x", &[1, 1, 4, 4]).floats("w", &[1, 1, 3, 3], &[1.0; 9]);
    let mut conv =
        conv.node_with("FusedConv", &["x", "w"], &["y"], vec![word("activation", "WORD")]).output("y");
    conv.graph.node[0].domain = Some("com.microsoft".to_string());
    let graph = blocktensor_onnx::from_bytes(&with_string(conv, "WORD", bytes)).expect("a graph");
    let error = graph.with_sizes(&Sizes::new()).expect_err("an error").to_string();
    assert!(
        error.contains("the attribute `activation` = bytes that are not UTF-8 is not understood"),
        "{error}"
    );
    // What the reader calls such strings is text of others.
    for text in ["\0", "\u{0}000", "\u{0}1"] {
        let model = relu().node_with("Blob", &["x"], &["z"], vec![word("data", text)]).output("z");
        let mut model = model;
        model.graph.node[1].domain = Some("my".to_string());
        fn blob(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
            assert!(node.str("data").is_some_and(|text| text.starts_with('\0')));
            Ok(vec![cx.op("relu", &[("x", inputs[0].as_ref().expect("x"))], &[])?])
        }
        let graph = Importer::new().register("my", "Blob", blob).from_bytes(&model.bytes()).expect("a graph");
        graph.with_sizes(&Sizes::new()).expect("an importer");
    }
    // Names are UTF-8.
    let model = Model::new().input("x", &[1]).node("Relu", &["x"], &["WORD"]).output("y");
    let error =
        blocktensor_onnx::from_bytes(&with_string(model, "WORD", bytes)).expect_err("an error").to_string();
    let text = "the model: got a name that is not UTF-8, `\u{fffd}\u{fffd}\\0\u{fffd}`, at byte ";
    assert!(error.contains(text) && error.ends_with("export the model again with other names"), "{error}");
}

/// The parser would skip such a field, and the attribute would have no value.
#[test]
fn no_field_has_the_number_0() {
    let x = || Model::new().input("x", &[1, 4]);
    let model = x().node_with("Flatten", &["x"], &["y"], vec![int("axis", 77)]).output("y");
    let mut bytes = model.bytes();
    // The field 3 of an attribute, a number.
    let at = bytes.windows(2).position(|pair| pair == [3 << 3, 77]).expect("the axis");
    bytes[at] = 0;
    let error = blocktensor_onnx::from_bytes(&bytes).expect_err("an error").to_string();
    assert!(error.contains("an Attribute has a field with the number 0"), "{error}");
}

#[test]
fn graphs_in_graphs_have_a_limit_and_errors_name_the_node() {
    deepest(true);
    deepest(false);
}

#[track_caller]
fn deepest(is_named: bool) {
    let mut inner = GraphProto::default();
    for level in (0..100).rev() {
        let node = NodeProto {
            op_type: Some("If".to_string()),
            name: is_named.then(|| format!("choice {level}")),
            attribute: vec![graph("then_branch", inner)],
            ..Default::default()
        };
        let first = NodeProto { op_type: Some("Relu".to_string()), ..Default::default() };
        inner = GraphProto { node: vec![first, node], ..Default::default() };
    }
    let mut model = Model::new().output("y");
    model.graph.node = inner.node;
    let error = message(model);
    // The model, its graph, and 33 nodes with an attribute and a graph each: the 34th is too deep.
    let node = if is_named { "node `choice 32` (If)" } else { "node `If_1` (If)" };
    let limit = "more than 100 messages inside each other, three for each `If` or `Loop`, is not supported";
    let remedy = "export it with fewer `If` and `Loop` nodes inside each other";
    assert_eq!(error, format!("{node}: {limit}; {remedy}"));
}

/// The deepest model that is read fits on the smallest stack that the library takes, from reading to dropping.
#[test]
fn graphs_up_to_the_limit_are_read_on_a_small_stack() {
    let port = |name: &str| ValueInfoProto { name: Some(name.to_string()), r#type: None };
    let node = |op: &str, inputs: &[&str], attribute| NodeProto {
        op_type: Some(op.to_string()),
        input: inputs.iter().map(|n| n.to_string()).collect(),
        output: vec!["y".to_string()],
        attribute,
        ..Default::default()
    };
    let of = |node| GraphProto { node: vec![node], output: vec![port("y")], ..Default::default() };
    let mut inner = node("Relu", &["x"], vec![]);
    for _ in 0..32 {
        let other = of(node("Neg", &["x"], vec![]));
        let branches = vec![graph("then_branch", of(inner)), graph("else_branch", other)];
        inner = node("If", &["c"], branches);
    }
    let mut model = Model::new().input("x", &[2]).output("y");
    model.graph.node = vec![inner];
    model.graph.initializer = vec![tensor("c", DataType::BOOL, &[], vec![1])];
    let bytes = model.bytes();
    let read = move || blocktensor_onnx::from_bytes(&bytes).map_err(|e| e.to_string());
    let thread = |stack| std::thread::Builder::new().stack_size(stack);
    let graph = thread(MIN_STACK).spawn(read).expect("a thread").join().expect("no panic").expect("a model");
    // The call of an op inside needs that much stack for itself.
    let expand = move || graph.with_sizes(&Sizes::new()).map(|n| n.nodes().len()).map_err(|e| e.to_string());
    let nodes = thread(MIN_STACK * 5 / 4).spawn(expand).expect("a thread").join().expect("no panic");
    assert_eq!(nodes, Ok(1));
}

#[test]
fn tensors_agree_with_their_sizes() {
    let mut model = relu();
    model.graph.initializer.push(tensor("w", DataType::FLOAT, &[2, 2], vec![0; 12]));
    assert!(message(model).contains("initializer `w`: got 12 bytes of data"));
    for dims in
        [vec![i64::MAX, 4], vec![1 << 40, 1 << 40], vec![-1], vec![1; 13], vec![0, i64::MAX, i64::MAX]]
    {
        let mut model = relu();
        model.graph.initializer.push(tensor("w", DataType::FLOAT, &dims, vec![]));
        let error = message(model);
        assert!(error.contains("initializer `w`"), "{dims:?}: {error}");
    }
    for of in [DataType::FLOAT16, DataType::DOUBLE, DataType(99)] {
        let mut model = relu();
        model.graph.initializer.push(tensor("w", of, &[1], vec![0; 8]));
        assert!(message(model).contains(&format!("the data type {of} is not supported")));
    }
    // INT4: a quantised model.
    let mut model = relu();
    model.graph.initializer.push(tensor("w", DataType(22), &[1], vec![0; 8]));
    let error = message(model);
    assert!(
        error.contains("quantise the model with integers of 8 bits, or export it with f32 numbers"),
        "{error}"
    );
}

/// Readers differ in which of two fields they take. Those that are empty hold nothing, and entries about external data are only
/// read where the tensor says that it has such data: onnx.checker decides so too.
#[test]
fn a_tensor_has_its_elements_in_one_field() {
    let base = || tensor("w", DataType::FLOAT, &[2], [1f32, 2.0].map(f32::to_le_bytes).concat());
    let listed = || TensorProto { raw_data: None, float_data: vec![1.0, 2.0], ..base() };
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value.to_string()),
    };
    let entries = || vec![entry("location", "w.bin")];
    let external = Some(DataLocation::EXTERNAL);
    let cases = [
        (TensorProto { float_data: vec![3.0, 4.0], ..base() }, "`float_data` and `raw_data`"),
        (TensorProto { int32_data: vec![3, 4], ..listed() }, "`float_data` and `int32_data`"),
        (TensorProto { int64_data: vec![3, 4], ..base() }, "`int64_data` and `raw_data`"),
        (TensorProto { double_data: vec![3.0], ..base() }, "`raw_data` and `double_data`"),
        (
            TensorProto { data_location: external, external_data: entries(), ..base() },
            "external data and `raw_data`",
        ),
        (
            TensorProto { data_location: external, external_data: entries(), ..listed() },
            "external data and `float_data`",
        ),
    ];
    let rule = "one field of a tensor holds its elements; the file is damaged: export the model again";
    for (tensor, fields) in cases {
        let mut model = relu();
        model.graph.initializer.push(tensor.clone());
        assert_eq!(message(model), format!("initializer `w`: got both {fields}; {rule}"));
        let constant = vec![tensor_attribute("value", tensor)];
        let error = message(Model::new().node_with("Constant", &[], &["y"], constant).output("y"));
        assert_eq!(error, format!("node `n0` (Constant): got both {fields}; {rule}"));
    }
    // `uint64_data` is the field 11, here as a list and as a number of its own.
    for field in [&[0x5a, 1, 7][..], &[0x58, 7]] {
        let tensor = [&[0x08, 1, 0x10, 13, 0x42, 1, b'w', 0x4a, 8][..], &[0; 8], field].concat();
        let graph = [&[0x2a, tensor.len() as u8][..], &tensor].concat();
        let model = [&[0x3a, graph.len() as u8][..], &graph].concat();
        let error = blocktensor_onnx::from_bytes(&model).expect_err("an error").to_string();
        assert_eq!(error, format!("initializer `w`: got both `raw_data` and `uint64_data`; {rule}"));
    }
    let fine = [
        TensorProto { raw_data: Some(vec![].into()), ..listed() },
        TensorProto { external_data: entries(), ..base() },
        TensorProto { external_data: entries(), data_location: Some(DataLocation::DEFAULT), ..listed() },
    ];
    for tensor in fine {
        let mut model = Model::new().input("x", &[2]).node("Add", &["x", "w"], &["y"]).output("y");
        model.graph.initializer.push(tensor);
        assert_eq!(model.run(&[("x", &[2], &[10.0, 20.0])])[0].1, [11.0, 22.0]);
    }
}

#[test]
fn names_are_unique_and_known() {
    let twice = relu().node("Relu", &["x"], &["y"]);
    assert!(message(twice).contains("`n1`: got the output `y`"));
    let unknown = Model::new().input("x", &[1]).node("Add", &["x", "z"], &["y"]).output("y");
    assert!(message(unknown).contains("node `n0`: got the input `z`"));
    assert!(message(relu().output("z")).contains("`z`"));
    let initializers = relu().floats("w", &[1], &[1.0]).floats("w", &[1], &[1.0]);
    assert!(message(initializers).contains("`w`"));
    let cycle = Model::new()
        .input("x", &[1])
        .node("Add", &["x", "b"], &["a"])
        .node("Relu", &["a"], &["b"])
        .node("Relu", &["b"], &["y"])
        .output("y");
    let error = message(cycle);
    assert!(error.contains("a cycle") && (error.contains("`n0`") || error.contains("`n1`")), "{error}");
}

#[test]
fn versions_are_checked() {
    for version in [10, 26] {
        let error = message(relu().opset(version));
        assert!(error.contains(&format!("version {version}")) && error.contains("11 to 25"), "{error}");
    }
    let mut proto = relu().proto();
    proto.opset_import = vec![OperatorSetIdProto { domain: Some("other".into()), version: Some(1) }];
    let error = blocktensor_onnx::from_bytes(&proto.write_buf().expect("bytes")).expect_err("an error");
    assert!(error.to_string().contains("`n0` (Relu)"), "{error}");
}

#[test]
fn nodes_that_cannot_run_are_listed_together() {
    let mut model = Model::new()
        .input("x", &[1, 2])
        .node("Relu", &["x"], &["a"])
        .node("Fancy", &["a"], &["b"])
        .node_with("Relu", &["a"], &["c"], vec![int("speed", 3)])
        .node_with("Softmax", &["a"], &["d"], vec![word("axis", "last")])
        .node("Foreign", &["a"], &["e"])
        .output("b")
        .output("c")
        .output("d")
        .output("e");
    model.graph.node[4].domain = Some("com.example".to_string());
    let error = model.read().expect("a graph").with_sizes(&Sizes::new()).expect_err("an error").to_string();
    for part in
        ["4 nodes", "`n1`: Fancy", "`speed` is not known", "`axis` is \"last\"", "`com.example`", "`a`"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// What only training or functions have, with the remedy for it.
#[test]
fn parts_that_are_not_read_name_their_remedy() {
    let mut bytes = relu().bytes();
    // Field 20 of a model, of no bytes: training information.
    bytes.extend([0xa2, 0x01, 0x00]);
    let error = blocktensor_onnx::from_bytes(&bytes).expect_err("an error").to_string();
    let remedy = "remove it (`del model.training_info[:]`), or export the model for inference";
    assert_eq!(error, format!("the model: training information is not supported; {remedy}"));
    let model = Model::new().input("x", &[2]).node_with("Elu", &["x"], &["y"], vec![float("alpha", 1.0)]);
    let mut bytes = model.output("y").bytes();
    // The field 2 of an attribute, f32, becomes its field 21, a text of two bytes that names an attribute.
    let at = bytes.windows(5).position(|part| part == [0x15, 0, 0, 0x80, 0x3f]).expect("alpha");
    bytes[at..at + 5].copy_from_slice(&[0xaa, 0x01, 2, b'a', b'b']);
    let error = blocktensor_onnx::from_bytes(&bytes).expect_err("an error").to_string();
    let got = "node `n0` (Elu): got an attribute that refers to a function's";
    assert_eq!(error, format!("{got}; only nodes of functions have those; give the attribute a value"));
}

#[test]
fn importers_of_other_domains() {
    fn square(
        _: &blocktensor_onnx::OnnxNode,
        inputs: &[Option<blocktensor_graph::Value>],
        cx: &mut blocktensor_graph::Expansion<'_>,
    ) -> blocktensor_graph::Result<Vec<blocktensor_graph::Value>> {
        let x = inputs[0].as_ref().ok_or_else(|| cx.unsupported("no input"))?;
        Ok(vec![cx.op("square", &[("x", x)], &[])?])
    }
    let mut model = Model::new().input("x", &[2]).node("Square", &["x"], &["y"]).output("y");
    model.graph.node[0].domain = Some("org.example".to_string());
    let importer = blocktensor_onnx::Importer::new().register("org.example", "Square", square);
    let graph = importer.from_bytes(&model.bytes()).expect("a graph");
    let network = graph.with_sizes(&Sizes::new()).expect("a network");
    let x = blocktensor::StridedTensor::from_slice(&[3f32, -4.0], &[2]).expect("a tensor");
    let y = run(&network, &[("x".to_string(), x)].into()).expect("a run");
    assert_eq!(y[0].1.to_vec::<f32>().expect("numbers"), [9.0, 16.0]);
}

/// A few bytes that ask for 2^22 rows of 4,096 integers.
#[test]
fn selections_of_constants_have_a_limit() {
    let value = tensor("", DataType::INT64, &[1], vec![0; 8]);
    let zeros = |model: Model, sizes: &str, name: &str| {
        model.node_with("ConstantOfShape", &[sizes], &[name], vec![tensor_attribute("value", value.clone())])
    };
    let model = Model::new().ints("s", &[1, 4096]).ints("t", &[1 << 22]);
    let model = zeros(zeros(model, "s", "k"), "t", "j").node("Gather", &["k", "j"], &["z"]);
    let graph = model.node("Size", &["z"], &["y"]).output("y").read().expect("a graph");
    let error = graph.with_sizes(&Sizes::new()).expect_err("an error").to_string();
    assert!(error.contains("`n2`") && error.contains("elements"), "{error}");
}

#[test]
fn bad_arguments_of_ops_are_errors() {
    let sized = |model: Model| -> Result<_, Error> { Ok(model.read()?.with_sizes(&Sizes::new())?) };
    let x = || Model::new().input("x", &[1, 4, 6, 6]);
    let window = |op: &str, attributes| x().node_with(op, &["x"], &["y"], attributes).output("y");
    let cases = vec![
        window("MaxPool", vec![]),
        window("MaxPool", vec![ints("kernel_shape", &[2])]),
        window("MaxPool", vec![ints("kernel_shape", &[0, 2])]),
        window("MaxPool", vec![ints("kernel_shape", &[2, 2]), ints("strides", &[0, 1])]),
        window("MaxPool", vec![ints("kernel_shape", &[9, 9])]),
        window("AveragePool", vec![ints("kernel_shape", &[2, 2]), word("auto_pad", "SAME")]),
        window("Softmax", vec![int("axis", 4)]),
        window("Softmax", vec![int("axis", 4)]).opset(12),
        Model::new().opset(12).input("x", &[3]).node("LogSoftmax", &["x"], &["y"]).output("y"),
        window("Transpose", vec![ints("perm", &[0, 1, 2])]),
        window("Transpose", vec![ints("perm", &[0, 1, 2, 2])]),
        window("DepthToSpace", vec![int("blocksize", 3)]),
        window("DepthToSpace", vec![int("blocksize", i64::MIN)]),
        window("Split", vec![int("num_outputs", 0)]),
        window("Split", vec![int("num_outputs", 1 << 60)]),
        x().ints("s", &[-1, -1]).node("Reshape", &["x", "s"], &["y"]).output("y"),
        x().ints("s", &[5, -1]).node("Reshape", &["x", "s"], &["y"]).output("y"),
        x().ints("s", &[i64::MAX, 2]).node("Reshape", &["x", "s"], &["y"]).output("y"),
        x().ints("s", &[1 << 40, 1 << 40, 1, 1]).node("Tile", &["x", "s"], &["y"]).output("y"),
        x().ints("s", &[1 << 40]).node("ConstantOfShape", &["s"], &["y"]).output("y"),
        x().ints("i", &[7]).node("Gather", &["x", "i"], &["y"]).output("y"),
        x().ints("p", &[0, 0, 0]).node("Pad", &["x", "p"], &["y"]).output("y"),
        x().ints("p", &[0, 0, -4, 0, 0, 0, -4, 0]).node("Pad", &["x", "p"], &["y"]).output("y"),
        x().ints("p", &[i64::MIN, 0, 0, 0, 0, 0, 0, 0]).node("Pad", &["x", "p"], &["y"]).output("y"),
        x().ints("a", &[1]).ints("b", &[0]).node("Div", &["a", "b"], &["y"]).output("y"),
        x().int("a", 0).int("b", i64::MAX).int("c", 1).node("Range", &["a", "b", "c"], &["y"]).output("y"),
        x().floats("w", &[2, 4, 3], &[0.0; 24]).node("Conv", &["x", "w"], &["y"]).output("y"),
    ];
    for (i, model) in cases.into_iter().enumerate() {
        let error = sized(model).err().unwrap_or_else(|| panic!("case {i} is read")).to_string();
        assert!(error.contains("n0"), "case {i}: {error}");
    }
}

#[test]
fn inputs_keep_their_symbolic_sizes() {
    let mut model = relu();
    let mut input = value("x", DataType::FLOAT, &[-1, 3, -1]);
    if let Some(shape) =
        input.r#type.as_mut().and_then(|t| t.tensor_type.as_mut()).and_then(|t| t.shape.as_mut())
    {
        shape.dim[0].dim_param = Some("batch".to_string());
    }
    model.graph.input = vec![input];
    let graph = model.read().expect("a graph");
    assert_eq!(graph.named_sizes(), ["batch", "x_2"]);
}
