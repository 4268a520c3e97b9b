//! Models and plans: wrong use and bad files are errors with a code and a text, and give nothing.

use std::path::Path;
use std::ptr::{null, null_mut};

use blocktensor_c::bt_code::*;
use blocktensor_c::*;

mod support;

use support::calls::{cast, open};
use support::{
    array, described, from_data, infos, load, load_plan, outcome, plan, refused, run, save_plan, stored,
    take, tensor,
};

#[test]
fn files_that_are_no_models_are_errors() {
    refused(
        load("/no/such/model.onnx".as_ref()),
        BT_FILE_ACCESS,
        &["/no/such/model.onnx: ", "pass the path of an existing file"],
    );
    refused(
        load(&stored("")),
        BT_FILE_ACCESS,
        &["is a directory", "pass the path of the model's file in it"],
    );
    // As `bt_dict_load` and `bt_plan_load`.
    refused(load("".as_ref()), BT_FILE_ACCESS, &["the model: an empty path", "pass the path of an existing"]);
    let device = Path::new("/dev/null");
    refused(load(device), BT_FILE_ACCESS, &["/dev/null: a pipe or a device", "copy it into a file"]);
    for path in [Path::new(""), device] {
        refused(load_plan(path, false), BT_FILE_ACCESS, &[]);
    }
    refused(load(&stored("resnet.image.npy")), BT_CORRUPT_FILE, &["not an ONNX model"]);
    refused(load(&stored("index.json")), BT_CORRUPT_FILE, &["not an ONNX model"]);
    refused(from_data(b""), BT_CORRUPT_FILE, &["not an ONNX model"]);
    let whole = std::fs::read(stored("resnet.onnx")).unwrap();
    for end in [1, 100, whole.len() / 2, whole.len() - 1] {
        refused(from_data(&whole[..end]), BT_CORRUPT_FILE, &[]);
    }
    // Two initializers of one name.
    let twice = replaced(&whole, b"onnx::Conv_91", b"onnx::Conv_92");
    refused(from_data(&twice), BT_CORRUPT_FILE, &["onnx::Conv_92"]);
    // A newer operator set.
    let newer = replaced(&whole, &[0x42, 2, 0x10, 17], &[0x42, 2, 0x10, 99]);
    refused(from_data(&newer), BT_UNSUPPORTED_OP, &["version 99 of ONNX's operator set"]);
}

#[test]
fn a_plan_and_a_model_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.plan");
    let graph = blocktensor_onnx::from_path(&stored("resnet.onnx")).unwrap();
    let options = blocktensor_graph::PlanOptions::new(blocktensor_graph::Layouts::Nchw).size("batch", 1);
    graph.plan(&options).unwrap().save(&path, false).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for got in [load(&path), from_data(&bytes)] {
        let said = refused(got, BT_CORRUPT_FILE, &["a plan", "`bt_plan_load`"]);
        assert!(!said.contains("::"), "{said}");
    }
    let plan = load_plan(&path, false).unwrap();
    refused(save_plan(plan, Path::new(""), false), BT_FILE_ACCESS, &["an empty path", "file to write"]);
    assert_eq!(bt_free(plan), 0);
    // Weights are no plan, and packing them makes none.
    let plain = folder.path().join("plain.safetensors");
    blocktensor::StateDict::new().save(&plain).unwrap();
    for replan in [false, true] {
        let parts = ["without packed weights", "pass a file that `bt_plan_save` wrote"];
        refused(load_plan(&plain, replan), BT_CORRUPT_FILE, &parts);
    }
    for replan in [false, true] {
        let said = refused(
            load_plan(&stored("resnet.onnx"), replan),
            BT_CORRUPT_FILE,
            &["an ONNX model", "`bt_model_load`"],
        );
        assert!(!said.contains("::"), "{said}");
    }
    let of = |model| refused(model, BT_CORRUPT_FILE, &["an ONNX model", "`bt_model_load`"]);
    for repack in [false, true] {
        let model = stored("resnet.onnx");
        for said in
            [of(open(bt_packed_file_read, &model, repack)), of(open(bt_packed_file_map, &model, repack))]
        {
            assert!(!said.contains("::"), "{said}");
        }
        assert_eq!(bt_free(open(bt_packed_file_read, &path, repack).unwrap()), 0);
    }
}

