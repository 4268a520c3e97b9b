//! The ABI: the header's functions are the library's symbols, and no declaration changes without a new version.
//!
//! A function is stated once, where it is defined in src; src/table.rs also has its name. The header, the signatures in docs/c.md
//! and the list of a version's declarations in `abi.txt` are made of that: `UPDATE_C=1 cargo test -p blocktensor-capi --test abi`
//! writes them, `abi.txt` only if the version is a new one.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use blocktensor_c::{BT_ABI_OLDEST, BT_ABI_VERSION, TABLE};
use support::programs::{include, library, run};

/// A version of the ABI.
#[derive(Clone, Debug, PartialEq)]
struct Abi {
    version: u32,
    /// The oldest version whose programs run.
    oldest: u32,
    /// One line each, in the header's order.
    declarations: Vec<String>,
}

/// The header's declarations, without comments and preprocessor lines, each on one line.
fn declarations(header: &str) -> Vec<String> {
    let mut text = String::new();
    let code = header.split_once("*/").expect("the first comment").1;
    let code = code.split("// Constructors of arguments.").next().unwrap();
    for line in code.lines().filter(|line| !line.starts_with('#')) {
        text.push_str(line.split("//").next().unwrap());
        text.push(' ');
    }
    let (mut all, mut one, mut depth) = (Vec::new(), String::new(), 0);
    for c in text.replace("extern \"C\" {", "").chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ';' && depth == 0 {
            all.push(one.split_whitespace().collect::<Vec<_>>().join(" "));
            one.clear();
        } else {
            one.push(c);
        }
    }
    // An enum's second typedef is for C before C23.
    all.retain(|d| !d.starts_with("typedef enum"));
    all
}

/// The function that a declaration declares.
fn function(declaration: &str) -> Option<&str> {
    let before = declaration.split_once('(')?.0;
    let is_type = before.starts_with("typedef") || before.contains('{');
    (!is_type).then(|| before.rsplit([' ', '*']).next().unwrap())
}

/// Whether a program that was compiled with `old` works with `new`: it is the same, or an enum or the table of functions
/// that grew at its end.
fn still(old: &str, new: &str) -> bool {
    let members = |text: &str| text.rsplit_once('}').map(|(members, _)| members.trim_end().to_string());
    let grows = old.starts_with("enum ") || old.ends_with("} bt_api");
    old == new || grows && members(new).unwrap_or_default().starts_with(&members(old).unwrap())
}

/// What must be done before `now` may follow the listed version, if anything.
fn objection(listed: &Abi, now: &Abi) -> Option<String> {
    if listed == now {
        return None;
    }
    let broken = listed.declarations.iter().filter(|old| !now.declarations.iter().any(|new| still(old, new)));
    let broken: Vec<&str> = broken.map(String::as_str).collect();
    let added = now.declarations.iter().filter(|new| !listed.declarations.contains(new));
    let added: Vec<&str> = added.map(String::as_str).collect();
    let changes = format!("changed or removed:\n{}\nnew:\n{}", broken.join("\n"), added.join("\n"));
    let next = listed.version + 1;
    if now.version != next {
        let what = format!("the declarations differ from those of ABI version {}", listed.version);
        let todo = format!("set BT_ABI_VERSION in src/table.rs to {next}");
        return Some(format!("{what}: {todo}\n{changes}"));
    }
    let (oldest, why) = match broken.is_empty() {
        true => (listed.oldest, "older programs still run"),
        false => (next, "older programs do not run"),
    };
    if now.oldest != oldest {
        return Some(format!("{why}: set BT_ABI_OLDEST in src/table.rs to {oldest}\n{changes}"));
    }
    Some(format!("{UPDATE}\n{changes}"))
}

fn parse(list: &str) -> Abi {
    let mut lines = list.lines();
    let mut number = |name: &str| lines.next().unwrap().strip_prefix(name).unwrap().parse().unwrap();
    let (version, oldest) = (number("version "), number("oldest "));
    Abi { version, oldest, declarations: lines.map(String::from).collect() }
}

