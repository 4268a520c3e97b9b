//! Files that were cut, that have flipped bytes, or that were made with intent to harm.

use std::path::Path;

use blocktensor::{
    AnyConvPacker, DType, Error, Layout, PackedConv2d, PackedFile, PackedLinear, PackedOp, PackedWriter,
    Source, StateDict, StridedTensor,
};
use serde_json::{Value, json};

use super::packed::{noise, plain, small_file};
use super::{Folder, header};

#[test]
fn packed_file_finds_every_flipped_byte_and_every_cut() {
    let folder = Folder::new("flips");
    let path = small_file(&folder, false);
    let good = std::fs::read(&path).unwrap();
    let other = folder.file("other.packed");
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i] ^= 1 << (i % 8);
        std::fs::write(&other, &bad).unwrap();
        let e = PackedFile::read(&other).map(|_| ()).expect_err(&format!("byte {i} of {}", good.len()));
        assert!(matches!(e, Error::CorruptFile(_) | Error::PackMismatch(_)), "byte {i}: {e}");
    }
    for length in (0..good.len()).step_by(7) {
        std::fs::write(&other, &good[..length]).unwrap();
        assert!(matches!(PackedFile::read(&other), Err(Error::CorruptFile(_))), "{length} bytes");
        assert!(matches!(StateDict::read(&other), Err(Error::CorruptFile(_))), "{length} bytes");
    }
    let mut longer = good.clone();
    longer.push(0);
    std::fs::write(&other, &longer).unwrap();
    let e = PackedFile::read(&other).unwrap_err();
    assert!(e.to_string().contains("do not fill"), "{e}");
}

/// Headers with wrong lengths: no memory is allocated for data that the file does not have.
#[test]
fn packed_file_headers_with_wrong_lengths_are_typed_errors() {
    let folder = Folder::new("lies");
    let path = folder.file("lie.safetensors");
    let file = |length: u64, header: &[u8], data: usize| {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.resize(bytes.len() + data, 0);
        std::fs::write(&path, bytes).unwrap();
    };
    let tensor = |dtype: &str, shape: &str, range: &str| {
        format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{range}}}}}"#)
    };
    let max = u64::MAX.to_string();
    let cases: Vec<(u64, String, usize)> = vec![
        (u64::MAX, String::new(), 0),
        (1 << 40, "{}".into(), 0),
        (99_999_999, "{}".into(), 0),
        (2, "{}".into(), 1),
        (0, tensor("F32", "[1]", "[0,4]"), 3),
        (0, tensor("F32", "[1]", "[0,4]"), 5),
        (0, tensor("F32", "[2]", "[0,4]"), 4),
        (0, tensor("F32", "[1]", "[4,8]"), 8),
        (0, tensor("F32", "[1]", "[4,0]"), 4),
        (0, tensor("F32", &format!("[{max}]"), "[0,4]"), 4),
        (0, tensor("F32", &format!("[{max},{max}]"), "[0,4]"), 4),
        (0, tensor("F32", "[4611686018427387904,4]", "[0,0]"), 0),
        (0, tensor("F32", "[-1]", "[0,4]"), 4),
        (0, tensor("F99", "[1]", "[0,4]"), 4),
        (0, tensor("F32", "[1]", &format!("[0,{max}]")), 4),
        (0, "[".repeat(100_000), 0),
        (0, "{\"a\":".repeat(100_000), 0),
        (0, "nonsense".into(), 0),
        (0, "\u{0}".into(), 0),
        (0, format!("{},{}", tensor("F32", "[1]", "[0,4]").trim_end_matches('}'), "\"u\":{}}"), 4),
        (0, r#"{"__metadata__":{"format":7}}"#.into(), 0),
    ];
    for (i, (length, text, data)) in cases.iter().enumerate() {
        let length = if *length == 0 { text.len() as u64 } else { *length };
        file(length, text.as_bytes(), *data);
        for e in [StateDict::read(&path).map(|_| ()), PackedFile::read(&path).map(|_| ())] {
            let e = e.expect_err(&format!("case {i}"));
            assert!(matches!(e, Error::CorruptFile(_)), "case {i}: {e}");
            assert!(e.to_string().len() < 600, "case {i} is long: {e}");
        }
    }
    // A size of 0 beside sizes that no tensor can have: the other tensors can be read.
    let text = r#"{"big":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]},
        "long":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
    file(text.len() as u64, text.as_bytes(), 8);
    let mut dict = StateDict::read(&path).unwrap();
    let e = dict.take("big").unwrap_err();
    assert!(matches!(e, Error::Overflow(_)) && e.to_string().contains("product of the sizes"), "{e}");
    let e = dict.take("long").unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("I64"), "{e}");
    // Control characters of a name do not reach a terminal.
    let text = r#"{"\u001b[31mred":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
    file(text.len() as u64, text.as_bytes(), 8);
    let e = StateDict::read(&path).unwrap_err().to_string();
    assert!(!e.contains('\u{1b}') && e.contains("red"), "{e}");
}

