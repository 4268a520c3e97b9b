//! Packed files: a packed op comes back with the same bits and without a reorder.

use std::path::Path;

use blocktensor::ledger;
use blocktensor::ops::{BatchNorm, Conv, ConvTranspose, Fusion};
use blocktensor::{
    BlockedTensor, DType, Error, Layout, MemoryFormat, Operand, Packable, PackedConv, PackedConv2d,
    PackedConvTranspose, PackedFile, PackedKind, PackedLinear, PackedStem, PackedWriter, Quantization,
    Result, Source, StateDict, StridedTensor,
};

use super::{Folder, header};
use crate::support::Rng;

/// The elements in row-major order, by an explicit reorder.
pub fn plain(y: &BlockedTensor) -> Vec<f32> {
    y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap()
}

pub fn noise(dims: &[usize], seed: u64) -> StridedTensor {
    StridedTensor::from_slice(&Rng(seed).reals(dims.iter().product()), dims).unwrap()
}

fn bits<T: Operand>(y: &T) -> Vec<u32> {
    let values = match y.tensor_ref() {
        blocktensor::TensorRef::Strided(t) => t.to_vec::<f32>().unwrap(),
        blocktensor::TensorRef::Blocked(t) => plain(t),
        blocktensor::TensorRef::Opaque(_) => unreachable!(),
    };
    values.into_iter().map(f32::to_bits).collect()
}

/// Writes one packed op, with and without its plain weights, reads it back, and calls `same` on it.
fn there_and_back<P: Packable>(folder: &Folder, kind: PackedKind, packed: &P, same: impl Fn(&P)) {
    for keep in [false, true] {
        let path = folder.file("one.packed");
        let mut writer = PackedWriter::new();
        if keep {
            writer = writer.keep_plain();
        }
        writer.add("some.name", packed).unwrap();
        writer.save(&path).unwrap();
        assert_eq!(PackedFile::read(&path).unwrap().kind("some.name").unwrap(), kind);
        let (read, book) = ledger::record(|| -> Result<P> { PackedFile::read(&path)?.get("some.name") });
        assert!(book.reorders.is_empty(), "{book}");
        same(&read.unwrap());
    }
}

fn conv_case<const N: usize>(folder: &Folder, c: usize, o: usize, groups: usize, seed: u64) {
    let spatial = [7, 6, 5];
    let dims: Vec<usize> = [2, c].into_iter().chain(spatial[..N].iter().copied()).collect();
    let wdims: Vec<usize> = [o, c / groups].into_iter().chain([3; N]).collect();
    let (x, w, b) = (noise(&dims, seed), noise(&wdims, seed + 1), noise(&[o], seed + 2));
    let (mean, var) = (noise(&[o], 7), StridedTensor::full(&[o], 0.7f32, MemoryFormat::Contiguous).unwrap());
    let params = || Conv::<N>::new().padding(1).groups(groups).residual().relu();
    let packer = PackedConv::<N>::new(&w, Some(&b), params()).unwrap();
    let packer = packer.fold_batch_norm(&BatchNorm::new(&mean, &var)).unwrap();
    let layout = Layout::native_activation(N + 2).unwrap();
    let last = MemoryFormat::channels_last_of(N + 2).unwrap();
    let blocked = x.to_blocked(&layout).unwrap();
    check_conv(folder, &packer.pack_for(&Source::of(&blocked).unwrap()).unwrap(), &blocked);
    for format in [MemoryFormat::Contiguous, last] {
        let x = x.contiguous(format).unwrap();
        let packed = packer.pack_for(&Source::strided(&dims, format).unwrap()).unwrap();
        check_conv(folder, &packed, &x);
    }
}

