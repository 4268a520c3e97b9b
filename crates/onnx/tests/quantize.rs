//! Ops of quantised models, with the answers of ONNX's own examples where it has some, else computed by hand.

use blocktensor::StridedTensor;
use blocktensor_graph::{Layouts, PlanOptions};
use rten_onnx::onnx::DataType;

use crate::support::{Model, int, ints, tensor, value};

impl Model {
    fn bytes_of(mut self, name: &str, of: DataType, dims: &[i64], values: &[i16]) -> Model {
        let raw = values.iter().map(|&v| v as u8).collect();
        self.graph.initializer.push(tensor(name, of, dims, raw));
        self
    }

    fn pair(self, name: &str, scale: f32, of: DataType, zero_point: i16) -> Model {
        self.floats(&format!("{name}_scale"), &[], &[scale]).bytes_of(
            &format!("{name}_zero"),
            of,
            &[],
            &[zero_point],
        )
    }
}

#[test]
fn the_examples_of_onnx() {
    let x = [0.0, 2.0, 3.0, 1000.0, -254.0, -1000.0];
    let model = Model::new().input("x", &[6]).pair("y", 2.0, DataType::UINT8, 128);
    let model = model.node("QuantizeLinear", &["x", "y_scale", "y_zero"], &["y"]).output("y");
    assert_eq!(model.run(&[("x", &[6], &x)])[0].1, [128.0, 129.0, 130.0, 255.0, 1.0, 0.0]);

    let model =
        Model::new().input("x", &[4]).pair("a", 1.0, DataType::UINT8, 0).pair("b", 2.0, DataType::UINT8, 128);
    let model = model.node("QuantizeLinear", &["x", "a_scale", "a_zero"], &["q"]);
    let model = model.node("DequantizeLinear", &["q", "b_scale", "b_zero"], &["y"]).output("y");
    assert_eq!(model.run(&[("x", &[4], &[0.0, 3.0, 128.0, 255.0])])[0].1, [-256.0, -250.0, 0.0, 254.0]);

    let x = [0.0, 2.0, -3.0, -2.5, 1.34, 0.5];
    let model = Model::new().input("x", &[6]).node("DynamicQuantizeLinear", &["x"], &["y", "scale", "zero"]);
    let got = model.output("y").output("scale").output("zero").run(&[("x", &[6], &x)]);
    assert_eq!(got[0].1, [153.0, 255.0, 0.0, 26.0, 221.0, 179.0]);
    assert!((got[1].1[0] - 0.019_607_844).abs() < 1e-8);
    assert_eq!(got[2], (vec![], vec![153.0]));
}

/// A range of 0 counts as 1, as in ONNX's reference: no scale is 0, also while a plan runs on zeros.
#[test]
fn numbers_that_are_all_zero_have_a_scale() {
    let model = || {
        let model =
            Model::new().input("x", &[4]).node("DynamicQuantizeLinear", &["x"], &["y", "scale", "zero"]);
        model.output("y").output("scale").output("zero")
    };
    let got = model().run(&[("x", &[4], &[0.0; 4])]);
    assert_eq!((&got[0].1, &got[2].1), (&vec![0.0; 4], &vec![0.0]));
    assert_eq!(got[1].1, [1.0 / 255.0]);
    let plan = model().read().unwrap().plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let x = StridedTensor::from_slice(&[0f32, 51.0, 255.0, 102.0], &[4]).unwrap();
    assert_eq!(plan.run(&[&x]).unwrap()[0].to_vec::<u8>().unwrap(), [0, 51, 255, 102]);
}

