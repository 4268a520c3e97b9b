//! The gradient of max pooling of planes of one lane (NCHW): the largest element of each window of a row is found for many windows at
//! once, and then each window's gradient is added where it goes.

use super::planes::Plane;
use crate::kernels::pool::geometry::{Span, Windows};
use crate::simd::vectors::{Vector, VectorLoop};

/// Windows that are compared at once.
const GROUP: usize = 16;
/// A row of fewer windows is not worth vectors.
const LEAST_WINDOWS: usize = 4;
/// The pixels of a plane are numbered in f32.
const MOST_PIXELS: usize = 1 << 24;

/// Whether this finds the windows of a plane.
pub(super) fn takes(plane: &Plane<'_>, windows: &Windows) -> bool {
    let w = &windows.axes[2];
    // Adaptive windows may all begin at one element.
    let has_rows = w.regular.len() >= LEAST_WINDOWS && w.regular_step > 0;
    plane.lanes == 1 && plane.dst.len() <= MOST_PIXELS && has_rows
}

/// The gradient of a plane of one lane without NaN.
pub(super) struct RowsLoop<'a, 'p> {
    pub plane: &'a mut Plane<'p>,
    pub windows: &'a Windows,
}

impl VectorLoop<GROUP> for RowsLoop<'_, '_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let RowsLoop { plane, windows } = self;
        plane.dst.fill(0.0);
        let [d_axis, h_axis, w_axis] = &windows.axes;
        let [height, width] = plane.size;
        let mut row = Row::new(windows);
        for (d_at, &d) in d_axis.list.iter().enumerate() {
            for (h_at, &h) in h_axis.list.iter().enumerate() {
                let source = |i, j| (windows.at(0, d, i) * height + windows.at(1, h, j)) * width;
                row.begin(source(0, 0));
                for i in 0..d.taps {
                    for j in 0..h.taps {
                        let at = source(i, j);
                        row.compare::<V>(proof, &plane.x[at..at + width], at);
                    }
                }
                let result = (d_at * h_axis.list.len() + h_at) * w_axis.list.len();
                row.add(plane, windows, [d, h], result);
            }
        }
    }
}

/// The regular windows of one row of the result.
struct Row {
    /// The first window, and how many there are.
    first: usize,
    count: usize,
    /// The source column at which the first window begins, and columns from one window to the next.
    start: usize,
    step: usize,
    /// Of each tap along W: its column in the window, and where its elements begin in `columns`.
    taps: Vec<[usize; 2]>,
    /// A source row from `start` on: every `step`th column, then those one further, and so on. Past the row's end is anything.
    columns: Vec<f32>,
    /// Columns of each of these lists.
    len: usize,
    /// The largest element so far of each window, and where it would be if the window were at column 0.
    largest: Vec<[f32; GROUP]>,
    place: Vec<[f32; GROUP]>,
}

impl Row {
    fn new(windows: &Windows) -> Row {
        let w = &windows.axes[2];
        let (count, taps, step) = (w.regular.len(), w.regular_taps(), w.regular_step);
        let groups = count.div_ceil(GROUP);
        let len = groups * GROUP + taps.saturating_sub(1) * w.dilation / step;
        let of_tap = |column: usize| [column, column % step * len + column / step];
        Row {
            first: w.regular.start,
            count,
            start: w.list[w.regular.start].start as usize,
            step,
            taps: (0..taps).map(|k| of_tap(k * w.dilation)).collect(),
            columns: vec![f32::NEG_INFINITY; step * len],
            len,
            largest: vec![[0.0; GROUP]; groups],
            place: vec![[0.0; GROUP]; groups],
        }
    }

    /// Begins with windows whose first source row is at `first`.
    #[inline(always)]
    fn begin(&mut self, first: usize) {
        self.largest.fill([f32::NEG_INFINITY; GROUP]);
        self.place.fill([first as f32; GROUP]);
    }

    /// Compares the taps in the source row at `at` with the largest element so far of each window. The first of equals stays; a window
    /// whose elements are all minus infinity has its first tap.
    #[inline(always)]
    fn compare<V: Vector<GROUP>>(&mut self, proof: V::Proof, source: &[f32], at: usize) {
        self.split(&source[self.start.min(source.len())..]);
        for (group, (largest, place)) in self.largest.iter_mut().zip(&mut self.place).enumerate() {
            let (mut best, mut best_place) = (V::load(proof, largest), V::load(proof, place));
            for &[column, from] in &self.taps {
                let columns = self.columns[from + group * GROUP..].first_chunk().expect("columns of a group");
                let x = V::load(proof, columns);
                let larger = x.larger_or(best);
                best_place = larger.if_equal(best, best_place, V::splat(proof, (at + column) as f32));
                best = larger;
            }
            best.store(largest);
            best_place.store(place);
        }
    }

    /// Writes the lists of columns.
    #[inline(always)]
    fn split(&mut self, source: &[f32]) {
        match self.step {
            1 => {
                let n = self.len.min(source.len());
                self.columns[..n].copy_from_slice(&source[..n]);
            }
            2 => self.split_by::<2>(source),
            3 => self.split_by::<3>(source),
            _ => {
                for (i, columns) in self.columns.chunks_exact_mut(self.len).enumerate() {
                    let every = source.iter().skip(i).step_by(self.step);
                    columns.iter_mut().zip(every).for_each(|(to, x)| *to = *x);
                }
            }
        }
    }

    #[inline(always)]
    fn split_by<const S: usize>(&mut self, source: &[f32]) {
        let (whole, rest) = source.as_chunks::<S>();
        for (i, columns) in self.columns.chunks_exact_mut(self.len).enumerate() {
            columns.iter_mut().zip(whole).for_each(|(to, x)| *to = x[i]);
            if let (Some(to), Some(x)) = (columns.get_mut(whole.len()), rest.get(i)) {
                *to = *x;
            }
        }
    }

    /// Adds the gradients of a row of windows, the first of which is number `result`, in their order.
    #[inline(always)]
    fn add(&self, plane: &mut Plane<'_>, windows: &Windows, [d, h]: [Span; 2], result: usize) {
        let spans = &windows.axes[2].list;
        let end = self.first + self.count;
        for i in 0..self.first {
            add_one(plane, windows, [d, h, spans[i]], result + i);
        }
        if d.taps * h.taps > 0 && !self.taps.is_empty() {
            let diff = &plane.diff[result + self.first..result + end];
            for (i, (g, place)) in diff.iter().zip(self.place.as_flattened()).enumerate() {
                plane.dst[*place as usize + self.start + i * self.step] += g;
            }
        }
        for i in end..spans.len() {
            add_one(plane, windows, [d, h, spans[i]], result + i);
        }
    }
}

/// Adds the gradient of one window of a plane of one lane.
#[inline(always)]
fn add_one(plane: &mut Plane<'_>, windows: &Windows, spans: [Span; 3], result: usize) {
    super::windows::max_of_lane(plane, windows, spans, result, 0);
}
