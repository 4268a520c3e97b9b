//! Tensors of strings. No op takes them: those that nothing reads, such as labels of classes for the program, are left out.

use std::cell::LazyCell;
use std::collections::HashSet;

use rten_onnx::onnx::{DataType, NodeProto, TensorProto, ValueInfoProto};

use crate::registry::canonical;

/// The names that nodes read, in graphs inside of them too, and that are outputs.
pub(crate) fn names_read<'a>(nodes: &'a [NodeProto], outputs: &'a [ValueInfoProto]) -> HashSet<&'a str> {
    let mut names: HashSet<&str> = outputs.iter().filter_map(|output| output.name.as_deref()).collect();
    for node in nodes {
        names.extend(node.input.iter().map(String::as_str));
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            names.extend(names_read(&graph.node, &graph.output));
        }
    }
    names
}

/// Whether a tensor is of strings.
pub(crate) fn is_text(tensor: &TensorProto) -> bool {
    tensor.data_type == Some(DataType::STRING)
}

/// Which nodes are strings that nothing reads.
pub(crate) fn unread(nodes: &[NodeProto], outputs: &[ValueInfoProto]) -> Vec<bool> {
    let read = LazyCell::new(|| names_read(nodes, outputs));
    let is_unread = |node: &NodeProto| {
        node.op_type.as_deref() == Some("Constant")
            && canonical(node.domain.as_deref().unwrap_or_default()).is_empty()
            && node.attribute.iter().any(|attribute| attribute.t.as_ref().is_some_and(is_text))
            && !node.output.iter().any(|output| read.contains(output.as_str()))
    };
    nodes.iter().map(is_unread).collect()
}
