//! The binary, the small exported networks, and models written here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rten_onnx::onnx::{
    DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto, TypeProto,
    TypeProtoTensor, ValueInfoProto,
};
use serde_json::Value;

pub const LAYOUTS: [&str; 3] = ["nchw", "nhwc", "blocked"];

/// What a run of the binary left.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.err))
    }

    /// Checks the exit code and that the standard error is one line with these parts.
    #[track_caller]
    pub fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert!(self.err.starts_with("error: ") && self.err.lines().count() == 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "{part}: {}", self.err);
        }
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Done {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }
}

/// The program, which keeps measured times in the target folder, and not in the user's cache.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blocktensor"));
    command.env("BLOCKTENSOR_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

pub fn run(args: &[&str]) -> Done {
    done(command().args(args).output().unwrap())
}

pub fn done(output: Output) -> Done {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of the exported networks.
pub fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/onnx_models");
    folder.join(name).display().to_string()
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An input or output of a model: name, type and sizes, of which 0 is open under the name `n`.
pub type Port<'a> = (&'a str, DataType, &'a [i64]);

/// A node: op, inputs, outputs.
pub type Node<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// Writes a model without weights.
pub fn model(folder: &Path, inputs: &[Port<'_>], outputs: &[Port<'_>], nodes: &[Node<'_>]) -> PathBuf {
    let strings = |names: &[&str]| names.iter().map(|s| s.to_string()).collect();
    let graph = GraphProto {
        input: inputs.iter().map(port).collect(),
        output: outputs.iter().map(port).collect(),
        node: nodes
            .iter()
            .map(|(op, inputs, outputs)| NodeProto {
                op_type: Some(op.to_string()),
                name: Some(format!("the_{op}")),
                input: strings(inputs),
                output: strings(outputs),
                ..NodeProto::default()
            })
            .collect(),
        ..GraphProto::default()
    };
    write_model(folder.join("model.onnx"), graph)
}

/// Writes a graph as a model.
pub fn write_model(path: PathBuf, graph: GraphProto) -> PathBuf {
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    std::fs::write(&path, model.write_buf().unwrap()).unwrap();
    path
}

pub fn port((name, of, dims): &Port<'_>) -> ValueInfoProto {
    let dim = |size: &i64| match size {
        0 => Dimension { dim_value: None, dim_param: Some("n".into()) },
        size => Dimension { dim_value: Some(*size), dim_param: None },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TypeProtoTensor { elem_type: Some(*of), shape });
    ValueInfoProto {
        name: Some(name.to_string()),
        r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
    }
}

/// Writes numbers of this type as a `.npy` file of one axis.
pub fn write_npy<const N: usize>(file: &Path, descr: &str, values: impl IntoIterator<Item = [u8; N]>) {
    let values: Vec<[u8; N]> = values.into_iter().collect();
    let about = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let mut bytes = b"\x93NUMPY\x01\x00\x3e\x00".to_vec();
    bytes.extend(format!("{about:<62}").bytes());
    bytes.extend(values.concat());
    std::fs::write(file, bytes).unwrap();
}

/// Writes integers as a `.npy` file of one axis.
pub fn write_i64s(file: &Path, values: &[i64]) {
    write_npy(file, "<i8", values.iter().map(|v| v.to_le_bytes()));
}

/// A model with one f32 input `x` and one node with the output `y` of the same sizes.
pub fn unary(folder: &Path, op: &str, dims: &[i64]) -> PathBuf {
    model(folder, &[("x", DataType::FLOAT, dims)], &[("y", DataType::FLOAT, dims)], &[(op, &["x"], &["y"])])
}