/// ONNX asks for the type of each result.
#[test]
fn results_of_integers_have_the_type_that_the_model_states() {
    let model = |of, stated| {
        let mut model = Model::new().input("x", &[3]).pair("y", 0.5, of, 3);
        model.graph.output.push(value("y", stated, &[3]));
        model.node("QuantizeLinear", &["x", "y_scale", "y_zero"], &["y"])
    };
    let x = || StridedTensor::from_slice(&[-1f32, 0.5, 2.0], &[3]).unwrap();
    for of in [DataType::UINT8, DataType::INT8] {
        assert_eq!(model(of, of).run_on(vec![("x", x())]).unwrap()[0].1, [1.0, 4.0, 7.0]);
    }
    let e = model(DataType::UINT8, DataType::INT8).run_on(vec![("x", x())]).unwrap_err();
    assert!(e.contains("got u8; the model says that it is i8"), "{e}");
}

#[test]
fn results_of_integers_are_cast() {
    for (of, least) in [(DataType::UINT8, 0.0), (DataType::INT8, -128.0)] {
        let model = Model::new().input("x", &[4]).pair("y", 1.0, of, 0);
        let mut model = model.node("QuantizeLinear", &["x", "y_scale", "y_zero"], &["y"]);
        for to in [DataType::INT32, DataType::FLOAT, DataType::BOOL, DataType::INT8] {
            let name = format!("y as {}", to.0);
            model = model.node_with("Cast", &["y"], &[&name], vec![int("to", to.0.into())]).output(&name);
        }
        let got = model.run(&[("x", &[4], &[-200.0, 0.0, 3.0, 127.0])]);
        let want = [least, 0.0, 3.0, 127.0];
        assert_eq!([&got[0].1[..], &got[1].1, &got[3].1], [&want[..]; 3], "{of}");
        assert_eq!(got[2].1, want.map(|v| f32::from(u8::from(v != 0.0))), "{of}");
    }
}

#[test]
fn types_that_a_node_states_are_kept_or_refused() {
    let error = |op: &str, attribute: &str, of: DataType| {
        let model = Model::new().opset(23).input("x", &[2]).pair("q", 1.0, DataType::UINT8, 3);
        let (x, y) = if op == "QuantizeLinear" { ("x", "y") } else { ("q_zero", "z") };
        let attributes = vec![int(attribute, of.0.into())];
        let model = model.node_with(op, &[x, "q_scale", "q_zero"], &[y], attributes).output(y);
        let x = StridedTensor::from_slice(&[0f32; 2], &[2]).unwrap();
        model.run_on(vec![("x", x)]).map(|got| got.len())
    };
    let e = error("QuantizeLinear", "output_dtype", DataType::INT8).unwrap_err();
    assert!(e.contains("output_dtype: got i8; the zero point is of u8"), "{e}");
    let e = error("QuantizeLinear", "precision", DataType::FLOAT16).unwrap_err();
    assert!(e.contains("a division in FLOAT16"), "{e}");
    let e = error("DequantizeLinear", "output_dtype", DataType::FLOAT16).unwrap_err();
    assert!(e.contains("a result of FLOAT16"), "{e}");
    for (op, attribute, of) in [
        ("QuantizeLinear", "output_dtype", DataType::UINT8),
        ("QuantizeLinear", "precision", DataType::FLOAT),
        ("DequantizeLinear", "output_dtype", DataType::FLOAT),
    ] {
        assert_eq!(error(op, attribute, of), Ok(1), "{op}");
    }
}

/// Planning runs on zeros, which are no scales: those of a run are checked.
#[test]
fn scales_may_be_inputs() {
    let model =
        Model::new().input("x", &[3]).input("scale", &[]).bytes_of("zero", DataType::UINT8, &[], &[1]);
    let model = model.node("QuantizeLinear", &["x", "scale", "zero"], &["y"]).output("y");
    let graph = model.read().unwrap();
    for layouts in [Layouts::Nchw, Layouts::Measured] {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        let x = StridedTensor::from_slice(&[0f32, 1.0, 2.0], &[3]).unwrap();
        let scale = |value: f32| StridedTensor::from_slice(&[value], &[]).unwrap();
        assert_eq!(plan.run(&[&x, &scale(0.5)]).unwrap()[0].to_vec::<u8>().unwrap(), [1, 3, 5]);
        let e = plan.run(&[&x, &scale(0.0)]).unwrap_err().to_string();
        assert!(e.contains("got 0, but a scale is positive and finite"), "{e}");
    }
}

