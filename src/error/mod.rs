//! Every error that a user can meet, and its text.
//!
//! Bad input is refused before any kernel or engine sees it. The message names the op, the argument, the value that was
//! passed, the rule, and last the remedy. Operands are left unchanged.

mod call;
mod cause;
mod text;

use std::borrow::Cow;
use std::fmt::{self, Write};

pub use call::Call;
pub use cause::Cause;
pub use text::{Door, Rust, Text, counted};

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was wrong with one argument of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The operator or function that was called.
    pub op: Cow<'static, str>,
    /// The argument at fault.
    pub argument: Cow<'static, str>,
    /// The value that was passed.
    pub got: String,
    /// The rule that it breaks.
    pub rule: Text,
    /// What to do instead.
    pub remedy: Text,
}

impl Complaint {
    /// A boxed complaint, ready for a variant of [`Error`].
    pub fn new(
        op: impl Into<Cow<'static, str>>,
        argument: impl Into<Cow<'static, str>>,
        got: impl Into<String>,
        rule: impl Into<Text>,
        remedy: impl Into<Text>,
    ) -> Box<Complaint> {
        Box::new(Complaint {
            op: on_one_line(op.into()),
            argument: on_one_line(argument.into()),
            got: got.into(),
            rule: rule.into(),
            remedy: remedy.into(),
        })
    }
}

impl Complaint {
    fn tell(&self, to: &mut dyn Write, door: &dyn Door) -> fmt::Result {
        let Complaint { op, argument, got, rule, remedy } = self;
        let (op, argument) = (door.op(op), door.argument(op, argument));
        let (rule, remedy) = (rule.told(door), remedy.told(door));
        write!(to, "op `{op}`: argument `{argument}`: got {got}, but {rule}; {remedy}")
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f, &Rust)
    }
}

/// A name as errors show it. Names come from callers, who may write anything.
fn on_one_line(name: Cow<'static, str>) -> Cow<'static, str> {
    if name.chars().any(char::is_control) { name.escape_debug().to_string().into() } else { name }
}

/// Why a call of an op cannot run. A closed list, so that tests can match on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// No kernel is registered for this op under this key.
    NoKernel,
    /// No gradient is registered for this op under this key.
    NoGradient,
    /// The engine has only a reference implementation for this configuration, which is hundreds of times slower.
    RefOnly {
        /// The implementation's name, as the engine gives it.
        implementation: String,
    },
    /// The engine has no implementation for this configuration. The engine may return the same status if an allocation
    /// failed.
    NoImplementation,
    /// The op has a kernel for this key, but none for this layout.
    Layout {
        /// The layout's name.
        layout: String,
    },
    /// The kernel needs the oneDNN engine, which this build leaves out.
    EngineNotBuilt,
}

/// The details of [`Error::UnsupportedOp`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedOp {
    /// The op.
    pub op: Cow<'static, str>,
    /// The dispatch key of its data operands.
    pub key: String,
    /// The reason.
    pub reason: Unsupported,
    /// `shape dtype layout` of each data operand.
    pub operands: Vec<String>,
    /// The keys for which this op has a kernel, or a gradient if that is missing.
    pub available: Vec<String>,
    /// The call that makes it work.
    pub remedy: Text,
}

impl UnsupportedOp {
    fn tell(&self, f: &mut dyn Write, door: &dyn Door) -> fmt::Result {
        let UnsupportedOp { op, key, reason, operands, available, remedy } = self;
        let (op, remedy) = (door.op(op), remedy.told(door));
        match reason {
            Unsupported::NoKernel => write!(f, "op `{op}` has no kernel for dispatch key `{key}`")?,
            Unsupported::NoGradient => write!(f, "op `{op}` has no gradient for dispatch key `{key}`")?,
            Unsupported::RefOnly { implementation } => write!(
                f,
                "op `{op}` on dispatch key `{key}` would run the engine's reference implementation \
                 (`{implementation}`), which is hundreds of times slower"
            )?,
            Unsupported::NoImplementation => write!(
                f,
                "op `{op}` on dispatch key `{key}`: the engine has no implementation for this configuration \
                 (status unimplemented; possibly an allocation failure)"
            )?,
            Unsupported::Layout { layout } => {
                write!(f, "op `{op}` on dispatch key `{key}` has no kernel for layout `{layout}`")?
            }
            Unsupported::EngineNotBuilt => {
                write!(f, "op `{op}` on dispatch key `{key}` runs on oneDNN, which this build leaves out")?
            }
        }
        let none = "none";
        let available = if available.is_empty() { none.to_string() } else { available.join(", ") };
        let what = if *reason == Unsupported::NoGradient { "gradient" } else { "kernel" };
        write!(f, " (operands: {}; keys with a {what}: {available}); {remedy}", operands.join(", "))
    }
}

