//! Element types and the Rust types that hold them.

use half::{bf16, f16};

use crate::error::{Complaint, Error, Result};
use crate::math;

/// The type of one element.
///
/// Kernels compute in `F32`, most of them also in `BF16`. The other dtypes are for storage: tensors of them can be
/// reordered, copied, viewed and converted. A kernel that does not take a dtype returns [`Error::UnsupportedDType`](crate::Error::UnsupportedDType).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE binary16.
    F16,
    /// Unsigned 8-bit integer; also the result of comparisons (0 or 1).
    U8,
    /// Signed 8-bit integer.
    S8,
    /// Signed 32-bit integer; also the result of `argmax`.
    S32,
}

impl DType {
    /// Every dtype, in the order of the tables in README.md.
    pub const ALL: [DType; 6] = [DType::F32, DType::BF16, DType::F16, DType::U8, DType::S8, DType::S32];

    /// Size of one element in **bytes**.
    pub const fn size_bytes(self) -> usize {
        match self {
            DType::F32 | DType::S32 => 4,
            DType::BF16 | DType::F16 => 2,
            DType::U8 | DType::S8 => 1,
        }
    }

    /// The size of `elements` elements in **bytes**, or `None` if it does not fit in a `usize`.
    pub(crate) fn bytes_of(self, elements: usize) -> Option<usize> {
        elements.checked_mul(self.size_bytes()).filter(|&bytes| bytes <= isize::MAX as usize)
    }

    /// Whether its elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::BF16 | DType::F16)
    }

    /// The integers of u8 and s8, of which quantised tensors are; `None` for another dtype.
    ///
    /// ```
    /// use blocktensor::DType;
    /// assert_eq!(DType::S8.byte_range(), Some(-128..=127));
    /// assert_eq!(DType::F32.byte_range(), None);
    /// ```
    pub fn byte_range(self) -> Option<std::ops::RangeInclusive<i32>> {
        match self {
            DType::U8 => Some(0..=255),
            DType::S8 => Some(-128..=127),
            _ => None,
        }
    }

    /// The field's short name: `f32`, `bf16`, `f16`, `u8`, `s8`, `s32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::U8 => "u8",
            DType::S8 => "s8",
            DType::S32 => "s32",
        }
    }
}

impl std::str::FromStr for DType {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument` for anything but a dtype's [`name`](DType::name).
    fn from_str(name: &str) -> Result<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).flat_map(char::escape_default).collect();
            Error::InvalidArgument(Complaint::new(
                "dtype",
                "name",
                format!("`{shown}`"),
                "it is not the name of a dtype",
                "use f32, bf16, f16, u8, s8 or s32",
            ))
        })
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be a tensor's element. The trait is sealed: the types are those of [`DType::ALL`].
pub trait Element:
    sealed::Sealed + bytemuck::Pod + Send + Sync + PartialEq + std::fmt::Debug + 'static
{
    /// The dtype that this type holds.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t { const DTYPE: DType = DType::$d; }
    )*};
}
elements!(f32 => F32, bf16 => BF16, f16 => F16, u8 => U8, i8 => S8, i32 => S32);

/// Runs an expression with a name for the Rust type of a dtype: of kernels that move elements of any.
macro_rules! with_elements {
    ($dtype:expr, $element:ident => $run:expr) => {{
        use $crate::dtype::DType::{BF16, F16, F32, S8, S32, U8};
        macro_rules! of {
            ($t:ty) => {{
                type $element = $t;
                $run
            }};
        }
        match $dtype {
            F32 => of!(f32),
            BF16 => of!(half::bf16),
            F16 => of!(half::f16),
            U8 => of!(u8),
            S8 => of!(i8),
            S32 => of!(i32),
        }
    }};
}
pub(crate) use with_elements;

/// An element that kernels compute with in f32: operands are widened, which is exact, and each result is rounded once.
pub(crate) trait Float: Element + Default {
    /// The same number.
    fn widen(self) -> f32;
    /// The nearest number of this type.
    fn rounded(x: f32) -> Self;
}

impl Float for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
    #[inline(always)]
    fn rounded(x: f32) -> f32 {
        x
    }
}

impl Float for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        math::widen(self)
    }
    #[inline(always)]
    fn rounded(x: f32) -> bf16 {
        math::to_bf16(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_have_names() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
        }
        let error = "int64".parse::<DType>().unwrap_err().to_string();
        assert!(error.contains("`int64`") && error.contains("use f32"), "{error}");
    }

    #[test]
    fn sizes_are_those_of_the_rust_types() {
        fn check<E: Element>() {
            assert_eq!(std::mem::size_of::<E>(), E::DTYPE.size_bytes());
        }
        check::<f32>();
        check::<bf16>();
        check::<f16>();
        check::<u8>();
        check::<i8>();
        check::<i32>();
        assert_eq!(DType::ALL.len(), 6);
    }
}
