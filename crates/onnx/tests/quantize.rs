//! Ops of quantised models, with the answers of ONNX's own examples where it has some, else computed by hand.

use blocktensor::StridedTensor;
use blocktensor::dispatch::Isa;
use blocktensor_graph::{Layouts, PlanOptions};
use rten_onnx::onnx::DataType;

use crate::support::{Model, int, ints, tensor, value, word};

impl Model {
    pub fn bytes_of(mut self, name: &str, of: DataType, dims: &[i64], values: &[i16]) -> Model {
        let raw = values.iter().map(|&v| v as u8).collect();
        self.graph.initializer.push(tensor(name, of, dims, raw));
        self
    }

    pub fn pair(self, name: &str, scale: f32, of: DataType, zero_point: i16) -> Model {
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

/// A run holds inputs of integers as s32: those that are dequantised become bytes first, which integer kernels take.
#[test]
fn inputs_of_bytes_are_computed_on_as_integers() {
    for (of, zero, x) in
        [(DataType::UINT8, 10, [13, 10, 0, 14, 11, 255]), (DataType::INT8, -3, [0, -3, -13, 1, -2, 127])]
    {
        let model = Model::new()
            .input_of("x", of, &[1, 2, 1, 3])
            .pair("x", 0.5, of, zero)
            .bytes_of("w", DataType::INT8, &[1, 2, 1, 1], &[2, -1])
            .pair("w", 0.25, DataType::INT8, 0)
            .pair("y", 0.125, DataType::UINT8, 100)
            .node("DequantizeLinear", &["x", "x_scale", "x_zero"], &["image"])
            .node("DequantizeLinear", &["w", "w_scale", "w_zero"], &["weights"])
            .node("Conv", &["image", "weights"], &["sums"])
            .node("QuantizeLinear", &["sums", "y_scale", "y_zero"], &["y"])
            .output("y");
        let graph = model.read().unwrap();
        let options = PlanOptions::new(Layouts::Nchw);
        let plan = graph.plan(&options).unwrap();
        let x = StridedTensor::from_slice(&x, &[1, 2, 1, 3]).unwrap();
        // 2 and -1 times what is left without the zero point, times 0.125; as many steps of 0.125.
        let far = |v: i32| v - i32::from(zero);
        let x_of = |i: usize| far(x.to_vec::<i32>().unwrap()[i]);
        let want = [0, 1, 2].map(|i| (100 + 2 * x_of(i) - x_of(i + 3)).clamp(0, 255) as u8);
        assert_eq!(plan.run(&[&x]).unwrap()[0].to_vec::<u8>().unwrap(), want, "{of}");
        if Isa::has_byte_products() {
            assert!(plan.steps().all(|step| step.op != "dequantize"), "{plan}");
            graph.plan(&options.strict()).unwrap();
        }
    }
}

/// The view moves before `dequantize`, and then the layer reads integers.
#[test]
fn a_layer_behind_a_view_of_quantised_numbers_computes_on_integers() {
    let model = Model::new()
        .input("image", &[2, 2, 1, 1])
        .pair("x", 1.0, DataType::UINT8, 3)
        .bytes_of("w", DataType::INT8, &[2, 2], &[2, -1, 1, 1])
        .pair("w", 0.5, DataType::INT8, 0)
        .pair("y", 0.5, DataType::INT8, 0)
        .node("QuantizeLinear", &["image", "x_scale", "x_zero"], &["q"])
        .node("DequantizeLinear", &["q", "x_scale", "x_zero"], &["x"])
        .node("Flatten", &["x"], &["flat"])
        .node("DequantizeLinear", &["w", "w_scale", "w_zero"], &["weights"])
        .node_with("Gemm", &["flat", "weights"], &["sums"], vec![int("transB", 1)])
        .node("QuantizeLinear", &["sums", "y_scale", "y_zero"], &["y"])
        .output("y");
    let graph = model.read().unwrap();
    let options = PlanOptions::new(Layouts::Nchw);
    let image = StridedTensor::from_slice(&[1f32, 2.0, -3.0, 40.0], &[2, 2, 1, 1]).unwrap();
    let plan = graph.plan(&options).unwrap();
    // 2 - 2 and 1 + 2; -6 - 40 and -3 + 40: as many halves.
    assert_eq!(plan.run(&[&image]).unwrap()[0].to_vec::<i8>().unwrap(), [0, 3, -46, 37]);
    if Isa::has_byte_products() {
        graph.plan(&options.strict()).unwrap();
    }
}

/// ONNX Runtime gives a scale of 1 and a zero point of 0.
#[test]
fn no_elements_are_quantised_dynamically() {
    for dims in [&[0i64][..], &[2, 0, 3]] {
        let model =
            Model::new().input("x", dims).node("DynamicQuantizeLinear", &["x"], &["y", "scale", "zero"]);
        let graph = model.output("y").output("scale").output("zero").read().unwrap();
        let sizes: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
        let x = StridedTensor::from_slice::<f32>(&[], &sizes).unwrap();
        for layouts in Layouts::FIXED {
            let y = graph.plan(&PlanOptions::new(layouts)).unwrap().run(&[&x]).unwrap();
            assert_eq!((y[0].dims(), y[0].to_vec::<u8>().unwrap()), (&sizes[..], vec![]), "{layouts:?}");
            assert_eq!((y[1].dims(), y[1].to_vec::<f32>().unwrap()), (&[][..], vec![1.0]), "{layouts:?}");
            assert_eq!((y[2].dims(), y[2].to_vec::<u8>().unwrap()), (&[][..], vec![0]), "{layouts:?}");
        }
    }
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

/// A bias far below the step of the sums is no whole number of steps, and is not rounded to 0.
#[test]
fn a_bias_below_the_step_of_the_sums_is_kept() {
    let model = Model::new().opset(13).input("x", &[1, 1, 1, 2]).pair("x", 200.0, DataType::UINT8, 127);
    let model = model
        .pair("w", 30.0, DataType::INT8, 0)
        .bytes_of("w", DataType::INT8, &[2, 1, 1, 1], &[1, 2])
        .floats("bias", &[2], &[-1.125, 2.5])
        .node("QuantizeLinear", &["x", "x_scale", "x_zero"], &["q"])
        .node("DequantizeLinear", &["q", "x_scale", "x_zero"], &["d"])
        .node("DequantizeLinear", &["w", "w_scale", "w_zero"], &["dw"])
        .node("Conv", &["d", "dw", "bias"], &["y"])
        .output("y");
    let graph = model.read().unwrap();
    for layouts in [Layouts::Nchw, Layouts::Blocked] {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        let x = StridedTensor::from_slice(&[3f32, 200.0], &[1, 1, 1, 2]).unwrap();
        let y = plan.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
        assert_eq!(y, [-1.125, 5998.875, 2.5, 12002.5]);
    }
}

/// What picks elements, on bytes that a node computes and on integers of inputs: as ONNX Runtime, in their type.
#[test]
fn elements_of_small_integers_are_picked() {
    let x: Vec<f32> = (0..16).map(|i| ((i * 53 + 17) % 31) as f32 - 15.0).collect();
    let of_byte = |of: DataType| match of {
        DataType::UINT8 => (0.0, 255.0),
        _ => (-128.0, 127.0),
    };
    for of in [DataType::UINT8, DataType::INT8] {
        let (least, largest) = of_byte(of);
        let zero = if of == DataType::UINT8 { 20 } else { -3 };
        let q: Vec<f32> = x.iter().map(|v| (v * 8.0 + f32::from(zero)).clamp(least, largest)).collect();
        let model = Model::new().opset(13).input("x", &[1, 1, 4, 4]).pair("q", 0.125, of, zero);
        let model = model.node("QuantizeLinear", &["x", "q_scale", "q_zero"], &["q"]);
        let model = model
            .floats("none", &[0], &[])
            .floats("scales", &[4], &[1.0, 1.0, 0.5, 2.0])
            .ints("pads", &[0, 0, 1, 0, 0, 0, 0, 1])
            .bytes_of("value", of, &[], &[7])
            .bytes_of("min", of, &[], &[5])
            .bytes_of("max", of, &[], &[100])
            .node_with(
                "MaxPool",
                &["q"],
                &["pool"],
                vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])],
            )
            .node_with(
                "Resize",
                &["q", "none", "scales"],
                &["resized"],
                vec![
                    word("mode", "nearest"),
                    word("coordinate_transformation_mode", "asymmetric"),
                    word("nearest_mode", "floor"),
                ],
            )
            .node("Pad", &["q", "pads", "value"], &["padded"])
            .node("Clip", &["q", "min", "max"], &["clipped"])
            .node("Clip", &["q", "", "max"], &["below"])
            .output("pool")
            .output("resized")
            .output("padded")
            .output("clipped")
            .output("below");
        let graph = model.read().unwrap();
        for layouts in [Layouts::Nchw, Layouts::Blocked] {
            let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
            let t = StridedTensor::from_slice(&x, &[1, 1, 4, 4]).unwrap();
            let got: Vec<Vec<f32>> = plan.run(&[&t]).unwrap().iter().map(crate::support::numbers).collect();
            let at = |y: usize, x: usize| q[4 * y + x];
            let most = |y, x| at(y, x).max(at(y, x + 1)).max(at(y + 1, x)).max(at(y + 1, x + 1));
            assert_eq!(got[0], [most(0, 0), most(0, 2), most(2, 0), most(2, 2)], "{of}");
            let resized = [0, 2].iter().flat_map(|&y| (0..8).map(move |x| (y, x / 2)));
            assert_eq!(got[1], resized.map(|(y, x)| at(y, x)).collect::<Vec<_>>(), "{of}");
            let mut padded = vec![7.0; 5];
            (0..4).for_each(|y| padded.extend((0..4).map(|x| at(y, x)).chain([7.0])));
            assert_eq!(got[2], padded, "{of}");
            assert_eq!(got[3], q.iter().map(|v| v.clamp(5.0, 100.0)).collect::<Vec<_>>(), "{of}");
            assert_eq!(got[4], q.iter().map(|v| v.min(100.0)).collect::<Vec<_>>(), "{of}");
        }
    }
}

