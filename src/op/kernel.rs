//! One op: its schema, its kernels for each key, and how a call is resolved.

use std::sync::OnceLock;

use crate::error::{Complaint, Error, Result, Unsupported, UnsupportedOp};
use crate::key::DispatchKey;
use crate::ledger;
use crate::op::args::{Arg, ArgList, Args, data_operands};
use crate::op::fallback;
use crate::op::lookup::{DTypeTuple, refused};
use crate::op::params::Params;
use crate::op::results::{KernelResult, Results, Stop};
use crate::op::schema::Schema;
use crate::scratchpad::Scratchpad;
use crate::simd::Isa;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// What a kernel returns: nearly always one tensor.
// The large variant is the usual one.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Outputs {
    /// One result.
    One(Tensor),
    /// Several results, such as those of `chunk`.
    Many(Vec<Tensor>),
}

impl Outputs {
    /// Checks that the padding lanes of blocked results are zero, if the user switched that check on.
    fn check_tails(&self) -> Result<()> {
        let list = match self {
            Outputs::One(t) => std::slice::from_ref(t),
            Outputs::Many(list) => list,
        };
        list.iter().try_for_each(|t| match t {
            Tensor::Blocked(t) => t.check_tail_if_asked(),
            _ => Ok(()),
        })
    }

    /// The results as a list.
    pub fn into_vec(self) -> Vec<Tensor> {
        match self {
            Outputs::One(t) => vec![t],
            Outputs::Many(list) => list,
        }
    }
}

impl<T: Into<Tensor>> From<T> for Outputs {
    fn from(t: T) -> Outputs {
        Outputs::One(t.into())
    }
}

impl Outputs {
    /// Notes in the ledger, as soft warnings, results whose memory format differs from the first operand's.
    fn note_layout_changes(&self, args: &Args<'_>) {
        let all = match self {
            Outputs::One(t) => std::slice::from_ref(t),
            Outputs::Many(list) => list,
        };
        fn strided(t: &Tensor) -> Option<&StridedTensor> {
            if let Tensor::Strided(t) = t { Some(t) } else { None }
        }
        let results: Vec<&StridedTensor> = all.iter().filter_map(strided).collect();
        if let Some((_, TensorRef::Strided(first))) = args.data_operands().next() {
            ledger::layout_changes(args.op(), first, &results, args.location());
        }
    }
}

/// The function behind a kernel: it checks the arguments, asks for its results, and writes them.
pub type KernelFn = dyn Fn(&Args<'_>, &mut Results<'_>) -> KernelResult + Send + Sync;

/// Who implements a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This crate's own Rust.
    Rust,
    /// oneDNN. Such a kernel declines if the engine has no fast implementation, and the op's next kernel runs.
    OneDnn,
    /// Another crate.
    Other,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Rust => "Rust",
            Engine::OneDnn => "oneDNN",
            Engine::Other => "other",
        })
    }
}

/// What an implementation computes of an op, as oneDNN's propagation kind. Calls ask for `Forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Propagation {
    /// The results from the operands.
    Forward,
}

/// An op's code for one key.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// The function. A kernel is registered once and stays for the life of the process.
    run: &'static KernelFn,
    /// What dtypes operands and results may have together. A call takes one of these.
    pub dtypes: &'static [DTypeTuple],
    /// What it computes.
    pub propagation: Propagation,
    /// The instructions that it cannot run without. On other machines calls do not see it.
    pub isa: Isa,
    /// Whether it reads scales and zero points. Otherwise quantised operands are refused.
    pub reads_quantization: bool,
    /// Who implements it.
    pub engine: Engine,
    preferred: Option<&'static PreferredFn>,
}

/// States which formats a kernel prefers. It gets the op's schema, the kernel's key, the arguments of a call, and the
/// descriptors of their tensors; it returns those descriptors in the formats that the kernel prefers. The tensors may be of
/// another key.
pub type PreferredFn =
    dyn Fn(&'static Schema, DispatchKey, &[Arg<'_>], &[TensorDesc]) -> Result<Vec<TensorDesc>> + Send + Sync;

impl Kernel {
    /// A kernel for f32 in this crate's own Rust, for every machine.
    pub const fn rust(run: &'static KernelFn) -> Kernel {
        Kernel {
            run,
            dtypes: &[DTypeTuple { operands: &[], results: &[] }],
            propagation: Propagation::Forward,
            isa: Isa::Baseline,
            reads_quantization: false,
            engine: Engine::Rust,
            preferred: None,
        }
    }

