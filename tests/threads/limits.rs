//! Threads that cannot be started, pools that the program has configured, and pools of thousands. Each in a process of its
//! own, as a process has one global pool.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::process::Command;
use std::sync::Mutex;

use blocktensor::ops::Conv2d;
use blocktensor::{Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};

use super::random;

/// Runs the body of this test in a process of its own, and fails if that writes to stderr.
fn quietly_alone(test: &str, set: &[(&str, &str)], body: impl FnOnce()) {
    const CHILD: &str = "BLOCKTENSOR_TEST_LIMITS";
    if std::env::var_os(CHILD).is_some_and(|t| t == test) {
        return body();
    }
    let out = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs(set.iter().copied())
        .env(CHILD, test)
        .output()
        .unwrap();
    let [text, errors] = [&out.stdout, &out.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(out.status.success() && text.contains("1 passed"), "{text}\n{errors}");
    assert_eq!(errors, "", "printed to stderr");
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until idle threads have ended, and `left` are left.
fn settle(left: usize) {
    while threads() > left {
        std::thread::yield_now();
    }
}

/// Names of the threads that run tasks of this thread, over some parallel sections.
fn names() -> HashSet<Option<String>> {
    let names = Mutex::new(HashSet::new());
    blocktensor::run(|| {
        for _ in 0..200 {
            blocktensor::parallel_for(64, |_| {
                let name = std::thread::current().name().map(str::to_string);
                names.lock().unwrap().insert(name);
            });
        }
    });
    names.into_inner().unwrap()
}

/// Forbids new threads until it is dropped.
struct NoThreads(libc::rlimit);

impl NoThreads {
    fn new() -> NoThreads {
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: plain system calls on a local of the right type.
        unsafe {
            // The limit does not bind root.
            if libc::getuid() == 0 {
                assert_eq!(libc::setresuid(65534, 65534, 65534), 0);
            }
            assert_eq!(libc::getrlimit(libc::RLIMIT_NPROC, &mut old), 0);
            let none = libc::rlimit { rlim_cur: 0, ..old };
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &none), 0);
        }
        assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "the limit does not bind");
        NoThreads(old)
    }
}

impl Drop for NoThreads {
    fn drop(&mut self) {
        // SAFETY: as in `new`.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &self.0) }, 0);
    }
}

fn bits(t: &StridedTensor) -> Vec<u32> {
    t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

/// Reorders, packs and runs a convolution. The bits of its result do not depend on the threads.
fn work() -> Vec<u32> {
    let x = random(1, &[4, 64, 56, 56]).to_blocked(&Layout::native().0).unwrap();
    let packer = PackedConv2d::new(&random(2, &[32, 64, 3, 3]), None, Conv2d::new().padding(1)).unwrap();
    let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
    let y = blocktensor::run(|| conv.run(&x)).unwrap();
    bits(&y.to_strided(MemoryFormat::Contiguous).unwrap())
}

#[test]
fn calls_work_alone_while_threads_cannot_be_started() {
    let test = "threads::limits::calls_work_alone_while_threads_cannot_be_started";
    quietly_alone(test, &[("RAYON_NUM_THREADS", "3")], || {
        let before = threads();
        let limit = NoThreads::new();
        let alone = work();
        // The configured number of threads, for which weights are packed now.
        assert_eq!((blocktensor::current_threads(), threads()), (3, before));
        let x = random(3, &[1, 16, 9, 7]);
        let packer = PackedConv2d::new(&random(4, &[16, 16, 3, 3]), None, Conv2d::new()).unwrap();
        let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let first = bits(&conv.run(&x).unwrap());
        assert_eq!(names().len(), 1);
        drop(limit);
        // The next calls work, and threads are started within about a thousand calls.
        for _ in 0..1100 {
            blocktensor::parallel_for(8, |_| ());
        }
        assert_eq!((blocktensor::current_threads(), threads()), (3, before + 3));
        assert_eq!(bits(&conv.run(&x).unwrap()), first);
        assert_eq!(work(), alone);
    });
}

/// If the program's first use of rayon failed, rayon's global pool panics on every use. The library does not use it.
#[test]
fn a_global_pool_that_failed_to_start_is_not_used() {
    let test = "threads::limits::a_global_pool_that_failed_to_start_is_not_used";
    quietly_alone(test, &[("RAYON_NUM_THREADS", "3")], || {
        let before = threads();
        // Rayon's own panics print.
        std::panic::set_hook(Box::new(|_| ()));
        let limit = NoThreads::new();
        assert!(std::panic::catch_unwind(|| rayon::join(|| (), || ())).is_err());
        let alone = work();
        drop(limit);
        for _ in 0..1100 {
            blocktensor::parallel_for(8, |_| ());
        }
        settle(before + 3);
        assert_eq!((blocktensor::current_threads(), threads()), (3, before + 3));
        assert_eq!(work(), alone);
        drop(std::panic::take_hook());
    });
}

#[test]
fn a_global_pool_that_the_program_configured_is_used() {
    quietly_alone("threads::limits::a_global_pool_that_the_program_configured_is_used", &[], || {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(5);
        builder.thread_name(|_| "of the program".into()).build_global().unwrap();
        let before = threads();
        assert_eq!(blocktensor::current_threads(), 5);
        work();
        let helped = (0..1000).any(|_| names().contains(&Some("of the program".into())));
        assert!(helped);
        // The threads of our own pool end.
        settle(before);
    });
}

/// The largest number of threads in a team.
fn bound() -> usize {
    (4 * std::thread::available_parallelism().unwrap().get()).max(16)
}

#[test]
fn thousands_of_threads_are_not_started() {
    let test = "threads::limits::thousands_of_threads_are_not_started";
    quietly_alone(test, &[("RAYON_NUM_THREADS", "5000")], || {
        let before = threads();
        work();
        assert_eq!((blocktensor::current_threads(), threads()), (bound(), before + bound()));
    });
}

#[test]
fn a_team_takes_some_threads_of_a_pool_of_many() {
    let test = "threads::limits::a_team_takes_some_threads_of_a_pool_of_many";
    quietly_alone(test, &[], || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(bound() + 100).build().unwrap();
        let same = pool.install(|| {
            assert_eq!(blocktensor::current_threads(), bound());
            work()
        });
        assert_eq!(same, pool.install(work));
    });
}
