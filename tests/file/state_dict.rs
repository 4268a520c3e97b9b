//! State dicts: names, roles, memory formats, and the view of other safetensors tools.

use blocktensor::{
    DType, Error, MemoryFormat, Module, PackedFile, PackedLinear, PackedWriter, Quantization, StateDict,
    StridedTensor, ledger,
};
use safetensors::tensor::{Dtype, TensorView};

use super::packed::noise;
use super::{Folder, header};

#[test]
fn state_dict_keeps_memory_formats_and_other_tools_read_row_major() {
    let folder = Folder::new("formats");
    let path = folder.file("dict.safetensors");
    let last = [MemoryFormat::ChannelsLast1d, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d];
    let mut dict = StateDict::new();
    let mut plain = std::collections::BTreeMap::new();
    for (rank, format) in (3..).zip(last) {
        let dims: Vec<usize> = [2, 3, 4, 5, 6][..rank].to_vec();
        let t = noise(&dims, rank as u64);
        plain.insert(format!("plain{rank}"), t.to_vec::<f32>().unwrap());
        plain.insert(format!("last{rank}"), t.to_vec::<f32>().unwrap());
        dict.insert(format!("plain{rank}"), t.clone());
        dict.insert(format!("last{rank}"), t.contiguous(format).unwrap());
    }
    // A view, an ambiguous shape with a stated format, other types, an empty one, a scalar.
    let view = noise(&[4, 6], 8).transpose(0, 1).unwrap();
    plain.insert("view".into(), view.to_vec::<f32>().unwrap());
    dict.insert("view", view);
    let ones = noise(&[2, 1, 4, 4], 9).with_format_tag(MemoryFormat::ChannelsLast).unwrap();
    dict.insert("tagged", ones);
    let half = noise(&[2, 2], 3).to_dtype(DType::BF16).unwrap();
    dict.insert("half", half.clone());
    dict.insert("empty", StridedTensor::from_slice::<f32>(&[], &[0, 3]).unwrap());
    dict.insert("scalar", StridedTensor::from_slice(&[2.5f32], &[]).unwrap());
    dict.save(&path).unwrap();

    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, want) in &plain {
        let view = file.tensor(name).unwrap();
        let values: Vec<f32> = bytemuck_f32(view.data());
        assert_eq!((view.dtype(), &values), (Dtype::F32, want), "{name}");
    }
    let (_, json) = header(&path);
    assert_eq!(json["__metadata__"]["memory_format:last4"], "channels_last");
    assert_eq!(json["__metadata__"]["format"], "pt");
    assert!(json["__metadata__"].get("memory_format:plain4").is_none());

    let (read, book) = ledger::record(|| StateDict::read(&path).unwrap());
    // Three tensors are channels-last again; the strides of the tagged one fit both formats.
    assert_eq!(book.reorders.len(), 3, "{book}");
    assert_eq!(read.names().collect::<Vec<_>>(), dict.names().collect::<Vec<_>>());
    for name in dict.names().filter(|&n| n != "view") {
        let (a, b) = (dict.get(name).unwrap(), read.get(name).unwrap());
        assert_eq!((a.dims(), a.strides(), a.dtype()), (b.dims(), b.strides(), b.dtype()), "{name}");
        assert_eq!(
            a.format_tag().is_some() && name == "tagged",
            b.format_tag().is_some() && name == "tagged"
        );
    }
    assert_eq!(read.get("view").unwrap().to_vec::<f32>().unwrap(), plain["view"]);
    assert_eq!(read.get("tagged").unwrap().format_tag(), Some(MemoryFormat::ChannelsLast));
    assert_eq!(
        read.get("half").unwrap().to_vec::<half::bf16>().unwrap(),
        half.to_vec::<half::bf16>().unwrap()
    );
    // Writing what was read gives the same file.
    read.save(folder.file("again.safetensors")).unwrap();
    let mut a = header(&path).1;
    let mut b = header(&folder.file("again.safetensors")).1;
    a["view"] = b["view"].take();
    b["view"] = a["view"].clone();
    assert_eq!(a, b);
}