/// The modules of src with declarations, in the header's order.
const SOURCES: [&str; 20] = [
    "status",
    "handles",
    "tensor",
    "quantization",
    "reorder",
    "desc",
    "call",
    "operator",
    "packed",
    "packed_file",
    "dict",
    "scopes",
    "temporaries",
    "fallback",
    "text",
    "dlpack",
    "values",
    "model",
    "plan",
    "table",
];

/// The header of the sources: what cbindgen makes of them, with a field for each function of the table, then the constructors of
/// arguments.
fn header() -> String {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
        let width = config.line_length;
        config.trailer = Some(std::fs::read_to_string(here.join("src/arguments.h")).unwrap());
        let builder = cbindgen::Builder::new().with_config(config);
        let files = SOURCES.map(|source| here.join(format!("src/{source}.rs")));
        let mut text = Vec::new();
        files.into_iter().fold(builder, |b, file| b.with_src(file)).generate().unwrap().write(&mut text);
        with_fields(&String::from_utf8(text).unwrap(), width)
    });
    TEXT.clone()
}

/// The header with the fields of `bt_api` in the place of its array: each has the type of its function.
fn with_fields(header: &str, width: usize) -> String {
    let (before, rest) = header.split_once("  // The functions: ").expect("the array's comment");
    let after = rest.split_once("];\n").expect("the array").1;
    let fields: String = TABLE.iter().map(|name| field(header, name, width)).collect();
    [before, &fields, after].concat()
}

/// The field of one function, as cbindgen writes such fields.
fn field(header: &str, name: &str, width: usize) -> String {
    let (before, rest) = header.split_once(&format!("{name}(")).unwrap_or_else(|| panic!("no {name}"));
    let result = before.rsplit('\n').next().unwrap();
    let parameters: Vec<&str> = rest.split_once(");").unwrap().0.split(',').map(str::trim).collect();
    let begin = format!("  {result}(*{})(", &name["bt_".len()..]);
    let one_line = format!("{begin}{});", parameters.join(", "));
    let field = match one_line.len() <= width {
        true => one_line,
        false => format!("{begin}{});", parameters.join(&format!(",\n{}", " ".repeat(begin.len())))),
    };
    format!("  // `{name}`.\n{field}\n")
}

/// Whether generated files are to be written.
fn is_update() -> bool {
    std::env::var_os("UPDATE_C").is_some()
}

const UPDATE: &str = "run UPDATE_C=1 cargo test -p blocktensor-capi --test abi";

#[test]
fn the_committed_header_matches_the_sources() {
    let path = include().join("blocktensor.h");
    if is_update() {
        return std::fs::write(&path, header()).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == header(), "{UPDATE}");
}

#[test]
fn no_declaration_changes_without_a_new_abi_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abi.txt");
    let now = Abi { version: BT_ABI_VERSION, oldest: BT_ABI_OLDEST, declarations: declarations(&header()) };
    let listed = parse(&std::fs::read_to_string(&path).unwrap());
    let Some(objection) = objection(&listed, &now) else { return };
    // Any other objection stays, even if an update was asked for.
    if is_update() && objection.starts_with(UPDATE) {
        let Abi { version, oldest, declarations } = now;
        let text = format!("version {version}\noldest {oldest}\n{}\n", declarations.join("\n"));
        return std::fs::write(&path, text).unwrap();
    }
    panic!("{objection}");
}

#[test]
fn the_signatures_in_the_docs_are_those_of_the_header() {
    const BEGIN: &str = "<!-- signatures -->\n";
    const END: &str = "<!-- /signatures -->";
    let declarations = declarations(&header());
    let functions: Vec<&str> =
        declarations.iter().filter(|d| function(d).is_some()).map(|d| d.as_str()).collect();
    assert!(functions.len() > 70, "{}", functions.len());
    let want = format!("```\n{};\n```\n", functions.join(";\n"));
    let path = include().join("../../docs/c.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    if is_update() {
        return std::fs::write(&path, [before, BEGIN, &want, END, after].concat()).unwrap();
    }
    assert!(listed == want, "{UPDATE}");
}

