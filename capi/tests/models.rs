//! The small exported networks through the C interface: answers, what the functions tell, several threads.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use blocktensor_c::*;

mod support;

use support::calls::recorded;
use support::{
    array, described, distance, elements, from_data, infos, load, load_plan, outcome, plan, refused, run,
    save_plan, stored, take, tensor, text,
};

/// Networks, and the forms of their files: of both of PyTorch's exporters, and quantised by ONNX Runtime.
const NETWORKS: [(&str, [&str; 2]); 6] = [
    ("resnet", ["", ".dynamo"]),
    ("mobilenet", ["", ".dynamo"]),
    ("unet", ["", ".dynamo"]),
    ("densenet", ["", ".dynamo"]),
    ("hybrid", ["", ".dynamo"]),
    ("quantised", [".qdq", ".qoperator"]),
];
const LAYOUTS: [&str; 3] = ["nchw", "nhwc", "blocked"];

/// The named sizes of a model's inputs, with the sizes of the image.
fn sizes(model: bt_handle, dims: &[i64]) -> Vec<(String, i64)> {
    let inputs = infos(bt_model_inputs, model).unwrap();
    let all = inputs[0].1.iter().zip(dims);
    all.filter(|(name, _)| name.parse::<i64>().is_err()).map(|(name, &size)| (name.clone(), size)).collect()
}

#[test]
fn the_small_networks_give_their_stored_answers_in_every_layout() {
    for (name, forms) in NETWORKS {
        let (dims, image) = array(&format!("{name}.image.npy"));
        let (_, want) = array(&format!("{name}.output.npy"));
        let x = tensor(&dims, &image);
        for form in forms {
            let model = load(&stored(&format!("{name}{form}.onnx"))).unwrap();
            let sizes = sizes(model, &dims);
            let sizes: Vec<(&str, i64)> = sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
            for layout in LAYOUTS {
                let plan = plan(model, Some(layout), &sizes, &[]).unwrap();
                let outs = run(bt_plan_run, plan, &[x]).unwrap();
                assert_eq!(outs.len(), 1);
                let apart = distance(&take(outs[0], want.len()), &want);
                assert!(apart < 1e-5, "{name}{form} in {layout}: {apart:e}");
                let said = described(bt_describe, plan).unwrap();
                assert!(said.starts_with(&format!("layouts: {layout}\n")), "{said}");
                assert_eq!(bt_free(plan), 0);
            }
            assert_eq!(bt_free(model), 0);
        }
        assert_eq!(bt_free(x), 0);
    }
}

#[test]
fn models_and_plans_tell_what_they_take_and_give() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let open = |dims: &[&str]| vec![("image".to_string(), dims.iter().map(|d| d.to_string()).collect())];
    assert_eq!(infos(bt_model_inputs, model).unwrap(), open(&["batch", "3", "44", "60"]));
    let (mut names, mut count) = ([std::ptr::null(); 3], 0);
    // SAFETY: an array of that length.
    let status = unsafe { bt_model_outputs(model, names.as_mut_ptr(), names.len(), &mut count) };
    outcome(status, ()).unwrap();
    assert_eq!((count, text(names[0]).as_str(), names[1].is_null()), (1, "output", true));
    let said = described(bt_describe, model).unwrap();
    assert!(said.starts_with("input image: f32 [batch, 3, 44, 60]\noutput output\nnodes: 24"), "{said}");

    let three = plan(model, Some("nhwc"), &[("batch", 3)], &[]).unwrap();
    // A plan and its strings outlive the model.
    assert_eq!(bt_free(model), 0);
    assert_eq!(infos(bt_plan_inputs, three).unwrap(), open(&["3", "3", "44", "60"]));
    assert_eq!(infos(bt_plan_outputs, three).unwrap(), [("output".into(), vec!["3".into(), "10".into()])]);
    let said = described(bt_plan_text, three).unwrap();
    assert_eq!(said, described(bt_describe, three).unwrap());
    assert!(said.contains(": conv2d + relu (image) -> ") && said.contains("\narena: "), "{said}");
    assert_eq!(bt_free(three), 0);
}

