//! Models of hosts: a framework that has parsed a model hands over its nodes, types and constants.

use blocktensor_graph::{Constant, Dim};
use rten_onnx::onnx::{
    DataType, Dimension, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use crate::error::Result;
use crate::external::External;
use crate::node::Attribute;
use crate::tensor;

/// A model that a host has parsed, or a part of one. [`Importer::from_host`](crate::Importer::from_host) reads it.
///
/// ```
/// use blocktensor_graph::Dim;
/// use blocktensor_onnx::{HostModel, HostNode, HostValue, Importer};
///
/// let value = |name: &str| HostValue { name: name.into(), data_type: 1, dims: Some(vec![Dim::from(2)]) };
/// let relu = HostNode {
///     name: "relu".into(),
///     op_type: "Relu".into(),
///     inputs: vec!["x".into()],
///     outputs: vec!["y".into()],
///     ..HostNode::default()
/// };
/// let model = HostModel {
///     opsets: vec![(String::new(), 17)],
///     inputs: vec![value("x")],
///     nodes: vec![relu],
///     outputs: vec![value("y")],
///     ..HostModel::default()
/// };
/// assert_eq!(Importer::new().from_host(model)?.nodes().count(), 1);
/// # Ok::<(), blocktensor_onnx::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HostModel {
    /// Operator sets: domain (empty for ONNX's own) and version.
    pub opsets: Vec<(String, i64)>,
    /// Values that are known, by name.
    pub constants: Vec<(String, Constant)>,
    /// What a run gets.
    pub inputs: Vec<HostValue>,
    /// Nodes in any order.
    pub nodes: Vec<HostNode>,
    /// What a run gives.
    pub outputs: Vec<HostValue>,
}

/// A value of a host's model.
#[derive(Clone, Debug, Default)]
pub struct HostValue {
    /// Its name.
    pub name: String,
    /// The type of its elements, as ONNX numbers it; 0 if it is not known or no tensor.
    pub data_type: i32,
    /// Its sizes; a name that is empty is a size without one. `None` if not even their number is known.
    pub dims: Option<Vec<Dim>>,
}

/// A node of a host's model.
#[derive(Clone, Debug, Default)]
pub struct HostNode {
    /// Its name, which errors and plans have.
    pub name: String,
    /// The domain of its op: empty for ONNX's own.
    pub domain: String,
    /// Its op.
    pub op_type: String,
    /// Names of the values that it takes; empty for one that is left out.
    pub inputs: Vec<String>,
    /// Names of the values that it makes; empty for one that nothing uses.
    pub outputs: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<(String, Attribute)>,
}

impl HostValue {
    pub(crate) fn proto(&self) -> ValueInfoProto {
        let dimension = |dim: &Dim| match dim {
            Dim::Size(size) => Dimension { dim_value: i64::try_from(*size).ok(), dim_param: None },
            Dim::Named(name) => Dimension { dim_value: None, dim_param: Some(name.clone()) },
        };
        let shape =
            self.dims.as_ref().map(|dims| TensorShapeProto { dim: dims.iter().map(dimension).collect() });
        let tensor = TypeProtoTensor { elem_type: Some(DataType(self.data_type)), shape };
        let of = TypeProto { tensor_type: Some(tensor), sequence: None };
        ValueInfoProto { name: Some(self.name.clone()), r#type: Some(of) }
    }
}

/// The constant that bytes are: elements of the type that ONNX numbers so, row-major, in little-endian order. `what` names it in
/// errors.
///
/// # Errors
/// `Unsupported` for a type that no constant has; `Invalid` for another number of bytes.
///
/// ```
/// let bytes: Vec<u8> = [3i64, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
/// let sizes = blocktensor_onnx::constant_of("`sizes`", 7, &[2], bytes)?;
/// assert_eq!(sizes.as_ints(), Some(&[3, 4][..]));
/// # Ok::<(), blocktensor_onnx::Error>(())
/// ```
pub fn constant_of(what: &str, data_type: i32, dims: &[i64], bytes: Vec<u8>) -> Result<Constant> {
    let mut proto = TensorProto {
        dims: dims.to_vec(),
        data_type: Some(DataType(data_type)),
        raw_data: Some(bytes.into()),
        ..TensorProto::default()
    };
    tensor::constant(what, &mut proto, &External::default())
}
