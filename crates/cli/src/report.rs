//! What the commands print, as JSON and as text.

use blocktensor::{counted, shown_path};
use blocktensor_graph::{Plan, Reorder};
use serde::Serialize;

use crate::array::Array;
use crate::check::Check;
use crate::failure::{Failure, Result};
use crate::top::Row;

/// The version of the JSON objects: another one means that a field changed its meaning or is gone.
pub const VERSION: u32 = 1;

/// The JSON object of `run`.
#[derive(Serialize)]
pub struct Run {
    pub version: u32,
    pub model: String,
    pub layout: &'static str,
    /// Of measured layouts: `measured` if the plan is the mixture, or the one layout that is as fast.
    pub kept: Option<&'static str>,
    /// Whether `--layout` was left out.
    pub layout_is_default: bool,
    pub build: String,
    pub threads: usize,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub checks: Vec<Check>,
    pub reorders: Reorders,
    pub arena_bytes: usize,
    pub live_bytes: usize,
    pub times: Times,
    pub plan: Option<String>,
}

#[derive(Serialize)]
pub struct Input {
    pub name: String,
    pub dims: Vec<usize>,
    pub from: String,
}

#[derive(Serialize)]
pub struct Output {
    pub name: String,
    #[serde(rename = "type")]
    pub of: String,
    pub dims: Vec<usize>,
    #[serde(flatten)]
    pub statistics: Statistics,
    /// The error that `checks` has for this output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_l2: Option<f64>,
    /// `--top-k`, for each row of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Vec<Row>>,
}

/// Of the finite values; `None` if there are none.
#[derive(Serialize)]
pub struct Statistics {
    pub least: Option<f64>,
    pub largest: Option<f64>,
    pub mean: Option<f64>,
    /// The root of the mean of the squares.
    pub rms: Option<f64>,
    /// How many values are NaN or infinite.
    pub not_finite: usize,
}

/// A number with six significant digits, as C's `%g` writes it. Whole numbers of up to fifteen digits are written in full.
pub fn significant(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let scientific = format!("{value:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let shortest = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => digits.to_string(),
    };
    match exponent {
        // The exponent after rounding: that of 0.9999996 is 0.
        -5..6 => shortest(&format!("{value:.*}", (5 - exponent) as usize)),
        // A whole number after rounding is written in full, as any other.
        6..15 if !shortest(digits).contains('.') => format!("{:.0}", scientific.parse().unwrap_or(value)),
        _ => format!("{}e{exponent}", shortest(digits)),
    }
}

#[derive(Serialize)]
pub struct Reorders {
    pub count: usize,
    pub in_kernels: usize,
    pub bytes: usize,
}

/// In milliseconds.
#[derive(Serialize)]
pub struct Times {
    pub read_ms: f64,
    pub plan_ms: f64,
    pub first_run_ms: f64,
    /// Of the runs of `--repeat`, which come after the first one.
    pub runs: u32,
    pub least_ms: Option<f64>,
    pub median_ms: Option<f64>,
}

impl Statistics {
    pub fn of(array: &Array) -> Statistics {
        let finite = || array.values.numbers().filter(|v| v.is_finite());
        let number = finite().count();
        let count = number as f64;
        let some = |value: f64| (number > 0).then_some(value);
        Statistics {
            least: some(finite().fold(f64::INFINITY, f64::min)),
            largest: some(finite().fold(f64::NEG_INFINITY, f64::max)),
            mean: some(finite().sum::<f64>() / count),
            rms: some((finite().map(|v| v * v).sum::<f64>() / count).sqrt()),
            not_finite: array.values.len() - number,
        }
    }

    fn text(&self) -> String {
        let mut text = match (self.least, self.largest, self.mean, self.rms) {
            (Some(least), Some(largest), Some(mean), Some(rms)) => {
                let [least, largest, mean, rms] = [least, largest, mean, rms].map(significant);
                format!("from {least} to {largest}, mean {mean}, rms {rms}")
            }
            _ if self.not_finite == 0 => "no elements".to_string(),
            _ => "no finite values".to_string(),
        };
        if self.not_finite > 0 {
            text += &format!(", {} values are NaN or infinite", self.not_finite);
        }
        text
    }
}

