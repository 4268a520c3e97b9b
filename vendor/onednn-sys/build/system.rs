//! Finds an installed oneDNN: in the places that the environment names, then through pkg-config and in the usual prefixes.

use crate::{Found, env, fail, headers::Headers};
use std::path::{Path, PathBuf};

pub fn find() -> Found {
    let include_dir = env("ONEDNN_INCLUDE_DIR").map(PathBuf::from);
    let lib_dir = env("ONEDNN_LIB_DIR").map(PathBuf::from);
    let wants_static = env("ONEDNN_STATIC").map(|value| !matches!(&*value, "0" | "no" | "off" | "false"));

    // A place that is named explicitly must hold an installation; otherwise it is an error, and no other place is searched.
    for name in ["ONEDNN_DIR", "DNNLROOT"] {
        if let Some(root) = env(name) {
            let root = PathBuf::from(root);
            return at(&root, include_dir.as_deref(), lib_dir.as_deref(), wants_static)
                .unwrap_or_else(|message| fail(&format!("{name}={}: {message}", root.display())));
        }
    }
    if let (Some(include), Some(lib)) = (&include_dir, &lib_dir) {
        return at(include, Some(include), Some(lib), wants_static)
            .unwrap_or_else(|message| fail(&format!("ONEDNN_INCLUDE_DIR and ONEDNN_LIB_DIR: {message}")));
    }

    let mut refused = Vec::new();
    for root in prefixes() {
        match at(&root, include_dir.as_deref(), lib_dir.as_deref(), wants_static) {
            Ok(found) => return found,
            // An installation is there but cannot be used: reported if no other is found.
            Err(message) if root.join("include/oneapi/dnnl").is_dir() => refused.push(message),
            Err(_) => {}
        }
    }
    if refused.is_empty() {
        fail(
            "no installed oneDNN found: set ONEDNN_DIR to the prefix of a oneDNN 3 installation (the directory that \
             holds include/ and lib/), or use the feature `bundled`, which compiles one",
        )
    } else {
        fail(&refused.join("; "))
    }
}

/// Prefixes that may hold an installation, best first.
fn prefixes() -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    // The places that CMake's find_package(dnnl) searches: the directory of the package file, then the prefixes.
    for name in ["dnnl_DIR", "DNNL_DIR"] {
        if let Some(dir) = env(name) {
            // <prefix>/<lib>/cmake/dnnl, or <prefix>/<lib>/<triple>/cmake/dnnl
            prefixes.extend(Path::new(&dir).ancestors().skip(3).take(2).map(Path::to_path_buf));
        }
    }
    for name in ["dnnl_ROOT", "DNNL_ROOT"] {
        prefixes.extend(env(name).map(PathBuf::from));
    }
    if let Some(path) = env("CMAKE_PREFIX_PATH") {
        prefixes.extend(std::env::split_paths(&path));
    }
    for package in ["dnnl", "onednn"] {
        let library = pkg_config::Config::new().cargo_metadata(false).env_metadata(true).probe(package);
        if let Ok(library) = library {
            prefixes
                .extend(library.include_paths.iter().filter_map(|path| path.parent().map(Path::to_path_buf)));
            prefixes
                .extend(library.link_paths.iter().filter_map(|path| path.parent().map(Path::to_path_buf)));
        }
    }
    prefixes
        .extend(["/usr/local", "/usr", "/opt/homebrew", "/opt/intel/oneapi/dnnl/latest"].map(PathBuf::from));
    prefixes
}

/// The installation under `root`.
fn at(
    root: &Path,
    include_dir: Option<&Path>,
    lib_dir: Option<&Path>,
    wants_static: Option<bool>,
) -> Result<Found, String> {
    let include = include_dir.map_or_else(|| root.join("include"), Path::to_path_buf);
    let headers = Headers::read(&include)?;
    // A version that is too old gets its own message, even if the library file is not found.
    headers.check(root)?;

    let directories = match lib_dir {
        Some(dir) => vec![dir.to_path_buf()],
        None => {
            let mut directories = vec![root.join("lib"), root.join("lib64")];
            if let Some(triple) = multiarch() {
                directories.insert(0, root.join("lib").join(triple));
            }
            directories
        }
    };
    let (lib, is_static) = directories
        .iter()
        .find_map(|dir| library(dir, wants_static).map(|is_static| (dir.clone(), is_static)))
        .ok_or_else(|| {
            let kind = match wants_static {
                Some(true) => "static dnnl library (ONEDNN_STATIC is on)",
                Some(false) => "shared dnnl library (ONEDNN_STATIC is off)",
                None => "dnnl library",
            };
            let listed: Vec<_> = directories.iter().map(|dir| dir.display().to_string()).collect();
            format!(
                "oneDNN {} has its headers here, but no {kind} is in {}",
                headers.version(),
                listed.join(", ")
            )
        })?;
    Ok(Found { root: root.to_path_buf(), include, lib, is_static, headers })
}

/// Whether a directory has a static library (`Some(true)`), a shared one (`Some(false)`), or none that is wanted. If both are
/// there and either is wanted, the shared one is used.
fn library(dir: &Path, wants_static: Option<bool>) -> Option<bool> {
    let any = |names: &[&str]| names.iter().any(|name| dir.join(name).exists());
    let shared = any(&["libdnnl.so", "libdnnl.dylib", "dnnl.dll"]);
    let stat = any(&["libdnnl.a"]) || (!shared && any(&["dnnl.lib"]));
    match wants_static {
        Some(false) => shared.then_some(false),
        Some(true) => stat.then_some(true),
        None if shared => Some(false),
        None => stat.then_some(true),
    }
}

/// Debian's directory below `lib`.
fn multiarch() -> Option<String> {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let os = std::env::var("CARGO_CFG_TARGET_OS").ok()?;
    (os == "linux").then(|| format!("{arch}-linux-gnu"))
}