fn bytemuck_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn state_dict_keeps_metadata_and_dtypes_without_kernels() {
    let folder = Folder::new("others");
    let (path, again) = (folder.file("a.safetensors"), folder.file("b.safetensors"));
    let (count, flags, w) = (7i64.to_le_bytes(), [1u8, 0, 1], 2f32.to_le_bytes());
    let view = |dtype, shape: &[usize], data| TensorView::new(dtype, shape.to_vec(), data).unwrap();
    let tensors = [
        ("bn.num_batches_tracked", view(Dtype::I64, &[], &count[..])),
        ("mask", view(Dtype::BOOL, &[3], &flags[..])),
        ("w", view(Dtype::F32, &[1], &w[..])),
    ];
    let metadata = [("format".to_string(), "tf".to_string()), ("author".into(), "someone".into())].into();
    safetensors::serialize_to_file(tensors, Some(metadata), &path).unwrap();
    let mut dict = StateDict::read(&path).unwrap();
    assert_eq!(dict.names().count(), 3);
    assert!(dict.get("mask").is_none());
    let e = dict.take("mask").unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("[3] BOOL"), "{e}");
    dict.save(&again).unwrap();
    let bytes = std::fs::read(&again).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("bn.num_batches_tracked").unwrap().data(), count);
    assert_eq!(file.tensor("mask").unwrap().data(), flags);
    let said = &header(&again).1["__metadata__"];
    assert_eq!((&said["format"], &said["author"]), (&"tf".into(), &"someone".into()));
}

fn small() -> StateDict {
    let mut dict = StateDict::new();
    for (name, dims) in [
        ("conv.weight", &[4, 3, 1, 1][..]),
        ("conv.bias", &[4]),
        ("bn.weight", &[4]),
        ("bn.bias", &[4]),
        ("bn.running_mean", &[4]),
        ("bn.running_var", &[4]),
        ("fc.weight", &[2, 4]),
        ("up.weight", &[4, 3, 2, 2]),
        ("up.bias", &[6]),
        ("extra.weight", &[1]),
    ] {
        dict.insert(name, noise(dims, 1));
    }
    dict.insert("bn.num_batches_tracked", StridedTensor::from_slice(&[7i32], &[1]).unwrap());
    dict
}

#[test]
fn state_dict_modules_name_missing_unexpected_and_misshapen_tensors() {
    let modules = [
        Module::conv("conv", &[4, 3, 1, 1], true),
        Module::batch_norm("bn", 4),
        Module::linear("fc", 2, 4, true),
        Module::conv_transpose("up", &[4, 3, 2, 2], 2, true),
    ];
    let dict = small();
    let keys = dict.check(&modules, false).unwrap();
    assert_eq!(keys.missing, ["fc.bias"]);
    assert_eq!(keys.left_over, ["extra.weight"], "the integer buffer is nobody's");
    let e = dict.check(&modules, true).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    assert!(
        e.to_string().contains("missing fc.bias") && e.to_string().contains("left over extra.weight"),
        "{e}"
    );
    let plain = [Module::batch_norm("bn", 4).without_affine()];
    assert!(dict.check(&plain, false).unwrap().left_over.contains(&"bn.weight".to_string()));
    let strict = [&modules[..2], &modules[3..]].concat();
    assert!(dict.check(&strict, true).is_err());
    // Wrong shapes are always an error, which names all of them.
    let wrong = [Module::conv("conv", &[4, 4, 1, 1], true), Module::batch_norm("bn", 5)];
    let e = dict.check(&wrong, false).unwrap_err();
    let text = e.to_string();
    assert!(
        matches!(e, Error::ShapeMismatch(_))
            && text.contains("conv.weight is [4, 3, 1, 1] f32, not [4, 4, 1, 1]")
    );
    assert!(text.contains("bn.running_var") && text.contains("bn.weight"), "{text}");
}

