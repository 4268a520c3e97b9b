//! Safetensors files: any bytes, and files that are valid or nearly valid. A file that loads must give the bytes that the header
//! points to, as other code reads it. A valid file must load, answer every lookup, and stay the same when written and read.
#![no_main]

use std::collections::BTreeMap;

use blocktensor::{DType, Error, MAX_RANK, MemoryFormat, Module, StateDict, StridedTensor, Tensor};
use blocktensor_fuzz::numbers::bits;
use blocktensor_fuzz::{Input, MemoryFile, check_error, json, limit_memory, setup, storage};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

fuzz_target!(|data: &[u8]| {
    setup();
    let mut input = Input::new(data);
    storage(input.flag());
    if input.one_in(3) {
        let bytes = input.rest();
        limit_memory();
        load(bytes, None);
        return;
    }
    let mut made = Made::new(&mut input);
    let broken = input.one_in(3);
    if broken {
        made.break_it(&mut input);
    }
    let bytes = made.bytes(&mut input);
    limit_memory();
    load(&bytes, (!broken).then_some(&made));
});

const MODULES: [&str; 4] = ["conv", "bn", "fc", ""];
const PARTS: [&str; 6] = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "x"];
/// Names of dtypes, their sizes in bytes, and our dtypes.
const TYPES: [(&str, usize, Option<DType>); 14] = [
    ("F32", 4, Some(DType::F32)),
    ("BF16", 2, Some(DType::BF16)),
    ("F16", 2, Some(DType::F16)),
    ("U8", 1, Some(DType::U8)),
    ("I8", 1, Some(DType::S8)),
    ("I32", 4, Some(DType::S32)),
    ("F32", 4, Some(DType::F32)),
    ("I64", 8, None),
    ("F64", 8, None),
    ("BOOL", 1, None),
    ("U64", 8, None),
    ("I16", 2, None),
    ("U32", 4, None),
    ("F8_E4M3", 1, None),
];
const FORMATS: [&str; 6] =
    ["contiguous", "channels_last", "channels_last_3d", "channels_last_1d", "preserve", "NHWC"];

/// One tensor of a generated file.
struct Part {
    dtype: Option<DType>,
    shape: Vec<usize>,
    format: Option<&'static str>,
}

/// A generated file.
struct Made {
    parts: BTreeMap<String, Part>,
    header: Value,
    data: Vec<u8>,
    /// Metadata entries for tensors that the file does not have.
    stray_format: bool,
}

impl Made {
    fn new(input: &mut Input) -> Made {
        let (mut parts, mut header, mut metadata) = (BTreeMap::new(), Map::new(), Map::new());
        let mut data = Vec::new();
        for _ in 0..input.below(7) {
            let name = match input.one_in(12) {
                true => String::from_utf8_lossy(input.bytes(6)).into_owned(),
                false => format!("{}.{}", input.pick(&MODULES), input.pick(&PARTS)),
            };
            if name == "__metadata__" || parts.contains_key(&name) {
                continue;
            }
            let (type_name, size, dtype) = input.pick(&TYPES);
            let rank = if input.one_in(24) { 13 } else { input.below(6) };
            let mut shape = vec![1; rank];
            for d in shape.iter_mut().take(5) {
                *d = if input.one_in(16) { 0 } else { input.between(1, 5) };
            }
            let start = data.len();
            let seed = input.byte();
            let bytes = shape.iter().product::<usize>() * size;
            data.extend((0..bytes).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)));
            let format = input.one_in(3).then(|| input.pick(&FORMATS));
            if let Some(format) = format {
                metadata.insert(format!("memory_format:{name}"), json!(format));
            }
            let info = json!({ "dtype": type_name, "shape": shape, "data_offsets": [start, data.len()] });
            header.insert(name.clone(), info);
            parts.insert(name, Part { dtype, shape, format });
        }
        let stray_format = input.one_in(16);
        if stray_format {
            metadata.insert("memory_format:nobody's".into(), json!("contiguous"));
        }
        if input.flag() {
            metadata.insert("format".into(), json!("pt"));
        }
        if !metadata.is_empty() {
            header.insert("__metadata__".into(), metadata.into());
        }
        Made { parts, header: header.into(), data, stray_format }
    }

    fn break_it(&mut self, input: &mut Input) {
        match input.below(3) {
            0 => {
                let length = if input.flag() {
                    input.below(self.data.len() + 1)
                } else {
                    self.data.len() + input.below(9)
                };
                self.data.resize(length, 0);
            }
            _ => json::change(input, &mut self.header),
        }
    }

    /// The bytes of the file. Spaces after the header shift the data to any address.
    fn bytes(&self, input: &mut Input) -> Vec<u8> {
        let mut head = self.header.to_string().into_bytes();
        head.resize(head.len() + input.below(9), b' ');
        let length = (head.len() as u64).to_le_bytes();
        [&length[..], &head, &self.data].concat()
    }

    /// Whether the metadata states only formats that their tensors can have.
    fn formats_fit(&self) -> bool {
        let fits = |p: &Part| {
            let known = |f: &str| f.parse::<MemoryFormat>().ok().filter(|&f| f != MemoryFormat::Preserve);
            p.format.is_none_or(|f| known(f).is_some_and(|f| p.ours().is_some() && f.fits(p.shape.len())))
        };
        !self.stray_format && self.parts.values().all(fits)
    }
}

