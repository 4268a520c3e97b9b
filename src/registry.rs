//! The registry: every op by name. Ops may be registered after first use; no registration is ever replaced.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, RwLock};

use crate::error::{Call, Result, Text, fail};
use crate::key::{DispatchKey, KeySpec};
use crate::op::args::{Arg, Value};
use crate::op::call::Op;
use crate::op::kernel::{Kernel, Propagation};
use crate::op::schema::Schema;
use crate::reorders::{self, Reorders};
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::threads::check_process;

/// What a backend registers its key, ops and kernels with: this crate's registry, or a host framework's dispatcher.
pub trait Registrar {
    /// Adds a dispatch key.
    ///
    /// # Errors
    /// `Registration` if the name is taken or there is no room.
    fn key(&mut self, spec: KeySpec) -> Result<DispatchKey>;

    /// Adds the reorders of a key that this backend added, so that plans can move tensors to it and back. A backend without them
    /// works, but no planner chooses it.
    ///
    /// # Errors
    /// `Registration` if the key is not this backend's own, or has reorders.
    fn reorders(&mut self, key: DispatchKey, reorders: Reorders) -> Result<()> {
        let _ = (key, reorders);
        Ok(())
    }

    /// Adds an op. Adding the same schema again is not an error: several backends may bring the same op.
    ///
    /// # Errors
    /// `Registration` if another schema has the name.
    fn op(&mut self, op: &'static Op) -> Result<()>;

    /// Adds an op's kernel for a key. A call asks kernels in the order in which they were added, until one takes its
    /// operands.
    ///
    /// # Errors
    /// `Registration` if there is no such op, if another backend's kernel for the key has the same dtypes of operands and
    /// results, or if the kernel states dtypes of more tensors or results than the op has. At the end of a registration, if a gradient is of
    /// an op for which the key has no kernel.
    fn kernel(&mut self, op: &str, key: DispatchKey, kernel: Kernel) -> Result<()>;

    /// Announces a key that already exists in this process, before its kernels follow. A host maps the key to a device of its
    /// own.
    ///
    /// # Errors
    /// `Registration` if the host already has such a device.
    fn known_key(&mut self, key: DispatchKey) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// Marks the end of a registration: everything added may be used from now on.
    ///
    /// # Errors
    /// Whatever the host still refuses; [`abort`](Self::abort) is called next.
    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    /// Something was refused: drop everything that was added since the last commit.
    fn abort(&mut self) {}
}

/// Registers this crate's two backends with a host framework: its keys, every op's schema, every kernel but gradients. It is all or
/// nothing: at the end it calls the registrar's `commit`, or, after the first refusal, its `abort`.
///
/// The host calls a kernel with [`Kernel::call`] on [`Args::new`](crate::op::Args::new), and calls [`Op::missing`] if there
/// is no kernel. The host's tensors may hold this crate's ([`Tensor`]), and the host's memory becomes a tensor without a copy
/// ([`StridedTensor::from_foreign`](crate::StridedTensor::from_foreign)). `examples/host_framework.rs` shows all of it.
///
/// # Errors
/// Whatever the registrar returns.
pub fn register(registrar: &mut dyn Registrar) -> Result<()> {
    let mut hand_over = || {
        registrar.known_key(DispatchKey::STRIDED)?;
        registrar.known_key(DispatchKey::BLOCKED)?;
        for op in crate::ops::all() {
            registrar.op(op)?;
            // Gradients are reached by `Op::backward`, whatever the host.
            let mut own =
                op.own.iter().copied().filter(|(_, kernel)| kernel.propagation() == Propagation::Forward);
            own.try_for_each(|(key, kernel)| registrar.kernel(op.schema().name, key, kernel))?;
        }
        registrar.commit()
    };
    let handed_over = hand_over();
    if handed_over.is_err() {
        registrar.abort();
    }
    handed_over
}

/// Every op by name: this crate's, and those of other crates.
static OPS: LazyLock<RwLock<BTreeMap<&'static str, &'static Op>>> =
    LazyLock::new(|| RwLock::new(crate::ops::all().map(|op| (op.schema.name, op)).collect()));
static WRITING: Mutex<()> = Mutex::new(());

fn find(name: &str) -> Option<&'static Op> {
    OPS.read().unwrap_or_else(|e| e.into_inner()).get(name).copied()
}

/// Registers another crate's backend with this process's own dispatcher. Everything that `backend` adds is registered, or, if
/// any of it clashes, nothing.
///
/// # Errors
/// What `backend` returns, or `Registration`.
pub fn register_backend(backend: impl FnOnce(&mut dyn Registrar) -> Result<()>) -> Result<()> {
    check_process("register_backend")?;
    extend(backend)
}