fn check_conv<const N: usize, T: Operand + Clone>(folder: &Folder, packed: &PackedConv<N>, x: &T) {
    // The residual has the shape and the layout of the result.
    let residual = packed_result_like(packed, x);
    let fusion = || Fusion { residual: Some(&residual), channel: &[] };
    let want = bits(&packed.run_fused(x, fusion()).unwrap());
    there_and_back(folder, PackedKind::Conv(N), packed, |read| {
        assert_eq!(bits(&read.run_fused(x, fusion()).unwrap()), want, "{packed:?}");
        assert_eq!(read.source(), packed.source());
        assert_eq!(read.weights_layout(), packed.weights_layout());
        assert_eq!((read.bytes(), read.subnormals()), (packed.bytes(), packed.subnormals()));
        assert_eq!(bits(&read.unpack_weights().unwrap()), bits(&packed.unpack_weights().unwrap()));
    });
}

/// A tensor with the shape of the result, in the layout of the source.
fn packed_result_like<const N: usize, T: Operand>(packed: &PackedConv<N>, x: &T) -> T {
    let plain = noise(&packed.dst_dims(), 9);
    let t = match x.tensor_ref() {
        blocktensor::TensorRef::Blocked(b) => {
            blocktensor::Tensor::Blocked(plain.to_blocked(b.layout()).unwrap())
        }
        blocktensor::TensorRef::Strided(s) => {
            let format = s.suggest_memory_format(false);
            let format = if s.is_contiguous(format) { format } else { MemoryFormat::ChannelsLast1d };
            blocktensor::Tensor::Strided(plain.contiguous(format).unwrap())
        }
        blocktensor::TensorRef::Opaque(_) => unreachable!(),
    };
    T::from_tensor(t).ok().unwrap()
}

#[test]
fn packed_file_returns_every_kind_of_packed_op_to_the_bit() {
    let folder = Folder::new("kinds");
    for (c, o, groups) in [(16, 32, 1), (3, 17, 1), (17, 17, 17), (40, 40, 20), (32, 64, 2), (1, 1, 1)] {
        conv_case::<1>(&folder, c, o, groups, 11);
        conv_case::<2>(&folder, c, o, groups, 12);
        conv_case::<3>(&folder, c, o, groups, 13);
    }
    // Transposed, with and without groups.
    for groups in [1, 2] {
        let (x, w) = (noise(&[1, 16, 5, 4], 1), noise(&[16, 32 / groups, 3, 3], 2));
        let params = ConvTranspose::<2>::new().stride(2).padding(1).output_padding(1).groups(groups);
        let packer = PackedConvTranspose::<2>::new(&w, None, params).unwrap();
        let x = x.to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
        let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let want = bits(&packed.run(&x).unwrap());
        there_and_back(&folder, PackedKind::ConvTranspose(2), &packed, |read| {
            assert_eq!(bits(&read.run(&x).unwrap()), want)
        });
    }
    // Linear layers, also with one input and one output, and with no rows.
    for (k, o, rows) in [(64, 10, 3), (1, 1, 1), (17, 33, 0)] {
        let (x, w, b) = (noise(&[rows, k], 1), noise(&[o, k], 2), noise(&[o], 3));
        let packed = PackedLinear::new(&w, Some(&b), rows).unwrap();
        let want = bits(&packed.run(&x).unwrap());
        there_and_back(&folder, PackedKind::Linear, &packed, |read| {
            assert_eq!(bits(&read.run(&x).unwrap()), want);
            assert_eq!(bits(&read.unpack_weights().unwrap()), bits(&w));
            assert_eq!(read.weights_layout(), packed.weights_layout());
        });
    }
    // In bf16, for few rows and for more.
    for rows in [3, 9] {
        let w = noise(&[33, 17], 2);
        let x = noise(&[rows, 17], 1).to_dtype(DType::BF16).unwrap();
        let packed = match PackedLinear::for_dtype(&w, None, rows, DType::BF16) {
            Ok(packed) => packed,
            Err(Error::UnsupportedDType(_)) => continue,
            Err(e) => panic!("{e}"),
        };
        let want = packed.run(&x).unwrap().to_vec::<half::bf16>().unwrap();
        there_and_back(&folder, PackedKind::Linear, &packed, |read| {
            assert_eq!(read.run(&x).unwrap().to_vec::<half::bf16>().unwrap(), want);
            assert_eq!(bits(&read.unpack_weights().unwrap()), bits(&packed.unpack_weights().unwrap()));
            assert_eq!(read.implementation(), packed.implementation());
        });
    }
    assert_eq!(folder.names(), ["one.packed"], "nothing else is left in the folder");
}