#[test]
fn state_dict_roles_take_their_tensors_out() {
    let mut dict = small();
    let conv = dict.conv("conv").unwrap();
    assert_eq!((conv.weight.dims(), conv.bias.unwrap().dims()), (&[4, 3, 1, 1][..], &[4][..]));
    let norm = dict.batch_norm("bn").unwrap();
    assert_eq!(norm.params(1e-3).eps, 1e-3);
    assert!(dict.linear("fc").unwrap().bias.is_none());
    let left: Vec<&str> = dict.names().collect();
    assert_eq!(left, ["bn.num_batches_tracked", "extra.weight", "up.bias", "up.weight"]);
    // As in PyTorch, unused tensors of any dtype are an error, except for the batch counter.
    dict.insert("ids", StridedTensor::from_slice(&[7i32], &[1]).unwrap());
    assert_eq!(dict.check(&[], false).unwrap().left_over, ["extra.weight", "ids", "up.bias", "up.weight"]);
    dict.take("ids").unwrap();
    let e = dict.conv("conv").unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("conv.weight"), "{e}");
    // Where one tensor is missing, none is taken out.
    dict.insert("half.running_mean", noise(&[4], 1));
    assert!(dict.batch_norm("half").unwrap_err().to_string().contains("half.running_var"));
    assert_eq!(dict.take("half.running_mean").unwrap().dims(), [4]);
    // Either all names change or none.
    assert!(dict.rename(|_| "same".into()).is_err());
    assert_eq!(dict.names().count(), 4);
    dict.rename(|n| n.replace("up.", "down.")).unwrap();
    assert_eq!(dict.take("down.bias").unwrap().dims(), [6]);
}

#[test]
fn state_dict_names_a_file_of_torch_save() {
    let folder = Folder::new("zip");
    let path = folder.file("s.pth");
    std::fs::write(&path, b"PK\x03\x04\0\0\x08\x08\0\0archive/data.pkl").unwrap();
    let e = StateDict::read(&path).unwrap_err();
    assert!(
        matches!(e, Error::CorruptFile(_)) && e.to_string().contains("`safetensors.torch.save_file`"),
        "{e}"
    );
}

