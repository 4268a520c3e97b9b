//! Rows of the catalogue that no call by name reaches: views, reorders, packed weights, foreign memory, DLPack, and files.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::dispatch;
use blocktensor::dlpack::{DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION};
use blocktensor::ops::{self, Conv2d, Fusion};
use blocktensor::{
    BlockedTensor, DType, Foreign, Layout, MemoryFormat, PackedConv2d, PackedFile, PackedLinear,
    PackedWriter, Source, StateDict, StridedTensor, Tensor,
};

use super::{refused, silent};

fn numbers(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 7) as f32 - 3.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

#[test]
fn bad_views_and_reorders_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_views_and_reorders_are_typed_errors", || {
        let s = numbers(&[1, 20, 3, 4]);
        let b: BlockedTensor = s.to_blocked(&Layout::NCHW16C).unwrap();
        let (st, bt) = (Tensor::from(s.clone()), Tensor::from(b.clone()));
        refused("row 5", 14, &["nChw16c", "to_strided"], &[&bt], || b.to_dlpack());
        let axes = vec![0i64, 2, 3, 1];
        let named = [("x", bt.clone().into()), ("axes", axes.into())];
        refused("row 6", 1, &["permute", "nChw16c", "to_strided"], &[&bt], || {
            dispatch::call("permute", &named)
        });
        let narrow = [
            ("x", bt.clone().into()),
            ("axis", 1i64.into()),
            ("start", 4i64.into()),
            ("length", 8i64.into()),
        ];
        refused("row 6", 1, &["narrow", "to_strided"], &[&bt], || dispatch::call("narrow", &narrow));
        refused("row 32", 9, &["1073741824"], &[], || {
            numbers(&[1, 1, 1, 1]).expand(&[1, 1, 1 << 30, 1 << 30])?.to_blocked(&Layout::NCHW16C)
        });
        refused("row 31", 9, &["dims"], &[], || {
            StridedTensor::zeros(&[1 << 40, 1 << 40], DType::F32, MemoryFormat::Contiguous)
        });
        refused("row 31", 9, &["dims"], &[&st], || s.as_strided(&[1 << 40, 1 << 40], &[1, 1], 0));
        refused("row 33", 10, &["240", "reach"], &[&st], || s.as_strided(&[2, 240], &[1, 1], 0));
        refused("row 33", 10, &["narrow"], &[&st], || s.narrow(1, 15, 6));
        refused("row 34", 11, &["negative", "copy"], &[&st], || s.as_strided(&[3], &[usize::MAX], 4));
        let wide = StridedTensor::zeros(&[1, 20, 3, 4], DType::F32, MemoryFormat::Contiguous).unwrap();
        refused("row 35", 12, &["dst", "stride 0"], &[&bt], || {
            b.to_strided_into(&mut wide.as_strided(&[1, 20, 3, 4], &[0, 0, 4, 1], 0)?)
        });
        let shared = wide.clone();
        refused("row 36", 13, &["dst", "shares"], &[&bt], || b.to_strided_into(&mut shared.clone()));
    });
}