#[cfg(feature = "onednn")]
#[test]
fn packed_file_returns_a_stem_to_the_bit() {
    let folder = Folder::new("stem");
    let (x, w) = (noise(&[1, 3, 19, 18], 1), noise(&[32, 3, 7, 7], 2));
    let to = Layout::native_activation(4).unwrap();
    let packer = PackedConv2d::new(&w, None, Conv::<2>::new().stride(2).padding(3).relu()).unwrap();
    let packed: PackedStem<2> = match packer.pack_stem(&Source::of(&x).unwrap(), &to) {
        Ok(packed) => packed,
        // The engine has no stem for some older instruction sets.
        Err(Error::UnsupportedOp(_)) if blocktensor::onednn::effective_isa() == "Intel SSE4.1" => return,
        Err(e) => panic!("{e}"),
    };
    let y: BlockedTensor = packed.run(&x).unwrap();
    there_and_back(&folder, PackedKind::Stem(2), &packed, |read| {
        assert_eq!(bits(&read.run(&x).unwrap()), bits(&y))
    });
    // Reading it as another kind is an error.
    let mut writer = PackedWriter::new();
    writer.add("stem", &packed).unwrap();
    let path = folder.file("stem.packed");
    writer.save(&path).unwrap();
    let e = PackedFile::read(&path).unwrap().get::<PackedConv2d>("stem").map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("2-D stem"), "{e}");
}

/// A file with two packed ops.
pub fn small_file(folder: &Folder, keep: bool) -> std::path::PathBuf {
    let x = noise(&[1, 16, 5, 5], 1).to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
    let (w, b) = (noise(&[5, 16, 3, 3], 2), noise(&[5], 3));
    let conv = PackedConv2d::new(&w, Some(&b), Conv::<2>::new().padding(1).relu()).unwrap();
    let conv = conv.pack_for(&Source::of(&x).unwrap()).unwrap();
    let fc = PackedLinear::new(&noise(&[3, 7], 4), None, 8).unwrap();
    let mut writer = PackedWriter::new();
    if keep {
        writer = writer.keep_plain();
    }
    writer.add("conv", &conv).unwrap();
    writer.add("fc", &fc).unwrap();
    let path = folder.file("small.packed");
    writer.save(&path).unwrap();
    path
}

