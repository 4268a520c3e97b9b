//! The C++ header: a program that uses every class of it is compiled, without warnings, and run, also under valgrind.

mod support;

use std::path::Path;
use std::process::Command;

use blocktensor::{StateDict, StridedTensor};
use support::programs::{include, library, run, under_valgrind};

/// The C++ compiler, with more warnings than users have, as errors.
fn cxx() -> Command {
    let mut cxx = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    cxx.args([
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wpedantic",
        "-Wshadow",
        "-Wconversion",
        "-g",
        "-I",
    ]);
    cxx.arg(include());
    cxx
}

#[test]
fn a_cpp_program_uses_every_class_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.cpp");
    run(cxx().arg(source).arg("-L").arg(library()).args(["-lblocktensor_c", "-o"]).arg(&program));

    let weights = folder.path().join("weights.safetensors");
    let mut dict = StateDict::new();
    dict.insert("a\0b", StridedTensor::from_slice(&[1f32], &[1]).unwrap());
    dict.insert("w", StridedTensor::from_slice(&[2f32], &[1]).unwrap());
    dict.save(&weights).unwrap();
    let (dims, pixels) = support::array("resnet.image.npy");
    assert_eq!(dims[1..], [3, 44, 60]);
    let image = folder.path().join("image.raw");
    std::fs::write(&image, pixels.iter().flat_map(|p| p.to_ne_bytes()).collect::<Vec<u8>>()).unwrap();
    let model = support::stored("resnet.onnx");

    let arguments = [folder.path(), &weights, &model, &image];
    let mut command = Command::new(&program);
    // Its plan has measured layouts.
    command.args(arguments).env("LD_LIBRARY_PATH", library()).env("BLOCKTENSOR_CACHE", "off");
    let said = run(&mut command);
    assert_eq!(said, "failures: 0, live handles: 0\n");
    if let Some(said) = under_valgrind(&program, &arguments) {
        assert!(said.contains("failures: 0, live handles: 0\n"), "{said}");
    }
}

#[test]
fn the_cpp_program_in_the_docs_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let page = include().join("../../docs/c.md");
    let page = std::fs::read_to_string(page).unwrap();
    let shown = page.split("```cpp\n").nth(1).unwrap().split("```").next().unwrap();
    let source = folder.path().join("page.cpp");
    std::fs::write(&source, shown).unwrap();
    run(cxx().arg("-fsyntax-only").arg(&source));
}

/// The names of public classes, members and functions of the C++ header.
fn public_names(header: &str) -> Vec<String> {
    let (mut names, mut class) = (Vec::new(), String::new());
    let (mut detail, mut private) = (false, false);
    for line in header.lines() {
        let code = line.split("//").next().unwrap();
        detail = (detail || line.starts_with("namespace detail")) && line != "}  // namespace detail";
        private = (private || line == " private:") && !line.starts_with('}');
        let depth = code.len() - code.trim_start().len();
        if let Some(rest) = code.strip_prefix("class ").filter(|_| !detail) {
            class = rest.split([' ', ':']).next().unwrap().to_string();
            names.push(class.clone());
        }
        // Members are indented by one step, functions by none. A body's statements are deeper, or end with `;` and no brace.
        let name = code.split('(').next().unwrap().rsplit([' ', '*', '&']).next().unwrap();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let defines = code.contains('(') && code.trim_end().ends_with(['{', '}', ',']);
        let indented = depth == if class.is_empty() || code.starts_with("inline") { 0 } else { 2 };
        if !detail && !private && is_name && defines && (indented || depth == 0) {
            names.push(name.to_string());
        }
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_docs_list_the_members_of_the_cpp_header() {
    let header = std::fs::read_to_string(include().join("blocktensor.hpp")).unwrap();
    let page = std::fs::read_to_string(include().join("../../docs/c.md")).unwrap();
    let section = page.split("## C++\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let table: String = section.lines().filter(|line| line.starts_with("| ")).collect();
    let names = public_names(&header);
    for known in ["Tensor", "Fallback", "take_at", "run_into", "with_threads", "scratchpad_bytes", "code"] {
        assert!(names.iter().any(|name| name == known), "{known} is not among {names:?}");
    }
    let words: Vec<&str> = table.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let missing: Vec<&String> = names.iter().filter(|name| !words.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "docs/c.md does not list {missing:?}");
}

/// Two files of one program may include it: it defines nothing twice.
#[test]
fn the_cpp_header_may_be_included_by_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.cpp");
    std::fs::write(
        &part,
        "#include \"blocktensor.hpp\"\nsize_t threads() { return blocktensor::thread_count(); }\n",
    )
    .unwrap();
    let main = folder.path().join("main.cpp");
    let text = "#include \"blocktensor.hpp\"\nsize_t threads();\nint main() { return threads() != blocktensor::thread_count(); }\n";
    std::fs::write(&main, text).unwrap();
    let program = folder.path().join("main");
    run(cxx().arg(part).arg(main).arg("-L").arg(library()).args(["-lblocktensor_c", "-o"]).arg(&program));
    run(Command::new(&program).env("LD_LIBRARY_PATH", library()));
}
