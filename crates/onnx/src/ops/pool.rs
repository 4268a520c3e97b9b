//! Pooling.

use blocktensor_graph::{ElementType, Expansion, IntegerFunction, Result, Value};

use super::args::{as_small, float_input, input, small_input};
use super::conv::{AutoPad, Window};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op(
        "AveragePool",
        average_pool,
        &[
            ("auto_pad", Kind::Str),
            ("ceil_mode", Kind::Int),
            ("count_include_pad", Kind::Int),
            ("dilations", Kind::Ints),
            ("kernel_shape", Kind::Ints),
            ("pads", Kind::Ints),
            ("strides", Kind::Ints),
        ],
    ),
    op("GlobalAveragePool", global_pool, &[]),
    op("GlobalLpPool", global_lp_pool, &[("p", Kind::Int)]),
    op("GlobalMaxPool", global_pool, &[]),
    op(
        "LpPool",
        lp_pool,
        &[
            ("auto_pad", Kind::Str),
            ("ceil_mode", Kind::Int),
            ("dilations", Kind::Ints),
            ("kernel_shape", Kind::Ints),
            ("p", Kind::Int),
            ("pads", Kind::Ints),
            ("strides", Kind::Ints),
        ],
    ),
    op(
        "MaxPool",
        max_pool,
        &[
            ("auto_pad", Kind::Str),
            ("ceil_mode", Kind::Int),
            ("dilations", Kind::Ints),
            ("kernel_shape", Kind::Ints),
            ("pads", Kind::Ints),
            ("storage_order", Kind::Int),
            ("strides", Kind::Ints),
        ],
    ),
];

/// A pool's window over a source of known sizes.
struct Pool {
    window: Window,
    sizes: Vec<usize>,
    /// Spatial sizes of the result.
    output: Vec<usize>,
    ceil: bool,
}

impl Pool {
    fn of(node: &OnnxNode, x: &Value, cx: &Expansion<'_>) -> Result<Pool> {
        let sizes = x.dims().get(2..).unwrap_or_default().to_vec();
        let window = Window::of(node, x, None, cx)?;
        // `auto_pad` says what the sizes of the result are, so `ceil_mode` is for explicit pads.
        let ceil = node.int("ceil_mode").unwrap_or(0) != 0 && window.auto_pad == AutoPad::NotSet;
        // Explicit pads: ONNX Runtime and PyTorch have no window of padding alone.
        let mut sides = window.before.iter().zip(&window.after).zip(&window.kernel);
        if sides.any(|((before, after), kernel)| before.max(after) >= kernel) {
            let got = format!("{:?}", [&window.before[..], &window.after].concat());
            let rule = format!("each is less than the size of the window, {:?}", window.kernel);
            return Err(cx.invalid(
                "pads",
                got,
                &rule,
                "correct them: a window of padding alone has no value",
            ));
        }
        let window = window.resolve(&sizes);
        let mut output = Vec::with_capacity(sizes.len());
        for (axis, &size) in sizes.iter().enumerate() {
            let (stride, padded) = (window.strides[axis], size + window.before[axis] + window.after[axis]);
            // Rounded up, a window may reach beyond the end by less than a stride, also where it is the only one.
            let room = padded + if ceil { stride - 1 } else { 0 };
            let Some(rest) = room.checked_sub(window.span(axis)) else {
                let got = format!("{} along spatial axis {axis}", window.span(axis));
                let rule = format!("the source has {padded} elements there, with its padding");
                return Err(cx.invalid("kernel_shape", got, &rule, "use a larger input"));
            };
            let mut count = rest / stride + 1;
            // The last window begins inside the source or the padding before it.
            if ceil && (count - 1) * stride >= size + window.before[axis] {
                count -= 1;
            }
            output.push(count);
        }
        Ok(Pool { window, sizes, output, ceil })
    }

    /// Whether the registered ops take these pads: at most half of the window.
    fn is_plain(&self) -> bool {
        let w = &self.window;
        let sides = w.before.iter().zip(&w.after).zip(&w.kernel);
        sides.into_iter().all(|((before, after), kernel)| *before.max(after) <= kernel / 2)
    }

