//! Programs that tests compile and run.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says what a test left out, also where the test succeeds.
pub fn announce(what: &str) {
    // Not `eprintln!`, which the test harness captures.
    std::io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

/// The folder of the shared library that was compiled with this test.
pub fn library() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    assert!(deps.join("libblocktensor_c.so").exists(), "{}", deps.display());
    deps
}

pub fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (said, erred) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}\n{said}\n{erred}");
    format!("{said}{erred}")
}

/// The C compiler, with warnings as errors and the header's folder.
pub fn cc() -> Command {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-I"]).arg(include());
    cc
}

/// The headers' folder.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Compiles an example into the folder.
pub fn compiled(example: &str, dir: &Path) -> PathBuf {
    let program = dir.join(example);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{example}.c"));
    run(cc().arg(source).arg("-L").arg(library()).args(["-lblocktensor_c", "-lm", "-o"]).arg(&program));
    program
}

/// What a program prints under valgrind, which supports no more than AVX2; `None` if it is not installed.
pub fn under_valgrind(program: &Path, arguments: &[&Path]) -> Option<String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        announce("valgrind is not installed: the program ran without it");
        return None;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        "--quiet",
    ]);
    valgrind.arg(program).args(arguments).env("LD_LIBRARY_PATH", library());
    Some(run(valgrind.env("ONEDNN_MAX_CPU_ISA", "AVX2").env("RAYON_NUM_THREADS", "2")))
}
