//! Packed files: any bytes, and valid files with changes. Most changed files get new checksums, so that the checks of entries
//! are reached. A file that was changed without new checksums must be refused. A file that loads must compute what its entry
//! says.
#![no_main]

use std::sync::LazyLock;

use blocktensor::ops::{Conv, ConvTranspose, PostOp};
use blocktensor::{
    BlockedTensor, DType, Error, Layout, MemoryFormat, Operand, Packable, PackedConv, PackedConv1d,
    PackedConv2d, PackedConvTranspose, PackedConvTranspose2d, PackedFile, PackedLinear, PackedStem,
    PackedWriter, Source, StridedTensor, Tensor,
};
use blocktensor_fuzz::numbers::{elements, for_each_index};
use blocktensor_fuzz::{Input, MemoryFile, check_error, json, limit_memory, setup, storage};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    setup();
    LazyLock::force(&BASES);
    let mut input = Input::new(data);
    storage(input.flag());
    limit_memory();
    if input.one_in(4) {
        return any_bytes(input.rest());
    }
    let base = &BASES[input.below(BASES.len())];
    changed(&mut input, base);
});

/// A valid file with one packed op, called `op`.
struct Base {
    bytes: Vec<u8>,
    header: Value,
    entry: Value,
    bias: Vec<f32>,
    /// The expected result for `source`.
    result: Vec<f32>,
}

const NAME: &str = "op";

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let blocked =
        |dims: &[usize]| numbers(dims).to_blocked(&Layout::native_activation(dims.len()).unwrap()).unwrap();
    let last = numbers(&[1, 6, 5, 5]).contiguous(MemoryFormat::ChannelsLast).unwrap();
    let bias = numbers(&[6]);
    let mut bases = Vec::new();
    for keep in [false, true] {
        let (x, w) = (blocked(&[1, 5, 5, 5]), numbers(&[6, 5, 3, 3]));
        let conv = PackedConv2d::new(&w, Some(&bias), Conv::new().padding(1).relu()).unwrap();
        bases.push(base(&conv.pack_for(&Source::of(&x).unwrap()).unwrap(), keep, &bias, |p| {
            p.run(&x).unwrap().into()
        }));
        let conv =
            PackedConv2d::new(&numbers(&[6, 3, 3, 2]), Some(&bias), Conv::new().groups(2).stride(2)).unwrap();
        bases.push(base(&conv.pack_for(&Source::of(&last).unwrap()).unwrap(), keep, &bias, |p| {
            p.run(&last).unwrap().into()
        }));
        let (x, depth) = (blocked(&[1, 6, 5, 5]), numbers(&[6, 1, 3, 3]));
        let conv =
            PackedConv2d::new(&depth, Some(&bias), Conv::new().groups(6).dilation(2).padding(2)).unwrap();
        bases.push(base(&conv.pack_for(&Source::of(&x).unwrap()).unwrap(), keep, &bias, |p| {
            p.run(&x).unwrap().into()
        }));
        let conv = PackedConv1d::new(&numbers(&[6, 6, 3]), Some(&bias), Conv::new()).unwrap();
        let x = blocked(&[2, 6, 7]);
        bases.push(base(&conv.pack_for(&Source::of(&x).unwrap()).unwrap(), keep, &bias, |p| {
            p.run(&x).unwrap().into()
        }));
        let conv =
            PackedConvTranspose2d::new(&numbers(&[6, 6, 2, 2]), Some(&bias), ConvTranspose::new().stride(2))
                .unwrap();
        bases.push(base(&conv.pack_for(&Source::of(&last).unwrap()).unwrap(), keep, &bias, |p| {
            p.run(&last).unwrap().into()
        }));
        let (x, to) = (numbers(&[1, 3, 8, 8]), Layout::native_activation(4).unwrap());
        let stem = PackedConv2d::new(&numbers(&[6, 3, 3, 3]), Some(&bias), Conv::new().stride(2)).unwrap();
        bases.push(base(&stem.pack_stem(&Source::of(&x).unwrap(), &to).unwrap(), keep, &bias, |p| {
            p.run(&x).unwrap().into()
        }));
        // Integers: sums of 32 bits, and what post-ops make of them.
        let whole = StridedTensor::from_slice(&[-300f32, 2.0, 77.0, 0.0, -1.0, 4000.0], &[6]).unwrap();
        let (x, w) = (typed(&[1, 6, 5, 5], DType::U8), typed(&[6, 6, 3, 3], DType::S8));
        let post_op = |zero_point| PostOp::Quantize { dtype: DType::S8, zero_point };
        for params in
            [Conv::new().padding(1), Conv::new().stride(2).x_zero_point(3).relu().post_op(post_op(-9))]
        {
            let conv = PackedConv2d::new(&w, Some(&whole), params).unwrap();
            bases.push(base(&conv.pack_for(&Source::of(&x).unwrap()).unwrap(), keep, &whole, |p| {
                p.run(&x).unwrap().into()
            }));
        }
        let (x, fc) = (numbers(&[2, 7]), PackedLinear::new(&numbers(&[6, 7]), Some(&bias), 2).unwrap());
        bases.push(base(&fc, keep, &bias, |p| p.run(&x).unwrap().into()));
    }
    bases
});