#[test]
fn elements_of_integer_inputs_are_picked() {
    let x: Vec<i32> = (0..8).map(|i| (i * 53 + 17) % 256).collect();
    let t = || StridedTensor::from_slice(&x, &[1, 1, 2, 4]).unwrap();
    let run = |model: Model| model.output("y").run_on(vec![("x", t())]).map(|mut got| got.remove(0).1);
    let input = |of| Model::new().opset(13).input_of("x", of, &[1, 1, 2, 4]);
    let kernel = || vec![ints("kernel_shape", &[2, 2])];
    let pooled = run(input(DataType::UINT8).node_with("MaxPool", &["x"], &["y"], kernel())).unwrap();
    let largest = |i: usize| x[i].max(x[i + 1]).max(x[i + 4]).max(x[i + 5]) as f32;
    assert_eq!(pooled, [largest(0), largest(1), largest(2)]);
    // The type stays: a model may state it.
    let mut stated = input(DataType::UINT8).node_with("MaxPool", &["x"], &["y"], kernel());
    stated.graph.value_info.push(value("y", DataType::UINT8, &[1, 1, 1, 3]));
    run(stated).unwrap();
    for of in [DataType::INT32, DataType::INT64, DataType::UINT8] {
        let model = input(of).bytes_of("ignored", DataType::UINT8, &[], &[0]);
        let bound = |model: Model, name: &str, v: i64| match of {
            DataType::INT64 => model.int(name, v),
            DataType::INT32 => {
                let mut model = model;
                let raw = (v as i32).to_le_bytes().to_vec();
                model.graph.initializer.push(tensor(name, of, &[], raw));
                model
            }
            _ => model.bytes_of(name, of, &[], &[v as i16]),
        };
        let model = bound(bound(model, "min", 40), "max", 200).node("Clip", &["x", "min", "max"], &["y"]);
        assert_eq!(
            run(model).unwrap(),
            x.iter().map(|v| *v.clamp(&40, &200) as f32).collect::<Vec<_>>(),
            "{of}"
        );
        let model = bound(input(of), "value", 9).ints("pads", &[0, 0, 0, 1, 0, 0, 0, 0]);
        let padded = run(model.node("Pad", &["x", "pads", "value"], &["y"])).unwrap();
        let rows = x.chunks(4).flat_map(|row| std::iter::once(9).chain(row.iter().copied()));
        assert_eq!(padded, rows.map(|v| v as f32).collect::<Vec<_>>(), "{of}");
    }
    let model = input(DataType::INT64).int("value", 16_777_217).ints("pads", &[0, 0, 0, 1, 0, 0, 0, 0]);
    let e = run(model.node("Pad", &["x", "pads", "value"], &["y"])).unwrap_err();
    assert!(e.contains("padding of integers with 16777217, which f32 does not hold"), "{e}");
    let e = run(input(DataType::INT64).node_with("MaxPool", &["x"], &["y"], kernel())).unwrap_err();
    assert!(e.contains("i64"), "{e}");
}

