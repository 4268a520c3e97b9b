//! One op: its schema, its list of implementations, and how a call is resolved.

use std::sync::OnceLock;

use crate::error::{Complaint, Error, Result, Text, Unsupported, UnsupportedOp};
use crate::key::DispatchKey;
use crate::ledger;
use crate::op::args::{Arg, ArgList, Args, data_operands};
use crate::op::fallback;
use crate::op::kernel::{Kernel, Propagation};
use crate::op::lookup::refused;
use crate::op::params::Params;
use crate::op::results::Results;
use crate::op::schema::Schema;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
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
    fn as_slice(&self) -> &[Tensor] {
        match self {
            Outputs::One(t) => std::slice::from_ref(t),
            Outputs::Many(list) => list,
        }
    }

    /// Checks that the padding lanes of blocked results are zero, if the user switched that check on.
    fn check_tails(&self) -> Result<()> {
        self.as_slice().iter().try_for_each(|t| match t {
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

    /// Notes in the ledger, as soft warnings, results whose memory format differs from the first operand's.
    fn note_layout_changes(&self, args: &Args<'_>) {
        let Some((_, TensorRef::Strided(first))) = args.data_operands().next() else { return };
        let from = first.suggest_memory_format(false);
        for result in self.as_slice() {
            let Tensor::Strided(y) = result else { continue };
            let to = y.suggest_memory_format(false);
            if y.rank() == first.rank() && to != from && !y.is_contiguous(from) {
                ledger::layout_changed(args.op(), (from, to), y.dims(), args.location());
            }
        }
    }
}

impl<T: Into<Tensor>> From<T> for Outputs {
    fn from(t: T) -> Outputs {
        Outputs::One(t.into())
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

    /// Whether other crates registered kernels for this key, which calls ask after this crate's. Nothing tells their versions.
    pub fn is_extended(&self, key: DispatchKey) -> bool {
        let added = std::iter::successors(self.added.get(), |added| added.next.get());
        added.into_iter().any(|added| added.implementation.0 == key)
    }

    /// The kernels that a call under a key asks, in their order: those of the list that run on this machine.
    pub fn kernels(&self, key: DispatchKey) -> impl Iterator<Item = &Kernel> {
        self.asked(key, Propagation::Forward)
    }

    /// The gradients that [`backward`](Self::backward) asks under a key, in their order.
    pub fn gradients(&self, key: DispatchKey) -> impl Iterator<Item = &Kernel> {
        self.asked(key, Propagation::Backward)
    }

    fn asked(&self, key: DispatchKey, propagation: Propagation) -> impl Iterator<Item = &Kernel> {
        let asked = move |of: DispatchKey, kernel: &Kernel| {
            of == key && kernel.propagation() == propagation && kernel.isa.is_here()
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
        let args = Args::unchecked(self.schema, values);
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
    /// unless `with_scratchpad`. The tensors of the call need no elements.
    #[track_caller]
    pub(crate) fn described(
        &'static self,
        values: &[Arg<'_>],
        with_scratchpad: bool,
    ) -> Result<(Vec<TensorDesc>, usize)> {
        threads::enter(self.schema.name)?;
        let args = Args::new(self, values)?;
        let mut results = Results::description(self.schema, with_scratchpad);
        if !self.run(&args, &mut results)? {
            return Err(self.declined(&args));
        }
        Ok(results.described())
    }

    /// Runs the first kernel that takes the operands, makes results of the dtypes of the caller's tensors, and does not decline.
    /// The schema's rules for ranks are checked before the first kernel is asked. `false` where there is none.
    fn run(&self, args: &Args<'_>, results: &mut Results<'_>) -> Result<bool> {
        let (mut exists, mut asked, mut makes_others) = (false, false, false);
        for kernel in self.kernels(args.key()) {
            exists = true;
            if !kernel.takes(args) {
                continue;
            }
            if !kernel.makes(args, results.given()) {
                makes_others = true;
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
        if exists && !asked && !makes_others {
            return Err(refused(args, Propagation::Forward, self.kernels(args.key())));
        }
        if asked {
            return Ok(false);
        }
        // The error of the first that does not decline says what it makes.
        for kernel in self.kernels(args.key()).filter(|kernel| kernel.takes(args)) {
            args.check_ranks()?;
            if kernel.run(args, results)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As `call`, for typed functions: tensors, then parameters. Returns one result of the operands' type.
    #[track_caller]
    pub(crate) fn call_with<T: Operand>(
        &'static self,
        tensors: &[Arg<'_>],
        params: &impl Params,
    ) -> Result<T> {
        self.call_one(ArgList::of(tensors, params).as_slice())
    }

    /// As [`call_with`](Self::call_with), for ops with several results.
    #[track_caller]
    pub(crate) fn call_many_with<T: Operand>(
        &'static self,
        tensors: &[Arg<'_>],
        params: &impl Params,
    ) -> Result<Vec<T>> {
        self.call_many(ArgList::of(tensors, params).as_slice())
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
        remedy: Option<Text>,
    ) -> Error {
        let operands =
            data_operands(self.schema, values).map(|(n, t)| format!("{n} {}", t.describe())).collect();
        let mut available: Vec<DispatchKey> = self.keys();
        if reason == Unsupported::NoGradient {
            available.retain(|key| self.gradients(*key).next().is_some());
        }
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
fn remedy_for(key: DispatchKey, available: &[DispatchKey], rank: usize) -> Text {
    let strided = available.contains(&DispatchKey::STRIDED);
    match available.iter().find(|&&k| k != key) {
        Some(_) if key != DispatchKey::STRIDED && strided => {
            let (out, back) = key.way_out();
            let there = Text::from("reorder with ") + out + " and call it there";
            there + format!("; a result that suits `{key}` comes back with ") + back
        }
        Some(other) if key == DispatchKey::STRIDED => {
            Text::from("reorder with ") + other.way_in(rank) + " and call it there"
        }
        Some(other) => {
            let there = Text::from("reorder with ") + key.way_out().0;
            there + ", then " + other.way_in(rank) + ", and call it there"
        }
        None => "register a kernel for it".into(),
    }
}
