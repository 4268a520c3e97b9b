//! A host framework's dispatcher as the registrar: it gets everything or nothing. And fallbacks, which are off by default.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use blocktensor::dispatch::{
    Arg, Args, DispatchKey, Kernel, KeySpec, Op, Registrar, Value, allow_fallback, ops as all_ops,
};
use blocktensor::ledger::{self, Cause};
use blocktensor::{
    BlockedTensor, Complaint, Error, Layout, MemoryFormat, Operand, Result, StridedTensor, ops, register,
};

use crate::support::{Rng, child};

/// A registrar that stages what it gets, and can be told to refuse one item.
#[derive(Default)]
struct Host {
    refuse: Option<&'static str>,
    staged: Vec<(String, DispatchKey, Kernel)>,
    table: BTreeMap<(String, String), Kernel>,
    devices: Vec<DispatchKey>,
    staged_devices: Vec<DispatchKey>,
    ops: Vec<&'static Op>,
    aborts: usize,
}

fn refusal(what: &str) -> Error {
    Error::Registration(Complaint::new("Host", "x", what.to_string(), "the host refuses it", "-"))
}

impl Registrar for Host {
    fn key(&mut self, spec: KeySpec) -> Result<DispatchKey> {
        Err(refusal(spec.name))
    }
    fn known_key(&mut self, key: DispatchKey) -> Result<()> {
        if self.devices.contains(&key) {
            return Err(refusal(key.name()));
        }
        self.staged_devices.push(key);
        Ok(())
    }
    fn op(&mut self, op: &'static Op) -> Result<()> {
        if self.refuse == Some(op.schema().name) {
            return Err(refusal(op.schema().name));
        }
        self.ops.push(op);
        Ok(())
    }
    fn kernel(&mut self, op: &str, key: DispatchKey, kernel: Kernel) -> Result<()> {
        self.staged.push((op.into(), key, kernel));
        Ok(())
    }
    fn commit(&mut self) -> Result<()> {
        if self.refuse == Some("commit") {
            return Err(refusal("commit"));
        }
        self.devices.append(&mut self.staged_devices);
        self.table.extend(self.staged.drain(..).map(|(op, key, k)| ((op, key.name().into()), k)));
        Ok(())
    }
    fn abort(&mut self) {
        self.aborts += 1;
        self.staged.clear();
        self.staged_devices.clear();
    }
}

#[test]
fn register_hands_a_host_every_op_and_kernel_or_none() {
    let mut host = Host::default();
    register(&mut host).unwrap();
    assert_eq!(host.devices, [DispatchKey::STRIDED, DispatchKey::BLOCKED]);
    for op in all_ops() {
        for key in [DispatchKey::STRIDED, DispatchKey::BLOCKED] {
            let name = (op.schema().name.to_string(), key.name().to_string());
            assert_eq!(host.table.contains_key(&name), op.kernel(key).is_some(), "{name:?}");
        }
    }
    // The registered kernels run.
    let x = StridedTensor::from_slice(&[-1f32, 2.0], &[2]).unwrap();
    let values = [Arg::Tensor(x.tensor_ref())];
    let relu = host.ops.iter().find(|o| o.schema().name == "relu").unwrap();
    let args = Args::new(relu, &values).unwrap();
    let kernel = host.table[&("relu".to_string(), "strided".to_string())];
    let y = kernel.call(&args).unwrap().expect("it takes them").into_vec().remove(0);
    assert_eq!(StridedTensor::from_tensor(y).unwrap().to_vec::<f32>().unwrap(), [0.0, 2.0]);
    // The host refuses a second registration, and the first one stays.
    let before = host.table.len();
    let e = register(&mut host).unwrap_err();
    assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("strided"), "{e}");
    assert_eq!((host.aborts, host.staged.len(), host.table.len()), (1, 0, before));
    for refuse in ["relu", "conv2d", "commit"] {
        let mut host = Host { refuse: Some(refuse), ..Host::default() };
        let e = register(&mut host).unwrap_err();
        assert!(e.to_string().contains(refuse), "{e}");
        assert!(host.table.is_empty() && host.devices.is_empty() && host.staged.is_empty());
        assert_eq!(host.aborts, 1);
    }
}

