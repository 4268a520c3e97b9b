//! Views of views of a strided tensor, reordered to a random layout and back, and into memory formats. The oracle has no
//! strides: it moves the elements themselves.
#![no_main]

use blocktensor::{BlockedTensor, DType, Layout, MemoryFormat, StridedTensor, ops};
use blocktensor_fuzz::numbers::{Number, elements, for_each_index};
use blocktensor_fuzz::{Input, blocked_layout, dims_of, setup, storage, with_type};
use libfuzzer_sys::fuzz_target;

/// The most elements of a view.
const MOST: usize = 4096;

fuzz_target!(|data: &[u8]| {
    setup();
    let mut input = Input::new(data);
    storage(input.flag());
    with_type!(input.pick(&DType::ALL), E => run::<E>(&mut input));
});

/// The expected tensor: sizes, and elements in logical order.
#[derive(Clone)]
struct Model<E> {
    dims: Vec<usize>,
    data: Vec<E>,
}

impl<E: Number> Model<E> {
    /// A tensor of sizes `dims` whose element at each index is this one's at `from(index)`.
    fn moved(&self, dims: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model<E> {
        let mut data = Vec::new();
        for_each_index(&dims, |index| {
            let at = from(index).iter().zip(&self.dims).fold(0, |at, (i, d)| at * d + i);
            data.push(self.data[at]);
        });
        Model { dims, data }
    }

    /// `length` indices of an axis, `step` apart.
    fn taken(&self, axis: usize, start: usize, length: usize, step: usize) -> Model<E> {
        let mut dims = self.dims.clone();
        dims[axis] = length;
        self.moved(dims, |index| {
            let mut index = index.to_vec();
            index[axis] = start + index[axis] * step;
            index
        })
    }

    fn under(&self, dims: Vec<usize>) -> Model<E> {
        Model { dims, data: self.data.clone() }
    }

    fn check(&self, t: &StridedTensor, what: &str) {
        assert_eq!(t.dims(), self.dims, "{what}");
        assert_eq!(t.dtype(), E::DTYPE, "{what}");
        assert!(elements::<E>(t) == self.data, "{what}: {t:?} holds other elements");
        assert!(t.to_vec::<E>().unwrap() == self.data, "{what}: to_vec of {t:?}");
    }
}

fn run<E: Number>(input: &mut Input) {
    let rank = input.between(0, 6);
    let dims = dims_of(input, rank, MOST);
    let whole: Vec<E> = (0..dims.iter().product()).map(E::number).collect();
    let mut t = StridedTensor::from_slice(&whole, &dims).unwrap();
    let mut model = Model { dims, data: whole.clone() };
    // The content of the storage, for `as_strided`; unknown after a copy.
    let mut stored = Some(whole);
    for _ in 0..input.below(10) {
        let Some((view, expected)) = step(input, &t, &model, &mut stored) else { continue };
        expected.check(&view, "a view");
        (t, model) = (view, expected);
    }
    formats(input, &t, &model);
    if let Some(layout) = blocked_layout(input, t.rank()) {
        blocked(input, &t, &model, &layout);
    }
}

/// Makes one more view. A call that the rules forbid must be an error; a call that they allow must work.
fn step<E: Number>(
    input: &mut Input,
    t: &StridedTensor,
    m: &Model<E>,
    stored: &mut Option<Vec<E>>,
) -> Option<(StridedTensor, Model<E>)> {
    let rank = t.rank();
    // Sometimes one past the last.
    let axis = input.below(rank + 1);
    let inside = axis < rank;
    let size = if inside { m.dims[axis] } else { 0 };
    let agreed = |made: blocktensor::Result<StridedTensor>, expected: Option<Model<E>>, what: &str| match (
        made, expected,
    ) {
        (Ok(view), Some(m)) => Some((view, m)),
        (Err(e), None) => {
            assert!(!e.to_string().is_empty());
            None
        }
        (Ok(view), None) => panic!("{what} of {t:?} must be an error, and is {view:?}"),
        (Err(e), Some(_)) => panic!("{what} of {t:?}: {e}"),
    };
    match input.below(16) {
        0 => {
            let mut axes = input.shuffled(rank);
            if input.one_in(8) && rank > 0 {
                axes[0] = input.below(rank + 1);
            }
            let right = (0..rank).all(|a| axes.contains(&a));
            let expected = right.then(|| {
                m.moved(axes.iter().map(|&a| m.dims[a]).collect(), |index| {
                    let mut from = vec![0; rank];
                    axes.iter().zip(index).for_each(|(&a, &i)| from[a] = i);
                    from
                })
            });
            agreed(t.permute(&axes), expected, "permute")
        }
        1 => {
            let other = input.below(rank + 1);
            if rank == 0 {
                return agreed(t.transpose(axis, other), Some(m.clone()), "transpose");
            }
            let expected = (inside && other < rank).then(|| {
                let mut dims = m.dims.clone();
                dims.swap(axis, other);
                m.moved(dims, |index| {
                    let mut from = index.to_vec();
                    from.swap(axis, other);
                    from
                })
            });
            agreed(t.transpose(axis, other), expected, "transpose")
        }
        2 => {
            let (start, length) = (input.below(size + 2), input.below(size + 2));
            let (start, length) = if input.one_in(16) { (usize::MAX, start) } else { (start, length) };
            let right = inside && start.checked_add(length).is_some_and(|end| end <= size);
            agreed(t.narrow(axis, start, length), right.then(|| m.taken(axis, start, length, 1)), "narrow")
        }
        3 => {
            let (start, end, step) = (input.below(size + 2), input.below(size + 3), input.below(5));
            let (end, step) = if input.one_in(16) { (usize::MAX, usize::MAX >> step) } else { (end, step) };
            let expected = (inside && step > 0).then(|| {
                let picked: Vec<usize> = (start.min(size)..end.min(size)).step_by(step).collect();
                m.taken(axis, start.min(size), picked.len(), step)
            });
            agreed(t.slice(axis, start, end, step), expected, "slice")
        }
        4 => {
            let index = input.below(size + 1);
            let expected = (inside && index < size).then(|| {
                let one = m.taken(axis, index, 1, 1);
                one.under(m.dims.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, &n)| n).collect())
            });
            agreed(t.select(axis, index), expected, "select")
        }
        5 => {
            let new = input.below(3);
            let to: Vec<usize> = (0..new + rank)
                .map(|d| match d.checked_sub(new).map(|d| m.dims[d]) {
                    Some(n) if n != 1 && !input.one_in(16) => n,
                    _ => input.below(5),
                })
                .collect();
            let numel: usize = to.iter().product();
            let right = m.dims.iter().zip(&to[new..]).all(|(&n, &to)| n == to || n == 1)
                && to.len() <= blocktensor::MAX_RANK;
            if numel > MOST {
                return None;
            }
            let expected = right.then(|| {
                m.moved(to.clone(), |index| {
                    index[new..].iter().zip(&m.dims).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
                })
            });
            agreed(t.expand(&to), expected, "expand")
        }
        6 => {
            let mut dims = m.dims.clone();
            dims.insert(axis, 1);
            let right = dims.len() <= blocktensor::MAX_RANK;
            agreed(t.unsqueeze(axis), right.then(|| m.under(dims)), "unsqueeze")
        }
        7 => Some((t.squeeze(), m.under(m.dims.iter().copied().filter(|&d| d != 1).collect()))),
        8 => {
            let mut dims = m.dims.clone();
            if size == 1 {
                dims.remove(axis);
            }
            agreed(t.squeeze_axis(axis), (inside || rank == 0).then(|| m.under(dims)), "squeeze_axis")
        }
        choice @ (9 | 10) => {
            let n = input.below(6);
            let (made, piece) = match choice {
                9 => (t.chunk(n, axis), if n == 0 { 0 } else { size.div_ceil(n) }),
                _ => (t.split(n, axis), n),
            };
            let right = inside && (n > 0 || (choice == 10 && size == 0));
            let Ok(pieces) = made else {
                assert!(!right, "pieces of {n} along {axis} of {t:?}");
                return None;
            };
            assert!(right, "pieces of {n} along {axis} of {t:?}");
            let lengths: Vec<usize> = pieces.iter().map(|p| p.dims()[axis]).collect();
            assert_eq!(lengths.iter().sum::<usize>(), size);
            assert!(size == 0 || lengths.iter().rev().skip(1).all(|&l| l == piece), "{lengths:?}");
            let which = input.below(pieces.len());
            let start = lengths[..which].iter().sum();
            Some((pieces[which].clone(), m.taken(axis, start, lengths[which], 1)))
        }
        11 => {
            let rank = input.below(5);
            let dims: Vec<usize> = (0..rank).map(|_| input.below(9)).collect();
            let strides: Vec<usize> = (0..rank).map(|_| input.below(40)).collect();
            let offset = input.below(64);
            if input.one_in(8) && rank > 0 {
                let mut wild = strides.clone();
                wild[input.below(rank)] = input.hostile() as usize;
                // Only checks that the call returns: the answer depends on the strides of sizes of 1.
                let _ = t.as_strided(&dims, &wild, input.hostile() as usize);
                return None;
            }
            let data = stored.as_ref()?;
            let place =
                |index: &[usize]| offset + index.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>();
            let mut places = Vec::new();
            for_each_index(&dims, |index| places.push(place(index)));
            let right = places.len() <= MOST && places.iter().all(|&at| at < data.len());
            if places.len() > MOST {
                return None;
            }
            let expected = right
                .then(|| Model { dims: dims.clone(), data: places.iter().map(|&at| data[at]).collect() });
            agreed(t.as_strided(&dims, &strides, offset), expected, "as_strided")
        }
        12 => {
            let to = regrouped(input, m.dims.iter().product());
            let made = t.reshape(&to).unwrap();
            m.under(to.clone()).check(&made, "reshape");
            if !made.shares_storage(t) {
                *stored = None;
            }
            if let Ok(view) = t.view(&to) {
                assert!(view.shares_storage(t));
                m.under(to.clone()).check(&view, "view");
            }
            Some((made, m.under(to)))
        }
        13 => {
            let end = input.below(rank.max(1));
            let start = input.below(end + 1);
            let mut dims = m.dims.clone();
            match rank {
                0 => dims.push(1),
                _ => drop(dims.splice(start..=end, [m.dims[start..=end].iter().product()])),
            }
            let made = t.flatten(start, end).unwrap();
            if !made.shares_storage(t) {
                *stored = None;
            }
            Some((made, m.under(dims)))
        }
        14 => {
            let axes: Vec<usize> = (0..rank).filter(|_| input.flag()).collect();
            *stored = None;
            let expected = m.moved(m.dims.clone(), |index| {
                let turned = |(d, &i): (usize, &usize)| if axes.contains(&d) { m.dims[d] - 1 - i } else { i };
                index.iter().enumerate().map(turned).collect()
            });
            Some((ops::flip(t, &axes).unwrap(), expected))
        }
        _ => {
            *stored = None;
            let format = input.pick(&formats_of(rank));
            Some((t.contiguous(format).unwrap(), m.clone()))
        }
    }
}

