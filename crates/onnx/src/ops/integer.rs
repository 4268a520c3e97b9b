//! `ConvInteger` and `MatMulInteger`: products of integers of 8 bits, whose sums have 32.
//!
//! Both are convolutions of integers; those of a matrix have single pixels. Products with a matrix for each of a batch are `matmul` of
//! integers. The kernels of convolutions take weights of s8 and one zero point that is known. What they do not take is added to their sums: `sum((x - a) * (w + b))` is `sum((x - a) * w) + b * sum(x - a)`.
//!
//! A kernel refuses weights whose sums might not fit into 32 bits. Sums of parts of the input channels fit. They are added up in 64 bits,
//! and each run checks the result.

use blocktensor::dispatch::facts::{LARGEST_SUM, MOST_PRODUCTS};
use blocktensor::{Complaint, StridedTensor};
use blocktensor_graph::{
    Constant, ElementType, Error, Expansion, Integer, IntegerFunction, Result, Value, broadcast_dims,
};

use super::args::{absent, input, maybe};
use super::conv::{self, WINDOW};
use super::lines::Lines;
use super::quantize::{as_bytes, byte_of, bytes, integers, not_of_8_bits, zero_point};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::OnnxNode;

pub(super) const OPS: &[Op] =
    &[op("ConvInteger", conv_integer, WINDOW), op("MatMulInteger", matmul_integer, &[])];

fn conv_integer(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, w) = (input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    let (op, params) = conv::op_of(node, x, w, cx)?;
    let x_zero = zero_of(inputs, 2, &[1], cx)?;
    let w_zero = weights_zero(inputs, w.dims()[0], x.rank(), cx)?;
    let sums = |x: &Value, w: &Value, zero: i64, cx: &mut Expansion<'_>| {
        let mut params = params.clone();
        params.push(("x_zero_point", zero.into()));
        cx.op(op, &[("x", x), ("weights", w)], &params).map_err(of_node)
    };
    let one = [&[1], &x.dims()[1..]].concat();
    Ok(vec![product(x, x_zero, (w, w_zero), &one, &sums, cx)?.with_integers(Integer::I32)])
}

/// The error of the convolution that computes a node, as the node's own.
fn of_node(error: Error) -> Error {
    use blocktensor::Error::{InvalidArgument, Overflow, ShapeMismatch};
    let Error::Operator { node, op, source } = error else { return error };
    let own = |c: Box<Complaint>| {
        let argument = match &*c.argument {
            "weights" => "w".into(),
            "b" => "B".into(),
            _ => c.argument,
        };
        Box::new(Complaint { op: op.clone().into(), argument, ..*c })
    };
    let source = match source {
        ShapeMismatch(c) => ShapeMismatch(own(c)),
        InvalidArgument(c) => InvalidArgument(own(c)),
        Overflow(c) => Overflow(own(c)),
        other => other,
    };
    Error::Operator { node, op, source }
}

