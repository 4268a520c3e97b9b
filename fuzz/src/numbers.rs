//! Elements of any type, to fill tensors with and to compare.

use blocktensor::{DType, Element, MemoryFormat, StridedTensor, Tensor};
use half::{bf16, f16};

use crate::Fill;

/// Types whose elements can be told apart by number.
pub trait Number: Element {
    /// Element number `i`; never NaN.
    fn number(i: usize) -> Self;
    /// The bits; all NaN have the same.
    fn bits(self) -> u32;
    /// The element that `fill` puts at index `i`, for any `i`.
    fn filling(i: usize, fill: Fill) -> Self;
}

/// A number for any `i`.
fn float(i: usize, fill: Fill) -> f32 {
    const HOSTILE: [f32; 8] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, -3e38, 3.4e38, 1e-30];
    let i = i >> 7;
    match fill {
        Fill::Any if i.is_multiple_of(5) => HOSTILE[i / 5 % 8],
        Fill::Finite if i.is_multiple_of(5) => HOSTILE[3 + i / 5 % 5],
        _ => (i % 33) as f32 / 4.0 - 4.0,
    }
}

/// An integer for any `i`.
fn integer(i: usize, fill: Fill) -> i32 {
    let i = i >> 7;
    match fill {
        Fill::Any | Fill::Finite if i.is_multiple_of(5) => [i32::MIN, i32::MAX, -1, 1 << 20][i / 5 % 4],
        _ => (i % 4) as i32,
    }
}

macro_rules! numbers {
    ($($t:ty, $i:ident => $number:expr, $v:ident => $bits:expr, $fill:expr;)*) => {$(
        impl Number for $t {
            fn number($i: usize) -> $t { $number }
            fn bits(self) -> u32 { let $v = self; $bits }
            fn filling(i: usize, fill: Fill) -> $t { $fill(i, fill) }
        }
    )*};
}
numbers! {
    f32, i => i as f32 + 0.5, v => if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }, float;
    bf16, i => bf16::from_bits((i % 0x7f00) as u16), v => if v.is_nan() { bf16::NAN.to_bits() } else { v.to_bits() }.into(), |i, fill| bf16::from_f32(float(i, fill));
    f16, i => f16::from_bits((i % 0x7b00) as u16), v => if v.is_nan() { f16::NAN.to_bits() } else { v.to_bits() }.into(), |i, fill| f16::from_f32(float(i, fill));
    u8, i => (i % 251) as u8, v => v.into(), |i, fill| integer(i, fill) as u8;
    i8, i => (i % 251) as u8 as i8, v => v as u8 as u32, |i, fill| integer(i, fill) as i8;
    i32, i => (i as i32).wrapping_mul(0x1234_5671), v => v as u32, integer;
}

/// An expression for the Rust type of a dtype.
#[macro_export]
macro_rules! with_type {
    ($dtype:expr, $e:ident => $body:expr) => {
        match $dtype {
            blocktensor::DType::F32 => {
                type $e = f32;
                $body
            }
            blocktensor::DType::BF16 => {
                type $e = half::bf16;
                $body
            }
            blocktensor::DType::F16 => {
                type $e = half::f16;
                $body
            }
            blocktensor::DType::U8 => {
                type $e = u8;
                $body
            }
            blocktensor::DType::S8 => {
                type $e = i8;
                $body
            }
            blocktensor::DType::S32 => {
                type $e = i32;
                $body
            }
            other => panic!("a dtype that the targets do not know: {other}"),
        }
    };
}

/// The bits of every element in logical order, each read by its index, and the dtype.
pub fn bits(t: &Tensor) -> (DType, Vec<u32>) {
    let strided;
    let t = match t {
        Tensor::Strided(t) => t,
        Tensor::Blocked(t) => {
            strided = t.to_strided(MemoryFormat::Contiguous).expect("a reorder of what is there");
            &strided
        }
        Tensor::Opaque(_) => panic!("no other backend is here"),
    };
    (t.dtype(), with_type!(t.dtype(), E => elements::<E>(t).into_iter().map(Number::bits).collect()))
}

/// Every element in logical order, each read by its index.
pub fn elements<E: Element>(t: &StridedTensor) -> Vec<E> {
    let mut all = Vec::with_capacity(t.numel());
    for_each_index(t.dims(), |index| all.push(t.get::<E>(index).expect("an index below the sizes")));
    all
}

/// Calls `f` with every index in row-major order.
pub fn for_each_index(dims: &[usize], mut f: impl FnMut(&[usize])) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0; dims.len()];
    loop {
        f(&index);
        let Some(axis) = (0..dims.len()).rev().find(|&d| index[d] + 1 < dims[d]) else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}