/// Writes a file again with another header, and checksums that fit it.
fn rewrite(path: &Path, to: &Path, change: impl Fn(&mut Value)) {
    let bytes = std::fs::read(path).unwrap();
    let (length, mut json) = header(path);
    change(&mut json);
    let mut head = json.to_string().into_bytes();
    head.resize((8 + head.len()).next_multiple_of(64) - 8, b' ');
    head.splice(..0, (head.len() as u64).to_le_bytes());
    let mut data = bytes[8 + length..].to_vec();
    // The last tensor holds the checksums; the first checksum is that of the header.
    let at = json["checksums"]["data_offsets"][0].as_u64().map_or(0, |a| a as usize).min(data.len() - 8);
    data[at..at + 8].copy_from_slice(&twox_hash::XxHash3_64::oneshot(&head).to_le_bytes());
    head.extend(data);
    std::fs::write(to, head).unwrap();
}

/// The JSON pointers of all values inside `value`.
fn places(value: &Value, at: &mut Vec<String>, found: &mut Vec<String>) {
    found.push(at.iter().map(|k| format!("/{k}")).collect());
    let mut visit = |key: String, inner: &Value| {
        at.push(key);
        places(inner, at, found);
        at.pop();
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| visit(k.clone(), v)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| visit(i.to_string(), v)),
        _ => {}
    }
}

#[test]
fn a_checksum_that_is_missing_is_told_with_what_needs_one() {
    let folder = Folder::new("checksums");
    let path = small_file(&folder, false);
    let other = folder.file("other.packed");
    // Padding has no checksum. Under another name it is a tensor.
    rewrite(&path, &other, |json| {
        let json = json.as_object_mut().unwrap();
        let filler = json.keys().find(|name| name.starts_with("_filler")).unwrap().clone();
        let part = json.remove(&filler).unwrap();
        json.insert("more".into(), part);
    });
    let e = PackedFile::read(&other).unwrap_err().to_string();
    assert!(e.contains("it has 4 checksums, and its header and 4 tensors have one each"), "{e}");
}

/// Replaces each value of an entry by each of a list. A file that still opens must run, or give an error.
#[test]
fn packed_file_entries_with_changed_values_are_typed_errors_or_harmless() {
    let folder = Folder::new("hostile");
    let path = small_file(&folder, true);
    let other = folder.file("other.packed");
    let x = noise(&[1, 16, 5, 5], 5);
    let xb = x.to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
    let rows = noise(&[2, 7], 6);
    let (_, json) = header(&path);
    let values = [
        json!(0),
        json!(1),
        json!(3),
        json!(1_u64 << 40),
        json!(u64::MAX),
        json!(-1),
        json!("x"),
        json!("nChw8c"),
        json!("contiguous"),
        json!("dense"),
        json!("direct"),
        json!(null),
        json!([]),
        json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        json!({}),
        json!(true),
    ];
    let (mut opened, mut refused) = (0, 0);
    for name in ["conv", "fc"] {
        let key = format!("packed:{name}");
        let entry: Value = serde_json::from_str(json["__metadata__"][&key].as_str().unwrap()).unwrap();
        let mut all = Vec::new();
        places(&entry, &mut Vec::new(), &mut all);
        for (place, value) in all.iter().flat_map(|p| values.iter().map(move |v| (p, v))) {
            let mut changed = entry.clone();
            *changed.pointer_mut(place).unwrap() = value.clone();
            rewrite(&path, &other, |json| json["__metadata__"][&key] = json!(changed.to_string()));
            for repack in [false, true] {
                let open = if repack { PackedFile::read_or_repack } else { PackedFile::read };
                let result = open(&other).and_then(|file| match name {
                    "conv" => file.get::<PackedConv2d>(name)?.run(&xb).map(|y| plain(&y)),
                    _ => file.get::<PackedLinear>(name)?.run(&rows).map(|y| y.to_vec().unwrap()),
                });
                match result {
                    Ok(y) => {
                        opened += 1;
                        assert!(!y.is_empty() || name == "fc");
                    }
                    Err(e) => {
                        refused += 1;
                        let kind = format!("{e:?}");
                        let kind = kind.split('(').next().unwrap();
                        let known = ["CorruptFile", "PackMismatch", "InvalidArgument", "Overflow"];
                        assert!(known.contains(&kind), "{name}{place} = {value}: {e:?}");
                    }
                }
            }
        }
    }
    assert!(refused > 1000 && opened > 20, "{refused} refused, {opened} opened");
}

