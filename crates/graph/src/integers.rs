//! Operators on integers that a run computes, such as indices from `ArgMax` and `TopK`.
//!
//! The registered ops compute with f32. These compute with integers, which tensors hold as s32. They are simple loops, for small
//! tensors. Results of narrow types wrap around, as ONNX says; one of i64 that s32 cannot hold is an error.
//!
//! They stand here, and not in an importer, so that whoever loads a saved plan has them.

use blocktensor::dispatch::DispatchKey;
use blocktensor::{
    BoundOp, Complaint, DType, Error, MemoryFormat, Operand, Operator, Result, Scratchpad, StridedTensor,
    Tensor, TensorDesc, TensorMut, TensorRef, are_stand_ins, memory,
};
use serde::{Deserialize, Serialize};

use crate::constant::{ElementType, Integer};
use crate::expand::Expansion;
use crate::network::{Operation, Value};

/// A function of integers that a run computes, element by element: [`Expansion::integers`]. Operands broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum IntegerFunction {
    Add,
    Sub,
    Mul,
    /// Quotients lose their fraction. A division by 0 is an error, as it is for `Mod` and `Fmod`.
    Div,
    /// The remainder has the sign of the divisor.
    Mod,
    /// The remainder has the sign of the dividend.
    Fmod,
    /// The same of f32 numbers, without rounding: no registered op has it.
    FloatFmod,
    Min,
    Max,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Where,
    /// The sums of the products along the first axis, added up in 64 bits. One that does not fit into s32 is an error.
    SumOfProducts,
    /// An index that counts from the end if it is negative, counted from 0; the other operand is the number of elements. One
    /// outside is an error.
    FromStart,
    ToFloat,
    /// Numbers are rounded towards zero. NaN and a number outside the type are errors; integers wrap around.
    ToInt(Integer),
    ToBool,
}

impl IntegerFunction {
    /// A division by 0, for errors: what was found, the rule, the remedy.
    pub const BY_ZERO: (&str, &str, &str) =
        ("0", "integers are not divided by 0", "pass other values, or another input size");

    /// The rule and the remedy for a number that a cast to integers of this type does not take.
    pub fn casts(to: Integer, number: f64) -> (String, &'static str) {
        let (least, largest) = to.range();
        let is_own = to == Integer::U64 && number > 0.0 && number < 2f64.powi(64);
        let why = if is_own {
            "integers of u64 are read and computed as i64 here"
        } else {
            "ONNX leaves that of other numbers undefined"
        };
        let rule = format!("a cast to {to} takes {least} to {largest}, and {why}");
        (rule, "pass other values, or clip them before the cast")
    }

    /// The rule and the remedy for an index outside an axis of this size.
    pub fn indices_of(size: usize) -> (String, &'static str) {
        match size {
            0 => ("the axis has no elements".to_string(), "pass no indices, or another input size"),
            _ => (
                format!("indices of this axis are from -{size} to {}", size - 1),
                "pass other indices, or another input size",
            ),
        }
    }

