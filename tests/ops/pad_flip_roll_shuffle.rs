//! `pad`, `flip`, `roll`, `pixel_shuffle`, `pixel_unshuffle` and `channel_shuffle` in every layout: results are exact.

use blocktensor::dispatch;
use blocktensor::ops::{self, PadMode};
use blocktensor::{DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};

/// Checks every element of a result. `from` gives its index in the source; `None` means that the element is `fill`.
fn check(
    what: &str,
    y: &Tensor,
    dims: &[usize],
    x: (&[usize], &[f32]),
    fill: f32,
    from: impl Fn(&[usize]) -> Option<Vec<usize>>,
) {
    assert_eq!(y.tensor_ref().dims(), dims, "{what}");
    for (i, v) in elements(y).into_iter().enumerate() {
        let at = index(dims, i);
        let want = from(&at).map_or(fill, |from| {
            x.1[from.iter().zip(x.0).fold(0, |offset, (&i, &d)| {
                assert!(i < d, "{what}: {from:?}");
                offset * d + i
            })]
        });
        assert_eq!(v.to_bits(), want.to_bits(), "{what}: element {at:?}");
    }
}

#[test]
fn pad_beyond_memory_is_a_typed_error() {
    let x = StridedTensor::full(&[1], 1u8, MemoryFormat::Contiguous).unwrap();
    let e = ops::pad(&x, &[1usize << 45, 0], PadMode::Constant(0.0)).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { .. }), "{e}");
}

/// The work must grow with the elements of the result, not with the fourth power of the factor.
#[test]
fn pixel_shuffle_by_a_large_factor_costs_no_more_than_its_elements() {
    let r = 160;
    let data: Vec<f32> = (0..r * r).map(|i| i as f32).collect();
    let x = StridedTensor::from_slice(&data, &[1, 1, r, r]).unwrap().to_blocked(&Layout::native().0).unwrap();
    let y = ops::pixel_unshuffle(&x, r).unwrap();
    y.check_tail().unwrap();
    assert_eq!(y.dims(), [1, r * r, 1, 1]);
    assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), data);
    let back = ops::pixel_shuffle(&y, r).unwrap();
    assert_eq!(back.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), data);
}

#[test]
fn pad_agrees_with_index_arithmetic_in_every_mode_and_layout() {
    let mut rng = Rng(61);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let rank = dims.len();
        let axes = rng.below(rank + 1);
        let which = rng.below(3);
        let value = rng.pick(&[0.0, -0.0, 1.5]);
        let mode = [PadMode::Constant(f64::from(value)), PadMode::Reflect, PadMode::Replicate][which];
        let mut padding = Vec::new();
        for i in 0..axes {
            let size = dims[rank - 1 - i];
            for _ in 0..2 {
                let most = [4, size.saturating_sub(1).min(4), if size == 0 { 0 } else { 4 }][which];
                padding.push(rng.below(most + 1));
            }
        }
        let mut out = dims.clone();
        let mut before = vec![0; rank];
        for (i, p) in padding.chunks(2).enumerate() {
            out[rank - 1 - i] += p[0] + p[1];
            before[rank - 1 - i] = p[0];
        }
        let data = rng.reals(dims.iter().product());
        for (form, x) in forms(&StridedTensor::from_slice(&data, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} {padding:?} {mode:?} {form}");
            let y = ops::pad(&x, &padding, mode).unwrap_or_else(|e| panic!("{what}: {e}"));
            check(&what, &y, &out, (&dims, &data), value, |at| {
                let one = |d: usize| {
                    let (i, n) = (at[d] as i64 - before[d] as i64, dims[d] as i64);
                    match which {
                        0 => (0..n).contains(&i).then_some(i as usize),
                        1 => Some(if i < 0 {
                            -i
                        } else if i >= n {
                            2 * (n - 1) - i
                        } else {
                            i
                        } as usize),
                        _ => Some(i.clamp(0, n - 1) as usize),
                    }
                };
                (0..rank).map(one).collect()
            });
        }
    }
}