/// The bytes with every `from` replaced by `to`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let found: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(from)).collect();
    assert!(!found.is_empty());
    found.into_iter().for_each(|i| bytes[i..i + from.len()].copy_from_slice(to));
    bytes
}

#[test]
fn nodes_that_cannot_run_are_all_listed_and_can_be_cut_off() {
    let whole = std::fs::read(stored("resnet.onnx")).unwrap();
    // The op of a node is field 4. A model with nodes that cannot run can be read.
    let model = from_data(&replaced(&whole, b"\x22\x04Relu", b"\x22\x04Nope")).unwrap();
    let said = refused(
        plan(model, Some("blocked"), &[("batch", 2)], &[]),
        BT_UNSUPPORTED_OP,
        &[
            "8 nodes cannot run:",
            "\n  node `/net/stem/stem.0/stem.0.2/Relu`: Nope: ",
            "\n  node `/net/Relu`: Nope",
        ],
    );
    assert_eq!(said.matches(": Nope").count(), 8, "{said}");
    let (_, computable) = said.split_once("(choose them as outputs): `").unwrap();
    let (first, _) = computable.split_once('`').unwrap();
    let cut = plan(model, Some("blocked"), &[("batch", 2)], &[first]).unwrap();
    assert_eq!(infos(bt_plan_outputs, cut).unwrap()[0].0, first);
    assert_eq!((bt_free(cut), bt_free(model)), (0, 0));
}

#[test]
fn wrong_plans_are_errors() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let two: &[(&str, i64)] = &[("batch", 2)];
    refused(
        plan(model, Some("nchw16c"), two, &[]),
        BT_INVALID_ARGUMENT,
        &["bt_plan_new", "argument `layout`", "`nchw16c`", "nchw, nhwc, blocked, measured"],
    );
    let options = |list| plan(model, Some(list), two, &[]);
    refused(options("blocked, precision=f64"), BT_INVALID_ARGUMENT, &["option `precision`", "`f64`"]);
    refused(
        options("layout=nchw"),
        BT_INVALID_ARGUMENT,
        &["bt_plan_new", "`layout`", "the options are layouts, exact"],
    );
    assert_eq!(bt_free(options("nhwc,exact, strict=0,reorders=9").unwrap()), 0);
    refused(plan(model, None, &[], &[]), BT_INVALID_ARGUMENT, &["input `image`", "`batch` without a number"]);
    assert!(!plan(model, None, &[], &[]).unwrap_err().1.contains("--"));
    let others: &[(&str, i64)] = &[("batch", 2), ("height", 3)];
    refused(plan(model, None, others, &[]), BT_INVALID_ARGUMENT, &["`height`", "the names are `batch`"]);
    refused(plan(model, None, &[("batch", -2)], &[]), BT_INVALID_ARGUMENT, &["-2 for `batch`"]);
    let twice: &[(&str, i64)] = &[("batch", 1), ("batch", 2)];
    refused(plan(model, None, twice, &[]), BT_INVALID_ARGUMENT, &["1 and 2 for `batch`"]);
    refused(plan(model, None, two, &["nothing"]), BT_INVALID_ARGUMENT, &["`nothing`"]);
    refused(plan(model, None, two, &["output", "output"]), BT_INVALID_ARGUMENT, &["`output`"]);
    refused(plan(model, None, &[("batch", i64::MAX)], &[]), BT_OVERFLOW, &[]);
    assert_eq!(bt_free(model), 0);
}