fn matmul_integer(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (a, b) = (input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    let ([left, right], dims) = matrices(a, b, cx)?;
    let a_zero = Lines::rows("a", left.dims()).zero(inputs, 2, cx)?;
    let b_zero = Lines::columns("b", right.dims()).zero(inputs, 3, cx)?;
    let sums = sums_of_matrices((&left, a_zero), (&right, b_zero), cx)?;
    Ok(vec![cx.reshape(&sums, &dims)?.with_integers(Integer::I32)])
}

/// Both operands of a product as matrices, and the sizes of the result, which has no axis of a vector.
pub(super) fn matrices(a: &Value, b: &Value, cx: &mut Expansion<'_>) -> Result<([Value; 2], Vec<usize>)> {
    for (name, value) in [("A", a), ("B", b)] {
        if value.rank() == 0 {
            return Err(cx.invalid(name, "a scalar", "it has at least one axis", "reshape it before"));
        }
    }
    let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
    let left = if is_row { cx.reshape(a, &[1, a.numel()])? } else { a.clone() };
    let right = if is_column { cx.reshape(b, &[b.numel(), 1])? } else { b.clone() };
    let (of_a, of_b) = (left.rank() - 2, right.rank() - 2);
    let batch = broadcast_dims(&left.dims()[..of_a], &right.dims()[..of_b]);
    let (Some(mut dims), true) = (batch, right.dims()[of_b] == left.dims()[of_a + 1]) else {
        let rule = format!("its matrices meet those of B, which is {:?}", b.dims());
        return Err(cx.invalid("A", format!("{:?}", a.dims()), &rule, "correct the shapes"));
    };
    if !is_row {
        dims.push(left.dims()[of_a]);
    }
    if !is_column {
        dims.push(right.dims()[of_b + 1]);
    }
    Ok(([left, right], dims))
}

/// The sizes of a product of matrices without elements to multiply, which kernels refuse: all sums are 0, or there are none.
pub(super) fn of_nothing(a: &Value, b: &Value) -> Option<Vec<usize>> {
    let ([of_a @ .., m, _], [of_b @ .., depth, n]) = (a.dims(), b.dims()) else { return None };
    let batch = broadcast_dims(of_a, of_b)?;
    (*depth == 0 || *n == 0).then(|| [&batch[..], &[*m, *n]].concat())
}

/// The sums of 32 bits of matrices of integers less their zero points, which broadcast against them.
pub(super) fn sums_of_matrices(
    (a, a_zero): (&Value, Option<Value>),
    (b, b_zero): (&Value, Option<Value>),
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    if let Some(dims) = of_nothing(a, b) {
        let zero = Constant::Int { of: Integer::I32, dims: vec![1; dims.len()], values: vec![0] }.into();
        return build::expand(cx, &zero, &dims);
    }
    let [leading @ .., depth, n] = b.dims() else { return Err(absent("input 1", cx)) };
    if leading.iter().any(|&d| d != 1) {
        return of_batch((a, a_zero), (b, b_zero), cx);
    }
    let rows = &a.dims()[..a.rank() - 1];
    let count: usize = rows.iter().product();
    let a_zero = match a_zero {
        Some(zero) if zero.numel() != 1 => {
            let all = Lines::rows("a", a.dims()).each_row(&zero, cx)?;
            Some(cx.reshape(&all, &[count, 1, 1, 1])?)
        }
        zero => zero,
    };
    let b_zero = b_zero.map(|zero| cx.reshape(&zero, &[1, zero.numel(), 1, 1])).transpose()?;
    let matrix = cx.reshape(b, &[*depth, *n])?;
    let weights = build::permute(cx, &matrix, &[1, 0])?;
    let weights = cx.reshape(&weights, &[*n, *depth, 1, 1])?;
    let pixels = cx.reshape(a, &[count, *depth, 1, 1])?;
    let sums = |x: &Value, w: &Value, zero: i64, cx: &mut Expansion<'_>| {
        cx.op("conv2d", &[("x", x), ("weights", w)], &[("x_zero_point", zero.into())])
    };
    let y = product(&pixels, a_zero, (&weights, b_zero), &[1, *depth, 1, 1], &sums, cx)?;
    let batch = &leading[..(leading.len() + 1).saturating_sub(rows.len())];
    cx.reshape(&y, &[batch, rows, &[*n]].concat())
}