impl Part {
    fn ours(&self) -> Option<DType> {
        self.dtype.filter(|_| self.shape.len() <= MAX_RANK)
    }
}

fn refusal(e: &Error) {
    check_error(e);
    assert!(matches!(e, Error::CorruptFile(_) | Error::OutOfMemory { .. } | Error::Overflow(_)), "{e:?}");
}

/// Reads and maps a file; one that is known to be valid must load if its formats fit.
fn load(bytes: &[u8], made: Option<&Made>) {
    let file = MemoryFile::of(bytes);
    loaded(bytes, made, StateDict::read(file.path()));
    // SAFETY: the file is this process's own, and nothing changes it.
    loaded(bytes, made, unsafe { StateDict::map(file.path()) });
}

fn loaded(bytes: &[u8], made: Option<&Made>, dict: blocktensor::Result<StateDict>) {
    let dict = match dict {
        Ok(dict) => dict,
        Err(e) => {
            assert!(made.is_none_or(|m| !m.formats_fit()), "a valid file: {e}");
            return refusal(&e);
        }
    };
    as_the_header_says(bytes, &dict);
    if let Some(made) = made {
        assert!(made.formats_fit());
        assert!(dict.names().eq(made.parts.keys()));
        for (name, part) in &made.parts {
            let t = dict.get(name);
            assert_eq!(t.map(|t| (t.dtype(), t.dims())), part.ours().map(|d| (d, &part.shape[..])), "{name}");
            if let (Some(t), Some(format)) = (t, part.format) {
                assert!(t.is_contiguous(format.parse().unwrap()), "{name} {format}");
            }
        }
    }
    there_and_back(&dict);
    lookups(dict);
}

/// Every tensor holds the bytes at its place in the file.
fn as_the_header_says(bytes: &[u8], dict: &StateDict) {
    let (header, data) = json::header_of(bytes).expect("it loaded");
    for name in dict.names() {
        let Some(t) = dict.get(name) else { continue };
        let offset = |i: usize| header[name]["data_offsets"][i].as_u64().expect("it loaded") as usize;
        let bytes = &data[offset(0)..offset(1)];
        let size = t.dtype().size_bytes();
        assert_eq!(bytes.len(), t.numel() * size, "{name}");
        let (_, got) = bits(&t.clone().into());
        let plain = |chunk: &[u8]| chunk.iter().rev().fold(0u32, |v, &b| v << 8 | u32::from(b));
        let nan = |v: u32| match t.dtype() {
            DType::F32 => f32::from_bits(v).is_nan(),
            DType::F16 => half::f16::from_bits(v as u16).is_nan(),
            DType::BF16 => half::bf16::from_bits(v as u16).is_nan(),
            _ => false,
        };
        for (chunk, &got) in bytes.chunks_exact(size).zip(&got) {
            assert!(plain(chunk) == got || nan(plain(chunk)) && nan(got), "{name}: {chunk:?} and {got:#x}");
        }
    }
}

