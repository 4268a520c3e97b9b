//! The dtypes of a convolution, in benchdnn's notation.

use std::fmt;
use std::str::FromStr;

use blocktensor::DType;

/// The dtypes of source, weights and result: `u8:s8:s32`; one name stands for all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    pub src: DType,
    pub weights: DType,
    pub dst: DType,
}

impl Types {
    pub const F32: Types = Types { src: DType::F32, weights: DType::F32, dst: DType::F32 };
    /// The sums of an implementation for integers.
    pub const SUMS: Types = Types { src: DType::S8, weights: DType::S8, dst: DType::S32 };

    pub fn is_f32(self) -> bool {
        self == Types::F32
    }

    /// The integers of the result, if sums are limited to them.
    pub fn limits(self) -> Option<(f64, f64)> {
        range(self.dst)
    }
}

/// The integers of a dtype of 8 bits.
fn range(dtype: DType) -> Option<(f64, f64)> {
    match dtype {
        DType::U8 => Some((0.0, 255.0)),
        DType::S8 => Some((-128.0, 127.0)),
        _ => None,
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.src, self.weights, self.dst)
    }
}

impl FromStr for Types {
    type Err = String;

    fn from_str(text: &str) -> Result<Types, String> {
        let known = [DType::F32, DType::U8, DType::S8, DType::S32];
        let named = |name: &str| known.into_iter().find(|dtype| dtype.name() == name);
        let types = match text.split(':').map(named).collect::<Option<Vec<_>>>().as_deref() {
            Some(&[one]) => Some(Types { src: one, weights: one, dst: one }),
            Some(&[src, weights, dst]) => Some(Types { src, weights, dst }),
            _ => None,
        };
        let is_byte = |dtype: DType| range(dtype).is_some();
        let runs = |t: &Types| {
            let of_integers = t.weights == DType::S8 && (t.dst == DType::S32 || is_byte(t.dst));
            t.is_f32() || is_byte(t.src) && of_integers
        };
        types.filter(runs).ok_or_else(|| {
            "it is f32, or u8 or s8 with weights of s8 and a result of s32, u8 or s8, such as u8:s8:s32"
                .into()
        })
    }
}
