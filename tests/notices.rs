//! THIRD_PARTY_NOTICES lists the crates that Cargo.lock names now. `UPDATE_NOTICES=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What is tested is what is shipped.
const TARGET: &str = "x86_64-unknown-linux-gnu";

const HEAD: &str = "\
Third-party notices

What a program or a library on x86-64 Linux carries of others when it links blocktensor with its default features: the
crates below, oneDNN, and what oneDNN carries. Where a crate offers several licences, the first of its files in the order
MIT, the only one, BSD, Apache stands here. Macros and build scripts leave nothing of themselves and are not listed. The Rust
standard library is of the toolchain that compiles: its notices are share/doc/rust/COPYRIGHT-library.html there.

Made from Cargo.lock: UPDATE_NOTICES=1 cargo test notices
";

fn cargo(args: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let out = Command::new(program).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(out.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Crates of others that are linked, "name version".
fn linked() -> Vec<String> {
    let tree = cargo(&[
        "tree",
        "--locked",
        "--package=blocktensor-capi",
        "--package=blocktensor-onnxruntime-ep",
        "--edges=normal,no-proc-macro",
        "--target",
        TARGET,
        "--prefix=none",
        "--format={p}",
    ]);
    let mut all: Vec<String> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty() && !line.contains('/'))
        .map(|line| line.replace(" v", " "))
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The licence files of a folder. The first is the one to print.
fn licence_files(folder: &Path) -> Vec<PathBuf> {
    let rank = |name: &str| {
        let name = name.to_lowercase();
        let kind = name.strip_prefix("license").or_else(|| name.strip_prefix("licence"));
        match kind.map(|k| k.trim_matches(|c| "-._".contains(c))) {
            Some(k) if k.starts_with("mit") => Some(0),
            Some("" | "md" | "txt") => Some(1),
            Some(k) if k.starts_with("bsd") => Some(2),
            Some(k) if k.starts_with("apache") => Some(3),
            _ => None,
        }
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some((rank(path.file_name()?.to_str()?)?, path)))
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// The licence files of a crate whose package has none, from its repository.
fn kept(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/licences").join(name);
    assert!(
        folder.is_dir(),
        "{name} has no licence file: copy its repository's to tests/data/licences/{name}"
    );
    licence_files(&folder)
}

fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_string()
}

fn notices() -> String {
    let metadata = cargo(&["metadata", "--locked", "--format-version=1", "--filter-platform", TARGET]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages: BTreeMap<String, &Value> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (format!("{} {}", p["name"].as_str().unwrap(), p["version"].as_str().unwrap()), p))
        .collect();
    let folder =
        |package: &Value| Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();

    // Grouped by text, as many crates have the same.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let linked = linked();
    for name in &linked {
        let package = packages[name];
        // A crate without a licence file takes that of another crate in the same repository, or the copy that we keep.
        let siblings = linked.iter().map(|other| packages[other]);
        let files = std::iter::once(package)
            .chain(siblings.filter(|other| other["repository"] == package["repository"]))
            .map(|p| licence_files(&folder(p)))
            .find(|files| !files.is_empty())
            .unwrap_or_else(|| kept(package["name"].as_str().unwrap()));
        let licence = package["license"].as_str().unwrap();
        texts.entry(read(&files[0])).or_default().push(format!("{name} ({licence})"));
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/onednn-sys/onednn");
    for (file, what) in
        [("LICENSE", "oneDNN (Apache-2.0)"), ("THIRD-PARTY-PROGRAMS", "what oneDNN carries of others")]
    {
        texts
            .entry(read(&sources.join(file)))
            .or_default()
            .push(format!("{what}, from vendor/onednn-sys/onednn"));
    }

    let mut sections: Vec<_> = texts.into_iter().map(|(text, names)| (names, text)).collect();
    sections.sort();
    let mut all = HEAD.to_string();
    for (names, text) in sections {
        write!(all, "\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join("\n")).unwrap();
    }
    all
}

#[test]
fn the_committed_third_party_notices_list_the_linked_crates() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/THIRD_PARTY_NOTICES");
    let want = notices();
    if std::env::var_os("UPDATE_NOTICES").is_some() {
        std::fs::write(path, &want).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == want, "THIRD_PARTY_NOTICES is old: UPDATE_NOTICES=1 cargo test notices");
}
