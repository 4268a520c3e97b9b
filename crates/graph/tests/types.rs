//! Booleans, and bytes that are numbers.

use std::sync::Arc;

use blocktensor::dispatch::DispatchKey;
use blocktensor::{
    BoundOp, DType, MemoryFormat, Operand, Operator, PackedFile, PackedWriter, Quantization, Result,
    Scratchpad, StridedTensor, Tensor, TensorDesc, TensorMut, TensorRef,
};
use blocktensor_graph::{Constant, ElementType, Graph, Layouts, Plan, PlanOptions, ValueId};

/// A program's operator: numbers as bytes.
#[derive(Debug)]
struct ToBytes;

impl ToBytes {
    fn compute(x: TensorRef<'_>) -> Result<StridedTensor> {
        let TensorRef::Strided(x) = x else { panic!("plain operands were asked for") };
        let bytes: Vec<u8> = x.to_vec::<f32>()?.into_iter().map(|v| v as u8).collect();
        StridedTensor::from_slice(&bytes, x.dims())
    }
}

impl Operator for ToBytes {
    fn op(&self) -> &'static str {
        "to_bytes"
    }

    fn inputs(&self) -> &[&'static str] {
        &["x"]
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        Ok(vec![TensorDesc::strided(inputs[0].dims(), DType::U8, MemoryFormat::Contiguous)?])
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        Ok((key == DispatchKey::STRIDED).then(|| inputs.to_vec()))
    }

    fn scratchpad_bytes(&self, _: &[TensorDesc]) -> Result<usize> {
        Ok(0)
    }

    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        Ok(vec![ToBytes::compute(inputs[0])?.into()])
    }

    fn run_into(&self, inputs: &[TensorRef<'_>], to: Vec<TensorMut<'_>>, pad: &mut Scratchpad) -> Result<()> {
        let result = ToBytes::compute(inputs[0])?;
        BoundOp::view(result.dims())?.run_into(&[result.tensor_ref()], to, pad)
    }
}

fn plan(graph: &Graph) -> blocktensor_graph::Result<Plan> {
    graph.plan(&PlanOptions::new(Layouts::Nchw))
}

fn numbers() -> StridedTensor {
    StridedTensor::from_slice(&[0f32, 1.0, 2.0, 200.0], &[2, 2]).unwrap()
}

/// Transposed bytes of an input, or of the constant of the same numbers.
fn bytes(graph: &mut Graph, is_constant: bool) -> ValueId {
    let x = match is_constant {
        true => graph.constant("c", numbers()).unwrap(),
        false => graph.input("x", &[2.into(), 2.into()]).unwrap(),
    };
    let y = graph.operator("bytes", Arc::new(ToBytes), &[x], &["b"]).unwrap()[0];
    graph.op("turned", "permute", &[("x", y)], &[("axes", vec![1i64, 0].into())]).unwrap()
}

#[test]
fn bytes_of_a_program_stay_numbers() {
    for is_constant in [false, true] {
        let mut graph = Graph::new();
        let y = bytes(&mut graph, is_constant);
        graph.output("y", y).unwrap();
        let plan = plan(&graph).unwrap();
        assert_eq!(plan.output_types(), [ElementType::Byte]);
        let inputs = [&numbers()];
        let y = plan.run(&inputs[..plan.inputs().count()]).unwrap();
        assert_eq!(y[0].to_vec::<u8>().unwrap(), [0, 2, 1, 200], "constant: {is_constant}");
    }
}