fn extend(backend: impl FnOnce(&mut dyn Registrar) -> Result<()>) -> Result<()> {
    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(false);
        }
    }
    if INSIDE.replace(true) {
        fail!(
            Registration,
            "register_backend",
            "backend",
            "a registration inside another",
            "one backend must be added completely before the next",
            "register one after the other"
        );
    }
    let _leave = Leave;
    let _writing = WRITING.lock().unwrap_or_else(|e| e.into_inner());
    let mut staged = Staged::default();
    backend(&mut staged)?;
    staged.check_gradients()?;
    staged.keys.into_iter().for_each(DispatchKey::commit);
    staged.reorders.into_iter().for_each(|(key, own)| reorders::commit(key, own));
    let mut ops = OPS.write().unwrap_or_else(|e| e.into_inner());
    for op in staged.ops {
        ops.entry(op.schema.name).or_insert(op);
    }
    for (op, key, kernel) in staged.kernels {
        op.add((key, kernel));
    }
    Ok(())
}

/// What one backend adds, checked against existing registrations and against itself.
#[derive(Default)]
struct Staged {
    keys: Vec<KeySpec>,
    reorders: Vec<(DispatchKey, Reorders)>,
    ops: Vec<&'static Op>,
    kernels: Vec<(&'static Op, DispatchKey, Kernel)>,
}

impl Staged {
    /// Refuses a gradient of what no kernel computes: no call would reach it. The kernel may follow the gradient.
    fn check_gradients(&self) -> Result<()> {
        let is_kernel = |of: DispatchKey, kernel: &Kernel, key: DispatchKey| {
            of == key && kernel.propagation() == Propagation::Forward
        };
        for (op, key, _) in self.kernels.iter().filter(|(.., k)| k.propagation() == Propagation::Backward) {
            let name = op.schema.name;
            let mut own = self.kernels.iter().filter(|(of, ..)| of.schema.name == name);
            if !own.any(|(_, of, kernel)| is_kernel(*of, kernel, *key))
                && !op.implementations().any(|(of, kernel)| is_kernel(of, kernel, *key))
            {
                // A new key has no name yet.
                fail!(
                    Registration,
                    "register_backend",
                    "gradients",
                    format!("one for `{name}`"),
                    format!("the key has no kernel that computes `{name}`"),
                    format!("register a kernel for `{name}` with it, or leave the gradient out")
                );
            }
        }
        Ok(())
    }
}

impl Registrar for Staged {
    fn key(&mut self, spec: KeySpec) -> Result<DispatchKey> {
        // Errors, layouts and files print the name.
        let is_word =
            |name: &str| name.trim() == name && !name.contains(|c: char| c.is_control() || c == '`');
        if spec.name.is_empty() || !is_word(spec.name) {
            fail!(
                Registration,
                "register_backend",
                "name",
                format!("{:?}", spec.name),
                "a key has a name, without spaces around it, control characters or backticks",
                "choose another name"
            );
        }
        if DispatchKey::by_name(spec.name).is_some() || self.keys.iter().any(|k| k.name == spec.name) {
            fail!(
                Registration,
                "register_backend",
                "key",
                format!("`{}`", spec.name),
                "a key of this name exists",
                "choose another name, and register each backend once"
            );
        }
        match DispatchKey::next(self.keys.len()) {
            Some(key) => {
                self.keys.push(spec);
                Ok(key)
            }
            None => fail!(
                Registration,
                "register_backend",
                "key",
                format!("`{}`", spec.name),
                format!("there is room for {} keys", crate::key::MAX_KEYS),
                "register fewer backends"
            ),
        }
    }

    fn reorders(&mut self, key: DispatchKey, reorders: Reorders) -> Result<()> {
        let is_own = (0..self.keys.len()).any(|i| DispatchKey::next(i) == Some(key));
        if !is_own || self.reorders.iter().any(|(other, _)| *other == key) {
            fail!(
                Registration,
                "register_backend",
                "reorders",
                if is_own { "reorders of one key again" } else { "reorders of another backend's key" },
                "a backend brings the reorders of its own key, once",
                "call `reorders` once for each key that `key` returned"
            );
        }
        self.reorders.push((key, reorders));
        Ok(())
    }

    fn op(&mut self, op: &'static Op) -> Result<()> {
        let name = op.schema.name;
        let known = find(name).or_else(|| self.ops.iter().copied().find(|o| o.schema.name == name));
        match known {
            None => self.ops.push(op),
            Some(known) if known.schema == op.schema => {}
            Some(_) => fail!(
                Registration,
                "register_backend",
                "op",
                format!("`{name}`"),
                "an op of this name has another schema",
                "use the existing schema, or another name"
            ),
        }
        Ok(())
    }

