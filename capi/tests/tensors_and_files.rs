//! Rows of the catalogue that no call by name reaches: tensors, DLPack, packed weights, files. The same bad input gives the same
//! error in Rust and in C.

use std::ffi::{CStr, CString, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::dispatch::{self, Value};
use blocktensor::dlpack::{DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION};
use blocktensor::ops::Conv2d;
use blocktensor::{
    DType, Error, Foreign, Layout, MemoryFormat, PackedConv2d, Result, Source, StateDict, StridedTensor,
};
use blocktensor_c::words::C;
use blocktensor_c::*;

mod support;

fn last() -> (i32, String) {
    // SAFETY: this thread's, until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().unwrap();
    support::words::check(text);
    (bt_last_error_code(), text.to_string())
}

/// Fails unless both give the same code and, but for the C function's name, the same text, and the text contains all parts of
/// `holds`.
#[track_caller]
fn same<T>(row: u32, function: &str, rust: Result<T>, c: bt_status, holds: &[&str]) {
    let e: Error = rust.map(|_| ()).expect_err("Rust refuses it");
    let text = e.told(&C(function));
    assert_eq!((c, last()), (e.code(), (e.code(), text)), "row {row}");
    for part in holds {
        assert!(e.to_string().contains(part), "row {row} lacks {part}: {e}");
    }
}

fn plain(dims: &[usize]) -> StridedTensor {
    StridedTensor::full(dims, 0.5f32, MemoryFormat::Contiguous).unwrap()
}

/// The same tensor in C.
fn given(dims: &[usize], layout: Option<&CStr>) -> bt_handle {
    let d: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
    let data = vec![0.5f32; dims.iter().product()];
    let (mut t, mut b) = (0, 0);
    // SAFETY: arrays of the lengths that are passed.
    unsafe {
        let bytes = data.len() * 4;
        assert_eq!(
            bt_tensor_from_data(0, d.len(), d.as_ptr(), null(), data.as_ptr().cast(), bytes, &mut t),
            0
        );
        let Some(layout) = layout else { return t };
        assert_eq!(bt_to_blocked(t, layout.as_ptr(), &mut b), 0);
    }
    assert_eq!(bt_free(t), 0);
    b
}

#[test]
fn blocked_tensors_have_no_strides_and_no_views() {
    let b = plain(&[1, 20, 3, 3]).to_blocked(&Layout::NCHW16C).unwrap();
    let h = given(&[1, 20, 3, 3], Some(c"nChw16c"));
    let mut out = null_mut();
    let rust = b.to_dlpack();
    // SAFETY: a place for the result.
    let c = unsafe { bt_tensor_to_dlpack(h, &mut out) };
    same(5, "bt_tensor_to_dlpack", rust, c, &["nChw16c", "to_strided"]);
    let named = [("x", Value::from(b)), ("axes", Value::from(&[0i64, 2, 3, 1][..]))];
    let axes = [0i64, 2, 3, 1];
    let arg = |name: &'static CStr, kind, tensors: *const bt_handle, integers: *const i64, count| bt_arg {
        name: name.as_ptr(),
        kind,
        number: 0,
        real: 0.0,
        text: null(),
        integers,
        tensors,
        count,
    };
    let args = [arg(c"x", 1, &h, null(), 1), arg(c"axes", 4, null(), axes.as_ptr(), 4)];
    let mut y = 0;
    // SAFETY: two arguments, room for one result.
    let status = unsafe { bt_call(c"permute".as_ptr(), args.as_ptr(), 2, &mut y, 1, null_mut()) };
    same(6, "bt_call", dispatch::call("permute", &named), status, &["permute", "nChw16c", "to_strided"]);
    assert_eq!(bt_free(h), 0);
}

