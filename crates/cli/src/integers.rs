//! Integers in files: the names of their types there, and their numbers.

use blocktensor_graph::Integer;
use safetensors::Dtype;

use crate::files::collect;

const ALL: [Integer; 8] = [
    Integer::I8,
    Integer::I16,
    Integer::I32,
    Integer::I64,
    Integer::U8,
    Integer::U16,
    Integer::U32,
    Integer::U64,
];

/// How files keep the integers of one type.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub of: Integer,
    /// **Bytes** of a number.
    pub width: usize,
    is_signed: bool,
    /// The type's name in .npy files.
    pub descr: &'static str,
    /// What numpy calls the type.
    pub numpy: &'static str,
    /// The type in .safetensors files.
    pub dtype: Dtype,
}

impl Stored {
    pub fn of(of: Integer) -> Stored {
        let (width, is_signed, descr, numpy, dtype) = match of {
            Integer::I8 => (1, true, "|i1", "int8", Dtype::I8),
            Integer::I16 => (2, true, "<i2", "int16", Dtype::I16),
            Integer::I32 => (4, true, "<i4", "int32", Dtype::I32),
            Integer::I64 => (8, true, "<i8", "int64", Dtype::I64),
            Integer::U8 => (1, false, "|u1", "uint8", Dtype::U8),
            Integer::U16 => (2, false, "<u2", "uint16", Dtype::U16),
            Integer::U32 => (4, false, "<u4", "uint32", Dtype::U32),
            Integer::U64 => (8, false, "<u8", "uint64", Dtype::U64),
        };
        Stored { of, width, is_signed, descr, numpy, dtype }
    }

    /// The type for which this is true.
    pub fn find(is_it: impl Fn(&Stored) -> bool) -> Option<Stored> {
        ALL.into_iter().map(Stored::of).find(is_it)
    }

    /// The numbers of bytes in little-endian order.
    pub fn numbers(&self, data: &[u8]) -> Result<Vec<i64>, String> {
        let unused = 64 - 8 * self.width;
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..self.width].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let words = || data.chunks_exact(self.width).map(word);
        if self.is_signed {
            return collect(words().map(|word| ((word << unused) as i64) >> unused));
        }
        match words().find(|&word| i64::try_from(word).is_err()) {
            Some(large) => Err(format!("it holds {large}; numbers are below 2^63")),
            None => collect(words().map(|word| word as i64)),
        }
    }
}