    /// Pads the source explicitly, as far as its windows reach.
    fn pad(&self, cx: &mut Expansion<'_>, x: &Value, value: f32) -> Result<Value> {
        let w = &self.window;
        let after = (0..self.sizes.len()).map(|i| {
            let reach = (self.output[i] - 1) * w.strides[i] + w.span(i);
            reach.saturating_sub(self.sizes[i] + w.before[i])
        });
        let before: Vec<usize> = [0, 0].into_iter().chain(w.before.iter().copied()).collect();
        let after: Vec<usize> = [0, 0].into_iter().chain(after).collect();
        build::pad(cx, x, &before, &after, "constant", value)
    }

    fn run(&self, cx: &mut Expansion<'_>, op: &str, x: &Value, is_padded: bool) -> Result<Value> {
        let rank = self.sizes.len();
        let w = &self.window;
        let padding = if is_padded { vec![0] } else { [&w.before[..], &w.after].concat() };
        let mut params = vec![
            ("kernel", build::list(&self.window.kernel)),
            ("stride", build::list(&self.window.strides)),
            ("padding", build::list(&padding)),
            ("ceil_mode", (self.ceil && !is_padded).into()),
        ];
        if op == "max_pool" {
            params.push(("dilation", build::list(&self.window.dilations)));
        }
        cx.op(&format!("{op}{rank}d"), &[("x", x)], &params)
    }

    /// For each result element along an axis, the elements of its window that count.
    fn counts(&self, axis: usize, with_pads: bool) -> Result<Vec<usize>> {
        let w = &self.window;
        let (begin, end) = if with_pads {
            (0, w.before[axis] + self.sizes[axis] + w.after[axis])
        } else {
            (w.before[axis], w.before[axis] + self.sizes[axis])
        };
        let taps = |i: usize| (0..w.kernel[axis]).map(move |k| i * w.strides[axis] + k * w.dilations[axis]);
        Ok(collect((0..self.output[axis]).map(|i| taps(i).filter(|t| (begin..end).contains(t)).count()))?)
    }

    /// For each result pixel, a number made of the counts of its axes, with sizes [1, 1, ...].
    fn table(
        &self,
        with_pads: bool,
        cx: &Expansion<'_>,
        number: impl Fn(usize) -> f32,
    ) -> Result<(Vec<f32>, Vec<usize>)> {
        let count = self.output.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        super::check_generated(count, cx)?;
        for (output, kernel) in self.output.iter().zip(&self.window.kernel) {
            super::check_generated(output.checked_mul(*kernel), cx)?;
        }
        let mut table = vec![1usize];
        for axis in 0..self.sizes.len() {
            let counts = self.counts(axis, with_pads)?;
            table = collect(table.iter().flat_map(|&t| counts.iter().map(move |c| t * c)))?;
        }
        let dims = [1, 1].iter().chain(&self.output).copied().collect();
        Ok((collect(table.into_iter().map(number))?, dims))
    }

    /// The sum of each window, with zeros as padding.
    fn sums(&self, cx: &mut Expansion<'_>, x: &Value) -> Result<Value> {
        let padded = self.pad(cx, x, 0.0)?;
        let elements: usize = self.window.kernel.iter().product();
        if self.window.dilations.iter().all(|&d| d == 1) {
            let mean = self.run(cx, "avg_pool", &padded, true)?;
            return build::with_number(cx, "mul_scalar", &mean, elements as f32);
        }
        // Windows with gaps: a convolution of each channel with ones.
        let channels = x.dims()[1];
        let dims: Vec<usize> = [channels, 1].iter().chain(&self.window.kernel).copied().collect();
        let ones = super::constant::filled(1.0, &dims)?;
        let params = [
            ("stride", build::list(&self.window.strides)),
            ("dilation", build::list(&self.window.dilations)),
            ("groups", build::int(channels)),
        ];
        let op = format!("conv{}d", self.sizes.len());
        cx.op(&op, &[("x", &padded), ("weights", &ones)], &params)
    }
}

