//! What ONNX itself says about an op: the inputs, outputs and attributes that it has in a version of the operator set.
//!
//! The definitions stand in `schemas.txt`, which scripts/onnx_schemas.py writes from the Python package onnx. Nodes are
//! checked against them. Otherwise unknown attributes or surplus inputs would be silently ignored.

use std::collections::HashMap;
use std::sync::LazyLock;

use blocktensor_graph::{ElementType, Expansion, Integer, Value};

use crate::error::{Error, Result};
use crate::node::{Attribute, Kind, OnnxNode};

/// An op's definition, from one version of the operator set on.
struct Schema {
    since: i64,
    inputs: &'static str,
    outputs: &'static str,
    /// The types of the inputs, in the words of the file.
    types: &'static str,
    /// Name, type, whether each node has it.
    attributes: Vec<(&'static str, &'static str, bool)>,
}

static SCHEMAS: LazyLock<HashMap<&str, Vec<Schema>>> = LazyLock::new(|| {
    let mut schemas: HashMap<&str, Vec<Schema>> = HashMap::new();
    for line in include_str!("schemas.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(name), Some(since)) = (words.next(), words.next().and_then(|v| v.parse().ok())) else {
            continue;
        };
        let (Some(inputs), Some(outputs), Some(types)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let attributes = words.filter_map(|word| {
            let (name, of) = word.split_once(':')?;
            Some((name, of.trim_end_matches('!'), of.ends_with('!')))
        });
        let attributes = attributes.collect();
        schemas.entry(name).or_default().push(Schema { since, inputs, outputs, types, attributes });
    }
    schemas
});

/// Ops that came with versions that are not read yet.
const NEWER: [(&str, i64); 5] =
    [("BitCast", 26), ("CausalConvWithState", 27), ("CumProd", 26), ("LinearAttention", 27), ("SwiGLU", 28)];

/// The definition of an op in a version of the operator set, or why it has none there.
fn find(op: &str, version: i64) -> Result<&'static Schema, String> {
    let came_with = |since: i64| {
        format!(
            "the model uses version {version} of ONNX's operator set, and this op came with version {since}"
        )
    };
    let Some(schemas) = SCHEMAS.get(op) else {
        let newer = NEWER.iter().find(|(name, _)| *name == op);
        return Err(newer.map_or("ONNX has no op of this name".to_string(), |(_, since)| came_with(*since)));
    };
    let in_force = schemas.iter().rev().find(|schema| schema.since <= version);
    in_force.ok_or_else(|| came_with(schemas.first().map_or(0, |schema| schema.since)))
}

/// Why a node cannot run, if its op is not defined in this version, or not with these attributes.
pub(crate) fn lacks(op: &str, version: i64, attributes: &[(String, Attribute)]) -> Option<String> {
    let schema = match find(op, version) {
        Ok(schema) => schema,
        Err(reason) => return Some(reason),
    };
    let wrong = attributes.iter().find_map(|(name, value)| {
        match schema.attributes.iter().find(|(known, ..)| known == name) {
            None => {
                Some(format!("the attribute `{name}` is not known in version {version} of the operator set"))
            }
            Some(_) if value.kind() == Kind::Bytes => {
                Some(format!("the attribute `{name}` is {value}, and this op reads it as text"))
            }
            Some((_, of, _)) if *of != type_name(value.kind()) => {
                Some(format!("the attribute `{name}` is {value}, which is not of its type, {of}"))
            }
            Some(_) => None,
        }
    });
    wrong.or_else(|| no_switch(attributes))
}