#[test]
fn flip_and_roll_agree_with_index_arithmetic_in_every_layout() {
    let mut rng = Rng(62);
    for case in 0..300 {
        let dims = sizes(&mut rng);
        let rank = dims.len();
        let axes: Vec<usize> = (0..rank).filter(|_| rng.below(2) == 0).collect();
        let shifts: Vec<i64> = axes.iter().map(|_| rng.below(80) as i64 - 40).collect();
        let data = rng.reals(dims.iter().product());
        for (form, x) in forms(&StridedTensor::from_slice(&data, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} {axes:?} {shifts:?} {form}");
            check(&what, &ops::flip(&x, &axes).unwrap(), &dims, (&dims, &data), 0.0, |at| {
                let one = |d: usize| if axes.contains(&d) { dims[d] - 1 - at[d] } else { at[d] };
                Some((0..rank).map(one).collect())
            });
            check(&what, &ops::roll(&x, &shifts, &axes).unwrap(), &dims, (&dims, &data), 0.0, |at| {
                let one = |d: usize| {
                    let shift = axes.iter().position(|&a| a == d).map_or(0, |i| shifts[i]);
                    (at[d] as i64 - shift).rem_euclid(dims[d] as i64) as usize
                };
                Some((0..rank).map(one).collect())
            });
        }
    }
}

/// Axes longer than the piece that a thread writes at once, inside and outside of short axes.
#[test]
fn flip_roll_pad_and_index_select_along_axes_longer_than_one_task() {
    let mut rng = Rng(65);
    for (dims, axis) in [
        (vec![70_001], 0),
        (vec![3, 30_001], 1),
        (vec![30_001, 3], 0),
        (vec![2, 9_001, 7], 1),
        (vec![2, 9_001, 7], 2),
        (vec![1, 17, 2, 9_001], 3),
    ] {
        let data = rng.reals(dims.iter().product());
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        let columns: Vec<usize> = (0..dims.len()).rev().collect();
        let turned = x.permute(&columns).unwrap().contiguous(MemoryFormat::Contiguous).unwrap();
        let mut forms: Vec<Tensor> = vec![x.clone().into(), turned.permute(&columns).unwrap().into()];
        if dims.len() == 4 {
            forms.extend([Layout::NCHW16C, Layout::NCHW8C].map(|l| x.to_blocked(&l).unwrap().into()));
        }
        let size = dims[axis];
        let list: Vec<i32> = (0..size + 9).map(|i| (i * i / 7 % size) as i32).collect();
        for x in &forms {
            let what = format!("{dims:?} along {axis}");
            // `from` maps an index of the result along the axis to one of the source.
            let along = |y: &Tensor, long: usize, from: &dyn Fn(usize) -> Option<usize>| {
                let mut to = dims.clone();
                to[axis] = long;
                check(&what, y, &to, (&dims, &data), 2.5, |at| {
                    let mut at = at.to_vec();
                    at[axis] = from(at[axis])?;
                    Some(at)
                });
            };
            along(&ops::flip(x, &[axis]).unwrap(), size, &|i| Some(size - 1 - i));
            along(&ops::roll(x, &[5], &[axis]).unwrap(), size, &|i| Some((i + size - 5) % size));
            let mut padding = vec![0; 2 * (dims.len() - axis)];
            padding[2 * (dims.len() - 1 - axis)..].copy_from_slice(&[3, 4]);
            let filled = ops::pad(x, &padding, PadMode::Constant(2.5)).unwrap();
            along(&filled, size + 7, &|i| i.checked_sub(3).filter(|&i| i < size));
            let edges = ops::pad(x, &padding, PadMode::Replicate).unwrap();
            along(&edges, size + 7, &|i| Some(i.saturating_sub(3).min(size - 1)));
            if let Tensor::Strided(x) = x {
                let index = StridedTensor::from_slice(&list, &[list.len()]).unwrap();
                let picked = ops::index_select(x, axis, &index).unwrap();
                along(&picked.into(), list.len(), &|i| Some(list[i] as usize));
            }
        }
    }
}