    /// Runs the kernel on checked arguments. Host frameworks call this. `None` if the kernel does not take the arguments, or not
    /// run on this machine: the caller then asks the op's next kernel for this key. If there is none, [`Op::declined`] makes the
    /// error.
    ///
    /// # Errors
    /// `ForkedProcess`, `StackTooSmall`; `UnsupportedDType` or `DTypeMismatch` for operands of a dtype that the kernel does not
    /// take, `RankMismatch` for operands of a rank that the schema does not allow; the op's own errors.
    pub fn call(&self, args: &Args<'_>) -> Result<Option<Outputs>> {
        threads::enter(args.op())?;
        if !self.isa.is_here() {
            return Ok(None);
        }
        if !self.takes(args) {
            return Err(refused(args, std::iter::once(self)));
        }
        args.check_ranks()?;
        let mut results = Results::new(args.schema);
        Ok(self.run(args, &mut results)?.then(|| results.outputs()))
    }

    /// Runs the kernel on operands whose dtypes it takes. `false` where it declined.
    fn run(&self, args: &Args<'_>, results: &mut Results<'_>) -> Result<bool> {
        match (self.run)(args, results) {
            Ok(()) | Err(Stop::Described) => Ok(true),
            Err(Stop::Declined) => Ok(false),
            Err(Stop::Failed(e)) => Err(e),
        }
    }

    /// The same kernel for other dtypes: one tuple for each combination that it takes.
    pub const fn with_dtypes(self, dtypes: &'static [DTypeTuple]) -> Kernel {
        Kernel { dtypes, ..self }
    }

    /// The same kernel, which needs these instructions.
    pub const fn with_isa(self, isa: Isa) -> Kernel {
        Kernel { isa, ..self }
    }

    /// The same kernel, which reads the scales and zero points of its operands.
    pub const fn reading_quantization(self) -> Kernel {
        Kernel { reads_quantization: true, ..self }
    }

    /// The same kernel with its preferred formats, for planners of layouts.
    pub const fn with_preferred(self, preferred: &'static PreferredFn) -> Kernel {
        Kernel { preferred: Some(preferred), ..self }
    }

    /// The same kernel with another engine.
    pub const fn with_engine(self, engine: Engine) -> Kernel {
        Kernel { engine, ..self }
    }

    /// A list of this kernel alone, for strided tensors.
    pub(crate) const fn on_strided(self) -> [Implementation; 1] {
        [(DispatchKey::STRIDED, self)]
    }

    /// A list of this kernel alone, for both strided and blocked tensors.
    pub(crate) const fn on_both(self) -> [Implementation; 2] {
        [(DispatchKey::STRIDED, self), (DispatchKey::BLOCKED, self)]
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({}, {:?})", self.engine, self.dtypes)
    }
}

/// A kernel and the key that it is for.
pub(crate) type Implementation = (DispatchKey, Kernel);

/// An op with its list of implementations. This crate's ops are statics; those of other crates are leaked on the heap.
pub struct Op {
    pub(crate) schema: &'static Schema,
    /// This crate's own implementations, which are the first of the list.
    pub(crate) own: &'static [Implementation],
    /// The first one that another crate registered.
    added: Next,
}

type Next = OnceLock<Box<Added>>;

/// A registered implementation, and the one that follows it.
struct Added {
    implementation: Implementation,
    next: Next,
}

impl Op {
    /// An op without kernels.
    pub const fn new(schema: &'static Schema) -> Op {
        Op { schema, own: &[], added: OnceLock::new() }
    }

    /// The same op with this list.
    pub(crate) const fn with(mut self, own: &'static [Implementation]) -> Op {
        self.own = own;
        self
    }

    /// The op's signature.
    pub fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// All implementations in the order in which calls ask them: this crate's first, then in order of registration.
    pub fn implementations(&self) -> impl Iterator<Item = (DispatchKey, &Kernel)> {
        let added = std::iter::successors(self.added.get(), |added| added.next.get());
        self.own.iter().chain(added.map(|added| &added.implementation)).map(|(key, kernel)| (*key, kernel))
    }

    /// The kernels that a call under a key asks, in their order: those of the list that run on this machine.
    pub fn kernels(&self, key: DispatchKey) -> impl Iterator<Item = &Kernel> {
        let asked = move |of: DispatchKey, kernel: &Kernel| {
            of == key && kernel.propagation == Propagation::Forward && kernel.isa.is_here()
        };
        self.implementations().filter_map(move |(of, kernel)| asked(of, kernel).then_some(kernel))
    }

    /// The first kernel of a key.
    pub fn kernel(&self, key: DispatchKey) -> Option<&Kernel> {
        self.kernels(key).next()
    }

