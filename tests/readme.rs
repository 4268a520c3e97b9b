//! The table of ops in docs/ops.md is made from what ran. README is short, and links between the guides lead somewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blocktensor::DType;
use blocktensor::dispatch::{self, DispatchKey, Engine, Isa, Op};

use crate::dispatch::engines::ran;

const BEGIN: &str = "<!-- ops -->\n";
const END: &str = "<!-- /ops -->";

fn cell(op: &Op, key: DispatchKey) -> String {
    if op.kernel(key).is_none() {
        return "-".into();
    }
    let mut text = ran(op, key).to_string();
    let mut dtypes: Vec<DType> = Vec::new();
    for arg in op.schema().args.iter().filter(|arg| arg.kind.is_data()) {
        // Also those that this machine has no instructions for.
        let kernels = op.implementations().filter(|(of, k)| *of == key && k.engine != Engine::Other);
        for (_, kernel) in kernels {
            for dtype in kernel.dtypes_of(op.schema(), arg.name).unwrap_or(DType::ALL.to_vec()) {
                if !dtypes.contains(&dtype) {
                    dtypes.push(dtype);
                }
            }
        }
    }
    if dtypes.len() > 1 {
        let names: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
        text += &format!(" ({})", names.join(" "));
    }
    text
}

/// Who computes an op's gradient, or why it has none. `tests/gradient` holds that it is there for both keys.
fn gradient(op: &Op) -> String {
    match op.schema().facts.without_gradient {
        Some(reason) => format!("none: {reason}"),
        None => "Rust (f32)".into(),
    }
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
        _ if is(&["cat", "stack", "chunk", "split", "pad", "flip", "roll", "tril", "triu"])
            || name.contains("shuffle") =>
        {
            9
        }
        _ if is(&["gather", "index_select", "sort", "topk", "cumsum"]) => 11,
        _ if op.schema().facts.sharing.is_view() || name == "reshape" => 10,
        _ if op.schema().facts.elementwise => {
            let data = op.schema().args.iter().filter(|a| a.kind.is_data()).count();
            let scalar = name.ends_with("_scalar") || name.ends_with("_channel");
            if data == 1 && !scalar { 6 } else { 7 }
        }
        // Ops of other crates, which other tests register.
        _ if op.kernel(DispatchKey::STRIDED).is_none() => 7,
        _ => panic!(
            "`{name}`: `.elementwise()` or `.sharing(...)` on its schema if it is one, else a line here"
        ),
    }
}

/// Whether the table lists the op as unary: an element-wise op of one operand.
pub fn is_unary(op: &Op) -> bool {
    FAMILIES[family(op)] == "unary"
}

/// Ops of one family that run on the same engines for the same dtypes share a row.
fn table() -> String {
    let mut rows: BTreeMap<(usize, String, String, String), Vec<&str>> = BTreeMap::new();
    for op in dispatch::ops() {
        // Ops of other crates, which other tests register, are not ours to list.
        if op.kernel(DispatchKey::STRIDED).is_some() || op.kernel(DispatchKey::BLOCKED).is_some() {
            let [strided, blocked] = [DispatchKey::STRIDED, DispatchKey::BLOCKED].map(|key| cell(op, key));
            let place = (family(op), strided, blocked, gradient(op));
            rows.entry(place).or_default().push(op.schema().name);
        }
    }
    let mut text = String::from("| | ops | strided | blocked | gradient |\n|---|---|---|---|---|\n");
    for ((family, strided, blocked, gradient), ops) in rows {
        let ops = ops.join("` `");
        text += &format!("| {} | `{ops}` | {strided} | {blocked} | {gradient} |\n", FAMILIES[family]);
    }
    text
}

#[test]
fn the_table_of_ops_lists_every_op_by_key_and_dtype() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ops.md");
    let page = std::fs::read_to_string(path).unwrap();
    let begin = page.find(BEGIN).expect("the table's begin") + BEGIN.len();
    let end = page.find(END).expect("the table's end");
    if !cfg!(feature = "onednn") || !Isa::Avx512Bf16.is_here() {
        // Without oneDNN, or on machines without its kernels of bf16, engines differ; the names do not.
        for op in dispatch::ops() {
            let known =
                op.kernel(DispatchKey::STRIDED).is_some() || op.kernel(DispatchKey::BLOCKED).is_some();
            assert!(
                !known || page[begin..end].contains(&format!("`{}`", op.schema().name)),
                "docs/ops.md lacks `{}`: write it there, or UPDATE_OPS=1 cargo test readme, with AVX512_BF16 and oneDNN",
                op.schema().name
            );
        }
        return;
    }
    let want = table();
    if std::env::var_os("UPDATE_OPS").is_some() {
        std::fs::write(path, format!("{}{want}{}", &page[..begin], &page[end..])).unwrap();
        return;
    }
    assert_eq!(&page[begin..end], want, "docs/ops.md is old: UPDATE_OPS=1 cargo test readme");
}

/// The most words that README has: ten minutes of reading.
const README_WORDS: usize = 1500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The pages in docs/.
fn docs() -> Vec<PathBuf> {
    let files = std::fs::read_dir(root().join("docs")).expect("docs/").map(|file| file.unwrap().path());
    let mut pages: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    pages
}

/// The lines of a page outside its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The targets of Markdown links: `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchors that GitHub makes of a page's headings: lower case, hyphens for spaces, no punctuation.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_';
    let anchor = |line: &str| {
        let words: String = line.trim_start_matches('#').trim().chars().filter(kept).collect();
        words.to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn readme_can_be_read_in_ten_minutes() {
    let readme = read(&root().join("README.md"));
    let words = readme.split_whitespace().count();
    assert!(words <= README_WORDS, "README has {words} words: move some of them to docs/");
}

#[test]
fn readme_links_to_every_page_in_docs() {
    let readme = read(&root().join("README.md"));
    let links = links(&readme);
    for page in docs() {
        let name = format!("docs/{}", page.file_name().unwrap().to_string_lossy());
        assert!(links.contains(&name.as_str()), "README does not link to {name}");
    }
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    pages.extend(docs());
    let (mut checked, mut broken) = (0, Vec::new());
    for page in &pages {
        let text = read(page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, h)| (file, Some(h)));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let found = match heading {
                None => target.exists(),
                Some(heading) => target.is_file() && anchors(&read(&target)).iter().any(|a| a == heading),
            };
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
            checked += 1;
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(checked > 30, "{checked} links found");
}