#[test]
fn packed_file_is_a_safetensors_file_with_aligned_tensors() {
    let folder = Folder::new("listed");
    let path = small_file(&folder, true);
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names: Vec<&str> = file.names().into_iter().filter(|n| !n.starts_with("_filler")).collect();
    names.sort_unstable();
    assert_eq!(names, ["checksums", "conv.bias", "conv.packed", "conv.plain", "fc.packed", "fc.plain"]);
    assert_eq!(file.tensor("conv.plain").unwrap().shape(), [5, 16, 3, 3]);
    let (length, json) = header(&path);
    assert_eq!((8 + length) % 64, 0);
    for (name, info) in json.as_object().unwrap() {
        if !name.starts_with('_') {
            assert_eq!(info["data_offsets"][0].as_u64().unwrap() % 64, 0, "{name}");
        }
    }
    let said = &json["__metadata__"];
    assert_eq!(said["format"], "blocktensor-packed");
    assert_eq!(said["block"], Layout::native().0.block_of(1).to_string());
    for key in ["format_version", "isa", "onednn", "onednn_isa", "packed:conv", "packed:fc"] {
        assert!(said[key].is_string(), "{key}");
    }
    // The same weights give the same file.
    small_file(&folder, true);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn packed_file_for_another_number_of_threads_is_refused_or_packed_again() {
    let folder = Folder::new("threads");
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let path = pool(2).install(|| small_file(&folder, false));
    let x = noise(&[1, 16, 5, 5], 5);
    let xb = x.to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
    let want =
        pool(2).install(|| PackedFile::read(&path).unwrap().get::<PackedConv2d>("conv").unwrap().run(&xb));
    let want = plain(&want.unwrap());
    pool(3).install(|| {
        for (name, text) in [("conv", "a run here has 3"), ("fc", "packed for 2 threads")] {
            let file = PackedFile::read(&path).unwrap();
            let e = match name {
                "conv" => file.get::<PackedConv2d>(name).map(|_| ()),
                _ => file.get::<PackedLinear>(name).map(|_| ()),
            };
            let e = e.unwrap_err();
            assert!(matches!(e, Error::PackMismatch(_)), "{e}");
            // A remedy that would fail is not offered.
            assert!(e.to_string().contains(text) && !e.to_string().contains("repack"), "{e}");
            assert!(e.to_string().contains("the file keeps none (`PackedWriter::keep_plain`)"), "{e}");
            assert!(e.to_string().contains("; load and run it with `run_with_threads(2, ..)`, or "), "{e}");
            let loaded = blocktensor::run_with_threads(2, || match name {
                "conv" => file.get::<PackedConv2d>(name).map(|_| ()),
                _ => file.get::<PackedLinear>(name).map(|_| ()),
            });
            loaded.unwrap();
        }
        // Without plain weights it cannot be packed again.
        let file = PackedFile::read_or_repack(&path).unwrap();
        let e = file.get::<PackedLinear>("fc").map(|_| ()).unwrap_err();
        assert!(e.to_string().contains("keep_plain"), "{e}");
    });
    let path = pool(2).install(|| small_file(&folder, true));
    pool(3).install(|| {
        let e = PackedFile::read(&path).unwrap().get::<PackedConv2d>("conv").map(|_| ()).unwrap_err();
        assert!(e.to_string().ends_with("open the file with `PackedFile::read_or_repack`"), "{e}");
        let file = PackedFile::read_or_repack(&path).unwrap();
        let (conv, book) = ledger::record(|| file.get::<PackedConv2d>("conv").unwrap());
        assert!(book.reorders.iter().all(|r| r.cause == ledger::Cause::Packing), "{book}");
        assert!(conv.source().to_string().contains("3 threads"), "{}", conv.source());
        let got = plain(&conv.run(&xb).unwrap());
        let want: Vec<f64> = want.iter().map(|&v| f64::from(v)).collect();
        crate::support::assert_close("packed again", &got, &want, |_| 1e-5);
        assert!(file.get::<PackedLinear>("fc").is_ok());
    });
}

#[test]
fn packed_file_keeps_any_name() {
    let folder = Folder::new("any-name");
    let fc = PackedLinear::new(&noise(&[3, 7], 4), None, 8).unwrap();
    let long = "n".repeat(5000);
    let names = [
        "",
        "_filler0",
        "checksums",
        "__metadata__",
        "a/b",
        "a",
        "a.plain",
        "\u{0}\u{7}\u{2603}",
        long.as_str(),
    ];
    let mut writer = PackedWriter::new().keep_plain();
    for name in names {
        writer.add(name, &fc).unwrap();
    }
    let path = folder.file("names.packed");
    let shared: &(dyn Sync + Send) = &writer;
    let _ = shared;
    writer.save(&path).unwrap();
    let file = PackedFile::read(&path).unwrap();
    assert_eq!(file.names().count(), names.len());
    for name in names {
        file.get::<PackedLinear>(name).unwrap();
    }
}

#[test]
fn packed_file_refuses_unknown_names_and_other_kinds() {
    let folder = Folder::new("names");
    let path = small_file(&folder, false);
    let file = PackedFile::read(&path).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["conv", "fc"]);
    let texts = [
        file.get::<PackedConv2d>("cnov").map(|_| ()).unwrap_err().to_string(),
        file.get::<PackedLinear>("conv").map(|_| ()).unwrap_err().to_string(),
        file.get::<PackedConv2d>("fc").map(|_| ()).unwrap_err().to_string(),
        file.get::<PackedConv<1>>("conv").map(|_| ()).unwrap_err().to_string(),
        file.get::<PackedConvTranspose<2>>("conv").map(|_| ()).unwrap_err().to_string(),
        file.get::<PackedStem<2>>("conv").map(|_| ()).unwrap_err().to_string(),
    ];
    let wants =
        ["`cnov`", "a linear layer was", "a linear layer", "a 1-D conv", "2-D transposed", "a 2-D stem was"];
    for (text, want) in texts.iter().zip(wants) {
        assert!(text.contains(want), "{text} ({want})");
    }
    let fc = PackedLinear::new(&noise(&[3, 7], 4), None, 8).unwrap();
    let mut writer = PackedWriter::new();
    writer.add("fc", &fc).unwrap();
    assert!(matches!(writer.add("fc", &fc), Err(Error::InvalidArgument(_))));
    writer.save(&path).unwrap();
    let unknown = PackedFile::read(&path).unwrap().kind("fc1").unwrap_err().to_string();
    assert!(unknown.contains("`fc1`") && unknown.contains("1 names: \"fc\""), "{unknown}");
}