    fn name(self) -> &'static str {
        match self {
            IntegerFunction::Add => "integer_add",
            IntegerFunction::Sub => "integer_sub",
            IntegerFunction::Mul => "integer_mul",
            IntegerFunction::Div => "integer_div",
            IntegerFunction::Mod => "integer_mod",
            IntegerFunction::Fmod => "integer_fmod",
            IntegerFunction::FloatFmod => "fmod",
            IntegerFunction::Min => "integer_min",
            IntegerFunction::Max => "integer_max",
            IntegerFunction::Equal => "integer_eq",
            IntegerFunction::Greater => "integer_gt",
            IntegerFunction::GreaterOrEqual => "integer_ge",
            IntegerFunction::Less => "integer_lt",
            IntegerFunction::LessOrEqual => "integer_le",
            IntegerFunction::Where => "integer_where",
            IntegerFunction::SumOfProducts => "integer_sum_of_products",
            IntegerFunction::ToFloat => "to_float",
            IntegerFunction::FromStart => "integer_from_start",
            IntegerFunction::ToInt(_) => "to_integer",
            IntegerFunction::ToBool => "to_bool",
        }
    }

    fn inputs(self) -> &'static [&'static str] {
        match self {
            IntegerFunction::ToFloat | IntegerFunction::ToInt(_) | IntegerFunction::ToBool => &["x"],
            IntegerFunction::Where => &["condition", "a", "b"],
            _ => &["a", "b"],
        }
    }

    /// The dtypes that an operand may have.
    fn takes(self, operand: usize) -> &'static [DType] {
        match self {
            IntegerFunction::FloatFmod => &[DType::F32],
            IntegerFunction::ToInt(_) => &[DType::F32, DType::S32, DType::U8, DType::S8],
            IntegerFunction::ToFloat | IntegerFunction::ToBool => &[DType::S32, DType::U8, DType::S8],
            IntegerFunction::Where if operand == 0 => &[DType::U8],
            _ => &[DType::S32],
        }
    }

    /// The dtype of the result.
    fn dtype(self) -> DType {
        match self {
            IntegerFunction::ToFloat | IntegerFunction::FloatFmod => DType::F32,
            IntegerFunction::Equal
            | IntegerFunction::Greater
            | IntegerFunction::GreaterOrEqual
            | IntegerFunction::Less
            | IntegerFunction::LessOrEqual
            | IntegerFunction::ToBool => DType::U8,
            _ => DType::S32,
        }
    }

    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            // Operands have 32 bits: 64 hold every result.
            IntegerFunction::Add => a + b,
            IntegerFunction::Sub => a - b,
            IntegerFunction::Mul => a * b,
            // `compute` lets no divisor be 0.
            IntegerFunction::Div => a / b,
            IntegerFunction::Mod => (a % b + b) % b,
            IntegerFunction::Fmod => a % b,
            IntegerFunction::Min => a.min(b),
            IntegerFunction::Max => a.max(b),
            IntegerFunction::Equal => i64::from(a == b),
            IntegerFunction::Greater => i64::from(a > b),
            IntegerFunction::GreaterOrEqual => i64::from(a >= b),
            IntegerFunction::Less => i64::from(a < b),
            IntegerFunction::LessOrEqual => i64::from(a <= b),
            IntegerFunction::Where
            | IntegerFunction::SumOfProducts
            | IntegerFunction::FromStart
            | IntegerFunction::ToFloat
            | IntegerFunction::ToInt(_)
            | IntegerFunction::ToBool
            | IntegerFunction::FloatFmod => a,
        }
    }
}

impl Expansion<'_> {
    /// Adds a function of integers. The integers of its result have the type of the first operand of integers. Plans with such
    /// operators can be saved.
    ///
    /// # Errors
    /// The operator's: for operands of other types, and for those that do not broadcast.
    pub fn integers(&mut self, function: IntegerFunction, inputs: &[&Value]) -> crate::error::Result<Value> {
        let mut types = inputs.iter().filter_map(|v| match v.element_type() {
            ElementType::Int(of) => Some(of),
            _ => None,
        });
        let of = match function {
            IntegerFunction::ToInt(of) => of,
            _ => types.next().unwrap_or(Integer::I64),
        };
        let mut results = self.operation(
            Operation::Integers(Integers { function, of, node_op: self.op_type().to_string() }),
            inputs,
        )?;
        let result = results.pop().ok_or_else(|| self.unsupported("no result"))?;
        Ok(result.with_integers(of))
    }
}

