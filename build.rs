//! Turns the -sys crate's metadata about oneDNN into cfgs.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(onednn_threadpool)");
    let engine = std::env::var_os("CARGO_FEATURE_ONEDNN").is_some();
    let source =
        ["CARGO_FEATURE_BUNDLED", "CARGO_FEATURE_SYSTEM"].iter().any(|f| std::env::var_os(f).is_some());
    if engine && !source {
        println!(
            "cargo::error=feature `onednn` needs to know where oneDNN comes from: add `bundled` (built from \
             source) or `system` (installed; ONEDNN_DIR says where)"
        );
    }
    println!("cargo::rustc-env=BLOCKTENSOR_OPT_LEVEL={}", std::env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo::rustc-env=BLOCKTENSOR_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
    // `links` metadata of vendor/onednn-sys. It is absent without the engine and on docs.rs.
    if std::env::var("DEP_BLOCKTENSOR_ONEDNN_CPU_RUNTIME").as_deref() == Ok("threadpool") {
        println!("cargo::rustc-cfg=onednn_threadpool");
    }
}
