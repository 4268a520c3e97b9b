//! `BoundOp`: a registered op with its parameters.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Operator;
use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text, fail};
use crate::key::DispatchKey;
use crate::op::param_value::ParamValue;
use crate::op::schema::{ArgKind, AxesOf, Schema};
use crate::op::{self, Arg, Args, Gradients, Op, Reads, Value};
use crate::registry;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;

/// A registered op, of this crate or another, with its parameters, and with the names of the tensors that it will get.
///
/// It prints as a call, compares, hashes and serialises: all by the op's name, its inputs and every parameter, defaults too.
///
/// ```
/// use blocktensor::{BoundOp, Operator};
/// let conv = BoundOp::new("conv2d", &["x", "weights"], &[("stride", vec![2i64, 2].into())])?;
/// assert!(conv.to_string().starts_with("conv2d(x, weights, stride = [2, 2], padding = [0]"));
/// assert_eq!(conv.inputs(), ["x", "weights"]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone)]
pub struct BoundOp {
    op: &'static Op,
    inputs: Vec<&'static str>,
    /// For each argument of the schema: how many inputs are its tensors, or its value.
    args: Vec<Bound>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Bound {
    Absent,
    Tensor,
    Tensors(usize),
    Param(ParamValue),
}

impl BoundOp {
    /// The op of this name, for these inputs, with these parameters; what is left out has its default. `inputs` are names of
    /// tensor arguments in the schema's order, that of a list once for each of its tensors.
    ///
    /// # Errors
    /// `InvalidArgument` for an op, an input or a parameter that is not there, for one that is missing, given twice or in
    /// another order, and for a value of another kind.
    pub fn new(op: &str, inputs: &[&str], params: &[(&str, Value)]) -> Result<BoundOp> {
        let Some(found) = registry::op(op) else {
            fail!(
                InvalidArgument,
                op.to_string(),
                "op",
                format!("`{}`", op.escape_debug()),
                "no op has this name",
                Text::from(Call::Ops) + " lists them"
            )
        };
        BoundOp::of(found, inputs, params)
    }

    /// The same of an op that is at hand.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(op: &'static Op, inputs: &[&str], params: &[(&str, Value)]) -> Result<BoundOp> {
        let schema = op.schema();
        let complain = |argument: &str, got: &str, rule: String| {
            let remedy = format!("the op is `{schema}`");
            Error::InvalidArgument(Complaint::new(schema.name, argument.to_string(), got, rule, remedy))
        };
        for (i, (name, _)) in params.iter().enumerate() {
            let known = schema.args.iter().any(|a| a.name == *name && !a.kind.is_tensor());
            if !known {
                return Err(complain(name, "a value", "the op has no such parameter".into()));
            }
            if params[..i].iter().any(|(other, _)| other == name) {
                return Err(complain(name, "two values", "it takes one".into()));
            }
        }
        // By argument, not by input: a list's name stands once for each of its tensors.
        let place = |name: &str| schema.args.iter().position(|a| a.name == name && a.kind.is_tensor());
        let order = || {
            let names = schema.args.iter().filter(|a| a.kind.is_tensor()).map(|a| a.name);
            names.collect::<Vec<_>>().join(", ")
        };
        let came = || match inputs {
            [] => "no inputs".to_string(),
            _ => format!("`{}`", inputs.join("`, `")),
        };
        if let Some(name) = inputs.iter().find(|name| place(name).is_none()) {
            let got = format!("`{}`", name.escape_debug());
            return Err(complain("inputs", &got, format!("the op has no such input; it takes {}", order())));
        }
        if !inputs.is_sorted_by_key(|name| place(name)) {
            let rule = format!("inputs are in the schema's order: {}", order());
            return Err(complain("inputs", &came(), rule));
        }
        let mut left = inputs;
        let (mut args, mut names) = (Vec::new(), Vec::new());
        for spec in schema.args {
            let count = left.iter().take_while(|name| **name == spec.name).count();
            let of_list = matches!(spec.kind, ArgKind::DataList | ArgKind::ParamList);
            args.push(if of_list {
                names.extend(std::iter::repeat_n(spec.name, count));
                Bound::Tensors(count)
            } else if spec.kind.is_tensor() {
                if count > 1 {
                    return Err(complain(spec.name, "two inputs", "it is one tensor".into()));
                }
                if count == 0 && matches!(spec.kind, ArgKind::Data | ArgKind::Param | ArgKind::Plain) {
                    let rule = format!("`{}` is an input of every call", spec.name);
                    return Err(complain("inputs", &came(), rule));
                }
                names.extend(std::iter::repeat_n(spec.name, count));
                if count == 1 { Bound::Tensor } else { Bound::Absent }
            } else {
                let given = params.iter().find(|(name, _)| *name == spec.name).map(|(_, value)| value);
                let arg = given.map_or(spec.kind.default(), |value| match value {
                    Value::Int(v) => Arg::Int(*v),
                    Value::Ints(v) => Arg::Ints(v),
                    Value::Float(v) => Arg::Float(*v),
                    Value::Bool(v) => Arg::Bool(*v),
                    Value::Str(v) => Arg::Str(v),
                    Value::Tensor(_) | Value::Tensors(_) => Arg::Absent,
                });
                match ParamValue::of(arg).filter(|_| op::args::fits(spec.kind, &arg)) {
                    Some(value) => Bound::Param(value),
                    None => {
                        let got = given.map_or("nothing".to_string(), |v| v.to_string());
                        return Err(complain(spec.name, &got, format!("it is {}", spec.kind.describe())));
                    }
                }
            });
            left = &left[count..];
        }
        Ok(BoundOp { op, inputs: names, args })
    }

