//! Headers of safetensors files, taken apart and changed.

use serde_json::{Value, json};

use crate::Input;

/// The header of a file and the bytes after it; `None` where the header is incomplete.
pub fn header_of(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let rest = &bytes[8..];
    Some((serde_json::from_slice(rest.get(..length)?).ok()?, &rest[length..]))
}

/// JSON pointers to every value inside `value`.
pub fn places(value: &Value) -> Vec<String> {
    let escaped = |k: &str| k.replace('~', "~0").replace('/', "~1");
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(k, v)| (escaped(k), v)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    let below = |(key, v): (String, &Value)| places(v).into_iter().map(move |p| format!("/{key}{p}"));
    [String::new()].into_iter().chain(inner.into_iter().flat_map(below)).collect()
}

/// Replaces one value by another, of the same kind or of any.
pub fn change(input: &mut Input, value: &mut Value) {
    let all = places(value);
    let place = &all[input.below(all.len())];
    let target = value.pointer_mut(place).expect("a place of it");
    *target = match target {
        Value::Number(n) if !input.one_in(3) => {
            let n = n.as_u64().unwrap_or(0);
            match input.below(4) {
                0 => json!(n.wrapping_add(1)),
                1 => json!(n.wrapping_sub(1)),
                2 => json!(n.wrapping_mul(2)),
                _ => json!(input.below(20)),
            }
        }
        Value::Array(list) if !input.one_in(3) => {
            let mut list = std::mem::take(list);
            if input.flag() || list.is_empty() {
                list.push(json!(input.below(20)));
            } else {
                let at = input.below(list.len());
                list.remove(at);
            }
            Value::Array(list)
        }
        Value::Bool(b) => json!(!*b),
        _ => any(input),
    };
}

fn any(input: &mut Input) -> Value {
    const WORDS: [&str; 27] = [
        "",
        "x",
        "nChw16c",
        "nChw8c",
        "nCw16c",
        "nChw4c",
        "CHWN4",
        "OIhw16i16o",
        "contiguous",
        "channels_last",
        "preserve",
        "dense",
        "direct",
        "engine",
        "relu",
        "residual",
        "clip(0,6)",
        "mul_channel",
        "quantize(u8,3)",
        "round(s8,-1),quantize(s8,5)",
        "u8",
        "s8",
        "s32",
        "F32",
        "F16",
        "I64",
        "BOOL",
    ];
    match input.below(8) {
        0 => json!(input.below(40)),
        1 => json!(input.hostile()),
        2 => json!(input.word()),
        3 | 4 => json!(input.pick(&WORDS)),
        5 => json!((0..input.below(14)).map(|_| input.below(9)).collect::<Vec<_>>()),
        6 => json!(String::from_utf8_lossy(input.bytes(12))),
        _ => input.pick(&[Value::Null, json!({}), json!([]), json!(true), json!(-1), json!(1.5)]),
    }
}
