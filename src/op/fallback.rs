//! The fallback for a missing blocked kernel: reorder to strided, run the strided kernel, reorder back. Off by default.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Call, Complaint, Error, Result, Text};
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger;
use crate::op::args::Arg;
use crate::op::call::{Op, Outputs};
use crate::tensor::any::{Tensor, TensorRef};

/// What an op's first fallback cost. A host shows it to its user, once for each op.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FallbackNote {
    /// The op that has no blocked kernel.
    pub op: &'static str,
    /// **Bytes** of tensors that were reordered, in both directions.
    pub bytes: usize,
    /// Time spent in those reorders.
    pub reorders: Duration,
    /// Time of the whole call.
    pub call: Duration,
}

impl std::fmt::Display for FallbackNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FallbackNote { op, bytes, reorders, call } = self;
        write!(
            f,
            "op `{op}` has no blocked kernel and ran on the strided one: {bytes} bytes reordered there and back in \
             {reorders:?} of {call:?}, at every call"
        )
    }
}

type Tell = dyn Fn(&FallbackNote) + Send + Sync;

struct Installed {
    id: usize,
    /// `None` for every op.
    op: Option<String>,
    tell: Arc<Tell>,
    told: BTreeSet<&'static str>,
}

static INSTALLED: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

fn installed() -> std::sync::MutexGuard<'static, Vec<Installed>> {
    INSTALLED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fallback that is on. Dropping it switches the fallback off.
#[derive(Debug)]
#[must_use = "dropping it switches the fallback off"]
pub struct Fallback(usize);

impl Drop for Fallback {
    fn drop(&mut self) {
        let mut all = installed();
        let own = all.iter().position(|i| i.id == self.0).map(|at| all.remove(at));
        // Dropping a `tell` closure may run code that calls ops or drops another `Fallback`: do it outside the lock.
        drop(all);
        drop(own);
    }
}

/// Lets blocked calls of one op, or of every op, that have no blocked kernel run on the strided kernel. Operands are
/// reordered, and results are reordered back to the first operand's layout. This holds for the whole process, until the
/// returned value is dropped. `tell` is called once for each op, after its first fallback. The ledger records every reorder
/// as [`Cause::Fallback`](ledger::Cause::Fallback), and `deny_reorders` forbids it. Several values may live at once, also for the
/// same op, and may be dropped in any order: an op falls back while one of them allows it, and each hears of each op once.
///
/// A process starts with the fallback off; such a call is then an [`UnsupportedOp`](crate::Error::UnsupportedOp).
pub fn allow_fallback(op: Option<&str>, tell: impl Fn(&FallbackNote) + Send + Sync + 'static) -> Fallback {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let id = NEXT.fetch_add(1, Relaxed);
    let (op, tell) = (op.map(str::to_string), Arc::new(tell));
    installed().push(Installed { id, op, tell, told: BTreeSet::new() });
    Fallback(id)
}

/// Runs the call on strided copies; `None` if no fallback is allowed or possible.
pub(crate) fn attempt(
    op: &'static Op,
    key: DispatchKey,
    values: &[Arg<'_>],
    location: &'static Location<'static>,
) -> Option<Result<Outputs>> {
    let name = op.schema().name;
    let allowed = |i: &Installed| i.op.as_deref().is_none_or(|o| o == name);
    if key != DispatchKey::BLOCKED || !installed().iter().any(allowed) {
        return None;
    }
    let first = crate::op::args::data_operands(op.schema(), values)
        .find_map(|(_, t)| if let TensorRef::Blocked(b) = t { Some(*b.layout()) } else { None })?;
    op.kernels(DispatchKey::STRIDED).next()?;
    let start = Instant::now();
    let moved = Moved::default();
    let done = ledger::as_fallback(location, || there_and_back(op, values, first, &moved));
    if done.is_ok() {
        let note = FallbackNote {
            op: name,
            bytes: moved.bytes.get(),
            reorders: moved.time.get(),
            call: start.elapsed(),
        };
        // Called outside the lock: the closure may call ops.
        let tell: Vec<Arc<Tell>> = installed()
            .iter_mut()
            .filter(|i| allowed(i))
            .filter_map(|i| i.told.insert(name).then(|| Arc::clone(&i.tell)))
            .collect();
        tell.iter().for_each(|tell| tell(&note));
    }
    Some(done)
}

#[derive(Default)]
struct Moved {
    bytes: Cell<usize>,
    time: Cell<Duration>,
}

impl Moved {
    fn count<T>(&self, bytes: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let done = work();
        self.bytes.set(self.bytes.get() + bytes);
        self.time.set(self.time.get() + start.elapsed());
        done
    }
}

fn there_and_back(op: &'static Op, values: &[Arg<'_>], layout: Layout, moved: &Moved) -> Result<Outputs> {
    let strided = |t: &TensorRef<'_>| -> Result<Tensor> {
        match t {
            TensorRef::Blocked(b) => {
                moved.count(b.bytes(), || b.to_strided(MemoryFormat::Contiguous)).map(Tensor::Strided)
            }
            other => Ok(other.to_tensor()),
        }
    };
    // One list of owned tensors per argument.
    let mut owned: Vec<Vec<Tensor>> = Vec::with_capacity(values.len());
    for (spec, value) in op.schema().args.iter().zip(values) {
        owned.push(match value {
            Arg::Tensor(t) if spec.kind.is_data() => vec![strided(t)?],
            Arg::Tensors(list) if spec.kind.is_data() => list.iter().map(strided).collect::<Result<_>>()?,
            _ => Vec::new(),
        });
    }
    let lists: Vec<Vec<TensorRef<'_>>> =
        owned.iter().map(|list| list.iter().map(crate::Operand::tensor_ref).collect()).collect();
    let args: Vec<Arg<'_>> = op
        .schema()
        .args
        .iter()
        .zip(values)
        .zip(&lists)
        .map(|((spec, &value), list)| match value {
            Arg::Tensor(_) if spec.kind.is_data() => Arg::Tensor(list[0]),
            Arg::Tensors(_) if spec.kind.is_data() => Arg::Tensors(list),
            other => other,
        })
        .collect();
    let outputs = op.call(&args)?;
    let back = |t: Tensor| -> Result<Tensor> {
        let Tensor::Strided(t) = t else { return Ok(t) };
        let layout = match t.rank() {
            rank if rank == layout.rank() => layout,
            rank => Layout::native_activation(rank).map_err(|_| {
                Error::RankMismatch(Complaint::new(
                    op.schema().name,
                    "result",
                    format!("{:?}", t.dims()),
                    "a fallback reorders its result to blocked, which needs rank 3 to 5",
                    Text::from("reorder the operands with ") + Call::ToStrided + " and call it there",
                ))
            })?,
        };
        moved.count(t.numel() * t.dtype().size_bytes(), || t.to_blocked(&layout)).map(Tensor::Blocked)
    };
    Ok(match outputs {
        Outputs::One(t) => Outputs::One(back(t)?),
        Outputs::Many(list) => Outputs::Many(list.into_iter().map(back).collect::<Result<_>>()?),
    })
}
