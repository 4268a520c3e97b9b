//! Every path against `Layout::offset`, the definition, element by element.

use super::*;

/// A small generator of repeatable numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        // Never zero, so that a zero where data belongs shows.
        (0..n).map(|_| self.next() as u8 | 1).collect()
    }
}

/// Storage that begins a cache line, as tensors' storage does.
struct Aligned(Vec<Line>);

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Aligned {
    fn of(bytes: &[u8]) -> Aligned {
        let mut lines = vec![Line([0; 64]); bytes.len().div_ceil(64)];
        bytemuck::cast_slice_mut(&mut lines)[..bytes.len()].copy_from_slice(bytes);
        Aligned(lines)
    }

    fn bytes(&self, n: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..n]
    }

    fn bytes_mut(&mut self, n: usize) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.0)[..n]
    }
}

fn for_each_index(dims: &[usize], mut f: impl FnMut(&[usize])) {
    let count: usize = dims.iter().product();
    let mut index = vec![0; dims.len()];
    for _ in 0..count {
        f(&index);
        for d in (0..dims.len()).rev() {
            index[d] += 1;
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

fn strided_offset(strides: &[usize], index: &[usize]) -> usize {
    strides.iter().zip(index).map(|(s, i)| s * i).sum()
}

/// `strided_to_blocked` by the definition.
fn slow_to_blocked(elem: usize, src: &[u8], dims: &[usize], strides: &[usize], layout: &Layout) -> Vec<u8> {
    let mut dst = vec![0; layout.size_elements(dims).unwrap() * elem];
    for_each_index(dims, |index| {
        let from = strided_offset(strides, index) * elem;
        let to = layout.offset(dims, index).unwrap() * elem;
        dst[to..to + elem].copy_from_slice(&src[from..from + elem]);
    });
    dst
}

const LAYOUTS: &[&str] = &[
    "nCw4c",
    "nCw8c",
    "nCw16c",
    "nCw32c",
    "nCw64c",
    "nChw4c",
    "nChw8c",
    "nChw16c",
    "nChw32c",
    "nChw64c",
    "nCdhw4c",
    "nCdhw8c",
    "nCdhw16c",
    "nCdhw32c",
    "nCdhw64c",
    "CHWN4",
    "OIw16i16o",
    "OIhw16i16o",
    "OIhw16o16i",
    "OIdhw16i16o",
    "OIw8i8o",
    "OIhw8i8o",
    "OIhw8o8i",
    "OIdhw8i8o",
    "gOIw16i16o",
    "gOIhw16i16o",
    "gOIdhw16i16o",
    "gOIhw8i8o",
    "Goiw16g",
    "Goihw16g",
    "Goihw8g",
    "Goidhw16g",
    "Owi16o",
    "Ohwi16o",
    "Ohwi8o",
    "Odhwi16o",
    "Ohwi64o",
    "OIhw8i16o2i",
    "OIhw4i16o4i",
    "OIhw8o16i2o",
    "OhwI16o4i",
    "IOhw16o16i",
    "nchw",
    "nhwc",
    "ndhwc",
    "hwio",
    "ohwi",
    "chwn",
    "OI16i16o",
    "NChw16n16c",
    "Abcdef8a",
    "aBcdefg4b",
    "ABCd3a5b2c7a",
    "Ba6b",
    "A16a",
];

fn random_dims(r: &mut Random, rank: usize) -> Vec<usize> {
    let mut dims: Vec<usize> = (0..rank).map(|_| r.pick(&[1, 1, 2, 3, 4, 5, 7])).collect();
    // Two dimensions that may be blocked get the sizes around blocks; one may be empty.
    for _ in 0..r.below(3) {
        let d = r.below(rank.min(3));
        dims[d] = r.pick(&[1, 3, 4, 8, 15, 16, 17, 20, 31, 32, 33, 64, 65]);
    }
    if r.below(25) == 0 {
        dims[r.below(rank)] = 0;
    }
    if rank > 1 && r.below(4) == 0 {
        dims[rank - 1] = r.pick(&[16, 17, 40, 49]);
    }
    // Miri takes a thousand times as long.
    while dims.iter().product::<usize>() > if cfg!(miri) { 100 } else { 600 } {
        let d = r.below(rank);
        dims[d] = dims[d].div_ceil(2);
    }
    dims
}

/// Strides of a view: permuted, perhaps with holes, perhaps (for sources) expanded. Returns the elements they span.
fn random_strides(r: &mut Random, dims: &[usize], expanded: bool) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    match r.below(4) {
        0 => {}
        1 => order[1..].rotate_left(1.min(dims.len() - 1)),
        _ => (1..order.len()).for_each(|i| order.swap(i, r.below(i + 1))),
    }
    let mut strides = vec![0; dims.len()];
    let mut step = if r.below(5) == 0 { 2 } else { 1 };
    let mut last = 0;
    for &d in order.iter().rev() {
        if expanded && r.below(12) == 0 {
            continue;
        }
        strides[d] = step;
        last += step * dims[d].saturating_sub(1);
        step = step * dims[d].max(1) + if r.below(8) == 0 { r.below(4) } else { 0 };
    }
    (strides, last + 1)
}

fn one_case(r: &mut Random, name: &str) {
    let layout: Layout = name.parse().unwrap();
    let elem = r.pick(&[1, 2, 4, 4]);
    let dims = random_dims(r, layout.rank());
    let (strides, span) = random_strides(r, &dims, true);
    let case = format!("{name} {elem} bytes, {dims:?} strides {strides:?}");
    let src = Aligned::of(&r.bytes(span * elem));
    let src = src.bytes(span * elem);
    let want = slow_to_blocked(elem, src, &dims, &strides, &layout);

    let mut blocked = Aligned::of(&vec![0xAA; want.len()]);
    strided_to_blocked(elem, src, &dims, &strides, &layout, blocked.bytes_mut(want.len()));
    assert!(blocked.bytes(want.len()) == want, "to blocked: {case}");
    assert_eq!(first_dirty_lane(elem, &layout, &dims, blocked.bytes(want.len())), None, "{case}");

    // Into a view with holes: what lies between its elements stays.
    let (to_strides, to_span) = random_strides(r, &dims, false);
    let before = r.bytes(to_span * elem);
    let mut after = before.clone();
    for_each_index(&dims, |index| {
        let (from, to) = (strided_offset(&strides, index) * elem, strided_offset(&to_strides, index) * elem);
        after[to..to + elem].copy_from_slice(&src[from..from + elem]);
    });
    let mut strided = Aligned::of(&before);
    blocked_to_strided(
        elem,
        blocked.bytes(want.len()),
        &layout,
        &dims,
        &to_strides,
        strided.bytes_mut(before.len()),
    );
    assert!(strided.bytes(after.len()) == after, "to strided: {case} to strides {to_strides:?}");

    let same_rank: Vec<Layout> =
        LAYOUTS.iter().map(|n| n.parse().unwrap()).filter(|l: &Layout| l.rank() == layout.rank()).collect();
    let other = r.pick(&same_rank);
    let want_other = slow_to_blocked(elem, src, &dims, &strides, &other);
    let mut reordered = Aligned::of(&vec![0x55; want_other.len()]);
    let len = want_other.len();
    blocked_to_blocked(elem, blocked.bytes(want.len()), &layout, &dims, &other, reordered.bytes_mut(len));
    assert!(reordered.bytes(len) == want_other, "reorder {case} to {other}");
}

#[test]
fn every_path_agrees_with_the_definition() {
    let mut r = Random(1);
    for case in 0..if cfg!(miri) { LAYOUTS.len() } else { 10_000 } {
        one_case(&mut r, LAYOUTS[case % LAYOUTS.len()]);
    }
}

#[test]
fn offsets_are_a_bijection_onto_the_padded_space_less_the_padding() {
    let mut r = Random(2);
    for case in 0..if cfg!(miri) { LAYOUTS.len() } else { 2_000 } {
        let layout: Layout = LAYOUTS[case % LAYOUTS.len()].parse().unwrap();
        let dims = random_dims(&mut r, layout.rank());
        let elements = layout.size_elements(&dims).unwrap();
        let mut used = vec![false; elements];
        for_each_index(&dims, |index| {
            let at = layout.offset(&dims, index).unwrap();
            assert!(!std::mem::replace(&mut used[at], true), "{layout} {dims:?}: {index:?} lies on another");
        });
        // What no element uses is the padding, and nothing else is.
        let mut ones = vec![1u8; elements];
        zero_padding(1, &layout, &dims, &mut ones);
        assert!(ones.iter().zip(&used).all(|(&v, &u)| (v == 1) == u), "{layout} {dims:?}");
        for at in (0..elements).filter(|&at| !used[at]).take(40) {
            ones[at] = 0x80;
            assert_eq!(first_dirty_lane(1, &layout, &dims, &ones), Some(at), "{layout} {dims:?}");
            ones[at] = 0;
        }
    }
}

/// Sizes large enough that a copy runs in several tasks.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn large_copies_agree_with_the_definition() {
    let mut r = Random(3);
    for (name, dims) in [
        ("nChw16c", [2, 40, 30, 31]),
        ("nChw16c", [1, 3, 150, 151]),
        ("nChw8c", [2, 64, 28, 28]),
        ("nChw64c", [3, 100, 17, 19]),
        ("nChw4c", [1, 9, 112, 57]),
        ("CHWN4", [9, 20, 25, 26]),
        ("OIhw16i16o", [70, 70, 3, 5]),
        ("OIhw4i16o4i", [70, 70, 3, 5]),
        ("Ohwi16o", [150, 3, 7, 11]),
        ("nhwc", [2, 50, 30, 31]),
        ("nChw16c", [1, 1, 1, 40_000]),
        ("nChw16c", [2, 48, 40, 40]),
        ("nChw16c", [1, 67, 36, 36]),
        ("nhwc", [1, 64, 40, 40]),
    ] {
        for elem in [1, 2, 4] {
            let layout: Layout = name.parse().unwrap();
            for nhwc in [false, true] {
                let [n, c, h, w] = dims;
                let strides = if nhwc { [h * w * c, 1, w * c, c] } else { [c * h * w, h * w, w, 1] };
                let bytes = n * c * h * w * elem;
                let src = Aligned::of(&r.bytes(bytes));
                let want = slow_to_blocked(elem, src.bytes(bytes), &dims, &strides, &layout);
                let mut blocked = Aligned::of(&vec![0xAA; want.len()]);
                strided_to_blocked(
                    elem,
                    src.bytes(bytes),
                    &dims,
                    &strides,
                    &layout,
                    blocked.bytes_mut(want.len()),
                );
                assert!(blocked.bytes(want.len()) == want, "to blocked: {name} {dims:?} {elem} {nhwc}");
                let mut back = Aligned::of(&vec![0; bytes]);
                blocked_to_strided(
                    elem,
                    blocked.bytes(want.len()),
                    &layout,
                    &dims,
                    &strides,
                    back.bytes_mut(bytes),
                );
                assert!(back.bytes(bytes) == src.bytes(bytes), "to strided: {name} {dims:?} {elem} {nhwc}");
            }
        }
    }
}
