//! Integers of all widths, known and computed by a run.

use blocktensor::StridedTensor;
use blocktensor_graph::{ElementType, Integer, Layouts, PlanOptions};
use rten_onnx::onnx::{DataType, TensorProto};

use crate::support::{Model, int, tensor, tensor_attribute};

fn s32(values: &[i32]) -> StridedTensor {
    StridedTensor::from_slice(values, &[values.len()]).expect("a tensor")
}

fn one(value: f32) -> StridedTensor {
    StridedTensor::from_slice(&[value], &[1]).expect("a tensor")
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

/// A cast of integers, or of numbers, to the type of this number, by a run.
fn cast(from: DataType, values: StridedTensor, to: i64) -> Result<Vec<f32>, String> {
    let model = Model::new().input_of("x", from, &[values.numel() as i64]);
    let model = model.node_with("Cast", &["x"], &["y"], vec![int("to", to)]).output("y");
    Ok(model.run_on(vec![("x", values)])?.remove(0).1)
}

#[test]
fn casts_of_a_run_keep_the_low_bits() {
    // As ONNX says: 200 as i8 is -56.
    assert_eq!(cast(DataType::INT32, s32(&[300, -1, 7]), 2), Ok(vec![44.0, 255.0, 7.0]));
    assert_eq!(cast(DataType::INT32, s32(&[200, -129]), 3), Ok(vec![-56.0, 127.0]));
    assert_eq!(cast(DataType::INT32, s32(&[70000]), 4), Ok(vec![4464.0]));
    assert_eq!(cast(DataType::INT64, s32(&[40000]), 5), Ok(vec![-25536.0]));
    let numbers = StridedTensor::from_slice(&[2.9f32, -2.9], &[2]).expect("a tensor");
    assert_eq!(cast(DataType::FLOAT, numbers, 7), Ok(vec![2.0, -2.0]));
}

#[test]
fn integers_that_do_not_fit_into_32_bits_are_errors() {
    let numbers = StridedTensor::from_slice(&[3e9f32], &[1]).expect("a tensor");
    let error = cast(DataType::FLOAT, numbers, 7).expect_err("3e9 has more than 32 bits");
    assert!(error.contains("3000000000") && error.contains("integers of all types as s32"), "{error}");
    let square = |of| {
        let model = Model::new().input_of("x", of, &[1]).node("Mul", &["x", "x"], &["y"]).output("y");
        model.run_on(vec![("x", s32(&[100_000]))])
    };
    let error = square(DataType::INT64).expect_err("10^10 has more than 32 bits");
    assert!(error.contains("10000000000") && error.contains("op `Mul`"), "{error}");
    // 10^10 = 2 * 2^32 + 1410065408.
    assert_eq!(square(DataType::INT32), Ok(vec![(vec![1], vec![1410065408.0])]));
}

/// ONNX leaves these casts undefined, and other runtimes give what the machine's instruction gives.
#[test]
fn casts_of_numbers_that_the_type_does_not_hold_are_errors() {
    let types = [
        (DataType::INT8, 3, "i8 takes -128 to 127", 200.0),
        (DataType::UINT8, 2, "u8 takes 0 to 255", -1.0),
        (DataType::INT16, 5, "i16 takes -32768 to 32767", 32768.0),
        (DataType::UINT16, 4, "u16 takes 0 to 65535", 65536.0),
        (DataType::INT32, 6, "i32 takes -2147483648 to 2147483647", 2147483648.0),
        (DataType::UINT32, 12, "u32 takes 0 to 4294967295", -1.0),
        (DataType::INT64, 7, "i64 takes -9223372036854775808 to 9223372036854775807", 1e19),
        (DataType::UINT64, 13, "u64 takes 0 to 9223372036854775807", -1.0),
    ];
    let folded = |value: f32, to| {
        let model = Model::new().input("x", &[1]).floats("c", &[1], &[value]);
        let model = model.node_with("Cast", &["c"], &["i"], vec![int("to", to)]);
        let model = model.node_with("Cast", &["i"], &["f"], vec![int("to", 1)]);
        model.node("Add", &["x", "f"], &["y"]).output("y").run_on(vec![("x", one(0.0))])
    };
    for (of, to, rule, outside) in types {
        for (value, got) in
            [(f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf"), (f32::NAN, "NaN"), (outside, "")]
        {
            let got = if got.is_empty() { format!("{value:?}") } else { got.to_string() };
            let rule = format!("a cast to {rule}, and ONNX leaves that of other numbers undefined");
            let error = cast(DataType::FLOAT, one(value), to).expect_err("a run");
            let text = format!("op `Cast`: argument `x`: got {got}, but {rule}; pass other values, or clip");
            assert!(error.starts_with(&text), "{of}: {error}");
            let error = folded(value, to).expect_err("a constant");
            let text = format!("node `n0` (Cast), input: got {got}; {rule}; pass other values, or clip");
            assert!(error.starts_with(&text), "{of}: {error}");
        }
        let own = if to == 13 { "u64 are read and computed as i64 here" } else { "and ONNX leaves that" };
        let large = cast(DataType::FLOAT, one(9.3e18), to).expect_err("2^63 or more");
        assert!(large.contains(own), "{large}");
        assert_eq!(cast(DataType::FLOAT, one(100.9), to), Ok(vec![100.0]), "{of}");
        assert_eq!(folded(100.9, to), Ok(vec![(vec![1], vec![100.0])]), "{of}");
        // A fraction is dropped before the range is checked.
        assert_eq!(cast(DataType::FLOAT, one(-0.9), to), Ok(vec![0.0]), "{of}");
        assert_eq!(folded(-0.9, to), Ok(vec![(vec![1], vec![0.0])]), "{of}");
    }
    assert_eq!(cast(DataType::FLOAT, one(255.5), 2), Ok(vec![255.0]));
}

#[test]
fn an_index_outside_an_axis_is_told_with_the_indices_that_it_has() {
    let told = |error: &str, i: i64| {
        error.contains(&format!("got {i}")) && error.contains("indices of this axis are from -6 to 5; ")
    };
    let x = || StridedTensor::from_slice(&[0f32; 6], &[6]).expect("a tensor");
    for i in [-7, 6] {
        for op in ["Gather", "GatherElements"] {
            let model = Model::new().input("x", &[6]).input_of("i", DataType::INT64, &[1]);
            let run = model.node(op, &["x", "i"], &["y"]).output("y");
            let error = run.run_on(vec![("x", x()), ("i", s32(&[i as i32]))]).expect_err("a run");
            assert!(told(&error, i), "{op}: {error}");
        }
        let error = |model: Model| model.output("y").run_on(vec![("x", x())]).expect_err("a constant");
        let model = || Model::new().input("x", &[6]).ints("i", &[i]).floats("u", &[1], &[1.0]);
        let by_axes = || model().node_with("Unsqueeze", &["i", "zero"], &["j"], vec![]).ints("zero", &[0]);
        for text in [
            error(model().node("Gather", &["x", "i"], &["y"])),
            error(model().node("GatherElements", &["x", "i"], &["y"])),
            error(model().node("ScatterElements", &["x", "i", "u"], &["y"])),
            error(by_axes().node("GatherND", &["x", "j"], &["y"])),
            error(by_axes().node("ScatterND", &["x", "j", "u"], &["y"])),
            error(model().ints("c", &[0; 6]).node("Gather", &["c", "i"], &["y"])),
        ] {
            assert!(told(&text, i), "{text}");
        }
    }
}

#[test]
fn a_division_by_zero_is_an_error_of_the_run_as_of_the_folding() {
    let text = "integers are not divided by 0; pass other values, or another input size";
    for (op, fmod, good) in [("Div", 0, [3.0, -3.0]), ("Mod", 0, [1.0, 1.0]), ("Mod", 1, [1.0, -1.0])] {
        let attributes = || if op == "Mod" { vec![int("fmod", fmod)] } else { vec![] };
        let inputs =
            || Model::new().input_of("a", DataType::INT64, &[2]).input_of("b", DataType::INT64, &[2]);
        let model = || inputs().node_with(op, &["a", "b"], &["y"], attributes()).output("y");
        let run = |b: &[i32]| model().run_on(vec![("a", s32(&[7, -7])), ("b", s32(b))]);
        assert_eq!(run(&[2, 2]), Ok(vec![(vec![2], good.to_vec())]));
        let error = run(&[2, 0]).expect_err(op);
        assert!(error.contains("divisor") && error.contains("got 0") && error.contains(text), "{error}");
        let folded = Model::new().input("x", &[1]).ints("a", &[7, -7]).ints("b", &[0, 2]);
        let folded = folded.node_with(op, &["a", "b"], &["c"], attributes());
        let folded = folded.node_with("Cast", &["c"], &["f"], vec![int("to", 1)]);
        let folded = folded.node("Add", &["x", "f"], &["y"]).output("y");
        let x = StridedTensor::from_slice(&[0f32], &[1]).expect("a tensor");
        let error = folded.run_on(vec![("x", x)]).expect_err(op);
        assert!(error.contains("divisor") && error.contains("got 0") && error.contains(text), "{error}");
    }
}

#[test]
fn inputs_that_their_type_cannot_hold_are_refused() {
    let run = |of, values: StridedTensor| {
        let model = Model::new().input_of("x", of, &[2]);
        let graph =
            model.node_with("Cast", &["x"], &["y"], vec![int("to", 1)]).output("y").read().expect("a model");
        let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).expect("a plan");
        plan.run(&[&values]).map(|y| y[0].to_vec::<f32>().expect("numbers")).map_err(|e| e.to_string())
    };
    for (of, good, bad, range) in [
        (DataType::INT8, [127, -128], 128, "from -128 to 127"),
        (DataType::INT8, [0, 1], -129, "from -128 to 127"),
        (DataType::INT16, [32767, -32768], 40000, "from -32768 to 32767"),
        (DataType::UINT8, [0, 255], -1, "from 0 to 255"),
        (DataType::UINT8, [0, 255], 256, "from 0 to 255"),
    ] {
        assert_eq!(run(of, s32(&good)), Ok(good.map(|v| v as f32).to_vec()));
        let error = run(of, s32(&[1, bad])).expect_err(range);
        assert!(error.contains("input `x`") && error.contains(&format!("got {bad}")), "{error}");
        assert!(error.contains(range), "{error}");
    }
    let bytes = |values: &[u8]| StridedTensor::from_slice(values, &[2]).expect("a tensor");
    assert_eq!(run(DataType::BOOL, bytes(&[0, 1])), Ok(vec![0.0, 1.0]));
    let error = run(DataType::BOOL, bytes(&[1, 2])).expect_err("no Boolean");
    assert!(error.contains("got 2") && error.contains("bool") && error.contains("0 or 1"), "{error}");
    assert!(run(DataType::INT32, s32(&[i32::MIN, i32::MAX])).is_ok());
}

#[test]
fn arithmetic_of_narrow_types_wraps() {
    let twice = |of, value| {
        let model = Model::new().input_of("x", of, &[1]).node("Add", &["x", "x"], &["y"]).output("y");
        model.run_on(vec![("x", s32(&[value]))]).map(|y| y[0].1[0])
    };
    assert_eq!(twice(DataType::UINT8, 200), Ok(144.0));
    assert_eq!(twice(DataType::INT8, 100), Ok(-56.0));
    assert_eq!(twice(DataType::INT16, 20000), Ok(-25536.0));
}

#[test]
fn constants_of_narrow_types_wrap() {
    let constant = |of, bytes: Vec<u8>| -> TensorProto { tensor("", of, &[], bytes) };
    let run = |of, bytes: Vec<u8>, op: &str| {
        Model::new()
            .input("x", &[1])
            .node_with("Constant", &[], &["a"], vec![tensor_attribute("value", constant(of, bytes))])
            .node(op, &["a", "a"], &["b"])
            .node_with("Cast", &["b"], &["f"], vec![int("to", 1)])
            .node("Add", &["x", "f"], &["y"])
            .output("y")
            .run(&[("x", &[1], &[0.0])])[0]
            .1[0]
    };
    assert_eq!(run(DataType::UINT8, vec![200], "Add"), 144.0);
    assert_eq!(run(DataType::INT8, vec![100], "Mul"), 16.0);
    // 3^40 is 12157665459056928801 modulo 2^64, as i64 and then as f32.
    let power = |base: i64, exponent: i64| {
        let model = Model::new().input("x", &[1]).int("a", base).int("b", exponent);
        let model =
            model.node("Pow", &["a", "b"], &["c"]).node_with("Cast", &["c"], &["f"], vec![int("to", 1)]);
        model.node("Add", &["x", "f"], &["y"]).output("y").run(&[("x", &[1], &[0.0])])[0].1[0]
    };
    assert_eq!(power(3, 40), 12157665459056928801u64 as i64 as f32);
    assert_eq!([power(1, -1), power(-1, -3), power(-1, -2), power(2, -1)], [1.0, -1.0, 1.0, 0.0]);
}

#[test]
fn operands_of_several_types_are_refused() {
    let model = || Model::new().input_of("x", DataType::INT32, &[1]).ints("one", &[1]);
    let error = model().node("Add", &["x", "one"], &["y"]).output("y").run_on(vec![("x", s32(&[1]))]);
    assert!(error.clone().is_err_and(|e| e.contains("i32 and i64") && e.contains("cast")), "{error:?}");
    let error = model().node("Foo", &["x"], &["y"]).output("y").run_on(vec![("x", s32(&[1]))]);
    assert!(error.is_err_and(|e| e.contains("ONNX has no op of this name")));
}

#[test]
fn indices_of_a_run_count_from_the_end() {
    let model = || Model::new().input("x", &[3, 2]).input_of("i", DataType::INT64, &[2]);
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).expect("a tensor");
    let rows = |i: &[i32]| {
        model().node("Gather", &["x", "i"], &["y"]).output("y").run_on(vec![("x", x.clone()), ("i", s32(i))])
    };
    assert_eq!(rows(&[-1, 0]), Ok(vec![(vec![2, 2], vec![5.0, 6.0, 1.0, 2.0])]));
    assert!(rows(&[-4, 0]).is_err() && rows(&[0, 3]).is_err());
}

#[test]
fn a_constant_that_kernels_cannot_take_has_a_node() {
    let model = Model::new().input_of("x", DataType::INT64, &[1]).ints("c", &[i64::MAX]);
    let error = model.node("Less", &["x", "c"], &["y"]).output("y").run_on(vec![("x", s32(&[1]))]);
    assert!(
        error.clone().is_err_and(|e| e.contains("node `n0` (Less)") && e.contains("32-bit")),
        "{error:?}"
    );
}

#[test]
fn unsigned_integers_beyond_i64_are_errors() {
    let error = cast(DataType::INT64, s32(&[-1]), 13).expect_err("2^64 - 1 has 64 bits");
    assert!(error.contains("18446744073709551615"), "{error}");
    assert_eq!(cast(DataType::INT64, s32(&[5]), 13), Ok(vec![5.0]));
    let model = Model::new().input("x", &[1]).int("a", -1);
    let folded =
        model.node_with("Cast", &["a"], &["b"], vec![int("to", 13)]).output("b").read().expect("a graph");
    let error = folded.with_sizes(&blocktensor_graph::Sizes::new()).expect_err("an error").to_string();
    assert!(error.contains("u64 of 2^63 or more"), "{error}");
    let wide = Model::new().input("x", &[1]).int("a", 1 << 40).node("Identity", &["a"], &["y"]).output("y");
    let error = wide.run_on(vec![]).expect_err("an output of 41 bits");
    assert!(error.contains("output `y`"), "{error}");
}

/// ONNX has both types, which share a dtype of tensors.
#[test]
fn booleans_and_unsigned_bytes_are_two_types() {
    let inputs = |of| Model::new().input_of("a", of, &[2]).input_of("b", of, &[2]);
    let planned = |model: Model| match model.output("y").read() {
        Ok(graph) => graph.plan(&PlanOptions::new(Layouts::Nchw)).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    for (op, wrong, name) in [
        ("And", DataType::UINT8, "u8"),
        ("Or", DataType::UINT8, "u8"),
        ("Xor", DataType::UINT8, "u8"),
        ("Add", DataType::BOOL, "bool"),
        ("Less", DataType::BOOL, "bool"),
        ("Max", DataType::BOOL, "bool"),
    ] {
        let error = planned(inputs(wrong).node(op, &["a", "b"], &["y"])).expect_err(op);
        let rule = format!("{op} of this version does not take it");
        assert!(error.contains(&format!("got {name}")) && error.contains(&rule), "{error}");
        let right = if wrong == DataType::BOOL { DataType::UINT8 } else { DataType::BOOL };
        let plan = planned(inputs(right).node(op, &["a", "b"], &["y"])).expect(op);
        let is_bool = plan.output_types() == [ElementType::Bool];
        assert_eq!(is_bool, !matches!(op, "Add" | "Max"), "{op}");
    }
    let error = planned(inputs(DataType::UINT8).node("Not", &["a"], &["y"])).expect_err("Not");
    assert!(error.contains("Not of this version"), "{error}");
    let error = planned(inputs(DataType::UINT8).node("Where", &["a", "a", "b"], &["y"])).expect_err("Where");
    assert!(error.contains("Where of this version"), "{error}");
    // A cast to Boolean gives 0 and 1, and back the type that it says.
    assert_eq!(cast(DataType::UINT8, s32(&[2, 0, 255]), 9), Ok(vec![1.0, 0.0, 1.0]));
    let there_and_back = inputs(DataType::UINT8)
        .node_with("Cast", &["a"], &["c"], vec![int("to", 9)])
        .node_with("Cast", &["c"], &["y"], vec![int("to", 2)]);
    let plan = planned(there_and_back).expect("a plan");
    assert_eq!(plan.output_types(), [ElementType::Int(Integer::U8)]);
    assert_eq!(plan.run(&[&s32(&[2, 0]), &s32(&[0, 0])]).expect("a run")[0].to_vec::<i32>(), Ok(vec![1, 0]));
}
