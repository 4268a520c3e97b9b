//! `make install`: its files, and programs that are built against them with pkg-config and with CMake.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::programs::{announce, library, run};

const PROGRAM: &str = r#"
#include <stdio.h>
#include "blocktensor.h"
int main(void) {
  const int64_t dims[1] = {3};
  const float numbers[3] = {-1, 0, 2};
  bt_handle x, y;
  if (!bt_get_api(BT_ABI_VERSION, sizeof(bt_api))) return 1;
  if (bt_tensor_from_data(BT_F32, 1, dims, NULL, numbers, sizeof numbers, &x)) return 1;
  if (bt_call("relu", BT_ARGS(bt_t("x", x)), &y, 1, NULL)) return 1;
  float result[3];
  if (bt_tensor_read(y, result, sizeof result) || bt_free(x) || bt_free(y)) return 1;
  printf("%g %g %g\n", result[0], result[1], result[2]);
  return 0;
}
"#;

/// `make install` of the libraries in a folder.
fn install(libraries: &Path, prefix: &str, destination: Option<&Path>) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut make = Command::new("make");
    make.arg("-C").arg(root).arg("install").arg(format!("LIBRARY={}", libraries.display()));
    make.arg(format!("PREFIX={prefix}"));
    make.args(destination.map(|d| format!("DESTDIR={}", d.display())));
    // Those of a `make test` around this test.
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR", "PREFIX", "LIBRARY"] {
        make.env_remove(name);
    }
    make.output().unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

#[test]
fn installed_files_are_found_by_pkg_config_and_cmake() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    let done = install(&library(), prefix.to_str().unwrap(), None);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let source = folder.path().join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let expected = "0 0 2\n";

    let pkg_config = |arguments: &[&str]| {
        let folder = prefix.join("lib/pkgconfig");
        let said =
            run(Command::new("pkg-config").args(arguments).arg("blocktensor").env("PKG_CONFIG_PATH", folder));
        said.split_whitespace().map(String::from).collect::<Vec<String>>()
    };
    let cc = || {
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
        cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror"]).arg(&source);
        cc
    };
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let shared = folder.path().join("shared");
    run(cc().args(pkg_config(&["--cflags", "--libs"])).arg("-o").arg(&shared));
    assert_eq!(run(Command::new(&shared).env("LD_LIBRARY_PATH", prefix.join("lib"))), expected);
    // The static library, by its file's name.
    let libraries = pkg_config(&["--static", "--cflags", "--libs"]);
    let libraries = libraries.iter().map(|l| l.replace("-lblocktensor_c", "-l:libblocktensor_c.a"));
    let alone = folder.path().join("alone");
    run(cc().args(libraries).arg("-o").arg(&alone));
    assert_eq!(run(Command::new(&alone).env_remove("LD_LIBRARY_PATH")), expected);

    if Command::new("cmake").arg("--version").output().is_err() {
        return announce("cmake is not installed: find_package(blocktensor) was NOT tested");
    }
    let project = "cmake_minimum_required(VERSION 3.10)\nproject(user C CXX)\n\
        find_package(blocktensor 0.1 REQUIRED)\n\
        add_executable(shared program.c)\ntarget_link_libraries(shared blocktensor::blocktensor)\n\
        add_executable(alone program.c)\ntarget_link_libraries(alone blocktensor::static)\n\
        find_package(blocktensor 0.2 QUIET)\nif(blocktensor_FOUND)\nmessage(FATAL_ERROR \"another version\")\nendif()\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), project).unwrap();
    let built = folder.path().join("build");
    run(Command::new("cmake")
        .arg("-S")
        .arg(folder.path())
        .arg("-B")
        .arg(&built)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    run(Command::new("cmake").arg("--build").arg(&built));
    // CMake gives the program the library's folder.
    for program in ["shared", "alone"] {
        assert_eq!(run(Command::new(built.join(program)).env_remove("LD_LIBRARY_PATH")), expected);
    }
}

#[test]
fn destdir_is_put_before_the_prefix_and_bad_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (libraries, stage) = (folder.path().join("libraries"), folder.path().join("stage"));
    std::fs::create_dir(&libraries).unwrap();
    let refused = |done: Output, part: &str| {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(part), "{said}");
    };
    refused(install(&libraries, "/usr", Some(&stage)), "has no libblocktensor_c.so");
    for name in ["libblocktensor_c.so", "libblocktensor_c.a"] {
        std::fs::write(libraries.join(name), "not read").unwrap();
    }
    refused(install(&libraries, "usr", Some(&stage)), "absolute path");
    assert!(!stage.exists(), "nothing was installed");

    let done = install(&libraries, "/opt/bt", Some(&stage));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let installed = files(&stage);
    let names: Vec<_> = installed.iter().map(|f| f.strip_prefix(&stage).unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "opt/bt/include/blocktensor.h",
            "opt/bt/include/blocktensor.hpp",
            "opt/bt/lib/cmake/blocktensor/blocktensorConfig.cmake",
            "opt/bt/lib/cmake/blocktensor/blocktensorConfigVersion.cmake",
            "opt/bt/lib/libblocktensor_c.a",
            "opt/bt/lib/libblocktensor_c.so",
            "opt/bt/lib/pkgconfig/blocktensor.pc",
        ]
    );
    for file in installed.iter().filter(|f| f.extension().is_some_and(|e| e == "pc" || e == "cmake")) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.contains("@") && !text.contains(stage.to_str().unwrap()), "{text}");
    }
    let pc = std::fs::read_to_string(stage.join("opt/bt/lib/pkgconfig/blocktensor.pc")).unwrap();
    assert!(pc.starts_with("prefix=/opt/bt\n"), "{pc}");
}
