//! `plan --errors`.

use rten_onnx::onnx::DataType;
use serde_json::Value;

use crate::support::{LAYOUTS, data, model, run, text};

fn steps(report: &Value) -> &[Value] {
    report["errors"]["steps"].as_array().unwrap()
}

#[test]
fn each_step_and_each_output_has_an_error() {
    for network in ["resnet", "mobilenet", "unet", "densenet", "hybrid"] {
        let (model, image) = (data(&format!("{network}.onnx")), data(&format!("{network}.image.npy")));
        for layout in LAYOUTS {
            let args = ["plan", &model, "--errors", "--layout", layout, "--json", "--input", &image];
            let report = run(&args).succeeds().json();
            let errors = &report["errors"];
            assert_eq!(steps(&report).len(), report["steps"].as_array().unwrap().len());
            for (step, planned) in steps(&report).iter().zip(report["steps"].as_array().unwrap()) {
                assert_eq!((&step["name"], &step["op"]), (&planned["name"], &planned["op"]));
                let error = step["relative_l2"].as_f64().unwrap();
                assert!(error <= if step["only_moves"] == true { 0.0 } else { 4e-6 }, "{model}: {step}");
            }
            assert_eq!(errors["compared"], errors["computing"]);
            let largest = &steps(&report)[errors["largest"].as_u64().unwrap() as usize];
            let error = |step: &Value| step["relative_l2"].as_f64().unwrap();
            assert!(steps(&report).iter().all(|step| error(step) <= error(largest)), "{largest}");
            assert!(error(&errors["outputs"][0]) < 1e-5, "{errors}");
            let written = &errors["as_written"];
            assert!(error(&written["outputs"][0]) < 1e-5, "{errors}");
            assert_eq!(written["outputs"][0]["name"], errors["outputs"][0]["name"]);
            assert_eq!(errors["inputs"][0]["from"], image);
        }
    }
}

#[test]
fn inputs_are_random_unless_they_are_given() {
    let model = data("resnet.onnx");
    let done = run(&["plan", &model, "--size", "batch=1", "--errors"]);
    let out = &done.succeeds().out;
    for part in [
        "reorders: ",
        ": random, seed 0",
        "#1  ",
        "exact",
        "the largest error is",
        "after the passes",
        "against the model as written, in f64",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let seeded = ["plan", &model, "--size", "batch=1", "--errors", "--json", "--random=7"];
    let (seven, again) = (run(&seeded).succeeds().json(), run(&seeded).succeeds().json());
    assert_eq!(seven["errors"]["inputs"][0]["from"], "random, seed 7");
    assert_eq!(seven["errors"], again["errors"]);
    // Without the option there are no errors.
    let plain = run(&["plan", &model, "--size", "batch=1", "--json"]).succeeds().json();
    assert!(plain["errors"].is_null());
    // An input's file shows the size.
    run(&["plan", &model, "--errors", "--input", &data("resnet.image.npy")]).succeeds();
}

#[test]
fn wrong_usage_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    let one = ["--size", "batch=2"];
    run(&[&["plan", &model, "--input", &image][..], &one].concat()).fails(2, &["--input", "pass that too"]);
    run(&[&["plan", &model, "--random"][..], &one].concat()).fails(2, &["--random", "--errors"]);
    run(&["plan", &model, "--errors"]).fails(2, &["`batch`", "--size batch=1"]);
    let plan = folder.path().join("resnet.plan");
    run(&[&["pack", &model, "--offline", "-o", text(&plan)][..], &one].concat()).succeeds();
    run(&["plan", text(&plan), "--errors"]).fails(2, &["--errors", "pass the ONNX file", "--keep-plain"]);
    run(&["plan", text(&plan), "--errors", "--replan"]).fails(2, &["--replan", "pass the ONNX file"]);
    run(&[&["pack", &model, "--offline", "--keep-plain", "-o", text(&plan)][..], &one].concat()).succeeds();
    let errors = run(&["plan", text(&plan), "--errors", "--json"]).succeeds().json()["errors"].clone();
    let planned = run(&[&["plan", &model, "--offline", "--errors", "--json"][..], &one].concat());
    let mut planned = planned.succeeds().json()["errors"].clone();
    // The file does not hold the model as it was written.
    assert!(planned["as_written"]["outputs"].is_array() && errors["as_written"].is_null());
    planned["as_written"] = Value::Null;
    assert_eq!(errors, planned);
}

#[test]
fn ops_without_an_f64_version_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    // Sums of integers have no f64 version.
    let path = model(
        folder.path(),
        &[("x", DataType::FLOAT, &[4])],
        &[("y", DataType::INT64, &[1])],
        &[("ArgMax", &["x"], &["i"]), ("Add", &["i", "i"], &["y"])],
    );
    let report = run(&["plan", text(&path), "--errors", "--json"]).succeeds().json();
    let without: Vec<&Value> = steps(&report).iter().filter(|step| step["has_f64"] == false).collect();
    assert_eq!(without.len(), 1);
    assert_eq!(without[0]["op"], "integer_add");
    assert!(report["errors"]["outputs"].is_null() && report["errors"]["as_written"]["outputs"].is_null());
    assert!(report["text"].as_str().unwrap().contains("no f64 version: the_Add"), "{}", report["text"]);
}
