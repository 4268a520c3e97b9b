//! Packed weights through C: stems, transposed convolutions, folded batch norms, packing for a description, files.

mod support;

use blocktensor_c::*;
use support::calls::*;
use support::{distance, outcome, tensor};

/// Convolutions and norms differ by rounding alone.
const NEAR: f64 = 2e-6;

#[track_caller]
fn near(got: bt_handle, want: bt_handle) {
    assert_eq!(info(got).0, info(want).0);
    let apart = distance(&numbers(got), &numbers(want));
    assert!(apart < NEAR, "{apart}");
}

/// The text of an error with this code, which has all of these parts.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: support::Outcome<T>, code: bt_code, parts: &[&str]) {
    let (status, text) = result.expect_err("it is refused");
    assert_eq!(status, code as i32, "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

#[test]
fn bt_pack_conv_takes_a_description_and_infers_the_next_source() {
    let x = random(&[2, 16, 9, 7], 1);
    let (w1, w2) = (random(&[32, 16, 3, 3], 2), random(&[8, 32, 1, 1], 3));
    let params = [ints(c"padding", &[1]), word(c"post_ops", c"relu")];
    let source = desc(&[2, 16, 9, 7], Some(c"blocked")).unwrap();
    let first = pack(bt_pack_conv, w1, 0, &params, source).unwrap();
    // The second is packed for what the first gives, and nothing has run yet.
    let middle = results(bt_op_infer, first, &[source]).unwrap();
    assert_eq!((middle.len(), info(middle[0]).0), (1, vec![2, 32, 9, 7]));
    let second = pack(bt_pack_conv, w2, 0, &[], middle[0]).unwrap();
    let xb = blocked(x);
    assert_eq!(info(source), info(xb));
    let a = run_packed(first, xb, 0).unwrap();
    let y = run_packed(second, a, 0).unwrap();
    let plain = call(c"conv2d", &[t(c"x", x), t(c"weights", w1), params[0], params[1]]).unwrap();
    let plain = call(c"conv2d", &[t(c"x", plain), t(c"weights", w2)]).unwrap();
    near(y, plain);
    // A live tensor and its description pack the same weights.
    let like = pack(bt_pack_conv, w1, 0, &params, xb).unwrap();
    assert_eq!(numbers(run_packed(like, xb, 0).unwrap()), numbers(a));
    // Strided sources in both formats.
    for format in [None, Some(c"channels_last")] {
        let like = desc(&[2, 16, 9, 7], format).unwrap();
        let packed = pack(bt_pack_conv, w1, 0, &params, like).unwrap();
        let wanted = preferred(packed, c"strided", &[x]).unwrap();
        assert_eq!(info(wanted[0]), info(like));
        let source = zeros(like).unwrap();
        assert_eq!(bt_reorder_into(x, source), 0);
        near(run_packed(packed, source, 0).unwrap(), a);
    }
}

#[test]
fn bt_desc_new_refuses_what_no_tensor_can_be() {
    refused(
        desc(&[1, 2], Some(c"nosuch")),
        bt_code::BT_INVALID_ARGUMENT,
        &["`bt_desc_new`", "`nosuch`", "`blocked`"],
    );
    refused(desc(&[1, -2], None), bt_code::BT_INVALID_ARGUMENT, &["dims", "[1, -2]", "not negative"]);
    refused(desc(&[1, 2], Some(c"nChw16c")), bt_code::BT_RANK_MISMATCH, &["nChw16c"]);
    refused(desc(&[1, 2], Some(c"channels_last")), bt_code::BT_RANK_MISMATCH, &["channels_last"]);
    refused(desc(&[i64::MAX; 3], None), bt_code::BT_OVERFLOW, &["dims"]);
    refused(zeros(0), bt_code::BT_NULL_POINTER, &["`bt_tensor_zeros`"]);
    let d = desc(&[1, 3, 2, 2], Some(c"channels_last")).unwrap();
    assert_eq!(support::described(bt_describe, d).unwrap(), "[1, 3, 2, 2] f32 channels_last");
    // A description has no elements.
    refused(
        call(c"relu", &[t(c"x", d)]),
        bt_code::BT_INVALID_HANDLE,
        &["a description", "the call takes a tensor"],
    );
    assert_eq!(numbers(zeros(d).unwrap()), [0.0; 12]);
    free(&[d]);
    refused(zeros(d), bt_code::BT_INVALID_HANDLE, &["was freed"]);
}

#[test]
fn packed_convolutions_fold_a_batch_norm() {
    let (x, w, b) = (random(&[1, 16, 6, 5], 1), random(&[24, 16, 3, 3], 2), random(&[24], 3));
    let (mean, weight, bias) = (random(&[24], 4), random(&[24], 5), random(&[24], 6));
    let var = tensor(&[24], &noise(24, 7).iter().map(|v| v.abs() + 0.1).collect::<Vec<f32>>());
    let norm = [t(c"norm_mean", mean), t(c"norm_var", var), t(c"norm_weight", weight), t(c"norm_bias", bias)];
    let conv = call(c"conv2d", &[t(c"x", x), t(c"weights", w), t(c"bias", b)]).unwrap();
    let tensors = [t(c"x", conv), t(c"mean", mean), t(c"var", var), t(c"weight", weight), t(c"bias", bias)];
    for (eps, params) in [(1e-5, &norm[..]), (0.5, &[&norm[..], &[float(c"norm_eps", 0.5)]].concat())] {
        let want = call(c"batch_norm", &[&tensors[..], &[float(c"eps", eps)]].concat()).unwrap();
        let xb = blocked(x);
        let folded = pack(bt_pack_conv, w, b, params, xb).unwrap();
        near(run_packed(folded, xb, 0).unwrap(), want);
    }
    // Mean and variance alone; and a transposed convolution, whose weights have other axes.
    let wt = random(&[16, 24, 2, 2], 8);
    let stride = ints(c"stride", &[2]);
    let conv = call(c"conv_transpose2d", &[t(c"x", x), t(c"weights", wt), stride]).unwrap();
    let want = call(c"batch_norm", &[t(c"x", conv), t(c"mean", mean), t(c"var", var)]).unwrap();
    let folded = pack(bt_pack_conv_transpose, wt, 0, &[norm[0], norm[1], stride], x).unwrap();
    near(run_packed(folded, x, 0).unwrap(), want);

    let invalid = bt_code::BT_INVALID_ARGUMENT;
    refused(
        pack(bt_pack_conv, w, b, &norm[..1], x),
        invalid,
        &["`bt_pack_conv`", "a mean and a variance", "`norm_var`"],
    );
    let number = [norm[0], norm[1], float(c"norm_weight", 1.0)];
    refused(pack(bt_pack_conv, w, b, &number, x), invalid, &["norm_weight", "got 1.0", "BT_ARG_TENSOR"]);
    let eps = [norm[0], norm[1], ints(c"norm_eps", &[1])];
    refused(pack(bt_pack_conv, w, b, &eps, x), invalid, &["norm_eps", "BT_ARG_FLOAT"]);
    let unknown = [norm[0], norm[1], float(c"norm_esp", 1.0)];
    refused(pack(bt_pack_conv, w, b, &unknown, x), invalid, &["norm_esp"]);
    let short = random(&[23], 9);
    let shapes = pack(bt_pack_conv, w, b, &[t(c"norm_mean", short), norm[1]], x);
    refused(shapes, bt_code::BT_SHAPE_MISMATCH, &["mean", "24"]);
    let blocked_mean = [t(c"norm_mean", blocked(x)), norm[1]];
    refused(
        pack(bt_pack_conv, w, b, &blocked_mean, x),
        bt_code::BT_KEY_MISMATCH,
        &["norm_mean", "bt_to_strided"],
    );
}

#[test]
fn packed_convolutions_have_one_to_three_spatial_dimensions() {
    let ranks: [(&[i64], &[i64], &[i64], _, _); 3] = [
        (&[1, 16, 9], &[8, 16, 3], &[16, 8, 3], c"conv1d", c"conv_transpose1d"),
        (&[1, 16, 5, 6], &[8, 16, 3, 3], &[16, 8, 3, 3], c"conv2d", c"conv_transpose2d"),
        (&[1, 16, 4, 5, 3], &[8, 16, 3, 3, 3], &[16, 8, 3, 3, 3], c"conv3d", c"conv_transpose3d"),
    ];
    for (dims, weights, transposed, conv, conv_transpose) in ranks {
        let x = random(dims, 1);
        let kinds: [(Pack, _, _); 2] =
            [(bt_pack_conv, weights, conv), (bt_pack_conv_transpose, transposed, conv_transpose)];
        for (function, weights, op) in kinds {
            let w = random(weights, 2);
            let want = call(op, &[t(c"x", x), t(c"weights", w)]).unwrap();
            near(run_packed(pack(function, w, 0, &[], x).unwrap(), x, 0).unwrap(), want);
        }
    }
    let (x, w) = (random(&[4, 4], 1), random(&[8, 16, 3], 2));
    refused(
        pack(bt_pack_conv_transpose, w, 0, &[], x),
        bt_code::BT_RANK_MISMATCH,
        &["`like`", "rank 2", "rank 3 to 5"],
    );
    let output_padding = [ints(c"output_padding", &[1])];
    let x = random(&[1, 16, 9], 1);
    let only = pack(bt_pack_conv, w, 0, &output_padding, x);
    refused(only, bt_code::BT_INVALID_ARGUMENT, &["output_padding", "transposed"]);
}

#[test]
fn packed_runs_check_the_residual_and_pass_vectors_to_operators() {
    let (x, w) = (blocked(random(&[1, 16, 4, 4], 1)), random(&[16, 16, 1, 1], 2));
    let plain = pack(bt_pack_conv, w, 0, &[], x).unwrap();
    let sum = pack(bt_pack_conv, w, 0, &[word(c"post_ops", c"residual,relu")], x).unwrap();
    let scaled = pack(bt_pack_conv, w, 0, &[word(c"post_ops", c"mul_channel")], x).unwrap();
    let invalid = bt_code::BT_INVALID_ARGUMENT;
    refused(run_packed(plain, x, x), invalid, &["residual", "take x;", "pass 0"]);
    refused(run_packed(sum, x, 0), invalid, &["take x, residual", "pass a tensor"]);
    refused(run_packed(scaled, x, 0), invalid, &["take x, channel", "`bt_op_run`"]);
    let y = run_packed(plain, x, 0).unwrap();
    let want = call(c"add", &[t(c"a", y), t(c"b", x)]).map(|s| call(c"relu", &[t(c"x", s)]).unwrap());
    near(run_packed(sum, x, x).unwrap(), want.unwrap());
    let factors = tensor(&[16], &[3.0; 16]);
    let three = results(bt_op_run, scaled, &[x, factors]).unwrap();
    let thrice: Vec<f32> = numbers(y).iter().map(|v| v * 3.0).collect();
    assert!(distance(&numbers(three[0]), &thrice) < NEAR);
    let linear = pack_linear(random(&[3, 5], 1), 0, 2).unwrap();
    refused(run_packed(linear, random(&[2, 5], 2), x), invalid, &["residual", "take x"]);
}

#[cfg(not(feature = "onednn"))]
#[test]
fn bt_pack_stem_is_refused_without_the_engine() {
    let (like, w) = (desc(&[1, 3, 8, 8], None).unwrap(), random(&[16, 3, 3, 3], 1));
    refused(pack_stem(w, &[], like, None), bt_code::BT_UNSUPPORTED_OP, &["conv2d"]);
}

#[cfg(feature = "onednn")]
#[test]
fn bt_pack_stem_reads_a_strided_image_and_writes_a_blocked_result() {
    let (x, w) = (random(&[2, 3, 19, 18], 1), random(&[32, 3, 7, 7], 2));
    let params = [ints(c"stride", &[2]), ints(c"padding", &[3]), word(c"post_ops", c"relu")];
    let want = call(c"conv2d", &[&[t(c"x", x), t(c"weights", w)], &params[..]].concat()).unwrap();
    let like = desc(&[2, 3, 19, 18], None).unwrap();
    let stem = pack_stem(w, &params, like, None).unwrap();
    let mut y = 0;
    let status = inside(bt_deny_reorders, || match run_packed(stem, x, 0) {
        Ok(result) => {
            y = result;
            0
        }
        Err((status, _)) => status,
    });
    assert_eq!(status, 0);
    assert_eq!(info(y).1, "blocked");
    near(y, want);
    let eight = pack_stem(w, &params, x, Some(c"nChw8c")).unwrap();
    assert_eq!(info(run_packed(eight, x, 0).unwrap()).2, "nChw8c");
    // A description of a blocked source, a layout that no stem writes, and no layout at all.
    let mismatch = bt_code::BT_LAYOUT_MISMATCH;
    refused(
        pack_stem(w, &params, desc(&[2, 3, 19, 18], Some(c"blocked")).unwrap(), None),
        mismatch,
        &["strided"],
    );
    refused(pack_stem(w, &params, like, Some(c"OIhw16i16o")), mismatch, &["OIhw16i16o"]);
    refused(pack_stem(w, &params, like, Some(c"nChw")), bt_code::BT_INVALID_ARGUMENT, &["nChw"]);
}

/// A folder of its own, removed at the end.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn packed_files_replace_the_target_of_a_link_and_are_written_to_devices() {
    let folder = folder();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, "weights of someone").unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    let (writer, fc) = (writer(false), pack_linear(random(&[10, 16], 6), 0, 2).unwrap());
    add(writer, c"fc", fc).unwrap();
    let other = save(writer, &link);
    refused(other, bt_code::BT_FILE_ACCESS, &["it exists, and is not a file of packed weights", "remove it"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"weights of someone");
    std::fs::write(&target, "").unwrap();
    save(writer, &link).unwrap();
    save(writer, &link).unwrap();
    assert!(link.is_symlink());
    open(bt_packed_file_read, &target, false).unwrap();
    save(writer, std::path::Path::new("/dev/null")).unwrap();
    let full = save(writer, std::path::Path::new("/dev/full"));
    refused(full, bt_code::BT_FILE_ACCESS, &["`bt_packed_writer_save`", "No space left", "make room"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn packed_files_return_every_kind_to_the_bit() {
    let folder = folder();
    let path = folder.path().join("net.packed");
    let x = random(&[1, 16, 8, 8], 1);
    let xb = blocked(x);
    let line = random(&[2, 16], 2);
    let params = [ints(c"padding", &[1])];
    let conv = pack(bt_pack_conv, random(&[16, 16, 3, 3], 3), random(&[16], 4), &params, xb).unwrap();
    let up = pack(bt_pack_conv_transpose, random(&[16, 8, 2, 2], 5), 0, &[ints(c"stride", &[2])], x).unwrap();
    let fc = pack_linear(random(&[10, 16], 6), 0, 2).unwrap();
    let stem = cfg!(feature = "onednn").then(|| {
        let image = random(&[1, 3, 9, 9], 7);
        (c"stem", pack_stem(random(&[16, 3, 3, 3], 8), &params, image, None).unwrap(), image)
    });
    let mut items = vec![(c"fc", fc, line), (c"layer.conv", conv, xb)];
    items.extend(stem);
    items.push((c"up\n", up, x));
    for keep_plain in [false, true] {
        let writer = writer(keep_plain);
        items.iter().for_each(|(name, packed, _)| add(writer, name, *packed).unwrap());
        refused(
            add(writer, c"fc", fc),
            bt_code::BT_INVALID_ARGUMENT,
            &["`bt_packed_writer_add`", "`fc` again"],
        );
        refused(
            add(writer, c"x", x),
            bt_code::BT_INVALID_HANDLE,
            &["a tensor, but the call takes packed weights"],
        );
        save(writer, &path).unwrap();
        free(&[writer]);
        for function in [bt_packed_file_read, bt_packed_file_map] {
            for repack in [false, true] {
                let file = open(function, &path, repack).unwrap();
                let known: Vec<String> =
                    items.iter().map(|(name, ..)| name.to_str().unwrap().to_string()).collect();
                assert_eq!(names(file).unwrap(), known);
                let found: Vec<bt_handle> = items.iter().map(|(name, ..)| get(file, name).unwrap()).collect();
                refused(get(file, c"nobody"), bt_code::BT_INVALID_ARGUMENT, &["`nobody`", "fc"]);
                // The packed weights keep the file.
                free(&[file]);
                for (read, (_, packed, source)) in found.into_iter().zip(&items) {
                    let (got, want) = (run_packed(read, *source, 0), run_packed(*packed, *source, 0));
                    assert_eq!(numbers(got.unwrap()), numbers(want.unwrap()));
                    free(&[read]);
                }
            }
        }
    }
}

#[test]
fn packed_files_refuse_other_files_and_other_threads_unless_they_may_pack_again() {
    let folder = folder();
    let (path, plain) = (folder.path().join("one.packed"), folder.path().join("one.kept"));
    let (x, w) = (random(&[1, 16, 5, 5], 1), random(&[16, 16, 1, 1], 2));
    let conv = pack(bt_pack_conv, w, 0, &[], x).unwrap();
    for (keep_plain, path) in [(false, &path), (true, &plain)] {
        let writer = writer(keep_plain);
        add(writer, c"conv", conv).unwrap();
        save(writer, path).unwrap();
        let nowhere = folder.path().join("no/such/folder");
        refused(save(writer, &nowhere), bt_code::BT_FILE_ACCESS, &["no/such/folder"]);
    }
    let want = numbers(run_packed(conv, x, 0).unwrap());
    let mut threads = 0;
    // SAFETY: a place for the result.
    outcome(unsafe { bt_thread_count(&mut threads) }, ()).unwrap();
    unsafe extern "C" fn other(body: bt_body, context: *mut std::ffi::c_void) -> bt_status {
        let mut threads = 0;
        // SAFETY: a place, and what the caller passes.
        unsafe {
            if bt_thread_count(&mut threads) == 0 {
                bt_run_with_threads(threads + 1, body, context)
            } else {
                -1
            }
        }
    }
    let status = inside(other, || {
        let file = open(bt_packed_file_read, &path, false).unwrap();
        refused(get(file, c"conv"), bt_code::BT_PACK_MISMATCH, &["packed for", "threads"]);
        // Allowed to pack again, but the file keeps no plain weights.
        let file = open(bt_packed_file_map, &path, true).unwrap();
        refused(get(file, c"conv"), bt_code::BT_PACK_MISMATCH, &["no plain weights"]);
        let again = get(open(bt_packed_file_map, &plain, true).unwrap(), c"conv").unwrap();
        assert!(distance(&numbers(run_packed(again, x, 0).unwrap()), &want) < NEAR);
        refused(run_packed(conv, x, 0), bt_code::BT_PACK_MISMATCH, &["threads"]);
        0
    });
    assert_eq!(status, 0);

    for function in [bt_packed_file_read, bt_packed_file_map] {
        refused(open(function, folder.path(), false), bt_code::BT_FILE_ACCESS, &["a directory"]);
        refused(open(function, &folder.path().join("none"), true), bt_code::BT_FILE_ACCESS, &["none"]);
        let damaged = folder.path().join("damaged");
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&damaged, bytes).unwrap();
        refused(open(function, &damaged, false), bt_code::BT_CORRUPT_FILE, &["damaged"]);
    }
    let file = open(bt_packed_file_read, &path, false).unwrap();
    assert!(support::described(bt_describe, file).unwrap().contains("1 packed ops"));
    let writer = writer(true);
    refused(
        add(file, c"conv", conv),
        bt_code::BT_INVALID_HANDLE,
        &["a packed file, but the call takes a writer"],
    );
    refused(
        get(writer, c"conv"),
        bt_code::BT_INVALID_HANDLE,
        &["a writer of packed files, but the call takes a packed file"],
    );
    refused(
        take_named(file, c"conv"),
        bt_code::BT_INVALID_HANDLE,
        &["a packed file, but the call takes a state dict"],
    );
    assert_eq!(support::described(bt_describe, writer).unwrap(), "a writer of 0 packed ops");
}

#[test]
fn texts_of_packing_and_files_lead_on() {
    let (x, w, zeros) = (random(&[1, 8, 6, 6], 1), random(&[4, 8, 1, 1], 2), tensor(&[4], &[0.0; 4]));
    let norm = [t(c"norm_mean", zeros), t(c"norm_var", zeros), float(c"norm_eps", -1.0)];
    let eps = pack(bt_pack_conv, w, 0, &norm, x);
    refused(eps, bt_code::BT_INVALID_ARGUMENT, &["argument `norm_eps`"]);
    let mut out = 0;
    // SAFETY: strings and places.
    let to = |name: &std::ffi::CStr| unsafe { outcome(bt_to_strided(x, name.as_ptr(), &mut out), ()) };
    let [foo, preserve] = [c"foo", c"preserve"].map(to);
    let (_, text) = foo.expect_err("no format");
    assert!(text.contains("use contiguous") && !text.contains("preserve"), "{text}");
    assert!(preserve.is_err());
}