/// Random sizes with this product.
fn regrouped(input: &mut Input, numel: usize) -> Vec<usize> {
    let (mut dims, mut left) = (Vec::new(), numel);
    while left > 1 && dims.len() < 5 {
        let divisors: Vec<usize> = (1..=left.min(64)).filter(|d| left % d == 0).collect();
        let d = input.pick(&divisors);
        dims.push(d);
        left /= d;
    }
    dims.insert(input.below(dims.len() + 1), left);
    dims
}

fn formats_of(rank: usize) -> Vec<MemoryFormat> {
    [MemoryFormat::Contiguous].into_iter().chain(MemoryFormat::channels_last_of(rank)).collect()
}

/// The strides of a dense tensor with dimensions in this order, outermost first; meaningless with sizes of 0.
fn dense(dims: &[usize], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; dims.len()];
    let mut step = 1;
    for &d in order.iter().rev() {
        strides[d] = step;
        step *= dims[d];
    }
    strides
}

/// Converts to a memory format in every way.
fn formats<E: Number>(input: &mut Input, t: &StridedTensor, m: &Model<E>) {
    let rank = t.rank();
    for format in formats_of(rank) {
        let order: Vec<usize> = match format {
            MemoryFormat::Contiguous => (0..rank).collect(),
            _ => [0].into_iter().chain(2..rank).chain([1]).collect(),
        };
        let made = t.contiguous(format).unwrap();
        m.check(&made, format.name());
        assert!(made.is_contiguous(format));
        if m.data.is_empty() {
            continue;
        }
        let wanted = dense(&m.dims, &order);
        let lies = |s: &[usize]| (0..rank).all(|d| m.dims[d] == 1 || s[d] == wanted[d]);
        assert!(lies(made.strides()), "{format}: {made:?}, not {wanted:?}");
        assert_eq!(made.shares_storage(t), lies(t.strides()), "{format} of {t:?}");
        m.check(&t.to_memory_format(format).unwrap(), "to_memory_format");
        let copy = t.copy(format).unwrap();
        assert!(!copy.shares_storage(t) && copy.strides() == wanted, "{copy:?}, not {wanted:?}");
        m.check(&copy, "copy");
        if format == MemoryFormat::Contiguous {
            assert!(made.as_slice::<E>().unwrap() == m.data);
        }
    }
    m.check(&t.copy(MemoryFormat::Preserve).unwrap(), "copy in the format it has");
    if input.flag() {
        Model { dims: m.dims.clone(), data: vec![E::number(0); m.data.len()] }
            .check(&t.full_like(E::number(0), MemoryFormat::Preserve).unwrap(), "full_like");
    }
}