#[test]
fn writing_a_packed_file_replaces_it_whole_and_keeps_mappings_alive() {
    let folder = Folder::new("replace");
    let path = small_file(&folder, false);
    // SAFETY: the file is this test's own; it is replaced, and never changed.
    let old: PackedLinear = unsafe { PackedFile::map(&path) }.unwrap().get("fc").unwrap();
    let x = noise(&[2, 7], 1);
    let want = bits(&old.run(&x).unwrap());
    let fc = PackedLinear::new(&noise(&[3, 7], 99), None, 8).unwrap();
    let mut writer = PackedWriter::new();
    writer.add("fc", &fc).unwrap();
    writer.save(&path).unwrap();
    assert_eq!(bits(&old.run(&x).unwrap()), want);
    let new: PackedLinear = PackedFile::read(&path).unwrap().get("fc").unwrap();
    assert_eq!(bits(&new.run(&x).unwrap()), bits(&fc.run(&x).unwrap()));
    // A write that fails leaves no file behind.
    let e = writer.save(folder.file("none/x.packed")).unwrap_err();
    assert!(matches!(e, Error::FileAccess(_)) && e.to_string().contains("none/x.packed"), "{e}");
    let no_file = |path: &Path| {
        assert!(matches!(writer.save(path), Err(Error::FileAccess(_))));
        assert!(matches!(PackedFile::read(path), Err(Error::FileAccess(_))));
    };
    no_file(&folder.file(""));
    assert_eq!(folder.names(), ["small.packed"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};
        // A socket is not replaced, and neither is a device.
        let socket = folder.file("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        no_file(&socket);
        assert!(std::fs::metadata(&socket).unwrap().file_type().is_socket());
        // The new file has the permissions of the old one.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        writer.save(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let nowhere = folder.file("nowhere.packed");
        std::os::unix::fs::symlink(folder.file("gone"), &nowhere).unwrap();
        assert!(matches!(writer.save(&nowhere), Err(Error::FileAccess(_))));
        assert!(std::fs::symlink_metadata(&nowhere).unwrap().is_symlink());
        // A symbolic link stays one, and points to the new file.
        let link = folder.file("link.packed");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        writer.save(&link).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        PackedFile::read(&path).unwrap();
    }
}

/// A file that is there may be the only copy of someone's weights.
#[test]
fn only_files_of_the_same_kind_are_replaced() {
    let folder = Folder::new("kinds");
    let packed = small_file(&folder, true);
    let (plain, text, empty) = (folder.file("plain.safetensors"), folder.file("text"), folder.file("empty"));
    let mut dict = StateDict::default();
    dict.insert("w", noise(&[2, 3], 1));
    dict.save(&plain).unwrap();
    std::fs::write(&text, "a text that is longer than nine bytes").unwrap();
    let refused = |saved: Result<(), Error>, path: &std::path::Path| {
        let Err(Error::FileAccess(c)) = saved else { panic!("{saved:?}") };
        let said = c.to_string();
        assert!(said.contains(path.to_str().unwrap()) && said.contains("it exists, and is not"), "{said}");
        assert!(said.ends_with("remove it, or pass another path"), "{said}");
    };
    for path in [&plain, &text] {
        let before = std::fs::read(path).unwrap();
        refused(PackedWriter::new().save(path), path);
        assert!(std::fs::read(path).unwrap() == before);
    }
    for path in [&packed, &text] {
        let before = std::fs::read(path).unwrap();
        refused(dict.save(path), path);
        assert!(std::fs::read(path).unwrap() == before);
    }
    // One of the same kind, also a damaged one, and an empty one.
    let whole = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &whole[..whole.len() - 10]).unwrap();
    for path in [&packed, &empty] {
        if path == &empty {
            std::fs::write(path, "").unwrap();
        }
        PackedWriter::new().save(path).unwrap();
        PackedFile::read(path).unwrap();
    }
    dict.save(&plain).unwrap();
}