const FALLBACK: &str = "BLOCKTENSOR_TEST_FALLBACK";

/// `allow_fallback` is for the whole process, so the test runs in a process of its own.
#[test]
fn fallbacks_are_off_by_default_reported_once_and_recorded() {
    child("dispatch::host::child_with_fallbacks", &[(FALLBACK, "1")]);
}

#[test]
fn child_with_fallbacks() {
    if std::env::var_os(FALLBACK).is_none() {
        return;
    }
    let plain = StridedTensor::from_slice(&Rng(1).reals(2 * 17 * 9), &[2, 17, 3, 3]).unwrap();
    let layout = Layout::native_activation(4).unwrap();
    let x = plain.to_blocked(&layout).unwrap();
    let off = || matches!(ops::cumsum(&x, 1), Err(Error::UnsupportedOp(_)));
    assert!(off());
    let notes = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let notes = Arc::clone(&notes);
        move |note: &blocktensor::dispatch::FallbackNote| notes.lock().unwrap().push(note.to_string())
    };
    let other = allow_fallback(Some("sort"), |_| {});
    assert!(off(), "it was allowed for another op");
    let on = allow_fallback(Some("cumsum"), tell.clone());
    let want = ops::cumsum(&plain, 1).unwrap().to_vec::<f32>().unwrap();
    for round in 0..3 {
        let (y, book) = ledger::record(|| ops::cumsum(&x, 1));
        let y: BlockedTensor = y.unwrap();
        assert_eq!(*y.layout(), layout);
        y.check_tail().unwrap();
        assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), want);
        // Both reorders are recorded with their cause and the line of the caller, and so is the run of the strided kernel.
        assert_eq!(book.reorders.len(), 2, "{book}");
        assert!(book.reorders.iter().all(|r| r.cause == Cause::Fallback), "{book}");
        assert!(
            book.reorders.iter().all(|r| r.site.location().unwrap().file().ends_with("host.rs")),
            "{book}"
        );
        assert_eq!(notes.lock().unwrap().len(), 1, "round {round}");
    }
    let note = notes.lock().unwrap()[0].clone();
    assert!(note.contains("`cumsum`") && note.contains("bytes reordered"), "{note}");
    let e = ledger::deny_reorders(|| ops::cumsum(&x, 1)).unwrap_err();
    assert!(matches!(e, Error::ReorderDenied(_)) && e.to_string().contains("fallback"), "{e}");
    // A result of rank 2 has no blocked layout: the error names the op that was called.
    let flatten = allow_fallback(Some("flatten"), |_| {});
    let values = [("x", Value::Tensor(x.clone().into())), ("start", Value::Int(1)), ("end", Value::Int(3))];
    let e = blocktensor::dispatch::call("flatten", &values).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    for part in ["op `flatten`", "`result`", "rank 3 to 5", "to_strided"] {
        assert!(e.to_string().contains(part), "{e} lacks {part}");
    }
    drop(flatten);
    // Ops with a kernel for the key never fall back.
    let ((), book) = ledger::record(|| {
        ops::cumsum(&plain, 1).unwrap();
        ops::relu(&x).unwrap();
    });
    assert!(book.reorders.is_empty(), "{book}");
    drop(on);
    assert!(off());
    drop(other);
    // Fallbacks for every op. `matmul` over the planes of a blocked tensor comes back blocked.
    let all = allow_fallback(None, tell);
    let square = plain.to_blocked(&layout).unwrap();
    let y: BlockedTensor = ops::matmul(&square, &square).unwrap();
    let want = ops::matmul(&plain, &plain).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), want);
    ops::cumsum(&x, 2).unwrap();
    assert_eq!(notes.lock().unwrap().len(), 3, "matmul, and cumsum to the new listener");
    drop(all);
    assert!(off());
    // Dropping a listener drops its captures, which may allow another fallback or call an op that falls back.
    let inner = allow_fallback(Some("sort"), |_| {});
    let outer = allow_fallback(None, move |_| drop(format!("{inner:?}")));
    drop(outer);
    assert!(matches!(ops::sort(&x, 2, false), Err(Error::UnsupportedOp(_))));
}
