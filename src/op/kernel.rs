//! Kernels: an op's code, and what it states about the calls that it takes.

use crate::error::{Error, Result};
use crate::key::DispatchKey;
use crate::op::args::{Arg, Args};
use crate::op::call::{Implementation, Outputs};
use crate::op::gradient::GradientFn;
use crate::op::lookup::{DTypeTuple, refused};
use crate::op::results::{KernelResult, Results, Stop};
use crate::op::schema::Schema;
use crate::simd::Isa;
use crate::tensor::desc::TensorDesc;
use crate::threads;

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

/// What an implementation computes of an op, as oneDNN's propagation kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Propagation {
    /// The results from the operands. Calls ask for it.
    Forward,
    /// The gradients of the operands from those of the results. [`Op::backward`](crate::op::Op::backward) asks for it.
    Backward,
}

/// The function behind a kernel. It decides the propagation.
#[derive(Clone, Copy)]
enum Code {
    Forward(&'static KernelFn),
    Backward(&'static GradientFn),
}

/// What a gradient reads of the forward call, beside sizes, dtypes and layouts. A tape keeps that alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reads {
    /// The operands and the results.
    Everything,
    /// The operands alone.
    Operands,
    /// The results alone.
    Results,
    /// Neither.
    Nothing,
}

impl Reads {
    /// Whether it reads the operands.
    pub(crate) const fn operands(self) -> bool {
        matches!(self, Reads::Everything | Reads::Operands)
    }

    /// Whether it reads the results.
    pub(crate) const fn results(self) -> bool {
        matches!(self, Reads::Everything | Reads::Results)
    }
}

/// An op's code for one key.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// The function. A kernel is registered once and stays for the life of the process.
    code: Code,
    /// What dtypes operands and results may have together. A call takes one of these.
    pub dtypes: &'static [DTypeTuple],
    /// The instructions that it cannot run without. On other machines calls do not see it.
    pub isa: Isa,
    /// Whether it reads scales and zero points. Otherwise quantised operands are refused.
    pub reads_quantization: bool,
    /// Whether it copies a strided operand that is not dense in a memory format, or reads it more slowly. A planner does better to
    /// reorder it once, for all who read it.
    pub needs_dense: bool,
    /// Of a gradient: what it reads of the forward call.
    pub reads: Reads,
    /// Of a gradient: whether it refuses post-ops, as a fused call does not keep what their gradients read.
    pub(super) refuses_post_ops: bool,
    /// Who implements it.
    pub engine: Engine,
    pub(super) preferred: Option<&'static PreferredFn>,
}

/// States which formats a kernel prefers. It gets the op's schema, the kernel's key, the arguments of a call, and the
/// descriptors of their tensors; it returns those descriptors in the formats that the kernel prefers. The tensors may be of
/// another key.
pub type PreferredFn =
    dyn Fn(&'static Schema, DispatchKey, &[Arg<'_>], &[TensorDesc]) -> Result<Vec<TensorDesc>> + Send + Sync;

impl Kernel {
    /// A kernel for f32 in this crate's own Rust, for every machine.
    pub const fn rust(run: &'static KernelFn) -> Kernel {
        Kernel::of(Code::Forward(run))
    }

    /// The gradient of an op, for f32, in Rust, for every machine. It stands in the op's list beside the kernels that compute
    /// results.
    pub const fn gradient(run: &'static GradientFn) -> Kernel {
        Kernel::of(Code::Backward(run))
    }

    const fn of(code: Code) -> Kernel {
        Kernel {
            code,
            dtypes: &[DTypeTuple { operands: &[], results: &[] }],
            isa: Isa::Baseline,
            reads_quantization: false,
            needs_dense: false,
            reads: Reads::Everything,
            refuses_post_ops: false,
            engine: Engine::Rust,
            preferred: None,
        }
    }

    /// What it computes.
    pub const fn propagation(&self) -> Propagation {
        match self.code {
            Code::Forward(_) => Propagation::Forward,
            Code::Backward(_) => Propagation::Backward,
        }
    }

