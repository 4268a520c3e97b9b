//! With `buildtime_bindgen`: the committed bindings are what bindgen makes of the headers in use.
//! `ONEDNN_SYS_UPDATE_BINDINGS=1` (see `update-bindings.sh`) writes them instead.
#![cfg(feature = "buildtime_bindgen")]

use std::path::Path;

fn check(name: &str, generated: &str) {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    if std::env::var_os("ONEDNN_SYS_UPDATE_BINDINGS").is_some() {
        std::fs::write(&committed, generated).expect("src is writable");
        return;
    }
    let held = std::fs::read_to_string(&committed).expect("the bindings are committed");
    assert!(held == generated, "{} is out of date: run update-bindings.sh", committed.display());
}

#[test]
fn bindings_are_up_to_date() {
    check("bindings.rs", include_str!(concat!(env!("OUT_DIR"), "/bindings.rs")));
}

#[test]
#[cfg(onednn_cpu_runtime = "threadpool")]
fn thread_pool_bindings_are_up_to_date() {
    check("bindings_threadpool.rs", include_str!(concat!(env!("OUT_DIR"), "/bindings_threadpool.rs")));
}