#[test]
fn bytes_are_no_conditions() {
    for is_constant in [false, true] {
        let mut graph = Graph::new();
        let condition = bytes(&mut graph, is_constant);
        let a = graph.input("a", &[2.into(), 2.into()]).unwrap();
        let inputs = [("condition", condition), ("a", a), ("b", a)];
        let y = graph.op("chosen", "where", &inputs, &[]).unwrap();
        graph.output("y", y).unwrap();
        let error = plan(&graph).unwrap_err().to_string();
        for part in ["node `chosen` (where), condition", "got byte", "it is Boolean", "compare before"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// A comparison, its transpose, a sum of indices, and numbers.
fn of_all_types() -> Graph {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into(), 2.into()]).unwrap();
    let b = graph.input_of("b", ElementType::Byte, &[2.into()]).unwrap();
    let mask = graph.op("mask", "gt_scalar", &[("x", x)], &[("other", 1.5f64.into())]).unwrap();
    let turned = graph.op("turned", "permute", &[("x", mask)], &[("axes", vec![1i64, 0].into())]).unwrap();
    let index = graph.op("index", "argmax", &[("x", x)], &[("axis", 0i64.into())]).unwrap();
    let back = graph.op("back", "flip", &[("x", b)], &[("axes", vec![0i64].into())]).unwrap();
    let y = graph.op("y", "relu", &[("x", x)], &[]).unwrap();
    for (name, value) in [("mask", mask), ("turned", turned), ("index", index), ("back", back), ("y", y)] {
        graph.output(name, value).unwrap();
    }
    graph
}

#[test]
fn scales_and_zero_points_are_refused_by_plans_and_graphs() {
    let made = plan(&of_all_types()).unwrap();
    let bytes = StridedTensor::from_slice(&[7u8, 255], &[2]).unwrap();
    let quantized = bytes.quantized(Quantization::per_tensor(0.5, 3)).unwrap();
    let parts = ["does not read the scales and zero points", "`without_quantization`", "`dequantized`"];
    let error = made.run(&[&numbers(), &quantized]).unwrap_err().to_string();
    assert!(error.contains("input `b`") && parts.iter().all(|part| error.contains(part)), "{error}");
    let mut outputs = made.run(&[&numbers(), &quantized.without_quantization()]).unwrap();
    outputs[3] = outputs[3].quantized(Quantization::per_tensor(0.5, 3)).unwrap();
    let mut refs: Vec<&mut StridedTensor> = outputs.iter_mut().collect();
    let error = made.run_into(&[&numbers(), &bytes], &mut refs).unwrap_err().to_string();
    assert!(error.contains("for `back`") && error.contains("pass `without_quantization` of it"), "{error}");
    let error = Graph::new().constant("c", Constant::Byte(quantized)).unwrap_err().to_string();
    assert!(error.contains("constant `c`") && parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn types_are_kept_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let made = plan(&of_all_types()).unwrap();
    let types = [ElementType::Bool, ElementType::Bool, ElementType::I64, ElementType::Byte, ElementType::F32];
    assert_eq!(made.output_types(), types);
    made.save(&path, false).unwrap();
    let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
    assert_eq!((loaded.output_types(), loaded.input_types()), (made.output_types(), made.input_types()));
    let bytes = StridedTensor::from_slice(&[7u8, 255], &[2]).unwrap();
    let y = loaded.run(&[&numbers(), &bytes]).unwrap();
    assert_eq!(y[0].to_vec::<u8>().unwrap(), [0, 0, 1, 1]);
    assert_eq!(y[3].to_vec::<u8>().unwrap(), [255, 7]);

    let text = PackedFile::read(&path).unwrap().text("plan").unwrap().to_string();
    let listed = r#""output_types":["bool","bool",{"int":"i64"},"byte","f32"],"#;
    let with = |other: &str| {
        let changed = text.replace(listed, other);
        assert_ne!(changed, text);
        let mut writer = PackedWriter::new();
        writer.add_text("plan", changed);
        writer.save(&path).unwrap();
        Plan::load(&PackedFile::read(&path).unwrap())
    };
    // A file of an older build: every u8 was a Boolean.
    let older = with("").unwrap();
    assert_eq!(older.output_types()[3], ElementType::Bool);
    assert_eq!(older.output_types()[..3], types[..3]);
    for wrong in [r#"["bool","bool","bool","byte","f32"]"#, r#"["bool"]"#, r#"["word"]"#] {
        let error = with(&format!(r#""output_types":{wrong},"#)).unwrap_err().to_string();
        assert!(error.contains("pack the model again"), "{error}");
    }
}
