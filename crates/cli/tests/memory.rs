//! No limit of memory ends the program without an error.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use rten_onnx::onnx::{DataType, GraphProto, NodeProto, TensorProto, ValueInfoProto};

use crate::support::{self, Done, done, text};

/// The program under a limit of its address space, in KiB.
fn limited(kib: u64, args: &[&str]) -> Done {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v $0; exec \"$@\"", &kib.to_string(), env!("CARGO_BIN_EXE_blocktensor")]);
    done(shell.env("BLOCKTENSOR_CACHE", "off").args(args).output().unwrap())
}

/// The least limit at which arguments are read. Below it their parser ends the program.
fn least() -> u64 {
    let works = |limit| limited(limit, &["ops", "/missing.onnx"]).err.starts_with("error: ");
    let (mut low, mut high) = (1 << 10, 1 << 20);
    assert!(works(high));
    while high - low > 64 {
        let middle = u64::midpoint(low, high);
        match works(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    // What options and paths take besides, which are small.
    high + 128
}

/// A stack of linear layers whose weights have 2 MiB each, some as raw bytes and some in lists.
fn model(folder: &Path) -> PathBuf {
    let (size, layers) = (724i64, 8);
    let port = |name: &str| ValueInfoProto {
        name: Some(name.to_string()),
        ..support::port(&(name, DataType::FLOAT, &[2, 724]))
    };
    let values: Vec<f32> = (0..size * size).map(|i| (i % 31) as f32 / 7240.0).collect();
    let weights = |i: usize| {
        let mut tensor = TensorProto {
            name: Some(format!("w{i}")),
            dims: vec![size, size],
            data_type: Some(DataType::FLOAT),
            ..TensorProto::default()
        };
        match i % 4 {
            0 => tensor.float_data = values.clone(),
            _ => tensor.raw_data = Some(RefCell::new(values.iter().flat_map(|v| v.to_le_bytes()).collect())),
        }
        tensor
    };
    let node = |i: usize| {
        let (op, input) = if i.is_multiple_of(2) {
            ("MatMul", vec![format!("x{i}"), format!("w{}", i / 2)])
        } else {
            ("Relu", vec![format!("x{i}")])
        };
        NodeProto {
            op_type: Some(op.to_string()),
            name: Some(format!("n{i}")),
            input,
            output: vec![format!("x{}", i + 1)],
            ..NodeProto::default()
        }
    };
    let graph = GraphProto {
        input: vec![port("x0")],
        output: vec![port(&format!("x{}", 2 * layers))],
        initializer: (0..layers).map(weights).collect(),
        node: (0..2 * layers).map(node).collect(),
        ..GraphProto::default()
    };
    support::write_model(folder.join("large.onnx"), graph)
}

#[test]
fn ten_limits_of_memory_give_errors_or_results() {
    let folder = tempfile::tempdir().unwrap();
    let large = model(folder.path());
    let packed = folder.path().join("large.plan");
    let saved = folder.path().join("y.npy");
    support::run(&["pack", text(&large), "--output", text(&packed), "--layout", "nchw", "--threads", "1"])
        .succeeds();
    let network = support::data("resnet.onnx");
    let image = support::data("resnet.image.npy");
    let written = folder.path().join("again.plan");
    let least = least();
    let limits = [0, 1, 2, 4, 8, 16, 32, 64, 128, 1024].map(|mib| least + (mib << 10));
    for threads in ["1", "2"] {
        let planned = ["--threads", threads];
        let commands: [&[&str]; 7] = [
            &["ops", text(&large)],
            &["plan", text(&large)],
            &["plan", text(&large), "--layout", "measured", "--offline"],
            &["run", text(&large), "--random=3", "--save", text(&saved)],
            &["pack", text(&large), "--output", text(&written), "--layout", "nchw"],
            &["run", text(&packed), "--random=3"],
            &["run", &network, "--input", &image],
        ];
        for command in commands {
            // A plan is for one number of threads.
            let is_packed = command[1] == text(&packed);
            let planned = match (command[0], is_packed) {
                ("ops", _) => &[][..],
                (_, true) => &["--threads", "1"],
                _ => &planned,
            };
            let args = [command, planned].concat();
            let mut failed = 0;
            for limit in limits {
                let run = limited(limit, &args);
                if run.code == 0 {
                    continue;
                }
                failed += 1;
                assert!(matches!(run.code, 1 | 2), "{args:?} at {limit} KiB: {} {}", run.code, run.err);
                let is_error =
                    run.err.lines().any(|line| line.starts_with("error: ") && line.contains("memory"));
                assert!(is_error, "{args:?} at {limit} KiB: {}", run.err);
            }
            assert!((1..limits.len()).contains(&failed), "{args:?}: {failed} of {} limits", limits.len());
        }
    }
}
