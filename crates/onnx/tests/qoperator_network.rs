//! One network in both forms of ONNX Runtime's quantiser: ops on integers, and f32 ops between `DequantizeLinear` and `QuantizeLinear`.

use blocktensor::StridedTensor;
use blocktensor::dispatch::Isa;
use blocktensor_graph::{Layouts, PlanOptions};
use rten_onnx::onnx::{AttributeProto, DataType};

use crate::microsoft::of_microsoft;
use crate::qoperator::Drawn;
use crate::support::{Model, int, ints, numbers, tensor};

/// A block with a residual sum, a branch with a sigmoid, a concatenation, and a classifier, in both of the quantiser's forms.
fn network(is_qdq: bool) -> Model {
    let mut rng = 0x5eed_0444;
    let of = DataType::UINT8;
    let mut model = Model::new().input("image", &[2, 8, 6, 6]);
    let scales = [
        ("x", 0.031, 127),
        ("conv", 0.29, 128),
        ("sum", 0.3, 120),
        ("gate", 0.0039, 0),
        ("product", 0.21, 60),
    ];
    for (name, scale, zero) in
        scales.into_iter().chain([("both", 0.3, 110), ("mean", 0.11, 70), ("y", 0.37, 131)])
    {
        model = model.pair(name, scale, of, zero);
    }
    let mut weights = |model: Model, name: &str, dims: &[usize]| {
        let mut drawn = Drawn::new(&mut rng, DataType::INT8, 0.011, dims);
        drawn.zero = 0;
        drawn.add(model, name, true)
    };
    model = weights(model, "w", &[8, 8, 3, 3]);
    model = weights(model, "m", &[10, 16]);
    let raw = (0..10).flat_map(|i: i32| (90 * i - 400).to_le_bytes()).collect();
    model.graph.initializer.push(tensor("c", DataType::INT32, &[10], raw));
    model = model.floats("c_scale", &[], &[0.11f32 * 0.011]);
    // A node between integers, with those that the QDQ form has for it.
    let node = |mut model: Model, op: &str, given: &[&str], y: &str, attributes: Vec<AttributeProto>| {
        let pair = |name: &str| ["_scale", "_zero"].map(|end| format!("{name}{end}"));
        let inputs: Vec<String> = given
            .iter()
            .flat_map(|name| match *name {
                "c" => vec!["c".to_string()],
                name => [vec![name.to_string()], pair(name).to_vec()].concat(),
            })
            .collect();
        let [scale, zero] = pair(y);
        if !is_qdq {
            let mut inputs: Vec<&str> = inputs.iter().map(|name| &**name).collect();
            let at = if op == "Concat" { 0 } else { inputs.len() };
            drop(inputs.splice(at..at, [&*scale, &*zero]));
            let name = if op == "Gemm" { "QGemm".to_string() } else { format!("QLinear{op}") };
            let model = model.node_with(&name, &inputs, &[y], attributes);
            return if op == "Conv" { model } else { of_microsoft(model) };
        }
        let mut numbers = Vec::new();
        for name in given {
            let [scale, zero] = pair(name);
            numbers.push(format!("{y} of {name}"));
            let inputs = [*name, &*scale, &*zero];
            let inputs = &inputs[..if *name == "c" { 2 } else { 3 }];
            model = model.node("DequantizeLinear", inputs, &[numbers.last().unwrap()]);
        }
        let (numbers, result): (Vec<&str>, _) =
            (numbers.iter().map(|name| &**name).collect(), format!("{y} in f32"));
        let model = model.node_with(op, &numbers, &[&result], attributes);
        model.node("QuantizeLinear", &[&result, &scale, &zero], &[y])
    };
    model = model.node("QuantizeLinear", &["image", "x_scale", "x_zero"], &["x"]);
    model = node(model, "Conv", &["x", "w"], "conv", vec![ints("pads", &[1; 4])]);
    model = node(model, "Add", &["conv", "x"], "sum", vec![]);
    model = node(model, "Sigmoid", &["sum"], "gate", vec![]);
    model = node(model, "Mul", &["sum", "gate"], "product", vec![]);
    model = node(model, "Concat", &["product", "sum"], "both", vec![int("axis", 1)]);
    model = node(model, "GlobalAveragePool", &["both"], "mean", vec![]);
    model = model.node("Flatten", &["mean"], &["flat"]);
    model = model.pair("flat", 0.11, of, 70);
    model = node(model, "Gemm", &["flat", "m", "c"], "y", vec![int("transB", 1)]);
    model.node("DequantizeLinear", &["y", "y_scale", "y_zero"], &["z"]).output("z")
}

#[test]
fn both_forms_of_a_network_give_the_same() {
    let image: Vec<f32> = (0..2 * 8 * 36).map(|i| ((i * 37 % 101) as f32 - 50.0) * 0.07).collect();
    let image = StridedTensor::from_slice(&image, &[2, 8, 6, 6]).unwrap();
    let [of_operators, of_qdq] = [false, true].map(|is_qdq| network(is_qdq).read().unwrap());
    for layouts in [Layouts::Nchw, Layouts::Blocked] {
        let options = PlanOptions::new(layouts);
        let [got, want] = [&of_operators, &of_qdq].map(|graph| {
            let plan = graph.plan(&options).unwrap();
            let ops: Vec<String> = plan.steps().map(|step| step.op.to_string()).collect();
            (ops, numbers(&plan.run(&[&image]).unwrap()[0]))
        });
        assert_eq!(got, want);
        assert!(got.1.iter().any(|y| *y != got.1[0]), "{:?}", got.1);
        if Isa::has_byte_products() {
            of_operators.plan(&options.strict()).unwrap();
        }
    }
}
