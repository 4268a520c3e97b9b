//! The oneDNN that `onednn-src` compiled.

use crate::{Found, Linkage, env, fail, headers::Headers};
use std::path::PathBuf;

pub fn find() -> Found {
    if env("ONEDNN_DIR").is_some() {
        println!(
            "cargo::warning=ONEDNN_DIR is set, but the feature `bundled` is on, so oneDNN is compiled from source: \
             use --no-default-features and the feature `system` to link the installed one"
        );
    }
    let path = |name: &str| {
        env(name)
            .map(PathBuf::from)
            .unwrap_or_else(|| fail(&format!("{name} is missing: onednn-src did not build")))
    };
    let root = path("DEP_DNNL_ROOT");
    let include = path("DEP_DNNL_INCLUDE_PATH");
    // onednn-src names ROOT/lib, but GNUInstallDirs says lib64 on some systems.
    let lib = ["lib", "lib64"]
        .iter()
        .map(|name| root.join(name))
        .find(|dir| dir.join("libdnnl.a").exists() || dir.join("dnnl.lib").exists())
        .unwrap_or_else(|| path("DEP_DNNL_LIBRARY_PATH"));
    let headers = Headers::read(&include).unwrap_or_else(|message| fail(&message));
    Found { openmp: openmp(&root), include, lib, linkage: Linkage::Static, headers, link_here: false, root }
}

/// The OpenMP library that CMake found for the compiler (gomp for GCC, omp for Clang).
fn openmp(root: &std::path::Path) -> Option<String> {
    let cache = std::fs::read_to_string(root.join("build").join("CMakeCache.txt")).ok()?;
    let names = cache.lines().find_map(|line| line.strip_prefix("OpenMP_CXX_LIB_NAMES:STRING="))?;
    names.split(';').find(|name| name.contains("omp")).map(|name| name.trim_start_matches("lib").to_owned())
}
