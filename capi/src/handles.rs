//! Handles: numbers that stand for objects. An invalid handle is detected.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use blocktensor::dispatch::Fallback;
use blocktensor::{
    BoundOp, Complaint, Error, ForeignInput, Operand, Operator, PackedOp, Result, Scratchpad, StridedTensor,
    Tensor, TensorDesc,
};

use crate::dict::Dict;
use crate::model::Model;
use crate::packed_file::{File, Writer};
use crate::plan::Planned;
use crate::status::{bt_status, guard};
use crate::temporaries;

/// A handle of any object; 0 means none.
#[allow(non_camel_case_types)]
pub type bt_handle = u64;

/// The objects that a handle can stand for.
pub(crate) enum Object {
    Tensor(Tensor),
    Input(ForeignInput),
    Description(TensorDesc),
    Packed(Box<PackedOp>),
    Operator(Box<BoundOp>),
    Scratchpad(Mutex<Scratchpad>),
    Writer(Mutex<Writer>),
    File(Box<File>),
    Dict(Box<Dict>),
    Text(String),
    Model(Box<Model>),
    Plan(Box<Planned>),
    /// Held for its destructor, which switches the fallback off.
    Fallback(#[allow(dead_code)] Fallback),
    /// In the place of a tensor while a call writes into it.
    Lent,
}

impl Object {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Object::Tensor(_) => "a tensor",
            Object::Input(_) => "memory for inputs of runs",
            Object::Description(_) => "a description",
            Object::Packed(_) => "packed weights",
            Object::Operator(_) => "an operator",
            Object::Scratchpad(_) => "a scratchpad",
            Object::Writer(_) => "a writer of packed files",
            Object::File(_) => "a packed file",
            Object::Dict(_) => "a state dict",
            Object::Text(_) => "a text",
            Object::Model(_) => "a model",
            Object::Plan(_) => "a plan",
            Object::Fallback(_) => "a fallback",
            Object::Lent => "a tensor that a call is writing",
        }
    }
}

impl From<Tensor> for Object {
    fn from(t: Tensor) -> Object {
        Object::Tensor(t)
    }
}

impl From<StridedTensor> for Object {
    fn from(t: StridedTensor) -> Object {
        Object::Tensor(t.into())
    }
}

impl From<TensorDesc> for Object {
    fn from(desc: TensorDesc) -> Object {
        Object::Description(desc)
    }
}

#[derive(Default)]
struct Slot {
    generation: u32,
    object: Option<Arc<Object>>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
    live: usize,
}

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new(), live: 0 });
/// A random mask, so that arbitrary numbers and handles of another process are unlikely to be valid handles.
static MARK: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("blocktensor") | 1);

fn table() -> std::sync::MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a handle for a new object.
pub(crate) fn give(object: Object) -> bt_handle {
    let object = Some(Arc::new(object));
    let mut t = table();
    t.live += 1;
    let index = match t.free.pop() {
        Some(index) => index,
        None => {
            t.slots.push(Slot::default());
            t.slots.len() - 1
        }
    };
    let slot = &mut t.slots[index];
    slot.object = object;
    // Never 0: the highest bit is always set. Generations are below 2^31, so they do not need it.
    let handle = (u64::from(slot.generation) << 32 | (index as u64 + 1)) ^ (*MARK & !(1 << 63)) | 1 << 63;
    drop(t);
    temporaries::made(handle);
    handle
}

fn bad(op: &'static str, argument: &str, handle: bt_handle, why: &str) -> Error {
    let rule = format!("it must be a live handle, and this one {why}");
    let remedy = "pass a handle that this library gave, and free it once, after its last use";
    Error::InvalidHandle(Complaint::new(op, argument.to_string(), format!("{handle:#018x}"), rule, remedy))
}

/// The index of a handle's slot.
fn find(t: &Table, op: &'static str, argument: &str, handle: bt_handle) -> Result<usize> {
    if handle == 0 {
        let (rule, remedy) = ("0 is not a handle", "pass a handle that this library gave");
        return Err(Error::NullPointer(Complaint::new(op, argument.to_string(), "0", rule, remedy)));
    }
    let plain = (handle & !(1 << 63)) ^ (*MARK & !(1 << 63));
    let (generation, index) = ((plain >> 32) as u32, plain as u32 as usize);
    let slot = index.checked_sub(1).and_then(|i| t.slots.get(i));
    match slot {
        Some(s) if handle >> 63 == 1 && s.generation == generation && s.object.is_some() => Ok(index - 1),
        Some(s) if handle >> 63 == 1 && generation < s.generation => {
            Err(bad(op, argument, handle, "was freed"))
        }
        _ => Err(bad(op, argument, handle, "was never given by this library")),
    }
}

/// The object of a handle. It stays alive while the caller uses it, even if another thread frees the handle.
pub(crate) fn object(op: &'static str, argument: &str, handle: bt_handle) -> Result<Arc<Object>> {
    let t = table();
    let index = find(&t, op, argument, handle)?;
    match &t.slots[index].object {
        Some(object) if matches!(**object, Object::Lent) => Err(in_use(op, argument, handle)),
        Some(object) => Ok(Arc::clone(object)),
        None => Err(bad(op, argument, handle, "was freed")),
    }
}

fn in_use(op: &'static str, argument: &str, handle: bt_handle) -> Error {
    let rule = "while a call writes into a tensor, no other call uses it";
    let remedy = "pass each result once, and wait until calls that use it have returned";
    Error::Aliasing(Complaint::new(op, argument.to_string(), format!("{handle:#018x}"), rule, remedy))
}

