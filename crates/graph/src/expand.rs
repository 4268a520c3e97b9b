//! From a node of a graph to operators, at known sizes.

use std::fmt;
use std::sync::Arc;

use blocktensor::{
    BoundOp, DType, MemoryFormat, Operand, Operator, StridedTensor, TensorDesc, Text, counted, memory,
};

use crate::Param;
use crate::constant::{CONSTANT, Constant, ElementType, Integer};
use crate::error::{Error, Result};
use crate::graph::other_names;
use crate::network::{Budget, Fold, Kind, Network, Node, Operation, Origin, TensorId, Value, facts};

/// What a node of a [`Graph`](crate::Graph) does: it writes itself as operators once the sizes of its inputs are known.
///
/// Importers of file formats implement it. Operators of blocktensor are such nodes already ([`Graph::op`](crate::Graph::op)).
pub trait Expand: fmt::Debug + Send + Sync {
    /// The op's name, as errors give it.
    fn op(&self) -> &str;

    /// The node's attributes, as errors give them.
    fn attributes(&self) -> String {
        String::new()
    }

    /// Why the node can never run, if that is known before the sizes are.
    fn lacks(&self) -> Option<String> {
        None
    }

    /// Adds operators to the network, and returns the node's outputs. An input that the node leaves out is `None`.
    ///
    /// # Errors
    /// Those of the operators, and [`Expansion::invalid`] or [`Expansion::unsupported`] for what the node does not allow.
    fn expand(&self, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>>;
}

/// The network that a graph becomes, while one of its nodes is expanded.
#[derive(Debug)]
pub struct Expansion<'a> {
    pub(crate) network: &'a mut Network,
    /// The node's name, and its place among the nodes of the graph.
    pub(crate) node: &'a str,
    pub(crate) number: usize,
    pub(crate) op: &'a str,
    /// The node inside the node that is expanded, as errors name it, and its op.
    pub(crate) inner: Option<(String, String)>,
    /// How many operators the node has become so far.
    pub(crate) operators: usize,
    /// Whether something uses each output of the node.
    pub(crate) needed: Vec<bool>,
}

