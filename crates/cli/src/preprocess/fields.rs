//! The file of `--preprocess`: a JSON object, read field by field so that errors name the field and what it may be.

use serde_json::Value;

use super::{MAX_SIDE, Preprocess, Size};

const EXAMPLE: &str = "{\"resize\": 256, \"crop\": [224, 224], \"mean\": [0, 0, 0]}";

/// The fields of a JSON object in their order: a map would drop the first of two with one name.
struct Fields(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Visitor)
    }
}

/// What the text of the file says. Errors end with a remedy.
pub(super) fn parse(text: &str) -> Result<Preprocess, String> {
    let Fields(fields) = serde_json::from_str(text).map_err(|e| {
        let what = if e.is_data() { "it is no JSON object".to_string() } else { broken(&e) };
        format!("{what}; write an object such as {EXAMPLE}")
    })?;
    let (mut read, mut seen) = (Preprocess::default(), Vec::new());
    for (name, value) in &fields {
        if seen.contains(&name) {
            return Err(format!("it has the field `{}` twice; leave one out", name.escape_debug()));
        }
        seen.push(name);
        let is = |what: &str, write: &str| Err(format!("`{name}` is {what}; {write}"));
        let sizes = format!("write a number from 1 to {MAX_SIDE}, or [height, width]");
        match name.as_str() {
            "resize" | "crop" | "mean" | "std" | "bgr" | "scale" if value.is_null() => {}
            "resize" | "crop" => match size(value) {
                Some(size) if name == "resize" => read.resize = Some(size),
                Some(size) => read.crop = Some(size),
                None => return is(&shown(value), &sizes),
            },
            "mean" | "std" => match numbers(value) {
                Some(numbers) if name == "mean" => read.mean = Some(numbers),
                Some(numbers) => read.std = Some(numbers),
                None => return is(&shown(value), "write a list of finite numbers, one for each channel"),
            },
            "bgr" => match value {
                Value::Bool(bgr) => read.bgr = Some(*bgr),
                _ => return is(&shown(value), "write true or false"),
            },
            "scale" => match number(value) {
                Some(scale) => read.scale = Some(scale),
                None => return is(&shown(value), "write a finite number"),
            },
            _ => {
                let name = name.chars().take(40).collect::<String>();
                return Err(format!(
                    "it has no use for the field `{}`; write resize, crop, mean, std, bgr or scale",
                    name.escape_debug()
                ));
            }
        }
    }
    Ok(read)
}

/// Where the text stops being JSON.
fn broken(error: &serde_json::Error) -> String {
    format!("it is no JSON from line {}, column {} on", error.line(), error.column())
}

fn size(value: &Value) -> Option<Size> {
    let side = |value: &Value| value.as_u64().and_then(|side| u32::try_from(side).ok());
    let size = match value {
        Value::Array(sides) => match sides.as_slice() {
            [height, width] => Size::Exact([side(height)?, side(width)?]),
            _ => return None,
        },
        value => Size::Side(side(value)?),
    };
    Some(size).filter(|size| size.is_usable())
}

fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32).filter(|number| number.is_finite())
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(number).collect()
}

/// A value in an error, shortened.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().count() > 40 {
        true => text.chars().take(40).chain("...".chars()).collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let read = parse(
            r#"{"resize": 256, "crop": [224, 320], "mean": [1, 2.5, 3], "std": [1], "bgr": true, "scale": 1}"#,
        );
        let want = Preprocess {
            resize: Some(Size::Side(256)),
            crop: Some(Size::Exact([224, 320])),
            mean: Some(vec![1.0, 2.5, 3.0]),
            std: Some(vec![1.0]),
            bgr: Some(true),
            scale: Some(1.0),
        };
        assert_eq!(read, Ok(want));
        assert_eq!(parse(r#"{"mean": null}"#), Ok(Preprocess::default()));
    }

    #[test]
    fn errors_name_the_field_and_what_it_may_be() {
        for (text, parts) in [
            ("", ["line 1, column 0", "write an object"]),
            ("{\"resize\":", ["line 1, column 10", "write an object"]),
            ("[3]", ["no JSON object", "write an object"]),
            ("\"text\"", ["no JSON object", "write an object"]),
            (r#"{"resize": "x"}"#, ["`resize` is \"x\"", "[height, width]"]),
            (r#"{"crop": [0, 4]}"#, ["`crop` is [0,4]", "from 1 to"]),
            (r#"{"crop": 99999999}"#, ["`crop` is 99999999", "from 1 to"]),
            (r#"{"mean": 3}"#, ["`mean` is 3", "a list"]),
            (r#"{"std": [1e300]}"#, ["`std` is [1e+300]", "finite"]),
            (r#"{"bgr": 1}"#, ["`bgr` is 1", "true or false"]),
            (r#"{"scale": {}}"#, ["`scale` is {}", "a finite number"]),
            (r#"{"size": 3}"#, ["`size`", "write resize, crop"]),
            (r#"{"bgr": true, "bgr": false}"#, ["`bgr` twice", "leave one out"]),
        ] {
            let error = parse(text).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{text}: {part}: {error}");
            }
            let words = ["untagged", "variant", "expected", "invalid type", "EOF"];
            assert!(words.iter().all(|word| !error.contains(word)), "{error}");
        }
    }
}