#[test]
fn wrong_inputs_of_a_run_are_errors() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let made = plan(model, Some("blocked"), &[("batch", 2)], &[]).unwrap();
    let (dims, image) = array("resnet.image.npy");
    let x = tensor(&dims, &image);
    let few = tensor(&[1, 3, 44, 60], &image[..image.len() / 2]);
    let (mut blocked, mut last) = (0, 0);
    // SAFETY: strings, and places for results.
    unsafe {
        assert_eq!(bt_to_blocked(x, null(), &mut blocked), 0);
        assert_eq!(bt_to_strided(x, c"channels_last".as_ptr(), &mut last), 0);
    }
    let go = |inputs: &[bt_handle]| run(bt_plan_run, made, inputs);
    refused(go(&[]), BT_INVALID_ARGUMENT, &["0 tensors", "image"]);
    refused(go(&[x, x]), BT_INVALID_ARGUMENT, &["2 tensors"]);
    refused(go(&[few]), BT_INVALID_ARGUMENT, &["input `image`", "[1, 3, 44, 60]", "plan the graph again"]);
    refused(go(&[blocked]), BT_OPAQUE_LAYOUT, &["bt_plan_run", "`inputs`", "bt_to_strided"]);
    refused(go(&[last]), BT_INVALID_ARGUMENT, &["input `image`", "row-major"]);
    let half = cast(x, bt_dtype::BT_F16 as i32).unwrap();
    for got in [go(&[half]), run(bt_model_run, model, &[half])] {
        let said = refused(got, BT_INVALID_ARGUMENT, &["f16", "`bt_cast(t, BT_F32, &out)`"]);
        assert!(!said.contains("other sizes") && !said.contains("these sizes"), "{said}");
    }
    refused(go(&[0]), BT_NULL_POINTER, &["`inputs`"]);
    refused(go(&[made]), BT_INVALID_HANDLE, &["a plan, but the call takes a tensor"]);
    // Too little room: the number of outputs is told, and nothing runs.
    let (mut outs, mut count) = ([7; 1], 0);
    // SAFETY: arrays of the lengths that are passed.
    let status = unsafe { bt_plan_run(made, &x, 1, outs.as_mut_ptr(), 0, &mut count) };
    refused(outcome(status, ()), BT_INVALID_ARGUMENT, &["room for 0", "there is 1 output"]);
    assert_eq!((outs, count), ([7], 1));
    // The next run works.
    let good = go(&[x]).unwrap();
    assert_eq!(take(good[0], 20).len(), 20);
    for handle in [model, made, x, few, blocked, last, half] {
        assert_eq!(bt_free(handle), 0);
    }
}

