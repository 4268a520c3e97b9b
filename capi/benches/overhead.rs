//! The cost of one small blocked op through each interface: the kernel itself, typed Rust, boxed Rust, C. Interleaved;
//! medians.
//! `cargo bench --profile dev -p blocktensor-capi --bench overhead`

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use blocktensor::dispatch::{self, Arg, Args, DispatchKey, Value};
use blocktensor::{Layout, MemoryFormat, Operand, StridedTensor, ops};
use blocktensor_c::{bt_arg, bt_call, bt_free, bt_handle, bt_tensor_from_data, bt_to_blocked};

const ROUNDS: usize = 101;
const CALLS: u32 = 500;

fn main() {
    let x = StridedTensor::full(&[1, 16, 1, 1], 1f32, MemoryFormat::Contiguous).expect("a tensor");
    let x = x.to_blocked(&Layout::native().0).expect("blocked");
    let op = dispatch::op("relu").expect("registered");
    let kernel = op.kernel(DispatchKey::BLOCKED).expect("a kernel");
    let values = [Arg::Tensor(x.tensor_ref())];
    let args = Args::new(op, &values).expect("good arguments");
    let named = [("x", Value::from(x.clone()))];

    let (mut plain, mut handle): (bt_handle, bt_handle) = (0, 0);
    let (dims, data) = ([1i64, 16, 1, 1], [1f32; 16]);
    // SAFETY: the arrays have the lengths that are passed, and results have places to be written.
    unsafe {
        assert_eq!(bt_tensor_from_data(0, 4, dims.as_ptr(), null(), data.as_ptr().cast(), 64, &mut plain), 0);
        assert_eq!(bt_to_blocked(plain, null(), &mut handle), 0);
    }
    let arg = bt_arg {
        name: c"x".as_ptr(),
        kind: 1,
        number: 0,
        real: 0.0,
        text: null(),
        integers: null(),
        tensors: &raw const handle,
        count: 1,
    };
    let mut times = [const { Vec::new() }; 4];
    let mut sides: [&mut dyn FnMut(); 4] = [
        &mut || drop(black_box(kernel.call(&args))),
        &mut || drop(black_box(ops::relu(&x))),
        &mut || drop(black_box(dispatch::call("relu", &named))),
        &mut || {
            let mut out = 0;
            // SAFETY: one argument, and room for one result.
            let status = unsafe { bt_call(c"relu".as_ptr(), &arg, 1, &mut out, 1, null_mut()) };
            assert_eq!((status, bt_free(out)), (0, 0));
        },
    ];
    for _ in 0..ROUNDS {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (0..CALLS).for_each(|_| side());
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    let [kernel, typed, boxed, c] = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    });
    println!(
        "relu of 16 numbers, blocked: kernel {kernel:.0} ns; typed Rust + {:.0}; boxed Rust + {:.0}; C + {:.0}",
        typed - kernel,
        boxed - kernel,
        c - kernel
    );
}
