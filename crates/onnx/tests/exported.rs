//! Networks as PyTorch's two exporters write them, against ONNX Runtime's answers, from `tests/data/onnx_models`.

use std::path::{Path, PathBuf};

use blocktensor::StridedTensor;
use blocktensor_graph::{Graph, Layouts, PlanOptions, Sizes};

use crate::support;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/onnx_models")
}

/// An f32 array of a `.npy` file in row-major order.
fn array(name: &str) -> (Vec<usize>, Vec<f32>) {
    let bytes = std::fs::read(folder().join(name)).expect("an array");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (text, data) = bytes[10..].split_at(header);
    let text = std::str::from_utf8(text).expect("a header");
    assert!(text.contains("'<f4'") && text.contains("'fortran_order': False"), "{text}");
    let shape = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
    let dims = shape.split(',').filter_map(|d| d.trim().parse().ok()).collect();
    (dims, data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}

const NAMES: [&str; 5] = ["resnet", "mobilenet", "unet", "densenet", "hybrid"];

/// The error of an answer, relative to the size of the right one.
fn relative(got: &[f32], want: &[f32]) -> f64 {
    let square = |v: f32| f64::from(v) * f64::from(v);
    let error: f64 = got.iter().zip(want).map(|(g, w)| square(g - w)).sum();
    let size: f64 = want.iter().map(|w| square(*w)).sum();
    (error / size).sqrt()
}

/// Calls a function for each file: its name, the graph with its sizes, the image and the answer.
fn for_each_file(mut call: impl FnMut(&str, &Graph, &Sizes, &StridedTensor, (&[usize], &[f32]))) {
    for name in NAMES {
        let (dims, image) = array(&format!("{name}.image.npy"));
        let (want_dims, want) = array(&format!("{name}.output.npy"));
        let image = StridedTensor::from_slice(&image, &dims).expect("an image");
        for file in [format!("{name}.onnx"), format!("{name}.dynamo.onnx")] {
            let graph = blocktensor_onnx::from_path(&folder().join(&file));
            let graph = graph.unwrap_or_else(|e| panic!("{file}: {e}"));
            let sizes = graph.named_sizes().into_iter().fold(Sizes::new(), |s, n| s.with(n, dims[0]));
            call(&file, &graph, &sizes, &image, (&want_dims, &want));
        }
    }
}

#[test]
fn exported_networks_give_the_answers_of_onnx_runtime() {
    for_each_file(|file, graph, sizes, image, (dims, want)| {
        let network = graph.with_sizes(sizes).unwrap_or_else(|e| panic!("{file}: {e}"));
        let input = network.inputs().next().expect("an input").name().to_string();
        let results = support::run(&network, &[(input, image.clone())].into());
        let results = results.unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(results[0].1.dims(), dims, "{file}");
        let error = relative(&support::numbers(&results[0].1), want);
        println!("{file}: {} operators, relative error {error:.1e}", network.nodes().len());
        assert!(error < 1e-5, "{file}: relative error {error}");
    });
}

#[test]
fn plans_of_exported_networks_give_the_same_answers() {
    let mut wrong = Vec::new();
    for_each_file(|file, graph, sizes, image, (dims, want)| {
        for layouts in Layouts::FIXED {
            let case = format!("{file}, {}", layouts.name());
            let plan = match graph.plan(&PlanOptions::new(layouts).sizes(sizes.clone())) {
                Ok(plan) => plan,
                Err(e) => return wrong.push(format!("{case}: {e}")),
            };
            match plan.run(&[image]) {
                Ok(results) => {
                    let error = relative(&support::numbers(&results[0]), want);
                    if results[0].dims() != dims || error > 1e-5 {
                        wrong.push(format!("{case}: relative error {error}"));
                    }
                }
                Err(e) => wrong.push(format!("{case}: {e}")),
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