    /// The op of a call by name ([`dispatch::call`](crate::dispatch::call)) with its parameters, and the tensors of the call in
    /// the order in which a run takes them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_call(op: &str, values: &[(&str, Value)]) -> Result<(BoundOp, Vec<Tensor>)> {
        let schema = registry::op(op).map_or(&[][..], |op| op.schema().args);
        let (mut inputs, mut tensors) = (Vec::new(), Vec::new());
        for spec in schema.iter().filter(|spec| spec.kind.is_tensor()) {
            let list = match values.iter().find(|(name, _)| *name == spec.name) {
                Some((_, Value::Tensor(t))) => std::slice::from_ref(t),
                Some((_, Value::Tensors(list))) => list,
                _ => &[],
            };
            inputs.extend(list.iter().map(|_| spec.name));
            tensors.extend_from_slice(list);
        }
        let is_tensor = |name: &str| schema.iter().any(|spec| spec.name == name && spec.kind.is_tensor());
        let params: Vec<(&str, Value)> =
            values.iter().filter(|(name, _)| !is_tensor(name)).cloned().collect();
        Ok((BoundOp::new(op, &inputs, &params)?, tensors))
    }

    /// The same op for a first operand of this rank: parameters that name axes count them from the front, so that who reads them
    /// need not know the rank. Axes that are not there stay as they are.
    ///
    /// ```
    /// use blocktensor::{BoundOp, ParamValue};
    /// let softmax = BoundOp::new("softmax", &["x"], &[("axis", (-1).into())])?.with_axes_from_front(4);
    /// assert_eq!(softmax.params().next(), Some(("axis", &ParamValue::Int(3))));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn with_axes_from_front(&self, rank: usize) -> BoundOp {
        let mut op = self.clone();
        for (spec, bound) in self.op.schema().args.iter().zip(&mut op.args) {
            let rank = match spec.axes {
                Some(AxesOf::Operand) => rank as i64,
                Some(AxesOf::Result) => rank as i64 + 1,
                None => continue,
            };
            let from_front = |axis: &mut i64| {
                if (-rank..0).contains(axis) {
                    *axis += rank;
                }
            };
            match bound {
                Bound::Param(ParamValue::Int(axis)) => from_front(axis),
                Bound::Param(ParamValue::Ints(axes)) => axes.iter_mut().for_each(from_front),
                _ => {}
            }
        }
        op
    }

    /// The op.
    pub fn registered(&self) -> &'static Op {
        self.op
    }

    /// The parameters by name, in the schema's order.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        self.op.schema().args.iter().zip(&self.args).filter_map(|(spec, bound)| match bound {
            Bound::Param(value) => Some((spec.name, value)),
            _ => None,
        })
    }

    /// The gradients of the inputs from those of the results: [`Op::backward`] with these parameters. `inputs` are those of the run,
    /// `results` what it gave.
    ///
    /// # Errors
    /// As [`Op::backward`]; `InvalidArgument` for another number of inputs.
    #[track_caller]
    pub fn backward(
        &self,
        inputs: &[TensorRef<'_>],
        results: &[TensorRef<'_>],
        diffs: &[Option<TensorRef<'_>>],
        wanted: &[bool],
    ) -> Result<Gradients> {
        self.op.backward(&self.args(inputs)?, results, diffs, wanted)
    }

    /// As [`backward`](Self::backward), for calls by name ([`of_call`](Self::of_call)): the gradients of the inputs of these names, in the order of
    /// `wanted`. The name of a list stands for all its tensors.
    ///
    /// # Errors
    /// As `backward`; `InvalidArgument` for a name that no input has.
    #[track_caller]
    pub fn backward_by(
        &self,
        inputs: &[Tensor],
        results: &[Tensor],
        diffs: &[Option<Tensor>],
        wanted: &[&str],
    ) -> Result<Vec<Tensor>> {
        let mut is_wanted = vec![false; self.inputs.len()];
        let mut order = Vec::new();
        for name in wanted {
            let places = (0..self.inputs.len()).filter(|&i| self.inputs[i] == *name);
            let before = order.len();
            order.extend(places);
            if order.len() == before {
                fail!(
                    InvalidArgument,
                    self.op.schema().name,
                    "wanted",
                    format!("`{}`", name.escape_debug()),
                    format!("it names tensors of the call: `{}`", self.inputs.join("`, `")),
                    "pass names of these"
                )
            }
            order[before..].iter().for_each(|&i| is_wanted[i] = true);
        }
        let diffs: Vec<_> = diffs.iter().map(|diff| diff.as_ref().map(Operand::tensor_ref)).collect();
        let made = self.backward(&refs(inputs), &refs(results), &diffs, &is_wanted)?;
        Ok(order.into_iter().filter_map(|i| made.get(i).cloned().flatten()).collect())
    }

    /// Checks that the op has a gradient for the key and the dtypes of such inputs, and one by each that is `wanted`, before a run.
    ///
    /// # Errors
    /// `UnsupportedOp` if it has none for the key, `UnsupportedDType` if none of those takes the dtypes; `InvalidArgument` for
    /// an input by which it has none, and for another number of inputs.
    #[track_caller]
    pub fn check_gradient(&self, inputs: &[TensorRef<'_>], wanted: &[bool]) -> Result<()> {
        let values = self.args(inputs)?;
        let args = Args::new(self.op, &values)?;
        self.op.gradient_of(&args)?;
        self.op.check_wanted(&args, wanted)
    }

    /// Whether result `i` of `count`, of this dtype, can have a gradient. Indices and masks have none, nor have running statistics.
    pub fn differentiates_result(&self, i: usize, count: usize, dtype: DType) -> bool {
        let schema = self.op.schema();
        schema.differentiates(&schema.output_name(i, count), dtype)
    }

    /// What the gradient of a call with such inputs reads of it.
    pub(super) fn gradient_reads(&self, inputs: &[TensorRef<'_>]) -> Result<Reads> {
        let values = self.args(inputs)?;
        Ok(self.op.gradient_of(&Args::new(self.op, &values)?)?.reads)
    }

    pub(crate) fn input_names(&self) -> &[&'static str] {
        &self.inputs
    }

    /// The arguments of a call with these inputs.
    fn args<'a>(&'a self, inputs: &'a [TensorRef<'a>]) -> Result<Vec<Arg<'a>>> {
        if inputs.len() != self.inputs.len() {
            fail!(
                InvalidArgument,
                self.op.schema().name,
                "inputs",
                format!("{} tensors", inputs.len()),
                format!("it was bound to {:?}", self.inputs),
                "pass one tensor for each"
            );
        }
        let mut left = inputs;
        let mut take = |count| {
            let (taken, rest) = left.split_at(count);
            left = rest;
            taken
        };
        let arg = |bound: &'a Bound| match bound {
            Bound::Absent => Arg::Absent,
            Bound::Tensor => Arg::Tensor(take(1)[0]),
            Bound::Tensors(count) => Arg::Tensors(take(*count)),
            Bound::Param(value) => value.arg(),
        };
        Ok(self.args.iter().map(arg).collect())
    }
}

