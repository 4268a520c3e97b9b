use blocktensor::elementwise::{copy_into, map1, map1_into, map2, map2_into, map3, map3_into};
use blocktensor::{DType, Error, MemoryFormat, StridedTensor};
use half::{bf16, f16};

use super::{sizes, strided};
use crate::random::Random;

/// A random tensor that broadcasts to `dims`: some sizes are 1, some leading axes are left out.
fn operand(r: &mut Random, dims: &[usize], most: usize) -> StridedTensor {
    let first = if r.below(3) == 0 { r.below(dims.len() + 1) } else { 0 };
    let dims: Vec<usize> = dims[first..].iter().map(|&d| if r.below(5) == 0 { 1 } else { d }).collect();
    strided(r, &dims, true, |i| (i % most) as f32)
}

fn logical(x: &StridedTensor, dims: &[usize]) -> Vec<f32> {
    x.expand(dims).unwrap().to_vec().unwrap()
}

#[test]
fn maps_over_random_strides_agree_with_plain_loops() {
    for seed in 0..600 {
        let r = &mut Random::new(seed);
        let rank = 1 + r.below(5);
        let most = if seed % 10 == 0 { 200_000 } else { 5_000 };
        let dims = sizes(r, rank, most);
        let a = strided(r, &dims, false, |i| (i % 1000) as f32);
        let (b, c) = (operand(r, &dims, 500), operand(r, &dims, 300));
        let (va, vb, vc) = (logical(&a, &dims), logical(&b, &dims), logical(&c, &dims));
        let got = map1("neg", &a, |x: f32| -x).unwrap();
        assert!(got.to_vec::<f32>().unwrap().iter().zip(&va).all(|(g, a)| *g == -a), "seed {seed}");
        let expected: Vec<f32> = va.iter().zip(&vb).map(|(a, b)| a - 2.0 * b).collect();
        let got = map2("sub2", &a, &b, |x: f32, y: f32| x - 2.0 * y).unwrap();
        assert_eq!(got.to_vec::<f32>().unwrap(), expected, "seed {seed} {a:?} {b:?}");
        let expected: Vec<f32> = expected.iter().zip(&vc).map(|(e, c)| e * c).collect();
        let f = |x: f32, y: f32, z: f32| (x - 2.0 * y) * z;
        let got = map3("sub2mul", &a, &b, &c, f).unwrap();
        assert_eq!(got.to_vec::<f32>().unwrap(), expected, "seed {seed} {a:?} {b:?} {c:?}");
        let mut dst = strided(r, &dims, false, |_| -1f32).copy(MemoryFormat::Preserve).unwrap();
        let strides = dst.strides().to_vec();
        map3_into("sub2mul", &mut dst, &a, &b, &c, f).unwrap();
        assert_eq!(dst.to_vec::<f32>().unwrap(), expected, "seed {seed} {dst:?} {a:?} {b:?} {c:?}");
        assert_eq!(dst.strides(), strides);
    }
}

#[test]
fn maps_into_a_destination_with_gaps_keep_the_gaps() {
    for seed in 0..200 {
        let r = &mut Random::new(seed);
        let rank = 1 + r.below(4);
        let dims = sizes(r, rank, 3_000);
        let a = strided(r, &dims, false, |i| i as f32 + 1.0);
        // The destination has a step along every axis, and its axes in a random order.
        let order = r.shuffled(rank);
        let stored: Vec<usize> = order.iter().map(|&d| 2 * dims[d]).collect();
        let whole = StridedTensor::full(&stored, -7f32, MemoryFormat::Contiguous).unwrap();
        let mut strides = vec![0; rank];
        order.iter().zip(whole.strides()).for_each(|(&d, s)| strides[d] = 2 * s);
        let mut dst = whole.as_strided(&dims, &strides, 1).unwrap();
        drop(whole);
        map1_into("copy1", &mut dst, &a, |x: f32| x + 0.5).unwrap();
        let expected: Vec<f32> = a.to_vec::<f32>().unwrap().iter().map(|x| x + 0.5).collect();
        assert_eq!(dst.to_vec::<f32>().unwrap(), expected, "seed {seed}");
        let all = dst.as_strided(&[stored.iter().product()], &[1], 0).unwrap().to_vec::<f32>().unwrap();
        let untouched = all.iter().filter(|&&v| v == -7.0).count();
        assert_eq!(untouched, all.len() - expected.len(), "seed {seed}");
        drop(dst.clone());
        copy_into("copy", &mut dst, &a).unwrap();
        assert_eq!(dst.to_vec::<f32>().unwrap(), a.to_vec::<f32>().unwrap(), "seed {seed}");
    }
}