impl fmt::Display for UnsupportedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f, &Rust)
    }
}

/// The details of [`Error::ReorderDenied`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReorderDenied {
    /// The op or call that would have moved data between layouts.
    pub op: Cow<'static, str>,
    /// Layout of the source.
    pub from: String,
    /// Layout of the result.
    pub to: String,
    /// Logical shape.
    pub shape: String,
    /// **Bytes** that would have been written.
    pub bytes: usize,
    /// Why it would have been reordered.
    pub cause: Cause,
    /// The place of the call: `file:line:column`.
    pub location: String,
    /// What forbids the reorder: a `deny_reorders` scope, or an exhausted budget.
    pub rule: Text,
}

impl ReorderDenied {
    fn tell(&self, to: &mut dyn Write, door: &dyn Door) -> fmt::Result {
        let ReorderDenied { op, from, to: into, shape, bytes, cause, location, rule } = self;
        let (op, rule, remedy) = (door.op(op), rule.told(door), cause.remedy(into).told(door));
        write!(
            to,
            "op `{op}`: reorder of {shape} from {from} to {into} ({bytes} bytes; {cause}) at {location}: {rule}; {remedy}"
        )
    }
}

/// Every error, by kind. Most carry a [`Complaint`]: op, argument, what was passed, rule and remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The op cannot run for the key of its operands, or only so slowly that it is refused.
    UnsupportedOp(Box<UnsupportedOp>),
    /// Data operands of different dispatch keys.
    KeyMismatch(Box<Complaint>),
    /// The right key, but a layout that does not fit the other operands or the kernel.
    LayoutMismatch(Box<Complaint>),
    /// The kernel does not take this dtype.
    UnsupportedDType(Box<Complaint>),
    /// Operands whose dtypes must agree and do not.
    DTypeMismatch(Box<Complaint>),
    /// A tensor of the wrong rank.
    RankMismatch(Box<Complaint>),
    /// Sizes that do not match.
    ShapeMismatch(Box<Complaint>),
    /// A parameter outside its range.
    InvalidArgument(Box<Complaint>),
    /// A size that overflows the machine's integers.
    Overflow(Box<Complaint>),
    /// Strides or an offset that reach past the storage.
    OutOfBounds(Box<Complaint>),
    /// Strides that the op does not take, or a view that strides cannot express.
    UnsupportedStride(Box<Complaint>),
    /// A result whose elements share memory with each other.
    OverlappingOutput(Box<Complaint>),
    /// A result whose storage another tensor shares.
    Aliasing(Box<Complaint>),
    /// Strides, a pointer or a view were asked of an opaque tensor, which has none.
    OpaqueLayout(Box<Complaint>),
    /// Packed weights used with a source, dtype or layout that they were not packed for.
    PackMismatch(Box<Complaint>),
    /// A reorder inside a scope that forbids it.
    ReorderDenied(Box<ReorderDenied>),
    /// A registration that clashes with an existing one, or names a key or op that does not exist.
    Registration(Box<Complaint>),
    /// Data whose address is not a multiple of its element's size.
    Misaligned(Box<Complaint>),
    /// A DLPack tensor of a device or type that this crate does not support.
    DlpackUnsupported(Box<Complaint>),
    /// A DLPack tensor of another major version.
    DlpackVersion(Box<Complaint>),
    /// A null pointer where the C interface needs an address or a handle.
    NullPointer(Box<Complaint>),
    /// A handle of the C interface that was freed, has another kind, or never existed.
    InvalidHandle(Box<Complaint>),
    /// A caller of the C interface that was compiled against another version of it.
    AbiMismatch(Box<Complaint>),
    /// A panic that was caught at the C interface.
    Panicked(Box<Complaint>),
    /// A call in a forked child of a process that had used this library.
    ForkedProcess(Box<Complaint>),
    /// A call on a thread with less stack left than [`MIN_STACK`](crate::MIN_STACK).
    StackTooSmall(Box<Complaint>),
    /// A file that cannot be opened, mapped or written.
    FileAccess(Box<Complaint>),
    /// A file whose content is inconsistent.
    CorruptFile(Box<Complaint>),
    /// Memory could not be allocated.
    OutOfMemory {
        /// **Bytes** requested; 0 if the engine does not say.
        bytes: usize,
        /// The call or the thing that requested them.
        call: &'static str,
        /// The op whose kernel asked for it, if any did.
        op: Option<&'static str>,
    },
    /// The engine failed with a status that no check foresaw.
    Backend {
        /// The C function.
        call: &'static str,
        /// Its raw status.
        status: i32,
        /// The status by name.
        name: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f, &Rust)
    }
}

