//! Ops are named by the passes, which match patterns, and by the f64 definitions. Everything else asks for facts
//! (`blocktensor::dispatch::facts`), so that a new op needs no change here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Strings that are the names of something else, too.
const OTHERS: [(&str, &str); 1] = [("plan/steps.rs", "view")]; // a kind of step

/// All files of a folder and the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The strings of a source file, outside of comments.
fn strings(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let after = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'/' if after.starts_with('/') => after.split_once('\n').map_or("", |(_, rest)| rest),
            // A character, not a lifetime.
            b'\'' if after.starts_with("\"'") => &after[2..],
            b'"' => {
                let mut escaped = false;
                let end = after.find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let end = end.unwrap_or(after.len());
                found.push(after[..end].to_string());
                after.get(end + 1..).unwrap_or("")
            }
            _ => after,
        };
    }
    found
}

/// The names in a file's own strings that stand for ops.
fn named(source: &str, ops: &BTreeSet<&str>) -> Vec<String> {
    let stands_for_one = |s: &String| ops.contains(&s.as_str()) || ops.iter().any(|op| is_start(s, op));
    strings(source).into_iter().filter(stands_for_one).collect()
}

/// Whether it is the beginning of names, as `conv` and `conv_transpose`.
fn is_start(text: &str, op: &str) -> bool {
    text.len() > 3 && op.starts_with(text) && (op[text.len()..].starts_with(|c: char| !c.is_alphabetic()))
        || text.len() > 3 && text.ends_with('_') && op.starts_with(text)
}

#[test]
fn only_passes_and_definitions_name_ops() {
    let ops: BTreeSet<&str> = blocktensor::dispatch::ops().iter().map(|op| op.schema().name).collect();
    assert!(ops.len() > 120);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut read) = (Vec::new(), 0);
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        // These are tests.
        let is_test = ["tests.rs", "unwritten.rs"].iter().any(|test| name.ends_with(test));
        if is_test || name.starts_with("passes/") || name.starts_with("reference/") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let others = |op: &String| OTHERS.iter().any(|(file, word)| *file == name && word == op);
        found.extend(
            named(source, &ops).into_iter().filter(|op| !others(op)).map(|op| format!("{name}: {op:?}")),
        );
        read += 1;
    }
    assert!(read > 30, "{read} files");
    assert!(
        found.is_empty(),
        "state a fact on the op's schema (`blocktensor::dispatch::facts`) instead of its name:\n{}",
        found.join("\n")
    );
}

#[test]
fn names_are_found_in_code_alone() {
    let ops = BTreeSet::from(["conv2d", "conv_transpose2d", "relu", "max_pool2d"]);
    let source = r#"
        //! "relu"
        /// "conv2d"
        let a = "relu"; // "relu"
        let b: &'static str = if c == '"' { "a \" b" } else { "max_" };
        if op.starts_with("conv") || op.starts_with("conv_transpose") { "convert" }
    "#;
    assert_eq!(named(source, &ops), ["relu", "max_", "conv", "conv_transpose"]);
}
