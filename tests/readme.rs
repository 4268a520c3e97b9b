//! README's table of ops is made from the registry.

use std::collections::BTreeMap;

use blocktensor::dispatch::{self, DispatchKey, Engine, Op};

const BEGIN: &str = "<!-- ops -->\n";
const END: &str = "<!-- /ops -->";

fn cell(op: &Op, key: DispatchKey) -> String {
    match op.kernel(key) {
        Some(k) if k.engine != Engine::NotBuilt => {
            let mut text = k.engine.to_string();
            if k.dtypes.len() > 1 {
                let names: Vec<&str> = k.dtypes.iter().map(|d| d.name()).collect();
                text += &format!(" ({})", names.join(" "));
            }
            text
        }
        _ => "-".into(),
    }
}

/// Ops that run on the same engines for the same dtypes share a row.
fn table() -> String {
    let mut rows: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for op in dispatch::ops() {
        // Ops of other crates, which other tests register, are not ours to list.
        if op.kernel(DispatchKey::STRIDED).is_some() || op.kernel(DispatchKey::BLOCKED).is_some() {
            let place = (cell(op, DispatchKey::BLOCKED), cell(op, DispatchKey::STRIDED));
            rows.entry(place).or_default().push(op.schema().name);
        }
    }
    let mut text = String::from("| ops | strided | blocked |\n|---|---|---|\n");
    for ((blocked, strided), ops) in rows {
        text += &format!("| `{}` | {strided} | {blocked} |\n", ops.join("` `"));
    }
    text
}

#[test]
fn readme_lists_every_op_by_key_and_dtype() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let begin = readme.find(BEGIN).expect("the table's begin") + BEGIN.len();
    let end = readme.find(END).expect("the table's end");
    if !cfg!(feature = "onednn") {
        // Without oneDNN engines differ; the names do not.
        for op in dispatch::ops() {
            let known =
                op.kernel(DispatchKey::STRIDED).is_some() || op.kernel(DispatchKey::BLOCKED).is_some();
            assert!(
                !known || readme[begin..end].contains(&format!("`{}`", op.schema().name)),
                "{}",
                op.schema().name
            );
        }
        return;
    }
    let want = table();
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(path, format!("{}{want}{}", &readme[..begin], &readme[end..])).unwrap();
        return;
    }
    assert_eq!(&readme[begin..end], want, "README's table is old: UPDATE_README=1 cargo test readme");
}