impl Reorders {
    pub fn of(plan: &Plan) -> Reorders {
        let all: &[Reorder] = plan.reorders();
        Reorders {
            count: all.len(),
            in_kernels: all.iter().filter(|r| r.in_kernel).count(),
            bytes: all.iter().map(|r| r.bytes).sum(),
        }
    }

    fn text(&self) -> String {
        let reorders = counted(self.count, "reorder");
        match (self.count, self.in_kernels) {
            (0, _) => "no reorders".to_string(),
            (_, 0) => format!("{reorders} ({} bytes)", self.bytes),
            (_, inside) => format!("{reorders}, {inside} of them inside kernels ({} bytes)", self.bytes),
        }
    }
}

impl Run {
    /// The lines for people.
    pub fn text(&self) -> String {
        let kept = self.kept.filter(|kept| *kept != self.layout).map(|kept| format!("kept: {kept}"));
        let default = self.layout_is_default.then(|| "the default".to_string());
        let said: Vec<String> = [default, kept].into_iter().flatten().collect();
        let chosen = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        let mut lines = Vec::new();
        lines.extend(self.plan.clone().map(|plan| plan.trim_end().to_string()));
        lines.push(self.build.clone());
        lines.push(format!(
            "{}: layout {}{chosen}, {}",
            shown_path(self.model.as_ref()),
            self.layout,
            self.reorders.text()
        ));
        lines.push(format!("memory for intermediate results: {:.1} MB", self.arena_bytes as f64 / 1e6));
        for input in &self.inputs {
            lines.push(format!("input {} {:?}: {}", input.name, input.dims, shown_path(input.from.as_ref())));
        }
        for output in &self.outputs {
            lines.push(format!(
                "output {} {} {:?}: {}",
                output.name,
                output.of,
                output.dims,
                output.statistics.text()
            ));
            let rows = output.top.as_deref().unwrap_or_default();
            for (i, row) in rows.iter().enumerate() {
                if rows.len() > 1 {
                    lines.push(format!("  row {i}:"));
                }
                lines.extend(row.iter().map(|entry| format!("  {entry}")));
            }
        }
        for check in &self.checks {
            lines.push(format!(
                "check {} against {}: {}",
                check.name,
                shown_path(check.file.as_ref()),
                check.text()
            ));
        }
        let Times { read_ms, plan_ms, first_run_ms, .. } = self.times;
        lines.push(format!(
            "time: read {read_ms:.0} ms, planned {plan_ms:.0} ms, first run {first_run_ms:.2} ms"
        ));
        if let (Some(least), Some(median)) = (self.times.least_ms, self.times.median_ms) {
            let runs = self.times.runs;
            lines.push(format!("time of {runs} more runs: least {least:.2} ms, median {median:.2} ms"));
        }
        lines.join("\n") + "\n"
    }
}

impl Check {
    /// The result and its reason.
    pub fn text(&self) -> String {
        let result = if self.passed { "passed" } else { "FAILED" };
        match (&self.reason, self.relative_l2, self.largest_difference) {
            (Some(reason), ..) => format!("{result}: {reason}"),
            (None, Some(error), Some(largest)) => format!(
                "{result}: relative L2 error {error:.1e}, allowed {:.1e}; largest difference {largest:.1e}",
                self.tolerance
            ),
            _ => result.to_string(),
        }
    }
}

/// One JSON object on lines of its own.
pub fn json(value: &impl Serialize) -> Result<String> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => {
            Err(Failure::Model(format!("the results cannot be written as JSON: {error}; leave --json out")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_have_six_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (14.599_634, "14.5996"),
            (0.123_456_789, "0.123457"),
            (1.5e-5, "0.000015"),
            (1.234_567_89e-6, "1.23457e-6"),
            (3.0e-39, "3e-39"),
            (0.999_999_6, "1"),
            (99_999.96, "100000"),
            (999_999.5, "1000000"),
            (-2_000_000.25, "-2000000"),
            (99_999_999.5, "100000000"),
            (999_999.4, "999999"),
            (1_234_567.5, "1.23457e6"),
            (7_654_321.0, "7654321"),
            (-3_577_814_326_444_032.0, "-3.57781e15"),
            (3.4e38, "3.4e38"),
        ] {
            assert_eq!(significant(value), text, "{value:e}");
        }
    }
}
