//! PyTorch's own answers about sizes, strides and formats: `$GOLDENS_DIR/strides/*.jsonl`, else the copies in
//! `tests/data/strides`. Every line runs; each one that fails is printed.

mod calls;
mod iterator;
mod ops;
mod queries;
mod views;

use std::path::PathBuf;

use blocktensor::{Element, MemoryFormat, StridedTensor};
use serde_json::Value;

/// Runs `check` on every line of a file and fails when one did.
fn every_line(file: &str, check: impl Fn(&Value) -> Result<(), String>) {
    let dir = match std::env::var_os("GOLDENS_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    };
    let path = dir.join("strides").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut lines, mut failures) = (0, 0);
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        lines += 1;
        let checked = serde_json::from_str(line).map_err(|e| e.to_string()).and_then(|v| check(&v));
        if let Err(why) = checked {
            failures += 1;
            println!("FAILED: {why}\n  {line}");
        }
    }
    println!("{}: {lines} lines checked, {failures} failed", path.display());
    assert!(lines > 0, "{} has no lines", path.display());
    assert_eq!(failures, 0, "{failures} of {lines} lines of {} failed", path.display());
}

fn list(v: &Value) -> Result<Vec<usize>, String> {
    let values = v.as_array().ok_or_else(|| format!("{v} is no list"))?;
    values.iter().map(|n| n.as_u64().map(|n| n as usize).ok_or_else(|| format!("{n} is no size"))).collect()
}

fn number(v: &Value) -> Result<usize, String> {
    v.as_u64().map(|n| n as usize).ok_or_else(|| format!("{v} is no number"))
}

/// A tensor with the line's size and stride over storage where every element has its own value.
fn tensor<E: Element>(v: &Value, value: impl Fn(usize) -> E) -> Result<StridedTensor, String> {
    let (dims, strides) = (list(&v["size"])?, list(&v["stride"])?);
    let offset = v.get("offset").map_or(Ok(0), number)?;
    let reach = dims.iter().zip(&strides).map(|(d, s)| d.saturating_sub(1) * s).sum::<usize>();
    let data: Vec<E> = (0..=offset + reach).map(value).collect();
    let storage = StridedTensor::from_slice(&data, &[data.len()]).map_err(|e| e.to_string())?;
    storage.as_strided(&dims, &strides, offset).map_err(|e| e.to_string())
}

fn f32_tensor(v: &Value) -> Result<StridedTensor, String> {
    tensor(v, |i| i as f32)
}

fn format(name: &str) -> Result<MemoryFormat, String> {
    match name {
        "contiguous" => Ok(MemoryFormat::Contiguous),
        "channels_last" => Ok(MemoryFormat::ChannelsLast),
        "channels_last_3d" => Ok(MemoryFormat::ChannelsLast3d),
        "preserve" => Ok(MemoryFormat::Preserve),
        other => Err(format!("unknown memory format {other}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: got {got:?}, expected {expected:?}")) }
}
