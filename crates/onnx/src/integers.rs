//! Operators on integers that a run computes, such as indices from `ArgMax` and `TopK`.
//!
//! The registered ops compute with f32. These compute with integers, which tensors hold as s32. They are simple loops, for small
//! tensors. Results of narrow types wrap around, as ONNX says; one of i64 that s32 cannot hold is an error.

use std::sync::Arc;

use blocktensor::dispatch::DispatchKey;
use blocktensor::{
    BoundOp, Complaint, DType, Error, MemoryFormat, Operand, Operator, Result, Scratchpad, StridedTensor,
    Tensor, TensorDesc, TensorMut, TensorRef,
};
use blocktensor_graph::{ElementType, Expansion, Integer, Value};

use crate::ops::broadcast_dims;
use crate::tensor::{collect, collect_results};

/// A function of integers, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
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
    /// An index that counts from the end if it is negative, counted from 0; the other operand is the number of elements.
    FromStart,
    ToFloat,
    ToInt(Integer),
    ToBool,
}

impl Function {
    /// The function of an ONNX op of two operands.
    pub fn of(op_type: &str) -> Option<Function> {
        Some(match op_type {
            "Add" | "Sum" => Function::Add,
            "Sub" => Function::Sub,
            "Mul" => Function::Mul,
            "Div" => Function::Div,
            "Min" => Function::Min,
            "Max" => Function::Max,
            "Equal" => Function::Equal,
            "Greater" => Function::Greater,
            "GreaterOrEqual" => Function::GreaterOrEqual,
            "Less" => Function::Less,
            "LessOrEqual" => Function::LessOrEqual,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Function::Add => "integer_add",
            Function::Sub => "integer_sub",
            Function::Mul => "integer_mul",
            Function::Div => "integer_div",
            Function::Mod => "integer_mod",
            Function::Fmod => "integer_fmod",
            Function::FloatFmod => "fmod",
            Function::Min => "integer_min",
            Function::Max => "integer_max",
            Function::Equal => "integer_eq",
            Function::Greater => "integer_gt",
            Function::GreaterOrEqual => "integer_ge",
            Function::Less => "integer_lt",
            Function::LessOrEqual => "integer_le",
            Function::Where => "integer_where",
            Function::ToFloat => "to_float",
            Function::FromStart => "integer_from_start",
            Function::ToInt(_) => "to_integer",
            Function::ToBool => "to_bool",
        }
    }

    fn inputs(self) -> &'static [&'static str] {
        match self {
            Function::ToFloat | Function::ToInt(_) | Function::ToBool => &["x"],
            Function::Where => &["condition", "a", "b"],
            _ => &["a", "b"],
        }
    }

    /// The dtype of the result.
    fn dtype(self) -> DType {
        match self {
            Function::ToFloat | Function::FloatFmod => DType::F32,
            Function::Equal
            | Function::Greater
            | Function::GreaterOrEqual
            | Function::Less
            | Function::LessOrEqual
            | Function::ToBool => DType::U8,
            _ => DType::S32,
        }
    }

    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            // Operands have 32 bits: 64 hold every result.
            Function::Add => a + b,
            Function::Sub => a - b,
            Function::Mul => a * b,
            // No divisor is 0.
            Function::Div => a / b,
            Function::Mod => (a % b + b) % b,
            Function::Fmod => a % b,
            Function::Min => a.min(b),
            Function::Max => a.max(b),
            Function::Equal => i64::from(a == b),
            Function::Greater => i64::from(a > b),
            Function::GreaterOrEqual => i64::from(a >= b),
            Function::Less => i64::from(a < b),
            Function::LessOrEqual => i64::from(a <= b),
            Function::FromStart => {
                if a < 0 {
                    a + b
                } else {
                    a
                }
            }
            Function::Where
            | Function::ToFloat
            | Function::ToInt(_)
            | Function::ToBool
            | Function::FloatFmod => a,
        }
    }
}

/// Adds a function of integers to the network. The integers of its result have the type of the first operand of integers.
pub(crate) fn add(
    cx: &mut Expansion<'_>,
    function: Function,
    inputs: &[&Value],
) -> blocktensor_graph::Result<Value> {
    let mut types = inputs.iter().filter_map(|v| match v.element_type() {
        ElementType::Int(of) => Some(of),
        _ => None,
    });
    let of = match function {
        Function::ToInt(of) => of,
        _ => types.next().unwrap_or(Integer::I64),
    };
    let mut results = cx.operator(Arc::new(Integers { function, of }), inputs)?;
    let result = results.pop().ok_or_else(|| cx.unsupported("no result"))?;
    Ok(result.with_integers(of))
}

