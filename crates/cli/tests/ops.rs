//! `ops`, and models that cannot run.

use rten_onnx::onnx::DataType;
use serde_json::Value;

use crate::support::{data, model, run, text};

fn row<'a>(report: &'a Value, op: &str) -> &'a Value {
    report["ops"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["op"] == op)
        .unwrap_or_else(|| panic!("{op}: {report}"))
}

#[test]
fn every_node_of_the_exported_networks_is_counted() {
    for network in ["resnet", "mobilenet", "unet", "densenet", "hybrid", "resnet.dynamo", "hybrid.dynamo"] {
        let path = data(&format!("{network}.onnx"));
        let mut args = vec!["ops", &path, "--json"];
        if !network.starts_with("mobilenet") && !network.starts_with("densenet") {
            args.extend(["--size", "batch=2"]);
        }
        let report = run(&args).succeeds().json();
        assert_eq!(
            (&report["version"], &report["missing"]),
            (&1.into(), &serde_json::json!([])),
            "{network}"
        );
        for row in report["ops"].as_array().unwrap() {
            let number = |name: &str| row[name].as_u64().unwrap();
            let ways = ["runs", "composed", "folded", "missing", "unreached", "unused"];
            assert_eq!(ways.iter().map(|way| number(way)).sum::<u64>(), number("count"), "{network}: {row}");
        }
    }
    let report = run(&["ops", &data("hybrid.onnx"), "--size", "batch=2", "--json"]).json();
    assert_eq!(
        (&row(&report, "Conv")["runs"], &row(&report, "Conv")["operators"][0]),
        (&3.into(), &"conv2d".into())
    );
    assert_eq!((&row(&report, "Shape")["folded"], &row(&report, "Shape")["count"]), (&7.into(), &7.into()));
}

#[test]
fn missing_ops_are_listed_and_the_model_runs_up_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let of = DataType::FLOAT;
    let nodes = [
        ("Relu", &["x"][..], &["r"][..]),
        ("Frobnicate", &["r"][..], &["f"][..]),
        ("Sigmoid", &["f"][..], &["y"][..]),
        ("Neg", &["x"][..], &["unused"][..]),
    ];
    let path = model(folder.path(), &[("x", of, &[1, 4])], &[("y", of, &[1, 4])], &nodes);
    let done = run(&["ops", text(&path)]);
    done.fails(1, &["1 of the model's nodes cannot run", "--outputs r"]);
    assert!(done.out.contains("missing: the_Frobnicate, Frobnicate: "), "{}", done.out);
    let report = run(&["ops", text(&path), "--json"]).json();
    assert_eq!(report["computable"], serde_json::json!(["r"]));
    assert_eq!(report["missing"][0]["node"], "the_Frobnicate");
    for (op, way) in
        [("Relu", "runs"), ("Frobnicate", "missing"), ("Sigmoid", "unreached"), ("Neg", "unused")]
    {
        assert_eq!(row(&report, op)[way], 1, "{op}: {report}");
    }

    for command in ["run", "plan"] {
        let mut args = vec![command, text(&path)];
        args.extend((command == "run").then_some("--random"));
        run(&args).fails(1, &["`the_Frobnicate` (Frobnicate): ONNX has no op", "--outputs r"]);
        args.extend(["--outputs", "r"]);
        run(&args).succeeds();
    }
    run(&["ops", text(&path), "--outputs", "r"]).succeeds();
}