/// Small integers, whose sums are exact.
fn numbers(dims: &[usize]) -> StridedTensor {
    let data: Vec<f32> = (0..dims.iter().product()).map(|i: usize| (i * 7 % 17) as f32 / 4.0 - 2.0).collect();
    StridedTensor::from_slice(&data, dims).unwrap()
}

/// The same numbers as integers of a type that wraps around.
fn typed(dims: &[usize], dtype: DType) -> StridedTensor {
    numbers(dims).to_dtype(dtype).unwrap()
}

fn floats(t: &StridedTensor) -> Vec<f32> {
    elements(&t.to_dtype(DType::F32).unwrap())
}

fn base<P: Packable>(packed: &P, keep: bool, bias: &StridedTensor, run: impl Fn(&P) -> Tensor) -> Base {
    let mut writer = PackedWriter::new();
    if keep {
        writer = writer.keep_plain();
    }
    writer.add(NAME, packed).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.packed");
    writer.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = json::header_of(&bytes).unwrap().0;
    let entry = header["__metadata__"][format!("packed:{NAME}")].as_str().unwrap();
    let entry = serde_json::from_str(entry).unwrap();
    Base { entry, header, bias: elements(bias), result: plain(&run(packed)), bytes }
}

fn plain(t: &Tensor) -> Vec<f32> {
    match t {
        Tensor::Strided(t) => floats(t),
        Tensor::Blocked(t) => floats(&t.to_strided(MemoryFormat::Contiguous).unwrap()),
        Tensor::Opaque(_) => panic!("no other backend is here"),
    }
}

type Open = fn(std::path::PathBuf) -> blocktensor::Result<PackedFile>;
const OPEN: [Open; 4] = [
    PackedFile::read,
    PackedFile::read_or_repack,
    // SAFETY: the files here are this process's own, and nothing changes them.
    |path| unsafe { PackedFile::map(path) },
    // SAFETY: as above.
    |path| unsafe { PackedFile::map_unchecked(path) },
];
const UNCHECKED: usize = 3;

/// Fails unless a file, good or bad, may lead to this error.
fn refusal(e: &Error) {
    check_error(e);
    let known = matches!(
        e,
        Error::CorruptFile(_)
            | Error::PackMismatch(_)
            | Error::InvalidArgument(_)
            | Error::Overflow(_)
            | Error::UnsupportedOp(_)
            | Error::LayoutMismatch(_)
            | Error::RankMismatch(_)
            | Error::OutOfMemory { .. }
    );
    assert!(known, "{e:?}");
}

fn any_bytes(bytes: &[u8]) {
    let file = MemoryFile::of(bytes);
    for open in OPEN {
        match open(file.path()) {
            Err(e) => refusal(&e),
            Ok(file) => {
                // Only a corpus file that this machine wrote gets here.
                let names: Vec<String> = file.names().map(String::from).collect();
                names.iter().for_each(|name| every_kind(&file, name, false, &mut |_| {}));
            }
        }
    }
}