    /// The tensors of a call in the formats that the first kernel which takes them prefers, or the key's first kernel; `None`
    /// if there is none. A kernel that states no formats gets the default: strided tensors as they are, or row-major if they come
    /// from another key; blocked tensors in the machine's native layout.
    pub(crate) fn preferred(
        &self,
        key: DispatchKey,
        values: &[Arg<'_>],
        inputs: &[TensorDesc],
    ) -> Result<Option<Vec<TensorDesc>>> {
        let args = Args::unchecked(self.schema, values).about(inputs);
        let taking = self.kernels(key).find(|kernel| kernel.takes(&args)).or_else(|| self.kernel(key));
        let wanted = |kernel: &Kernel| match kernel.preferred {
            Some(preferred) => preferred(self.schema, key, values, inputs),
            None => crate::op::preferred::usual(self.schema, key, values, inputs),
        };
        taking.map(wanted).transpose()
    }

    /// Appends to the list. The caller holds the registry's lock.
    pub(crate) fn add(&self, implementation: Implementation) {
        let mut end = &self.added;
        while let Some(added) = end.get() {
            end = &added.next;
        }
        let _ = end.set(Box::new(Added { implementation, next: OnceLock::new() }));
    }

    /// The keys for which the op has a kernel.
    pub fn keys(&self) -> Vec<DispatchKey> {
        DispatchKey::all().into_iter().filter(|&k| self.kernel(k).is_some()).collect()
    }

    /// Resolves and runs a call: checks the arguments against the schema, then asks the key's kernels in order. The first
    /// kernel that takes the operands makes the results.
    #[track_caller]
    pub(crate) fn call(&'static self, values: &[Arg<'_>]) -> Result<Outputs> {
        threads::enter(self.schema.name)?;
        let args = Args::new(self, values)?;
        let mut results = Results::new(self.schema);
        if !self.run(&args, &mut results)? {
            return self.missing(&args);
        }
        let outputs = results.outputs();
        if args.key() == DispatchKey::BLOCKED {
            outputs.check_tails()?;
        }
        if args.key() == DispatchKey::STRIDED && ledger::is_recording() {
            outputs.note_layout_changes(&args);
        }
        Ok(outputs)
    }

