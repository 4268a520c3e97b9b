//! Texts of errors: what came, what is expected, and the names that a program in C has.

mod support;

use std::ffi::CStr;

use blocktensor_c::*;
use support::calls::*;
use support::{Outcome, tensor};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Outcome<T>, code: bt_code, parts: &[&str]) {
    let (status, text) = result.expect_err("it is refused");
    assert_eq!(status, code as i32, "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

fn string(name: &'static CStr, text: &'static CStr) -> bt_arg {
    bt_arg { text: text.as_ptr(), kind: 7, ..int(name, 0) }
}

#[test]
fn bt_op_new_says_which_inputs_came_and_which_it_takes() {
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    let new = |inputs: &[&CStr]| operator(c"conv2d", inputs, &[]);
    let unknown = "got `image`, but the op has no such input; it takes x, weights, bias";
    refused(new(&[c"image", c"weights"]), invalid, &["op `conv2d`: argument `inputs`: ", unknown]);
    let order = "got `weights`, `x`, but inputs are in the schema's order: x, weights, bias";
    refused(new(&[c"weights", c"x"]), invalid, &[order]);
    refused(new(&[c"x"]), invalid, &["got `x`, but `weights` is an input of every call"]);
    refused(new(&[]), invalid, &["got no inputs, but `x` is an input of every call"]);
    refused(new(&[c"x", c"weights", c"stride"]), invalid, &["got `stride`", "no such input"]);
    refused(new(&[c"x", c"x", c"weights"]), invalid, &["two inputs"]);
    refused(new(&[c"x", c"we\nights"]), invalid, &["got `we\\nights`"]);
    refused(operator(c"re\nlu", &[c"x"], &[]), invalid, &["`re\\nlu`"]);
}

#[test]
fn values_are_told_as_they_were_written() {
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    let x = tensor(&[2, 3], &[0.0; 6]);
    let one = t(c"x", x);
    refused(call(c"re\nlu", &[one]), invalid, &["op `bt_call`: argument `op`: got `re\\nlu`, but no op"]);
    refused(call(c"relu", &[one, int(c"a\nb", 1)]), invalid, &["argument `a\\nb`"]);
    let float = bt_arg { real: 1.0, kind: 5, ..int(c"axis", 0) };
    refused(call(c"softmax", &[one, float]), invalid, &["argument `axis`: got 1.0, but it is an integer"]);
    refused(call(c"softmax", &[one, string(c"axis", c"a\nb")]), invalid, &["got \"a\\nb\", but"]);
    refused(call(c"softmax", &[one, ints(c"axis", &[1, 2])]), invalid, &["got [1, 2], but"]);
    refused(call(c"softmax", &[t(c"x", x), t(c"axis", x)]), invalid, &["got [2, 3] f32 contiguous, but"]);
    refused(operator(c"softmax", &[c"x"], &[float]), invalid, &["argument `axis`: got 1.0"]);
    // The argument that was given, not one of a method inside.
    refused(call(c"split", &[one, ints(c"sizes", &[])]), invalid, &["argument `sizes`: got [], but"]);
    refused(call(c"split", &[one, ints(c"sizes", &[0])]), invalid, &["argument `sizes`: got [0], but"]);
    free(&[x]);
}

#[test]
fn post_ops_quote_the_word_at_fault() {
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    let x = random(&[1, 16, 4, 4], 1);
    let w = random(&[16, 16, 1, 1], 2);
    let packed = |post_ops| pack(bt_pack_conv, w, 0, &[string(c"post_ops", post_ops)], x);
    refused(packed(c"relu,gleu"), invalid, &["argument `post_ops`", "`gleu` is not a post-op", "hardswish"]);
    refused(packed(c"clip(1)"), invalid, &["`clip` takes two numbers"]);
    refused(packed(c"re\nlu"), invalid, &["`re\\nlu` is not a post-op"]);
    free(&[x, w]);
}

/// Errors of methods that several functions share name the function that was called, and its parameter.
#[test]
fn errors_name_the_function_that_was_called() {
    let x = random(&[1, 16, 4, 4], 1);
    let b = blocked(x);
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    let negative = bt_code::BT_UNSUPPORTED_STRIDE;
    let (dims, strides, data) = ([2i64], [-1i64], [0f32; 2]);
    let mut out = 0;
    // SAFETY: arrays of the lengths that are passed, and a place for the result.
    let (status, wrapped) = unsafe {
        let (d, s, p) = (dims.as_ptr(), strides.as_ptr(), data.as_ptr());
        let none = std::ptr::null_mut();
        let copied = bt_tensor_from_data(F32, 1, d, s, p.cast(), 8, &mut out);
        assert!(last().starts_with("op `bt_tensor_from_data`: argument `strides`"), "{}", last());
        let wrapped = bt_tensor_wrap(F32, 1, d, s, p.cast_mut().cast(), false, none, None, &mut out);
        (copied, wrapped)
    };
    assert_eq!((status, wrapped), (negative as i32, negative as i32));
    assert!(last().starts_with("op `bt_tensor_wrap`: argument `strides`"), "{}", last());

    let name = c"nChw16x";
    // SAFETY: a string, and a place for the result.
    assert_eq!(unsafe { bt_to_blocked(x, name.as_ptr(), &mut out) }, invalid as i32);
    assert!(last().starts_with("op `bt_to_blocked`: argument `layout`: got \"nChw16x\""), "{}", last());
    // SAFETY: as above.
    assert_eq!(unsafe { bt_to_strided(b, c"sideways".as_ptr(), &mut out) }, invalid as i32);
    assert!(last().starts_with("op `bt_to_strided`: argument `format`: got `sideways`"), "{}", last());
    let mut export = std::ptr::null_mut();
    // SAFETY: as above.
    assert_eq!(unsafe { bt_tensor_to_dlpack(b, &mut export) }, bt_code::BT_OPAQUE_LAYOUT as i32);
    assert!(last().starts_with("op `bt_tensor_to_dlpack`: argument `t`: "), "{}", last());
    let dst = zeros(desc(&[1, 16, 4, 5], None).unwrap()).unwrap();
    assert_eq!(bt_reorder_into(x, dst), bt_code::BT_SHAPE_MISMATCH as i32);
    assert!(last().starts_with("op `bt_reorder_into`: argument `dst`: "), "{}", last());
    // SAFETY: as above.
    let denied = inside(bt_deny_reorders, || unsafe { bt_to_blocked(x, std::ptr::null(), &mut out) });
    assert_eq!(denied, bt_code::BT_REORDER_DENIED as i32);
    let said = last();
    assert!(said.starts_with("op `bt_to_blocked`: reorder of"), "{said}");
    assert!(said.contains("a `bt_deny_reorders` scope is open") && !said.contains("udget"), "{said}");
    free(&[x, b, dst]);
}