/// Takes the tensor of a handle, to write into it. Until `put_back` the handle stands for no tensor. An error if another call
/// uses the tensor.
pub(crate) fn lend(op: &'static str, argument: &str, handle: bt_handle) -> Result<Tensor> {
    let mut t = table();
    let index = find(&t, op, argument, handle)?;
    let slot = &mut t.slots[index];
    let Some(object) = slot.object.take() else { return Err(bad(op, argument, handle, "was freed")) };
    let refused = |object: &Object| match object {
        Object::Tensor(_) | Object::Lent => in_use(op, argument, handle),
        other => wrong(op, argument, handle, other, "a tensor"),
    };
    let (object, error) = match Arc::try_unwrap(object) {
        Ok(Object::Tensor(tensor)) => {
            slot.object = Some(Arc::new(Object::Lent));
            return Ok(tensor);
        }
        Ok(other) => {
            let error = refused(&other);
            (Arc::new(other), error)
        }
        Err(shared) => {
            let error = refused(&shared);
            (shared, error)
        }
    };
    slot.object = Some(object);
    Err(error)
}

/// Ends the loan of a tensor. If the handle was freed meanwhile, the tensor is dropped.
pub(crate) fn put_back(handle: bt_handle, tensor: Tensor) {
    let mut t = table();
    match find(&t, "put_back", "handle", handle) {
        Ok(index) => t.slots[index].object = Some(Arc::new(Object::Tensor(tensor))),
        Err(_) => {
            // Outside the lock: dropping it may call a release function of the caller.
            drop(t);
            drop(tensor);
        }
    }
}

fn wrong(op: &'static str, argument: &str, handle: bt_handle, object: &Object, asked: &str) -> Error {
    let got = format!("{handle:#018x}, {}", object.kind());
    let (rule, remedy) = (format!("the call takes {asked}"), "pass a handle of that kind");
    Error::InvalidHandle(Complaint::new(op, argument.to_string(), got, rule, remedy))
}

/// The tensor of a handle.
pub(crate) fn tensor(op: &'static str, argument: &str, handle: bt_handle) -> Result<Tensor> {
    match &*object(op, argument, handle)? {
        Object::Tensor(t) => Ok(t.clone()),
        other => Err(wrong(op, argument, handle, other, "a tensor")),
    }
}

/// The tensor of a handle for a run, which also takes memory for its inputs.
pub(crate) fn input(op: &'static str, argument: &str, handle: bt_handle) -> Result<Tensor> {
    match &*object(op, argument, handle)? {
        Object::Tensor(t) => Ok(t.clone()),
        Object::Input(memory) => Ok(memory.tensor(op)?.into()),
        other => Err(wrong(op, argument, handle, other, "a tensor, or memory for inputs")),
    }
}

/// The tensor of a handle, or `None` for handle 0.
pub(crate) fn optional(
    op: &'static str,
    argument: &'static str,
    handle: bt_handle,
) -> Result<Option<Tensor>> {
    if handle == 0 { Ok(None) } else { tensor(op, argument, handle).map(Some) }
}

/// The description of a handle: its own, or that of a tensor.
pub(crate) fn description(op: &'static str, argument: &str, handle: bt_handle) -> Result<TensorDesc> {
    match &*object(op, argument, handle)? {
        Object::Tensor(t) => Ok(TensorDesc::of(t.tensor_ref())),
        Object::Description(desc) => Ok(desc.clone()),
        other => Err(wrong(op, argument, handle, other, "a tensor or a description")),
    }
}

/// Calls `f` with the object if it has the expected kind.
pub(crate) fn with<R>(
    op: &'static str,
    argument: &'static str,
    handle: bt_handle,
    asked: &str,
    f: impl FnOnce(&Object) -> Option<Result<R>>,
) -> Result<R> {
    let object = object(op, argument, handle)?;
    f(&object).unwrap_or_else(|| Err(wrong(op, argument, handle, &object, asked)))
}

/// Calls `f` with the operator of a handle, which packed weights are too.
pub(crate) fn with_operator<R>(
    op: &'static str,
    argument: &'static str,
    handle: bt_handle,
    f: impl FnOnce(&dyn Operator) -> Result<R>,
) -> Result<R> {
    with(op, argument, handle, "an operator or packed weights", |object| match object {
        Object::Operator(bound) => Some(f(&**bound)),
        Object::Packed(packed) => Some(f(&**packed)),
        _ => None,
    })
}

/// Frees a handle, and drops its object outside the lock: that may call a release function of the caller.
pub(crate) fn free(op: &'static str, handle: bt_handle) -> Result<()> {
    let freed = {
        let mut t = table();
        let index = find(&t, op, "handle", handle)?;
        t.live -= 1;
        let slot = &mut t.slots[index];
        let freed = slot.object.take();
        // A slot whose generations are used up is never reused.
        if slot.generation < (1 << 31) - 2 {
            slot.generation += 1;
            t.free.push(index);
        }
        freed
    };
    drop(freed);
    Ok(())
}

/// Frees an object of any kind. Freeing it twice is an error, and harmless.
#[unsafe(no_mangle)]
pub extern "C" fn bt_free(handle: bt_handle) -> bt_status {
    guard("bt_free", || {
        free("bt_free", handle)?;
        temporaries::freed(handle);
        Ok(())
    })
}

/// The number of live handles in this process; 0 in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn bt_live_handles() -> usize {
    if blocktensor::check_process("bt_live_handles").is_err() { 0 } else { table().live }
}

/// Drops the primitives that unpacked convolutions and linear layers keep for shapes they have run, at most 1024. Packed
/// weights keep their primitives.
#[unsafe(no_mangle)]
pub extern "C" fn bt_clear_cache() {
    #[cfg(feature = "onednn")]
    blocktensor::onednn::clear_cache();
}