impl std::error::Error for Error {}

fn amount(bytes: usize) -> String {
    if bytes == 0 { "an unknown number of bytes".into() } else { format!("{bytes} bytes") }
}

impl Error {
    /// No memory for something, outside ops or in a kernel that does not know for which op it works.
    pub(crate) fn out_of_memory(bytes: usize, call: &'static str) -> Error {
        Error::OutOfMemory { bytes, call, op: None }
    }

    /// The error of a kernel of an op: it names the op, also where the kernel had no memory for a result, or another op that it calls
    /// has none.
    pub(crate) fn in_op(mut self, name: &'static str) -> Error {
        if let Error::OutOfMemory { op, .. } = &mut self {
            *op = Some(name);
        }
        self
    }

    /// The complaint, if the error is about one argument.
    pub fn complaint(&self) -> Option<&Complaint> {
        match self {
            Error::KeyMismatch(c)
            | Error::LayoutMismatch(c)
            | Error::UnsupportedDType(c)
            | Error::DTypeMismatch(c)
            | Error::RankMismatch(c)
            | Error::ShapeMismatch(c)
            | Error::InvalidArgument(c)
            | Error::Overflow(c)
            | Error::OutOfBounds(c)
            | Error::UnsupportedStride(c)
            | Error::OverlappingOutput(c)
            | Error::Aliasing(c)
            | Error::OpaqueLayout(c)
            | Error::PackMismatch(c)
            | Error::Registration(c)
            | Error::NullPointer(c)
            | Error::InvalidHandle(c)
            | Error::AbiMismatch(c)
            | Error::Panicked(c)
            | Error::ForkedProcess(c)
            | Error::StackTooSmall(c)
            | Error::Misaligned(c)
            | Error::DlpackUnsupported(c)
            | Error::DlpackVersion(c)
            | Error::FileAccess(c)
            | Error::CorruptFile(c) => Some(c),
            Error::UnsupportedOp(_)
            | Error::ReorderDenied(_)
            | Error::OutOfMemory { .. }
            | Error::Backend { .. } => None,
        }
    }

    fn tell(&self, to: &mut dyn Write, door: &dyn Door) -> fmt::Result {
        match self {
            Error::UnsupportedOp(u) => u.tell(to, door),
            Error::ReorderDenied(r) => r.tell(to, door),
            Error::OutOfMemory { bytes, call, op } => {
                if let Some(op) = op.filter(|op| op != call) {
                    write!(to, "op `{}`: ", door.op(op))?;
                }
                let (amount, call) = (amount(*bytes), door.op(call));
                write!(
                    to,
                    "out of memory: {amount} for `{call}`; free some (drop tensors, plans or models), or let this process have more"
                )
            }
            Error::Backend { call, status, name } => write!(
                to,
                "oneDNN's `{call}` failed with status {status} ({name}); please report this with the call that led to it"
            ),
            other => other.complaint().map_or(Ok(()), |c| c.tell(to, door)),
        }
    }

