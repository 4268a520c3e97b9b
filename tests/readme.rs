//! README's table of ops is made from what ran.

use std::collections::BTreeMap;

use blocktensor::dispatch::{self, DispatchKey, Op};

use crate::dispatch::engines::{has_avx512, ran};

const BEGIN: &str = "<!-- ops -->\n";
const END: &str = "<!-- /ops -->";

fn cell(op: &Op, key: DispatchKey) -> String {
    let Some(kernel) = op.kernel(key) else { return "-".into() };
    let mut text = ran(op, key).to_string();
    if kernel.dtypes.len() > 1 {
        let names: Vec<&str> = kernel.dtypes.iter().map(|d| d.name()).collect();
        text += &format!(" ({})", names.join(" "));
    }
    text
}

const FAMILIES: [&str; 12] = [
    "convolution",
    "linear",
    "pooling",
    "resampling",
    "norms, softmax",
    "dropout",
    "unary",
    "binary",
    "reductions",
    "moving elements",
    "views",
    "indexing, sorting",
];

/// Which of the families an op is of.
fn family(op: &Op) -> usize {
    let name = op.schema().name;
    let is = |names: &[&str]| names.contains(&name);
    match name {
        _ if name.starts_with("conv") => 0,
        "linear" | "matmul" => 1,
        _ if name.contains("pool") => 2,
        _ if name.starts_with("upsample") || name == "grid_sample" => 3,
        _ if name.contains("norm") || name.contains("softmax") => 4,
        _ if name.contains("dropout") => 5,
        _ if is(&["sum", "mean", "prod", "amax", "amin", "argmax"]) => 8,
        _ if is(&["cat", "stack", "chunk", "split", "pad", "flip", "roll"]) || name.contains("shuffle") => 9,
        _ if is(&["gather", "index_select", "sort", "topk", "cumsum"]) => 11,
        _ if op.kernel(DispatchKey::BLOCKED).is_none() => 10,
        _ => {
            let data = op.schema().args.iter().filter(|a| a.kind.is_data()).count();
            let scalar = name.ends_with("_scalar") || name.ends_with("_channel");
            if data == 1 && !scalar { 6 } else { 7 }
        }
    }
}

/// Ops of one family that run on the same engines for the same dtypes share a row.
fn table() -> String {
    let mut rows: BTreeMap<(usize, String, String), Vec<&str>> = BTreeMap::new();
    for op in dispatch::ops() {
        // Ops of other crates, which other tests register, are not ours to list.
        if op.kernel(DispatchKey::STRIDED).is_some() || op.kernel(DispatchKey::BLOCKED).is_some() {
            let place = (family(op), cell(op, DispatchKey::STRIDED), cell(op, DispatchKey::BLOCKED));
            rows.entry(place).or_default().push(op.schema().name);
        }
    }
    let mut text = String::from("| | ops | strided | blocked |\n|---|---|---|---|\n");
    for ((family, strided, blocked), ops) in rows {
        text += &format!("| {} | `{}` | {strided} | {blocked} |\n", FAMILIES[family], ops.join("` `"));
    }
    text
}

#[test]
fn readme_lists_every_op_by_key_and_dtype() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let begin = readme.find(BEGIN).expect("the table's begin") + BEGIN.len();
    let end = readme.find(END).expect("the table's end");
    if !cfg!(feature = "onednn") || !has_avx512() {
        // Without oneDNN, or on older machines, engines differ; the names do not.
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
