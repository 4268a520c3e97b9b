//! `Einsum` as permutations and a matrix product.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{float_input, floats};
use super::{Op, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[op("Einsum", einsum, &[("equation", Kind::Str)])];

/// An operand with a letter for each axis.
struct Term {
    value: Value,
    letters: Vec<char>,
}

impl Term {
    fn size(&self, letter: char) -> Option<usize> {
        self.letters.iter().position(|&l| l == letter).map(|i| self.value.dims()[i])
    }

    /// The axes in the order of these letters.
    fn arrange(&self, cx: &mut Expansion<'_>, letters: &[char]) -> Result<Value> {
        let order: Vec<usize> =
            letters.iter().filter_map(|l| self.letters.iter().position(|m| m == l)).collect();
        build::permute(cx, &self.value, &order)
    }

    /// Without axes that neither the result nor another operand has: they are summed.
    fn sum_others(self, cx: &mut Expansion<'_>, kept: &dyn Fn(char) -> bool) -> Result<Term> {
        let gone: Vec<usize> = (0..self.letters.len()).filter(|&i| !kept(self.letters[i])).collect();
        let value = build::reduce(cx, "sum", &self.value, &gone, false)?;
        Ok(Term { value, letters: self.letters.into_iter().filter(|&l| kept(l)).collect() })
    }
}

fn einsum(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let equation: String =
        node.str("equation").unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    if equation.contains('.') {
        return Err(cx.unsupported(format!("equation = {equation:?}: an ellipsis")));
    }
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let lists: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
    let wrong = |rule: &str, cx: &Expansion<'_>| {
        cx.invalid("equation", format!("{equation:?}"), rule, "export the model again")
    };
    if lists.len() != inputs.len() || lists.iter().flatten().any(|c| !c.is_ascii_alphabetic()) {
        return Err(wrong("it has a term of letters for each operand", cx));
    }
    let repeats = |list: &[char]| list.iter().enumerate().any(|(i, l)| list[..i].contains(l));
    if lists.iter().any(|list| repeats(list)) {
        return Err(cx.unsupported(format!("equation = {equation:?}: a diagonal")));
    }
    let output: Vec<char> = match right {
        Some(right) => right.chars().collect(),
        None => {
            let all: Vec<char> = lists.iter().flatten().copied().collect();
            let mut once: Vec<char> =
                all.iter().copied().filter(|l| all.iter().filter(|m| *m == l).count() == 1).collect();
            once.sort_unstable();
            once
        }
    };
    if repeats(&output) || output.iter().any(|l| !lists.iter().flatten().any(|m| m == l)) {
        return Err(wrong("each letter of the result is in an operand", cx));
    }
    let mut terms = Vec::with_capacity(lists.len());
    for (i, letters) in lists.into_iter().enumerate() {
        let value = floats(float_input(inputs, i, cx)?, cx)?.clone();
        if value.rank() != letters.len() {
            return Err(wrong(&format!("operand {i} has {} axes", value.rank()), cx));
        }
        terms.push(Term { value, letters });
    }
    let mut rest = terms.into_iter();
    let Some(mut result) = rest.next() else {
        return Err(wrong("it has operands", cx));
    };
    let mut rest: Vec<Term> = rest.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let later: Vec<char> = rest.iter().flat_map(|t| &t.letters).chain(&output).copied().collect();
        result = product(cx, result, next, &later)?;
    }
    let result = result.sum_others(cx, &|l| output.contains(&l))?;
    Ok(vec![result.arrange(cx, &output)?])
}

/// The product of two operands, summed over letters that are in both and are not needed later.
fn product(cx: &mut Expansion<'_>, a: Term, b: Term, later: &[char]) -> Result<Term> {
    let (in_a, in_b) = (a.letters.clone(), b.letters.clone());
    let a = a.sum_others(cx, &|l| later.contains(&l) || in_b.contains(&l))?;
    let b = b.sum_others(cx, &|l| later.contains(&l) || in_a.contains(&l))?;
    for &letter in &a.letters {
        if let (Some(m), Some(n)) = (a.size(letter), b.size(letter))
            && m != n
        {
            let got = format!("{m} and {n} for `{letter}`");
            return Err(cx.invalid("equation", got, "a letter is one size", "correct the shapes"));
        }
    }
    let both = |l: &char| a.letters.contains(l) && b.letters.contains(l);
    let batch: Vec<char> = a.letters.iter().copied().filter(|l| both(l) && later.contains(l)).collect();
    let summed: Vec<char> = a.letters.iter().copied().filter(|l| both(l) && !later.contains(l)).collect();
    let rows: Vec<char> = a.letters.iter().copied().filter(|l| !both(l)).collect();
    let columns: Vec<char> = b.letters.iter().copied().filter(|l| !both(l)).collect();
    let sizes = |t: &Term, list: &[char]| -> Vec<usize> { list.iter().filter_map(|&l| t.size(l)).collect() };
    let count = |t: &Term, list: &[char]| -> usize { sizes(t, list).iter().product() };
    let (batch_sizes, m, k, n) =
        (sizes(&a, &batch), count(&a, &rows), count(&a, &summed), count(&b, &columns));
    let left = a.arrange(cx, &[&batch[..], &rows, &summed].concat())?;
    let left = cx.reshape(&left, &[&batch_sizes[..], &[m, k]].concat())?;
    let right = b.arrange(cx, &[&batch[..], &summed, &columns].concat())?;
    let right = cx.reshape(&right, &[&batch_sizes[..], &[k, n]].concat())?;
    let value = build::binary(cx, "matmul", &left, &right)?;
    let dims = [batch_sizes, sizes(&a, &rows), sizes(&b, &columns)].concat();
    let value = cx.reshape(&value, &dims)?;
    Ok(Term { value, letters: [batch, rows, columns].concat() })
}
