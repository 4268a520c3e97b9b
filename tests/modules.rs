//! The modules of `src` use each other in the order of ARCHITECTURE.md's list, with the exceptions that are stated there. Those of
//! crates/onnx and capi are in no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The modules of the list below `src/`, the first one first, and the exceptions: which uses which.
fn stated() -> (Vec<String>, BTreeSet<(String, String)>) {
    let text = read(&root().join("ARCHITECTURE.md"));
    let list = text.lines().skip_while(|l| *l != "src/").skip(1);
    let list = list.take_while(|l| l.starts_with("  ")).filter(|l| !l.starts_with("   "));
    let name =
        |l: &str| l.split_whitespace().next().unwrap().trim_end_matches(".rs").trim_end_matches('/').into();
    let exceptions = text.lines().take_while(|l| *l != "src/").filter_map(|l| {
        let (from, rest) = l.strip_prefix("- `")?.split_once("` uses `")?;
        Some((from.into(), rest.split_once("`:")?.0.into()))
    });
    (list.map(name).filter(|name: &String| name != "lib").collect(), exceptions.collect())
}

/// Code without comments and without the modules of unit tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            let of_tests = lines.find(|l| !l.starts_with("#[")).unwrap_or_default();
            if of_tests.ends_with('{') {
                lines.find(|l| *l == "}");
            }
            continue;
        }
        code += line.split("//").next().unwrap_or_default();
        code.push('\n');
    }
    code
}

/// The first names of all paths that start with `crate::`, those in braces too.
fn first_names(code: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(rest) = rest.strip_prefix('{') else {
            names.push(rest.chars().take_while(|c| is_word(*c)).collect());
            continue;
        };
        let (mut depth, mut fresh) = (0, true);
        for (at, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' => fresh |= depth == 0,
                c if is_word(c) && fresh => {
                    names.push(rest[at..].chars().take_while(|c| is_word(*c)).collect());
                    fresh = false;
                }
                _ => {}
            }
        }
    }
    names
}

fn files(folder: &Path, to: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, to),
            false => to.push(path),
        }
    }
}

/// What `lib.rs` re-exports, and the module that it is of.
fn re_exports(lib: &str) -> BTreeMap<String, String> {
    let mut of = BTreeMap::new();
    for item in lib.split("pub use ").skip(1) {
        let (module, names) = item.split(';').next().unwrap().split_once("::").unwrap();
        for path in names.trim_matches(['{', '}', '\n']).split(',') {
            let name = path.trim().rsplit([':', ' ', '{', '}']).next().unwrap();
            of.insert(name.to_string(), module.to_string());
        }
    }
    of
}

/// The module of a file, in the folder `src`.
fn module_of(src: &Path, path: &Path) -> String {
    let first = path.strip_prefix(src).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_string()
}

/// For each module of a crate those that it uses.
fn uses(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut paths = Vec::new();
    files(src, &mut paths);
    let mut uses = BTreeMap::<String, BTreeSet<String>>::new();
    for path in paths.iter().filter(|p| !p.ends_with("lib.rs") && !p.ends_with("tests.rs")) {
        let from = module_of(src, path);
        let names = first_names(&code(&read(path))).into_iter().filter(|name| *name != from);
        uses.entry(from.clone()).or_default().extend(names);
    }
    uses
}

/// The modules that are in a circle, or use one that is.
fn in_circles(mut uses: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let waits: BTreeSet<String> = uses.keys().cloned().collect();
        let before = uses.len();
        uses.retain(|_, used| !used.is_disjoint(&waits));
        if uses.len() == before {
            return uses.into_keys().collect();
        }
    }
}

#[test]
fn modules_of_crates_are_in_no_circle() {
    let of_onnx = uses(&root().join("crates/onnx/src"));
    assert!(of_onnx.len() > 10 && of_onnx["fold"].contains("ops"), "{of_onnx:?}");
    assert_eq!(in_circles(of_onnx), [""; 0]);
    let mut of_capi = uses(&root().join("capi/src"));
    // A handle stands for an object of any module: `Object` has one variant for each.
    of_capi.get_mut("handles").unwrap().clear();
    assert_eq!(in_circles(of_capi), [""; 0]);
}

#[test]
fn modules_use_those_above_them_in_the_list_of_architecture_md() {
    let (order, exceptions) = stated();
    let src = root().join("src");
    let mut paths = Vec::new();
    files(&src, &mut paths);
    let of_path = |path: &Path| module_of(&src, path);
    let modules: BTreeSet<String> = paths.iter().map(|p| of_path(p)).filter(|m| m != "lib").collect();
    assert_eq!(BTreeSet::from_iter(order.iter().cloned()), modules, "the list in ARCHITECTURE.md, and src");
    let re_exports = re_exports(&code(&read(&src.join("lib.rs"))));
    let place = |module: &str| order.iter().position(|m| m == module).unwrap();
    let mut found = BTreeMap::new();
    for path in paths.iter().filter(|p| !p.ends_with("lib.rs") && !p.ends_with("tests.rs")) {
        let from = of_path(path);
        for name in first_names(&code(&read(path))) {
            let to = if modules.contains(&name) { &name } else { re_exports.get(&name).unwrap_or(&from) };
            if place(&from) < place(to) {
                found.insert((from.clone(), to.clone()), path.strip_prefix(&src).unwrap());
            }
        }
    }
    let new: Vec<_> = found.iter().filter(|(pair, _)| !exceptions.contains(pair)).collect();
    assert!(
        new.is_empty(),
        "a module uses one below it: {new:?}\nMove what it uses, or the line of the list"
    );
    let gone: Vec<_> = exceptions.iter().filter(|pair| !found.contains_key(*pair)).collect();
    assert!(gone.is_empty(), "exceptions in ARCHITECTURE.md that are none any more: {gone:?}");
}
