//! How tensors print: numbers in brackets, as PyTorch and ndarray print them, long axes shortened.

use std::fmt::{Display, Formatter, Result};

use half::{bf16, f16};

use super::strided::StridedTensor;
use crate::dtype::DType;

/// Tensors with at least this many elements print with the middle of long axes left out.
const SHORTEN_FROM: usize = 1000;
/// How many indices are printed at either end of a shortened axis.
const ENDS: usize = 3;

impl Display for StridedTensor {
    /// Prints the numbers in logical order, then dtype and sizes. `{:.2}` sets the decimals of floating-point numbers (4 by
    /// default).
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut index = Vec::with_capacity(self.rank());
        self.axis(f, &mut index)?;
        let quantization = self.quantization().map_or(String::new(), |q| q.describe());
        write!(f, " {} {:?}{quantization}", self.dtype(), self.dims())
    }
}

impl StridedTensor {
    fn axis(&self, f: &mut Formatter<'_>, index: &mut Vec<usize>) -> Result {
        let Some(&size) = self.dims().get(index.len()) else { return self.number(f, index) };
        if self.numel() == 0 {
            // Printed as one empty list, whatever the other sizes.
            return write!(f, "[]");
        }
        let innermost = index.len() + 1 == self.rank();
        let shortened = self.numel() > SHORTEN_FROM && size > 2 * ENDS;
        write!(f, "[")?;
        let left_out = if shortened { ENDS..size - ENDS } else { 0..0 };
        for i in (0..size.min(left_out.start)).chain(left_out.end..size) {
            if shortened && i == left_out.end {
                write!(f, ", ...")?;
            }
            match (i, innermost) {
                (0, _) => {}
                (_, true) => write!(f, ", ")?,
                (_, false) => write!(f, ",\n{:width$}", "", width = index.len() + 1)?,
            }
            index.push(i);
            self.axis(f, index)?;
            index.pop();
        }
        write!(f, "]")
    }

    fn number(&self, f: &mut Formatter<'_>, index: &[usize]) -> Result {
        let decimals = f.precision().unwrap_or(4);
        let float = |x: Option<f32>| x.unwrap_or(f32::NAN);
        match self.dtype() {
            DType::F32 => write!(f, "{:.decimals$}", float(self.get::<f32>(index))),
            DType::BF16 => write!(f, "{:.decimals$}", float(self.get::<bf16>(index).map(bf16::to_f32))),
            DType::F16 => write!(f, "{:.decimals$}", float(self.get::<f16>(index).map(f16::to_f32))),
            DType::U8 => write!(f, "{}", self.get::<u8>(index).unwrap_or(0)),
            DType::S8 => write!(f, "{}", self.get::<i8>(index).unwrap_or(0)),
            DType::S32 => write!(f, "{}", self.get::<i32>(index).unwrap_or(0)),
        }
    }
}
