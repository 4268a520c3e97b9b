//! Everything at once: one packed convolution whose creating thread has ended, pools of many sizes, nested pools, callers and
//! tasks that panic, caches that are cleared. Results keep their bits, and every thread returns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use blocktensor::ops::{self, Conv2d};
use blocktensor::{BlockedTensor, Error, Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};
use rayon::ThreadPoolBuilder;

use super::random;
use crate::support::alone;

/// A time limit longer than the test takes on a slow and busy machine.
const DEADLOCK: Duration = Duration::from_secs(300);

fn bits(t: &BlockedTensor) -> Vec<u32> {
    let y = t.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
    y.into_iter().map(f32::to_bits).collect()
}

/// Calls `f` in a process of its own, which ends with an error if `f` does not return in time.
fn watched(test: &str, f: impl FnOnce()) {
    let watch = || {
        let (done, wait) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if wait.recv_timeout(DEADLOCK) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("a deadlock: not done after {DEADLOCK:?}");
                std::process::exit(101);
            }
        });
        f();
        drop(done);
        watchdog.join().unwrap();
    };
    println!("{}", alone(test, &[], watch).unwrap_or_default());
}

fn packer() -> blocktensor::ConvPacker<2> {
    PackedConv2d::new(&random(1, &[32, 32, 3, 3]), None, Conv2d::new().padding(1).relu()).unwrap()
}

#[test]
fn packed_conv_keeps_its_bits_through_panics_nested_pools_and_emptied_caches() {
    watched(
        "threads::storm::packed_conv_keeps_its_bits_through_panics_nested_pools_and_emptied_caches",
        || {
            let x = random(2, &[1, 32, 12, 10]).to_blocked(&Layout::native().0).unwrap();
            let source = Source::of(&x).unwrap();
            // The thread that created it has ended, and its thread-local state is dropped.
            let conv =
                std::thread::scope(|s| s.spawn(|| packer().pack_for(&source).unwrap()).join()).unwrap();
            let want = bits(&conv.run(&x).unwrap());
            let (conv, x, want, source) = (&conv, &x, &want, &source);
            let working = AtomicUsize::new(0);
            let stop = AtomicBool::new(false);
            let counts: [AtomicUsize; 6] = Default::default();
            let count = |i: usize| counts[i].fetch_add(1, SeqCst);
            // A worker that panics must still count as finished, or the others would never stop.
            struct Gone<'a>(&'a AtomicUsize, &'a AtomicBool);
            impl Drop for Gone<'_> {
                fn drop(&mut self) {
                    if self.0.fetch_sub(1, SeqCst) == 1 {
                        self.1.store(true, SeqCst);
                    }
                }
            }
            std::thread::scope(|s| {
                let (working, stop, count) = (&working, &stop, &count);
                let work = |f: Box<dyn Fn() + Send>| {
                    working.fetch_add(1, SeqCst);
                    s.spawn(move || {
                        let _gone = Gone(working, stop);
                        f();
                    });
                };
                // The main thread counts as one until all are started.
                working.fetch_add(1, SeqCst);
                let started = Gone(working, stop);
                for i in 0..6 {
                    work(Box::new(move || {
                        for _ in 0..60 {
                            let y = if i % 2 == 0 { conv.run(x) } else { blocktensor::run(|| conv.run(x)) };
                            assert!(bits(&y.unwrap()) == *want);
                            count(0);
                        }
                    }));
                }
                for size in [1, 3, 5] {
                    work(Box::new(move || {
                        let pool = ThreadPoolBuilder::new().num_threads(size).build().unwrap();
                        pool.install(|| {
                            let own = packer().pack_for(&Source::of(x).unwrap()).unwrap();
                            let first = bits(&own.run(x).unwrap());
                            for _ in 0..30 {
                                assert!(bits(&blocktensor::run(|| own.run(x)).unwrap()) == first);
                                count(1);
                            }
                            // Weights that were packed for another number of threads are an error that says so.
                            if conv.source() != own.source() {
                                assert!(matches!(conv.run(x), Err(Error::PackMismatch(_))));
                            }
                        });
                    }));
                }
                // Pools inside pools, and ops inside tasks.
                work(Box::new(move || {
                    let [outer, inner] =
                        [2, 3].map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap());
                    let y = random(3, &[2, 20, 9, 7]).to_blocked(&Layout::native().0).unwrap();
                    let relu = bits(&ops::relu(&y).unwrap());
                    for _ in 0..30 {
                        let nested = outer.install(|| {
                            blocktensor::run(|| inner.install(|| blocktensor::run(|| ops::relu(&y).unwrap())))
                        });
                        assert!(bits(&nested) == relu);
                        let (a, b) = outer.install(|| {
                            rayon::join(
                                || ops::relu(&y).unwrap(),
                                || inner.install(|| ops::relu(&y).unwrap()),
                            )
                        });
                        assert!(bits(&a) == relu && bits(&b) == relu);
                        blocktensor::parallel_for(4, |_| assert!(bits(&ops::relu(&y).unwrap()) == relu));
                        count(2);
                    }
                }));
                // Callers and tasks that panic.
                work(Box::new(move || {
                    for _ in 0..30 {
                        let caller = catch_unwind(AssertUnwindSafe(|| {
                            blocktensor::run(|| {
                                conv.run(x).unwrap();
                                std::panic::resume_unwind(Box::new("a caller"));
                            })
                        }));
                        assert!(caller.is_err());
                        let task = catch_unwind(AssertUnwindSafe(|| {
                            blocktensor::parallel_for(16, |i| {
                                if i % 5 == 2 {
                                    std::panic::resume_unwind(Box::new("a task"));
                                }
                            });
                        }));
                        assert!(task.is_err());
                        assert!(bits(&conv.run(x).unwrap()) == *want);
                        count(3);
                    }
                }));
                // While those run: pack and drop convolutions, and clear caches.
                s.spawn(|| {
                    while !stop.load(SeqCst) {
                        assert!(bits(&packer().pack_for(source).unwrap().run(x).unwrap()) == *want);
                        count(4);
                    }
                });
                s.spawn(|| {
                    let mut side = 1;
                    while !stop.load(SeqCst) {
                        side = side % 1500 + 1;
                        let wide =
                            StridedTensor::full(&[1, 16, 1, side], 2f32, MemoryFormat::ChannelsLast).unwrap();
                        let w =
                            StridedTensor::full(&[16, 16, 1, 1], 0.5f32, MemoryFormat::Contiguous).unwrap();
                        let y = ops::conv2d(&wide, &w, None, &Conv2d::new()).unwrap();
                        assert!(y.to_vec::<f32>().unwrap().iter().all(|&v| v == 16.0));
                        if side % 50 == 0 {
                            blocktensor::set_recycle_limit(if side % 100 == 0 { 0 } else { 1 << 20 });
                            #[cfg(feature = "onednn")]
                            blocktensor::onednn::clear_cache();
                        }
                        count(5);
                    }
                });
                drop(started);
            });
            println!("runs, pools, nests, panics, packs, shapes: {counts:?}");
            assert!(counts.iter().all(|c| c.load(SeqCst) > 0), "{counts:?}");
            assert!(bits(&conv.run(x).unwrap()) == *want);
        },
    );
}
