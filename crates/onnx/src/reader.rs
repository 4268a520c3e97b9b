//! Reads the values of a model for the parser. Bytes and strings are reserved fallibly; the parser's own reader ends the process
//! where they find no memory.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, Read, Seek};

use blocktensor::memory;
use rten_onnx::onnx::ModelProto;
use rten_onnx::protobuf::varint::read_varint;
use rten_onnx::protobuf::{DecodeMessage, ErrorKind, OwnedValues, ProtobufError, ReadValue};

use crate::error::{Error, Result};

const CALL: &str = "the data of a model";

/// Parses a model. [`scan::check`](crate::scan::check) looked at the source before, and says where the strings of attributes are.
pub(crate) fn parse(source: impl BufRead + Seek, strings: &[u64]) -> Result<(ModelProto, AnyBytes)> {
    let (own, bytes) = (Cell::new(None), AnyBytes::default());
    let reader = Reader { source, position: 0, strings, bytes: &bytes, own: &own };
    match ModelProto::decode(reader) {
        Ok(model) => Ok((model, bytes)),
        Err(error) => Err(match own.take() {
            Some(error) => error,
            None => Error::Malformed { reason: error.to_string() },
        }),
    }
}

/// Strings of attributes that are not UTF-8. The parser's type of them is text: it gets a name for each, which begins with [`NAMED`].
#[derive(Default)]
pub(crate) struct AnyBytes(RefCell<Vec<Vec<u8>>>);

/// How names of bytes begin. Strings that begin like this get names too.
const NAMED: char = '\0';

impl AnyBytes {
    fn keep(&self, bytes: Vec<u8>) -> String {
        let mut list = self.0.borrow_mut();
        list.push(bytes);
        format!("{NAMED}{}", list.len() - 1)
    }

    /// The string of an attribute by what the parser has of it, once: text, or bytes that are not UTF-8.
    pub(crate) fn take(&self, parsed: String) -> std::result::Result<String, Vec<u8>> {
        let index = parsed.strip_prefix(NAMED).and_then(|index| index.parse::<usize>().ok());
        match index.and_then(|index| self.0.borrow_mut().get_mut(index).map(std::mem::take)) {
            Some(bytes) => String::from_utf8(bytes).map_err(|e| e.into_bytes()),
            None => Ok(parsed),
        }
    }
}

struct Reader<'a, R> {
    source: R,
    position: u64,
    /// Where the strings of attributes begin.
    strings: &'a [u64],
    bytes: &'a AnyBytes,
    /// Why reading ended, where the parser's errors cannot carry it.
    own: &'a Cell<Option<Error>>,
}

impl<R: BufRead> Reader<'_, R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }
}

impl<R: BufRead + Seek> ReadValue for Reader<'_, R> {
    type Types = OwnedValues;

    fn read_i32(&mut self) -> Result<i32, ProtobufError> {
        self.array().map(i32::from_le_bytes)
    }

    fn read_i64(&mut self) -> Result<i64, ProtobufError> {
        self.array().map(i64::from_le_bytes)
    }

    fn read_varint(&mut self) -> Result<u64, ProtobufError> {
        Ok(read_varint(Counted { source: &mut self.source, position: &mut self.position })?)
    }

    fn read_bytes(&mut self, len: usize) -> Result<Vec<u8>, ProtobufError> {
        let mut bytes = memory::try_filled(CALL, len, 0u8).map_err(|error| {
            self.own.set(Some(Error::Engine(error)));
            ProtobufError::new(ErrorKind::IoError(std::io::ErrorKind::OutOfMemory.into()))
        })?;
        self.source.read_exact(&mut bytes)?;
        self.position += len as u64;
        Ok(bytes)
    }

    fn read_string(&mut self, len: usize) -> Result<String, ProtobufError> {
        let is_any = self.strings.binary_search(&self.position).is_ok();
        match String::from_utf8(self.read_bytes(len)?) {
            Ok(text) if is_any && text.starts_with(NAMED) => Ok(self.bytes.keep(text.into_bytes())),
            Ok(text) => Ok(text),
            Err(error) if is_any => Ok(self.bytes.keep(error.into_bytes())),
            Err(error) => {
                let bytes = error.into_bytes();
                let start = String::from_utf8_lossy(&bytes[..bytes.len().min(64)]).escape_debug().to_string();
                let got =
                    format!("a name that is not UTF-8, `{start}`, at byte {}", self.position - len as u64);
                let rule = "names, and other text than strings of attributes, are UTF-8";
                self.own.set(Some(Error::invalid(
                    "the model",
                    got,
                    rule,
                    "export the model again with other names",
                )));
                Err(ProtobufError::new(ErrorKind::InvalidUtf8))
            }
        }
    }

    fn skip(&mut self, len: usize) -> Result<(), ProtobufError> {
        // Lengths were compared with the bytes that are left.
        self.source.seek_relative(len as i64)?;
        self.position += len as u64;
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// Counts the bytes that are consumed.
struct Counted<'a, R> {
    source: &'a mut R,
    position: &'a mut u64,
}

impl<R: BufRead> Read for Counted<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(bytes)?;
        *self.position += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<'_, R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.source.consume(count);
        *self.position += count as u64;
    }
}
