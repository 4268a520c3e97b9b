//! The network as an ONNX file, for programs that read such files.

use std::cell::RefCell;
use std::path::Path;

use blocktensor::ops::Activation;
use blocktensor::{Error, StateDict};
use blocktensor_nets::{Arch, ConvSpec, Unit, Weights};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use crate::failure::Failure;

/// Writes the network with plain weights: input `image`, [batch, 3, size, size]; output `output`, [batch, 1000].
pub fn write(path: &Path, arch: &Arch, weights: &mut Weights, size: usize) -> Result<(), Failure> {
    let mut graph = Graph { proto: GraphProto::default() };
    for name in weights.dict().names().map(str::to_string).collect::<Vec<_>>() {
        graph.initializer(&name, weights.dict())?;
    }
    let mut x = graph.conv(&arch.stem, "image", None);
    for unit in &arch.units {
        x = match unit {
            Unit::MaxPool => {
                let window = [ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", &[1; 4])];
                graph.node("MaxPool", "maxpool", &[&x], &window)
            }
            Unit::Block { convs, project, residual } => {
                let saved = project.as_ref().map_or(x.clone(), |p| graph.conv(p, &x, None));
                convs.iter().enumerate().fold(x, |x, (i, conv)| {
                    let is_last = i + 1 == convs.len();
                    graph.conv(conv, &x, (*residual && is_last).then_some(saved.as_str()))
                })
            }
        };
    }
    x = graph.node("GlobalAveragePool", "pool", &[&x], &[]);
    x = graph.node("Flatten", "flatten", &[&x], &[]);
    let (w, b) = (format!("{}.weight", arch.classifier), format!("{}.bias", arch.classifier));
    graph.node("Gemm", "output", &[&x, &w, &b], &[int("transB", 1)]);

    let batch = Dimension { dim_value: None, dim_param: Some("batch".into()) };
    let fixed = |size: usize| Dimension { dim_value: Some(size as i64), dim_param: None };
    graph.proto.input = vec![value("image", vec![batch.clone(), fixed(3), fixed(size), fixed(size)])];
    graph.proto.output = vec![value("output", vec![batch, fixed(1000)])];
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph.proto),
        ..ModelProto::default()
    };
    let bad = |e: &dyn std::fmt::Display| Failure::usage("--onnx", format!("{}: {e}", path.display()));
    let bytes = model.write_buf().map_err(|e| bad(&e))?;
    blocktensor::files::write(path, |out| out.write_all(&bytes)).map_err(|e| bad(&e))
}

struct Graph {
    proto: GraphProto,
}

impl Graph {
    fn initializer(&mut self, name: &str, dict: &StateDict) -> Result<(), Error> {
        if let Some(t) = dict.get(name) {
            let bytes = t.to_vec::<f32>()?.iter().flat_map(|v| v.to_le_bytes()).collect();
            self.proto.initializer.push(TensorProto {
                name: Some(name.to_string()),
                dims: t.dims().iter().map(|&d| d as i64).collect(),
                data_type: Some(DataType::FLOAT),
                raw_data: Some(RefCell::new(bytes)),
                ..TensorProto::default()
            });
        }
        Ok(())
    }

    /// Adds a node with one output, which has the node's name; returns it.
    fn node(&mut self, op: &str, name: &str, inputs: &[&str], attributes: &[AttributeProto]) -> String {
        self.proto.node.push(NodeProto {
            op_type: Some(op.to_string()),
            name: Some(name.to_string()),
            input: inputs.iter().map(|s| s.to_string()).collect(),
            output: vec![name.to_string()],
            attribute: attributes.to_vec(),
            ..NodeProto::default()
        });
        name.to_string()
    }

    /// A convolution, its batch norm, the addition of a residual, and its activation.
    fn conv(&mut self, spec: &ConvSpec, x: &str, residual: Option<&str>) -> String {
        let (kernel, stride, pad) = (spec.kernel as i64, spec.stride as i64, spec.kernel as i64 / 2);
        let attributes = [
            ints("kernel_shape", &[kernel; 2]),
            ints("strides", &[stride; 2]),
            ints("pads", &[pad; 4]),
            int("group", spec.groups as i64),
        ];
        let x = self.node("Conv", &spec.conv, &[x, &format!("{}.weight", spec.conv)], &attributes);
        let parts =
            ["weight", "bias", "running_mean", "running_var"].map(|part| format!("{}.{part}", spec.norm));
        let [weight, bias, mean, var] = parts.each_ref().map(String::as_str);
        let mut x = self.node("BatchNormalization", &spec.norm, &[&x, weight, bias, mean, var], &[]);
        if let Some(residual) = residual {
            x = self.node("Add", &format!("{}.add", spec.conv), &[&x, residual], &[]);
        }
        match spec.activation {
            Some(Activation::Relu) => self.node("Relu", &format!("{}.relu", spec.conv), &[&x], &[]),
            Some(Activation::Clip(low, high)) => {
                let bounds = [("min", low), ("max", high)].map(|(end, bound)| {
                    let name = format!("{}.{end}", spec.conv);
                    self.proto.initializer.push(TensorProto {
                        name: Some(name.clone()),
                        data_type: Some(DataType::FLOAT),
                        float_data: vec![bound],
                        ..TensorProto::default()
                    });
                    name
                });
                self.node("Clip", &format!("{}.clip", spec.conv), &[&x, &bounds[0], &bounds[1]], &[])
            }
            // The networks of `blocktensor_nets` have no other activations.
            _ => x,
        }
    }
}

fn value(name: &str, dims: Vec<Dimension>) -> ValueInfoProto {
    let shape = Some(TensorShapeProto { dim: dims });
    let tensor_type = Some(TypeProtoTensor { elem_type: Some(DataType::FLOAT), shape });
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    let (name, r#type) = (Some(name.into()), Some(AttributeType::INT));
    AttributeProto { name, r#type, i: Some(value), ..AttributeProto::default() }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    let (name, r#type) = (Some(name.into()), Some(AttributeType::INTS));
    AttributeProto { name, r#type, ints: values.to_vec(), ..AttributeProto::default() }
}