fn max_pool(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let bytes = input(inputs, 0, cx)?;
    if matches!(bytes.element_type(), ElementType::Byte | ElementType::SignedByte) {
        let pool = Pool::of(node, bytes, cx)?;
        // The kernel takes bytes as they are.
        if pool.is_plain() && !node.has_output(1) {
            return Ok(vec![pool.run(cx, "max_pool", bytes, false)?]);
        }
    }
    let (x, of) = small_input(inputs, 0, cx)?;
    let pool = Pool::of(node, &x, cx)?;
    let mut results = if node.has_output(1) {
        with_indices(node, &x, &pool, cx)?
    } else if pool.is_plain() {
        vec![pool.run(cx, "max_pool", &x, false)?]
    } else {
        let padded = pool.pad(cx, &x, f32::NEG_INFINITY)?;
        vec![pool.run(cx, "max_pool", &padded, true)?]
    };
    results[0] = as_small(cx, &results[0], of)?;
    Ok(results)
}

/// The windows as rows of a matrix, whose largest elements are found with `argmax`. A table has the index in the source of each
/// element of the matrix.
fn with_indices(node: &OnnxNode, x: &Value, pool: &Pool, cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (w, spatial) = (&pool.window, pool.sizes.len());
    let (images, pixels) = (x.dims()[0] * x.dims()[1], pool.sizes.iter().product::<usize>());
    let (taps, results) = (w.kernel.iter().product::<usize>(), pool.output.iter().product::<usize>());
    let count = images.checked_mul(results).and_then(|n| n.checked_mul(taps));
    if count.is_none_or(|n| n > super::MAX_GENERATED) || images * pixels > super::MAX_GENERATED {
        return Err(cx.unsupported("the indices of a pool of this size"));
    }
    let is_column_major = node.int("storage_order").unwrap_or(0) == 1;
    // For each element of a window: its pixel, or the one after the last for padding; and the pixel as ONNX counts it.
    let source = (0..results * taps).map(|element| {
        let (mut result, mut tap) = (element / taps, element % taps);
        let (mut pixel, mut stride, mut counted, mut inside) = (0, 1, 0, true);
        for axis in (0..spatial).rev() {
            let at =
                (result % pool.output[axis]) * w.strides[axis] + (tap % w.kernel[axis]) * w.dilations[axis];
            (result, tap) = (result / pool.output[axis], tap / w.kernel[axis]);
            inside &= (w.before[axis]..w.before[axis] + pool.sizes[axis]).contains(&at);
            let at = at.saturating_sub(w.before[axis]);
            counted +=
                at * if is_column_major { pool.sizes[..axis].iter().product::<usize>() } else { stride };
            pixel += at * stride;
            stride *= pool.sizes[axis];
        }
        if inside { (pixel, counted) } else { (pixels, 0) }
    });
    let source = collect(source)?;
    let rows = images * results;
    let flat = cx.reshape(x, &[images, pixels])?;
    let flat = build::pad(cx, &flat, &[0, 0], &[0, 1], "constant", f32::NEG_INFINITY)?;
    let index = build::ints(collect(source.iter().map(|(pixel, _)| *pixel as i64))?, &[source.len()]);
    let windows = build::index_select(cx, &flat, 1, &index)?;
    let windows = cx.reshape(&windows, &[rows, taps])?;
    let largest = build::reduce(cx, "amax", &windows, &[1], false)?;
    let tap =
        cx.op("argmax", &[("x", &windows)], &[("axis", build::list(&[1])), ("keepdim", false.into())])?;
    let starts = build::ints(collect((0..rows).map(|row| (row * taps) as i64))?, &[rows]);
    let place = cx.integers(IntegerFunction::Add, &[&tap, &starts])?;
    let table = (0..images)
        .flat_map(|image| source.iter().map(move |(_, counted)| (image * pixels + counted) as i64));
    let table = build::ints(collect(table)?, &[rows * taps]);
    let index = build::index_select(cx, &table, 0, &place)?;
    let dims: Vec<usize> = x.dims()[..2].iter().chain(&pool.output).copied().collect();
    Ok(vec![cx.reshape(&largest, &dims)?, cx.reshape(&index, &dims)?])
}