/// Reorders to a blocked layout, to another, and back in every way.
fn blocked<E: Number>(input: &mut Input, t: &StridedTensor, m: &Model<E>, layout: &Layout) {
    // Layouts with large blocks would make a run too slow.
    let small = |l: &Layout| l.size_elements(&m.dims).is_ok_and(|n| n <= 1 << 17);
    if !small(layout) {
        return;
    }
    let b = t.to_blocked(layout).unwrap();
    assert_eq!((b.dims(), b.dtype(), b.layout()), (&m.dims[..], E::DTYPE, layout));
    assert_eq!(b.bytes(), layout.size_bytes(&m.dims, E::DTYPE).unwrap());
    b.check_tail().unwrap();
    lanes(&b, m, layout);
    for format in formats_of(t.rank()) {
        let back = b.to_strided(format).unwrap();
        assert!(back.is_contiguous(format));
        m.check(&back, "to_strided");
    }
    if let Some(other) = blocked_layout(input, t.rank()).filter(small) {
        let c = b.reorder_to(&other).unwrap();
        c.check_tail().unwrap();
        lanes(&c, m, &other);
        m.check(&c.to_strided(MemoryFormat::Contiguous).unwrap(), "reorder_to, to_strided");
        let mut into = BlockedTensor::empty(&m.dims, E::DTYPE, &other).unwrap();
        t.to_blocked_into(&mut into).unwrap();
        into.check_tail().unwrap();
        m.check(&into.to_strided(MemoryFormat::Contiguous).unwrap(), "to_blocked_into");
    }
    into_view(input, &b, m);
}

