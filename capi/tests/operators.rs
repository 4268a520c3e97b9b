//! Operators, results in the caller's tensors and memory, casts and reshapes.

mod support;

use blocktensor_c::*;
use support::calls::*;
use support::{Outcome, described, tensor};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Outcome<T>, code: bt_code, parts: &[&str]) {
    let (status, text) = result.expect_err("it is refused");
    assert_eq!(status, code as i32, "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

#[test]
fn operators_infer_prefer_and_run() {
    let pool = operator(c"max_pool2d", &[c"x"], &[ints(c"kernel", &[2, 2])]).unwrap();
    assert!(described(bt_describe, pool).unwrap().starts_with("max_pool2d(x, kernel = [2, 2]"));
    let x = random(&[1, 3, 8, 8], 1);
    let last = desc(&[1, 3, 8, 8], Some(c"channels_last")).unwrap();
    let y = results(bt_op_infer, pool, &[last]).unwrap();
    assert_eq!(info(y[0]), (vec![1, 3, 4, 4], "strided".into(), "channels_last".into()));
    // A tensor describes itself.
    let y = results(bt_op_infer, pool, &[x]).unwrap();
    assert_eq!(info(y[0]).2, "contiguous");
    let blocked_x = preferred(pool, c"blocked", &[x]).unwrap();
    assert_eq!((blocked_x.len(), info(blocked_x[0])), (1, info(blocked(x))));
    let ran = results(bt_op_run, pool, &[x]).unwrap();
    let want = call(c"max_pool2d", &[t(c"x", x), ints(c"kernel", &[2, 2])]).unwrap();
    assert_eq!(numbers(ran[0]), numbers(want));
    assert_eq!(scratchpad_bytes(pool, &[x]).unwrap(), 0);

    // Several inputs of one list, and several results.
    let cat = operator(c"cat", &[c"tensors", c"tensors"], &[int(c"axis", 1)]).unwrap();
    assert_eq!(info(results(bt_op_infer, cat, &[x, x]).unwrap()[0]).0, [1, 6, 8, 8]);
    let halves = operator(c"chunk", &[c"x"], &[int(c"chunks", 2), int(c"axis", 2)]).unwrap();
    assert_eq!(results(bt_op_run, halves, &[x]).unwrap().len(), 2);

    let invalid = bt_code::BT_INVALID_ARGUMENT;
    refused(operator(c"nosuch", &[], &[]), invalid, &["`bt_op_new`", "`nosuch`", "`bt_schema`"]);
    refused(operator(c"max_pool2d", &[], &[]), invalid, &["max_pool2d", "an input of every call"]);
    refused(operator(c"relu", &[c"x"], &[ints(c"kernel", &[2])]), invalid, &["no such parameter"]);
    refused(results(bt_op_run, pool, &[x, x]), invalid, &["2 tensors", "one tensor for each"]);
    refused(
        results(bt_op_run, pool, &[last]),
        bt_code::BT_INVALID_HANDLE,
        &["a description, but the call takes a tensor"],
    );
    refused(results(bt_op_run, x, &[x]), bt_code::BT_INVALID_HANDLE, &["an operator or packed weights"]);
    refused(results(bt_op_infer, pool, &[0]), bt_code::BT_NULL_POINTER, &["inputs"]);
    refused(preferred(pool, c"sideways", &[x]), invalid, &["`sideways`", "strided, blocked"]);
    let flat = random(&[4, 4], 2);
    refused(results(bt_op_infer, pool, &[flat]), bt_code::BT_RANK_MISMATCH, &["max_pool2d"]);
    // An op without a blocked kernel prefers nothing there.
    let sums = operator(c"cumsum", &[c"x"], &[int(c"axis", 1)]).unwrap();
    assert!(preferred(sums, c"blocked", &[x]).unwrap().is_empty());
}

#[test]
fn results_go_into_tensors_and_memory_of_the_caller() {
    let x = random(&[2, 16, 6, 5], 1);
    let w = random(&[16, 16, 3, 3], 2);
    let xb = blocked(x);
    let conv = pack(bt_pack_conv, w, 0, &[ints(c"padding", &[1])], xb).unwrap();
    let want = numbers(run_packed(conv, xb, 0).unwrap());
    let dst = zeros(results(bt_op_infer, conv, &[xb]).unwrap()[0]).unwrap();
    assert_eq!(bt_packed_run_into(conv, xb, 0, dst), 0);
    assert_eq!(numbers(dst), want);

    // The same with a scratchpad that grows, twice.
    let bytes = scratchpad_bytes(conv, &[xb]).unwrap();
    let pad = scratchpad(0).unwrap();
    for _ in 0..2 {
        assert_eq!(bt_reorder_into(x, dst), 0);
        run_into(conv, &[xb], &[dst], pad).unwrap();
        assert_eq!(numbers(dst), want);
    }
    assert_eq!(described(bt_describe, pad).unwrap(), format!("a scratchpad of {bytes} bytes"));

    // Memory of the caller, strided: the result of an op by name, of an operator, and of a reorder.
    let mut memory = vec![-1f32; 2 * 16 * 6 * 5];
    let mine = wrap(&[2, 16, 6, 5], &mut memory, true);
    call_into(c"relu", &[t(c"x", x)], &[mine]).unwrap();
    assert_eq!(numbers(mine), numbers(x).iter().map(|v| v.max(0.0)).collect::<Vec<_>>());
    let neg = operator(c"neg", &[c"x"], &[]).unwrap();
    run_into(neg, &[x], &[mine], 0).unwrap();
    assert_eq!(numbers(mine), numbers(x).iter().map(|v| -v).collect::<Vec<_>>());
    assert_eq!(bt_reorder_into(dst, mine), 0);
    free(&[mine]);
    assert_eq!(memory, want);

    // Read-only memory, memory that is shared, and results that do not fit.
    let locked = wrap(&[2, 16, 6, 5], &mut memory, false);
    let aliasing = bt_code::BT_ALIASING;
    refused(call_into(c"relu", &[t(c"x", x)], &[locked]), aliasing, &["read-only"]);
    refused(call_into(c"relu", &[t(c"x", x)], &[x]), aliasing, &["relu"]);
    assert_eq!(bt_reorder_into(x, x), aliasing as i32);
    let view = reshape(x, &[-1]).unwrap();
    assert_eq!(bt_reorder_into(dst, x), aliasing as i32, "a view shares it");
    free(&[view]);
    refused(call_into(c"relu", &[t(c"x", x)], &[dst]), bt_code::BT_KEY_MISMATCH, &["dst"]);
    let small = zeros(desc(&[2, 16, 6, 4], None).unwrap()).unwrap();
    refused(call_into(c"relu", &[t(c"x", x)], &[small]), bt_code::BT_SHAPE_MISMATCH, &["[2, 16, 6, 5]"]);
    refused(call_into(c"relu", &[t(c"x", x)], &[]), bt_code::BT_INVALID_ARGUMENT, &["1 results"]);
    refused(call_into(c"relu", &[t(c"x", x)], &[small, small]), aliasing, &["outs", "pass each result once"]);
    refused(
        call_into(c"relu", &[t(c"x", x)], &[conv]),
        bt_code::BT_INVALID_HANDLE,
        &["packed weights, but the call takes a tensor"],
    );
    refused(call_into(c"nosuch", &[t(c"x", x)], &[small]), bt_code::BT_INVALID_ARGUMENT, &["`nosuch`"]);
    assert_eq!(bt_packed_run_into(conv, xb, 0, small), bt_code::BT_SHAPE_MISMATCH as i32);
    refused(
        run_into(neg, &[x], &[small], conv),
        bt_code::BT_INVALID_HANDLE,
        &["the call takes a scratchpad"],
    );
    // After all of these the tensors are as they were, and in their handles.
    for (tensor, count) in [(x, 960), (dst, 960), (small, 768)] {
        assert_eq!(numbers(tensor).len(), count);
    }
    free(&[x, dst, small, locked, pad]);
}

#[test]
fn bt_reorder_into_goes_between_any_two_layouts_in_one_step() {
    let x = random(&[2, 19, 6, 5], 1);
    let from = blocked_as(x, c"nChw8c");
    for layout in [c"nChw16c", c"nChw4c", c"nChw8c", c"contiguous", c"channels_last"] {
        let to = zeros(desc(&[2, 19, 6, 5], Some(layout)).unwrap()).unwrap();
        let (status, book) = recorded(|| bt_reorder_into(from, to));
        assert_eq!(status, 0, "{layout:?}");
        let told = described(bt_describe, book).unwrap();
        let same = layout == c"nChw8c";
        assert!(
            told.starts_with(if same { "0 reorders" } else { "1 reorder (call 1)" }),
            "{layout:?}: {told}"
        );
        assert_eq!(numbers(to), numbers(x), "{layout:?}");
        assert_eq!(info(to).2, layout.to_str().unwrap());
        let denied = inside(bt_deny_reorders, || bt_reorder_into(from, to));
        assert_eq!(denied, if same { 0 } else { bt_code::BT_REORDER_DENIED as i32 });
        if !same {
            assert!(
                last().contains("`bt_reorder_into`") && last().contains("`bt_deny_reorders` scope"),
                "{}",
                last()
            );
        }
        free(&[to, book]);
    }
    let other = zeros(desc(&[2, 19, 6, 4], Some(c"nChw16c")).unwrap()).unwrap();
    assert_eq!(bt_reorder_into(from, other), bt_code::BT_SHAPE_MISMATCH as i32);
    let bytes = zeros(cast(from, bt_dtype::BT_U8 as i32).unwrap()).unwrap();
    assert_eq!(bt_reorder_into(from, bytes), bt_code::BT_DTYPE_MISMATCH as i32);
    assert_eq!(bt_reorder_into(from, from), bt_code::BT_ALIASING as i32);
    free(&[x, from, other, bytes]);
}

#[test]
fn bt_layout_name_writes_names_that_bt_info_cuts() {
    let long = c"ABcdefghijkl64b64a32b32a16b16a8b8a";
    let d = desc(&[1; 12], Some(long)).unwrap();
    let name = described(bt_layout_name, d).unwrap();
    assert_eq!(name, long.to_str().unwrap());
    assert_eq!(info(d).2, name[..31]);
    let x = random(&[2, 3], 1);
    assert_eq!(described(bt_layout_name, x).unwrap(), "contiguous");
    let op = operator(c"relu", &[c"x"], &[]).unwrap();
    refused(
        described(bt_layout_name, op),
        bt_code::BT_INVALID_HANDLE,
        &["the call takes a tensor or a description"],
    );
    free(&[d, x, op]);
}

#[test]
fn a_tensor_that_is_written_is_in_no_other_call() {
    // Threads write and free the same handles. Each call succeeds or is refused with a code, and nothing leaks.
    let x = random(&[64, 64], 1);
    let like = desc(&[64, 64], None).unwrap();
    for _ in 0..20 {
        let y = zeros(like).unwrap();
        std::thread::scope(|s| {
            for i in 0..4 {
                s.spawn(move || {
                    for _ in 0..20 {
                        let status = match i {
                            0 | 1 => call_into(c"exp", &[t(c"x", x)], &[y]),
                            2 => call(c"relu", &[t(c"x", y)]).map(|z| free(&[z])),
                            _ => zeros(y).map(|z| free(&[z])),
                        };
                        let aliasing = bt_code::BT_ALIASING as i32;
                        assert!(
                            status.is_ok() || status.as_ref().is_err_and(|e| e.0 == aliasing),
                            "{status:?}"
                        );
                    }
                });
            }
        });
        call_into(c"exp", &[t(c"x", x)], &[y]).unwrap();
        assert_eq!(numbers(y), numbers(call(c"exp", &[t(c"x", x)]).unwrap()));
        // Freed while a call may write into it.
        std::thread::scope(|s| {
            s.spawn(move || {
                let _ = call_into(c"exp", &[t(c"x", x)], &[y]);
            });
            assert_eq!(bt_free(y), 0);
        });
        assert_eq!(bt_free(y), bt_code::BT_INVALID_HANDLE as i32);
    }
}

#[test]
fn bt_cast_and_bt_reshape_keep_the_elements() {
    let x = tensor(&[2, 3], &[0.0, 1.6, -1.6, 300.0, 2.5, -0.0]);
    let bytes = cast(x, bt_dtype::BT_U8 as i32).unwrap();
    assert_eq!(numbers(cast(bytes, F32).unwrap()), [0.0, 1.0, 0.0, 255.0, 2.0, 0.0]);
    let b = blocked(random(&[1, 20, 2, 2], 1));
    let half = cast(b, bt_dtype::BT_BF16 as i32).unwrap();
    assert_eq!(info(half), info(b));
    refused(cast(x, 9), bt_code::BT_UNSUPPORTED_DTYPE, &["`bt_cast`", "type 9"]);
    refused(cast(0, 0), bt_code::BT_NULL_POINTER, &["`bt_cast`"]);

    let want = numbers(x);
    for dims in [&[6][..], &[3, 2], &[-1], &[1, -1, 3], &[3, -1, 2]] {
        let y = reshape(x, dims).unwrap();
        assert_eq!((numbers(y), info(y).0.len()), (want.clone(), dims.len()));
    }
    // A transposed view has no such strides, so this is a copy.
    let columns = call(c"transpose", &[t(c"x", x), int(c"a", 0), int(c"b", 1)]).unwrap();
    assert_eq!(numbers(reshape(columns, &[-1]).unwrap()), [0.0, 300.0, 1.6, 2.5, -1.6, -0.0]);
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    refused(reshape(x, &[-1, -1]), invalid, &["`bt_reshape`", "at most one -1"]);
    refused(reshape(x, &[-2, 3]), invalid, &["[-2, 3]"]);
    refused(reshape(x, &[4, -1]), invalid, &["6 elements"]);
    refused(reshape(x, &[0, -1]), invalid, &["6 elements"]);
    refused(reshape(x, &[7]), bt_code::BT_SHAPE_MISMATCH, &["6 elements"]);
    refused(reshape(x, &[i64::MAX, -1, i64::MAX]), invalid, &["6 elements"]);
    refused(reshape(b, &[-1]), bt_code::BT_OPAQUE_LAYOUT, &["`bt_to_strided`"]);
}
