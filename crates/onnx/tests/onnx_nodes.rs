//! ONNX's own tests of single nodes, from `tests/data/onnx_nodes`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use blocktensor::StridedTensor;
use blocktensor_graph::Sizes;
use blocktensor_onnx::{NEWEST_OPSET, OLDEST_OPSET};
use rten_onnx::onnx::ModelProto;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::support;

/// Cases that do not pass, with a part of the reason.
const KNOWN: &[(&str, &str)] = &[
    ("test_roialign_mode_max", "mode = \"max\""),
    // Of a version after 25.
    ("test_spacetodepth_crd_mode_example", "the attribute `mode` is not known"),
    ("test_spacetodepth_dcr_mode_example", "the attribute `mode` is not known"),
    ("test_training_dropout", "masks are random"),
    ("test_training_dropout_default", "masks are random"),
    ("test_training_dropout_default_mask", "masks are random"),
    ("test_training_dropout_mask", "masks are random"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/onnx_nodes")
}

/// The elements of a stored tensor as numbers.
fn numbers(view: &TensorView<'_>) -> Vec<f64> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => data.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Dtype::I64 => data.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect(),
        Dtype::I32 => data.as_chunks::<4>().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect(),
        Dtype::U8 | Dtype::BOOL => data.iter().map(|&b| f64::from(b)).collect(),
        Dtype::I8 => data.iter().map(|&b| f64::from(b as i8)).collect(),
        other => panic!("data of type {other:?}"),
    }
}

/// An input. A run takes integers of all widths as s32.
fn input(view: &TensorView<'_>) -> StridedTensor {
    let values = numbers(view);
    match view.dtype() {
        Dtype::F32 => {
            let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
            StridedTensor::from_slice(&values, view.shape())
        }
        Dtype::BOOL => {
            let values: Vec<u8> = values.into_iter().map(|v| v as u8).collect();
            StridedTensor::from_slice(&values, view.shape())
        }
        _ => {
            let values: Vec<i32> = values.into_iter().map(|v| v as i32).collect();
            StridedTensor::from_slice(&values, view.shape())
        }
    }
    .expect("an input")
}

/// Runs one case. The error says what is wrong.
fn case(name: &str, file: &SafeTensors<'_>, tolerance: (f64, f64)) -> Result<(), String> {
    let model = file.tensor(&format!("{name}/model")).map_err(|e| e.to_string())?;
    // The tests are of the newest versions; their ops are as in those that are read.
    let mut model = ModelProto::parse_buf(model.data()).map_err(|e| e.to_string())?;
    for set in &mut model.opset_import {
        set.version = set.version.map(|v| v.clamp(OLDEST_OPSET, NEWEST_OPSET));
    }
    let bytes = model.write_buf().map_err(|e| e.to_string())?;
    let graph = blocktensor_onnx::from_bytes(&bytes).map_err(|e| e.to_string())?;
    let network = graph.with_sizes(&Sizes::new()).map_err(|e| e.to_string())?;
    let mut inputs = HashMap::new();
    let mut wanted = BTreeMap::new();
    for (key, view) in file.tensors() {
        let Some(rest) = key.strip_prefix(&format!("{name}/")) else { continue };
        let mut parts = rest.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("input"), _, Some(value)) => drop(inputs.insert(value.to_string(), input(&view))),
            (Some("output"), Some(i), Some(value)) => {
                let i: usize = i.parse().map_err(|_| "a number of an output")?;
                wanted.insert(i, (value.to_string(), view));
            }
            _ => {}
        }
    }
    let results: HashMap<String, StridedTensor> =
        support::run(&network, &inputs).map_err(|e| e.to_string())?.into_iter().collect();
    for (value, view) in wanted.values() {
        let got = results.get(value).ok_or_else(|| format!("no output `{value}`"))?;
        if got.dims() != view.shape() {
            return Err(format!("output `{value}` is {:?}, not {:?}", got.dims(), view.shape()));
        }
        let (rtol, atol) = tolerance;
        for (i, (g, w)) in support::numbers(got).into_iter().zip(numbers(view)).enumerate() {
            let g = f64::from(g);
            let close =
                g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= atol.max(1e-6) + rtol * w.abs();
            if !close {
                return Err(format!("output `{value}`, element {i}, is {g}, not {w}"));
            }
        }
    }
    Ok(())
}

#[test]
fn onnx_node_tests_pass() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the data")
        .filter_map(|entry| {
            Some(entry.ok()?.path()).filter(|p| p.extension().is_some_and(|e| e == "safetensors"))
        })
        .collect();
    files.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    for path in files {
        let bytes = std::fs::read(&path).expect("a file");
        let (_, header) = SafeTensors::read_metadata(&bytes).expect("a header");
        let file = SafeTensors::deserialize(&bytes).expect("tensors");
        let metadata: BTreeMap<&String, &String> = header.metadata().iter().flatten().collect();
        for (name, info) in metadata {
            let info: serde_json::Value = serde_json::from_str(info).expect("metadata");
            let number = |key: &str| info[key].as_f64().unwrap_or(0.0);
            match case(name, &file, (number("rtol"), number("atol"))) {
                Ok(()) => passed += 1,
                Err(reason) => failed.push((name.clone(), info["class"].to_string(), reason)),
            }
        }
    }
    println!("{passed} cases pass");
    failed.iter().for_each(|(name, class, reason)| println!("{class} {name}: {}", reason.replace('\n', " ")));
    let is_known = |name: &str, reason: &str| KNOWN.iter().any(|(n, r)| *n == name && reason.contains(r));
    let new: Vec<_> = failed.iter().filter(|(name, _, reason)| !is_known(name, reason)).collect();
    assert!(new.is_empty(), "{} cases fail that did not: {new:#?}", new.len());
    let gone: Vec<_> =
        KNOWN.iter().filter(|(name, _)| !failed.iter().any(|(other, ..)| other == name)).collect();
    assert!(gone.is_empty(), "these cases pass now: {gone:?}");
}
