//! Errors name calls in backticks: every such call of Rust that a text can have is spelled as C and Python have it.

use std::collections::BTreeSet;
use std::path::Path;

use blocktensor::Door;

/// Calls that C has not, because no call of C leads to their errors.
const RUST_ALONE: &[&str] = &[
    // Backends of other crates.
    "Results::opaque",
    "Registrar::reorders",
    "register_backend",
    // Graphs are made by models.
    "Importer::register",
    "Plan::run_timed",
    // Saved plans and texts of packed files.
    "Plan::save",
    "Plan::load_with_constants",
    "PlanOptions::keep_constants",
    "PackedWriter::add_tensor",
    // Kinds of errors and types, in sentences of asserts.
    "Fusion",
];

/// Calls that C has and Python has not: it has no state dicts of its own.
const NOT_IN_PYTHON: &[&str] = &["StateDict::names", "StateDict::read", "StateDict::map", "StateDict::take"];

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Calls for tests of frameworks, which C has not.
            if !path.ends_with("src/testing") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs")
            && !["tests.rs", "door.rs"].iter().any(|f| path.ends_with(f))
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
            if i % 2 == 1 && line.contains('"') {
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

#[test]
fn every_call_that_an_error_names_has_a_spelling_in_other_languages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["src", "crates/graph/src", "crates/onnx/src"] {
        sources(&root.join(folder), &mut files);
    }
    let spans: BTreeSet<String> = files.iter().flat_map(|text| spans(text)).filter(|s| is_rust(s)).collect();
    assert!(spans.len() > 25, "{spans:?}");
    let mut unknown = Vec::new();
    let mut spelled = 0;
    for span in &spans {
        // What `format!` puts there: a number, or a dtype.
        let filled = span.replace("{to:?}", "F32").replace("{all:?}", "[1, 2]").replace("\\\"", "\"");
        let filled = match filled.find('{') {
            Some(from) => {
                let to = filled[from..].find('}').map_or(filled.len(), |at| from + at + 1);
                format!("{}4{}", &filled[..from], &filled[to..])
            }
            None => filled,
        };
        match Door::C.call(&filled) {
            Some(c) => {
                assert!(!c.contains("::") && !c.contains("?)"), "{span} becomes {c}");
                spelled += 1;
            }
            None if RUST_ALONE.contains(&span.as_str()) => {}
            None => unknown.push(span.clone()),
        }
        let has_python = Door::Python.call(&filled).is_some_and(|call| !call.contains("::"));
        let alone = RUST_ALONE.contains(&span.as_str()) || NOT_IN_PYTHON.contains(&span.as_str());
        if !has_python && !alone {
            unknown.push(format!("{span} (Python)"));
        }
    }
    assert!(unknown.is_empty(), "src/door.rs lacks {unknown:?}");
    assert!(spelled > 20, "{spelled}");
}

/// The functions that the table names are those of the header.
#[test]
fn the_functions_that_errors_name_are_in_the_header() {
    let header =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/blocktensor.h")).unwrap();
    let door = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/door.rs")).unwrap();
    let names: BTreeSet<&str> = door
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("bt_") && *word != "bt_")
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(header.contains(&format!(" {name}(")) || header.contains(&format!("{name}(")), "{name}");
    }
}