#[test]
fn pixel_and_channel_shuffle_agree_with_index_arithmetic_in_every_layout() {
    let mut rng = Rng(63);
    for case in 0..300 {
        let r = rng.pick(&[1, 2, 2, 3, 4]);
        let (n, c) = (rng.pick(&[1, 2, 0]), rng.pick(&[1, 3, 5, 16, 17]));
        let (h, w) = (1 + rng.below(6), 1 + rng.below(9));
        let coarse = [n, c * r * r, h, w];
        let fine = [n, c, h * r, w * r];
        let data = rng.reals(coarse.iter().product());
        for (form, x) in forms(&StridedTensor::from_slice(&data, &coarse).unwrap()) {
            let what = format!("case {case} {coarse:?} by {r} {form}");
            check(&what, &ops::pixel_shuffle(&x, r).unwrap(), &fine, (&coarse, &data), 0.0, |at| {
                Some(vec![at[0], at[1] * r * r + at[2] % r * r + at[3] % r, at[2] / r, at[3] / r])
            });
        }
        for (form, x) in forms(&StridedTensor::from_slice(&data, &fine).unwrap()) {
            let what = format!("case {case} {fine:?} by {r} {form}");
            check(&what, &ops::pixel_unshuffle(&x, r).unwrap(), &coarse, (&fine, &data), 0.0, |at| {
                let (c, i, j) = (at[1] / (r * r), at[1] / r % r, at[1] % r);
                Some(vec![at[0], c, at[2] * r + i, at[3] * r + j])
            });
        }
        let groups = rng.pick(&[1, 2, 3, 4, 8]);
        let mut dims = sizes(&mut rng);
        dims[1] = groups * (1 + rng.below(9));
        let each = dims[1] / groups;
        let data = rng.reals(dims.iter().product());
        for (form, x) in forms(&StridedTensor::from_slice(&data, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} in {groups} groups {form}");
            check(&what, &ops::channel_shuffle(&x, groups).unwrap(), &dims, (&dims, &data), 0.0, |at| {
                let mut from = at.to_vec();
                from[1] = at[1] % groups * each + at[1] / groups;
                Some(from)
            });
        }
    }
}

#[test]
fn pad_flip_and_roll_take_every_dtype() {
    fn check<E: blocktensor::Element>(make: impl Fn(u8) -> E) {
        let data: Vec<E> = (0..17 * 6).map(|i| make(i as u8 + 1)).collect();
        let x = StridedTensor::from_slice(&data, &[1, 17, 2, 3]).unwrap();
        let want = ops::pad(&x, &[1, 0], PadMode::Constant(2.0)).unwrap();
        assert_eq!(want.get::<E>(&[0, 16, 1, 0]), Some(make(2)));
        assert_eq!(want.get::<E>(&[0, 16, 1, 3]), Some(data[16 * 6 + 5]));
        let blocked = x.to_blocked(&Layout::NCHW16C).unwrap();
        let same = |a: StridedTensor, b: blocktensor::BlockedTensor| {
            b.check_tail().unwrap();
            let b = b.to_strided(MemoryFormat::Contiguous).unwrap();
            assert_eq!(a.to_vec::<E>().unwrap(), b.to_vec::<E>().unwrap());
        };
        same(want, ops::pad(&blocked, &[1, 0], PadMode::Constant(2.0)).unwrap());
        same(ops::flip(&x, &[1, 3]).unwrap(), ops::flip(&blocked, &[1, 3]).unwrap());
        same(ops::roll(&x, &[1], &[2]).unwrap(), ops::roll(&blocked, &[1], &[2]).unwrap());
    }
    check(f32::from);
    check(i32::from);
    check(|v| v);
    check(|v| v as i8);
}