/// Each node has its own reason, and a scale that no run takes has its own error.
#[test]
fn strict_says_what_keeps_each_node_from_integers() {
    if !Isa::has_byte_products() {
        return;
    }
    let net = |scale: f32, op: &str, inputs: &[&str], attributes| {
        let model = Model::new()
            .opset(19)
            .input("x", &[1, 4, 8, 8])
            .floats("s", &[], &[0.05])
            .floats("other", &[], &[scale])
            .bytes_of("zero", DataType::UINT8, &[], &[3])
            .floats("w", &[2, 4, 1, 1], &[0.5; 8])
            .ints("pads", &[0, 0, 1, 1, 0, 0, 1, 1])
            .floats("value", &[], &[0.033])
            .node("QuantizeLinear", &["x", "s", "zero"], &["q"])
            .node("DequantizeLinear", &["q", "s", "zero"], &["a"])
            .node_with(op, inputs, &["b"], attributes)
            .node("QuantizeLinear", &["b", "other", "zero"], &["r"])
            .node("DequantizeLinear", &["r", "other", "zero"], &["y"])
            .output("y");
        let plan = model.read().unwrap().plan(&PlanOptions::new(Layouts::Nchw).strict());
        plan.map(drop).map_err(|e| e.to_string()).unwrap_err()
    };
    let gaps = || vec![ints("kernel_shape", &[2, 2]), ints("dilations", &[2, 2])];
    for (op, inputs, attributes, reason) in [
        ("AveragePool", &["a"][..], gaps(), "it is computed with constant weights of f32, which no "),
        ("MaxPool", &["a"], gaps(), "its windows have gaps (dilation), and "),
        ("Conv", &["a", "w"], vec![], "it is computed with constant weights of f32, which no "),
        ("Pad", &["a", "pads", "value"], vec![], "it puts in a number that no integer stands for "),
        ("Exp", &["a"], vec![], ""),
        ("Softmax", &["a"], vec![], "no kernel computes it on integers, as the model quantises it"),
    ] {
        let error = net(if op == "Exp" { -0.1 } else { 0.1 }, op, inputs, attributes);
        let text = match op {
            "Exp" => "node `n3` (QuantizeLinear): op `quantize`: argument `scale`: got -0.1, ".to_string(),
            _ => format!("node `n2`: {op}: {reason}"),
        };
        assert!(error.contains(&text), "{op}: {error}");
    }
}
