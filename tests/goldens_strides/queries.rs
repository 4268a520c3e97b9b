use blocktensor::{MemoryFormat, StridedTensor};
use serde_json::Value;

use super::{every_line, f32_tensor, format, list, same};

#[test]
fn goldens_strides_queries() {
    every_line("queries.jsonl", |line| {
        let x = f32_tensor(line)?;
        let questions = line.as_object().ok_or("no object")?;
        for (name, expected) in questions.iter().filter(|(n, _)| *n != "size" && *n != "stride") {
            query(&x, name, expected)?;
        }
        Ok(())
    });
}

fn query(x: &StridedTensor, name: &str, expected: &Value) -> Result<(), String> {
    let truth = || expected.as_bool().ok_or_else(|| format!("{name}: {expected} is neither true nor false"));
    match name {
        "is_contiguous" => {
            for (f, expected) in expected.as_object().ok_or("is_contiguous has no formats")? {
                same(name, Some(x.is_contiguous(format(f)?)), expected.as_bool())?;
            }
            return Ok(());
        }
        "non_overlapping_and_dense" | "is_non_overlapping_and_dense" => {
            return same(name, x.is_non_overlapping_and_dense(), truth()?);
        }
        "suggest_memory_format" | "suggest_memory_format(exact)" => {
            let got = x.suggest_memory_format(name.ends_with("(exact)"));
            return same(name, Some(got.name()), expected.as_str());
        }
        _ => {}
    }
    let (call, argument) = name
        .strip_suffix(')')
        .and_then(|n| n.split_once('('))
        .ok_or_else(|| format!("unknown query {name}"))?;
    let f = format(argument)?;
    let result = match call {
        "contiguous" => x.contiguous(f),
        "to" => x.to_memory_format(f),
        "clone" => x.copy(f),
        "empty_like" => x.empty_like(f),
        "zeros_like" => x.zeros_like(f),
        other => return Err(format!("unknown query {other}")),
    };
    let result = result.map_err(|e| e.to_string())?;
    same(name, result.strides().to_vec(), list(expected)?)?;
    same(name, result.dims(), x.dims())?;
    let elements = |t: &StridedTensor| t.to_vec::<f32>().map_err(|e| e.to_string());
    match call {
        "empty_like" => Ok(()),
        "zeros_like" => same(name, elements(&result)?, vec![0.0; x.numel()]),
        _ => {
            let itself = call == "to" && x.suggest_memory_format(false) == f
                || call == "contiguous" && x.is_contiguous(f);
            same("shares storage", result.shares_storage(x), itself)?;
            same(name, elements(&result)?, elements(x)?)
        }
    }
}

#[test]
fn strides_in_bytes_follow_the_element_size() {
    let x =
        StridedTensor::zeros(&[2, 3, 4, 5], blocktensor::DType::BF16, MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(x.strides_bytes().as_slice(), [120, 2, 30, 6]);
}
