//! Child processes made by `fork`: of a process that is using the library, and of one that never used it.
#![cfg(unix)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use blocktensor::ops::{self, Conv2d};
use blocktensor::{Error, Layout, MemoryFormat, PackedConv2d, PackedLinear, Source};

use super::random;
use crate::support::alone;

/// Forks, and runs `body` in the child. A signal ends a child that hangs. Returns the status of the child: 0 if `body` returned.
fn in_fork(body: impl FnOnce()) -> i32 {
    // SAFETY: the child runs `body` and ends at once, without destructors and exit handlers of the parent's.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(20);
                let done = catch_unwind(AssertUnwindSafe(body)).is_ok();
                libc::_exit(if done { 0 } else { 101 });
            }
            child => {
                assert!(child > 0);
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                status
            }
        }
    }
}

#[test]
fn children_of_a_working_process_are_refused_and_none_hangs() {
    let body = || {
        let x = random(1, &[1, 32, 14, 14]).to_blocked(&Layout::native().0).unwrap();
        let packer =
            PackedConv2d::new(&random(2, &[32, 32, 3, 3]), None, Conv2d::new().padding(1).relu()).unwrap();
        let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let linear = PackedLinear::new(&random(3, &[16, 16]), None, 1).unwrap();
        let row = random(4, &[1, 16]);
        let (stop, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for thread in 0..3 {
                let (conv, x, stop, rounds) = (&conv, &x, &stop, &rounds);
                s.spawn(move || {
                    let mut side = 0;
                    while !stop.load(SeqCst) {
                        // Cached kernels and new ones; recycled storage.
                        side = side % 64 + 1;
                        conv.run(x).unwrap();
                        let t = random(5, &[1, 16, side, thread + 3]);
                        drop(ops::conv2d(&t, &random(6, &[16, 16, 1, 1]), None, &Conv2d::new()).unwrap());
                        ops::relu(&t).unwrap().to_blocked(&Layout::native().0).unwrap();
                        rounds.fetch_add(1, SeqCst);
                    }
                });
            }
            while rounds.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            for i in 0..60 {
                let mut owned =
                    Some((conv.run(&x).unwrap(), packer.pack_for(&Source::of(&x).unwrap()).unwrap()));
                let status = in_fork(|| {
                    let refused = |e: Option<Error>| {
                        let e = e.expect("a call works");
                        assert!(
                            matches!(e, Error::ForkedProcess(_)) && e.to_string().contains("exec"),
                            "{e}"
                        );
                    };
                    refused(ops::relu(&x).err());
                    refused(ops::conv2d(&row, &row, None, &Conv2d::new()).err());
                    refused(conv.run(&x).err());
                    refused(linear.run(&row).err());
                    refused(packer.pack_for(&Source::of(&x).unwrap()).err());
                    refused(PackedLinear::new(&row, None, 1).err());
                    refused(x.to_strided(MemoryFormat::Contiguous).err());
                    refused(row.copy(MemoryFormat::Contiguous).err());
                    // Calls that cannot return an error run on this thread.
                    let sum = AtomicUsize::new(0);
                    blocktensor::run(|| {
                        blocktensor::parallel_for(9, |i| {
                            sum.fetch_add(i, SeqCst);
                        });
                    });
                    assert_eq!((sum.into_inner(), blocktensor::current_threads()), (36, 1));
                    drop(owned.take());
                    blocktensor::set_recycle_limit(0);
                    assert_eq!(blocktensor::recycled_bytes(), 0);
                    #[cfg(feature = "onednn")]
                    {
                        blocktensor::onednn::clear_cache();
                        assert_eq!(blocktensor::onednn::cache_stats().len, 0);
                    }
                });
                assert_eq!(status, 0, "child {i}: 14 is a hang, 25856 a failed check");
            }
            stop.store(true, SeqCst);
        });
        // The parent still works.
        conv.run(&x).unwrap();
    };
    alone("threads::fork::children_of_a_working_process_are_refused_and_none_hangs", &[], body);
}

#[test]
fn children_of_a_process_that_only_led_sections_are_refused() {
    let body = || {
        blocktensor::parallel_for(8, |_| ());
        let status = in_fork(|| {
            let e = blocktensor::StridedTensor::from_slice(&[1f32; 4], &[4]).unwrap_err();
            assert!(matches!(e, Error::ForkedProcess(_)), "{e}");
            blocktensor::parallel_for(8, |_| ());
        });
        assert_eq!(status, 0);
    };
    alone("threads::fork::children_of_a_process_that_only_led_sections_are_refused", &[], body);
}

#[test]
fn a_child_of_a_process_that_never_used_the_library_works() {
    let body = || {
        let status = in_fork(|| {
            let x = random(1, &[1, 32, 14, 14]);
            let want = ops::conv2d(&x, &random(2, &[32, 32, 3, 3]), None, &Conv2d::new()).unwrap();
            assert_eq!(want.dims(), [1, 32, 12, 12]);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let again = pool.install(|| x.to_blocked(&Layout::native().0)).unwrap();
            assert_eq!(again.dims(), x.dims());
            // And its own child is refused.
            let grandchild = in_fork(|| assert!(matches!(ops::relu(&x), Err(Error::ForkedProcess(_)))));
            assert_eq!(grandchild, 0);
        });
        assert_eq!(status, 0);
        // The use by the child does not affect the parent.
        random(1, &[1, 32, 14, 14]).to_blocked(&Layout::native().0).unwrap();
    };
    alone("threads::fork::a_child_of_a_process_that_never_used_the_library_works", &[], body);
}

/// The child returns from a task of a section whose other members are in the parent.
#[test]
fn a_leader_that_forks_in_a_task_does_not_hang_in_the_child() {
    let body = || {
        // The library is in use, so that the fork is noticed.
        random(1, &[4]);
        let parent = std::process::id();
        let in_child = || std::process::id() != parent;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for _ in 0..20 {
            pool.install(|| {
                let (leader, forked) = (std::thread::current().id(), AtomicBool::new(false));
                while !forked.load(SeqCst) {
                    let section = || {
                        blocktensor::parallel_for(1000, |_| {
                            if std::thread::current().id() == leader && !forked.swap(true, SeqCst) {
                                // SAFETY: the child does tasks of this kind, and ends below.
                                assert!(unsafe { libc::fork() } >= 0);
                                if in_child() {
                                    // The panic that may follow is the child's, and expected.
                                    std::panic::set_hook(Box::new(|_| ()));
                                    // SAFETY: takes an integer.
                                    unsafe { libc::alarm(20) };
                                }
                            }
                        });
                    };
                    let done = catch_unwind(AssertUnwindSafe(section));
                    if in_child() {
                        // SAFETY: ends the child.
                        unsafe { libc::_exit(0) };
                    }
                    assert!(done.is_ok());
                }
            });
            let mut status = 0;
            // SAFETY: a local for the status.
            assert!(unsafe { libc::wait(&mut status) } > 0);
            assert_eq!(status, 0, "14 is a hang");
        }
    };
    alone("threads::fork::a_leader_that_forks_in_a_task_does_not_hang_in_the_child", &[], body);
}
