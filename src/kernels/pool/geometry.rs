//! Pooling windows: which source elements each result element is made of, along each axis.

use std::ops::Range;

use crate::error::{Result, fail};
use crate::kernels::conv::geometry::Window;
use crate::layout::dims::Dims;
use crate::memory::try_with_capacity;

/// The window of one output index along one axis: `taps` source elements from `start` on, all inside the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u32,
    pub taps: u32,
    /// What a mean counts along this axis: the taps, or the taps and the padding.
    pub count: u32,
    /// A range of source elements that holds all taps. Neither end decreases from one span to the next, which `start` may do
    /// under dilation.
    pub from: u32,
    pub to: u32,
}

/// The spans of one axis.
#[derive(Debug)]
pub(crate) struct Spans {
    pub list: Vec<Span>,
    /// Source elements from one tap to the next.
    pub dilation: usize,
    /// The longest range of output indices whose spans differ only in `start`, each by the same step from the one before.
    pub regular: Range<usize>,
    /// That step.
    pub regular_step: usize,
    /// Whether some span has no taps.
    pub has_empty: bool,
}

impl Spans {
    /// The spans of one axis, whose regular range is searched.
    fn new(list: Vec<Span>, dilation: usize) -> Spans {
        let (mut regular, mut regular_step) = (0..0, 1);
        let mut begin = 0;
        for i in 0..list.len() {
            let alike = |a: usize, b: usize| {
                list[a].taps == list[b].taps
                    && list[a].count == list[b].count
                    && list[b].start >= list[a].start
            };
            let same_step = |a: usize| list[a + 1].start - list[a].start == list[i].start - list[i - 1].start;
            if i > begin && !(alike(i - 1, i) && (i == begin + 1 || same_step(begin))) {
                // The previous index may begin another range together with this one.
                begin = if alike(i - 1, i) { i - 1 } else { i };
            }
            if i + 1 - begin > regular.len() {
                regular = begin..i + 1;
                regular_step =
                    if regular.len() > 1 { (list[i].start - list[i - 1].start) as usize } else { 1 };
            }
        }
        let has_empty = list.iter().any(|s| s.taps == 0);
        Spans { list, dilation, regular, regular_step, has_empty }
    }

    /// One window of one element: for an axis that the tensor does not have.
    fn single() -> Spans {
        Spans::new(vec![Span { start: 0, taps: 1, count: 1, from: 0, to: 1 }], 1)
    }

    /// A range of source elements that holds the taps of span `i`.
    #[inline(always)]
    pub fn source_range(&self, i: usize) -> (usize, usize) {
        let s = &self.list[i];
        (s.from as usize, s.to as usize)
    }

    /// The number of taps of each span of the regular range.
    #[inline(always)]
    pub fn regular_taps(&self) -> usize {
        self.list.get(self.regular.start).map_or(0, |s| s.taps as usize)
    }

    fn most_taps(&self) -> usize {
        self.list.iter().map(|s| s.taps as usize).max().unwrap_or(0)
    }
}

/// The spans of D, H and W.
#[derive(Debug)]
pub(crate) struct Windows {
    pub axes: [Spans; 3],
}

impl Windows {
    /// Windows of the given axes, the last of which is W; other axes have one window of one element.
    fn new(given: Vec<Spans>) -> Windows {
        let mut axes = [Spans::single(), Spans::single(), Spans::single()];
        let missing = 3 - given.len();
        axes.iter_mut().skip(missing).zip(given).for_each(|(place, spans)| *place = spans);
        Windows { axes }
    }

    /// The largest number of source elements that one result element is made of.
    pub fn most_taps(&self) -> usize {
        self.axes.iter().map(Spans::most_taps).product()
    }

    /// The source element of an axis that a tap of a span reads.
    #[inline(always)]
    pub fn at(&self, axis: usize, span: Span, tap: u32) -> usize {
        span.start as usize + tap as usize * self.axes[axis].dilation
    }

    /// Windows of adaptive pooling: index `i` of `output` covers `floor(i * size / output)` up to
    /// `ceil((i + 1) * size / output)`.
    pub fn adaptive(op: &'static str, input: &[usize], output: &[usize]) -> Result<Windows> {
        let axis = |(&size, &out): (&usize, &usize)| {
            let mut list = try_with_capacity(op, out)?;
            // Sizes stay below 2^31, so the products fit into u64.
            let (size, out) = (size as u64, out as u64);
            list.extend((0..out).map(|i| {
                let (start, end) = (i * size / out, ((i + 1) * size).div_ceil(out));
                let taps = (end - start) as u32;
                Span { start: start as u32, taps, count: taps, from: start as u32, to: end as u32 }
            }));
            Ok(Spans::new(list, 1))
        };
        Ok(Windows::new(input.iter().zip(output).map(axis).collect::<Result<_>>()?))
    }
}

/// The parameters of pooling with `N` spatial dimensions.
pub(crate) struct PoolWindow<'a, const N: usize> {
    pub kernel: &'a [usize; N],
    pub stride: Option<&'a [usize; N]>,
    /// Before and after each axis.
    pub padding: (&'a [usize; N], &'a [usize; N]),
    pub dilation: &'a [usize; N],
    pub ceil_mode: bool,
}

/// A pooling window and how it moves, along every spatial axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolGeometry {
    op: &'static str,
    input: Dims,
    kernel: Dims,
    stride: Dims,
    padding: (Dims, Dims),
    dilation: Dims,
    pub output: Dims,
}