impl Expansion<'_> {
    /// The name of the node that is expanded.
    pub fn node(&self) -> &str {
        self.node
    }

    /// The op of the node that is expanded: of the innermost one.
    pub fn op_type(&self) -> &str {
        self.place().1
    }

    /// The node that is expanded, and its op, as errors name them: a node inside another one follows the name of that one.
    fn place(&self) -> (&str, &str) {
        self.inner.as_ref().map_or((self.node, self.op), |(node, op)| (node, op))
    }

    /// Whether something uses this output of the node that is expanded.
    pub fn needs(&self, output: usize) -> bool {
        self.needed.get(output).copied().unwrap_or(false)
    }

    /// The results, if the node has a name for each.
    fn named(&self, results: Vec<Value>) -> Result<Vec<Value>> {
        match results.len() == self.needed.len() {
            true => Ok(results),
            false => {
                let rule = format!("it has {}", counted(results.len(), "result"));
                let what = format!("node `{}` ({}), outputs", self.node, self.op);
                Err(other_names(what, self.needed.len(), rule))
            }
        }
    }

    /// Expands a node of this name of a graph inside the node, of whose outputs something uses these.
    ///
    /// # Errors
    /// The node's.
    pub fn expand_inner(
        &mut self,
        name: &str,
        node: &dyn Expand,
        inputs: &[Option<Value>],
        needed: Vec<bool>,
    ) -> Result<Vec<Value>> {
        let inner = (format!("{}/{name}", self.place().0), node.op().to_string());
        let outer = self.inner.replace(inner);
        let own = std::mem::replace(&mut self.needed, needed);
        let results = node.expand(inputs, self);
        (self.needed, self.inner) = (own, outer);
        results
    }

    /// An error: the node breaks a rule of its op.
    pub fn invalid(
        &self,
        argument: &str,
        got: impl fmt::Display,
        rule: impl Into<Text>,
        remedy: impl Into<Text>,
    ) -> Error {
        let (node, op) = self.place();
        Error::Invalid {
            what: format!("node `{node}` ({op}), {argument}"),
            got: got.to_string(),
            rule: rule.into(),
            remedy: remedy.into(),
        }
    }

    /// An error: blocktensor cannot run this.
    pub fn unsupported(&self, what: impl fmt::Display) -> Error {
        let (node, op) = self.place();
        Error::Missing {
            nodes: vec![crate::Missing {
                node: node.to_string(),
                op: op.to_string(),
                attributes: String::new(),
                reason: what.to_string(),
            }],
            computable: vec![],
        }
    }

    /// Adds the registered op of this name, for these inputs by name, with these parameters, and returns its only result.
    /// Where all inputs are constants, the op runs now and the result is a constant.
    ///
    /// # Errors
    /// The operator's; `Invalid` if it has several results.
    pub fn op(&mut self, op: &str, inputs: &[(&str, &Value)], params: &[(&str, Param)]) -> Result<Value> {
        let mut results = self.ops(op, inputs, params)?;
        match (results.pop(), results.is_empty()) {
            (Some(result), true) => Ok(result),
            _ => Err(self.invalid(op, "an op with several results", "`op` is for one", "call `ops`")),
        }
    }

    /// As [`op`](Self::op), with all results.
    ///
    /// # Errors
    /// The operator's.
    pub fn ops(
        &mut self,
        op: &str,
        inputs: &[(&str, &Value)],
        params: &[(&str, Param)],
    ) -> Result<Vec<Value>> {
        let (names, values): (Vec<&str>, Vec<&Value>) = inputs.iter().copied().unzip();
        let bound = BoundOp::new(op, &names, params).map_err(|e| self.of_operator(e))?;
        self.operation(Operation::Bound(bound), &values)
    }

    /// Adds an operator of any kind.
    ///
    /// # Errors
    /// The operator's.
    pub fn operator(&mut self, operator: Arc<dyn Operator>, inputs: &[&Value]) -> Result<Vec<Value>> {
        self.operation(Operation::Other(operator), inputs)
    }

    /// The same elements under other sizes.
    ///
    /// # Errors
    /// `Invalid` for another number of elements.
    pub fn reshape(&mut self, x: &Value, dims: &[usize]) -> Result<Value> {
        if x.numel() != dims.iter().product::<usize>() {
            let got = format!("{:?} to {dims:?}", x.dims());
            return Err(self.invalid("shape", got, "the number of elements stays", "correct the shape"));
        }
        if x.dims() == dims {
            return Ok(x.clone());
        }
        match x.constant() {
            Some(Constant::Int { of, values, .. }) => {
                let values = memory::try_copied(CONSTANT, values)?;
                Ok(Constant::Int { of: *of, dims: dims.to_vec(), values }.into())
            }
            Some(Constant::Bool { values, .. }) => {
                let values = memory::try_copied(CONSTANT, values)?;
                Ok(Constant::Bool { dims: dims.to_vec(), values }.into())
            }
            Some(Constant::Byte(t)) => Ok(Constant::Byte(t.reshape(dims)?).into()),
            Some(Constant::SignedByte(t)) => Ok(Constant::SignedByte(t.reshape(dims)?).into()),
            Some(Constant::F32(t)) => Ok(Constant::F32(t.reshape(dims)?).into()),
            None => {
                let view = BoundOp::view(dims).map_err(|e| self.of_operator(e))?;
                Ok(self.operation(Operation::Bound(view), &[x])?.remove(0))
            }
        }
    }

    pub(crate) fn operation(&mut self, operation: Operation, inputs: &[&Value]) -> Result<Vec<Value>> {
        self.check_conditions(&operation, inputs)?;
        // Weights stay as they are until the passes: a convolution or a linear layer may take them.
        let is_kept = facts(&*operation).inflates && inputs.first().is_some_and(|x| x.rank() > 1);
        if !is_kept && inputs.iter().all(|v| v.constant().is_some()) {
            return self.fold(&operation, inputs);
        }
        self.add(operation, inputs)
    }

    /// Whether the value is a constant, also one that stays as integers until the passes.
    pub fn is_constant(&self, value: &Value) -> bool {
        let Kind::Tensor { id, .. } = &value.0 else { return true };
        let node = self.network.nodes.iter().rev().find(|node| node.outputs.contains(id));
        let is_constant = |id: &TensorId| self.network.tensor(*id).constant().is_some();
        node.is_some_and(|node| facts(&*node.op).inflates && node.inputs.iter().all(is_constant))
    }

    /// Adds a node.
    fn add(&mut self, operation: Operation, inputs: &[&Value]) -> Result<Vec<Value>> {
        let descs = descs_of(inputs)?;
        let results = operation.results(&descs).map_err(|e| self.of_operator(e))?;
        let operation = match operation {
            Operation::Bound(op) => {
                Operation::Bound(op.with_axes_from_front(descs.first().map_or(0, |x| x.dims().len())))
            }
            other => other,
        };
        let types = Types::of(&operation, inputs);
        let inputs = inputs.iter().map(|v| self.tensor_of(v)).collect::<Result<Vec<_>>>()?;
        let mut outputs = Vec::with_capacity(results.len());
        let mut values = Vec::with_capacity(results.len());
        for (i, desc) in results.iter().enumerate() {
            let name = format!("{}/{}.{i}", self.node, self.operators);
            let id = self.network.add_tensor(name, desc.dims(), desc.dtype(), None);
            outputs.push(id);
            let of = types.of_result(desc.dtype());
            values.push(Value(Kind::Tensor { id, dims: desc.dims().to_vec(), of }));
        }
        let name = match self.operators {
            0 => self.node.to_string(),
            n => format!("{}/{n}", self.node),
        };
        self.operators += 1;
        let (node, op) = self.place();
        let origin = Origin { node: node.to_string(), op: op.to_string(), number: self.number };
        self.network.nodes.push(Node { name, origin, op: operation, inputs, outputs });
        Ok(values)
    }

    fn tensor_of(&mut self, value: &Value) -> Result<TensorId> {
        self.network.tensor_of(value).map_err(|e| self.within(e))
    }

    /// Counts the memory of a constant that is computed: a few bytes of a file may describe gigabytes.
    ///
    /// # Errors
    /// `Invalid` if the constants of this graph that are computed take more than 1 GiB and four times those that are given.
    pub fn computes(&mut self, dims: &[usize], of: ElementType) -> Result<()> {
        let width = match of {
            ElementType::F32 => 4,
            ElementType::Int(_) => 8,
            ElementType::Bool | ElementType::Byte | ElementType::SignedByte => 1,
        };
        let bytes = dims.iter().try_fold(width, |n: usize, &d| n.checked_mul(d));
        let left = self.network.budget.bytes;
        match bytes.and_then(|bytes| left.checked_sub(bytes)) {
            Some(left) => {
                self.network.budget.bytes = left;
                Ok(())
            }
            None => {
                let rule = "constants that are computed have at most 1 GiB and four times those of the file";
                Err(self.invalid("a constant", format!("{of} {dims:?}"), rule, "store it in the file"))
            }
        }
    }

    /// Counts nodes that a loop writes out.
    ///
    /// # Errors
    /// `Invalid` after 100,000 of them in one graph.
    pub fn writes_out(&mut self, nodes: usize) -> Result<()> {
        match self.network.budget.nodes.checked_sub(nodes) {
            Some(left) => {
                self.network.budget.nodes = left;
                Ok(())
            }
            None => {
                let rule = format!("loops of a graph are written out as at most {} nodes", Budget::NODES);
                Err(self.invalid(
                    "body",
                    "more nodes",
                    rule,
                    "use fewer rounds, or run the loop in the program",
                ))
            }
        }
    }

    /// Runs an operator whose inputs are all known.
    fn fold(&mut self, operation: &Operation, inputs: &[&Value]) -> Result<Vec<Value>> {
        let tensors = inputs
            .iter()
            .map(|v| {
                v.constant()
                    .map_or_else(|| Err(self.unsupported("a constant is missing")), Constant::to_tensor)
                    .map_err(|e| self.within(e))
            })
            .collect::<Result<Vec<_>>>()?;
        let descs = descs_of(inputs)?;
        let types = Types::of(operation, inputs);
        let is_view = facts(&**operation).sharing.is_view();
        for result in operation.infer(&descs).map_err(|e| self.of_operator(e))? {
            // Views cost nothing, but what is repeated is written out.
            let repeats = descs.first().is_none_or(|x| elements(&result) > elements(x));
            if !is_view || repeats {
                self.computes(result.dims(), types.of_result(result.dtype()))?;
            }
        }
        let refs: Vec<_> = tensors.iter().map(|t: &StridedTensor| t.tensor_ref()).collect();
        let results = operation.run(&refs).map_err(|e| self.of_operator(e))?;
        let strided = |t| match t {
            blocktensor::Tensor::Strided(t) => Ok(t),
            other => Err(self.unsupported(format!("a constant in {}", other.tensor_ref().describe()))),
        };
        let results = results.into_iter().map(strided).collect::<Result<Vec<_>>>()?;
        if let Some(folds) = &mut self.network.folds {
            let (node, op) = (self.node.to_string(), operation.clone());
            folds.push(Fold { node, op, inputs: tensors, results: results.clone() });
        }
        results.into_iter().map(|t| Ok(constant_of(t, types)?.into())).collect()
    }

    /// Refuses bytes where a registered op takes Booleans, which have the same dtype: arguments that are u8 whatever the op
    /// computes with are conditions.
    fn check_conditions(&self, operation: &Operation, inputs: &[&Value]) -> Result<()> {
        let Some(op) = operation.bound() else { return Ok(()) };
        let is_condition = |name: &str| {
            let mut args = op.registered().schema().args.iter();
            args.any(|arg| arg.name == name && arg.dtypes.list() == Some(&[DType::U8]))
        };
        match op.inputs().iter().zip(inputs).find(|(_, x)| x.element_type() == ElementType::Byte) {
            Some((name, x)) if is_condition(name) => {
                Err(self.invalid(name, x.element_type(), "it is Boolean", "compare before"))
            }
            _ => Ok(()),
        }
    }

    fn of_operator(&self, source: blocktensor::Error) -> Error {
        self.within(Error::Engine(source))
    }

    fn within(&self, error: Error) -> Error {
        let (node, op) = self.place();
        error.within(node, op)
    }
}