/// A division by 0, for errors: what was found, the rule, the remedy.
pub(crate) const BY_ZERO: (&str, &str, &str) =
    ("0", "integers are not divided by 0", "pass other values, or another input size");

const PLAIN: &str = "they are strided tensors";

/// A function of integers as an operator.
#[derive(Clone, Copy, Debug)]
struct Integers {
    function: Function,
    /// The type of the result, if that is of integers.
    of: Integer,
}

impl Integers {
    fn complaint(&self, got: impl Into<String>, rule: &'static str) -> Box<Complaint> {
        Complaint::new(self.function.name(), "operands", got, rule, "pass other operands")
    }

    fn divides(&self) -> bool {
        matches!(self.function, Function::Div | Function::Mod | Function::Fmod)
    }

    /// The sizes of the result.
    fn sizes<'a>(&self, operands: impl Iterator<Item = &'a [usize]>) -> Result<Vec<usize>> {
        let (mut dims, mut count) = (Vec::new(), 0);
        for operand in operands {
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

    /// The elements of an operand, repeated to these sizes.
    fn elements(&self, operand: &TensorRef<'_>, dims: &[usize]) -> Result<Vec<f64>> {
        let TensorRef::Strided(x) = operand else {
            return Err(Error::InvalidArgument(self.complaint(operand.describe(), PLAIN)));
        };
        let x = x.expand(dims)?;
        Ok(match x.dtype() {
            DType::F32 => collect(x.to_vec::<f32>()?.into_iter().map(f64::from))?,
            DType::U8 => collect(x.to_vec::<u8>()?.into_iter().map(f64::from))?,
            _ => collect(x.to_vec::<i32>()?.into_iter().map(f64::from))?,
        })
    }

    /// A result as a tensor of s32 holds it.
    fn narrow(&self, value: f64) -> Result<i32> {
        let value = self.of.wrap(value as i64);
        let is_lost = self.of == Integer::U64 && value < 0;
        i32::try_from(value).ok().filter(|_| !is_lost).ok_or_else(|| {
            let rule = "tensors hold integers of 32 bits, and this result does not fit";
            let remedy = "pass smaller values, or compute it outside the model";
            let value = if is_lost { value as u64 as i128 } else { i128::from(value) };
            let got = format!("a result of {value} ({})", self.of);
            Error::InvalidArgument(Complaint::new(self.function.name(), "operands", got, rule, remedy))
        })
    }

    fn compute(&self, inputs: &[TensorRef<'_>]) -> Result<StridedTensor> {
        let dims = self.sizes(inputs.iter().map(|t| t.dims()))?;
        let lists = inputs.iter().map(|t| self.elements(t, &dims)).collect::<Result<Vec<_>>>()?;
        let values: Vec<f64> = match &lists[..] {
            [x] => collect(x.iter().copied())?,
            // The remainder of two f32 numbers is one.
            [a, b] if self.function == Function::FloatFmod => collect(a.iter().zip(b).map(|(a, b)| a % b))?,
            [_, b] if self.divides() && b.contains(&0.0) => {
                let (got, rule, remedy) = BY_ZERO;
                let op = self.function.name();
                return Err(Error::InvalidArgument(Complaint::new(op, "divisor", got, rule, remedy)));
            }
            [a, b] => {
                // 32-bit integers are exact in f64; products are computed with 64 bits.
                collect(a.iter().zip(b).map(|(&a, &b)| self.function.apply(a as i64, b as i64) as f64))?
            }
            [c, a, b] => collect((0..c.len()).map(|i| if c[i] != 0.0 { a[i] } else { b[i] }))?,
            _ => Vec::new(),
        };
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
        let dims = self.sizes(inputs.iter().map(|t| t.dims()))?;
        Ok(vec![TensorDesc::strided(&dims, self.function.dtype(), MemoryFormat::Contiguous)?])
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        self.sizes(inputs.iter().map(|t| t.dims()))?;
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
        // A padding of nothing is a copy.
        let copy = BoundOp::new("pad", &["x"], &[("padding", Vec::<i64>::new().into())])?;
        copy.run_into(&[result.tensor_ref()], outputs, scratchpad)
    }
}