#[test]
fn packed_weights_refuse_another_source() {
    let (x, w) = (plain(&[1, 16, 5, 5]), plain(&[8, 16, 3, 3]));
    let packed =
        PackedConv2d::new(&w, None, Conv2d::new()).unwrap().pack_for(&Source::of(&x).unwrap()).unwrap();
    let (hx, hw, other) =
        (given(&[1, 16, 5, 5], None), given(&[8, 16, 3, 3], None), given(&[1, 16, 6, 5], None));
    let (mut p, mut y) = (0, 0);
    // SAFETY: places for the results.
    unsafe {
        assert_eq!(bt_pack_conv(hw, 0, null(), 0, hx, &mut p), 0, "{:?}", last());
        let status = bt_packed_run(p, other, 0, &mut y);
        same(
            9,
            "bt_packed_run",
            packed.run(&plain(&[1, 16, 6, 5])),
            status,
            &["[1, 16, 6, 5]", "[1, 16, 5, 5]"],
        );
    }
    for h in [hx, hw, other, p] {
        assert_eq!(bt_free(h), 0);
    }
}

#[test]
fn bad_foreign_memory_is_an_error() {
    let data = [0f64; 8];
    let wrap = |dims: &[i64], strides: &[i64], at: usize| {
        let first = data.as_ptr().cast::<u8>().wrapping_add(at).cast_mut();
        let memory =
            Foreign { data: first, dtype: DType::F32, dims, strides: Some(strides), writable: false };
        // SAFETY: what is not refused reaches no further than the array, which outlives the tensor.
        let rust = unsafe { StridedTensor::from_foreign(memory, Arc::new(())) };
        let mut h = 0;
        // SAFETY: as above.
        let c = unsafe {
            bt_tensor_wrap(
                0,
                dims.len(),
                dims.as_ptr(),
                strides.as_ptr(),
                first.cast::<c_void>(),
                false,
                null_mut(),
                None,
                &mut h,
            )
        };
        (rust, c, h)
    };
    let (rust, c, _) = wrap(&[2, 3], &[3, -1], 0);
    same(34, "bt_tensor_wrap", rust, c, &["axis 1", "copy"]);
    let (rust, c, _) = wrap(&[2, 3], &[3, 1], 2);
    same(38, "bt_tensor_wrap", rust, c, &["address 0x", "4 bytes"]);
    let (rust, c, _) = wrap(&[1 << 40, 1 << 40], &[1, 1], 0);
    same(31, "bt_tensor_wrap", rust, c, &["dims"]);
    // One element with stride 0 along 2^60: the tensor is valid, and its blocked form overflows.
    let dims = [1, 1, 1 << 30, 1 << 30];
    let (rust, c, h) = wrap(&dims, &[0; 4], 0);
    assert_eq!(c, 0, "{:?}", last());
    let mut b = 0;
    // SAFETY: a place for the result.
    let status = unsafe { bt_to_blocked(h, c"nChw16c".as_ptr(), &mut b) };
    same(32, "bt_to_blocked", rust.unwrap().to_blocked(&Layout::NCHW16C), status, &["1073741824"]);
    assert_eq!(bt_free(h), 0);
}

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn give_back(managed: *mut DLManagedTensorVersioned) {
    GIVEN_BACK.fetch_add(1, SeqCst);
    // SAFETY: made by `Box` in the test, and given back once.
    drop(unsafe { Box::from_raw(managed) });
}