#[test]
fn pad_flip_roll_and_shuffle_refuse_bad_arguments_by_name() {
    let x = StridedTensor::from_slice(&[1f32; 96], &[1, 6, 4, 4]).unwrap();
    for x in [Tensor::from(x.clone()), x.to_blocked(&Layout::NCHW16C).unwrap().into()] {
        let invalid = |e: Error, word: &str| {
            assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains(word), "{e}");
        };
        invalid(ops::pad(&x, &[1], PadMode::Replicate).unwrap_err(), "two values an axis");
        invalid(ops::pad(&x, &[1; 10], PadMode::Replicate).unwrap_err(), "4 axes");
        invalid(ops::pad(&x, &[4, 0], PadMode::Reflect).unwrap_err(), "reflection");
        let call = |op, args: Vec<(&str, dispatch::Value)>| {
            let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(args).collect();
            dispatch::call(op, &args).unwrap_err()
        };
        invalid(call("pad", vec![("padding", vec![-5i64, 0].into())]), "taken away");
        invalid(call("pad", vec![("padding", vec![1i64, 0].into()), ("mode", "around".into())]), "around");
        invalid(ops::flip(&x, &[4]).unwrap_err(), "axis 4");
        invalid(ops::flip(&x, &[2, 2]).unwrap_err(), "twice");
        invalid(ops::roll(&x, &[1, 2], &[2]).unwrap_err(), "2 shifts");
        invalid(ops::pixel_shuffle(&x, 2).unwrap_err(), "divide");
        invalid(ops::pixel_shuffle(&x, 0).unwrap_err(), "divisor");
        invalid(ops::pixel_shuffle(&x, 1 << 32).unwrap_err(), "the square of 4294967296 must divide");
        invalid(ops::pixel_unshuffle(&x, 3).unwrap_err(), "divide");
        invalid(ops::channel_shuffle(&x, 4).unwrap_err(), "divide");
        let e = ops::pad(&x, &[usize::MAX / 2, usize::MAX / 2], PadMode::Constant(0.0)).unwrap_err();
        assert!(matches!(e, Error::Overflow(_) | Error::OutOfMemory { .. }), "{e}");
        let e = ops::pad(&x, &[1usize << 40, 0], PadMode::Constant(0.0)).unwrap_err();
        assert!(matches!(e, Error::OutOfMemory { .. }), "{e}");
    }
    let line = StridedTensor::from_slice(&[1f32; 20], &[20]).unwrap();
    let line = line.to_blocked(&"A16a".parse().unwrap()).unwrap();
    for made in
        [ops::flip(&line, &[0]), ops::roll(&line, &[1], &[0]), ops::pad(&line, &[1, 0], PadMode::Replicate)]
    {
        let e = made.unwrap_err();
        assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    }
    let empty = StridedTensor::zeros(&[1, 6, 0, 4], DType::F32, MemoryFormat::Contiguous).unwrap();
    let e = ops::pad(&empty, &[0, 0, 1, 0], PadMode::Replicate).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let filled = ops::pad(&empty, &[0, 0, 1, 0], PadMode::Constant(3.0)).unwrap();
    assert_eq!(filled.to_vec::<f32>().unwrap(), [3.0; 24]);
    let e = ops::pixel_unshuffle(&empty.narrow(3, 0, 0).unwrap(), 1 << 40).unwrap_err();
    assert!(matches!(e, Error::Overflow(_)) && e.to_string().contains("`factor`"), "{e}");
    let e = ops::pixel_shuffle(&x.squeeze_axis(0).unwrap(), 2).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
}

#[test]
fn pad_flip_and_shuffle_have_the_same_bits_for_any_number_of_threads() {
    let x = StridedTensor::from_slice(&Rng(64).reals(2 * 36 * 40 * 30), &[2, 36, 40, 30]).unwrap();
    for (form, x) in forms(&x) {
        same_bits_for_all_threads(form, || {
            let y = ops::pad(&x, &[1, 2, 3, 0], PadMode::Reflect).unwrap();
            let y = ops::pixel_shuffle(&ops::flip(&y, &[2, 3]).unwrap(), 3).unwrap();
            elements(&ops::channel_shuffle(&y, 4).unwrap())
        });
    }
}

#[test]
fn pad_of_s32_keeps_a_value_that_f32_cannot_hold() {
    let x = StridedTensor::from_slice(&[5i32], &[1]).unwrap();
    let y = ops::pad(&x, &[1, 1], PadMode::Constant(16_777_217.0)).unwrap();
    assert_eq!(y.to_vec::<i32>().unwrap(), [16_777_217, 5, 16_777_217]);
}