    /// As [`call`](Self::call), but writes into the caller's tensors. It never falls back: a caller who provides the results
    /// has planned their formats.
    #[track_caller]
    pub(crate) fn call_into(
        &'static self,
        values: &[Arg<'_>],
        into: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        threads::enter(self.schema.name)?;
        let args = Args::new(self, values)?;
        let mut results = Results::into_tensors(self.schema, into).with_scratchpad(scratchpad);
        if !self.run(&args, &mut results)? {
            return Err(self.declined(&args));
        }
        results.check_tails()
    }

    /// Describes the results without computing them. The second value is the size of the scratchpad in **bytes**; it is 0
    /// unless `with_scratchpad`. `inputs` describes the tensors of the call.
    #[track_caller]
    pub(crate) fn described(
        &'static self,
        values: &[Arg<'_>],
        inputs: &[TensorDesc],
        with_scratchpad: bool,
    ) -> Result<(Vec<TensorDesc>, usize)> {
        threads::enter(self.schema.name)?;
        let args = Args::new(self, values)?.about(inputs);
        let mut results = Results::description(self.schema, with_scratchpad);
        if !self.run(&args, &mut results)? {
            return Err(self.declined(&args));
        }
        Ok(results.described())
    }

    /// Runs the first kernel that takes the operands, makes results of the dtypes of the caller's tensors, and does not decline.
    /// The schema's rules for ranks are checked before the first kernel is asked. `false` where there is none.
    fn run(&self, args: &Args<'_>, results: &mut Results<'_>) -> Result<bool> {
        let (mut exists, mut asked, mut makes_others) = (false, false, None);
        for kernel in self.kernels(args.key()) {
            exists = true;
            if !kernel.takes(args) {
                continue;
            }
            if !kernel.makes(args, results.given()) {
                makes_others = makes_others.or(Some(kernel));
                continue;
            }
            if !asked {
                args.check_ranks()?;
                asked = true;
            }
            if kernel.run(args, results)? {
                return Ok(true);
            }
        }
        match makes_others {
            // Its error says what it makes.
            Some(kernel) if !asked => {
                args.check_ranks()?;
                kernel.run(args, results)
            }
            None if exists && !asked => Err(refused(args, self.kernels(args.key()))),
            _ => Ok(false),
        }
    }

    /// As `call`, for typed functions: tensors, then parameters. Returns one result of the operands' type.
    #[track_caller]
    pub(crate) fn call_with<T: Operand>(
        &'static self,
        tensors: &[Arg<'_>],
        params: &impl Params,
    ) -> Result<T> {
        let mut args = ArgList::new();
        tensors.iter().for_each(|&t| args.push(t));
        params.push_args(&mut args);
        self.call_one(args.as_slice())
    }

    /// As [`call_with`](Self::call_with), for ops with several results.
    #[track_caller]
    pub(crate) fn call_many_with<T: Operand>(
        &'static self,
        tensors: &[Arg<'_>],
        params: &impl Params,
    ) -> Result<Vec<T>> {
        let mut args = ArgList::new();
        tensors.iter().for_each(|&t| args.push(t));
        params.push_args(&mut args);
        self.call_many(args.as_slice())
    }

    /// As `call`, for typed functions: returns one result of the operands' type.
    #[track_caller]
    pub(crate) fn call_one<T: Operand>(&'static self, values: &[Arg<'_>]) -> Result<T> {
        match self.call(values)? {
            Outputs::One(t) => self.typed(t),
            Outputs::Many(mut list) if list.len() == 1 => self.typed(list.remove(0)),
            Outputs::Many(list) => Err(self.wrong_result(&format!("{} results", list.len()))),
        }
    }

    /// As `call`, for typed functions with several results.
    #[track_caller]
    pub(crate) fn call_many<T: Operand>(&'static self, values: &[Arg<'_>]) -> Result<Vec<T>> {
        self.call(values)?.into_vec().into_iter().map(|t| self.typed(t)).collect()
    }

    fn typed<T: Operand>(&self, tensor: Tensor) -> Result<T> {
        T::from_tensor(tensor).map_err(|t| self.wrong_result(&t.tensor_ref().describe()))
    }

    fn wrong_result(&self, got: &str) -> Error {
        Error::KeyMismatch(Complaint::new(
            self.schema.name,
            "result",
            got,
            "the kernel's result has another type than its operands",
            "fix the kernel, or call the op by name",
        ))
    }

    /// Resolves a call whose key has no kernel, for a host's own dispatcher. If [`allow_fallback`](crate::dispatch::allow_fallback)
    /// allows it, the fallback runs. Otherwise the error names the operands, the keys that have a kernel, and the call that
    /// reorders to such a key.
    ///
    /// # Errors
    /// `UnsupportedOp`; the op's own errors if it falls back.
    pub fn missing(&'static self, args: &Args<'_>) -> Result<Outputs> {
        match fallback::attempt(self, args.key(), args.values(), args.location()) {
            Some(result) => result,
            None => Err(self.declined(args)),
        }
    }

    /// The error of a call that no kernel of its key takes.
    pub fn declined(&self, args: &Args<'_>) -> Error {
        self.unsupported(args.key(), Unsupported::NoKernel, args.values(), None)
    }

    /// The error of a call that cannot run, with its reason.
    pub(crate) fn unsupported(
        &self,
        key: DispatchKey,
        reason: Unsupported,
        values: &[Arg<'_>],
        remedy: Option<String>,
    ) -> Error {
        let operands =
            data_operands(self.schema, values).map(|(n, t)| format!("{n} {}", t.describe())).collect();
        let available: Vec<DispatchKey> = self.keys();
        let rank = data_operands(self.schema, values).next().map_or(4, |(_, t)| t.dims().len());
        let remedy = remedy.unwrap_or_else(|| remedy_for(key, &available, rank));
        Error::UnsupportedOp(Box::new(UnsupportedOp {
            op: self.schema.name.into(),
            key: key.name().into(),
            reason,
            operands,
            available: available.iter().map(|k| k.name().to_string()).collect(),
            remedy,
        }))
    }
}

/// The call that reorders from `key` to a key that has a kernel.
fn remedy_for(key: DispatchKey, available: &[DispatchKey], rank: usize) -> String {
    let strided = available.contains(&DispatchKey::STRIDED);
    match available.iter().find(|&&k| k != key) {
        Some(_) if key != DispatchKey::STRIDED && strided => {
            format!(
                "reorder with `{}` and call it there; a result that suits `{key}` comes back with `{}`",
                key.spec().to_strided,
                key.spec().from_strided
            )
        }
        Some(other) if key == DispatchKey::STRIDED => {
            format!("reorder with `{}` and call it there", other.way_in("", rank))
        }
        Some(other) => format!(
            "reorder with `{}`, then `{}`, and call it there",
            key.spec().to_strided,
            other.way_in("", rank)
        ),
        None => "register a kernel for it".into(),
    }
}
