//! Errors name calls in backticks: each door has its own names for them.

use std::collections::BTreeSet;
use std::path::Path;

use blocktensor::{Call, Door};
use blocktensor_c::words::C;

/// What errors name in the words of Rust for every door: it is for programs in Rust.
const RUST_ALONE: &[&str] = &[
    // Backends of other crates.
    "Results::opaque",
    "Registrar::reorders",
    "register_backend",
    // Tensors of other crates in packed files.
    "PackedWriter::add_tensor",
];

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Calls for tests of frameworks, which C has not.
            if !path.ends_with("src/testing") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs")
            && !["tests.rs", "error/call.rs", "error/text.rs"].iter().any(|f| path.ends_with(f))
        {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The parts in backticks of the string literals that are no comments, up to the tests of a file.
fn spans(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = BTreeSet::new();
    for line in lines {
        for (i, part) in line.split('`').enumerate() {
            if i % 2 == 1 {
                found.insert(part.to_string());
            }
        }
    }
    found
}

/// Whether it reads like a call or a name of Rust.
fn is_rust(span: &str) -> bool {
    let call = span.contains('(') && span.ends_with(')');
    let method = ["to_strided", "to_blocked", "to_dtype", "reshape", "reorder_to", "pack_for"];
    call || span.contains("::") || method.contains(&span)
}

/// Doors tell calls by their values: a call in the words of a text would reach every door as Rust writes it.
#[test]
fn no_text_has_a_call_of_rust_among_its_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["src", "crates/graph/src", "crates/onnx/src"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    let calls: BTreeSet<String> = Call::examples().iter().map(Call::to_string).collect();
    let words: BTreeSet<String> = files.iter().flat_map(|text| spans(text)).collect();
    assert!(words.len() > 80, "{words:?}");
    let is_call = |span: &String| is_rust(span) || calls.contains(span) && span != "zeros";
    let found: Vec<&String> = words.iter().filter(|span| is_call(span)).collect();
    let unknown: Vec<_> = found.iter().filter(|span| !RUST_ALONE.contains(&span.as_str())).collect();
    assert!(unknown.is_empty(), "write these as `Call`s of src/error/call.rs: {unknown:?}");
    let mut doors = Vec::new();
    for folder in ["capi/src", "crates/python/src", "crates/cli/src"] {
        sources(&root.join(folder), &mut doors);
    }
    let words_of_doors: BTreeSet<String> = doors.iter().flat_map(|text| spans(text)).collect();
    let of_rust = |span: &&String| span.contains("::") && calls.contains(*span);
    assert_eq!(words_of_doors.iter().find(of_rust), None);
    let unused: Vec<_> = RUST_ALONE.iter().filter(|span| !words.contains(**span)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn every_call_has_a_name_in_c() {
    let calls = Call::examples();
    let same = calls.iter().filter(|call| C("bt_call").call(call) == call.to_string());
    // No error of C names the last four.
    let own = [
        Call::OfBackend("to_tiles"),
        Call::KeepConstants,
        Call::LoadPlanWithConstants,
        Call::RunTimed,
        Call::RegisterGradient,
    ];
    assert!(same.eq(&own));
    assert_eq!(C("").call(&Call::Reshape(vec![1, 16])), "bt_reshape(t, 2, (int64_t[]){1, 16}, &out)");
    let weights = C("").call(&Call::ToBlockedIn("OIw16i16o".into()));
    assert_eq!(weights, "bt_to_blocked(t, \"OIw16i16o\", &out)");
}

/// The functions that C's words have are those of the header.
#[test]
fn the_functions_that_errors_name_are_in_the_header() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(here.join("include/blocktensor.h")).unwrap();
    let calls = Call::examples();
    let told = calls.iter().flat_map(|call| [C("bt_plan_load").call(call), C("").call(call)]);
    let text = told.collect::<Vec<_>>().join(" ");
    let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let names: BTreeSet<&str> = names.filter(|word| word.starts_with("bt_")).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(header.contains(&format!(" {name}(")), "{name}");
    }
}