/// Checks the bytes of activations in blocks of channels, if they can be exported: every element at its place, and zeros after
/// the last channel.
fn lanes<E: Number>(b: &BlockedTensor, m: &Model<E>, layout: &Layout) {
    let Ok(managed) = b.as_blocked_dlpack() else { return };
    // SAFETY: an export of our own, consumed once.
    let flat = unsafe { StridedTensor::from_dlpack(managed) }.unwrap();
    let block = layout.block_of(1);
    let mut dims = m.dims.clone();
    dims[1] = dims[1].div_ceil(block);
    dims.push(block);
    assert_eq!(flat.dims(), dims);
    for_each_index(&dims, |index| {
        let channel = index[1] * block + index[index.len() - 1];
        let expected = (channel < m.dims[1]).then(|| {
            let mut at = index[..index.len() - 1].to_vec();
            at[1] = channel;
            m.data[at.iter().zip(&m.dims).fold(0, |at, (i, d)| at * d + i)]
        });
        let got: E = flat.get(index).unwrap();
        match expected {
            Some(v) => assert!(got == v, "lane {index:?} of {layout}"),
            None => assert_eq!(got.bits(), 0, "the tail at {index:?} of {layout}"),
        }
    });
}

/// Reorders into a view with gaps and any order of axes. The elements around the view must not change.
fn into_view<E: Number>(input: &mut Input, b: &BlockedTensor, m: &Model<E>) {
    let order = input.shuffled(m.dims.len());
    let gap = input.below(3);
    let padded: Vec<usize> = order.iter().map(|&d| m.dims[d] + gap).collect();
    let length: usize = padded.iter().product();
    if length > 1 << 15 {
        return;
    }
    let strides: Vec<usize> = {
        let steps = dense(&padded, &(0..padded.len()).collect::<Vec<_>>());
        let mut strides = vec![0; order.len()];
        order.iter().zip(steps).for_each(|(&d, s)| strides[d] = s);
        strides
    };
    // Without elements, or a dimension of 0, there may be no storage at all.
    let base = StridedTensor::from_slice(&vec![E::number(77); length], &[length]).unwrap();
    let Ok(mut dst) = base.as_strided(&m.dims, &strides, 0) else {
        assert!(length == 0);
        return;
    };
    drop(base);
    b.to_strided_into(&mut dst).unwrap();
    m.check(&dst, "to_strided_into");
    let all = dst.as_strided(&[length], &[1], 0).unwrap();
    let mut expected = vec![E::number(77); length];
    let mut numbers = m.data.iter();
    for_each_index(&m.dims, |index| {
        expected[index.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>()] = *numbers.next().unwrap();
    });
    Model { dims: vec![length], data: expected }.check(&all, "around a result");
    // While another tensor shares the storage, the call must be refused.
    assert!(b.to_strided_into(&mut dst).is_err());
}
