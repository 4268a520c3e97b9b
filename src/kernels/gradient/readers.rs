//! Gradients of planes of one lane (NCHW) whose weights are products of those of the axes: each pixel gathers the results that read
//! it. The rows of the incoming gradient that read a row are added up first, in whole vectors, and then the columns of their sum, which
//! are picked for a vector of pixels at once.

use std::ops::Range;

use super::planes::Plane;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// Pixels of a row at once.
const GROUP: usize = 16;
/// A pixel with more readers along W adds them up by itself: its vector would be picked from too many others.
const MOST_PICKED: usize = 16;

/// For each source index of an axis the result indices that read it, which follow each other, each with its weight.
struct Readers {
    ranges: Vec<Range<usize>>,
    /// Where the weights of each range begin.
    starts: Vec<usize>,
    weights: Vec<f32>,
}

impl Readers {
    fn new<I: IntoIterator<Item = (usize, f32)>>(
        size: usize,
        taps: impl Iterator<Item = I> + Clone,
    ) -> Readers {
        let all = || {
            let of_result = |(result, taps): (usize, I)| {
                taps.into_iter().map(move |(source, weight)| (result, source, weight))
            };
            // What has no weight is not read: infinity times 0 is NaN.
            taps.clone().enumerate().flat_map(of_result).filter(|tap| tap.2 != 0.0)
        };
        let mut ranges = vec![0..0; size];
        for (result, source, _) in all() {
            let range: &mut Range<usize> = &mut ranges[source];
            *range = if range.end == 0 { result } else { range.start }..result + 1;
        }
        let mut end = 0;
        let begin = |range: &Range<usize>| {
            end += range.len();
            end - range.len()
        };
        let starts: Vec<usize> = ranges.iter().map(begin).collect();
        let mut weights = vec![0.0; end];
        for (result, source, weight) in all() {
            weights[starts[source] + result - ranges[source].start] += weight;
        }
        Readers { ranges, starts, weights }
    }

    #[inline(always)]
    fn of(&self, source: usize) -> (Range<usize>, &[f32]) {
        let range = self.ranges[source].clone();
        let weights = &self.weights[self.starts[source]..][..range.len()];
        (range, weights)
    }

    /// Whether both indices have the same readers.
    #[inline(always)]
    fn are_same(&self, a: usize, b: usize) -> bool {
        self.ranges[a] == self.ranges[b] && self.of(a) == self.of(b)
    }
}

/// How the pixels of a row are made of the sums of the columns that read them.
enum Columns {
    /// [`GROUP`] pixels at once: of each group of them its terms.
    Picked { groups: Vec<Range<usize>>, terms: Vec<Term>, picks: Vec<Pick> },
    /// One pixel after the other.
    Single(Readers),
}

/// One reader of each pixel of a group, if it has that many.
struct Term {
    weights: [f32; GROUP],
    /// Of which vectors of sums they are picked.
    picks: Range<usize>,
}

/// Lanes of the vector of sums that begins at `from`.
struct Pick {
    from: usize,
    index: [i32; GROUP],
}

impl Columns {
    fn new(readers: Readers) -> Columns {
        if readers.ranges.iter().any(|range| range.len() > MOST_PICKED) {
            return Columns::Single(readers);
        }
        let (mut groups, mut terms, mut picks) = (Vec::new(), Vec::new(), Vec::new());
        let size = readers.ranges.len();
        for first in (0..size).step_by(GROUP) {
            let group = first..(first + GROUP).min(size);
            let most = group.clone().map(|i| readers.ranges[i].len()).max().unwrap_or(0);
            let first_term = terms.len();
            for k in 0..most {
                let (mut weights, mut places) = ([0.0; GROUP], [None; GROUP]);
                for (lane, i) in group.clone().enumerate() {
                    let (range, of_pixel) = readers.of(i);
                    if let Some(weight) = of_pixel.get(k) {
                        (weights[lane], places[lane]) = (*weight, Some(range.start + k));
                    }
                }
                let first_pick = picks.len();
                while let Some(from) = places.iter().flatten().copied().min() {
                    let mut index = [KEEP; GROUP];
                    for (index, place) in index.iter_mut().zip(&mut places) {
                        if let Some(lane) = place.map(|place| place - from).filter(|lane| *lane < GROUP) {
                            (*index, *place) = (lane as i32, None);
                        }
                    }
                    picks.push(Pick { from, index });
                }
                terms.push(Term { weights, picks: first_pick..picks.len() });
            }
            groups.push(first_term..terms.len());
        }
        Columns::Picked { groups, terms, picks }
    }

