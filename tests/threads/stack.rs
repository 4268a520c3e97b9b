//! Threads with little stack: with the documented size every op runs; with much less, calls are refused.
#![cfg(target_os = "linux")]

use blocktensor::ops::{self, Conv2d, ConvTranspose2d, Fusion, MaxPool};
use blocktensor::testing::{Backend, Blocked, Cases, Strided, as_in_optimised_builds, conformance};
use blocktensor::{
    Error, Layout, MIN_STACK, MemoryFormat, PackedConv2d, PackedConvTranspose2d, PackedLinear, Source,
    StridedTensor,
};

use super::random;
use crate::support::alone;

fn on_stack<R: Send>(bytes: usize, f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|s| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(s, f).unwrap();
        thread.join().unwrap()
    })
}

/// The main calls, each as a closure, so that each begins on a new stack. Kernels are made in the call.
fn calls() -> Vec<(&'static str, Box<dyn Fn() -> blocktensor::Result<()> + Send + Sync>)> {
    fn image() -> StridedTensor {
        random(1, &[1, 32, 14, 14])
    }
    fn weights() -> StridedTensor {
        random(2, &[32, 32, 3, 3])
    }
    let native = || Layout::native().0;
    vec![
        ("conv2d", Box::new(|| ops::conv2d(&image(), &weights(), None, &Conv2d::new().relu()).map(drop))),
        (
            "conv2d, channels-last",
            Box::new(|| {
                let x = image().contiguous(MemoryFormat::ChannelsLast)?;
                ops::conv2d(&x, &weights(), None, &Conv2d::new().padding(1)).map(drop)
            }),
        ),
        (
            "conv2d, blocked",
            Box::new(move || {
                let (x, w) = (image().to_blocked(&native())?, weights().to_blocked(&Layout::native().1)?);
                ops::conv2d(&x, &w, None, &Conv2d::new().padding(1)).map(drop)
            }),
        ),
        (
            "conv_transpose2d",
            Box::new(|| {
                let to = ConvTranspose2d::new().stride(2);
                ops::conv_transpose2d(&image(), &weights(), None, &to)?;
                let x = image().contiguous(MemoryFormat::ChannelsLast)?;
                ops::conv_transpose2d(&x, &weights(), None, &to).map(drop)
            }),
        ),
        (
            "packed, with post-ops, for other batches",
            Box::new(move || {
                let params = Conv2d::new().padding(1).residual().relu();
                let packer = PackedConv2d::new(&weights(), None, params)?;
                let fused = |x| Fusion { residual: Some(x), ..Fusion::default() };
                let (x, two) = (image(), random(3, &[2, 32, 14, 14]));
                let conv = packer.pack_for(&Source::of(&x)?)?;
                conv.run_fused(&x, fused(&x))?;
                conv.run_fused(&two, fused(&two))?;
                let (x, two) = (x.to_blocked(&native())?, two.to_blocked(&native())?);
                let conv = packer.pack_for(&Source::of(&x)?)?;
                conv.run_fused(&x, Fusion { residual: Some(&x), ..Fusion::default() })?;
                conv.run_fused(&two, Fusion { residual: Some(&two), ..Fusion::default() })?;
                conv.unpack_weights().map(drop)
            }),
        ),
        (
            "packed transposed",
            Box::new(move || {
                let packer = PackedConvTranspose2d::new(&weights(), None, ConvTranspose2d::new().stride(2))?;
                let x = image().to_blocked(&native())?;
                packer.pack_for(&Source::of(&x)?)?.run(&x).map(drop)
            }),
        ),
        (
            "linear",
            Box::new(|| {
                let (x, w) = (random(4, &[3, 64]), random(5, &[100, 64]));
                ops::linear(&x, &w, None)?;
                PackedLinear::new(&w, None, 1)?.run(&x).map(drop)
            }),
        ),
        ("matmul", Box::new(|| ops::matmul(&random(6, &[300, 200]), &random(7, &[200, 300])).map(drop))),
        (
            "reorders",
            Box::new(move || image().to_blocked(&native())?.to_strided(MemoryFormat::ChannelsLast).map(drop)),
        ),
        (
            "pooling, softmax",
            Box::new(move || {
                let x = image();
                ops::softmax(&ops::max_pool2d(&x, &MaxPool::new(3))?, 1)?;
                let x = x.to_blocked(&native())?;
                ops::softmax(&ops::max_pool2d(&x, &MaxPool::new(3))?, 1).map(drop)
            }),
        ),
        ("relu, blocked", Box::new(move || ops::relu(&image().to_blocked(&native())?).map(drop))),
    ]
}

/// Runs the main calls, each on a new stack of this size, then every case of the conformance run.
fn run_all(stack: usize) {
    for (_, call) in calls() {
        on_stack(stack, || call().unwrap());
    }
    let strided = [Strided { channels_last: false }, Strided { channels_last: true }];
    let strided = strided.iter().map(|b| b as &(dyn Backend + Sync));
    for backend in strided.chain([&Blocked as _]) {
        let cases = Cases::ours();
        let report = on_stack(stack, || conformance(backend, &cases).unwrap());
        assert!(report.passed() > 100 && report.wrong().is_empty(), "{report}");
    }
}

#[test]
fn the_documented_stack_is_enough_for_every_op() {
    let test = "threads::stack::the_documented_stack_is_enough_for_every_op";
    alone(test, &[], || run_all(MIN_STACK));
}

/// For optimised code, as in the profiles of this crate. Code that is not optimised would overflow this stack.
#[test]
fn the_documented_stack_of_optimised_builds_is_enough_for_every_op() {
    let test = "threads::stack::the_documented_stack_of_optimised_builds_is_enough_for_every_op";
    alone(test, &[], || run_all(as_in_optimised_builds()));
}

#[test]
fn calls_on_less_stack_are_refused_by_name() {
    let body = || {
        for (what, call) in calls() {
            for size in [32 << 10, 64 << 10, 128 << 10] {
                let e = on_stack(size, || call().expect_err(what));
                assert!(matches!(e, Error::StackTooSmall(_)), "{what}: {e}");
                assert!(e.to_string().contains("argument `stack`: got "), "{what}: {e}");
            }
        }
    };
    alone("threads::stack::calls_on_less_stack_are_refused_by_name", &[], body);
}

/// A pool whose threads have little stack: calls inside it are refused, and its threads do not help callers outside.
#[test]
fn calls_in_a_thread_pool_of_small_stacks_are_refused() {
    let body = || {
        rayon::ThreadPoolBuilder::new().num_threads(3).stack_size(64 << 10).build_global().unwrap();
        let x = random(1, &[1, 32, 14, 14]);
        let inside = rayon::scope(|_| ops::softmax(&x, 1));
        assert!(matches!(inside, Err(Error::StackTooSmall(_))), "{inside:?}");
        ops::softmax(&x, 1).unwrap();
        let me = std::thread::current().id();
        blocktensor::run(|| {
            for _ in 0..2000 {
                blocktensor::parallel_for(64, |_| assert_eq!(std::thread::current().id(), me));
            }
        });
    };
    alone("threads::stack::calls_in_a_thread_pool_of_small_stacks_are_refused", &[], body);
}
