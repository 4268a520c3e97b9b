//! Scales and zero points of matrices: one, or one for each row or column, as the ops say that multiply integers.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{float_input, maybe};
use super::build;
use super::quantize::zero_point;

/// The lines of an operand that have a scale and a zero point of their own.
pub(super) struct Lines<'a> {
    /// The operand in the names of the inputs: `a_scale`.
    name: &'a str,
    /// Its sizes: those of the batch, rows, columns.
    of: &'a [usize],
    are_rows: bool,
}

impl<'a> Lines<'a> {
    pub fn rows(name: &'a str, of: &'a [usize]) -> Lines<'a> {
        Lines { name, of, are_rows: true }
    }

    pub fn columns(name: &'a str, of: &'a [usize]) -> Lines<'a> {
        Lines { name, of, are_rows: false }
    }

    /// One value for each line of a matrix, as sizes that broadcast against it.
    fn matrix(&self) -> [usize; 2] {
        match self.of {
            [.., rows, _] if self.are_rows => [*rows, 1],
            [.., columns] => [1, *columns],
            [] => [1, 1],
        }
    }

    /// Sizes as they broadcast against the operand: a vector is the lines of each matrix, and further axes of size 1 in front say nothing.
    fn broadcast(&self, given: &[usize]) -> Option<Vec<usize>> {
        let matrix = self.matrix();
        if given.iter().all(|&d| d == 1) {
            return Some(vec![1]);
        }
        let (outer, own) = match given {
            [lines] => return matrix.contains(lines).then(|| matrix.to_vec()),
            [outer @ .., rows, columns] => (outer, [*rows, *columns]),
            [] => return Some(vec![1]),
        };
        let first = outer.iter().position(|&d| d != 1).unwrap_or(outer.len());
        let outer = &outer[first..];
        let batch = &self.of[..self.of.len() - 2];
        let aligned = &batch[batch.len().checked_sub(outer.len())?..];
        let fits = |given: &[usize], of: &[usize]| given.iter().zip(of).all(|(d, of)| *d == 1 || d == of);
        (fits(outer, aligned) && fits(&own, &matrix)).then(|| [outer, &own].concat())
    }

    /// Input `i` as a vector, and the sizes of it that broadcast against the operand.
    fn read(&self, given: &Value, what: &str, cx: &mut Expansion<'_>) -> Result<(Value, Vec<usize>)> {
        let Some(dims) = self.broadcast(given.dims()) else {
            let (matrix, line) = (self.matrix(), if self.are_rows { "row" } else { "column" });
            let count = matrix[0] * matrix[1];
            let rule = format!(
                "it has one element, or one for each {line} of the matrices of sizes {:?}: [{count}], {matrix:?}, or these after the sizes of the batch",
                self.of
            );
            let got = format!("{:?}", given.dims());
            return Err(cx.invalid(&format!("{}_{what}", self.name), got, &rule, "reshape it before"));
        };
        Ok((cx.reshape(given, &[given.numel()])?, dims))
    }

    /// Input `i`, the scales.
    pub fn scale(&self, inputs: &[Option<Value>], i: usize, cx: &mut Expansion<'_>) -> Result<Value> {
        let (scale, dims) = self.read(float_input(inputs, i, cx)?, "scale", cx)?;
        cx.reshape(&scale, &dims)
    }

    /// Input `i`, the zero points as s32, if the node has them.
    pub fn zero(&self, inputs: &[Option<Value>], i: usize, cx: &mut Expansion<'_>) -> Result<Option<Value>> {
        let Some(given) = maybe(inputs, i) else { return Ok(None) };
        let (zero, dims) = self.read(given, "zero_point", cx)?;
        let (zero, _) = zero_point(Some(&zero), cx)?;
        cx.reshape(&zero, &dims).map(Some)
    }

    /// A value for each row of all matrices, one after the other, from what broadcasts against them.
    pub fn each_row(&self, x: &Value, cx: &mut Expansion<'_>) -> Result<Value> {
        let rows = &self.of[..self.of.len() - 1];
        let padded = [&vec![1; self.of.len() - x.rank()][..], x.dims()].concat();
        let x = cx.reshape(x, &padded)?;
        let all = build::expand(cx, &x, &[rows, &[1]].concat())?;
        cx.reshape(&all, &[rows.iter().product()])
    }
}