fn changed(input: &mut Input, base: &Base) {
    let (mut header, mut entry) = (base.header.clone(), base.entry.clone());
    let data_at = base.bytes.len() - json::header_of(&base.bytes).unwrap().1.len();
    let mut data = base.bytes[data_at..].to_vec();
    let sums_at = base.header["checksums"]["data_offsets"][0].as_u64().unwrap() as usize;
    let (mut entry_only, mut data_changed, mut resized) = (true, false, false);
    for _ in 0..input.below(4) {
        match input.below(8) {
            0..=3 => json::change(input, &mut entry),
            4 => {
                entry_only = false;
                json::change(input, &mut header);
            }
            5 => {
                entry_only = false;
                let keys: Vec<String> =
                    header.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
                if let (Some(object), false) = (header.as_object_mut(), keys.is_empty()) {
                    let gone = object.remove(&input.pick(&keys));
                    if let (Some(gone), true) = (gone, input.flag()) {
                        let name = input.pick(&[
                            "op.plain",
                            "op.bias",
                            "op.packed",
                            "checksums",
                            "_filler0",
                            "op.other",
                        ]);
                        object.insert(name.into(), gone);
                    }
                }
            }
            6 => {
                (data_changed, entry_only) = (true, false);
                let at = input.below(data.len().max(1));
                data.iter_mut().skip(at).take(4).for_each(|b| *b ^= input.byte());
            }
            _ => {
                (resized, entry_only) = (true, false);
                let length =
                    if input.flag() { input.below(data.len() + 1) } else { data.len() + input.below(65) };
                data.resize(length, 0);
            }
        }
    }
    let changed_entry = entry != base.entry;
    if let Some(place) = header.pointer_mut("/__metadata__").and_then(|m| m.as_object_mut()) {
        place.insert(format!("packed:{NAME}"), json!(entry.to_string()));
    }
    let mut head = header.to_string().into_bytes();
    head.resize((8 + head.len()).next_multiple_of(64) - 8, b' ');
    head.splice(..0, (head.len() as u64).to_le_bytes());
    let sealed = !input.one_in(6);
    if sealed {
        seal(&head, &mut data, &header, sums_at);
    }
    let bytes = [&head[..], &data].concat();
    let same = bytes == base.bytes;
    let file = MemoryFile::of(&bytes);
    for (i, open) in OPEN.into_iter().enumerate() {
        let file = match open(file.path()) {
            Ok(file) => file,
            Err(e) => {
                assert!(!same, "{e}");
                refusal(&e);
                continue;
            }
        };
        // If the checksums of the weights are not checked, only the weights may differ.
        assert!(
            sealed || same || (i == UNCHECKED && data_changed && head[..] == base.bytes[..data_at]),
            "changed, and opened"
        );
        let names: Vec<String> = file.names().map(String::from).collect();
        let trusted = !data_changed && !resized;
        for name in &names {
            let mut ran = None;
            every_kind(&file, name, trusted, &mut |y| ran = Some(y));
            if same {
                assert_eq!(ran.as_ref().map(|r| &r.result), Some(&base.result));
            } else if let Some(ran) = ran.filter(|_| changed_entry && entry_only) {
                by_definition(&entry, &base.bias, &ran);
            }
        }
    }
}

/// Right checksums: of the header, and of the data that the header lists.
fn seal(head: &[u8], data: &mut [u8], header: &Value, sums_at: usize) {
    let sum = |bytes: &[u8]| twox_hash::XxHash3_64::oneshot(bytes).to_le_bytes();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (name, info) in header.as_object().into_iter().flatten() {
        let offset = |i: usize| info["data_offsets"][i].as_u64().map(|v| v as usize);
        if let (Some(start), Some(end)) = (offset(0), offset(1))
            && !name.starts_with("_filler")
            && name != "checksums"
        {
            ranges.push((start, end));
        }
    }
    ranges.sort();
    let mut sums = vec![sum(head)];
    sums.extend(ranges.iter().map(|&(start, end)| sum(data.get(start..end).unwrap_or(&[]))));
    for (i, sum) in sums.iter().enumerate() {
        if let Some(place) = data.get_mut(sums_at + i * 8..sums_at + i * 8 + 8) {
            place.copy_from_slice(sum);
        }
    }
}