/// A dict that is saved and loaded is the same.
fn there_and_back(dict: &StateDict) {
    let folder = tempfile::tempdir().expect("a place for small files");
    let path = folder.path().join("again.safetensors");
    match dict.save(&path) {
        Ok(()) => {}
        Err(e) => return refusal(&e),
    }
    let again = StateDict::read(&path).unwrap();
    assert!(again.names().eq(dict.names()));
    for name in dict.names() {
        let same = |a: &StridedTensor, b: &StridedTensor| {
            let format = |t: &StridedTensor| t.suggest_memory_format(false);
            a.dims() == b.dims()
                && format(a) == format(b)
                && bits(&a.clone().into()) == bits(&b.clone().into())
        };
        match (dict.get(name), again.get(name)) {
            (Some(a), Some(b)) => assert!(same(a, b), "{name}: {a:?} and {b:?}"),
            (a, b) => assert!(a.is_none() && b.is_none(), "{name}"),
        }
    }
}

/// Takes every tensor by role and by name. A tensor that was taken is no longer there; after an error all are still there.
fn lookups(mut dict: StateDict) {
    let modules = [
        Module::conv("conv", &[2, 3, 1, 1], true),
        Module::batch_norm("bn", 4),
        Module::linear("fc", 2, 3, false),
    ];
    let names: Vec<String> = dict.names().map(String::from).collect();
    match dict.check(&modules, false) {
        Ok(keys) => {
            assert!(keys.missing.iter().all(|n| !names.contains(n)));
            assert!(keys.left_over.iter().all(|n| names.contains(n)));
            let whole = keys.missing.is_empty() && keys.left_over.is_empty();
            assert_eq!(dict.check(&modules, true).is_ok(), whole);
        }
        Err(e) => assert!(matches!(e, Error::ShapeMismatch(_)), "{e}"),
    }
    let mut renamed = dict.clone();
    renamed.rename(|n| format!("net.{n}")).unwrap();
    assert!(renamed.names().map(|n| &n[4..]).eq(names.iter().map(String::as_str)));
    if names.len() > 1 {
        let e = renamed.rename(|_| "one".into()).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)) && renamed.names().count() == names.len(), "{e}");
    }
    for module in MODULES {
        let before = dict.names().count();
        let there = |dict: &StateDict, part: &str| dict.get(&format!("{module}.{part}")).is_some();
        let taken = match module {
            "bn" => dict
                .batch_norm(module)
                .map(|n| 2 + usize::from(n.weight.is_some()) + usize::from(n.bias.is_some())),
            "fc" => dict.linear(module).map(|l| 1 + usize::from(l.bias.is_some())),
            _ => dict.conv(module).map(|l| 1 + usize::from(l.bias.is_some())),
        };
        match taken {
            Ok(taken) => assert_eq!(dict.names().count() + taken, before),
            Err(e) => {
                check_error(&e);
                assert!(matches!(e, Error::InvalidArgument(_) | Error::UnsupportedDType(_)), "{e:?}");
                assert_eq!(dict.names().count(), before);
                let plain = ["weight", "bias"].iter().all(|p| there(&dict, p));
                assert!(module == "bn" || !plain, "{module} is there: {e}");
            }
        }
    }
    for name in &names {
        let there = dict.names().any(|n| n == name);
        match dict.take(name) {
            Ok(t) => {
                assert!(there && dict.get(name).is_none());
                let t: Tensor = t.into();
                bits(&t);
            }
            Err(e) => {
                check_error(&e);
                let is_known = |e: &Error| {
                    matches!(e, Error::UnsupportedDType(_) | Error::RankMismatch(_) | Error::Overflow(_))
                };
                assert_eq!(there, is_known(&e), "{e}");
            }
        }
    }
}