/// Attributes that are 0 or 1, in every op that has them.
const SWITCHES: [&str; 34] = [
    "align_corners",
    "allowzero",
    "antialias",
    "ceil_mode",
    "center_point_box",
    "count_include_pad",
    "detect_negative",
    "detect_positive",
    "exclude_outside",
    "exclusive",
    "fmod",
    "input_forget",
    "interleaved",
    "inverse",
    "is_case_sensitive",
    "is_causal",
    "keepdims",
    "largest",
    "layout",
    "linear_before_reset",
    "new_axis",
    "noop_with_empty_axes",
    "onesided",
    "reverse",
    "saturate",
    "select_last_index",
    "sorted",
    "storage_order",
    "training_mode",
    "transA",
    "transB",
    "transBatchA",
    "transBatchB",
    "upper",
];

/// Why a node cannot run, if a switch of it is neither on nor off: runtimes disagree on what other numbers are.
pub(crate) fn no_switch(attributes: &[(String, Attribute)]) -> Option<String> {
    attributes.iter().find_map(|(name, value)| match value {
        Attribute::Int(v) if SWITCHES.contains(&&**name) && !(0..=1).contains(v) => {
            Some(format!("the attribute `{name}` is {v}, and it is 0 or 1"))
        }
        _ => None,
    })
}

/// Checks that a node lists the inputs and outputs that its op has, and the attributes that every node of it has.
pub(crate) fn check(
    what: &str,
    op: &str,
    version: i64,
    inputs: &[String],
    outputs: &[String],
    attributes: &[(String, Attribute)],
) -> Result<()> {
    let Ok(schema) = find(op, version) else { return Ok(()) };
    for (kind, list, letters) in [("input", inputs, schema.inputs), ("output", outputs, schema.outputs)] {
        check_list(what, op, kind, list, letters)?;
    }
    let is_given = |name: &str| attributes.iter().any(|(given, _)| given == name);
    if let Some((name, ..)) =
        schema.attributes.iter().find(|(name, _, required)| *required && !is_given(name))
    {
        let rule = format!("every {op} has it");
        return Err(Error::invalid(format!("{what}, attribute `{name}`"), "nothing", rule, EXPORT));
    }
    Ok(())
}

/// Checks that the inputs of a node have types that its op takes, and one type where the op asks for that.
pub(crate) fn check_types(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &Expansion<'_>,
) -> blocktensor_graph::Result<()> {
    let Ok(schema) = find(node.op_type(), node.version()) else { return Ok(()) };
    let entries: Vec<&str> = schema.types.split(',').collect();
    let letters_of = |name: &str| {
        entries
            .iter()
            .find_map(|entry| entry.split_once('=').filter(|(n, _)| *n == name))
            .map_or("*", |(_, l)| l)
    };
    let mut named: Vec<(&str, ElementType)> = Vec::new();
    // What the graphs of a node take from outside follows its own inputs.
    let own = if schema.inputs.ends_with(['v', 'w']) {
        inputs.len()
    } else {
        schema.inputs.len().min(inputs.len())
    };
    for (i, value) in inputs[..own].iter().enumerate() {
        let (Some(value), Some(entry)) = (value, entries.get(i).or(entries.last())) else { continue };
        let (name, letters) = entry.split_once('=').unwrap_or((*entry, letters_of(entry)));
        let of = value.element_type();
        if letters != "*" && !letters.contains(letter(of)) {
            let rule = format!("{} of this version does not take it", node.op_type());
            return Err(cx.invalid(&format!("input {i}"), of, &rule, "cast it, or export the model again"));
        }
        match named.iter().find(|(other, _)| *other == name && !name.is_empty()) {
            Some((_, other)) if letter(*other) != letter(of) => {
                let got = format!("{other} and {of}");
                return Err(cx.invalid("operands", got, "they have one type", "cast one of them"));
            }
            Some(_) => {}
            None => named.push((name, of)),
        }
    }
    Ok(())
}

