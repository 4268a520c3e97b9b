//! What ONNX itself says about an op: the inputs, outputs and attributes that it has in a version of the operator set.
//!
//! The definitions stand in `schemas.txt`, which scripts/onnx_schemas.py writes from the Python package onnx. A node that breaks
//! its op's definition would have something ignored: an attribute of an older version, an input too many.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::{Error, Result};
use crate::node::{Attribute, Kind};

/// An op's definition, from one version of the operator set on.
struct Schema {
    since: i64,
    inputs: &'static str,
    outputs: &'static str,
    /// Name, type, whether each node has it.
    attributes: Vec<(&'static str, &'static str, bool)>,
}

static SCHEMAS: LazyLock<HashMap<&str, Vec<Schema>>> = LazyLock::new(|| {
    let mut schemas: HashMap<&str, Vec<Schema>> = HashMap::new();
    for line in include_str!("schemas.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(name), Some(since), Some(inputs), Some(outputs)) =
            (words.next(), words.next().and_then(|v| v.parse().ok()), words.next(), words.next())
        else {
            continue;
        };
        let attributes = words.filter_map(|word| {
            let (name, of) = word.split_once(':')?;
            Some((name, of.trim_end_matches('!'), of.ends_with('!')))
        });
        let attributes = attributes.collect();
        schemas.entry(name).or_default().push(Schema { since, inputs, outputs, attributes });
    }
    schemas
});

/// The definition of an op in a version of the operator set, or why it has none there.
fn find(op: &str, version: i64) -> Result<&'static Schema, String> {
    let Some(schemas) = SCHEMAS.get(op) else {
        return Err("ONNX has no op of this name".to_string());
    };
    let in_force = schemas.iter().rev().find(|schema| schema.since <= version);
    in_force.ok_or_else(|| {
        let since = schemas.first().map_or(0, |schema| schema.since);
        format!(
            "the model uses version {version} of ONNX's operator set, and this op came with version {since}"
        )
    })
}

/// Why a node cannot run, if its op is not defined in this version, or not with these attributes.
pub(crate) fn lacks(op: &str, version: i64, attributes: &[(String, Attribute)]) -> Option<String> {
    let schema = match find(op, version) {
        Ok(schema) => schema,
        Err(reason) => return Some(reason),
    };
    attributes.iter().find_map(|(name, value)| {
        match schema.attributes.iter().find(|(known, ..)| known == name) {
            None => {
                Some(format!("the attribute `{name}` is not known in version {version} of the operator set"))
            }
            Some((_, of, _)) if *of != type_name(value.kind()) => {
                Some(format!("the attribute `{name}` is {value}, which is not of its type, {of}"))
            }
            Some(_) => None,
        }
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