/// A product with a matrix for each of a batch. `matmul` takes a zero point of each operand that is one and known. Of others
/// `sum((a - p) * (b - q))` is `sum(a * b) - p * sum(b) - q * sum(a) + p * q * depth`.
fn of_batch(
    (a, p): (&Value, Option<Value>),
    (b, q): (&Value, Option<Value>),
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let (a, b) = (as_bytes(a, cx)?, as_bytes(b, cx)?);
    let (of_a, of_b) = (a.rank() - 2, b.rank() - 2);
    let depth = a.dims()[of_a + 1];
    let known = |zero: &Option<Value>| match zero {
        None => Some(0),
        Some(zero) => zero.ints().filter(|_| zero.numel() == 1).map(|zero| zero[0]),
    };
    let numbers = [known(&p), known(&q)];
    let unknown = |zero: Option<Value>, number: Option<i64>| zero.filter(|_| number.is_none());
    let (p, q) = (unknown(p, numbers[0]), unknown(q, numbers[1]));
    let sums = |[a, b]: [&Value; 2], [p, q]: [i64; 2], cx: &mut Expansion<'_>| {
        let params = [("a_zero_point", p.into()), ("b_zero_point", q.into())];
        cx.op("matmul", &[("a", a), ("b", b)], &params).map_err(of_node)
    };
    let [known_p, known_q] = numbers.map(|number| number.unwrap_or(0));
    let nothing = integers(vec![0]);
    let less = |zero: &Option<Value>, cx: &mut Expansion<'_>| {
        zero.as_ref().map(|zero| cx.integers(IntegerFunction::Sub, &[&nothing, zero])).transpose()
    };
    let (less_p, less_q) = (less(&p, cx)?, less(&q, cx)?);
    let mut terms = Vec::new();
    for first in (0..depth.max(1)).step_by(MOST_WIDE_PRODUCTS) {
        let count = MOST_WIDE_PRODUCTS.min(depth - first);
        let (mut a, mut b) = (a.clone(), b.clone());
        if count < depth {
            a = build::narrow(cx, &a, of_a + 1, first, count)?;
            b = build::narrow(cx, &b, of_b, first, count)?;
        }
        let ones = |dims: [usize; 2]| -> Result<Value> {
            let ones = collect(std::iter::repeat_n(1u8, count))?;
            Ok(Constant::Byte(StridedTensor::from_slice(&ones, &dims)?).into())
        };
        terms.push(Term { sums: sums([&a, &b], [known_p, known_q], cx)?, factor: None });
        if less_p.is_some() {
            let sums = sums([&ones([1, count])?, &b], [0, known_q], cx)?;
            terms.push(Term { sums, factor: less_p.clone() });
        }
        if less_q.is_some() {
            let sums = sums([&a, &ones([count, 1])?], [known_p, 0], cx)?;
            terms.push(Term { sums, factor: less_q.clone() });
        }
    }
    // Zero points have the type of their operand, which a product of them does not fit into.
    if let (Some(p), Some(q)) = (&less_p, &less_q) {
        let both = cx.integers(IntegerFunction::Mul, &[p, q])?;
        terms.push(Term { sums: integers(vec![depth as i64]), factor: Some(both) });
    }
    total(&terms, depth, cx)
}

/// The zero point of weights, one or one for each output channel, as it is broadcast against results of this rank.
fn weights_zero(
    inputs: &[Option<Value>],
    outputs: usize,
    rank: usize,
    cx: &mut Expansion<'_>,
) -> Result<Option<Value>> {
    let Some(zero) = zero_of(inputs, 3, &[1, outputs], cx)? else { return Ok(None) };
    let mut dims = vec![1; rank];
    dims[1] = zero.numel();
    cx.reshape(&zero, &dims).map(Some)
}

/// A zero point as a vector of s32, of one of these numbers of elements.
fn zero_of(
    inputs: &[Option<Value>],
    i: usize,
    counts: &[usize],
    cx: &mut Expansion<'_>,
) -> Result<Option<Value>> {
    let Some(given) = maybe(inputs, i) else { return Ok(None) };
    let (zero, _) = zero_point(Some(given), cx)?;
    if !counts.contains(&zero.numel()) {
        let rule = format!("its number of elements is one of {counts:?}");
        let got = format!("{:?}", given.dims());
        return Err(cx.invalid(&format!("input {i}"), got, &rule, "export the model again"));
    }
    Ok(Some(zero))
}

