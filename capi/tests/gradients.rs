//! Gradients by name: against identities of the definition, and what is refused.

mod support;

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use blocktensor_c::*;
use support::calls::*;
use support::{Outcome, outcome, tensor};

/// The gradients of the tensors of these names.
fn backward(
    op: &CStr,
    args: &[bt_arg],
    results: &[bt_handle],
    diffs: &[bt_handle],
    wanted: &[&CStr],
) -> Outcome<Vec<bt_handle>> {
    assert_eq!(results.len(), diffs.len());
    let names: Vec<*const c_char> = wanted.iter().map(|name| name.as_ptr()).collect();
    let (mut outs, mut count) = ([0; 8], 9);
    let (results, diffs, out) = (results, diffs.as_ptr(), outs.as_mut_ptr());
    let (given, n) = (args.as_ptr(), results.len());
    let names = (names.as_ptr(), names.len());
    // SAFETY: strings, arguments as they say, and arrays of the lengths that are passed.
    let status = unsafe {
        let results = results.as_ptr();
        bt_call_backward(
            op.as_ptr(),
            given,
            args.len(),
            results,
            diffs,
            n,
            names.0,
            names.1,
            out,
            8,
            &mut count,
        )
    };
    outcome(status, ())?;
    Ok(outs[..count].to_vec())
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Outcome<T>, code: bt_code, parts: &[&str]) {
    let (status, text) = result.expect_err("it is refused");
    assert_eq!(status, code as i32, "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

fn dot(a: bt_handle, b: bt_handle) -> f64 {
    numbers(a).iter().zip(numbers(b)).map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
}

/// A convolution is linear in its source, its weights and its bias: `<conv(v), u> = <v, gradient>` for any `v` in the operand's place.
#[test]
fn gradients_of_a_convolution_are_its_adjoints() {
    for is_blocked in [false, true] {
        let lay_out = |t: bt_handle, layout: &CStr| if is_blocked { blocked_as(t, layout) } else { t };
        let shapes: [&[i64]; 3] = [&[2, 17, 5, 4], &[9, 17, 3, 3], &[9]];
        let tensors: Vec<bt_handle> = (0..3)
            .map(|i| match i {
                0 => lay_out(random(shapes[0], 1), c"nChw16c"),
                1 => lay_out(random(shapes[1], 2), c"OIhw16i16o"),
                _ => random(shapes[2], 3),
            })
            .collect();
        let args = |of: &[bt_handle]| {
            let named = [t(c"x", of[0]), t(c"weights", of[1]), t(c"bias", of[2])];
            [&named[..], &[ints(c"padding", &[1]), ints(c"stride", &[2])]].concat()
        };
        let y = call(c"conv2d", &args(&tensors)).unwrap();
        let u = lay_out(random(&info(y).0, 4), c"nChw16c");
        let wanted = [c"bias", c"x", c"weights"];
        let made = backward(c"conv2d", &args(&tensors), &[y], &[u], &wanted).unwrap();
        for (place, gradient) in [2, 0, 1].into_iter().zip(&made) {
            assert_eq!(info(*gradient), info(tensors[place]), "the layout of its tensor");
            // Without its bias a convolution is linear in the other two.
            let zero = zeros(tensors[2]).unwrap();
            let mut moved = [tensors[0], tensors[1], if place == 2 { tensors[2] } else { zero }];
            if place == 2 {
                moved[0] = zeros(tensors[0]).unwrap();
            }
            let want = dot(call(c"conv2d", &args(&moved)).unwrap(), u);
            let got = dot(tensors[place], *gradient);
            assert!((got - want).abs() < 1e-4 * want.abs().max(1.0), "{place}: {got} for {want}");
        }
    }
}

#[test]
fn lists_and_results_without_a_gradient() {
    let (a, b) = (tensor(&[1, 2], &[1.0, 2.0]), tensor(&[1, 1], &[3.0]));
    let both = [a, b];
    let list = bt_arg { kind: 2, tensors: both.as_ptr(), count: 2, ..t(c"tensors", 0) };
    let args = [list, int(c"axis", 1)];
    let y = call(c"cat", &args).unwrap();
    let u = tensor(&[1, 3], &[5.0, 6.0, 7.0]);
    let made = backward(c"cat", &args, &[y], &[u], &[c"tensors"]).unwrap();
    assert_eq!(made.iter().map(|&t| numbers(t)).collect::<Vec<_>>(), [vec![5.0, 6.0], vec![7.0]]);
    // 0 is a gradient of zero.
    let args = [t(c"x", y), ints(c"sizes", &[2, 1]), int(c"axis", 1)];
    let made = backward(c"split", &args, &[a, b], &[0, b], &[c"x"]).unwrap();
    assert_eq!(numbers(made[0]), [0.0, 0.0, 3.0]);
}

#[test]
fn what_backward_calls_refuse() {
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    let x = blocked_as(random(&[1, 17, 2, 2], 1), c"nChw16c");
    let one = [t(c"x", x)];
    let y = call(c"relu", &one).unwrap();
    let call_relu = |results: &[bt_handle], diffs: &[bt_handle], wanted: &[&CStr]| {
        backward(c"relu", &one, results, diffs, wanted)
    };
    assert_eq!(call_relu(&[y], &[y], &[c"x"]).unwrap().len(), 1);
    assert_eq!(call_relu(&[y], &[y], &[]).unwrap().len(), 0);
    refused(backward(c"rellu", &one, &[y], &[y], &[c"x"]), invalid, &["`rellu`", "`bt_schema`"]);
    let names = ["op `relu`: argument `wanted`: got `y\\n`", "names tensors of the call: `x`"];
    refused(call_relu(&[y], &[y], &[c"y\n"]), invalid, &names);
    refused(call_relu(&[y], &[0], &[c"x"]), invalid, &["diff_dst", "one result has a gradient"]);
    refused(call_relu(&[], &[], &[c"x"]), invalid, &["results"]);
    let gone = random(&[1], 1);
    free(&[gone]);
    refused(call_relu(&[gone], &[y], &[c"x"]), bt_code::BT_INVALID_HANDLE, &["results"]);
    refused(call_relu(&[0], &[y], &[c"x"]), bt_code::BT_NULL_POINTER, &["results"]);
    let small = random(&[1, 17, 2, 1], 1);
    refused(
        call_relu(&[small], &[small], &[c"x"]),
        bt_code::BT_SHAPE_MISMATCH,
        &["what the forward call gave"],
    );
    let (plain, other) = (strided(y), blocked_as(y, c"nChw8c"));
    let remedy = ["`bt_to_blocked(t, \"nChw16c\", &out)`"];
    refused(call_relu(&[y], &[plain], &[c"x"]), bt_code::BT_KEY_MISMATCH, &["diff_dst", "`bt_to_blocked`"]);
    refused(call_relu(&[y], &[other], &[c"x"]), bt_code::BT_LAYOUT_MISMATCH, &remedy);
    // An op without a gradient names itself, the key and the reason.
    let args = [t(c"x", x), float(c"other", 0.0)];
    let mask = call(c"gt_scalar", &args).unwrap();
    let parts = ["op `gt_scalar` has no gradient for dispatch key `blocked`", "its results are 0 and 1"];
    refused(backward(c"gt_scalar", &args, &[mask], &[mask], &[c"x"]), bt_code::BT_UNSUPPORTED_OP, &parts);

    let name = c"x".as_ptr();
    let (mut out, mut count) = (0, 7);
    let mut with = |room: usize, wanted: *const *const c_char, diffs: *const bt_handle, outs: bool| {
        let outs: *mut bt_handle = if outs { &mut out } else { null_mut() };
        // SAFETY: strings, and arrays of the lengths that are passed, or null.
        let status = unsafe {
            bt_call_backward(
                c"relu".as_ptr(),
                one.as_ptr(),
                1,
                &y,
                diffs,
                1,
                wanted,
                1,
                outs,
                room,
                &mut count,
            )
        };
        outcome(status, count)
    };
    // Too little room: the number is told, and nothing is written.
    refused(with(0, &name, &y, true), invalid, &["room", "1 output"]);
    refused(with(1, null(), &y, true), bt_code::BT_NULL_POINTER, &["wanted"]);
    refused(with(1, &null(), &y, true), bt_code::BT_NULL_POINTER, &["wanted"]);
    refused(with(1, &name, null(), true), bt_code::BT_NULL_POINTER, &["diff_dst"]);
    refused(with(1, &name, &y, false), bt_code::BT_NULL_POINTER, &["outs"]);
    assert_eq!((with(1, &name, &y, true).unwrap(), out != 0), (1, true));
}