fn elements(desc: &TensorDesc) -> usize {
    desc.dims().iter().product()
}

fn descs_of(values: &[&Value]) -> blocktensor::Result<Vec<TensorDesc>> {
    let desc = |v: &&Value| TensorDesc::strided(v.dims(), v.element_type().dtype(), MemoryFormat::Contiguous);
    values.iter().map(desc).collect()
}

/// The types of an operator's results, where dtypes do not tell them.
#[derive(Clone, Copy)]
struct Types {
    /// Of integers: that of the first operand of integers. Without one they are indices.
    integers: Integer,
    /// Of u8: that of the first operand of u8. Without one, ops of the library compare, and nobody knows what others do.
    u8: ElementType,
}

impl Types {
    fn of(operation: &Operation, inputs: &[&Value]) -> Types {
        let int = |v: &&Value| match v.element_type() {
            ElementType::Int(of) => Some(of),
            _ => None,
        };
        let own = match operation {
            Operation::Bound(op) if op.makes_stated_dtype() => ElementType::Byte,
            Operation::Bound(_) | Operation::Integers(_) => ElementType::Bool,
            Operation::Other(_) => ElementType::Byte,
        };
        let operand = inputs.iter().map(|v| v.element_type()).find(|of| of.dtype() == DType::U8);
        Types {
            integers: inputs.iter().find_map(int).unwrap_or(Integer::I64),
            u8: match operation {
                // Functions of integers take conditions, and give others.
                Operation::Integers(_) => own,
                _ => operand.unwrap_or(own),
            },
        }
    }