pub(super) fn average_pool(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let pool = Pool::of(node, x, cx)?;
    let with_pads = node.int("count_include_pad").unwrap_or(0) != 0;
    let is_dense = pool.window.dilations.iter().all(|&d| d == 1);
    if pool.is_plain() && is_dense {
        let rank = pool.sizes.len();
        let params = [
            ("kernel", build::list(&pool.window.kernel)),
            ("stride", build::list(&pool.window.strides)),
            ("padding", build::list(&[&pool.window.before[..], &pool.window.after].concat())),
            ("ceil_mode", pool.ceil.into()),
            ("count_include_pad", with_pads.into()),
        ];
        return Ok(vec![cx.op(&format!("avg_pool{rank}d"), &[("x", x)], &params)?]);
    }
    let elements: usize = pool.window.kernel.iter().product();
    if is_dense {
        let padded = pool.pad(cx, x, 0.0)?;
        let mean = pool.run(cx, "avg_pool", &padded, true)?;
        let (ratios, dims) = pool.table(with_pads, cx, |count| elements as f32 / count as f32)?;
        if ratios.iter().all(|&r| r == 1.0) {
            return Ok(vec![mean]);
        }
        let ratios = build::constant(&ratios, &dims)?;
        return Ok(vec![build::binary(cx, "mul", &mean, &ratios)?]);
    }
    let sums = pool.sums(cx, x)?;
    let (counts, dims) = pool.table(with_pads, cx, |count| count as f32)?;
    let counts = build::constant(&counts, &dims)?;
    Ok(vec![build::binary(cx, "div", &sums, &counts)?])
}

/// `p` of a norm, which is 2 by default.
fn exponent(node: &OnnxNode, cx: &Expansion<'_>) -> Result<f32> {
    match node.int("p").unwrap_or(2) {
        p if p >= 1 => Ok(p as f32),
        p => Err(cx.invalid("p", p, "it is 1 or more", "export the model again")),
    }
}

fn lp_pool(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let p = exponent(node, cx)?;
    let powers = to_power(cx, x, p)?;
    let sums = Pool::of(node, x, cx)?.sums(cx, &powers)?;
    Ok(vec![root(cx, &sums, p)?])
}

fn to_power(cx: &mut Expansion<'_>, x: &Value, p: f32) -> Result<Value> {
    if p == 2.0 {
        return build::unary(cx, "square", x);
    }
    let size = build::unary(cx, "abs", x)?;
    if p == 1.0 { Ok(size) } else { build::with_number(cx, "pow_scalar", &size, p) }
}

fn root(cx: &mut Expansion<'_>, x: &Value, p: f32) -> Result<Value> {
    match p {
        1.0 => Ok(x.clone()),
        2.0 => build::unary(cx, "sqrt", x),
        _ => build::with_number(cx, "pow_scalar", x, 1.0 / p),
    }
}

fn global_pool(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    Ok(vec![global_pool_of(x, node.op_type() == "GlobalAveragePool", cx)?])
}

/// The mean or the largest of each channel's pixels.
pub(super) fn global_pool_of(x: &Value, is_average: bool, cx: &mut Expansion<'_>) -> Result<Value> {
    if (3..=5).contains(&x.rank()) {
        let op = if is_average { "global_avg_pool" } else { "global_max_pool" };
        return build::unary(cx, op, x);
    }
    let axes: Vec<usize> = (2..x.rank()).collect();
    build::reduce(cx, if is_average { "mean" } else { "amax" }, x, &axes, true)
}

fn global_lp_pool(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let p = exponent(node, cx)?;
    let powers = to_power(cx, x, p)?;
    let axes: Vec<usize> = (2..x.rank()).collect();
    let sums = build::reduce(cx, "sum", &powers, &axes, true)?;
    Ok(vec![root(cx, &sums, p)?])
}
