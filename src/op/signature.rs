//! Signatures as text: of a schema with the dtypes that it states, of an op with those that its kernels take.

use std::fmt::{Display, Formatter, Result};

use crate::dtype::DType;
use crate::op::call::Op;
use crate::op::lookup::{DTypeTuple, each_once};
use crate::op::rules::{OutputDType, OutputSpec, any_of};
use crate::op::schema::{ArgKind, ArgSpec, ONE_DIMENSION, Schema};

/// Writes what is not empty of these, in brackets.
fn write_rules(f: &mut Formatter<'_>, rules: [String; 2]) -> Result {
    let stated: Vec<String> = rules.into_iter().filter(|rule| !rule.is_empty()).collect();
    if stated.is_empty() { Ok(()) } else { write!(f, " [{}]", stated.join(", ")) }
}

/// Writes a schema with these dtypes of its arguments, and these texts of its results.
fn write(
    f: &mut Formatter<'_>,
    schema: &Schema,
    dtypes: impl Fn(&ArgSpec) -> String,
    output: impl Fn(usize, &OutputSpec) -> String,
) -> Result {
    write!(f, "{}(", schema.name)?;
    for (i, arg) in schema.args.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}{}: {}", arg.name, arg.kind.describe())?;
        // The kind of a parameter says its rank.
        let ranks = if arg.ranks == ONE_DIMENSION { String::new() } else { arg.ranks.to_string() };
        write_rules(f, [dtypes(arg), ranks])?;
        match arg.kind {
            ArgKind::Int(Some(v)) => write!(f, " = {v}")?,
            ArgKind::Ints(Some(v)) => write!(f, " = {v:?}")?,
            ArgKind::Float(Some(v)) => write!(f, " = {v}")?,
            ArgKind::Bool(Some(v)) => write!(f, " = {v}")?,
            ArgKind::Str(Some(v)) => write!(f, " = {v:?}")?,
            _ => {}
        }
    }
    f.write_str(")")?;
    for (i, spec) in schema.outputs.iter().enumerate() {
        write!(f, "{} {}", if i == 0 { " ->" } else { "," }, output(i, spec))?;
    }
    Ok(())
}

impl Display for Schema {
    /// The signature: `softmax(x: a data tensor [f32], axis: an integer = 1) -> dst [as x]`. Brackets hold the rules for dtypes
    /// and ranks. Kernels may take other dtypes too: the text of an [`Op`] has these.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write(f, self, |arg| arg.dtypes.to_string(), |_, output| output.to_string())
    }
}

impl Display for Op {
    /// The signature with the dtypes that the op's kernels take on this machine, for each key if they differ:
    /// `matmul(a: a data tensor [f32 or u8 or s8, rank 1 or more], ...) -> dst [as a or s32]`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write(f, self.schema(), |arg| self.dtypes_text(arg), |i, output| self.output_text(i, output))
    }
}

impl Op {
    fn dtypes_text(&self, arg: &ArgSpec) -> String {
        let Some((i, spec)) = self.schema().tensors().enumerate().find(|(_, spec)| spec.name == arg.name)
        else {
            return arg.dtypes.to_string();
        };
        let mut of_keys: Vec<(&str, String)> = Vec::new();
        for key in self.keys() {
            let tuples = self.kernels(key).flat_map(|kernel| kernel.dtypes);
            let text = match each_once(tuples.map(|tuple| tuple.operand(i, spec))) {
                None => String::new(),
                Some(list) if list.len() == DType::ALL.len() => "any dtype".to_string(),
                Some(list) => any_of(&list),
            };
            of_keys.push((key.name(), text));
        }
        match of_keys.split_first() {
            None => arg.dtypes.to_string(),
            Some(((_, first), others)) if others.iter().all(|(_, text)| text == first) => first.clone(),
            Some(_) => {
                let texts = of_keys.iter().map(|(key, text)| format!("{key}: {text}"));
                texts.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// A result, with the dtypes that it may have beside that of its argument.
    fn output_text(&self, i: usize, output: &OutputSpec) -> String {
        let text = output.to_string();
        let OutputDType::Like(name) = output.dtype else { return text };
        let Some((at, spec)) = self.schema().tensors().enumerate().find(|(_, spec)| spec.name == name) else {
            return text;
        };
        let other = |tuple: &&DTypeTuple| {
            let stated = tuple.results.get(i)?;
            let is_own = tuple.operand(at, spec).is_some_and(|own| own == [*stated]);
            (!is_own).then_some(std::slice::from_ref(stated))
        };
        let keys = self.keys();
        let tuples = keys.iter().flat_map(|key| self.kernels(*key)).flat_map(|kernel| kernel.dtypes);
        let others = each_once(tuples.filter_map(|tuple| other(&tuple)).map(Some)).unwrap_or_default();
        match (others.is_empty(), text.strip_suffix(']')) {
            (false, Some(text)) => format!("{text} or {}]", any_of(&others)),
            _ => text,
        }
    }
}
