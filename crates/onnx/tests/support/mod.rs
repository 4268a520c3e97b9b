//! Models in code, and a run of a network node by node.

use std::cell::RefCell;
use std::collections::HashMap;

use blocktensor::{MemoryFormat, Operand, StridedTensor, Tensor};
use blocktensor_graph::{Graph, Network, Sizes};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

/// The sizes of an output, and its elements as f32.
pub type Numbers = (Vec<usize>, Vec<f32>);

/// Builds a model: inputs, initializers, nodes, outputs.
#[derive(Default)]
pub struct Model {
    pub graph: GraphProto,
    pub opset: Option<i64>,
}

impl Model {
    pub fn new() -> Model {
        Model::default()
    }

    pub fn opset(mut self, version: i64) -> Model {
        self.opset = Some(version);
        self
    }

    /// An input of f32 numbers; a size of -1 is a size without a name.
    pub fn input(self, name: &str, dims: &[i64]) -> Model {
        self.input_of(name, DataType::FLOAT, dims)
    }

    pub fn input_of(mut self, name: &str, of: DataType, dims: &[i64]) -> Model {
        self.graph.input.push(value(name, of, dims));
        self
    }

    pub fn floats(mut self, name: &str, dims: &[i64], values: &[f32]) -> Model {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.graph.initializer.push(tensor(name, DataType::FLOAT, dims, raw));
        self
    }

    pub fn ints(mut self, name: &str, values: &[i64]) -> Model {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.graph.initializer.push(tensor(name, DataType::INT64, &[values.len() as i64], raw));
        self
    }

    pub fn int(mut self, name: &str, value: i64) -> Model {
        self.graph.initializer.push(tensor(name, DataType::INT64, &[], value.to_le_bytes().to_vec()));
        self
    }

    pub fn node(self, op: &str, inputs: &[&str], outputs: &[&str]) -> Model {
        self.node_with(op, inputs, outputs, vec![])
    }

    pub fn node_with(
        mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: Vec<AttributeProto>,
    ) -> Model {
        self.graph.node.push(NodeProto {
            op_type: Some(op.to_string()),
            name: Some(format!("n{}", self.graph.node.len())),
            input: inputs.iter().map(|s| s.to_string()).collect(),
            output: outputs.iter().map(|s| s.to_string()).collect(),
            attribute: attributes,
            ..Default::default()
        });
        self
    }

    pub fn output(mut self, name: &str) -> Model {
        self.graph.output.push(ValueInfoProto { name: Some(name.to_string()), r#type: None });
        self
    }

    pub fn proto(self) -> ModelProto {
        ModelProto {
            ir_version: Some(8),
            graph: Some(self.graph),
            opset_import: vec![OperatorSetIdProto {
                domain: Some(String::new()),
                version: Some(self.opset.unwrap_or(18)),
            }],
            ..Default::default()
        }
    }

    pub fn bytes(self) -> Vec<u8> {
        self.proto().write_buf().expect("the writer takes any model")
    }

    pub fn read(self) -> blocktensor_onnx::Result<Graph> {
        blocktensor_onnx::from_bytes(&self.bytes())
    }

    /// Reads the model and runs it. The outputs with their sizes.
    #[track_caller]
    pub fn run(self, inputs: &[(&str, &[usize], &[f32])]) -> Vec<Numbers> {
        let inputs = inputs
            .iter()
            .map(|(name, dims, values)| (*name, StridedTensor::from_slice(values, dims).expect("an input")));
        self.run_on(inputs.collect()).unwrap_or_else(|e| panic!("{e}"))
    }

    /// As [`run`](Self::run), on tensors of any type. The error is that of the first call that has one.
    pub fn run_on(self, inputs: Vec<(&str, StridedTensor)>) -> Result<Vec<Numbers>, String> {
        let graph = self.read().map_err(|e| e.to_string())?;
        let network = graph.with_sizes(&Sizes::new()).map_err(|e| e.to_string())?;
        let inputs = inputs.into_iter().map(|(name, t)| (name.to_string(), t)).collect();
        let results = run(&network, &inputs).map_err(|e| e.to_string())?;
        Ok(results.into_iter().map(|(_, t)| (t.dims().to_vec(), numbers(&t))).collect())
    }
}

/// The elements of a tensor of any type as f32.
pub fn numbers(t: &StridedTensor) -> Vec<f32> {
    t.to_dtype(blocktensor::DType::F32).and_then(|t| t.to_vec::<f32>()).expect("a cast")
}

pub fn value(name: &str, of: DataType, dims: &[i64]) -> ValueInfoProto {
    let dim = |&d: &i64| Dimension { dim_value: (d >= 0).then_some(d), dim_param: None };
    ValueInfoProto {
        name: Some(name.to_string()),
        r#type: Some(TypeProto {
            tensor_type: Some(TypeProtoTensor {
                elem_type: Some(of),
                shape: Some(TensorShapeProto { dim: dims.iter().map(dim).collect() }),
            }),
            ..Default::default()
        }),
    }
}