#[test]
fn plans_are_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.plan");
    let model = load(&stored("resnet.onnx")).unwrap();
    let (dims, image) = array("resnet.image.npy");
    let x = tensor(&dims, &image);
    let made = plan(model, Some("blocked"), &[("batch", 2)], &[]).unwrap();
    let want = take(run(bt_plan_run, made, &[x]).unwrap()[0], 20);
    for keep_plain in [false, true] {
        // The second time, a plan is there already.
        assert_eq!(save_plan(made, &path, keep_plain), Ok(()));
        let read = load_plan(&path, false).unwrap();
        assert_eq!(infos(bt_plan_inputs, read), infos(bt_plan_inputs, made));
        assert_eq!(infos(bt_plan_outputs, read), infos(bt_plan_outputs, made));
        assert_eq!(described(bt_plan_text, read), described(bt_plan_text, made));
        assert_eq!(take(run(bt_plan_run, read, &[x]).unwrap()[0], 20), want);
        // On other threads than it was packed for, and the remedies.
        let threads = blocktensor::current_threads() + 1;
        let elsewhere = |replan| {
            let load = || Ok::<_, blocktensor::Error>(load_plan(&path, replan));
            blocktensor::run_with_threads(threads, load).unwrap()
        };
        let said = refused(
            elsewhere(false),
            bt_code::BT_PACK_MISMATCH,
            &["`bt_plan_load`: argument `path`", "threads"],
        );
        assert!(!said.contains("::") && said.contains("`replan of bt_plan_load`") == keep_plain, "{said}");
        match keep_plain {
            true => assert_eq!(bt_free(elsewhere(true).unwrap()), 0),
            false => drop(refused(
                elsewhere(true),
                bt_code::BT_PACK_MISMATCH,
                &["`bt_plan_load`: argument `path`", "keep_plain"],
            )),
        }
        assert_eq!(bt_free(read), 0);
    }
    // What is there and no plan stays.
    let weights = folder.path().join("weights");
    std::fs::write(&weights, "weights of someone").unwrap();
    let said =
        refused(save_plan(made, &weights, false), bt_code::BT_FILE_ACCESS, &["bt_plan_save", "it exists"]);
    assert!(!said.contains("::"), "{said}");
    assert_eq!(std::fs::read(&weights).unwrap(), b"weights of someone");
    refused(save_plan(x, &path, false), bt_code::BT_INVALID_HANDLE, &["bt_plan_save", "`plan`"]);
    for handle in [model, made, x] {
        assert_eq!(bt_free(handle), 0);
    }
}

#[test]
fn a_plan_may_be_cut_at_values_inside_the_model() {
    let model = from_data(&std::fs::read(stored("resnet.onnx")).unwrap()).unwrap();
    let stem = "/net/stem/stem.0/stem.0.2/Relu_output_0";
    let cut = plan(model, Some("blocked"), &[("batch", 2)], &["output", stem]).unwrap();
    let outputs = infos(bt_plan_outputs, cut).unwrap();
    assert_eq!((outputs[0].0.as_str(), outputs[1].0.as_str()), ("output", stem));
    let (dims, image) = array("resnet.image.npy");
    let x = tensor(&dims, &image);
    let outs = run(bt_plan_run, cut, &[x]).unwrap();
    let (_, want) = array("resnet.output.npy");
    assert!(distance(&take(outs[0], want.len()), &want) < 1e-5);
    let count = outputs[1].1.iter().map(|d| d.parse::<usize>().unwrap()).product();
    let features = take(outs[1], count);
    assert!(features.iter().all(|&v| v >= 0.0) && features.iter().any(|&v| v > 0.0));
    for handle in [model, cut, x] {
        assert_eq!(bt_free(handle), 0);
    }
}

#[test]
fn bt_model_run_plans_for_the_sizes_that_come() {
    let model = load(&stored("resnet.dynamo.onnx")).unwrap();
    let (dims, image) = array("resnet.image.npy");
    let (_, want) = array("resnet.output.npy");
    let (both, first) = (tensor(&dims, &image), tensor(&[1, 3, 44, 60], &image[..image.len() / 2]));
    for (x, count) in [(both, 20), (both, 20), (first, 10), (both, 20)] {
        let outs = run(bt_model_run, model, &[x]).unwrap();
        assert!(distance(&take(outs[0], count), &want[..count]) < 1e-5);
    }
    let wrong = tensor(&[2, 3, 60, 44], &image);
    let (code, said) = run(bt_model_run, model, &[wrong]).unwrap_err();
    assert_eq!(code, bt_code::BT_INVALID_ARGUMENT as i32);
    assert!(said.contains("input `image`") && said.contains("[batch, 3, 44, 60], batch = 2"), "{said}");
    let (code, said) = run(bt_model_run, model, &[both, both]).unwrap_err();
    assert_eq!(code, bt_code::BT_INVALID_ARGUMENT as i32);
    assert!(said.contains("2 tensors") && said.contains("image"), "{said}");
    for handle in [model, both, first, wrong] {
        assert_eq!(bt_free(handle), 0);
    }
}

