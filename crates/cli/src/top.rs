//! The largest values of an output, with labels.

use std::fmt;
use std::path::Path;

use blocktensor::counted;
use serde::Serialize;

use crate::array::Array;
use crate::failure::{Failure, Result};
use crate::files;
use crate::report::significant;

/// The largest values of one row, largest first.
pub type Row = Vec<Entry>;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub index: usize,
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5}  {:>11}", self.index, significant(self.value))?;
        match &self.label {
            Some(label) => write!(f, "  {label}"),
            None => Ok(()),
        }
    }
}

/// The number of classes of an output of these sizes: `[C]`, `[N, C]` or `[N, C, 1, 1]`.
pub fn classes(dims: &[usize]) -> Option<usize> {
    match *dims {
        [c] | [_, c] | [_, c, 1, 1] => Some(c),
        _ => None,
    }
    .filter(|c| *c > 0)
}

/// Reads labels, one a line, for outputs with this number of classes.
pub fn read_labels(path: &Path, classes: &[usize]) -> Result<Vec<String>> {
    let bad = |text: String| Failure::file("--labels", path, text);
    let text = files::read_text("--labels", path)?;
    let labels: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
    match classes.iter().find(|c| **c != labels.len()) {
        Some(c) => Err(bad(format!(
            "it has {}, and the output {}; write one line for each",
            counted(labels.len(), "line"),
            if *c == 1 { "1 class".to_string() } else { format!("{c} classes") }
        ))),
        None => Ok(labels),
    }
}

/// The `k` largest values of each row. NaN is not among them.
pub fn rows(array: &Array, k: usize, labels: Option<&[String]>) -> Option<Vec<Row>> {
    let classes = classes(&array.dims)?;
    let rows = array.values.len().checked_div(classes).unwrap_or(0);
    let row = |row: usize| {
        let value = |index: usize| array.values.number(row * classes + index);
        let mut best: Vec<usize> = Vec::new();
        for index in (0..classes).filter(|&index| !value(index).is_nan()) {
            let place = best.partition_point(|&other| value(other).total_cmp(&value(index)).is_ge());
            if place < k {
                best.truncate(k - 1);
                best.insert(place, index);
            }
        }
        let entry =
            |index: usize| Entry { index, value: value(index), label: labels.map(|l| l[index].clone()) };
        best.into_iter().map(entry).collect()
    };
    Some((0..rows).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Values;

    #[test]
    fn largest_values_come_first_and_nan_never() {
        let array =
            Array { dims: vec![2, 3], values: Values::F32(vec![1.0, 3.0, 2.0, f32::NAN, -1.0, -0.5]) };
        let rows = rows(&array, 2, None).unwrap();
        let indices: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().map(|e| e.index).collect()).collect();
        assert_eq!(indices, [[1, 2], [2, 1]]);
    }
}