    /// Writes the pixels of a row. `sums` has [`GROUP`] elements more than there are columns.
    #[inline(always)]
    fn write<V: Vector<GROUP>>(&self, proof: V::Proof, sums: &[f32], row: &mut [f32]) {
        match self {
            Columns::Picked { groups, terms, picks } => {
                for (group, to) in groups.iter().zip(row.chunks_mut(GROUP)) {
                    let mut total = V::splat(proof, 0.0);
                    for term in &terms[group.clone()] {
                        let mut read = V::splat(proof, 0.0);
                        for pick in &picks[term.picks.clone()] {
                            let sums = sums[pick.from..].first_chunk().expect("a vector of sums");
                            read = read.pick(V::load(proof, sums), &pick.index);
                        }
                        total = total.add(read.mul(V::load(proof, &term.weights)));
                    }
                    if let Some(to) = to.first_chunk_mut() {
                        total.store(to);
                    } else {
                        let mut stored = [0.0; GROUP];
                        total.store(&mut stored);
                        to.copy_from_slice(&stored[..to.len()]);
                    }
                }
            }
            Columns::Single(readers) => {
                for (i, to) in row.iter_mut().enumerate() {
                    let (range, weights) = readers.of(i);
                    *to = 0.0;
                    for (g, weight) in sums[range].iter().zip(weights) {
                        *to += g * weight;
                    }
                }
            }
        }
    }
}

/// What reads the pixels of a plane.
pub(super) struct PlaneReaders {
    rows: [Readers; 2],
    columns: Columns,
    /// The sizes H and W of the result.
    size: [usize; 2],
}

impl PlaneReaders {
    /// Those of planes of the sizes `spatial` from what each index of the result reads along D, H and W: source indices with weights.
    pub fn new<T, I: IntoIterator<Item = (usize, f32)>>(
        spatial: [usize; 3],
        results: [&[T]; 3],
        taps: impl Fn(usize, &T) -> I,
    ) -> PlaneReaders {
        let of = |axis: usize| Readers::new(spatial[axis], results[axis].iter().map(|of| taps(axis, of)));
        let size = [results[1].len(), results[2].len()];
        PlaneReaders { rows: [of(0), of(1)], columns: Columns::new(of(2)), size }
    }

    /// Writes each pixel of `plane`: the sum of `diff` over its readers.
    pub fn gather(&self, plane: &mut Plane<'_>, diff: &[f32]) {
        Width::<GROUP>::dispatch(Gather { readers: self, size: plane.size, dst: plane.dst, diff });
    }
}

struct Gather<'a> {
    readers: &'a PlaneReaders,
    size: [usize; 2],
    dst: &'a mut [f32],
    diff: &'a [f32],
}

impl VectorLoop<GROUP> for Gather<'_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let Gather { readers, size: [h_size, w_size], dst, diff } = self;
        let ([d_axis, h_axis], [height, width]) = (&readers.rows, readers.size);
        let mut sums = vec![0f32; width + GROUP];
        for row in 0..dst.len() / w_size {
            let (d, h) = (row / h_size, row % h_size);
            let start = row * w_size;
            if h > 0 && h_axis.are_same(h - 1, h) {
                dst.copy_within(start - w_size..start, start);
                continue;
            }
            let (of_d, of_h) = (d_axis.of(d), h_axis.of(h));
            sums.fill(0.0);
            for (d, d_weight) in of_d.0.zip(of_d.1) {
                for (h, h_weight) in of_h.0.clone().zip(of_h.1) {
                    let weight = d_weight * h_weight;
                    let read = &diff[(d * height + h) * width..][..width];
                    sums.iter_mut().zip(read).for_each(|(sum, g)| *sum += weight * g);
                }
            }
            readers.columns.write::<V>(proof, &sums, &mut dst[start..start + w_size]);
        }
    }
}
