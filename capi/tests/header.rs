//! The committed header is the one that cbindgen makes of the sources, followed by the constructors of arguments.
//! `UPDATE_HEADER=1` writes it.

use std::path::Path;

#[test]
fn the_committed_header_matches_the_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    config.trailer = Some(std::fs::read_to_string(here.join("src/arguments.h")).unwrap());
    let sources = [
        "status",
        "handles",
        "tensor",
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
        "api",
        "table",
    ];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(here.join(format!("src/{source}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let path = here.join("include/blocktensor.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read(&path).unwrap();
    assert!(committed == text, "run UPDATE_HEADER=1 cargo test -p blocktensor-capi --test header");
}
