//! `lookup`: a function of integers of 8 bits, as a table of its values.

use crate::dtype::{DType, Element};
use crate::elementwise::Function;
use crate::error::{Result, fail};
use crate::math::Arithmetic;
use crate::op::lookup::DTypeTuple;
use crate::op::schema::{Ranks, data, output_like, param};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::map_one;
use crate::simd;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::strided::StridedTensor;

/// As many as a byte has.
const VALUES: usize = 256;

const TABLE: Ranks = Ranks::between(0, 1, "the table has one dimension", "flatten it");
const BYTES: &[DType] = &[DType::U8, DType::S8];
const ARGS: &[ArgSpec] = &[
    data("x").with_dtypes(BYTES),
    param("values").with_fixed_dtypes(BYTES, "the values are integers of 8 bits").with_ranks(TABLE),
];

pub(crate) static LOOKUP: Op = Op::new(
    &Schema::new("lookup", ARGS)
        .with_outputs(&[output_like("dst", "values")])
        .elementwise()
        .without_gradient("its operand is of integers"),
)
.with(&Kernel::rust(&kernel).with_dtypes(EACH).on_both());
const EACH: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8, DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8, DType::S8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8, DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8, DType::S8], results: &[DType::S8] },
];

pub(crate) const OPS: &[&Op] = &[&LOOKUP];

/// The value that a table has for each integer of 8 bits: `values[x]`, where negative integers count from the end, as indices do.
///
/// Any function of quantised numbers is such a table: dequantise the 256 integers, apply the function, and quantise.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let squares: Vec<u8> = (0..256).map(|x| (x * x).min(255) as u8).collect();
/// let x = StridedTensor::from_slice(&[3u8, 0, 16], &[3])?;
/// let y = ops::lookup(&x, &StridedTensor::from_slice(&squares, &[256])?)?;
/// assert_eq!(y.to_vec::<u8>()?, [9, 0, 255]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` of any, `values` `[256]`. The result has the shape of `x`.
///
/// # Dtypes
/// `x` and `values` u8 or s8, each for itself. The result has the dtype of `values`.
///
/// # Layouts
/// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: any activation. The result keeps
/// the layout; its channel tail is 0, whatever the table has for 0.
///
/// # Errors
/// `ShapeMismatch` for another number of values; `UnsupportedDType`.
#[track_caller]
pub fn lookup<T: Operand>(x: &T, values: &StridedTensor) -> Result<T> {
    LOOKUP.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(values))])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let values = args.strided(1)?;
    if values.dims() != [VALUES] {
        let (got, rule) =
            (TensorRef::Strided(values).describe(), "it has a value for each integer of 8 bits");
        fail!(ShapeMismatch, args.op(), "values", got, rule, "pass a vector of 256 values");
    }
    let table = || {
        let mut table = [0; VALUES];
        match values.dtype() {
            DType::U8 => table.copy_from_slice(&values.values::<u8>()?),
            _ => table.copy_from_slice(bytemuck::cast_slice(&values.values::<i8>()?)),
        }
        Ok(table)
    };
    by_table(args, results, values.dtype(), table)
}

/// The result of this dtype that a table has for each of the integers of 8 bits. `table` makes it of what only a run has.
pub(super) fn by_table(
    args: &Args<'_>,
    results: &mut Results<'_>,
    dtype: DType,
    table: impl FnOnce() -> Result<[u8; VALUES]>,
) -> KernelResult {
    let table = || table().map(Table);
    match (args.tensor(0)?.dtype(), dtype) {
        (DType::U8, DType::U8) => map_one::<u8, u8, _>(args, results, table),
        (DType::U8, _) => map_one::<u8, i8, _>(args, results, table),
        (_, DType::U8) => map_one::<i8, u8, _>(args, results, table),
        (..) => map_one::<i8, i8, _>(args, results, table),
    }
}

/// The values for all integers, as bytes.
struct Table([u8; VALUES]);

impl<A: Element, O: Element> Function<A, O> for Table {
    #[inline(always)]
    fn of<M: Arithmetic>(&self, a: A) -> O {
        bytemuck::cast(self.0[usize::from(bytemuck::cast::<A, u8>(a))])
    }

    #[inline(always)]
    fn over<M: Arithmetic>(&self, from: &[A], to: &mut [O]) {
        simd::bytes::lookup(&self.0, bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    }
}
