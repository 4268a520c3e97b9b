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

#[test]
fn run_with_threads_counts_packs_and_computes_for_that_number() {
    use blocktensor::{current_threads, max_threads, run, run_with_threads};
    let outside = current_threads();
    let counts = [0, 1, 3, max_threads(), usize::MAX].map(|n| run_with_threads(n, current_threads));
    assert_eq!(counts, [1, 1, 3, max_threads(), max_threads()]);
    // Nested runs, each with its own number; a plain `run` joins the one around it.
    let nested = run_with_threads(3, || {
        let inner = run_with_threads(1, || (current_threads(), run(current_threads)));
        (inner, current_threads(), run(current_threads))
    });
    assert_eq!(nested, ((1, 1), 3, 3));
    assert_eq!(run(|| run_with_threads(2, current_threads)), 2);
    // The outer run continues after a panic, too.
    let panicked =
        std::panic::catch_unwind(|| run_with_threads(3, || run_with_threads(2, || panic!("on purpose"))));
    assert!(panicked.is_err());
    assert_eq!(current_threads(), outside);

    let x = random(1, &[2, 32, 9, 7]).to_blocked(&Layout::native().0).unwrap();
    let packer = PackedConv2d::new(&random(2, &[16, 32, 3, 3]), None, Conv2d::new()).unwrap();
    let bits =
        |y: blocktensor::BlockedTensor| y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>();
    let of = |threads| {
        run_with_threads(threads, || {
            let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            (bits(conv.run(&x).unwrap()).unwrap(), conv)
        })
    };
    let (alone, for_one) = of(1);
    let (together, _) = of(3);
    assert_eq!(alone, together);
    // Weights are for the number that they were packed for.
    let refused = run_with_threads(3, || for_one.run(&x)).unwrap_err();
    assert!(refused.to_string().contains("on 1 thread ") && refused.code() == 15, "{refused}");
}