#[test]
fn changes_of_the_abi_are_told_apart() {
    let abi = |version, oldest, declarations: &[&str]| Abi {
        version,
        oldest,
        declarations: declarations.iter().map(|d| d.to_string()).collect(),
    };
    let f = "int f(void)";
    let table = "typedef struct bt_api { int (*f)(void); } bt_api";
    let listed = abi(3, 2, &[f, "int g(int a)", table, "enum e { A = 1, }", "typedef struct s { int a; } s"]);
    let with = |version, oldest, at: usize, new: &[&str]| {
        let mut all: Vec<&str> = listed.declarations.iter().map(String::as_str).collect();
        all.splice(at..at + 1, new.iter().copied());
        objection(&listed, &abi(version, oldest, &all)).unwrap_or_default()
    };
    assert_eq!(objection(&listed, &listed), None);
    // Additions keep older programs running.
    let longer = "typedef struct bt_api { int (*f)(void); int (*g)(int); } bt_api";
    for (at, new) in [(0, &[f, "int h(void)"][..]), (2, &[longer]), (3, &["enum e { A = 1, B = 2, }"])] {
        for version in [2, 3, 5] {
            let text = with(version, 2, at, new);
            assert!(text.contains("set BT_ABI_VERSION in src/table.rs to 4"), "{new:?}: {text}");
        }
        assert!(with(4, 4, at, new).starts_with("older programs still run: set BT_ABI_OLDEST"), "{new:?}");
        assert!(with(4, 2, at, new).starts_with(UPDATE), "{new:?}");
    }
    // Anything else does not.
    let reordered = "typedef struct bt_api { int (*g)(int); int (*f)(void); } bt_api";
    let grown = "typedef struct s { int a; int b; } s";
    let renumbered = "enum e { A = 2, }";
    for (at, new) in
        [(0, &[][..]), (0, &["int f(int a)"]), (2, &[reordered]), (3, &[renumbered]), (4, &[grown])]
    {
        assert!(with(3, 2, at, new).contains("set BT_ABI_VERSION in src/table.rs to 4"), "{new:?}");
        assert!(with(4, 2, at, new).starts_with("older programs do not run: set BT_ABI_OLDEST"), "{new:?}");
        assert!(with(4, 4, at, new).starts_with(UPDATE), "{new:?}");
    }
    // The version alone.
    let later = Abi { version: 4, ..listed.clone() };
    assert!(objection(&listed, &later).unwrap().starts_with(UPDATE));
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let declared: BTreeSet<String> =
        declarations(&header()).iter().filter_map(|d| function(d).map(String::from)).collect();
    assert!(declared.len() > 70 && declared.contains("bt_version"), "{declared:?}");
    declared
}

/// The symbols that a library defines.
fn symbols(kind: &str, library: &Path) -> BTreeSet<String> {
    let said = run(Command::new("nm").args([kind, "--defined-only", "--format=posix"]).arg(library));
    said.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_string()).collect()
}

#[test]
fn the_libraries_define_the_functions_of_the_header_and_the_shared_one_nothing_else() {
    assert_eq!(symbols("--dynamic", &library().join("libblocktensor_c.so")), declared());
    // A static library has the symbols of everything in it.
    let mut ours = symbols("--extern-only", &library().join("libblocktensor_c.a"));
    ours.retain(|name| name.starts_with("bt_"));
    assert_eq!(ours, declared());
}

#[test]
fn the_table_of_functions_has_all_of_them() {
    let header = declarations(&header());
    let table = header.iter().find(|d| d.ends_with("} bt_api")).unwrap();
    let fields = table.split("(*").skip(1).map(|field| format!("bt_{}", field.split_once(')').unwrap().0));
    let mut fields: BTreeSet<String> = fields.collect();
    fields.insert("bt_get_api".into());
    assert_eq!(fields, declared());
}