impl PoolGeometry {
    /// Checks the parameters of a call. Without a stride, the stride is the size of the kernel.
    pub fn new<const N: usize>(
        op: &'static str,
        input: Dims,
        window: PoolWindow<'_, N>,
    ) -> Result<PoolGeometry> {
        let rank = input.len();
        let kernel = Dims::from_slice(window.kernel);
        let stride = window.stride.map_or(kernel, |stride| Dims::from_slice(stride));
        let padding = (Dims::from_slice(window.padding.0), Dims::from_slice(window.padding.1));
        let dilation = Dims::from_slice(window.dilation);
        let ceil_mode = window.ceil_mode;
        let mut g = PoolGeometry { op, input, kernel, stride, padding, dilation, output: Dims::EMPTY };
        for axis in 0..rank {
            g.output.push(g.output_size(axis, ceil_mode)?);
        }
        Ok(g)
    }

    /// `floor((size + both paddings - dilation * (kernel - 1) - 1) / stride) + 1`, or the same with `ceil`, where the last window
    /// must begin inside the source or the padding before it.
    fn output_size(&self, axis: usize, ceil_mode: bool) -> Result<usize> {
        let (size, kernel, stride) = (self.input[axis], self.kernel[axis], self.stride[axis]);
        let (before, after) = (self.padding.0[axis], self.padding.1[axis]);
        if kernel == 0 {
            fail!(
                InvalidArgument,
                self.op,
                "kernel",
                format!("{}", self.kernel),
                format!("the window is 0 wide along spatial axis {axis}"),
                "pass a window of at least 1"
            );
        }
        if stride == 0 {
            fail!(
                InvalidArgument,
                self.op,
                "stride",
                format!("{}", self.stride),
                format!("it counts from 1, and is 0 along spatial axis {axis}"),
                "pass 1 or more, or leave it out for the size of the window"
            );
        }
        if before.max(after) > kernel / 2 {
            fail!(
                InvalidArgument,
                self.op,
                "padding",
                format!("{} along spatial axis {axis}", before.max(after)),
                format!("the window is {kernel} there, and padding is at most half of it"),
                format!("pad by {} or less, or use a larger window", kernel / 2)
            );
        }
        let window = Window {
            op: self.op,
            argument: "kernel",
            axis,
            size,
            kernel,
            stride,
            dilation: self.dilation[axis],
            pad_begin: before,
            pad_end: after,
        };
        let (padded, reach) = window.reach()?;
        // Every value is below 2^31.
        let room = padded as i64 - reach as i64 + if ceil_mode { stride as i64 - 1 } else { 0 };
        let mut output = room.div_euclid(stride as i64) + 1;
        if ceil_mode && (output - 1) * stride as i64 >= (size + before) as i64 {
            output -= 1;
        }
        match usize::try_from(output) {
            Ok(output @ 1..) => Ok(output),
            _ => fail!(
                ShapeMismatch,
                self.op,
                "kernel",
                format!("a window that reaches over {reach} along spatial axis {axis}"),
                format!("the padded source is {padded} there"),
                "use a smaller window or dilation, or a larger source"
            ),
        }
    }

    /// The windows. With `count_padding` a mean counts the padding too, but never what lies beyond the padding (the last window
    /// of `ceil_mode` may reach there).
    pub fn windows(&self, count_padding: bool) -> Result<Windows> {
        let axes =
            (0..self.input.len()).map(|axis| self.spans(axis, count_padding)).collect::<Result<_>>()?;
        Ok(Windows::new(axes))
    }

    fn spans(&self, axis: usize, count_padding: bool) -> Result<Spans> {
        let [size, kernel, stride, dilation] =
            [self.input[axis], self.kernel[axis], self.stride[axis], self.dilation[axis]].map(|v| v as i64);
        let (before, after) = (self.padding.0[axis] as i64, self.padding.1[axis] as i64);
        // With a single tap, dilation means nothing and may be of any size.
        let dilation = if kernel == 1 { 1 } else { dilation };
        let mut list = try_with_capacity(self.op, self.output[axis])?;
        list.extend((0..self.output[axis] as i64).map(|i| {
            let from = i * stride - before;
            let end = (from + dilation * (kernel - 1) + 1).min(size);
            // The first tap that is not in the padding before the source.
            let start = if from < 0 { from + (-from + dilation - 1) / dilation * dilation } else { from };
            let taps = if end > start { (end - start + dilation - 1) / dilation } else { 0 };
            let count = if count_padding { (from + kernel).min(size + after) - from } else { taps };
            let first = from.clamp(0, size);
            Span {
                start: start.min(size) as u32,
                taps: taps as u32,
                count: count as u32,
                from: first as u32,
                to: end.max(first) as u32,
            }
        }));
        Ok(Spans::new(list, dilation as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(starts: &[(u32, u32)]) -> Spans {
        let span =
            |&(start, taps): &(u32, u32)| Span { start, taps, count: taps, from: start, to: start + taps };
        Spans::new(starts.iter().map(span).collect(), 1)
    }

    #[test]
    fn the_longest_regular_range_is_found() {
        let s = spans(&[(0, 2), (1, 3), (3, 3), (5, 3), (7, 2)]);
        assert_eq!((s.regular.clone(), s.regular_step), (1..4, 2));
        let s = spans(&[(0, 2), (1, 2), (2, 2), (4, 2), (6, 2), (8, 2)]);
        assert_eq!((s.regular.clone(), s.regular_step), (2..6, 2));
        let s = spans(&[(0, 7)]);
        assert_eq!((s.regular.clone(), s.regular_step), (0..1, 1));
    }

    #[test]
    fn adaptive_windows_are_those_of_the_definition() {
        let w = Windows::adaptive("test", &[7], &[3]).unwrap();
        let list: Vec<(u32, u32)> = w.axes[2].list.iter().map(|s| (s.start, s.taps)).collect();
        assert_eq!(list, [(0, 3), (2, 3), (4, 3)]);
        assert_eq!(w.most_taps(), 3);
    }
}
