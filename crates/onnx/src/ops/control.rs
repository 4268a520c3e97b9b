//! `If` and `Loop` whose course is known before a run.

use std::collections::HashMap;

use blocktensor_graph::{Constant, Expansion, Result, Value};

use super::args::{absent, input, maybe};
use super::{Op, build, op};
use crate::node::Subgraph;
use crate::node::{Attribute, Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("If", branch, &[("else_branch", Kind::Graph), ("then_branch", Kind::Graph)]),
    op("Loop", repeat, &[("body", Kind::Graph)]),
];

/// A condition, which is known before a run.
fn condition(x: Option<&Value>, cx: &Expansion<'_>) -> Result<bool> {
    match x.and_then(Value::constant).and_then(Constant::as_bools) {
        Some([one]) => Ok(*one),
        Some(all) => {
            let got = format!("{} values", all.len());
            Err(cx.invalid("condition", got, "it is one", "export the model again"))
        }
        None => Err(cx.unsupported("a condition that depends on the values of an input")),
    }
}

/// The values that the node's graphs take from outside, by name. They follow the node's own inputs.
fn outer(node: &OnnxNode, inputs: &[Option<Value>]) -> HashMap<String, Value> {
    let graphs = node.attributes.iter().filter_map(|(_, value)| match value {
        Attribute::Graph(graph) => Some(graph),
        _ => None,
    });
    let names: Vec<&String> = graphs.flat_map(|g| &g.captured).collect();
    let first = inputs.len() - names.len().min(inputs.len());
    let values = inputs[first..].iter().cloned();
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name.clone(), value?))).collect()
}

fn graph<'a>(node: &'a OnnxNode, name: &str, cx: &Expansion<'_>) -> Result<&'a Subgraph> {
    node.graph(name).ok_or_else(|| absent(name, cx))
}

fn branch(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let condition = condition(Some(input(inputs, 0, cx)?), cx)?;
    for name in ["then_branch", "else_branch"] {
        let count = graph(node, name, cx)?.outputs.len();
        if count != node.outputs() {
            let rule = format!("the node has {}", node.outputs());
            return Err(cx.invalid(name, format!("{count} outputs"), &rule, "export the model again"));
        }
    }
    let name = if condition { "then_branch" } else { "else_branch" };
    graph(node, name, cx)?.expand(&[], &outer(node, inputs), cx)
}

/// A loop with a constant number of rounds, written out.
fn repeat(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let body = graph(node, "body", cx)?;
    let outer = outer(node, inputs);
    let rounds = match maybe(inputs, 0) {
        None => i64::MAX,
        Some(x) => match x.ints() {
            Some([n]) => *n,
            _ => return Err(cx.unsupported("a number of rounds that depends on the values of an input")),
        },
    };
    let mut goes_on = match maybe(inputs, 1) {
        None => true,
        first => condition(first, cx)?,
    };
    let carried = body.inputs.len().saturating_sub(2);
    let own = inputs.len() - body.captured.len().min(inputs.len());
    let mut state: Vec<Value> = inputs[2.min(own)..own].iter().flatten().cloned().collect();
    if state.len() != carried || body.outputs.len() < carried + 1 {
        let got = format!("{} values", state.len());
        return Err(cx.invalid("body", got, format!("it carries {carried}"), "export the model again"));
    }
    if body.outputs.len() != node.outputs() + 1 {
        let got = format!("{} outputs", body.outputs.len());
        let rule = format!("the node has {}, and the condition comes first", node.outputs());
        return Err(cx.invalid("body", got, &rule, "export the model again"));
    }
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); body.outputs.len() - 1 - carried];
    let mut round = 0;
    while goes_on && round < rounds {
        cx.writes_out(body.steps.len() + 1)?;
        let is_on = Constant::Bool { dims: vec![], values: vec![true] };
        let mut given = vec![Constant::int(round).into(), is_on.into()];
        given.append(&mut state);
        let mut results = body.expand(&given, &outer, cx)?.into_iter();
        goes_on = condition(results.next().as_ref(), cx)?;
        state = results.by_ref().take(carried).collect();
        stacked.iter_mut().zip(results).for_each(|(list, value)| list.push(value));
        round += 1;
    }
    if round == 0 {
        // The sizes of stacked results are unknown. Those that nothing uses are left out.
        return match (carried..node.outputs()).any(|i| cx.needs(i)) {
            true => Err(cx.unsupported("a stacked result of a loop without rounds")),
            false => Ok(state),
        };
    }
    for list in stacked {
        let rows = list.iter().map(|value| {
            let dims: Vec<usize> = [1].iter().chain(value.dims()).copied().collect();
            cx.reshape(value, &dims)
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        state.push(build::cat(cx, &rows.iter().collect::<Vec<_>>(), 0)?);
    }
    Ok(state)
}