    /// The text of the error with the names of a door.
    ///
    /// ```
    /// use blocktensor::{Call, Door, Layout, MemoryFormat, StridedTensor, ops};
    ///
    /// struct Lisp;
    ///
    /// impl Door for Lisp {
    ///     fn call(&self, call: &Call) -> String {
    ///         match call {
    ///             Call::ToStrided => "(to-strided x)".into(),
    ///             other => other.to_string(),
    ///         }
    ///     }
    /// }
    ///
    /// let x = StridedTensor::full(&[1, 32, 4, 4], 1f32, MemoryFormat::Contiguous)?.to_blocked(&Layout::native().0)?;
    /// let error = ops::cumsum(&x, 1).unwrap_err();
    /// assert!(error.to_string().contains("`to_strided(MemoryFormat::Contiguous)`"));
    /// assert!(error.told(&Lisp).contains("`(to-strided x)`"));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn told(&self, door: &dyn Door) -> String {
        let mut text = String::new();
        // Strings take everything.
        let _ = self.tell(&mut text, door);
        text
    }

    /// A number for the kind of error, the same in every version. The C interface returns it.
    pub fn code(&self) -> i32 {
        match self {
            Error::UnsupportedOp(_) => 1,
            Error::KeyMismatch(_) => 2,
            Error::LayoutMismatch(_) => 3,
            Error::UnsupportedDType(_) => 4,
            Error::DTypeMismatch(_) => 5,
            Error::RankMismatch(_) => 6,
            Error::ShapeMismatch(_) => 7,
            Error::InvalidArgument(_) => 8,
            Error::Overflow(_) => 9,
            Error::OutOfBounds(_) => 10,
            Error::UnsupportedStride(_) => 11,
            Error::OverlappingOutput(_) => 12,
            Error::Aliasing(_) => 13,
            Error::OpaqueLayout(_) => 14,
            Error::PackMismatch(_) => 15,
            Error::ReorderDenied(_) => 16,
            Error::Registration(_) => 17,
            Error::CorruptFile(_) => 18,
            Error::FileAccess(_) => 19,
            Error::OutOfMemory { .. } => 20,
            Error::Backend { .. } => 21,
            Error::Misaligned(_) => 22,
            Error::DlpackUnsupported(_) => 23,
            Error::DlpackVersion(_) => 24,
            Error::NullPointer(_) => 25,
            Error::InvalidHandle(_) => 26,
            Error::AbiMismatch(_) => 27,
            Error::Panicked(_) => 28,
            Error::ForkedProcess(_) => 29,
            Error::StackTooSmall(_) => 30,
        }
    }

    /// The same error, renamed to the call that the user made: the error was raised by a call inside it.
    pub fn in_call(self, op: &'static str, argument: &'static str) -> Error {
        let rename =
            |c: Box<Complaint>| Box::new(Complaint { op: op.into(), argument: argument.into(), ..*c });
        match self {
            Error::RankMismatch(c) => Error::RankMismatch(rename(c)),
            Error::InvalidArgument(c) => Error::InvalidArgument(rename(c)),
            Error::UnsupportedDType(c) => Error::UnsupportedDType(rename(c)),
            Error::Overflow(c) => Error::Overflow(rename(c)),
            Error::CorruptFile(c) => Error::CorruptFile(rename(c)),
            Error::PackMismatch(c) => Error::PackMismatch(rename(c)),
            other => other,
        }
    }

    /// The same error of another op.
    pub(crate) fn of_op(self, op: &'static str) -> Error {
        match self {
            Error::InvalidArgument(c) => Error::InvalidArgument(Box::new(Complaint { op: op.into(), ..*c })),
            Error::RankMismatch(c) => Error::RankMismatch(Box::new(Complaint { op: op.into(), ..*c })),
            other => other,
        }
    }

    /// What to do instead: the last part of the text. Empty where the text has none of its own.
    pub fn remedy(&self) -> Text {
        match self {
            Error::UnsupportedOp(u) => u.remedy.clone(),
            Error::ReorderDenied(r) => r.cause.remedy(&r.to),
            other => other.complaint().map(|c| c.remedy.clone()).unwrap_or_default(),
        }
    }

    /// The op that was called, if the error knows it.
    pub fn op(&self) -> Option<&str> {
        match self {
            Error::UnsupportedOp(u) => Some(&u.op),
            Error::ReorderDenied(r) => Some(&r.op),
            Error::OutOfMemory { op, .. } => *op,
            other => other.complaint().map(|c| &*c.op),
        }
    }
}

/// Returns the named variant with a [`Complaint`] from the enclosing function, whose error type is made from an [`Error`]:
/// `fail!(ShapeMismatch, op, "bias", got, rule, remedy)`.
macro_rules! fail {
    ($variant:ident, $op:expr, $argument:expr, $got:expr, $rule:expr, $remedy:expr $(,)?) => {
        return Err(From::from($crate::error::Error::$variant($crate::error::Complaint::new(
            $op, $argument, $got, $rule, $remedy,
        ))))
    };
}
pub(crate) use fail;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_stays_small_enough_to_return() {
        assert!(std::mem::size_of::<Error>() <= 48, "{}", std::mem::size_of::<Error>());
    }

    #[test]
    fn a_complaint_reads_as_a_sentence_with_the_remedy_last() {
        let e =
            Error::ShapeMismatch(Complaint::new("conv2d", "bias", "[3]", "it must have 4 values", "pass 4"));
        assert_eq!(e.to_string(), "op `conv2d`: argument `bias`: got [3], but it must have 4 values; pass 4");
        assert_eq!((e.op(), &*e.remedy()), (Some("conv2d"), "pass 4"));
        let e = Complaint::new("a\nb".to_string(), "c\0d".to_string(), "1", "2", "3").to_string();
        assert_eq!(e, "op `a\\nb`: argument `c\\0d`: got 1, but 2; 3");
        // What has no memory may be a list of a model as well as a tensor.
        let e = Error::out_of_memory(3 << 30, "the nodes of a model");
        assert!(e.op().is_none(), "{e}");
        let rest = "out of memory: 3221225472 bytes for `the nodes of a model`; free some (drop tensors, plans or models), \
                    or let this process have more";
        assert_eq!(e.to_string(), rest);
        let e = e.in_op("sum").in_op("conv2d");
        assert_eq!(e.op(), Some("conv2d"));
        assert_eq!(e.to_string(), format!("op `conv2d`: {rest}"));
    }
}