/// The result of a packed 2-D convolution, and its operands.
struct Ran {
    result: Vec<f32>,
    x: Vec<f32>,
    x_dims: Vec<usize>,
    weights: Vec<f32>,
    dst_dims: Vec<usize>,
}

/// Reads an op of every kind from the file, and runs those that load.
fn every_kind(file: &PackedFile, name: &str, trusted: bool, ran: &mut dyn FnMut(Ran)) {
    let mut given = 0;
    fn conv<const N: usize>(file: &PackedFile, name: &str, trusted: bool, ran: &mut dyn FnMut(Ran)) -> usize {
        let p = match file.get::<PackedConv<N>>(name) {
            Ok(p) => p,
            Err(e) => {
                refusal(&e);
                return 0;
            }
        };
        assert!(!format!("{p:?}").is_empty() && !p.implementation().is_empty() && p.bytes() > 0);
        let weights = p.unpack_weights();
        run(p.source(), &p.dst_dims(), trusted, &weights, ran, |x| match x {
            Tensor::Strided(x) => p.run(x).map(Tensor::from),
            Tensor::Blocked(x) => p.run(x).map(Tensor::from),
            other => panic!("{other:?}"),
        });
        1
    }
    given += conv::<1>(file, name, trusted, ran);
    given += conv::<2>(file, name, trusted, ran);
    given += conv::<3>(file, name, trusted, ran);
    match file.get::<PackedConvTranspose<2>>(name) {
        Err(e) => refusal(&e),
        Ok(p) => {
            given += 1;
            run(p.source(), &p.dst_dims(), trusted, &p.unpack_weights(), ran, |x| match x {
                Tensor::Strided(x) => p.run(x).map(Tensor::from),
                Tensor::Blocked(x) => p.run(x).map(Tensor::from),
                other => panic!("{other:?}"),
            });
        }
    }
    match file.get::<PackedStem<2>>(name) {
        Err(e) => refusal(&e),
        Ok(p) => {
            given += 1;
            let packed = p.packed();
            run(packed.source(), &packed.dst_dims(), trusted, &packed.unpack_weights(), ran, |x| match x {
                Tensor::Strided(x) => p.run(x).map(Tensor::from),
                other => panic!("{other:?}"),
            });
        }
    }
    match file.get::<PackedLinear>(name) {
        Err(e) => refusal(&e),
        Ok(p) => {
            given += 1;
            let weights = p.unpack_weights().unwrap();
            // The batch may differ from the one it was packed for.
            let x = numbers(&[2, weights.dims()[1].min(1 << 12)]);
            match p.run(&x) {
                Ok(y) => {
                    assert_eq!(y.dims(), [2, weights.dims()[0]]);
                    let (result, x_dims) = (elements(&y), x.dims().to_vec());
                    ran(Ran {
                        result,
                        x: elements(&x),
                        x_dims,
                        weights: elements(&weights),
                        dst_dims: y.dims().to_vec(),
                    });
                }
                Err(e) => refusal(&e),
            }
        }
    }
    assert!(given <= 1, "`{name}` is of two kinds");
}