/// The letter of a type in the file.
fn letter(of: ElementType) -> char {
    match of {
        ElementType::F32 => 'F',
        ElementType::Bool => 'B',
        ElementType::Int(Integer::I8) | ElementType::SignedByte => 'a',
        ElementType::Int(Integer::I16) => 'b',
        ElementType::Int(Integer::I32) => 'i',
        ElementType::Int(Integer::I64) => 'l',
        ElementType::Int(Integer::U8) | ElementType::Byte => 'A',
        ElementType::Int(Integer::U16) => 'D',
        ElementType::Int(Integer::U32) => 'I',
        ElementType::Int(Integer::U64) => 'L',
    }
}

const EXPORT: &str = "export the model again";

fn check_list(what: &str, op: &str, kind: &str, list: &[String], letters: &str) -> Result<()> {
    let letters = letters.trim_start_matches('-');
    let is_variadic = letters.ends_with(['v', 'w']);
    let count = list.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
    if count > letters.len() && !is_variadic {
        let rule = format!("{op} has at most {}", letters.len());
        return Err(Error::invalid(what, format!("{count} {kind}s"), rule, EXPORT));
    }
    // An output without a name is one that nobody uses.
    let is_missing = |i: usize| kind == "input" && list.get(i).is_none_or(|name| name.is_empty());
    for (i, letter) in letters.chars().enumerate() {
        if (letter == 's' || letter == 'v') && (is_missing(i) || i >= list.len()) {
            return Err(Error::invalid(
                format!("{what}, {kind} {i}"),
                "nothing",
                format!("every {op} has it"),
                EXPORT,
            ));
        }
    }
    if is_variadic && let Some(i) = (letters.len()..count).find(|&i| is_missing(i)) {
        let rule = format!("the {kind}s of {op} are one list");
        return Err(Error::invalid(format!("{what}, {kind} {i}"), "nothing", rule, EXPORT));
    }
    Ok(())
}

/// The name that ONNX gives to a type of attributes.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "INT",
        Kind::Float => "FLOAT",
        Kind::Str => "STRING",
        Kind::Ints => "INTS",
        Kind::Floats => "FLOATS",
        Kind::Strs => "STRINGS",
        Kind::Bytes => "bytes",
        Kind::Tensor => "TENSOR",
        Kind::Graph => "GRAPH",
    }
}

#[cfg(test)]
mod tests {
    use super::{SCHEMAS, find};

    #[test]
    fn every_line_is_a_definition() {
        let lines = include_str!("schemas.txt").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(SCHEMAS.values().map(Vec::len).sum::<usize>(), lines);
        assert!(lines > 200);
        for (op, schemas) in SCHEMAS.iter() {
            assert!(schemas.windows(2).all(|pair| pair[0].since < pair[1].since), "{op} is in order");
            for schema in schemas {
                assert!(schema.inputs == "-" || schema.inputs.chars().all(|c| "sovw".contains(c)), "{op}");
            }
        }
    }

    #[test]
    fn switches_are_integers_of_some_op() {
        let known: Vec<_> = SCHEMAS.values().flatten().flat_map(|schema| &schema.attributes).collect();
        for switch in super::SWITCHES.iter().filter(|name| !name.starts_with("transBatch")) {
            let mut of = known.iter().filter(|(name, ..)| name == switch).map(|(_, of, _)| *of).peekable();
            assert!(of.peek().is_some() && of.all(|of| of == "INT"), "{switch}");
        }
    }

    #[test]
    fn each_importer_understands_what_its_op_may_have() {
        let mut unknown = Vec::new();
        for op in super::super::all() {
            for (name, kind) in op.attributes {
                let mut known = SCHEMAS[op.name].iter().flat_map(|s| &s.attributes);
                if !known.any(|(n, of, _)| n == name && *of == super::type_name(*kind)) {
                    unknown.push(format!("{} {name}", op.name));
                }
            }
        }
        assert_eq!(unknown, [] as [String; 0], "attributes that no definition has");
        assert!(find("Gelu", 19).is_err_and(|e| e.contains("version 20")));
        assert!(find("Gelu", 20).is_ok());
    }
}
