//! Time per element of the functions in `src/math`, in a plain loop over 4096 numbers in the first-level cache: compiled
//! for the build's target, for AVX2 and for AVX-512 if the machine has them (`M` is the arithmetic of each), and with the
//! function of std or of the system.

use std::hint::black_box;
use std::time::Duration;

use blocktensor::math;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

unsafe extern "C" {
    /// The system's function: stable std has none.
    safe fn erff(x: f32) -> f32;
}

/// One loop, compiled three times. The body is inside the loop itself: if it were a closure or a function argument, the
/// larger functions would not be inlined and would stay scalar.
macro_rules! bench {
    ($c:ident, $name:literal, $from:literal..$to:literal, |$x:ident| $f:expr $(, std: |$y:ident| $std:expr)?) => {{
        #[inline(always)]
        fn each<M: math::Arithmetic>(_: M, src: &[f32], dst: &mut [f32]) {
            each!(src, dst, |$x| $f)
        }
        #[inline(never)]
        fn plain(src: &[f32], dst: &mut [f32]) {
            each(math::Separate, src, dst)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn avx2(src: &[f32], dst: &mut [f32]) {
            each(math::Fused, src, dst)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        #[inline(never)]
        fn avx512(src: &[f32], dst: &mut [f32]) {
            each(math::Fused, src, dst)
        }
        let (from, to) = ($from as f32, $to as f32);
        let src: Vec<f32> = (0..4096u32).map(|i| from + (to - from) * ((i * 1597 % 4096) as f32 / 4096.0)).collect();
        let mut dst = vec![0.0; src.len()];
        let mut group = $c.benchmark_group($name);
        group.throughput(Throughput::Elements(src.len() as u64));
        group.bench_function("plain", |b| b.iter(|| plain(black_box(&src), black_box(&mut dst))));
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the machine has the features that the function was compiled for.
                group.bench_function("avx2", |b| b.iter(|| unsafe { avx2(black_box(&src), black_box(&mut dst)) }));
            }
            let all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma");
            if all {
                // SAFETY: as above.
                group.bench_function("avx512", |b| b.iter(|| unsafe { avx512(black_box(&src), black_box(&mut dst)) }));
            }
        }
        $(
            #[inline(never)]
            fn std(src: &[f32], dst: &mut [f32]) {
                each!(src, dst, |$y| $std)
            }
            group.bench_function("std", |b| b.iter(|| std(black_box(&src), black_box(&mut dst))));
        )?
        group.finish();
    }};
}

macro_rules! each {
    ($src:ident, $dst:ident, |$x:ident| $f:expr) => {
        for (d, s) in $dst.iter_mut().zip($src) {
            let $x = *s;
            *d = $f;
        }
    };
}

fn functions(c: &mut Criterion) {
    bench!(c, "relu", -6..6, |x| math::relu(x), std: |x| x.max(0.0));
    bench!(c, "hardswish", -6..6, |x| math::hardswish(x));
    bench!(c, "round", -6..6, |x| math::round(x), std: |x| x.round_ties_even());
    bench!(c, "exp", -20..20, |x| math::exp::<M>(x), std: |x| x.exp());
    bench!(c, "expm1", -20..20, |x| math::expm1::<M>(x), std: |x| x.exp_m1());
    bench!(c, "sigmoid", -10..10, |x| math::sigmoid::<M>(x), std: |x| 1.0 / (1.0 + (-x).exp()));
    bench!(c, "silu", -10..10, |x| math::silu::<M>(x), std: |x| x / (1.0 + (-x).exp()));
    bench!(c, "tanh", -5..5, |x| math::tanh::<M>(x), std: |x| x.tanh());
    bench!(c, "elu", -5..5, |x| math::elu::<M>(x, 1.0), std: |x| if x > 0.0 { x } else { x.exp_m1() });
    bench!(c, "selu", -5..5, |x| math::selu::<M>(x));
    bench!(c, "celu", -5..5, |x| math::celu::<M>(x, 0.7));
    bench!(c, "mish", -10..10, |x| math::mish::<M>(x), std: |x| x * x.exp().ln_1p().tanh());
    bench!(c, "gelu", -5..5, |x| math::gelu::<M>(x), std: |x| 0.5 * x * (1.0 + erff(x * std::f32::consts::FRAC_1_SQRT_2)));
    bench!(c, "gelu_tanh", -5..5, |x| math::gelu_tanh::<M>(x),
        std: |x| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh()));
    bench!(c, "erf", -4..4, |x| math::erf::<M>(x), std: |x| erff(x));
    bench!(c, "softplus", -10..20, |x| math::softplus::<M>(x, 1.0, 20.0), std: |x| x.exp().ln_1p());
    bench!(c, "log", 0..100, |x| math::log::<M>(x), std: |x| x.ln());
    bench!(c, "log1p", 0..100, |x| math::log1p::<M>(x), std: |x| x.ln_1p());
    bench!(c, "logit", 0..1, |x| math::logit::<M>(x), std: |x| (x / (1.0 - x)).ln());
    bench!(c, "pow", 0..100, |x| math::pow(x, 0.75), std: |x| x.powf(0.75));
    bench!(c, "sin", -100..100, |x| math::sin(x), std: |x| x.sin());
    bench!(c, "cos", -100..100, |x| math::cos(x), std: |x| x.cos());
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .sample_size(20);
    targets = functions
}
criterion_main!(benches);
