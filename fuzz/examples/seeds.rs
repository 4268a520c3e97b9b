//! Writes `fuzz/seeds` anew, the same files every time: `cargo +nightly run --example seeds` in `fuzz`, with ONEDNN_DIR from
//! `scripts/onednn-prefix.sh`. Choices are bytes, so random bytes of several lengths are good seeds; the file formats also get
//! files. Inputs that a fuzz run found are stored beside them, each under its own name.

use std::path::Path;

use blocktensor::{MemoryFormat, PackedLinear, PackedWriter, StateDict, StridedTensor};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 32) as u8).collect()
    }
}

fn main() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let write = |target: &str, name: String, bytes: Vec<u8>| {
        std::fs::create_dir_all(seeds.join(target)).unwrap();
        std::fs::write(seeds.join(target).join(name), bytes).unwrap();
    };
    let targets =
        ["strided_views", "op_arguments", "packed_file", "safetensors", "c_calls", "dlpack", "gradients"];
    for (i, target) in targets.into_iter().enumerate() {
        let mut random = Random(i as u64);
        for n in 0..24 {
            write(target, format!("noise-{n:02}"), random.bytes(16 + n * n));
        }
    }
    // Two choices come before the bytes of a file: the storage, and that bytes follow.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let with = |choice: u8| [&[0, choice][..], &std::fs::read(&path).unwrap()].concat();
    let full = |dims: &[usize], format| StridedTensor::full(dims, 1.5f32, format).unwrap();
    for (name, dims, format) in [
        ("one", &[2, 3][..], MemoryFormat::Contiguous),
        ("scalar", &[], MemoryFormat::Contiguous),
        ("empty", &[0, 4], MemoryFormat::Contiguous),
        ("channels-last", &[1, 3, 2, 2], MemoryFormat::ChannelsLast),
    ] {
        let mut dict = StateDict::new();
        dict.insert("conv.weight", full(dims, format));
        dict.save(&path).unwrap();
        write("safetensors", format!("file-{name}"), with(2));
    }
    let fc = PackedLinear::new(&full(&[2, 3], MemoryFormat::Contiguous), None, 1).unwrap();
    for ops in 0..2 {
        let mut writer = PackedWriter::new();
        if ops == 1 {
            writer.add("fc", &fc).unwrap();
        }
        writer.save(&path).unwrap();
        write("packed_file", format!("file-{ops}"), with(3));
    }
}
