use blocktensor::elementwise::{map1, map2, map3};

use super::{every_line, f32_tensor, list, same, tensor};

#[test]
fn goldens_strides_iterator() {
    every_line("iterator.jsonl", |line| {
        let name = line["op"].as_str().ok_or("no op")?;
        let inputs = line["inputs"].as_array().ok_or("no inputs")?;
        let operands = match name {
            "relu" | "sin" => 1,
            "add" | "mul" => 2,
            "addcmul" | "where" => 3,
            other => return Err(format!("unknown op {other}")),
        };
        same("operands", inputs.len(), operands)?;
        let first = match name {
            "where" => tensor(&inputs[0], |i| (i % 2) as u8)?,
            _ => f32_tensor(&inputs[0])?,
        };
        let rest = inputs[1..].iter().map(f32_tensor).collect::<Result<Vec<_>, _>>()?;
        let result = match (name, rest.as_slice()) {
            (_, []) => map1("relu", &first, |a: f32| a.max(0.0)),
            (_, [b]) => map2("add", &first, b, |a: f32, b: f32| a + b),
            ("where", [b, c]) => {
                map3("where", &first, b, c, |a: u8, b: f32, c: f32| if a > 0 { b } else { c })
            }
            (_, [b, c, ..]) => map3("addcmul", &first, b, c, |a: f32, b: f32, c: f32| a + b * c),
        };
        let result = result.map_err(|e| e.to_string())?;
        same("size", result.dims().to_vec(), list(&line["out"]["size"])?)?;
        same("stride", result.strides().to_vec(), list(&line["out"]["stride"])?)
    });
}