/// The sums of a source, weights of s8 and a zero point of the source.
type Sums<'a> = &'a dyn Fn(&Value, &Value, i64, &mut Expansion<'_>) -> Result<Value>;

/// The largest distance of a source's integer from its zero point.
const FARTHEST: usize = 255;

/// As many products of an integer of 9 bits by another have a sum of 32 bits.
const MOST_WIDE_PRODUCTS: usize = LARGEST_SUM as usize / (FARTHEST * FARTHEST);

/// Sums that a kernel computes, and what each of them is multiplied by.
struct Term {
    sums: Value,
    factor: Option<Value>,
}

impl Term {
    /// The sums, multiplied by this too.
    fn times(&self, factor: &Value, cx: &mut Expansion<'_>) -> Result<Term> {
        let factor = match &self.factor {
            Some(own) => cx.integers(IntegerFunction::Mul, &[own, factor])?,
            None => factor.clone(),
        };
        Ok(Term { sums: self.sums.clone(), factor: Some(factor) })
    }
}

/// The sums as those of parts of the input channels, where the kernels would refuse all of them at once.
fn in_parts(x: &Value, w: &Value, zero: i64, sums: Sums<'_>, cx: &mut Expansion<'_>) -> Result<Vec<Term>> {
    let term = |sums| Term { sums, factor: None };
    let whole = |cx: &mut Expansion<'_>| Ok(vec![term(sums(x, w, zero, cx)?)]);
    let Some(&channels) = w.dims().get(1) else { return whole(cx) };
    let products = products_of(w);
    let has_groups = x.dims().get(1) != Some(&channels);
    if products <= MOST_PRODUCTS || has_groups || fit(w, products)? {
        return whole(cx);
    }
    let each = (MOST_PRODUCTS / (products / channels)).max(1);
    let part = |first: usize| {
        let count = each.min(channels - first);
        let of = build::narrow(cx, x, 1, first, count)?;
        let by = build::narrow(cx, w, 1, first, count)?;
        Ok(term(sums(&of, &by, zero, cx)?))
    };
    (0..channels).step_by(each).map(part).collect()
}

/// The number of products in each sum.
fn products_of(w: &Value) -> usize {
    w.numel() / w.dims()[0].max(1)
}

/// The sum of the terms. Only where it may need more than 32 bits on the way, it is added up in 64.
fn total(terms: &[Term], products: usize, cx: &mut Expansion<'_>) -> Result<Value> {
    if let [Term { sums, factor: None }] = terms {
        return Ok(sums.clone());
    }
    if products <= MOST_WIDE_PRODUCTS {
        let mut total: Option<Value> = None;
        for Term { sums, factor } in terms {
            let more = match factor {
                Some(factor) => cx.integers(IntegerFunction::Mul, &[sums, factor])?,
                None => sums.clone(),
            };
            total = Some(match total {
                Some(total) => cx.integers(IntegerFunction::Add, &[&total, &more])?,
                None => more,
            });
        }
        return total.ok_or_else(|| cx.unsupported("a product without terms"));
    }
    let mut dims = Vec::new();
    for operand in terms.iter().flat_map(|term| std::iter::once(&term.sums).chain(&term.factor)) {
        let both = broadcast_dims(&dims, operand.dims());
        dims = both.ok_or_else(|| cx.unsupported("zero points of other sizes than the product has"))?;
    }
    let stacked = |value: &Value, cx: &mut Expansion<'_>| {
        let value = build::expand(cx, value, &dims)?;
        cx.reshape(&value, &[&[1], &dims[..]].concat())
    };
    let one = Constant::Int { of: Integer::I32, dims: vec![1; dims.len()], values: vec![1] }.into();
    let (mut sums, mut factors) = (Vec::new(), Vec::new());
    for term in terms {
        sums.push(stacked(&term.sums, cx)?);
        factors.push(stacked(term.factor.as_ref().unwrap_or(&one), cx)?);
    }
    let sums = build::cat(cx, &sums.iter().collect::<Vec<_>>(), 0)?.with_integers(Integer::I32);
    let factors = build::cat(cx, &factors.iter().collect::<Vec<_>>(), 0)?.with_integers(Integer::I32);
    cx.integers(IntegerFunction::SumOfProducts, &[&sums, &factors])
}

/// Whether the sums of known weights have 32 bits with every source.
fn fit(w: &Value, products: usize) -> Result<bool> {
    let Some(constant) = w.constant() else { return Ok(false) };
    let values = constant.to_f64()?;
    let size = |of: &[f64]| of.iter().map(|v| v.abs()).sum::<f64>();
    Ok(values.chunks(products).all(|of| size(of) * FARTHEST as f64 <= f64::from(LARGEST_SUM)))
}