    /// The function of a gradient.
    pub(super) fn gradient_fn(&self) -> Option<&'static GradientFn> {
        match self.code {
            Code::Forward(_) => None,
            Code::Backward(run) => Some(run),
        }
    }

    /// Runs the kernel on checked arguments. Host frameworks call this. `None` if the kernel does not take the arguments, not run
    /// on this machine, or is a gradient: the caller then asks the op's next kernel for this key. If there is none,
    /// [`Op::declined`](crate::op::Op::declined) makes the error.
    ///
    /// # Errors
    /// `ForkedProcess`, `StackTooSmall`; `UnsupportedDType` or `DTypeMismatch` for operands of a dtype that the kernel does not
    /// take, `RankMismatch` for operands of a rank that the schema does not allow; the op's own errors.
    pub fn call(&self, args: &Args<'_>) -> Result<Option<Outputs>> {
        threads::enter(args.op())?;
        if !self.isa.is_here() || self.propagation() != Propagation::Forward {
            return Ok(None);
        }
        if !self.takes(args) {
            return Err(refused(args, self.propagation(), std::iter::once(self)));
        }
        args.check_ranks()?;
        let mut results = Results::new(args.schema);
        Ok(self.run(args, &mut results)?.then(|| results.outputs()))
    }

    /// Runs the kernel on operands whose dtypes it takes. `false` where it declined.
    pub(super) fn run(&self, args: &Args<'_>, results: &mut Results<'_>) -> Result<bool> {
        let Code::Forward(run) = self.code else { return Ok(false) };
        match run(args, results) {
            Ok(()) | Err(Stop::Described) => Ok(true),
            Err(Stop::Declined) => Ok(false),
            Err(Stop::Failed(e)) => Err(about_result(e, args.schema).in_op(args.op())),
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

    /// The same kernel, which copies a strided operand that is not dense in a memory format, or reads it more slowly.
    pub const fn needing_dense(self) -> Kernel {
        Kernel { needs_dense: true, ..self }
    }

    /// The same gradient, which reads no more of the forward call than this. A tensor that it does not read may have no elements then.
    pub const fn reading(self, reads: Reads) -> Kernel {
        Kernel { reads, ..self }
    }

    /// The same gradient, which refuses calls with post-ops.
    pub(crate) const fn refusing_post_ops(self) -> Kernel {
        Kernel { refuses_post_ops: true, ..self }
    }

    /// The same kernel with its preferred formats, for planners of layouts.
    pub const fn with_preferred(self, preferred: &'static PreferredFn) -> Kernel {
        Kernel { preferred: Some(preferred), ..self }
    }

    /// The same kernel with another engine.
    pub const fn with_engine(self, engine: Engine) -> Kernel {
        Kernel { engine, ..self }
    }

    /// A list of this kernel alone, for both strided and blocked tensors.
    pub(crate) const fn on_both(self) -> [Implementation; 2] {
        [(DispatchKey::STRIDED, self), (DispatchKey::BLOCKED, self)]
    }

    /// A list of this kernel and its gradient, for strided tensors.
    pub(crate) const fn on_strided_with(self, gradient: &'static GradientFn) -> [Implementation; 2] {
        self.on_strided_beside(Kernel::gradient(gradient))
    }

    /// A list of this kernel and a gradient, for strided tensors.
    pub(crate) const fn on_strided_beside(self, gradient: Kernel) -> [Implementation; 2] {
        [(DispatchKey::STRIDED, self), (DispatchKey::STRIDED, gradient)]
    }

    /// A list of this kernel and its gradient, for both strided and blocked tensors.
    pub(crate) const fn on_both_with(self, gradient: &'static GradientFn) -> [Implementation; 4] {
        self.on_both_reading(Reads::Everything, gradient)
    }

    /// The same, of a gradient that reads no more than this.
    pub(crate) const fn on_both_reading(
        self,
        reads: Reads,
        gradient: &'static GradientFn,
    ) -> [Implementation; 4] {
        let gradient = Kernel::gradient(gradient).reading(reads);
        let [strided, blocked] = self.on_both();
        [strided, blocked, (DispatchKey::STRIDED, gradient), (DispatchKey::BLOCKED, gradient)]
    }
}

/// What makes tensors calls their sizes `dims`. In an op without such an argument they are the sizes of a result.
fn about_result(mut e: Error, schema: &Schema) -> Error {
    if let Error::Overflow(complaint) = &mut e
        && complaint.argument == "dims"
        && schema.args.iter().all(|arg| arg.name != "dims")
    {
        complaint.argument = "result".into();
    }
    e
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({}, {:?}, {:?})", self.engine, self.propagation(), self.dtypes)
    }
}