#[test]
fn maps_and_copies_take_every_dtype() {
    let r = &mut Random::new(1);
    let dims = [3, 40, 50];
    let h = strided(r, &dims, true, |i| f16::from_f32((i % 100) as f32));
    let b = strided(r, &dims, true, |i| bf16::from_f32((i % 50) as f32));
    let sum = map2("add", &h, &b, |x: f16, y: bf16| x.to_f32() as i32 + y.to_f32() as i32).unwrap();
    assert_eq!(sum.dtype(), DType::S32);
    let (vh, vb) = (h.to_vec::<f16>().unwrap(), b.to_vec::<bf16>().unwrap());
    let expected: Vec<i32> = vh.iter().zip(&vb).map(|(x, y)| x.to_f32() as i32 + y.to_f32() as i32).collect();
    assert_eq!(sum.to_vec::<i32>().unwrap(), expected);
    let odd = map1("odd", &sum, |x: i32| (x % 2) as u8).unwrap();
    let picked = map2("where", &odd, &sum, |c: u8, x: i32| if c > 0 { x as i8 } else { -1 }).unwrap();
    let expected: Vec<i8> = expected.iter().map(|&x| if x % 2 > 0 { x as i8 } else { -1 }).collect();
    assert_eq!(picked.to_vec::<i8>().unwrap(), expected);
    for x in [h, b, sum, odd, picked] {
        let turned = x.permute(&[2, 0, 1]).unwrap();
        let dense = turned.contiguous(MemoryFormat::Contiguous).unwrap();
        for i in [[0, 0, 0], [49, 2, 39], [17, 1, 33]] {
            match x.dtype() {
                DType::F16 => assert_eq!(dense.get::<f16>(&i), turned.get::<f16>(&i)),
                DType::BF16 => assert_eq!(dense.get::<bf16>(&i), turned.get::<bf16>(&i)),
                DType::S32 => assert_eq!(dense.get::<i32>(&i), turned.get::<i32>(&i)),
                DType::U8 => assert_eq!(dense.get::<u8>(&i), turned.get::<u8>(&i)),
                _ => assert_eq!(dense.get::<i8>(&i), turned.get::<i8>(&i)),
            }
        }
    }
}

#[test]
fn large_copies_between_permuted_strides_are_exact() {
    // Larger than the size from which copies use streaming stores, with sizes that no block divides.
    let dims = [3, 67, 211, 203];
    let data: Vec<u32> = (0..dims.iter().product::<usize>() as u32).collect();
    let x = StridedTensor::from_slice(bytemuck::cast_slice::<u32, i32>(&data), &dims).unwrap();
    let y = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
    let z = y.contiguous(MemoryFormat::Contiguous).unwrap();
    assert!(z.to_vec::<i32>().unwrap() == x.to_vec::<i32>().unwrap());
    assert!(y.to_vec::<i32>().unwrap() == x.to_vec::<i32>().unwrap());
}

#[test]
fn maps_refuse_bad_input_and_leave_the_destination() {
    let x = StridedTensor::full(&[2, 3], 1f32, MemoryFormat::Contiguous).unwrap();
    let y = StridedTensor::full(&[4], 1f32, MemoryFormat::Contiguous).unwrap();
    let add = |a: f32, b: f32| a + b;
    assert!(matches!(map2("add", &x, &y, add), Err(Error::ShapeMismatch(_))));
    let e = map1("relu", &x, |a: f16| a).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    assert!(e.to_string().contains("f32") && e.to_string().contains("f16"), "{e}");

    let mut dst = StridedTensor::full(&[2, 3], 9f32, MemoryFormat::Contiguous).unwrap();
    let keeps = dst.clone();
    let e = map2_into("add", &mut dst, &x, &x, add).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    assert_eq!(keeps.to_vec::<f32>().unwrap(), [9.0; 6]);
    drop(keeps);
    let mut small = StridedTensor::full(&[3], 9f32, MemoryFormat::Contiguous).unwrap();
    let e = map2_into("add", &mut small, &x, &x, add).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let row = StridedTensor::full(&[3], 4f32, MemoryFormat::Contiguous).unwrap();
    let e = map1_into("relu", &mut dst, &row, |a: f32| a).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    copy_into("copy", &mut dst, &row).unwrap();
    assert_eq!(dst.to_vec::<f32>().unwrap(), [4.0; 6]);
    let e = copy_into("copy", &mut small, &x).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let mut stretched = small.expand(&[2, 3]).unwrap();
    drop(small);
    let e = map2_into("add", &mut stretched, &x, &x, add).unwrap_err();
    assert!(matches!(e, Error::OverlappingOutput(_)), "{e}");
    let mut ints = StridedTensor::full(&[2, 3], 9i32, MemoryFormat::Contiguous).unwrap();
    let e = copy_into("copy", &mut ints, &x).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    map2_into("add", &mut dst, &x, &x, add).unwrap();
    assert_eq!(dst.to_vec::<f32>().unwrap(), [2.0; 6]);
}

#[test]
fn maps_take_tensors_without_elements() {
    let x = StridedTensor::zeros(&[2, 0, 3], DType::F32, MemoryFormat::Contiguous).unwrap();
    let past = x.narrow(0, 2, 0).unwrap().narrow(2, 3, 0).unwrap();
    for x in [x, past] {
        let y = map1("relu", &x, |a: f32| a).unwrap();
        assert_eq!((y.dims(), y.to_vec::<f32>().unwrap()), (x.dims(), vec![]));
        assert_eq!(x.copy(MemoryFormat::Preserve).unwrap().dims(), x.dims());
    }
}