fn run(
    source: &Source,
    dst_dims: &[usize],
    trusted: bool,
    weights: &blocktensor::Result<StridedTensor>,
    ran: &mut dyn FnMut(Ran),
    run: impl Fn(&Tensor) -> blocktensor::Result<Tensor>,
) {
    let weights = match weights {
        Ok(w) => floats(w),
        Err(e) => return refusal(e),
    };
    let dims = source.dims().to_vec();
    let numel =
        |dims: &[usize]| dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= 1 << 14);
    if numel(&dims).is_none() || numel(dst_dims).is_none() {
        return;
    }
    let text = source.to_string();
    let of = DType::ALL.into_iter().find(|of| text.contains(&format!(" {of} "))).unwrap();
    let x = typed(&dims, of);
    let input: Tensor = match source.layout_name().parse::<MemoryFormat>() {
        Ok(format) => x.contiguous(format).unwrap().into(),
        Err(_) => {
            let layout: Layout = source.layout_name().parse().unwrap();
            if layout.size_elements(&dims).map_or(true, |n| n > 1 << 18) {
                return;
            }
            x.to_blocked(&layout).unwrap().into()
        }
    };
    match run(&input) {
        // For example, the entry may ask for a residual.
        Err(e) => refusal_of_run(&e),
        Ok(y) => {
            assert_eq!(y.tensor_ref().dims(), dst_dims);
            assert!(y.tensor_ref().dtype() == of || matches!(of, DType::U8 | DType::S8));
            if let Tensor::Blocked(b) = &y
                && trusted
            {
                BlockedTensor::check_tail(b).unwrap();
            }
            ran(Ran { result: plain(&y), x: floats(&x), x_dims: dims, weights, dst_dims: dst_dims.to_vec() });
        }
    }
}

fn refusal_of_run(e: &Error) {
    check_error(e);
}

/// A 2-D convolution by its definition, with the parameters of the entry.
fn by_definition(entry: &Value, bias: &[f32], ran: &Ran) {
    let params = &entry["params"];
    // One number for both axes, or one for each; all begins of a padding come first.
    let number = |key: &str, i: usize| {
        let list = params[key].as_array().map_or(&[][..], |list| list);
        list.get(i).or(list.first()).and_then(Value::as_u64).unwrap_or(0) as usize
    };
    let post_ops = params["post_ops"].as_str().unwrap_or_default();
    let (relu, plain) = (post_ops == "relu", post_ops.is_empty());
    let is_centred = params["x_zero_point"].as_i64().unwrap_or(0) == 0;
    let known = entry["kind"] == "conv"
        && entry["transposed"] == false
        && entry["spatial"] == 2
        && (relu || plain)
        && is_centred;
    if !known || ran.x_dims.len() != 4 {
        return;
    }
    let groups = params["groups"].as_u64().unwrap_or(1) as usize;
    let &[n, c, h, w] = &ran.x_dims[..] else { return };
    let o = ran.dst_dims[1];
    let wdims: Vec<usize> =
        entry["weights"]["dims"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as usize).collect();
    let (kh, kw) = (wdims[wdims.len() - 2], wdims[wdims.len() - 1]);
    let (cg, og) = (c / groups, o / groups);
    assert_eq!(ran.weights.len(), o * cg * kh * kw);
    if ran.result.len() * cg * kh * kw > 1 << 20 {
        return;
    }
    let mut results = ran.result.iter();
    let inside = |at: usize, pad: usize, size: usize| at.checked_sub(pad).filter(|&i| i < size);
    for_each_index(&[n, o, ran.dst_dims[2], ran.dst_dims[3]], |index| {
        let (b, oc, y, x) = (index[0], index[1], index[2], index[3]);
        let mut sum = f64::from(bias[oc]);
        for_each_index(&[cg, kh, kw], |k| {
            let row =
                inside(y * number("stride", 0) + k[1] * (number("dilation", 0)), number("padding", 0), h);
            let column =
                inside(x * number("stride", 1) + k[2] * (number("dilation", 1)), number("padding", 1), w);
            if let (Some(row), Some(column)) = (row, column) {
                let channel = oc / og * cg + k[0];
                let v = ran.x[((b * c + channel) * h + row) * w + column];
                sum += f64::from(v) * f64::from(ran.weights[((oc * cg + k[0]) * kh + k[1]) * kw + k[2]]);
            }
        });
        let expected = if relu { sum.max(0.0) } else { sum };
        let got = f64::from(*results.next().unwrap());
        assert!(
            (got - expected).abs() <= 1e-4 * (1.0 + expected.abs()),
            "{index:?}: {got}, not {expected}, of {entry}"
        );
    });
}