/// Tensors that are only described.
fn described(inputs: &[TensorDesc]) -> Vec<Tensor> {
    inputs.iter().map(TensorDesc::without_elements).collect()
}

fn refs(tensors: &[Tensor]) -> Vec<TensorRef<'_>> {
    tensors.iter().map(Operand::tensor_ref).collect()
}

impl Operator for BoundOp {
    fn op(&self) -> &'static str {
        self.op.schema().name
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(self.op.schema())
    }

    fn inputs(&self) -> &[&'static str] {
        &self.inputs
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        let tensors = described(inputs);
        Ok(self.op.described(&self.args(&refs(&tensors))?, false)?.0)
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        if self.op.kernel(key).is_none() {
            return Ok(None);
        }
        let tensors = described(inputs);
        self.op.preferred(key, &self.args(&refs(&tensors))?, inputs)
    }

    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize> {
        let tensors = described(inputs);
        Ok(self.op.described(&self.args(&refs(&tensors))?, true)?.1)
    }

    #[track_caller]
    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        Ok(self.op.call(&self.args(inputs)?)?.into_vec())
    }

    #[track_caller]
    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        self.op.call_into(&self.args(inputs)?, outputs, scratchpad)
    }
}

impl fmt::Display for BoundOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = self.params().map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = self.inputs.iter().map(|name| name.to_string()).chain(params).collect();
        write!(f, "{}({})", self.op.schema().name, all.join(", "))
    }
}

impl fmt::Debug for BoundOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BoundOp {{ {self} }}")
    }
}

impl PartialEq for BoundOp {
    fn eq(&self, other: &BoundOp) -> bool {
        std::ptr::eq(self.op, other.op) && self.inputs == other.inputs && self.args == other.args
    }
}

impl Eq for BoundOp {}

impl std::hash::Hash for BoundOp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.op.schema().name, &self.inputs, &self.args).hash(state);
    }
}

/// How it stands in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    op: String,
    inputs: Vec<String>,
    params: Vec<(String, ParamValue)>,
}

impl Serialize for BoundOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        Stored {
            op: self.op.schema().name.into(),
            inputs: self.inputs.iter().map(|name| name.to_string()).collect(),
            params: self.params().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BoundOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<BoundOp, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let inputs: Vec<&str> = stored.inputs.iter().map(String::as_str).collect();
        let params: Vec<(&str, Value)> =
            stored.params.iter().map(|(name, v)| (name.as_str(), v.into())).collect();
        BoundOp::new(&stored.op, &inputs, &params).map_err(serde::de::Error::custom)
    }
}
