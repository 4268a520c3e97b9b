//! The words of error texts from C: calls, functions and arguments that a program in C has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use blocktensor::{Call, Door, dispatch};
use blocktensor_c::words::C;

/// The parameters of each function of the header.
static FUNCTIONS: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let header = std::fs::read_to_string(super::programs::include().join("blocktensor.h")).unwrap();
    let code: String = header.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut functions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for declaration in code.split(';') {
        let Some((before, parameters)) = declaration.split_once('(') else { continue };
        let last = |text: &str| text.rsplit([' ', '*']).next().unwrap_or_default().to_string();
        let name = last(before);
        if name.starts_with("bt_") {
            functions.insert(name, parameters.trim_end_matches(')').split(',').map(last).collect());
        }
    }
    assert!(functions.len() > 70 && functions["bt_cast"].contains("dtype"), "{functions:?}");
    functions
});

/// The arguments of all ops: functions take them in lists of `bt_arg`. Then the fields of the structures in the header and in
/// dlpack.h.
static ARGUMENTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let of_ops = dispatch::ops().into_iter().flat_map(|op| op.schema().args).map(|arg| arg.name);
    let fields = ["name", "kind", "tensors", "integers", "text", "norm_mean", "norm_var", "norm_weight"];
    let dlpack = ["device", "dtype", "ndim", "shape", "strides", "byte_offset", "data", "dims"];
    of_ops.chain(fields).chain(dlpack).chain(["norm_bias", "norm_eps"]).collect()
});

/// Calls as errors print them in Rust, where C has another name.
static IN_RUST: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let other = |call: &Call| call.to_string() != C("").call(call);
    Call::examples()
        .into_iter()
        .filter(other)
        .map(|call| call.to_string())
        .filter(|call| call != "run")
        .collect()
});

/// What no text may contain: names of types and methods of Rust, and how Rust prints values for debugging.
const RUST: [&str; 11] = [
    "::",
    "MemoryFormat",
    "DType",
    "ReorderBudget",
    " deny_reorders",
    "`deny_reorders",
    "Some(",
    "Float(",
    "Int(",
    "Ints(",
    "Str(",
];

/// Fails if a text names a call, an argument or a value in the words of Rust.
#[track_caller]
pub fn check(text: &str) {
    let parts: Vec<&str> = text.split('`').collect();
    for i in (1..parts.len()).step_by(2) {
        let (before, span) = (parts[i - 1], parts[i]);
        if before == "op " || before.ends_with(": op ") {
            let function = FUNCTIONS.get(span);
            assert!(
                function.is_some() || dispatch::op(span).is_some(),
                "no op and no function `{span}`: {text}"
            );
            if let (Some(parameters), [": argument ", argument, ..]) = (function, &parts[i + 1..]) {
                let known = parameters.contains(*argument) || ARGUMENTS.contains(argument);
                assert!(known, "`{span}` has no argument `{argument}`: {text}");
            }
        } else {
            assert!(!IN_RUST.contains(span), "`{span}` is a call of Rust: {text}");
        }
    }
    // Exporters give values such names.
    let own = text.replace("onnx::", "");
    let found: Vec<&&str> = RUST.iter().filter(|word| own.contains(**word)).collect();
    assert!(found.is_empty() && !text.chars().any(|c| c.is_control() && c != '\n'), "{found:?}: {text}");
}
