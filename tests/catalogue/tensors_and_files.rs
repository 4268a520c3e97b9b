//! Rows of the catalogue that no call by name reaches: views, reorders, packed weights, foreign memory, DLPack, and files.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::dispatch::{self, Value};
use blocktensor::dlpack::{DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION};
use blocktensor::ops::{self, Conv2d, Fusion};
use blocktensor::{
    BlockedTensor, DType, Foreign, Layout, MemoryFormat, PackedConv2d, PackedFile, PackedLinear,
    PackedWriter, Source, StateDict, StridedTensor, Tensor,
};

use super::followed::row;
use super::silent;

fn numbers(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 7) as f32 - 3.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

/// Gives an export back, as its receiver would.
fn given_back(export: NonNull<DLManagedTensorVersioned>) {
    // SAFETY: a live export that nobody else has.
    unsafe { export.as_ref().deleter.unwrap()(export.as_ptr()) }
}

fn strided_of(t: &Tensor) -> &StridedTensor {
    let Tensor::Strided(t) = t else { panic!("{t:?}") };
    t
}

#[test]
fn bad_views_and_reorders_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_views_and_reorders_are_typed_errors", || {
        let s = numbers(&[1, 20, 3, 4]);
        let b: BlockedTensor = s.to_blocked(&Layout::NCHW16C).unwrap();
        let (st, bt) = (Tensor::from(s.clone()), Tensor::from(b.clone()));
        row("row 5", 14, &["nChw16c", "to_strided"], &[&bt], || b.to_dlpack()).retry(&b, |t| {
            given_back(strided_of(t).to_dlpack().unwrap());
            Ok(())
        });
        let of = |x: &Tensor, op: &str, rest: &[(&str, Value)]| {
            let mut named = vec![("x", Value::from(x.clone()))];
            named.extend_from_slice(rest);
            dispatch::call(op, &named)
        };
        let axes = [("axes", Value::from(vec![0i64, 2, 3, 1]))];
        row("row 6", 1, &["permute", "nChw16c", "to_strided"], &[&bt], || of(&bt, "permute", &axes))
            .retry(&b, |t| of(t, "permute", &axes));
        let narrow = [("axis", 1i64.into()), ("start", 4i64.into()), ("length", 8i64.into())];
        row("row 6", 1, &["narrow", "to_strided"], &[&bt], || of(&bt, "narrow", &narrow))
            .retry(&b, |t| of(t, "narrow", &narrow));
        let wide_blocked =
            |n| numbers(&[1, 1, 1, 1]).expand(&[1, 1, n, n])?.to_blocked(&Layout::NCHW16C).map(|_| ());
        row("row 32", 9, &["1073741824"], &[], || wide_blocked(1usize << 30))
            .by_hand("use smaller sizes", || wide_blocked(4));
        let zeros = |n| StridedTensor::zeros(&[n, n], DType::F32, MemoryFormat::Contiguous);
        row("row 31", 9, &["dims"], &[], || zeros(1 << 40)).by_hand("smaller sizes", || zeros(4));
        let square = |n| s.as_strided(&[n, n], &[1, 1], 0);
        row("row 31", 9, &["dims"], &[&st], || square(1 << 40)).by_hand("smaller sizes", || square(4));
        let reach = |n| s.as_strided(&[2, n], &[1, 1], 0);
        row("row 33", 10, &["240", "reach"], &[&st], || reach(240))
            .by_hand("within the storage", || reach(239));
        row("row 33", 10, &["narrow"], &[&st], || s.narrow(1, 15, 6))
            .by_hand("stay within the size", || s.narrow(1, 15, 5));
        row("row 34", 11, &["negative", "copy"], &[&st], || s.as_strided(&[3], &[usize::MAX], 4))
            .by_hand("copy the elements in the order that you want", || ops::flip(&s.narrow(3, 0, 3)?, &[3]));
        let wide = StridedTensor::zeros(&[1, 20, 3, 4], DType::F32, MemoryFormat::Contiguous).unwrap();
        let repeated = || wide.as_strided(&[1, 20, 3, 4], &[0, 0, 4, 1], 0);
        row("row 35", 12, &["dst", "stride 0"], &[&bt], || b.to_strided_into(&mut repeated()?))
            .by_hand("for example a copy", || {
                b.to_strided_into(&mut repeated()?.copy(MemoryFormat::Contiguous)?)
            });
        let shared = wide.clone();
        row("row 36", 13, &["dst", "shares"], &[&bt], || b.to_strided_into(&mut shared.clone()))
            .by_hand("pass a copy", || b.to_strided_into(&mut shared.copy(MemoryFormat::Preserve)?));
    });
}