    fn kernel(&mut self, op: &str, key: DispatchKey, kernel: Kernel) -> Result<()> {
        let known = find(op).or_else(|| self.ops.iter().copied().find(|o| o.schema.name == op));
        let Some(known) = known else {
            fail!(
                Registration,
                "register_backend",
                "kernel",
                format!("`{}` for key `{key}`", op.escape_debug()),
                "there is no op of this name",
                "register the op first"
            );
        };
        // A key of a refused registration belongs to nobody, and may become another backend's key.
        let of_this = (0..self.keys.len()).any(|i| DispatchKey::next(i) == Some(key));
        if !of_this && !DispatchKey::all().contains(&key) {
            fail!(
                Registration,
                "register_backend",
                "key",
                format!("a key that is not registered, for `{op}`"),
                "a kernel's key must be registered first, by this backend or another",
                "register the key first"
            );
        }
        if let Some(tuple) = kernel.dtypes.iter().find(|tuple| !tuple.fits(known.schema)) {
            fail!(
                Registration,
                "register_backend",
                "kernel",
                format!("dtypes {tuple} for `{op}`"),
                "a kernel states dtypes of tensors and results that the op has, in their order",
                format!("state those of `{}`", known.schema)
            );
        }
        // Kernels of one backend for one op are asked in their order. Another backend may only add new dtypes.
        let is_same = |other: &Kernel| {
            other.propagation() == kernel.propagation() && other.overlaps(&kernel, known.schema)
        };
        if known.implementations().any(|(of, other)| of == key && is_same(other)) {
            fail!(
                Registration,
                "register_backend",
                "kernel",
                format!("`{op}` for key `{key}`"),
                "it has a kernel for these dtypes, and registrations are never replaced",
                "register a key of your own"
            );
        }
        self.kernels.push((known, key, kernel));
        Ok(())
    }
}

/// Every op, sorted by name.
pub fn ops() -> Vec<&'static Op> {
    OPS.read().unwrap_or_else(|e| e.into_inner()).values().copied().collect()
}

/// The op of this name.
pub fn op(name: &str) -> Option<&'static Op> {
    find(name)
}

/// Calls an op with one borrowed argument for each of its schema, in order: for bindings, which look an op up once. What is left
/// out is the kind's [default](crate::dispatch::ArgKind::default). [`call`] is the same by name.
///
/// ```
/// use blocktensor::dispatch::{self, Arg};
/// use blocktensor::{MemoryFormat, Operand, StridedTensor};
/// let x = StridedTensor::full(&[1, 2, 2, 2], -1f32, MemoryFormat::Contiguous)?;
/// let abs = dispatch::op("abs").unwrap();
/// let results = dispatch::call_in_order(abs, &[Arg::Tensor(x.tensor_ref())])?;
/// assert_eq!(results[0].tensor_ref().dims(), [1, 2, 2, 2]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` for another number or other kinds of arguments; the op's own errors.
#[track_caller]
pub fn call_in_order(op: &'static Op, args: &[Arg<'_>]) -> Result<Vec<Tensor>> {
    Ok(op.call(args)?.into_vec())
}

/// Calls an op by name, with named boxed values. An argument that is left out takes the schema's default. Kernels and errors
/// are the same as those of the typed functions.
///
/// # Errors
/// `InvalidArgument` for an unknown op or argument; the op's own errors.
#[track_caller]
pub fn call(name: &str, values: &[(&str, Value)]) -> Result<Vec<Tensor>> {
    check_process("dispatch::call")?;
    let Some(op) = op(name) else {
        fail!(
            InvalidArgument,
            name.to_string(),
            "op",
            format!("`{}`", name.escape_debug()),
            "no op has this name",
            Text::from(Call::Ops) + " lists them"
        );
    };
    let schema: &'static Schema = op.schema;
    let mut given: HashMap<&str, &Value> = HashMap::new();
    for (name, value) in values {
        if !schema.args.iter().any(|a| a.name == *name) {
            let known: Vec<&str> = schema.args.iter().map(|a| a.name).collect();
            fail!(
                InvalidArgument,
                schema.name,
                name.to_string(),
                "a value",
                format!("the op has no such argument; it has {}", known.join(", ")),
                "use one of these"
            );
        }
        if given.insert(name, value).is_some() {
            fail!(
                InvalidArgument,
                schema.name,
                name.to_string(),
                "two values",
                "it takes one",
                "pass it once"
            );
        }
    }
    let lists: Vec<Vec<TensorRef<'_>>> = schema
        .args
        .iter()
        .map(|a| match given.get(a.name) {
            Some(Value::Tensors(list)) => list.iter().map(Tensor::tensor_ref).collect(),
            _ => Vec::new(),
        })
        .collect();
    let args: Vec<Arg<'_>> = schema
        .args
        .iter()
        .zip(&lists)
        .map(|(spec, list)| match given.get(spec.name) {
            Some(Value::Tensor(t)) => Arg::Tensor(t.tensor_ref()),
            Some(Value::Tensors(_)) => Arg::Tensors(list),
            Some(Value::Int(v)) => Arg::Int(*v),
            Some(Value::Ints(v)) => Arg::Ints(v),
            Some(Value::Float(v)) => Arg::Float(*v),
            Some(Value::Bool(v)) => Arg::Bool(*v),
            Some(Value::Str(v)) => Arg::Str(v),
            None => spec.kind.default(),
        })
        .collect();
    op.call(&args).map(|o| o.into_vec())
}
