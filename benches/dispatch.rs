//! The cost of a call beyond its kernel: typed dispatch compared with the kernel itself, and one cached blocked op compared
//! with a bare `dnnl_primitive_execute` of the same primitive. Interleaved, medians, one run.
//! `cargo bench --bench dispatch`

mod bare;

use std::hint::black_box;
use std::time::Instant;

use bare::{Adapter, Bare, Primitive, attributes};
use blocktensor::dispatch::{self, Arg, Args, DispatchKey, Value};
use blocktensor::ops::{self, Conv2d};
use blocktensor::{Layout, MemoryFormat, Operand, PackedConv2d, Source, StridedTensor, ledger};
use onednn_sys::*;

const ROUNDS: usize = 101;
const CALLS: u32 = 200;

/// Nanoseconds per call, medians over interleaved rounds.
fn compare<const N: usize>(mut sides: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..CALLS {
                side();
            }
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    })
}

fn main() {
    blocktensor::run(|| {
        dispatch_alone();
        cached_convolution();
    });
}

fn dispatch_alone() {
    let x = StridedTensor::full(&[1, 16, 1, 1], 1f32, MemoryFormat::Contiguous).expect("a tensor");
    let x = x.to_blocked(&Layout::native().0).expect("blocked");
    let op = dispatch::op("relu").expect("registered");
    let kernel = op.kernel(DispatchKey::BLOCKED).expect("a kernel");
    let values = [Arg::Tensor(x.tensor_ref())];
    let args = Args::new(op, &values).expect("good arguments");
    let named = [("x", Value::from(x.clone()))];
    let [kernel, typed, by_name, asked, recorded] = compare([
        &mut || drop(black_box(kernel.call(&args))),
        &mut || drop(black_box(ops::relu(&x))),
        &mut || drop(black_box(dispatch::call("relu", &named))),
        &mut || {
            black_box(ledger::is_recording());
        },
        &mut || drop(black_box(ledger::record(|| ops::relu(&x)))),
    ]);
    println!(
        "relu of 16 numbers, blocked: kernel {kernel:.0} ns; typed call + {:.0} ns; call by name + {:.0} ns",
        typed - kernel,
        by_name - kernel
    );
    println!(
        "its ledger: switched off, asking costs {asked:.1} ns, {:.2} % of the call; a record scope around it + {:.0} ns",
        100.0 * asked / typed,
        recorded - typed
    );
}

fn cached_convolution() {
    let (block, _) = Layout::native();
    let side = 7;
    let x = StridedTensor::full(&[1, 32, side, side], 0.5f32, MemoryFormat::Contiguous).expect("a tensor");
    let w = StridedTensor::full(&[32, 32, 1, 1], 0.1f32, MemoryFormat::Contiguous).expect("weights");
    let xb = x.to_blocked(&block).expect("blocked");
    let wb = w.to_blocked(&Layout::native().1).expect("blocked");
    let params = Conv2d::new();
    let packer = PackedConv2d::new(&w, None, params.clone()).expect("good weights");
    let packed = packer.pack_for(&Source::of(&xb).expect("a source")).expect("packed");
    let mut dst = packed.run(&xb).expect("a result");
    let bare = Bare::new(Adapter::Team);
    let primitive =
        bare_convolution(&bare, side, if block == Layout::NCHW16C { dnnl_nChw16c } else { dnnl_nChw8c });
    let join = Bare::new(Adapter::Join);
    let [bare, joined, op, run, into] = compare([
        &mut || primitive.execute(&bare),
        &mut || primitive.execute(&join),
        &mut || drop(black_box(ops::conv2d(&xb, &wb, None, &params))),
        &mut || drop(black_box(packed.run(&xb))),
        &mut || packed.run_into(&xb, ops::Fusion::default(), &mut dst).expect("a run"),
    ]);
    println!(
        "conv2d 1x1 32 -> 32 at {side} x {side}, blocked: bare execute {bare:.0} ns on the team, {joined:.0} ns on rayon::join ({}); ops::conv2d + {:.0} ns; packed + \
         {:.0} ns; packed into a caller's tensor + {:.0} ns",
        primitive.implementation,
        op - bare,
        run - bare,
        into - bare
    );
}

fn bare_convolution(bare: &Bare, side: usize, tag: dnnl_format_tag_t) -> Primitive {
    let (src, dst) = (bare.md(&[1, 32, side, side], tag), bare.md(&[1, 32, side, side], tag));
    let weights = bare.md(&[32, 32, 1, 1], dnnl_format_tag_any);
    let (one, zero) = ([1i64; 2], [0i64; 2]);
    let mut pd = std::ptr::null_mut();
    // SAFETY: live descriptors and attributes, arrays of two values.
    let status = unsafe {
        dnnl_convolution_forward_primitive_desc_create(
            &mut pd,
            bare.engine,
            dnnl_forward_inference,
            dnnl_convolution_direct,
            src,
            weights,
            std::ptr::null(),
            dst,
            one.as_ptr(),
            zero.as_ptr(),
            zero.as_ptr(),
            zero.as_ptr(),
            attributes(None, None),
        )
    };
    assert_eq!(status, dnnl_success);
    Primitive::new(bare, pd, &[DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST], &[])
}