#[test]
fn bad_calls_of_packed_weights_are_typed_errors() {
    silent("catalogue::tensors_and_files::bad_calls_of_packed_weights_are_typed_errors", || {
        let (x, w) = (numbers(&[1, 16, 5, 6]), numbers(&[8, 16, 3, 3]));
        let (xt, wt) = (Tensor::from(x.clone()), Tensor::from(w.clone()));
        let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        // What `pack_for(&Source::of(&x)?)` says, for a source of this kind.
        let again = |x: &StridedTensor| packer.pack_for(&Source::of(x)?)?.run(x);
        let pack_for = "pack the weights for this one with `pack_for(&Source::of(&x)?)`";
        let other = numbers(&[1, 16, 6, 5]);
        row("row 9", 15, &["[1, 16, 6, 5]", "[1, 16, 5, 6]", "pack_for"], &[&xt], || conv.run(&other))
            .by_hand(pack_for, || again(&other));
        let nhwc = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
        let last = || row("row 9", 15, &["channels_last", "contiguous"], &[&xt], || conv.run(&nhwc));
        last().by_hand("bring the source into that form", || {
            conv.run(&nhwc.contiguous(MemoryFormat::Contiguous)?)
        });
        last().by_hand(pack_for, || again(&nhwc));
        let seven = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
        row("row 9", 15, &["threads"], &[&xt], || seven.install(|| conv.run(&x)))
            .by_hand(pack_for, || seven.install(|| again(&x)));
        let mut dst = conv.run(&x).unwrap();
        let second = Tensor::from(dst.clone());
        row("row 36", 13, &["dst"], &[&xt, &second], || conv.run_into(&x, Fusion::default(), &mut dst))
            .by_hand("drop the other tensor", || {
                drop(second);
                conv.run_into(&x, Fusion::default(), &mut dst)
            });
        // Checked before anything is packed: oneDNN crashes with a stride of 0.
        let packed = |params| PackedConv2d::new(&w, None, params)?.pack_for(&Source::of(&x)?);
        for (number, code, params, part, advice, right) in [
            (19, 8, Conv2d::new().stride(0), "stride", "pass 1 or more", Conv2d::new().stride(1)),
            (20, 8, Conv2d::new().dilation(0), "dilation", "pass 1 or more", Conv2d::new().dilation(1)),
            (
                17,
                8,
                Conv2d::new().groups(0),
                "groups",
                "pass 1 for an ungrouped one",
                Conv2d::new().groups(1),
            ),
        ] {
            row(format!("row {number}, packing"), code, &[part], &[&wt], || packed(params))
                .by_hand(advice, || packed(right));
        }
        // Another number of groups wants other weights too: that is the next limit.
        row("row 18, packing", 8, &["3 groups"], &[&wt], || packed(Conv2d::new().groups(3))).by_hand(
            "pass a divisor",
            || {
                let halved = packed(Conv2d::new().groups(2)).unwrap_err();
                assert!(halved.to_string().contains("state the groups"), "{halved}");
                let half = PackedConv2d::new(&numbers(&[8, 8, 3, 3]), None, Conv2d::new().groups(2))?;
                half.pack_for(&Source::of(&x)?)
            },
        );
        let source = |dims: &[usize]| packer.pack_for(&Source::strided(dims, MemoryFormat::Contiguous)?);
        row("row 23, packing", 7, &["3"], &[&wt], || source(&[1, 16, 2, 6])).by_hand("pad more", || {
            let padded = PackedConv2d::new(&w, None, Conv2d::new().padding(1))?;
            padded.pack_for(&Source::strided(&[1, 16, 2, 6], MemoryFormat::Contiguous)?)
        });
        row("row 24, packing", 9, &["dilation"], &[&wt], || packed(Conv2d::new().dilation(usize::MAX / 2)))
            .by_hand("use smaller numbers", || packed(Conv2d::new().dilation(2)));
        row("row 31, packing", 9, &["dims"], &[&wt], || source(&[1 << 40, 16, 1 << 20, 1 << 20]))
            .by_hand("smaller sizes", || source(&[4, 16, 8, 8]));
        let with_bias =
            |n| PackedConv2d::new(&w, Some(&numbers(&[n])), Conv2d::new())?.pack_for(&Source::of(&x)?);
        row("row 16, packing", 7, &["bias", "[7]"], &[&wt], || with_bias(7))
            .by_hand("pass 8 values", || with_bias(8));
        let layer = PackedLinear::new(&numbers(&[5, 16]), None, 2).unwrap();
        row("row 15, packed linear", 7, &["16"], &[], || layer.run(&numbers(&[2, 17])))
            .by_hand("pass rows of 16 numbers", || layer.run(&numbers(&[2, 16])));
        let of_channels = |c| PackedConv2d::new(&numbers(&[4, c, 1, 1]), None, Conv2d::new());
        row("weights of no input channels", 8, &["`weights`", "[4, 0, 1, 1]"], &[], || of_channels(0))
            .by_hand("pass 1 or more", || of_channels(1));
        let flat = numbers(&[16, 25]);
        let images = |x: &StridedTensor| ops::conv2d(x, &w, None, &Conv2d::new());
        row("row 14", 6, &["rank"], &[&wt], || images(&flat))
            .by_hand("add or merge dimensions", || images(&flat.reshape(&[1, 16, 5, 5])?));
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
        // The memory is the caller's: a copy has other strides, or another address.
        let right = || wrap(&[2, 3], &[3, 1], 0);
        row("row 34", 11, &["axis 1", "copy"], &[], || wrap(&[2, 3], &[3, -1], 0))
            .by_hand("copy it to a tensor with positive strides", right);
        row("row 38", 22, &["address 0x", "4 bytes"], &[], || wrap(&[2, 3], &[3, 1], 2))
            .by_hand("copy it to aligned memory", right);
        row("row 31", 9, &["dims"], &[], || wrap(&[1 << 40, 1 << 40], &[1, 1], 0))
            .by_hand("smaller sizes", right);
        row("negative sizes", 8, &["-1"], &[], || wrap(&[-1, 2], &[1, 1], 0))
            .by_hand("pass sizes of 0 or more", right);
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
        // SAFETY: a live tensor that nobody else consumes.
        let import = |v, device, dtype| unsafe { StridedTensor::from_dlpack(managed(v, device, dtype)) };
        let convert = "convert it in the other library first";
        let request = "request that version from the other library";
        for (number, code, version, device, dtype, part, advice) in [
            (41, 23, VERSION, 2, f32s, "device", convert),
            (41, 23, VERSION, 1, DLDataType { lanes: 4, ..f32s }, "lanes", convert),
            (41, 23, VERSION, 1, DLDataType { bits: 64, ..f32s }, "f64", convert),
            (42, 24, DLPackVersion { major: 9, minor: 1 }, 1, f32s, "version 9.1", request),
        ] {
            let before = GIVEN_BACK.load(SeqCst);
            row(format!("row {number}, {part}"), code, &[part], &[], || import(version, device, dtype))
                .by_hand(advice, || import(VERSION, 1, f32s));
            assert_eq!(GIVEN_BACK.load(SeqCst) - before, 2, "row {number}: each given back once");
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
        let mut good = StateDict::new();
        good.insert("t", numbers(&[1]));
        for (number, length, header, data, part) in [
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
            let bad = std::fs::read(&path).unwrap();
            row(format!("row {number}"), 18, &[part], &[], || StateDict::read(&path)).by_hand(
                "write it again",
                || {
                    let written = folder.file("written.safetensors");
                    good.save(&written)?;
                    StateDict::read(&written)
                },
            );
            std::fs::write(&path, bad).unwrap();
            row(format!("row {number}, packed"), 18, &[], &[], || PackedFile::read(&path)).by_hand(
                "write it again",
                || {
                    let written = folder.file("written.packed");
                    PackedWriter::new().save(&written)?;
                    PackedFile::read(&written)
                },
            );
        }
        // Weights that were packed for another number of threads, and for another op.
        let packed = folder.file("one.packed");
        let (x, w) = (numbers(&[1, 16, 5, 6]), numbers(&[8, 16, 3, 3]));
        let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        let write = |source: &Source, plain: bool| {
            let conv = packer.pack_for(source)?;
            let mut writer = if plain { PackedWriter::new().keep_plain() } else { PackedWriter::new() };
            writer.add("conv", &conv)?;
            writer.save(&packed)
        };
        let (here, seven) = (Source::of(&x).unwrap(), Source::of(&x).unwrap().threads(7));
        let conv = || PackedFile::read(&packed)?.get::<PackedConv2d>("conv");
        let repacked = || PackedFile::read_or_repack(&packed)?.get::<PackedConv2d>("conv");
        write(&seven, false).unwrap();
        let other_threads = || row("row 10", 15, &["7", "threads"], &[], conv);
        other_threads().by_hand("pack the plain weights here", || packer.pack_for(&here));
        row("row 10, repacked", 15, &["keeps no plain weights"], &[], repacked).by_hand(
            "write the file with `PackedWriter::keep_plain`",
            || {
                write(&seven, true)?;
                repacked()
            },
        );
        // With plain weights in the file there is another remedy.
        write(&seven, true).unwrap();
        other_threads().by_hand("open the file with `PackedFile::read_or_repack`", repacked);
        row("row 9, in a file", 15, &["conv", "linear"], &[], || {
            PackedFile::read(&packed)?.get::<PackedLinear>("conv")
        })
        .by_hand("request the kind that it is", repacked);
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