/// Threads run one plan on images of their own, and get the numbers that a single thread gets. The handle is freed meanwhile.
#[test]
fn many_threads_run_one_plan() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let (dims, image) = array("resnet.image.npy");
    for layout in ["blocked", "nchw"] {
        let shared = plan(model, Some(layout), &[("batch", 2)], &[]).unwrap();
        let images: Vec<bt_handle> =
            (1..=6).map(|i| tensor(&dims, &image.iter().map(|v| v * i as f32).collect::<Vec<_>>())).collect();
        let once = |x: bt_handle| run(bt_plan_run, shared, &[x]).map(|outs| take(outs[0], 20));
        let alone: Vec<Vec<f32>> = images.iter().map(|&x| once(x).unwrap()).collect();
        std::thread::scope(|s| {
            for (&x, want) in images.iter().zip(&alone) {
                s.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(once(x).unwrap(), *want);
                    }
                });
            }
        });
        std::thread::scope(|s| {
            let (images, alone, once) = (&images, &alone, &once);
            for thread in 0..4 {
                s.spawn(move || {
                    // A run ends well even if the handle is freed under it. Later runs are refused.
                    let mut runs = 0;
                    let (code, said) = loop {
                        match once(images[thread]) {
                            Ok(got) => assert_eq!(got, alone[thread]),
                            Err(error) => break error,
                        }
                        runs += 1;
                        assert!(runs < 1_000_000);
                    };
                    assert_eq!(code, bt_code::BT_INVALID_HANDLE as i32);
                    assert!(said.contains("was freed"), "{said}");
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_eq!(bt_free(shared), 0);
        });
        images.into_iter().for_each(|x| assert_eq!(bt_free(x), 0));
    }
    // Also `bt_model_run`, whose plan depends on who came last.
    std::thread::scope(|s| {
        for batch in [1, 2, 2, 1] {
            let (dims, image) = (&dims, &image);
            s.spawn(move || {
                let (_, want) = array("resnet.output.npy");
                let x =
                    tensor(&[batch, dims[1], dims[2], dims[3]], &image[..image.len() / 2 * batch as usize]);
                for _ in 0..3 {
                    let outs = run(bt_model_run, model, &[x]).unwrap();
                    let count = 10 * batch as usize;
                    assert!(distance(&take(outs[0], count), &want[..count]) < 1e-5);
                }
                assert_eq!(bt_free(x), 0);
            });
        }
    });
    assert_eq!(bt_free(model), 0);
}

/// The program's memory has room on both sides, which stays as it is.
#[test]
fn a_plan_runs_into_memory_of_the_program() {
    let model = load(&stored("resnet.onnx")).unwrap();
    let (dims, image) = array("resnet.image.npy");
    let x = tensor(&dims, &image);
    let made = plan(model, Some("nhwc"), &[("batch", 2)], &[]).unwrap();
    let want = take(run(bt_plan_run, made, &[x]).unwrap()[0], 20);
    let mut memory = [7f32; 26];
    let wrap_as = |writable: bool, data: *mut f32, dims: &[i64]| {
        let mut t = 0;
        // SAFETY: the memory lives longer than the handle, and nobody else uses it meanwhile.
        let status = unsafe {
            bt_tensor_wrap(
                bt_dtype::BT_F32 as i32,
                dims.len(),
                dims.as_ptr(),
                std::ptr::null(),
                data.cast(),
                writable,
                std::ptr::null_mut(),
                None,
                &mut t,
            )
        };
        outcome(status, t).unwrap()
    };
    let into = |outs: &[bt_handle]| {
        // SAFETY: arrays of the lengths that are passed.
        let status = unsafe { bt_plan_run_into(made, &x, 1, outs.as_ptr(), outs.len()) };
        outcome(status, ())
    };
    let y = wrap_as(true, memory[3..].as_mut_ptr(), &[2, 10]);
    into(&[y]).unwrap();
    let short = tensor(&[2, 9], &[0.0; 18]);
    let blocked = tensor(&[1, 16, 1, 1], &[0.0; 16]);
    let mut of = 0;
    // SAFETY: a place for the result; null stands for the default layout.
    outcome(unsafe { bt_to_blocked(blocked, std::ptr::null(), &mut of) }, ()).unwrap();
    refused(into(&[short]), bt_code::BT_SHAPE_MISMATCH, &["argument `outputs`", "for `output`", "[2, 10]"]);
    refused(into(&[]), bt_code::BT_INVALID_ARGUMENT, &["the outputs are"]);
    refused(into(&[of]), bt_code::BT_OPAQUE_LAYOUT, &["`bt_tensor_zeros`"]);
    refused(into(&[y, y]), bt_code::BT_ALIASING, &["pass each result once"]);
    refused(into(&[x]), bt_code::BT_SHAPE_MISMATCH, &["argument `outputs`", "for `output`"]);
    let read_only = wrap_as(false, memory[3..].as_mut_ptr(), &[2, 10]);
    refused(into(&[read_only]), bt_code::BT_ALIASING, &["argument `outputs`", "for `output`", "read-only"]);
    // Two storages over one memory: of an input and of an output.
    let mut image = image.clone();
    let source = wrap_as(false, image.as_mut_ptr(), &dims);
    let last = image.len() - 20;
    let over = wrap_as(true, image[last..].as_mut_ptr(), &[2, 10]);
    // SAFETY: arrays of the lengths that are passed.
    let status = unsafe { bt_plan_run_into(made, &source, 1, &over, 1) };
    refused(
        outcome(status, ()),
        bt_code::BT_ALIASING,
        &["argument `outputs`", "for `output`", "memory that input `image` has too"],
    );
    into(&[y]).unwrap();
    for t in [source, over, read_only, y, short, blocked, of, x, made, model] {
        assert_eq!(bt_free(t), 0);
    }
    assert_eq!(memory[3..23], want[..]);
    assert!(memory[..3].iter().chain(&memory[23..]).all(|v| *v == 7.0));
}

/// Memory at an odd address: each run copies what is there then, and the ledger shows it.
#[test]
fn a_run_copies_unaligned_inputs() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn release(_: *mut c_void) {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    }
    let model = load(&stored("resnet.onnx")).unwrap();
    let (dims, image) = array("resnet.image.npy");
    let made = plan(model, Some("nhwc"), &[("batch", 2)], &[]).unwrap();
    let mut memory = vec![0u8; image.len() * 4 + 4];
    let place = |memory: &mut [u8], odd: usize| {
        let start = memory.as_ptr().align_offset(4) + odd;
        memory[start..].as_mut_ptr()
    };
    let fill = |data: *mut u8, image: &[f32]| {
        // SAFETY: the memory has room for the image there, and no run is in flight.
        unsafe { data.copy_from(image.as_ptr().cast(), size_of_val(image)) };
    };
    let wrap = |data: *mut u8, rank: usize| {
        let (mut t, of, context) = (0, bt_dtype::BT_F32 as i32, std::ptr::null_mut());
        // SAFETY: the memory lives longer than the handle, and nobody writes into it during a run.
        let status =
            unsafe { bt_input_wrap(of, rank, dims.as_ptr(), data.cast(), context, Some(release), &mut t) };
        outcome(status, t)
    };
    let into = |x: bt_handle, y: bt_handle| {
        // SAFETY: arrays of one handle.
        outcome(unsafe { bt_plan_run_into(made, &x, 1, &y, 1) }, ())
    };
    for (odd, copies) in [(0, 0), (1, 1), (2, 1)] {
        let data = place(&mut memory, odd);
        let x = wrap(data, dims.len()).unwrap();
        for scale in [1f32, 0.5] {
            let image: Vec<f32> = image.iter().map(|v| v * scale).collect();
            let (plain, y) = (tensor(&dims, &image), tensor(&[2, 10], &[0.0; 20]));
            let want = take(run(bt_plan_run, made, &[plain]).unwrap()[0], 20);
            fill(data, &image);
            let (_, book) = recorded(|| into(x, y).map_or(-1, |()| 0));
            let said = described(bt_describe, book).unwrap();
            let copied = said.lines().filter(|line| {
                ["bt_plan_run_into", "unaligned input", "unaligned -> contiguous"]
                    .iter()
                    .all(|p| line.contains(p))
            });
            assert_eq!(copied.count(), copies, "{said}");
            assert_eq!(take(run(bt_plan_run, made, &[x]).unwrap()[0], 20), want);
            assert!(distance(&take(run(bt_model_run, model, &[x]).unwrap()[0], 20), &want) < 1e-5);
            refused(into(y, x), bt_code::BT_INVALID_HANDLE, &["memory for inputs of runs", "takes a tensor"]);
            assert_eq!(take(y, 20), want);
            assert_eq!((bt_free(plain), bt_free(book)), (0, 0));
        }
        assert_eq!(described(bt_describe, x).unwrap(), "memory for inputs of runs");
        assert_eq!((bt_free(x), RELEASED.swap(0, Ordering::SeqCst)), (0, 1));
    }
    refused(wrap(std::ptr::null_mut(), dims.len()), bt_code::BT_INVALID_ARGUMENT, &["null"]);
    refused(wrap(memory.as_mut_ptr(), 13), bt_code::BT_RANK_MISMATCH, &["`bt_input_wrap`"]);
    assert_eq!(RELEASED.load(Ordering::SeqCst), 2, "an error releases the memory");
    assert_eq!((bt_free(made), bt_free(model)), (0, 0));
}

