//! Mirrors src/threads: packed weights shared by many threads, pools of several sizes.

mod fork;
mod limits;
mod stack;
mod storm;

use std::sync::atomic::{AtomicBool, Ordering};

use blocktensor::ops::Conv2d;
use blocktensor::{Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};

use crate::support::Rng;

fn random(seed: u64, dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(&Rng(seed).reals(dims.iter().product()), dims).unwrap()
}

#[test]
fn packed_conv_has_the_same_bits_on_many_threads_at_once() {
    let w = random(1, &[32, 32, 3, 3]);
    let x = random(2, &[1, 32, 14, 10]).to_blocked(&Layout::native().0).unwrap();
    let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(1).relu()).unwrap();
    let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
    let plain = |t: &blocktensor::BlockedTensor| {
        t.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap()
    };
    let want = plain(&conv.run(&x).unwrap());
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        // Meanwhile other threads pack and drop convolutions, and evict cached primitives.
        s.spawn(|| {
            let mut seed = 10;
            while !done.load(Ordering::Relaxed) {
                seed += 1;
                let w = random(seed, &[16, 32, 1, 1]);
                let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
                drop(packer.pack_for(&Source::of(&x).unwrap()).unwrap().run(&x).unwrap());
                #[cfg(feature = "onednn")]
                blocktensor::onednn::clear_cache();
            }
        });
        let workers: Vec<_> = (0..16)
            .map(|i| {
                let (conv, x, want) = (&conv, &x, &want);
                s.spawn(move || {
                    for _ in 0..50 {
                        let y = if i % 2 == 0 { conv.run(x) } else { blocktensor::run(|| conv.run(x)) };
                        assert_eq!(&plain(&y.unwrap()), want);
                    }
                })
            })
            .collect();
        let outcome: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(outcome.iter().all(Result::is_ok));
    });
}

#[test]
fn conv_has_the_same_bits_in_thread_pools_of_every_size() {
    let w = random(3, &[48, 32, 3, 3]);
    let x = random(4, &[2, 32, 9, 7]).contiguous(MemoryFormat::ChannelsLast).unwrap();
    let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(1)).unwrap();
    let mut results = Vec::new();
    for size in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
        pool.install(|| {
            assert_eq!(blocktensor::current_threads(), size);
            let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let first = blocktensor::run(|| conv.run(&x)).unwrap().to_vec::<f32>().unwrap();
            assert_eq!(conv.run(&x).unwrap().to_vec::<f32>().unwrap(), first, "{size} threads, twice");
            results.push(first);
        });
    }
    for r in &results[1..] {
        assert!(r.iter().zip(&results[0]).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}