#[test]
fn bad_calls_of_packed_weights_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_calls_of_packed_weights_are_typed_errors", || {
        let (x, w) = (numbers(&[1, 16, 5, 6]), numbers(&[8, 16, 3, 3]));
        let (xt, wt) = (Tensor::from(x.clone()), Tensor::from(w.clone()));
        let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let other = numbers(&[1, 16, 6, 5]);
        refused("row 9", 15, &["[1, 16, 6, 5]", "[1, 16, 5, 6]", "pack_for"], &[&xt], || conv.run(&other));
        let nhwc = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
        refused("row 9", 15, &["channels_last", "contiguous"], &[&xt], || conv.run(&nhwc));
        refused("row 9", 15, &["threads"], &[&xt], || {
            rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap().install(|| conv.run(&x))
        });
        let mut dst = conv.run(&x).unwrap();
        let second = Tensor::from(dst.clone());
        refused("row 36", 13, &["dst"], &[&xt, &second], || conv.run_into(&x, Fusion::default(), &mut dst));
        // Checked before anything is packed: oneDNN crashes with a stride of 0.
        for (row, code, params, part) in [
            (19, 8, Conv2d::new().stride(0), "stride"),
            (20, 8, Conv2d::new().dilation(0), "dilation"),
            (17, 8, Conv2d::new().groups(0), "groups"),
            (18, 8, Conv2d::new().groups(3), "3 groups"),
        ] {
            refused(&format!("row {row}, packing"), code, &[part], &[&wt], || {
                PackedConv2d::new(&w, None, params)?.pack_for(&Source::of(&x)?)
            });
        }
        refused("row 23, packing", 7, &["3"], &[&wt], || {
            packer.pack_for(&Source::strided(&[1, 16, 2, 6], MemoryFormat::Contiguous)?)
        });
        refused("row 24, packing", 9, &["dilation"], &[&wt], || {
            PackedConv2d::new(&w, None, Conv2d::new().dilation(usize::MAX / 2))?.pack_for(&Source::of(&x)?)
        });
        refused("row 31, packing", 9, &["dims"], &[&wt], || {
            packer.pack_for(&Source::strided(&[1 << 40, 16, 1 << 20, 1 << 20], MemoryFormat::Contiguous)?)
        });
        refused("row 16, packing", 7, &["bias", "[7]"], &[&wt], || {
            PackedConv2d::new(&w, Some(&numbers(&[7])), Conv2d::new())?.pack_for(&Source::of(&x)?)
        });
        let layer = PackedLinear::new(&numbers(&[5, 16]), None, 2).unwrap();
        refused("row 15, packed linear", 7, &["16"], &[], || layer.run(&numbers(&[2, 17])));
        let none = StridedTensor::zeros(&[4, 0, 1, 1], DType::F32, MemoryFormat::Contiguous).unwrap();
        let new = || blocktensor::PackedConv2d::new(&none, None, Conv2d::new());
        refused("weights of no input channels", 8, &["`weights`", "[4, 0, 1, 1]"], &[], new);
        refused("row 14", 6, &["rank"], &[&wt], || ops::conv2d(&numbers(&[16, 5]), &w, None, &Conv2d::new()));
    });
}

#[test]
fn bad_foreign_memory_is_a_typed_error() {
    silent("catalogue::tensors_and_files::bad_foreign_memory_is_a_typed_error", || {
        let data = [0f64; 8];
        let wrap = |dims: &[i64], strides: &[i64], at: usize| {
            let data = data.as_ptr().cast::<u8>().wrapping_add(at).cast_mut();
            let memory = Foreign { data, dtype: DType::F32, dims, strides: Some(strides), writable: false };
            // SAFETY: what is not refused reaches no further than the array, which outlives the tensor.
            unsafe { StridedTensor::from_foreign(memory, Arc::new(())) }
        };
        refused("row 34", 11, &["axis 1", "copy"], &[], || wrap(&[2, 3], &[3, -1], 0));
        refused("row 38", 22, &["address 0x", "4 bytes"], &[], || wrap(&[2, 3], &[3, 1], 2));
        refused("row 31", 9, &["dims"], &[], || wrap(&[1 << 40, 1 << 40], &[1, 1], 0));
        refused("negative sizes", 8, &["-1"], &[], || wrap(&[-1, 2], &[1, 1], 0));
    });
}

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn give_back(managed: *mut DLManagedTensorVersioned) {
    GIVEN_BACK.fetch_add(1, SeqCst);
    // SAFETY: made by `Box` in the test, and given back once.
    drop(unsafe { Box::from_raw(managed) });
}