/// The sizes of the result of an op whose operands broadcast.
///
/// ```
/// use blocktensor_graph::broadcast_dims;
///
/// assert_eq!(broadcast_dims(&[2, 1, 3], &[4, 1]), Some(vec![2, 4, 3]));
/// assert_eq!(broadcast_dims(&[2], &[3]), None);
/// ```
pub fn broadcast_dims(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], i: usize| if i + dims.len() < rank { 1 } else { dims[i + dims.len() - rank] };
    (0..rank)
        .map(|i| match (size(a, i), size(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// The elements of an operand or a result.
fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    memory::try_collect("integers that a run computes", values)
}

/// As [`collect`], or the first error.
fn collect_results<T>(values: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    memory::try_collect_results("integers that a run computes", values)
}

const PLAIN: &str = "they are strided tensors";

/// A function of integers as an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Integers {
    function: IntegerFunction,
    /// The type of the result, if that is of integers.
    of: Integer,
    /// The op of the graph's node that the function is a part of: errors name it.
    node_op: String,
}

impl Integers {
    fn complaint(&self, got: impl Into<String>, rule: &'static str) -> Box<Complaint> {
        Complaint::new(self.node_op.clone(), "operands", got, rule, "pass other operands")
    }

    /// What errors call the operator.
    pub(crate) fn told(&self) -> &str {
        &self.node_op
    }

    fn divides(&self) -> bool {
        matches!(self.function, IntegerFunction::Div | IntegerFunction::Mod | IntegerFunction::Fmod)
    }

    /// The sizes of the result, of operands whose number and dtypes are right.
    fn sizes<'a>(&self, operands: impl Iterator<Item = (&'a [usize], DType)>) -> Result<Vec<usize>> {
        let (mut dims, mut count) = (Vec::new(), 0);
        for (operand, dtype) in operands {
            if !self.function.takes(count).contains(&dtype) {
                let got = format!("{dtype} as operand {count}");
                return Err(Error::DTypeMismatch(self.complaint(got, "it computes with other types")));
            }
            let Some(both) = broadcast_dims(&dims, operand) else {
                let got = format!("{dims:?} and {operand:?}");
                return Err(Error::ShapeMismatch(self.complaint(got, "they broadcast")));
            };
            (dims, count) = (both, count + 1);
        }
        if count != self.function.inputs().len() {
            return Err(Error::InvalidArgument(
                self.complaint(format!("{count} operands"), "one for each input"),
            ));
        }
        Ok(dims)
    }

    /// The sizes of the result, of those that the operands broadcast to.
    fn result_sizes(&self, dims: Vec<usize>) -> Result<Vec<usize>> {
        match (self.function, &dims[..]) {
            (IntegerFunction::SumOfProducts, [_, rest @ ..]) => Ok(rest.to_vec()),
            (IntegerFunction::SumOfProducts, []) => {
                Err(Error::ShapeMismatch(self.complaint("two scalars", "they have an axis to sum along")))
            }
            _ => Ok(dims),
        }
    }

    /// The sums along the first axis of products of operands of these sizes.
    fn sums_of_products(&self, a: &[f64], b: &[f64], dims: &[usize]) -> Result<Vec<f64>> {
        let count = dims.iter().skip(1).product();
        let mut sums: Vec<i64> = collect(std::iter::repeat_n(0, count))?;
        for (a, b) in a.chunks(count.max(1)).zip(b.chunks(count.max(1))) {
            sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += *a as i64 * *b as i64);
        }
        collect_results(sums.into_iter().map(|sum| match i32::try_from(sum) {
            Ok(sum) => Ok(f64::from(sum)),
            Err(_) if are_stand_ins() => Ok(0.0),
            Err(_) => {
                let rule = format!("the node's output is {}, and this sum does not fit", self.of);
                let remedy = "pass smaller values, or compute it outside the model";
                let got = format!("a result of {sum}");
                Err(Error::InvalidArgument(Complaint::new(
                    self.node_op.clone(),
                    "operands",
                    got,
                    rule,
                    remedy,
                )))
            }
        }))
    }

    /// The elements of an operand, repeated to these sizes.
    fn elements(&self, operand: &TensorRef<'_>, dims: &[usize]) -> Result<Vec<f64>> {
        let TensorRef::Strided(x) = operand else {
            return Err(Error::InvalidArgument(self.complaint(operand.describe(), PLAIN)));
        };
        let x = x.expand(dims)?;
        Ok(match x.dtype() {
            DType::F32 => collect(x.to_vec::<f32>()?.into_iter().map(f64::from))?,
            DType::U8 => collect(x.to_vec::<u8>()?.into_iter().map(f64::from))?,
            DType::S8 => collect(x.to_vec::<i8>()?.into_iter().map(f64::from))?,
            _ => collect(x.to_vec::<i32>()?.into_iter().map(f64::from))?,
        })
    }

    /// A result as a tensor of s32 holds it.
    fn narrow(&self, value: f64) -> Result<i32> {
        let value = self.of.wrap(value as i64);
        if are_stand_ins() {
            return Ok(value as i32);
        }
        let is_lost = self.of == Integer::U64 && value < 0;
        i32::try_from(value).ok().filter(|_| !is_lost).ok_or_else(|| {
            let rule = "a run holds integers of all types as s32, and this result does not fit";
            let remedy = "pass smaller values, or compute it outside the model";
            let value = if is_lost { value as u64 as i128 } else { i128::from(value) };
            let got = format!("a result of {value} ({})", self.of);
            Error::InvalidArgument(Complaint::new(self.node_op.clone(), "operands", got, rule, remedy))
        })
    }

    /// A number that is cast to integers, rounded towards zero.
    fn whole(&self, number: f64) -> Result<f64> {
        match self.of.truncate(number) {
            Some(_) => Ok(number.trunc()),
            None if are_stand_ins() => Ok(0.0),
            None => {
                let (rule, remedy) = IntegerFunction::casts(self.of, number);
                let got = format!("{:?}", number as f32);
                Err(Error::InvalidArgument(Complaint::new(self.node_op.clone(), "x", got, rule, remedy)))
            }
        }
    }

    /// An index of an axis of this size, counted from its start.
    fn counted(&self, index: f64, size: f64) -> Result<f64> {
        let from_start = if index < 0.0 { index + size } else { index };
        if (0.0..size).contains(&from_start) {
            return Ok(from_start);
        }
        if are_stand_ins() {
            return Ok(0.0);
        }
        let (rule, remedy) = IntegerFunction::indices_of(size as usize);
        let got = index.to_string();
        Err(Error::OutOfBounds(Complaint::new(self.node_op.clone(), "indices", got, rule, remedy)))
    }

    fn compute(&self, inputs: &[TensorRef<'_>]) -> Result<StridedTensor> {
        let dims = self.sizes(inputs.iter().map(|t| (t.dims(), t.dtype())))?;
        let lists = inputs.iter().map(|t| self.elements(t, &dims)).collect::<Result<Vec<_>>>()?;
        let values: Vec<f64> = match &lists[..] {
            [x] if inputs[0].dtype() == DType::F32 => collect_results(x.iter().map(|&v| self.whole(v)))?,
            [x] => collect(x.iter().copied())?,
            [index, size] if self.function == IntegerFunction::FromStart => {
                collect_results(index.iter().zip(size).map(|(&i, &n)| self.counted(i, n)))?
            }
            // The remainder of two f32 numbers is one.
            [a, b] if self.function == IntegerFunction::FloatFmod => {
                collect(a.iter().zip(b).map(|(a, b)| a % b))?
            }
            [a, b] if self.function == IntegerFunction::SumOfProducts => {
                self.sums_of_products(a, b, &dims)?
            }
            [_, b] if self.divides() && b.contains(&0.0) && !are_stand_ins() => {
                let (got, rule, remedy) = IntegerFunction::BY_ZERO;
                let complaint = Complaint::new(self.node_op.clone(), "divisor", got, rule, remedy);
                return Err(Error::InvalidArgument(complaint));
            }
            [a, b] => {
                let divisor = |b: f64| if self.divides() && b == 0.0 { 1 } else { b as i64 };
                // 32-bit integers are exact in f64. Products have up to 64 bits, of which f64 would lose the low ones.
                let apply = |(&a, &b): (&f64, &f64)| self.function.apply(a as i64, divisor(b));
                collect(a.iter().zip(b).map(apply).map(|value| self.of.wrap(value) as f64))?
            }
            [c, a, b] => collect((0..c.len()).map(|i| if c[i] != 0.0 { a[i] } else { b[i] }))?,
            _ => Vec::new(),
        };
        let dims = self.result_sizes(dims)?;
        match self.function.dtype() {
            DType::F32 => StridedTensor::from_slice(&collect(values.iter().map(|&v| v as f32))?, &dims),
            DType::U8 => {
                StridedTensor::from_slice(&collect(values.iter().map(|&v| u8::from(v != 0.0)))?, &dims)
            }
            _ => {
                let narrow = collect_results(values.iter().map(|&v| self.narrow(v)))?;
                StridedTensor::from_slice(&narrow, &dims)
            }
        }
    }
}