#[test]
fn packed_file_of_another_machine_or_version_is_refused_by_name() {
    let folder = Folder::new("machines");
    let path = small_file(&folder, false);
    let other = folder.file("other.packed");
    for (key, value) in
        [("isa", "avx9"), ("onednn_isa", "x"), ("onednn", "2.0.0"), ("block", "64"), ("format_version", "1")]
    {
        rewrite(&path, &other, |json| json["__metadata__"][key] = json!(value));
        let e = PackedFile::read(&other).unwrap_err();
        assert!(matches!(e, Error::PackMismatch(_)), "{e}");
        let name = if key == "format_version" { "format version" } else { key };
        assert!(e.to_string().contains(value) && e.to_string().contains(name), "{e}");
    }
    rewrite(&path, &other, |json| json["__metadata__"]["format"] = json!("pt"));
    let e = PackedFile::read(&other).unwrap_err();
    assert!(matches!(e, Error::CorruptFile(_)) && e.to_string().contains("StateDict::read"), "{e}");
    // A valid layout that the engine does not choose here.
    if cfg!(feature = "onednn") {
        rewrite(&path, &other, |json| {
            let mut entry: Value =
                serde_json::from_str(json["__metadata__"]["packed:fc"].as_str().unwrap()).unwrap();
            entry["weights"]["identity"]["strides"] = json!([1, 7]);
            json["__metadata__"]["packed:fc"] = json!(entry.to_string());
        });
        let e = PackedFile::read(&other).unwrap().get::<PackedLinear>("fc").unwrap_err();
        assert!(matches!(e, Error::PackMismatch(_)) && e.to_string().contains("engine wants"), "{e}");
    }
}

/// Weights of integers in the order of other instructions are as many bytes, and a kernel would read them as its own.
#[test]
fn packed_integers_in_another_order_or_of_other_types_are_refused() {
    let folder = Folder::new("integers");
    let (path, other) = (folder.file("int8.packed"), folder.file("other.packed"));
    let layout = Layout::blocked_activation(4, 16).unwrap();
    let source = Source::blocked(&[1, 64, 3, 3], &layout).unwrap().dtype(DType::U8);
    let weights = noise(&[16, 64, 1, 1], 7).to_dtype(DType::S8).unwrap();
    let params = [("post_ops", "mul_channel".into())];
    let packed = AnyConvPacker::new("conv2d", &weights, None, &params).unwrap().pack_for(&source).unwrap();
    let packed = PackedOp::from(packed);
    let mut writer = PackedWriter::new();
    writer.add("conv", &packed).unwrap();
    writer.save(&path).unwrap();
    let refused = |place: &str, value: Value| {
        rewrite(&path, &other, |json| {
            let text = json["__metadata__"]["packed:conv"].as_str().unwrap();
            let mut entry: Value = serde_json::from_str(text).unwrap();
            *entry.pointer_mut(place).unwrap_or_else(|| panic!("{place} in {text}")) = value.clone();
            json["__metadata__"]["packed:conv"] = json!(entry.to_string());
        });
        PackedFile::read(&other).unwrap().get::<PackedOp>("conv").unwrap_err()
    };
    let e = refused("/weights/layout", json!("int8 in tiles of 7 quads"));
    assert!(matches!(e, Error::PackMismatch(_)) && e.to_string().contains("in tiles of 7 quads"), "{e}");
    let e = refused("/result_dtype", json!("u8"));
    assert!(matches!(e, Error::CorruptFile(_)) && e.to_string().contains("u8 by s8 to u8"), "{e}");
    let e = refused("/params/x_zero_point", json!(-5));
    assert!(matches!(e, Error::CorruptFile(_)) && e.to_string().contains("-5"), "{e}");
}

#[test]
fn state_dict_reads_tensors_of_any_alignment() {
    let folder = Folder::new("odd");
    let path = folder.file("odd.safetensors");
    for spaces in 0..9 {
        let text = format!(
            r#"{{"b":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}},"t":{{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}}}{}"#,
            " ".repeat(spaces)
        );
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes.push(200);
        bytes.extend(1.5f32.to_le_bytes());
        bytes.extend((-2f32).to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let dict = StateDict::read(&path).unwrap();
        assert_eq!(dict.get("t").unwrap().as_slice::<f32>().unwrap(), [1.5, -2.0]);
        assert_eq!(dict.get("b").unwrap().as_slice::<u8>().unwrap(), [200]);
        let sum: &StridedTensor = dict.get("t").unwrap();
        assert_eq!(blocktensor::ops::relu(sum).unwrap().to_vec::<f32>().unwrap(), [1.5, 0.0]);
    }
}