/// Weights that were read into memory do not change when the file is overwritten or cut.
#[test]
fn a_packed_file_that_was_read_does_not_change_with_the_file() {
    let folder = Folder::new("changed");
    let path = small_file(&folder, true);
    let x = noise(&[2, 7], 1);
    let open: [fn(&Path) -> Result<PackedFile>; 2] =
        [|p| PackedFile::read(p), |p| PackedFile::read_or_repack(p)];
    for open in open {
        let file = open(&path).unwrap();
        let fc: PackedLinear = file.get("fc").unwrap();
        let want = bits(&fc.run(&x).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        for change in [&vec![0xff; bytes.len()][..], &[]] {
            // Overwritten in place: the inode stays the same.
            std::fs::write(&path, change).unwrap();
            assert_eq!(bits(&fc.run(&x).unwrap()), want);
            assert_eq!(bits(&file.get::<PackedLinear>("fc").unwrap().run(&x).unwrap()), want);
        }
        std::fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn packed_file_gives_the_same_by_every_way_to_open_it() {
    let folder = Folder::new("ways");
    let path = small_file(&folder, true);
    let x = noise(&[2, 7], 1);
    // SAFETY: the file is this test's own, and nothing changes it while it is mapped.
    let files = unsafe {
        [
            PackedFile::read(&path),
            PackedFile::read_or_repack(&path),
            PackedFile::map(&path),
            PackedFile::map_unchecked(&path),
            PackedFile::map_or_repack(&path),
        ]
    };
    let results = files.map(|f| bits(&f.unwrap().get::<PackedLinear>("fc").unwrap().run(&x).unwrap()));
    assert!(results.iter().all(|r| *r == results[0]));
    for content in [&b""[..], b"1234567", b"\xff\xff\xff\xff\xff\xff\xff\xff{}"] {
        std::fs::write(&path, content).unwrap();
        let e = PackedFile::read(&path).unwrap_err();
        // SAFETY: as above.
        let mapped = unsafe { PackedFile::map(&path) }.unwrap_err();
        assert!(matches!(e, Error::CorruptFile(_)), "{e}");
        assert_eq!(e.to_string().replace("::read", "::map"), mapped.to_string());
    }
}

#[test]
fn added_tensors_keep_scales_and_zero_points() {
    let folder = Folder::new("packed_quantised");
    let path = folder.file("some.packed");
    let t = StridedTensor::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let q = Quantization { axis: Some(1), scales: vec![0.1, 0.2, 0.3], zero_points: vec![0, 128, 255] };
    let mut writer = PackedWriter::new();
    writer.add_tensor("columns", &t.quantized(q.clone()).unwrap().transpose(0, 1).unwrap()).unwrap();
    writer.add_tensor("plain", &t).unwrap();
    writer.save(&path).unwrap();
    let file = PackedFile::read(&path).unwrap();
    let columns = file.tensor("columns").unwrap();
    assert_eq!(columns.quantization(), Some(&Quantization { axis: Some(0), ..q }));
    assert_eq!(columns.to_vec::<u8>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(file.tensor("plain").unwrap().quantization(), None);
}