#[test]
fn a_product_of_quantised_matrices() {
    let model = Model::new()
        .bytes_of("a", DataType::UINT8, &[2, 4], &[208, 236, 0, 238, 3, 214, 255, 29])
        .pair("a", 0.0066, DataType::UINT8, 113)
        .bytes_of("b", DataType::UINT8, &[4, 3], &[152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247])
        .pair("b", 0.00705, DataType::UINT8, 114)
        .pair("y", 0.0107, DataType::UINT8, 118);
    let inputs = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"];
    let model = model.node("QLinearMatMul", &inputs, &["y"]).output("y");
    assert_eq!(model.run(&[])[0], (vec![2, 3], vec![168.0, 115.0, 255.0, 1.0, 66.0, 151.0]));
}

/// A scale for each output channel, a bias, padding that stands for 0, groups.
#[test]
fn a_quantised_convolution() {
    let model = Model::new()
        .input("image", &[1, 2, 1, 3])
        .pair("x", 0.5, DataType::UINT8, 10)
        .bytes_of("w", DataType::INT8, &[2, 1, 1, 2], &[2, -1, 100, 3])
        .floats("w_scale", &[2], &[0.25, 0.5])
        .bytes_of("w_zero", DataType::INT8, &[2], &[0, 0])
        .pair("y", 2.0, DataType::INT8, -3);
    let mut model = model.node("QuantizeLinear", &["image", "x_scale", "x_zero"], &["x"]);
    let bias: Vec<u8> = [4i32, -40].iter().flat_map(|v| v.to_le_bytes()).collect();
    model.graph.initializer.push(tensor("b", DataType::INT32, &[2], bias));
    let inputs = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"];
    let attributes = vec![int("group", 2), ints("pads", &[0, 1, 0, 0])];
    let model = model.node_with("QLinearConv", &inputs, &["y"], attributes);
    let model = model.node("DequantizeLinear", &["y", "y_scale", "y_zero"], &["z"]).output("y").output("z");
    // 13, 10, 0 and 14, 11, 9 as integers: 3, 0, -10 and 4, 1, -1 from the zero point.
    let image = [1.5, 0.0, -5.0, 2.0, 0.5, -0.5];
    let got = model.run(&[("image", &[1, 2, 1, 3], &image)]);
    // Sums: 4 + (-3, 6, 10) and -40 + (12, 403, 97); times 0.0625 and 0.125: 0.0625, 0.625, 0.875 and -3.5, 45.375, 7.125.
    assert_eq!(got[0], (vec![1, 2, 1, 3], vec![-3.0, -2.0, -2.0, -7.0, 42.0, 4.0]));
    assert_eq!(got[1].1, [0.0, 2.0, 2.0, -8.0, 90.0, 14.0]);
}

#[test]
fn what_is_no_quantisation_of_8_bits_is_refused_by_name() {
    let model = |of, values: &[i16]| {
        let model = Model::new().opset(21).input("x", &[2, 2]).floats("s", &[], &[1.0]);
        model.bytes_of("z", of, &[], values).node("QuantizeLinear", &["x", "s", "z"], &["y"]).output("y")
    };
    let error = |model: Model| {
        let x = StridedTensor::from_slice(&[0f32; 4], &[2, 2]).unwrap();
        model.run_on(vec![("x", x)]).unwrap_err()
    };
    let e = error(model(DataType::INT16, &[0, 0]));
    assert!(e.contains("QuantizeLinear") && e.contains("8 bits"), "{e}");
    let blocks = Model::new().opset(21).input("x", &[2, 2]).floats("s", &[2, 1], &[1.0; 2]);
    let blocks =
        blocks.node_with("QuantizeLinear", &["x", "s"], &["y"], vec![int("block_size", 2)]).output("y");
    let e = error(blocks);
    assert!(e.contains("blocks of an axis") || e.contains("block_size"), "{e}");
}
