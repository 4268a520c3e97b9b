//! NumPy's .npy files: versions 1 to 3, row-major or column-major, little-endian numbers and Booleans.
//!
//! Written here because the crates for it bring a parser generator for the header's one line.

use blocktensor_graph::ElementType;

use crate::array::{Array, Values, numpy_of};
use crate::failure::one_line;
use crate::files::collect;
use crate::integers::Stored;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads the bytes of a file. An error is the mistake with its remedy, which names the type that is wanted, where it is known.
pub fn parse(bytes: &[u8], wanted: Option<ElementType>) -> Result<Array, String> {
    let cut = || "it is not a whole .npy file; write it again with `numpy.save`".to_string();
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(cut)?;
    let [major, _, rest @ ..] = rest else { return Err(cut()) };
    let (length, rest) = match (major, rest) {
        (1, [a, b, rest @ ..]) => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        (2 | 3, [a, b, c, d, rest @ ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err(cut()),
    };
    let header = rest.get(..length).and_then(|h| std::str::from_utf8(h).ok()).ok_or_else(cut)?;
    let wanted = wanted.map_or("float32, int64 or bool", numpy_of);
    let plain = || format!("its header is not that of plain numbers; write {wanted} with `numpy.save`");
    let header = Header::parse(header).ok_or_else(plain)?;
    let count = header.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or_else(cut)?;
    let values = values(&header.descr, &rest[length..], count, wanted)?.ok_or_else(cut)?;
    let array = Array { dims: header.dims, values };
    match header.fortran {
        true => array.into_row_major().map_err(|e| one_line(&e)),
        false => Ok(array),
    }
}

/// The values of this type; `None` if there are more or fewer bytes.
fn values(descr: &str, data: &[u8], count: usize, wanted: &str) -> Result<Option<Values>, String> {
    /// Numbers of a fixed width.
    fn each<const N: usize, T>(
        data: &[u8],
        count: usize,
        read: impl Fn([u8; N]) -> T,
    ) -> Result<Option<Vec<T>>, String> {
        let (chunks, rest) = data.as_chunks::<N>();
        let fits = chunks.len() == count && rest.is_empty();
        fits.then(|| collect(chunks.iter().map(|c| read(*c)))).transpose()
    }
    Ok(match descr {
        "<f4" => each(data, count, f32::from_le_bytes)?.map(Values::F32),
        "<f8" => each(data, count, f64::from_le_bytes)?.map(Values::F64),
        "|b1" => each(data, count, |[b]: [u8; 1]| b != 0)?.map(Values::Bool),
        other => {
            let Some(stored) = Stored::find(|stored| stored.descr == other) else {
                let text = format!("its numbers have the type `{other}`; write it as {wanted}");
                return Err(text);
            };
            let fits = count.checked_mul(stored.width) == Some(data.len());
            fits.then(|| stored.numbers(data)).transpose()?.map(|values| Values::Int(stored.of, values))
        }
    })
}

/// The file's contents.
pub fn encode(array: &Array) -> Result<Vec<u8>, blocktensor::Error> {
    let descr = match &array.values {
        Values::F32(_) => "<f4",
        Values::F64(_) => "<f8",
        Values::Int(of, _) => Stored::of(*of).descr,
        Values::Bool(_) => "|b1",
    };
    let dims: String = array.dims.iter().map(|d| format!("{d}, ")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", dims.trim_end());
    // Magic, version and length are 10 bytes. The data begins at a multiple of 64.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    // The rank is at most `MAX_RANK`, so the header is short.
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    array.values.to_bytes(bytes)
}

/// The header: a dictionary in Python's notation, with these three keys.
struct Header {
    descr: String,
    fortran: bool,
    dims: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Option<Header> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran, mut dims) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest)?;
            let after = after.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" => {
                    let (value, after) = quoted(after)?;
                    descr = Some(value.to_string());
                    after
                }
                "fortran_order" => {
                    let (value, after) = match after.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, after.strip_prefix("False")?),
                    };
                    fortran = Some(value);
                    after
                }
                "shape" => {
                    let (list, after) = after.strip_prefix('(')?.split_once(')')?;
                    let sizes = list.split(',').map(str::trim).filter(|size| !size.is_empty());
                    dims = Some(sizes.map(|size| size.parse().ok()).collect::<Option<Vec<usize>>>()?);
                    after
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Header { descr: descr?, fortran: fortran?, dims: dims? })
    }
}

/// A text in quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use blocktensor_graph::Integer;

    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn what_is_written_can_be_read() {
        for values in [
            Values::F32(vec![1.0, -2.5, f32::INFINITY, 0.0, 3.0, 4.0]),
            Values::F64(vec![1.0, -2.5, 1e300, 0.0, 3.0, 4.0]),
            Values::Int(Integer::I64, vec![i64::MIN, -1, 0, 1, 2, i64::MAX]),
            Values::Int(Integer::I32, vec![i32::MIN.into(), -1, 0, 1, 2, i32::MAX.into()]),
            Values::Int(Integer::I16, vec![i16::MIN.into(), -1, 0, 1, 2, i16::MAX.into()]),
            Values::Int(Integer::I8, vec![-128, -1, 0, 1, 2, 127]),
            Values::Int(Integer::U64, vec![0, 1, 2, 3, 4, i64::MAX]),
            Values::Int(Integer::U32, vec![0, 1, 2, 3, 4, u32::MAX.into()]),
            Values::Int(Integer::U16, vec![0, 1, 2, 3, 4, u16::MAX.into()]),
            Values::Int(Integer::U8, vec![0, 1, 2, 3, 4, 255]),
            Values::Bool(vec![true, false, true, true, false, false]),
        ] {
            for dims in [vec![6], vec![2, 3], vec![1, 2, 1, 3]] {
                let array = Array { dims, values: values.clone() };
                let bytes = encode(&array).unwrap();
                assert_eq!((bytes.len() - array.values.len() * array.values.width()) % 64, 0);
                assert_eq!(parse(&bytes, None).unwrap(), array);
            }
        }
        let scalar = Array { dims: vec![], values: Values::F32(vec![7.0]) };
        assert_eq!(parse(&encode(&scalar).unwrap(), None).unwrap(), scalar);
    }

    #[test]
    fn column_major_files_become_row_major() {
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
        let array = parse(&file(header, &[1, 4, 2, 5, 3, 6]), None).unwrap();
        assert_eq!(
            array,
            Array { dims: vec![2, 3], values: Values::Int(Integer::U8, vec![1, 2, 3, 4, 5, 6]) }
        );
        let empty = "{'descr': '|u1', 'fortran_order': True, 'shape': (1099511627776, 0), }";
        assert_eq!(parse(&file(empty, &[]), None).unwrap().dims, [1 << 40, 0]);
    }

    #[test]
    fn damaged_files_are_errors() {
        let good = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 8]);
        assert!(parse(&good, None).is_ok());
        for end in 0..good.len() {
            assert!(parse(&good[..end], None).is_err(), "{end}");
        }
        assert!(parse(&[good, vec![0]].concat(), None).is_err());
        for header in [
            "",
            "{}",
            "{'descr'}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 2), }",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        ] {
            assert!(parse(&file(header, &[0; 8]), None).is_err(), "{header}");
        }
        let half = file("{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }", &[0; 8]);
        let told = |wanted| parse(&half, wanted).unwrap_err();
        assert!(told(None).ends_with("write it as float32, int64 or bool"));
        assert!(told(Some(ElementType::Int(Integer::I64))).ends_with("; write it as int64"));
        assert!(told(Some(ElementType::Byte)).ends_with("; write it as uint8"));
    }
}