pub fn tensor(name: &str, of: DataType, dims: &[i64], raw: Vec<u8>) -> TensorProto {
    TensorProto {
        name: Some(name.to_string()),
        dims: dims.to_vec(),
        data_type: Some(of),
        raw_data: Some(RefCell::new(raw)),
        ..Default::default()
    }
}

fn attribute(name: &str, of: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.to_string()), r#type: Some(of), ..Default::default() }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::INT) }
}

pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::INTS) }
}

pub fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, AttributeType::FLOAT) }
}

pub fn floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..attribute(name, AttributeType::FLOATS) }
}

pub fn word(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.to_string()), ..attribute(name, AttributeType::STRING) }
}

pub fn graph(name: &str, value: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(value), ..attribute(name, AttributeType::GRAPH) }
}

pub fn tensor_attribute(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(value), ..attribute(name, AttributeType::TENSOR) }
}

/// Runs a network node by node. Every tensor is dense and row-major, as the network describes it.
pub fn run(
    network: &Network,
    inputs: &HashMap<String, StridedTensor>,
) -> blocktensor::Result<Vec<(String, StridedTensor)>> {
    let dense = |t: &StridedTensor| t.contiguous(MemoryFormat::Contiguous)?.copy(MemoryFormat::Contiguous);
    let mut values: HashMap<*const blocktensor_graph::Tensor, StridedTensor> = HashMap::new();
    for tensor in network.inputs() {
        values.insert(std::ptr::from_ref(tensor), dense(&inputs[tensor.name()])?);
    }
    let of = |values: &HashMap<_, StridedTensor>, tensor: &blocktensor_graph::Tensor| match tensor.constant()
    {
        Some(constant) => dense(constant),
        None => Ok(values[&std::ptr::from_ref(tensor)].clone()),
    };
    for node in network.nodes() {
        let operands = node.inputs().iter().map(|id| of(&values, network.tensor(*id)));
        let operands = operands.collect::<blocktensor::Result<Vec<_>>>()?;
        let refs: Vec<_> = operands.iter().map(|t| t.tensor_ref()).collect();
        for (id, result) in node.outputs().iter().zip(node.operator().run(&refs)?) {
            let Tensor::Strided(result) = result else {
                panic!("a strided operator gave {}", result.tensor_ref().describe());
            };
            let tensor = network.tensor(*id);
            assert_eq!(result.dims(), tensor.dims(), "sizes of a result of {}", node.name());
            values.insert(std::ptr::from_ref(tensor), dense(&result)?);
        }
    }
    network.outputs().map(|(name, tensor)| Ok((name.to_string(), of(&values, tensor)?))).collect()
}

/// Numbers that differ from each other: 0.5, -1, 1.5, -2 ...
pub fn ramp(count: usize) -> Vec<f32> {
    (1..=count).map(|i| if i % 2 == 1 { 0.5 } else { -0.5 } * i as f32).collect()
}

#[track_caller]
pub fn assert_close(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{got:?} and {want:?}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-5 + 1e-5 * w.abs();
        assert!(same, "element {i} is {g}, not {w}: {got:?} and {want:?}");
    }
}