    /// The type of the elements of a tensor that a kernel makes.
    fn of_result(self, dtype: DType) -> ElementType {
        match dtype {
            DType::S32 => ElementType::Int(self.integers),
            DType::U8 => self.u8,
            DType::S8 => ElementType::SignedByte,
            _ => ElementType::F32,
        }
    }
}

/// The constant that a kernel's result is.
fn constant_of(t: StridedTensor, types: Types) -> Result<Constant> {
    let dims = t.dims().to_vec();
    Ok(match types.of_result(t.dtype()) {
        ElementType::Int(of) => {
            let values = memory::try_collect(CONSTANT, t.to_vec::<i32>()?.into_iter().map(i64::from))?;
            Constant::Int { of, dims, values }
        }
        ElementType::Bool => {
            let values = memory::try_collect(CONSTANT, t.to_vec::<u8>()?.into_iter().map(|v| v != 0))?;
            Constant::Bool { dims, values }
        }
        ElementType::Byte => Constant::Byte(t),
        ElementType::SignedByte => Constant::SignedByte(t),
        ElementType::F32 => Constant::F32(t),
    })
}

/// A registered op as a node of a graph.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) op: BoundOp,
}

impl Expand for Registered {
    fn op(&self) -> &str {
        self.op.op()
    }

    fn attributes(&self) -> String {
        self.op.params().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    }

    fn expand(&self, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
        let values: Vec<&Value> = inputs.iter().flatten().collect();
        let results = cx.operation(Operation::Bound(self.op.clone()), &values)?;
        cx.named(results)
    }
}

/// Any operator as a node of a graph.
#[derive(Debug)]
pub(crate) struct Given(pub(crate) Arc<dyn Operator>);

impl Expand for Given {
    fn op(&self) -> &str {
        self.0.op()
    }

    fn expand(&self, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
        let values: Vec<&Value> = inputs.iter().flatten().collect();
        let results = cx.operator(Arc::clone(&self.0), &values)?;
        cx.named(results)
    }
}
