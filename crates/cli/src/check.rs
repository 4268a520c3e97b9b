//! Comparing outputs with files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use blocktensor_graph::Plan;
use serde::Serialize;

use crate::array::{Array, Values};
use crate::failure::{Failure, Result};
use crate::files::{self, Kind};

const OPTION: &str = "--check-outputs";

/// What an output should be.
pub struct Expected {
    pub output: String,
    file: String,
    array: Array,
}

/// The comparison of one output with a file.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: String,
    pub file: String,
    /// The L2 norm of the difference, relative to that of the file. `None` for other sizes.
    pub relative_l2: Option<f64>,
    pub largest_difference: Option<f64>,
    pub tolerance: f64,
    pub passed: bool,
    /// Why it failed, if that is not the error's size.
    pub reason: Option<String>,
}

/// The error that is allowed unless `--tolerance` says otherwise: rounding, and more of it where steps round otherwise.
pub fn tolerance(plan: &Plan) -> f64 {
    if plan.rounds_otherwise().is_some() { 3e-5 } else { 1e-5 }
}

/// Reads the files of `--check-outputs`, for outputs of these names.
pub fn read(options: &[OsString], outputs: &[&str]) -> Result<Vec<Expected>> {
    let mut all: Vec<Expected> = Vec::new();
    for text in options {
        for expected in read_one(text, outputs)? {
            if all.iter().any(|other| other.output == expected.output) {
                let text = format!("`{}` has two files; leave one out", expected.output);
                return Err(Failure::usage(OPTION, text));
            }
            all.push(expected);
        }
    }
    Ok(all)
}

fn read_one(text: &OsStr, outputs: &[&str]) -> Result<Vec<Expected>> {
    let names = || outputs.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let (name, path) = match files::split_name(text, |name| outputs.contains(&name)) {
        Some((name, path)) if outputs.contains(&name) => (Some(name), PathBuf::from(path)),
        Some((name, _)) if !Path::new(text).exists() => {
            return Err(Failure::usage(
                OPTION,
                format!("there is no output `{name}`; the outputs are {}", names()),
            ));
        }
        _ => (None, PathBuf::from(text)),
    };
    let file = path.display().to_string();
    let bad = |text: String| Failure::file(OPTION, &path, text);
    let single = name.or(match outputs {
        [one] => Some(*one),
        _ => None,
    });
    let expected = |output: &str, array| Expected { output: output.to_string(), file: file.clone(), array };
    match (Kind::of(&path), single) {
        (Some(Kind::Npy), Some(output)) => Ok(vec![expected(output, files::read_npy(OPTION, &path, None)?)]),
        (Some(Kind::Npy), None) => {
            Err(bad(format!("there are {} outputs; write NAME=FILE with one of {}", outputs.len(), names())))
        }
        (Some(Kind::Safetensors), _) => {
            let tensors = files::read_safetensors(OPTION, &path)?;
            let wanted = |tensor: &str| name.is_none_or(|name| name == tensor);
            let tensors: Vec<_> = tensors.into_iter().filter(|(tensor, _)| wanted(tensor)).collect();
            if tensors.is_empty() {
                let wanted = name.unwrap_or("an output");
                return Err(bad(format!(
                    "it has no tensor for {wanted}; name its tensors as the outputs: {}",
                    names()
                )));
            }
            if let Some((tensor, _)) = tensors.iter().find(|(tensor, _)| !outputs.contains(&tensor.as_str()))
            {
                return Err(bad(format!(
                    "there is no output for its tensor `{tensor}`; the outputs are {}",
                    names()
                )));
            }
            let mut all: Vec<_> =
                tensors.into_iter().map(|(output, array)| expected(&output, array)).collect();
            all.sort_by_key(|e| outputs.iter().position(|output| *output == e.output));
            Ok(all)
        }
        _ => Err(bad("the ending is unknown; pass .npy or .safetensors".to_string())),
    }
}

impl Expected {
    /// Compares an output with this.
    pub fn compare(&self, got: &Array, tolerance: f64) -> Check {
        let mut check = Check {
            name: self.output.clone(),
            file: self.file.clone(),
            relative_l2: None,
            largest_difference: None,
            tolerance,
            passed: false,
            reason: None,
        };
        if got.dims != self.array.dims {
            check.reason =
                Some(format!("its sizes are {:?}, and the file's are {:?}", got.dims, self.array.dims));
            return check;
        }
        let (error, largest) = difference(&got.values, &self.array.values);
        check.relative_l2 = Some(error);
        check.largest_difference = Some(largest);
        check.passed = error <= tolerance;
        if error.is_nan() {
            check.reason =
                Some("it holds NaN or infinity where the file does not, or the reverse".to_string());
        }
        check
    }
}

/// The L2 norm of the difference, relative to that of `want` unless that is 0, and the largest difference. Both are NaN if
/// one has NaN or infinity where the other has not the same.
fn difference(got: &Values, want: &Values) -> (f64, f64) {
    let (mut squares, mut norm, mut largest) = (0.0, 0.0, 0.0f64);
    for (g, w) in got.numbers().zip(want.numbers()) {
        if g == w || (g.is_nan() && w.is_nan()) {
            norm += if w.is_finite() { w * w } else { 0.0 };
            continue;
        }
        let d = g - w;
        if !d.is_finite() {
            return (f64::NAN, f64::NAN);
        }
        squares += d * d;
        norm += w * w;
        largest = largest.max(d.abs());
    }
    let error = if norm > 0.0 { (squares / norm).sqrt() } else { squares.sqrt() };
    (error, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(got: &[f64], want: &[f64]) -> (f64, f64) {
        difference(&Values::F64(got.to_vec()), &Values::F64(want.to_vec()))
    }

    #[test]
    fn differences_are_relative_and_do_not_hide_what_is_not_finite() {
        assert_eq!(of(&[3.0, 4.0], &[3.0, 4.0]), (0.0, 0.0));
        assert_eq!(of(&[3.0, 9.0], &[3.0, 4.0]), (1.0, 5.0));
        assert_eq!(of(&[0.5], &[0.0]), (0.5, 0.5));
        assert_eq!(of(&[f64::INFINITY, f64::NAN], &[f64::INFINITY, f64::NAN]), (0.0, 0.0));
        for (got, want) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0), (1.0, f64::NEG_INFINITY)]
        {
            assert!(of(&[got], &[want]).0.is_nan());
        }
    }
}
