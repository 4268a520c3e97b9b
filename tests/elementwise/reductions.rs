use blocktensor::elementwise::{Fold, amax, amin, mean, prod, reduce, sum};
use blocktensor::{Error, MemoryFormat, StridedTensor};

use super::{sizes, strided};
use crate::random::Random;

/// For each element of the result, the elements that it reduces, by plain loops.
fn grouped(x: &StridedTensor, axes: &[usize]) -> Vec<Vec<f32>> {
    let kept: Vec<usize> = (0..x.rank()).filter(|d| !axes.contains(d)).collect();
    let order: Vec<usize> = kept.iter().copied().chain(axes.iter().copied()).collect();
    let values = x.permute(&order).unwrap().to_vec::<f32>().unwrap();
    let each: usize = axes.iter().map(|&a| x.dims()[a]).product();
    values.chunks(each).map(<[f32]>::to_vec).collect()
}

#[test]
fn reductions_over_random_strides_agree_with_plain_loops() {
    for seed in 0..500 {
        let r = &mut Random::new(seed);
        let rank = 1 + r.below(5);
        let most = if seed % 10 == 0 { 300_000 } else { 5_000 };
        let dims = sizes(r, rank, most);
        let stretch = r.below(2) == 0;
        let x = strided(r, &dims, stretch, |i| (i * 37 % 1009) as f32 / 64.0 - 7.0);
        let mut axes = r.shuffled(rank);
        axes.truncate(1 + r.below(rank));
        let keep = r.below(2) == 0;
        let expected = grouped(&x, &axes);
        let result = |y: blocktensor::Result<StridedTensor>| {
            let y = y.unwrap();
            let mut to: Vec<usize> = dims.clone();
            axes.iter().for_each(|&a| to[a] = 1);
            if !keep {
                to = (0..rank).filter(|d| !axes.contains(d)).map(|d| dims[d]).collect();
            }
            assert_eq!(y.dims(), to);
            assert!(y.is_contiguous(y.format_tag().unwrap_or(MemoryFormat::Contiguous)));
            y.to_vec::<f32>().unwrap()
        };
        for (got, e) in result(sum(&x, &axes, keep)).iter().zip(&expected) {
            let exact: f64 = e.iter().map(|&v| f64::from(v)).sum();
            let scale: f64 = e.iter().map(|&v| f64::from(v.abs())).sum();
            assert!((f64::from(*got) - exact).abs() <= 2e-6 * scale, "seed {seed}: {got} {exact}");
        }
        for (got, e) in result(mean(&x, &axes, keep)).iter().zip(&expected) {
            let exact = e.iter().map(|&v| f64::from(v)).sum::<f64>() / e.len() as f64;
            assert!((f64::from(*got) - exact).abs() <= 2e-5, "seed {seed}: {got} {exact}");
        }
        let largest = expected.iter().map(|e| e.iter().copied().fold(f32::MIN, f32::max));
        assert!(result(amax(&x, &axes, keep)).into_iter().eq(largest), "seed {seed}");
        let smallest = expected.iter().map(|e| e.iter().copied().fold(f32::MAX, f32::min));
        assert!(result(amin(&x, &axes, keep)).into_iter().eq(smallest), "seed {seed}");
    }
}

#[test]
fn reductions_have_the_same_bits_for_any_number_of_threads() {
    let r = &mut Random::new(5);
    let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 1e6 - 8.0;
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let pools = [pool(1), pool(2), pool(3), pool(7)];
    for dims in [vec![2, 64, 60, 60], vec![1, 7, 1000, 33], vec![500_000]] {
        let x = strided(r, &dims, false, noise);
        let nhwc = MemoryFormat::channels_last_of(dims.len());
        for x in [Some(x.clone()), nhwc.map(|f| x.contiguous(f).unwrap())].into_iter().flatten() {
            for axes in [&[][..], &[0], &[dims.len() - 1]] {
                let of = |p: &rayon::ThreadPool| {
                    p.install(|| blocktensor::run(|| sum(&x, axes, false).unwrap().to_vec::<f32>().unwrap()))
                };
                let first = of(&pools[0]);
                for p in &pools[1..] {
                    let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&of(p)), bits(&first), "{dims:?} {axes:?}");
                }
            }
        }
    }
}