#[test]
fn files_of_packed_weights_and_models_are_told_apart() {
    let folder = Folder::new("onnx");
    let path = folder.file("model.onnx");
    // Version 8 of the format, then the producer's name, as PyTorch begins.
    std::fs::write(&path, b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x00").unwrap();
    for e in [StateDict::read(&path).unwrap_err(), PackedFile::read(&path).unwrap_err()] {
        let text = e.to_string();
        assert!(matches!(e, Error::CorruptFile(_)) && text.contains("an ONNX model"), "{text}");
        assert!(text.ends_with("`blocktensor_onnx::from_path`"), "{text}");
    }
    assert!(!PackedFile::is_at(&path) && !PackedFile::is_at(folder.file("nothing")));
    let x = StridedTensor::from_slice(&[1f32], &[1]).unwrap();
    let fc = PackedLinear::new(&x.reshape(&[1, 1]).unwrap(), None, 1).unwrap();
    let mut writer = PackedWriter::new();
    writer.add("fc", &fc).unwrap();
    // It may be the model itself: it stays.
    assert!(matches!(writer.save(&path), Err(Error::FileAccess(_))) && !PackedFile::is_at(&path));
    let path = folder.file("fc.packed");
    writer.save(&path).unwrap();
    assert!(PackedFile::is_at(&path) && PackedFile::begins(&std::fs::read(&path).unwrap()));
    assert!(!PackedFile::begins(b"\x02\0\0\0\0\0\0\0") && !PackedFile::begins(&[0xff; 9]));
}

#[test]
fn state_dict_refuses_a_stated_format_that_does_not_fit() {
    let folder = Folder::new("stated");
    let path = folder.file("s.safetensors");
    let data = [0u8; 16];
    for (key, value) in [
        ("memory_format:w", "channels_last"),
        ("memory_format:w", "preserve"),
        ("memory_format:w", "\u{7}"),
        ("memory_format:nobody", "contiguous"),
    ] {
        let view = TensorView::new(Dtype::F32, vec![2, 2], &data).unwrap();
        let metadata = [(key.to_string(), value.to_string())].into();
        safetensors::serialize_to_file([("w", view)], Some(metadata), &path).unwrap();
        let e = StateDict::read(&path).unwrap_err();
        assert!(matches!(e, Error::CorruptFile(_)), "{e}");
    }
}

#[test]
fn state_dict_counts_subnormal_numbers_and_flushes_them_on_request() {
    let tiny = f32::from_bits(1);
    let values = [0.0, -0.0, tiny, -tiny, f32::MIN_POSITIVE, f32::NAN, 1.0, f32::from_bits(0x807f_ffff)];
    let t = StridedTensor::from_slice(&values, &[2, 4]).unwrap();
    assert_eq!(t.count_subnormals().unwrap(), 3);
    assert_eq!(t.transpose(0, 1).unwrap().count_subnormals().unwrap(), 3);
    let flushed = t.flush_subnormals().unwrap();
    assert_eq!(flushed.count_subnormals().unwrap(), 0);
    let bits: Vec<u32> = flushed.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    let want = [0.0f32, -0.0, 0.0, -0.0, f32::MIN_POSITIVE, f32::NAN, 1.0, -0.0];
    assert_eq!(bits, want.map(f32::to_bits));
    let halves = t.to_dtype(DType::F16).unwrap();
    assert!(matches!(halves.count_subnormals(), Err(Error::UnsupportedDType(_))));
    // Packing counts the folded weights: batch norm can make a weight subnormal, or a subnormal weight normal.
    let w = StridedTensor::from_slice(&[1e-30f32, 1.0, tiny, 2.0], &[2, 2, 1, 1]).unwrap();
    let packer = blocktensor::PackedConv2d::new(&w, None, blocktensor::ops::Conv2d::new()).unwrap();
    assert_eq!(packer.subnormals().unwrap(), 1);
    let full = |v: f32| StridedTensor::full(&[2], v, MemoryFormat::Contiguous).unwrap();
    let (mean, var, scale) =
        (full(0.0), full(1.0), StridedTensor::from_slice(&[1e-10f32, 1e20], &[2]).unwrap());
    let bn =
        blocktensor::ops::BatchNorm { weight: Some(&scale), ..blocktensor::ops::BatchNorm::new(&mean, &var) };
    let packer = packer.fold_batch_norm(&bn).unwrap();
    assert_eq!(packer.subnormals().unwrap(), 1, "1e-40, and no longer the smallest number");
    let source = blocktensor::Source::strided(&[1, 2, 4, 4], MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(packer.pack_for(&source).unwrap().subnormals(), 1);
    let packed = packer.flush_subnormals().unwrap().pack_for(&source).unwrap();
    assert_eq!(packed.subnormals(), 0);
    assert_eq!(packed.unpack_weights().unwrap().to_vec::<f32>().unwrap()[0], 0.0);
    let fc = blocktensor::PackedLinear::new(&w.reshape(&[2, 2]).unwrap(), None, 1).unwrap();
    assert_eq!(fc.subnormals(), 1);
}

/// Mapped and read dicts have the same content. A dict that was read does not depend on the file.
#[test]
fn a_state_dict_that_was_read_does_not_change_with_the_file() {
    let folder = Folder::new("dict_changed");
    let path = folder.file("some.safetensors");
    let mut dict = StateDict::new();
    let t = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[1, 2, 2, 2]).unwrap();
    dict.insert("last", t.contiguous(MemoryFormat::ChannelsLast).unwrap());
    dict.insert("plain", t);
    dict.save(&path).unwrap();
    let read = StateDict::read(&path).unwrap();
    let values = |d: &StateDict, name: &str| d.get(name).unwrap().to_vec::<f32>().unwrap();
    {
        // SAFETY: the file is this test's own, and nothing changes it before the dict is dropped.
        let mapped = unsafe { StateDict::map(&path) }.unwrap();
        assert!(mapped.names().eq(read.names()));
        for name in mapped.names() {
            assert_eq!(values(&mapped, name), values(&read, name));
            assert_eq!(mapped.get(name).unwrap().strides(), read.get(name).unwrap().strides());
        }
    }
    let bytes = std::fs::read(&path).unwrap();
    for change in [&vec![0xff; bytes.len()][..], &[]] {
        std::fs::write(&path, change).unwrap();
        for name in ["last", "plain"] {
            assert_eq!(values(&read, name), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        }
    }
}

#[test]
fn scales_and_zero_points_are_in_the_file() {
    let folder = Folder::new("dict_quantised");
    let path = folder.file("some.safetensors");
    let values: Vec<i8> = (0..24).map(|i| i - 12).collect();
    let t = StridedTensor::from_slice(&values, &[1, 3, 2, 4]).unwrap();
    let (scales, zero_points) = (vec![0.1, f32::MIN_POSITIVE, 3e38], vec![-128, 0, 127]);
    let channels = t.quantized(Quantization { axis: Some(1), scales, zero_points }).unwrap();
    let one = t.quantized(Quantization::per_tensor(0.3, 7)).unwrap();
    let mut dict = StateDict::new();
    dict.insert("channels", channels.clone());
    dict.insert("last", channels.contiguous(MemoryFormat::ChannelsLast).unwrap());
    dict.insert("one", one.clone());
    dict.insert("view", channels.narrow(1, 1, 2).unwrap().permute(&[1, 0, 2, 3]).unwrap());
    dict.insert("plain", t.clone());
    dict.save(&path).unwrap();
    // SAFETY: the file is this test's own, and nothing changes it before the dict is dropped.
    for read in [StateDict::read(&path).unwrap(), unsafe { StateDict::map(&path) }.unwrap()] {
        for name in dict.names() {
            let (was, is) = (dict.get(name).unwrap(), read.get(name).unwrap());
            assert_eq!(was.quantization(), is.quantization(), "{name}");
            assert_eq!(was.to_vec::<i8>().unwrap(), is.to_vec::<i8>().unwrap(), "{name}");
        }
        assert_eq!(read.get("view").unwrap().quantization().unwrap().axis, Some(0));
        // A tensor that is replaced leaves nothing of its scales.
        let mut other = read.clone();
        other.insert("one", t.clone());
        let again = folder.file("again.safetensors");
        other.save(&again).unwrap();
        let again = StateDict::read(&again).unwrap();
        assert_eq!(again.get("one").unwrap().quantization(), None);
        assert_eq!(again.get("channels").unwrap().quantization(), channels.quantization());
    }
    // The texts that state none, and those that the tensor cannot have.
    for (json, part) in [
        ("none", "expected"),
        (r#"{"scales":[1.0],"zero_points":[128]}"#, "a zero point is an integer of s8"),
        (r#"{"axis":1,"scales":[1.0],"zero_points":[0]}"#, "there must be 3 of each"),
        (r#"{"scales":[1.0],"zero_points":[0],"bits":4}"#, "bits"),
    ] {
        for (name, part) in [("t", part), ("other", "no such tensor")] {
            let metadata =
                std::collections::HashMap::from([(format!("quantization:{name}"), json.to_string())]);
            let bytes: Vec<u8> = values.iter().map(|v| v.cast_unsigned()).collect();
            let view = TensorView::new(Dtype::I8, vec![1, 3, 2, 4], &bytes);
            let file = safetensors::serialize([("t", view.unwrap())], Some(metadata)).unwrap();
            std::fs::write(&path, file).unwrap();
            let e = StateDict::read(&path).unwrap_err();
            assert!(matches!(e, Error::CorruptFile(_)) && e.to_string().contains(part), "{part}: {e}");
        }
    }
}