#[test]
fn dlpack_of_other_devices_dtypes_and_versions_is_refused() {
    let mut data = [0f32; 4];
    let mut shape = [4i64];
    let mut managed = |version: DLPackVersion, device: i32, dtype: DLDataType| {
        let tensor = DLTensor {
            data: data.as_mut_ptr().cast(),
            device: DLDevice { device_type: device, device_id: 0 },
            ndim: 1,
            dtype,
            shape: shape.as_mut_ptr(),
            strides: null_mut(),
            byte_offset: 0,
        };
        let (manager_ctx, deleter) = (null_mut(), Some(give_back as unsafe extern "C" fn(_)));
        let whole = DLManagedTensorVersioned { version, manager_ctx, deleter, flags: 0, dl_tensor: tensor };
        NonNull::from(Box::leak(Box::new(whole)))
    };
    let f32s = DLDataType { code: 2, bits: 32, lanes: 1 };
    let cases = [
        (41, VERSION, 2, f32s, "device"),
        (41, VERSION, 1, DLDataType { lanes: 4, ..f32s }, "lanes"),
        (41, VERSION, 1, DLDataType { bits: 64, ..f32s }, "f64"),
        (42, DLPackVersion { major: 9, minor: 1 }, 1, f32s, "version 9.1"),
    ];
    for (row, version, device, dtype, part) in cases {
        let before = GIVEN_BACK.load(SeqCst);
        // SAFETY: live tensors that nobody else consumes.
        let rust = unsafe { StridedTensor::from_dlpack(managed(version, device, dtype)) };
        let mut h = 0;
        // SAFETY: as above.
        let c = unsafe { bt_tensor_from_dlpack(managed(version, device, dtype).as_ptr().cast(), &mut h) };
        same(row, "bt_tensor_from_dlpack", rust, c, &[part]);
        assert_eq!(GIVEN_BACK.load(SeqCst) - before, 2, "each once");
    }
    // With a null pointer for the handle the deleter is called too.
    let before = GIVEN_BACK.load(SeqCst);
    // SAFETY: as above; null is looked at before it is used.
    assert_eq!(unsafe { bt_tensor_from_dlpack(managed(VERSION, 1, f32s).as_ptr().cast(), null_mut()) }, 25);
    assert_eq!(GIVEN_BACK.load(SeqCst) - before, 1);
}

#[test]
fn files_with_wrong_headers_are_errors() {
    let path = std::env::temp_dir().join(format!("blocktensor-doors-{}.safetensors", std::process::id()));
    let c_path = CString::new(path.to_str().unwrap()).unwrap();
    let hole = r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
    let long = r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    for (row, length, header, data, part) in [
        (44, u64::MAX, "{}", 0, "18446744073709551615"),
        (44, 1 << 20, "{}", 0, "1048576"),
        (45, hole.len() as u64, hole, 8, "`t`"),
        (45, long.len() as u64, long, 5, "do not fill"),
    ] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        std::fs::write(&path, bytes).unwrap();
        let mut h = 0;
        let rust = StateDict::read(&path);
        // SAFETY: a string and a place for the result.
        let c = unsafe { bt_dict_load(c_path.as_ptr(), &mut h) };
        same(row, "bt_dict_load", rust, c, &[part]);
        // SAFETY: as above; nobody else has the file.
        let (rust, c) = unsafe { (StateDict::map(&path), bt_dict_map(c_path.as_ptr(), &mut h)) };
        same(row, "bt_dict_map", rust, c, &[part]);
    }
    std::fs::remove_file(&path).unwrap();
    let mut h = 0;
    // SAFETY: as above.
    let status = unsafe { bt_dict_load(c_path.as_ptr(), &mut h) };
    same(0, "bt_dict_load", StateDict::read(&path), status, &["could not be opened"]);
    // SAFETY: as above.
    let (rust, c) = unsafe { (StateDict::map(&path), bt_dict_map(c_path.as_ptr(), &mut h)) };
    same(0, "bt_dict_map", rust, c, &["could not be opened"]);
}

