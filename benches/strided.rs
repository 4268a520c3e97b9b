//! Strided kernels: the ratios that the project promises, then criterion's own measurements.
//!
//! A ratio compares the best times of two kernels that take turns within one process, so that machine noise affects both.
//! `cargo bench --bench strided` prints the ratios; a slow machine does not make it fail.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::elementwise::{copy_into, map1_into, map2_into, sum};
use blocktensor::{MemoryFormat, StridedTensor, run};
use criterion::{Criterion, Throughput};
use rayon::prelude::*;

const DIMS: [usize; 4] = [64, 256, 56, 56];
const NUMEL: usize = 64 * 256 * 56 * 56;

fn tensor(format: MemoryFormat) -> StridedTensor {
    StridedTensor::full(&DIMS, 1.5f32, format).unwrap()
}

#[inline(always)]
fn relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}

#[inline(always)]
fn add(a: f32, b: f32) -> f32 {
    a + b
}

fn plain_copy(dst: &mut [f32], src: &[f32]) {
    let piece = src.len().div_ceil(rayon::current_num_threads());
    dst.par_chunks_mut(piece).zip(src.par_chunks(piece)).for_each(|(d, s)| d.copy_from_slice(s));
}

fn plain_relu(dst: &mut [f32], src: &[f32]) {
    let piece = src.len().div_ceil(rayon::current_num_threads());
    dst.par_chunks_mut(piece).zip(src.par_chunks(piece)).for_each(|(d, s)| {
        d.iter_mut().zip(s).for_each(|(d, &s)| *d = relu(s));
    });
}

/// Best times of the two, taking turns.
fn in_turns(mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..15 {
        let start = Instant::now();
        a();
        let middle = Instant::now();
        b();
        best = (best.0.min(middle - start), best.1.min(middle.elapsed()));
    }
    best
}

/// Prints the speed of `b` in percent of that of `a`.
fn ratio(what: &str, a: impl FnMut(), b: impl FnMut()) {
    let (a, b) = in_turns(a, b);
    let percent = 100.0 * a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{what:<58} {percent:>6.0} %   ({:.1} ms, {:.1} ms)",
        a.as_secs_f64() * 1e3,
        b.as_secs_f64() * 1e3
    );
}

fn ratios() {
    use MemoryFormat::{ChannelsLast, Contiguous};
    let (nchw, nhwc) = (tensor(Contiguous), tensor(ChannelsLast));
    let (mut to_nchw, mut to_other, mut to_nhwc) =
        (tensor(Contiguous), tensor(Contiguous), tensor(ChannelsLast));
    let (plain, mut to_plain) = (vec![1.5f32; NUMEL], vec![0f32; NUMEL]);
    println!(
        "{DIMS:?} f32, {} threads: speed of the second in percent of the first",
        rayon::current_num_threads()
    );
    let mut copy = || plain_copy(black_box(&mut to_plain), black_box(&plain));
    ratio("parallel memcpy / dense copy NCHW", &mut copy, || copy_into("copy", &mut to_nchw, &nchw).unwrap());
    ratio("parallel memcpy / NCHW -> NHWC", &mut copy, || copy_into("copy", &mut to_nhwc, &nchw).unwrap());
    ratio("parallel memcpy / NHWC -> NCHW", &mut copy, || copy_into("copy", &mut to_nchw, &nhwc).unwrap());
    for axes in [[0, 2, 3, 1], [3, 0, 1, 2], [1, 0, 2, 3], [0, 1, 3, 2]] {
        let turned = nchw.permute(&axes).unwrap();
        let mut to = StridedTensor::full(turned.dims(), 0f32, Contiguous).unwrap();
        let what = format!("parallel memcpy / permute({axes:?}) made contiguous");
        ratio(&what, &mut copy, || copy_into("copy", &mut to, &turned).unwrap());
    }
    ratio(
        "plain parallel relu / relu NCHW",
        || plain_relu(black_box(&mut to_plain), black_box(&plain)),
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
    );
    ratio(
        "relu NCHW / relu NHWC",
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
        || map1_into("relu", &mut to_nhwc, &nhwc, relu).unwrap(),
    );
    ratio(
        "add NCHW / add NHWC",
        || map2_into("add", &mut to_nchw, &nchw, &nchw, add).unwrap(),
        || map2_into("add", &mut to_nhwc, &nhwc, &nhwc, add).unwrap(),
    );
    ratio(
        "add NCHW / add NCHW + NHWC",
        || map2_into("add", &mut to_nchw, &nchw, &nchw, add).unwrap(),
        || map2_into("add", &mut to_nhwc, &nchw, &nhwc, add).unwrap(),
    );
    let bias = StridedTensor::full(&[256, 1, 1], 0.5f32, Contiguous).unwrap();
    ratio(
        "relu NCHW / bias NCHW",
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
        || map2_into("add", &mut to_other, &nchw, &bias, add).unwrap(),
    );
    ratio(
        "relu NCHW / bias NHWC",
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
        || map2_into("add", &mut to_nhwc, &nhwc, &bias, add).unwrap(),
    );
    ratio(
        "relu NCHW / sum over H, W of NCHW",
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
        || drop(black_box(sum(&nchw, &[2, 3], false).unwrap())),
    );
    ratio(
        "relu NCHW / sum over H, W of NHWC",
        || map1_into("relu", &mut to_nchw, &nchw, relu).unwrap(),
        || drop(black_box(sum(&nhwc, &[2, 3], false).unwrap())),
    );
}

/// One activation that fits in the second-level cache: measures the cost of a call besides its memory traffic.
fn small(c: &mut Criterion) {
    use MemoryFormat::{ChannelsLast, Contiguous};
    let dims = [1, 64, 56, 56];
    let mut group = c.benchmark_group("1x64x56x56");
    group.throughput(Throughput::Bytes(2 * 4 * 64 * 56 * 56)).sample_size(30);
    group.measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300));
    for format in [Contiguous, ChannelsLast] {
        let x = StridedTensor::full(&dims, 1.5f32, format).unwrap();
        let mut y = StridedTensor::full(&dims, 1.5f32, format).unwrap();
        let bias = StridedTensor::full(&[64, 1, 1], 0.5f32, Contiguous).unwrap();
        group.bench_function(format!("relu {format}"), |b| b.iter(|| map1_into("relu", &mut y, &x, relu)));
        group.bench_function(format!("bias {format}"), |b| {
            b.iter(|| map2_into("add", &mut y, &x, &bias, add))
        });
        group.bench_function(format!("sum over H, W {format}"), |b| b.iter(|| sum(&x, &[2, 3], false)));
        let mut other = StridedTensor::full(&dims, 1.5f32, Contiguous).unwrap();
        group.bench_function(format!("copy {format} to contiguous"), |b| {
            b.iter(|| copy_into("copy", &mut other, &x))
        });
    }
    group.finish();
}

fn main() {
    run(ratios);
    let mut criterion = Criterion::default().configure_from_args();
    run(|| small(&mut criterion));
    criterion.final_summary();
}