/// The sums of `(x - x_zero) * (w - w_zero)`. `one` are the sizes of one image.
fn product(
    x: &Value,
    x_zero: Option<Value>,
    (w, w_zero): (&Value, Option<Value>),
    one: &[usize],
    sums: Sums<'_>,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let x = as_bytes(x, cx)?;
    let (w, more) = signed(w, w_zero, cx)?;
    let products = products_of(&w);
    // With these weights, and with as much more as each of them lacks.
    let all = |x: &Value, zero: i64, cx: &mut Expansion<'_>| -> Result<Vec<Term>> {
        let mut terms = in_parts(x, &w, zero, sums, cx)?;
        let Some(more) = &more else { return Ok(terms) };
        let each = Constant::SignedByte(StridedTensor::from_slice(
            &collect(std::iter::repeat_n(1i8, w.numel()))?,
            w.dims(),
        )?);
        for term in in_parts(x, &each.into(), zero, sums, cx)? {
            terms.push(term.times(more, cx)?);
        }
        Ok(terms)
    };
    let known = match &x_zero {
        None => Some(0),
        Some(zero) => zero.ints().filter(|_| zero.numel() == 1).map(|zero| zero[0]),
    };
    let (Some(zero), None) = (x_zero, known) else {
        return total(&all(&x, known.unwrap_or(0), cx)?, products, cx);
    };
    let mut terms = all(&x, 0, cx)?;
    let count = one.iter().product();
    let ones = Constant::Byte(StridedTensor::from_slice(&collect(std::iter::repeat_n(1u8, count))?, one)?);
    let zero = if zero.numel() == 1 { cx.reshape(&zero, &vec![1; x.rank()])? } else { zero };
    let less = cx.integers(IntegerFunction::Sub, &[&integers(vec![0]), &zero])?;
    for term in all(&ones.into(), 0, cx)? {
        terms.push(term.times(&less, cx)?);
    }
    total(&terms, products, cx)
}

/// Weights of s8, and what is added to each of them to have `w - w_zero`, if that is not nothing.
fn signed(w: &Value, w_zero: Option<Value>, cx: &mut Expansion<'_>) -> Result<(Value, Option<Value>)> {
    let of = w.element_type();
    let byte = byte_of(of).ok_or_else(|| not_of_8_bits(of, cx))?;
    let w_zero = w_zero.unwrap_or_else(|| integers(vec![0]));
    if let (Some(constant), Some(zeros)) = (w.constant(), w_zero.ints()) {
        let values = constant.to_f64()?;
        let inner: usize = w.dims()[1..].iter().product();
        let zero = |i: usize| zeros[if zeros.len() == 1 { 0 } else { i / inner.max(1) }];
        let centred = values.iter().enumerate().map(|(i, &v)| i8::try_from(v as i64 - zero(i)).ok());
        if let Some(centred) = centred.collect::<Option<Vec<i8>>>() {
            return Ok((Constant::SignedByte(StridedTensor::from_slice(&centred, w.dims())?).into(), None));
        }
    }
    // u8 less 128 is s8.
    let half = if byte == ElementType::Byte { 128 } else { 0 };
    let number = |value: i64| integers(vec![value]);
    let made = match w.constant() {
        Some(constant) => {
            let values = collect(constant.to_f64()?.into_iter().map(|v| v as i64 - half))?;
            bytes(w.dims(), &values, ElementType::Int(Integer::I8), cx)?
        }
        None if half == 0 => as_bytes(w, cx)?,
        None => {
            let wide = match of {
                ElementType::Int(_) => w.clone(),
                _ => cx.op("to_dtype", &[("x", w)], &[("dtype", "s32".into())])?,
            };
            let less = cx.integers(IntegerFunction::Sub, &[&wide, &number(half)])?;
            cx.op("to_dtype", &[("x", &less)], &[("dtype", "s8".into())])?
        }
    };
    if half == 0 && w_zero.ints().is_some_and(|zeros| zeros.iter().all(|z| *z == 0)) {
        return Ok((made, None));
    }
    let more = cx.integers(IntegerFunction::Sub, &[&number(half), &w_zero])?;
    Ok((made, Some(more)))
}