#[test]
fn tensors_have_scales_and_zero_points() {
    let plain = StridedTensor::from_slice(&[1u8, 2, 3, 4, 5, 6], &[1, 2, 3, 1]).unwrap();
    let (dims, mut t) = ([1i64, 2, 3, 1], 0);
    let bytes = [1u8, 2, 3, 4, 5, 6];
    let (scales, zero_points) = ([0.5f32, 2.0], [3i32, 255]);
    // SAFETY: live arrays of these lengths, and places for the results.
    unsafe {
        assert_eq!(bt_tensor_from_data(3, 4, dims.as_ptr(), null(), bytes.as_ptr().cast(), 6, &mut t), 0);
        let quantized = |axis, count, out: &mut bt_handle| {
            bt_tensor_quantized(t, axis, count, scales.as_ptr(), zero_points.as_ptr(), out)
        };
        let read = |t| {
            let (mut axis, mut count, mut s, mut z) = (7, 7, [0f32; 2], [0i32; 2]);
            assert_eq!(
                bt_tensor_quantization(t, &mut axis, 2, s.as_mut_ptr(), z.as_mut_ptr(), &mut count),
                0
            );
            let mut again = 7;
            assert_eq!(bt_tensor_quantization(t, null_mut(), 0, null_mut(), null_mut(), &mut again), 0);
            assert_eq!(again, count);
            (axis, s[..count].to_vec(), z[..count].to_vec())
        };
        let none = (-1, vec![], vec![]);
        let both = |axis| (axis, scales.to_vec(), zero_points.to_vec());
        let (mut one, mut each, mut out) = (0, 0, 0);
        assert_eq!(quantized(-1, 1, &mut one), 0);
        assert_eq!(quantized(1, 2, &mut each), 0);
        assert_eq!((read(t), read(one), read(each)), (none.clone(), (-1, vec![0.5], vec![3]), both(1)));
        // They travel, and the integers are read as they are.
        let mut blocked = 0;
        assert_eq!(bt_to_blocked(each, c"nChw16c".as_ptr(), &mut blocked), 0);
        assert_eq!(read(blocked), both(1));
        assert_eq!(bt_to_strided(blocked, c"channels_last".as_ptr(), &mut out), 0);
        assert_eq!(read(out), both(1));
        let flat = [2i64, 3];
        let mut reshaped = 0;
        assert_eq!(bt_reshape(each, 2, flat.as_ptr(), &mut reshaped), 0);
        assert_eq!(read(reshaped), both(0));
        let mut integers = [0u8; 6];
        assert_eq!(bt_tensor_read(reshaped, integers.as_mut_ptr().cast(), 6), 0);
        assert_eq!(integers, bytes);
        let mut zeros = 0;
        assert_eq!(bt_tensor_zeros(each, &mut zeros), 0);
        assert_eq!(read(zeros), both(1));
        assert_eq!(bt_reorder_into(each, zeros), 0);
        let (mut real, mut numbers) = (0, [0f32; 6]);
        assert_eq!(bt_tensor_dequantized(each, &mut real), 0);
        assert_eq!(bt_tensor_read(real, numbers.as_mut_ptr().cast(), 24), 0);
        assert_eq!(numbers, [-1.0, -0.5, 0.0, -502.0, -500.0, -498.0]);
        let mut bare = 0;
        assert_eq!(bt_tensor_without_quantization(each, &mut bare), 0);
        assert_eq!(read(bare), none);
        // What does not keep them refuses the tensor, in C's words.
        let rust = plain.quantized(blocktensor::Quantization::per_tensor(0.5, 3)).unwrap();
        let c = bt_cast(one, 0, &mut out);
        same(
            0,
            "bt_cast",
            rust.to_dtype(DType::F32).map_err(|e| e.in_call("bt_cast", "t")),
            c,
            &["`without_quantization`"],
        );
        let mut managed = null_mut();
        let c = bt_tensor_to_dlpack(one, &mut managed);
        same(0, "bt_tensor_to_dlpack", rust.to_dlpack(), c, &["`dequantized`", "DLPack"]);
        let c = bt_reshape(each, 1, [6i64].as_ptr(), &mut out);
        let rust = plain.quantized(blocktensor::Quantization {
            axis: Some(1),
            scales: scales.to_vec(),
            zero_points: zero_points.to_vec(),
        });
        same(0, "bt_reshape", rust.unwrap().reshape(&[6]), c, &["axis 1 has a scale for each"]);
        for (axis, count, part) in
            [(-1, 2, "there must be 1"), (-2, 1, "or -1"), (4, 1, "4 axes"), (2, 2, "there must be 3")]
        {
            assert_ne!(quantized(axis, count, &mut out), 0);
            let text = CStr::from_ptr(bt_last_error_message()).to_str().unwrap();
            assert!(text.contains(part) && text.contains("bt_tensor_quantized"), "{text}");
        }
        assert_ne!(bt_tensor_dequantized(t, &mut out), 0);
        for handle in [t, one, each, blocked, reshaped, zeros, real, bare] {
            assert_eq!(bt_free(handle), 0);
        }
    }
}