#[test]
fn both_sums_accumulate_in_f64() {
    // In f32, 2^24 + 1 is 2^24.
    let x = StridedTensor::from_slice(&[16_777_216f32, 1.0, 1.0], &[3]).unwrap();
    assert_eq!(sum(&x, &[0], false).unwrap().to_vec::<f32>().unwrap(), [16_777_218.0]);
    assert_eq!(blocktensor::ops::sum(&x, &[0], false).unwrap().to_vec::<f32>().unwrap(), [16_777_218.0]);
}

#[test]
fn sum_of_many_elements_stays_accurate() {
    let x = StridedTensor::full(&[1 << 24], 0.1f32, MemoryFormat::Contiguous).unwrap();
    let exact = f64::from(0.1f32) * f64::from(1 << 24);
    let got = f64::from(sum(&x, &[], false).unwrap().get::<f32>(&[]).unwrap());
    assert!(((got - exact) / exact).abs() < 1e-6, "{got} {exact}");
    let stretched = StridedTensor::full(&[1, 1], 0.1f32, MemoryFormat::Contiguous).unwrap();
    let got = sum(&stretched.expand(&[4096, 4096]).unwrap(), &[0, 1], false).unwrap();
    assert!(((f64::from(got.get::<f32>(&[]).unwrap()) - exact) / exact).abs() < 1e-6);
}

#[test]
fn reductions_of_empty_tensors_and_nan_match_pytorch() {
    let none = StridedTensor::from_slice::<f32>(&[], &[2, 0]).unwrap();
    assert_eq!(sum(&none, &[1], false).unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert_eq!(prod(&none, &[1], true).unwrap().to_vec::<f32>().unwrap(), [1.0, 1.0]);
    assert!(mean(&none, &[1], false).unwrap().to_vec::<f32>().unwrap().iter().all(|v| v.is_nan()));
    assert_eq!(amax(&none, &[0], false).unwrap().dims(), [0]);
    for e in [amax(&none, &[1], false).unwrap_err(), amin(&none, &[], false).unwrap_err()] {
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    }
    let mut values = vec![1.0f32; 3000];
    values[1234] = f32::NAN;
    let x = StridedTensor::from_slice(&values, &[30, 100]).unwrap();
    for y in [amax(&x, &[], false).unwrap(), amin(&x, &[], false).unwrap()] {
        assert!(y.get::<f32>(&[]).unwrap().is_nan());
    }
    assert_eq!(
        amax(&x, &[0], false).unwrap().to_vec::<f32>().unwrap().iter().filter(|v| v.is_nan()).count(),
        1
    );
    let powers = StridedTensor::full(&[4, 5], 2f32, MemoryFormat::Contiguous).unwrap();
    assert_eq!(prod(&powers, &[0], false).unwrap().to_vec::<f32>().unwrap(), [16.0; 5]);
    assert_eq!(prod(&powers, &[], true).unwrap().dims(), [1, 1]);
}

#[test]
fn reduce_takes_a_custom_fold_with_its_own_accumulator() {
    struct Count;
    impl Fold for Count {
        type In = u8;
        type Acc = u64;
        type Out = i32;
        fn identity(&self) -> u64 {
            0
        }
        fn step(&self, acc: u64, x: u8) -> u64 {
            acc + u64::from(x > 9)
        }
        fn merge(&self, a: u64, b: u64) -> u64 {
            a + b
        }
        fn finish(&self, acc: u64, _: usize) -> i32 {
            acc as i32
        }
    }
    let data: Vec<u8> = (0..60_000).map(|i| (i % 20) as u8).collect();
    let x = StridedTensor::from_slice(&data, &[3000, 20]).unwrap();
    let y = reduce("count", &x, &[0], false, &Count).unwrap();
    assert_eq!(y.to_vec::<i32>().unwrap(), [[0; 10], [3000; 10]].concat());
    for (axes, e) in [(&[2][..], "rank 2"), (&[1, 1], "twice")] {
        let got = reduce("count", &x, axes, false, &Count).unwrap_err();
        assert!(matches!(got, Error::InvalidArgument(_)) && got.to_string().contains(e), "{got}");
    }
}