#[test]
fn bad_dlpack_tensors_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_dlpack_tensors_are_typed_errors", || {
        let (mut data, mut shape) = ([0f32; 4], [4i64]);
        let (data, shape) = (data.as_mut_ptr(), shape.as_mut_ptr());
        let managed = |version: DLPackVersion, device: i32, dtype: DLDataType| {
            let device = DLDevice { device_type: device, device_id: 0 };
            let dl_tensor = DLTensor {
                data: data.cast(),
                device,
                ndim: 1,
                dtype,
                shape,
                strides: null_mut(),
                byte_offset: 0,
            };
            let (manager_ctx, deleter) = (null_mut(), Some(give_back as unsafe extern "C" fn(_)));
            let whole = DLManagedTensorVersioned { version, manager_ctx, deleter, flags: 0, dl_tensor };
            NonNull::from(Box::leak(Box::new(whole)))
        };
        let f32s = DLDataType { code: 2, bits: 32, lanes: 1 };
        for (row, code, version, device, dtype, part) in [
            (41, 23, VERSION, 2, f32s, "device"),
            (41, 23, VERSION, 1, DLDataType { lanes: 4, ..f32s }, "lanes"),
            (41, 23, VERSION, 1, DLDataType { bits: 64, ..f32s }, "64 bits"),
            (42, 24, DLPackVersion { major: 9, minor: 1 }, 1, f32s, "version 9.1"),
        ] {
            let before = GIVEN_BACK.load(SeqCst);
            refused(&format!("row {row}, {part}"), code, &[part], &[], || {
                // SAFETY: a live tensor that nobody else consumes.
                unsafe { StridedTensor::from_dlpack(managed(version, device, dtype)) }
            });
            assert_eq!(GIVEN_BACK.load(SeqCst) - before, 1, "row {row}: given back once");
        }
    });
}

#[test]
fn bad_files_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_files_are_typed_errors", || {
        let folder = crate::file::Folder::new("catalogue");
        let path = folder.file("lie.safetensors");
        let hole = r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        let long = r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        let shape = r#"{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#;
        let twice = r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"u":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        for (row, length, header, data, part) in [
            (44, u64::MAX, "{}", 0, "18446744073709551615"),
            (44, 1 << 20, "{}", 0, "1048576"),
            (45, hole.len() as u64, hole, 8, "`t`"),
            (45, shape.len() as u64, shape, 4, "`t`"),
            (45, twice.len() as u64, twice, 4, "does not begin where"),
            (45, long.len() as u64, long, 5, "do not fill"),
        ] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.resize(bytes.len() + data, 0);
            std::fs::write(&path, bytes).unwrap();
            refused(&format!("row {row}"), 18, &[part], &[], || StateDict::read(&path));
            refused(&format!("row {row}, packed"), 18, &[], &[], || PackedFile::read(&path));
        }
        // Weights that were packed for another number of threads, and for another op.
        let packed = folder.file("one.packed");
        let (x, w) = (numbers(&[1, 16, 5, 6]), numbers(&[8, 16, 3, 3]));
        let conv = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        let conv = conv.pack_for(&Source::of(&x).unwrap().threads(7)).unwrap();
        let mut writer = PackedWriter::new();
        writer.add("conv", &conv).unwrap();
        writer.save(&packed).unwrap();
        refused("row 10", 15, &["7", "threads"], &[], || {
            PackedFile::read(&packed)?.get::<PackedConv2d>("conv")
        });
        refused("row 9, in a file", 15, &["conv", "linear"], &[], || {
            PackedFile::read(&packed)?.get::<PackedLinear>("conv")
        });
    });
}

/// A panic in a task of the caller reaches the caller, and locks that it poisoned still work.
#[test]
fn a_panic_in_a_task_of_the_caller_leaves_the_library_usable() {
    let panics = || {
        std::panic::catch_unwind(|| {
            blocktensor::parallel_for(8, |i| assert!(i != 3, "task 3"));
        })
    };
    assert!(panics().is_err());
    assert!(super::valid().iter().all(|&v| v == 288.0));
}