/// An output that no step computes: the result of a run shares the input's memory, and a run into memory copies it.
#[test]
fn an_output_that_is_an_input_is_shared_or_copied() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn release(_: *mut c_void) {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    }
    let model = load(&stored("resnet.onnx")).unwrap();
    let (dims, mut image) = array("resnet.image.npy");
    let made = plan(model, Some("nhwc"), &[("batch", 2)], &["image", "output"]).unwrap();
    let wrap = |writable: bool, data: &mut [f32], dims: &[i64], release: bt_release| {
        let (mut t, data, of) = (0, data.as_mut_ptr().cast(), bt_dtype::BT_F32 as i32);
        let (rank, dims) = (dims.len(), dims.as_ptr());
        let (strides, context) = (std::ptr::null(), std::ptr::null_mut());
        // SAFETY: the memory lives longer than the handle, and nobody else uses it meanwhile.
        let status =
            unsafe { bt_tensor_wrap(of, rank, dims, strides, data, writable, context, release, &mut t) };
        outcome(status, t).unwrap()
    };
    let (mut copy, mut scores) = (vec![0f32; image.len()], [0f32; 20]);
    let x = wrap(true, &mut image, &dims, Some(release));
    let y = wrap(true, &mut copy, &dims, None);
    let read_only = wrap(false, &mut copy, &dims, None);
    let z = wrap(true, &mut scores, &[2, 10], None);
    let into = |outs: &[bt_handle]| {
        // SAFETY: arrays of the lengths that are passed.
        let status = unsafe { bt_plan_run_into(made, &x, 1, outs.as_ptr(), outs.len()) };
        outcome(status, ())
    };
    refused(into(&[x, z]), bt_code::BT_ALIASING, &["for `image`", "memory that input `image` has too"]);
    refused(into(&[read_only, z]), bt_code::BT_ALIASING, &["for `image`", "read-only"]);
    into(&[y, z]).unwrap();
    let results = run(bt_plan_run, made, &[x]).unwrap();
    let mut at = std::ptr::null();
    // SAFETY: places for the results.
    outcome(unsafe { bt_tensor_data(results[0], &mut at, std::ptr::null_mut()) }, ()).unwrap();
    assert_eq!(at.cast(), image.as_ptr());
    assert_eq!((bt_free(x), RELEASED.load(Ordering::SeqCst)), (0, 0), "the result uses the memory");
    assert_eq!((bt_free(results[0]), RELEASED.load(Ordering::SeqCst)), (0, 1));
    for t in [results[1], y, read_only, z, made, model] {
        assert_eq!(bt_free(t), 0);
    }
    assert_eq!(copy, image);
}