impl Operator for Integers {
    fn op(&self) -> &'static str {
        self.function.name()
    }

    fn inputs(&self) -> &[&'static str] {
        self.function.inputs()
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        if let Some(other) = inputs.iter().find(|t| t.key() != DispatchKey::STRIDED) {
            return Err(Error::InvalidArgument(self.complaint(other.to_string(), PLAIN)));
        }
        let dims = self.result_sizes(self.sizes(inputs.iter().map(|t| (t.dims(), t.dtype())))?)?;
        Ok(vec![TensorDesc::strided(&dims, self.function.dtype(), MemoryFormat::Contiguous)?])
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        self.sizes(inputs.iter().map(|t| (t.dims(), t.dtype())))?;
        if key != DispatchKey::STRIDED {
            return Ok(None);
        }
        let plain = |t: &TensorDesc| TensorDesc::strided(t.dims(), t.dtype(), MemoryFormat::Contiguous);
        inputs.iter().map(plain).collect::<Result<Vec<_>>>().map(Some)
    }

    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize> {
        self.infer(inputs)?;
        Ok(0)
    }

    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        Ok(vec![self.compute(inputs)?.into()])
    }

    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        let result = self.compute(inputs)?;
        // A view that goes to memory of the caller's is a copy.
        BoundOp::view(result.dims())?.run_into(&[result.tensor_ref()], outputs, scratchpad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_wrap_around_by_all_their_bits() {
        let of = |values: &[i32]| StridedTensor::from_slice(values, &[values.len()]).unwrap();
        let (a, b) = ([123_456_789, i32::MAX, 65_537, i32::MIN], [987_654_321, i32::MAX, 65_537, -3]);
        let (function, node_op) = (IntegerFunction::Mul, "Mul".to_string());
        let product = Integers { function, of: Integer::I32, node_op };
        let got = product.compute(&[of(&a).tensor_ref(), of(&b).tensor_ref()]).unwrap();
        let want: Vec<i32> = a.iter().zip(b).map(|(a, b)| a.wrapping_mul(b)).collect();
        assert_eq!(got.to_vec::<i32>().unwrap(), want);
    }

    #[test]
    fn values_that_are_errors_of_a_run_are_replaced_while_a_plan_is_made() {
        let of = |values: &[i32]| StridedTensor::from_slice(values, &[values.len()]).unwrap();
        let run = |function: IntegerFunction, a: &[i32], b: &[i32]| {
            let integers = Integers { function, of: Integer::I64, node_op: "Op".to_string() };
            integers.compute(&[of(a).tensor_ref(), of(b).tensor_ref()])?.to_vec::<i32>()
        };
        for (function, want) in
            [(IntegerFunction::Div, [1, 7]), (IntegerFunction::Mod, [3, 0]), (IntegerFunction::Fmod, [3, 0])]
        {
            assert_eq!(blocktensor::with_stand_ins(|| run(function, &[7, 7], &[4, 0])).unwrap(), want);
            let error = run(function, &[7, 7], &[4, 0]).unwrap_err().to_string();
            assert!(error.contains("not divided by 0"), "{error}");
        }
        assert_eq!(blocktensor::with_stand_ins(|| run(IntegerFunction::Add, &[7], &[0])).unwrap(), [7]);
        // As are an index outside its axis, and a number that the integer type does not hold.
        assert_eq!(
            blocktensor::with_stand_ins(|| run(IntegerFunction::FromStart, &[-7, -1], &[6, 6])).unwrap(),
            [0, 5]
        );
        assert!(run(IntegerFunction::FromStart, &[-7, -1], &[6, 6]).is_err());
        let x = StridedTensor::from_slice(&[f32::INFINITY, 2.5], &[2]).unwrap();
        let (function, node_op) = (IntegerFunction::ToInt(Integer::I64), "Cast".to_string());
        let cast = Integers { function, of: Integer::I64, node_op };
        let cast = || cast.compute(&[x.tensor_ref()])?.to_vec::<i32>();
        assert_eq!(blocktensor::with_stand_ins(cast).unwrap(), [0, 2]);
        assert!(cast().is_err());
    }
}