#[test]
fn null_pointers_bad_text_and_wrong_handles_are_errors() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let made = plan(model, Some("blocked"), &[("batch", 2)], &[]).unwrap();
    let x = tensor(&[1], &[0.0]);
    let mut out = 0;
    let no_name = bt_named_size { name: null(), size: 1 };
    let bad_name = bt_named_size { name: c"\xff".as_ptr(), size: 1 };
    let (nothing, bad): ([*const std::ffi::c_char; 1], _) = ([null()], [c"\xff".as_ptr()]);
    let mut room = [0u64; 3];
    let odd = room.as_mut_ptr().cast::<u8>().wrapping_add(1).cast::<bt_handle>();
    let (null_code, argument) = (BT_NULL_POINTER as i32, BT_INVALID_ARGUMENT as i32);
    // SAFETY: null and misaligned pointers are looked at before they are used; everything else is as the functions ask.
    unsafe {
        assert_eq!(bt_model_load(null(), &mut out), null_code);
        assert_eq!(bt_model_load(c"\xff".as_ptr(), &mut out), argument);
        assert_eq!(bt_model_load(c"/no/such/file".as_ptr(), null_mut()), null_code);
        assert_eq!(bt_model_load(c"/no/such/file".as_ptr(), odd), BT_MISALIGNED as i32);
        assert_eq!(bt_model_from_data(null(), 5, &mut out), null_code);
        assert_eq!(bt_model_from_data(null(), 0, &mut out), BT_CORRUPT_FILE as i32);
        assert_eq!(bt_model_from_data(c"onnx".as_ptr().cast(), 4, null_mut()), null_code);
        assert_eq!(bt_model_inputs(model, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_model_inputs(model, null_mut(), 0, odd.cast()), BT_MISALIGNED as i32);
        assert_eq!(bt_model_outputs(model, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_plan_inputs(made, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_plan_outputs(made, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_plan_text(made, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_plan_new(model, null(), null(), 1, null(), 0, &mut out), null_code);
        assert_eq!(bt_plan_new(model, null(), &no_name, 1, null(), 0, &mut out), null_code);
        assert_eq!(bt_plan_new(model, null(), &bad_name, 1, null(), 0, &mut out), argument);
        assert_eq!(bt_plan_new(model, null(), null(), 0, null(), 1, &mut out), null_code);
        assert_eq!(bt_plan_new(model, null(), null(), 0, nothing.as_ptr(), 1, &mut out), null_code);
        assert_eq!(bt_plan_new(model, null(), null(), 0, bad.as_ptr(), 1, &mut out), argument);
        assert_eq!(bt_plan_new(model, c"\xff".as_ptr(), null(), 0, null(), 0, &mut out), argument);
        assert_eq!(bt_plan_new(model, null(), null(), 0, null(), 0, null_mut()), null_code);
        assert_eq!(bt_plan_save(made, null(), false), null_code);
        assert_eq!(bt_plan_save(made, bad[0], false), argument);
        assert_eq!(bt_plan_load(null(), false, &mut out), null_code);
        assert_eq!(bt_plan_load(bad[0], false, &mut out), argument);
        assert_eq!(bt_plan_load(c"none".as_ptr(), false, null_mut()), null_code);
        assert_eq!(bt_plan_run(made, null(), 1, &mut out, 1, null_mut()), null_code);
        assert_eq!(bt_plan_run(made, &x, 1, null_mut(), 1, null_mut()), null_code);
        assert_eq!(bt_model_run(model, null(), 1, &mut out, 1, null_mut()), null_code);
        assert_eq!(bt_model_run(model, &x, 1, odd, 1, null_mut()), BT_MISALIGNED as i32);
    }
    assert_eq!(out, 0);
    // A handle of another kind, none, and one that was freed.
    assert_eq!(bt_free(x), 0);
    for (not_a_plan, code) in [(model, BT_INVALID_HANDLE), (0, BT_NULL_POINTER), (x, BT_INVALID_HANDLE)] {
        refused(infos(bt_plan_inputs, not_a_plan), code, &["bt_plan_inputs", "`plan`"]);
        refused(infos(bt_plan_outputs, not_a_plan), code, &["bt_plan_outputs", "`plan`"]);
        refused(described(bt_plan_text, not_a_plan), code, &["bt_plan_text", "`plan`"]);
        refused(run(bt_plan_run, not_a_plan, &[]), code, &["bt_plan_run", "`plan`"]);
    }
    for (not_a_model, code) in [(made, BT_INVALID_HANDLE), (0, BT_NULL_POINTER), (x, BT_INVALID_HANDLE)] {
        refused(infos(bt_model_inputs, not_a_model), code, &["bt_model_inputs", "`model`"]);
        refused(run(bt_model_run, not_a_model, &[]), code, &["bt_model_run", "`model`"]);
        refused(plan(not_a_model, None, &[], &[]), code, &["bt_plan_new", "`model`"]);
        // SAFETY: a null array has no room.
        let status = unsafe { bt_model_outputs(not_a_model, null_mut(), 0, null_mut()) };
        refused(outcome(status, ()), code, &["bt_model_outputs", "`model`"]);
    }
    assert_eq!((bt_free(made), bt_free(model), bt_free(model)), (0, 0, BT_INVALID_HANDLE as i32));
}