/// Integers and Booleans of a run, by a plan and by the file of one.
#[test]
fn plans_with_integers_and_booleans_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("integers.plan");
    let model = load(&stored("integers.onnx")).unwrap();
    let x = tensor(&[2, 6], &[1.0, 0.0, 5.0, 2.0, 0.5, 3.0, 0.25, 7.0, 0.0, 0.75, -1.0, 2.0]);
    let fresh = plan(model, Some("nchw"), &[("batch", 2)], &[]).unwrap();
    save_plan(fresh, &path, false).unwrap();
    let loaded = load_plan(&path, false).unwrap();
    for plan in [fresh, loaded] {
        let got = run(bt_plan_run, plan, &[x]).unwrap();
        assert_eq!(elements::<i32>(got[0], 2), [12, 11]);
        assert_eq!(elements::<i32>(got[1], 2), [0, 3]);
        assert_eq!(elements::<u8>(got[2], 12), [1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(elements::<u8>(got[3], 12), [0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(take(got[4], 12), [1.0, 0.0, 5.0, 2.0, 0.0, 3.0, 0.0, 7.0, 0.0, 0.75, 0.0, 2.0]);
        assert_eq!(take(got[5], 4), [5.0, 0.0, 0.0, 7.0]);
        assert_eq!(bt_free(plan), 0);
    }
    assert_eq!((bt_free(x), bt_free(model)), (0, 0));
}
