//! The command `bench`, and pictures of plans.

use serde_json::Value;

use crate::support::{data, run, text};

fn numbers<'a>(list: &'a Value, field: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|entry: &'a Value| entry[field].as_f64().unwrap()).collect()
}

#[test]
fn times_are_in_order_and_layers_are_the_plans_steps() {
    let model = data("mobilenet.onnx");
    let bench = ["bench", &model, "--runs", "20", "--layout", "nhwc", "--layers", "--json"];
    let report = run(&bench).succeeds().json();
    let plan = &report["plans"][0];
    let of = |field: &str| plan[field].as_f64().unwrap();
    assert_eq!((plan["layout"].as_str(), plan["runs"].as_u64()), (Some("nhwc"), Some(20)));
    assert!(0.0 < of("least_ms") && of("least_ms") <= of("median_ms") && of("median_ms") <= of("p90_ms"));
    assert!(of("p90_ms") <= of("p99_ms") && of("ratio") == 1.0);
    let steps = run(&["plan", &model, "--layout", "nhwc", "--json"]).succeeds().json()["steps"].clone();
    let layers = &report["layers"];
    let names = |list: &Value, field: &str| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|entry| entry[field].clone()).collect()
    };
    // A step of several nodes has all their names.
    let title = |step: &Value| {
        let nodes: Vec<&str> =
            step["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        if nodes.len() > 1 { nodes.join(", ").into() } else { step["name"].clone() }
    };
    assert_eq!(names(layers, "step"), steps.as_array().unwrap().iter().map(title).collect::<Vec<Value>>());
    assert!((numbers(layers, "share").iter().sum::<f64>() - 1.0).abs() < 1e-6);
    // Convolutions, and nothing but products, have multiply-adds.
    for (layer, step) in layers.as_array().unwrap().iter().zip(steps.as_array().unwrap()) {
        let op = layer["op"].as_str().unwrap();
        let has = op.starts_with("conv") || op == "linear" || op == "matmul";
        assert_eq!(step["multiply_adds"].as_u64().unwrap() > 0, has, "{step}");
        assert_eq!(layer["gflops_per_second"].is_number(), has, "{layer}");
    }
    let text = run(&["bench", &model, "--runs", "3", "--layers"]);
    assert!(text.succeeds().out.contains("GFLOP/s") && text.out.contains("least ms"), "{}", text.out);
}

#[test]
fn layouts_are_compared_and_streams_add_up() {
    let model = data("resnet.onnx");
    let size = ["--size", "batch=1", "--runs", "5", "--json"];
    let report = run(&[&["bench", &model, "--compare-layouts"][..], &size].concat()).succeeds().json();
    let layouts: Vec<&str> =
        report["plans"].as_array().unwrap().iter().map(|p| p["layout"].as_str().unwrap()).collect();
    assert_eq!(layouts, ["nchw", "nhwc", "blocked", "measured"]);
    let ratios = numbers(&report["plans"], "ratio");
    assert!(ratios.contains(&1.0) && ratios.iter().all(|r| *r >= 1.0));

    let args = [&["bench", &model, "--threads", "2", "--streams", "2"][..], &size].concat();
    let report = run(&args).succeeds().json();
    assert_eq!((report["threads"].as_u64(), report["streams"].as_u64()), (Some(1), Some(2)));
    assert_eq!(report["plans"][0]["runs"], 10);
    let args = [&["bench", &model, "--threads", "2", "--streams", "3"][..], &size].concat();
    run(&args).fails(2, &["--streams", "pass a smaller number"]);
}

#[test]
fn traces_and_pictures_have_a_place_for_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = data("unet.onnx");
    let (svg, dot, trace) = (path("plan.svg"), path("plan.dot"), path("run.json"));
    let args = ["plan", &model, "--size", "batch=1", "--json", "--svg", text(&svg), "--dot", text(&dot)];
    let steps = run(&args).succeeds().json()["steps"].as_array().unwrap().len();
    let svg = std::fs::read_to_string(&svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<g><title>").count(), steps);
    let dot = std::fs::read_to_string(&dot).unwrap();
    assert_eq!(dot.matches("fillcolor=").count(), steps + 1, "each step, and the input");
    run(&["bench", &model, "--size", "batch=1", "--runs", "1", "--trace", text(&trace)]).succeeds();
    let events: Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    assert_eq!(events.as_array().unwrap().len(), steps);
    run(&["plan", &model, "--size", "batch=1", "--svg", "/proc/none.svg"])
        .fails(2, &["--svg", "choose another"]);
}
