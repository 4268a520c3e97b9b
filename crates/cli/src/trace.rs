//! Times of steps for chrome://tracing and Perfetto.

use blocktensor_graph::Plan;
use serde::Serialize;

/// A complete event; times in microseconds.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'a str,
    ph: char,
    ts: f64,
    dur: f64,
    pid: u32,
    tid: u32,
    args: Arguments<'a>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    op: &'a str,
    fused: &'a str,
    result: String,
    implementation: Option<&'a str>,
}

/// A JSON list of the steps of one run, which took these **seconds**.
pub fn of_steps(plan: &Plan, seconds: &[f64]) -> String {
    let mut now = 0.0;
    let mut events = Vec::with_capacity(seconds.len());
    let steps: Vec<_> = plan.steps().collect();
    for (step, seconds) in steps.iter().zip(seconds) {
        let dur = seconds * 1e6;
        let result = step.outputs.first().map(|t| t.desc.to_string()).unwrap_or_default();
        let (op, fused, implementation) = (step.op, step.fused, step.implementation);
        let args = Arguments { op, fused, result, implementation };
        let cat = step.kind.name();
        events.push(Event { name: step.name, cat, ph: 'X', ts: now, dur, pid: 1, tid: 1, args });
        now += dur;
    }
    // Strings and finite numbers are always JSON.
    serde_json::to_string(&events).unwrap_or_default()
}
