//! Random chains of views and conversions against a model that stores every element under its logical index.

use blocktensor::{Element, MemoryFormat, StridedTensor};

use crate::random::Random;

/// Fewer under Miri, which takes a thousand times as long.
const CHAINS: u64 = if cfg!(miri) { 120 } else { 12_000 };

/// Elements in logical order, without strides or shared storage.
struct Model<E> {
    dims: Vec<usize>,
    elements: Vec<E>,
}

impl<E: Element> Model<E> {
    fn at(&self, index: &[usize]) -> E {
        self.elements[index.iter().zip(&self.dims).fold(0, |at, (i, d)| at * d + i)]
    }

    /// A model whose element at each index is this one's at `from(index)`.
    fn mapped(&self, dims: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model<E> {
        let mut elements = Vec::new();
        each_index(&dims, |index| elements.push(self.at(&from(index))));
        Model { dims, elements }
    }

    fn renamed(self, dims: Vec<usize>) -> Model<E> {
        assert_eq!(dims.iter().product::<usize>(), self.elements.len());
        Model { dims, ..self }
    }
}

fn each_index(dims: &[usize], mut f: impl FnMut(&[usize])) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0; dims.len()];
    loop {
        f(&index);
        let mut d = dims.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

fn with(v: &[usize], at: usize, value: usize) -> Vec<usize> {
    let mut v = v.to_vec();
    v[at] = value;
    v
}

fn without(v: &[usize], at: usize) -> Vec<usize> {
    let mut v = v.to_vec();
    v.remove(at);
    v
}

fn inserted(v: &[usize], at: usize, value: usize) -> Vec<usize> {
    let mut v = v.to_vec();
    v.insert(at, value);
    v
}

/// Sizes with the same product.
fn regrouped(r: &mut Random, dims: &[usize]) -> Vec<usize> {
    let mut dims = dims.to_vec();
    for _ in 0..2 {
        let n = dims.len();
        match r.below(3) {
            0 if n < 6 => dims.insert(r.below(n + 1), 1),
            1 if n > 1 => {
                let at = r.below(n - 1);
                dims[at] *= dims.remove(at + 1);
            }
            _ if n > 0 && n < 6 => {
                let at = r.below(n);
                if let Some(f) = (2..=dims[at]).find(|f| dims[at].is_multiple_of(*f)) {
                    dims[at] /= f;
                    dims.insert(at + r.below(2), f);
                }
            }
            _ => {}
        }
    }
    dims
}

fn step<E: Element>(r: &mut Random, x: StridedTensor, m: Model<E>) -> (StridedTensor, Model<E>) {
    let dims = m.dims.clone();
    let rank = dims.len();
    let axis = if rank == 0 { 0 } else { r.below(rank) };
    let size = dims.get(axis).copied().unwrap_or(1);
    match r.below(14) {
        0 => {
            let axes = r.shuffled(rank);
            let to = axes.iter().map(|&a| dims[a]).collect();
            let m = m.mapped(to, |i| {
                let mut from = vec![0; rank];
                axes.iter().zip(i).for_each(|(&a, &i)| from[a] = i);
                from
            });
            (x.permute(&axes).unwrap(), m)
        }
        1 if rank > 1 => {
            let other = r.below(rank);
            let swap = |v: &[usize]| {
                let mut v = v.to_vec();
                v.swap(axis, other);
                v
            };
            (x.transpose(axis, other).unwrap(), m.mapped(swap(&dims), swap))
        }
        2 if rank > 0 => {
            let start = r.below(size + 1);
            let length = if size == start { 0 } else { 1 + r.below(size - start) };
            let m = m.mapped(with(&dims, axis, length), |i| with(i, axis, i[axis] + start));
            (x.narrow(axis, start, length).unwrap(), m)
        }
        3 if rank > 0 => {
            let (start, end, by) = (r.below(size + 1), r.below(size + 3), 1 + r.below(3));
            let length = end.min(size).saturating_sub(start).div_ceil(by);
            let m = m.mapped(with(&dims, axis, length), |i| with(i, axis, start + by * i[axis]));
            (x.slice(axis, start, end, by).unwrap(), m)
        }
        4 if size > 0 && rank > 1 => {
            let at = r.below(size);
            let m = m.mapped(without(&dims, axis), |i| inserted(i, axis, at));
            (x.select(axis, at).unwrap(), m)
        }
        5 if rank < 5 && m.elements.len() < 200 => {
            let mut to = dims.clone();
            to.iter_mut().filter(|d| **d == 1).for_each(|d| *d = 1 + r.below(3));
            let new = r.below(2);
            (0..new).for_each(|_| to.insert(0, 1 + r.below(2)));
            let m = m.mapped(to.clone(), |i| {
                i[new..].iter().zip(&dims).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect()
            });
            (x.expand(&to).unwrap(), m)
        }
        6 if rank < 6 => {
            let at = r.below(rank + 1);
            (x.unsqueeze(at).unwrap(), m.renamed(inserted(&dims, at, 1)))
        }
        7 => {
            let to = dims.iter().copied().filter(|&d| d != 1).collect();
            (x.squeeze(), m.renamed(to))
        }
        8 => {
            let to = if size == 1 && rank > 0 { without(&dims, axis) } else { dims };
            (x.squeeze_axis(axis).unwrap(), m.renamed(to))
        }
        9 => {
            let to = regrouped(r, &dims);
            // `view` works where strides can express it, else it is an error; `reshape` always works.
            let y = x.reshape(&to).unwrap();
            match x.view(&to) {
                Ok(v) => assert!(v.shares_storage(&x) && y.shares_storage(&x) && v.strides() == y.strides()),
                Err(e) => {
                    assert!(matches!(e, blocktensor::Error::UnsupportedStride(_)), "{e}");
                    assert!(!y.shares_storage(&x));
                }
            }
            (y, m.renamed(to))
        }
        10 if rank > 0 => {
            let end = axis + r.below(rank - axis);
            let mut to = dims[..axis].to_vec();
            to.push(dims[axis..=end].iter().product());
            to.extend(&dims[end + 1..]);
            (x.flatten(axis, end).unwrap(), m.renamed(to))
        }
        11 if rank > 0 => {
            let (pieces, by) = match r.below(2) {
                0 => {
                    let n = 1 + r.below(4);
                    (x.chunk(n, axis).unwrap(), size.div_ceil(n))
                }
                _ => {
                    let by = 1 + r.below(4);
                    (x.split(by, axis).unwrap(), by)
                }
            };
            assert_eq!(pieces.iter().map(|p| p.dims()[axis]).sum::<usize>(), size);
            let which = r.below(pieces.len());
            let length = by.min(size - (which * by).min(size));
            let m = m.mapped(with(&dims, axis, length), |i| with(i, axis, i[axis] + which * by));
            (pieces[which].clone(), m)
        }
        12 => {
            let mut formats = vec![MemoryFormat::Contiguous, MemoryFormat::Preserve];
            formats.extend(MemoryFormat::channels_last_of(rank));
            let f = r.pick(&formats);
            let y = match r.below(3) {
                0 if f != MemoryFormat::Preserve => {
                    let y = x.contiguous(f).unwrap();
                    assert!(y.is_contiguous(f));
                    y
                }
                1 => x.to_memory_format(f).unwrap(),
                _ => x.copy(f).unwrap(),
            };
            assert!(y.shares_storage(&x) || y.is_non_overlapping_and_dense());
            (y, m)
        }
        _ => {
            let y = x.as_strided(x.dims(), x.strides(), x.offset());
            // An offset past the storage is left only where there are no elements.
            (y.unwrap(), m)
        }
    }
}

fn chain<E: Element>(seed: u64, element: fn(u8) -> E) {
    let r = &mut Random::new(seed);
    let rank = r.below(6);
    let dims: Vec<usize> = (0..rank).map(|_| r.pick(&[1, 1, 2, 3, 4, 5, 0, 2, 3])).collect();
    let elements: Vec<E> = (0..dims.iter().product()).map(|i: usize| element((i % 101) as u8)).collect();
    let mut x = StridedTensor::from_slice(&elements, &dims).unwrap();
    let mut m = Model { dims, elements };
    for _ in 0..1 + r.below(8) {
        let before = format!("{x:?}");
        (x, m) = step(r, x, m);
        assert_eq!(x.dims(), m.dims, "seed {seed}, after {before}");
        assert_eq!(x.to_vec::<E>().unwrap(), m.elements, "seed {seed}, after {before}: {x:?}");
        each_index(&m.dims, |i| assert_eq!(x.get::<E>(i), Some(m.at(i))));
    }
}

#[test]
fn random_chains_of_views_agree_with_a_model_that_stores_every_element() {
    use half::{bf16, f16};
    for seed in 0..CHAINS {
        match seed % 6 {
            0 => chain::<f32>(seed, f32::from),
            1 => chain::<bf16>(seed, |v| bf16::from_f32(v.into())),
            2 => chain::<f16>(seed, |v| f16::from_f32(v.into())),
            3 => chain::<u8>(seed, |v| v),
            4 => chain::<i8>(seed, |v| v as i8),
            _ => chain::<i32>(seed, i32::from),
        }
    }
}
