//! A small eager framework with its own devices, dispatcher and tensors adds blocktensor as its device `blocked`.
//!
//! It runs a network there, calls an op that the device lacks, and moves tensors back explicitly.
//! `cargo run --example host_framework`

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use blocktensor::dispatch::{Arg, Args, DispatchKey, Kernel, KeySpec, Op, Registrar, allow_fallback};
use blocktensor::{
    Complaint, DType, Error, Foreign, Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor,
    WeightsKind, ledger,
};

/// The memory that holds the framework's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Device {
    /// The framework's own plain memory.
    Cpu,
    /// Added by blocktensor.
    Blocked,
}

impl Device {
    fn of(key: DispatchKey) -> Option<Device> {
        match key {
            DispatchKey::STRIDED => Some(Device::Cpu),
            DispatchKey::BLOCKED => Some(Device::Blocked),
            _ => None,
        }
    }
}

/// The framework's tensor: its own numbers, or a handle of a tensor on the device.
#[derive(Clone)]
enum HostTensor {
    Cpu { numbers: Arc<Vec<f32>>, shape: Vec<i64> },
    Blocked { handle: usize },
}

/// The framework: a table of kernels by op and device, and the tensors behind handles.
#[derive(Default)]
struct Framework {
    devices: Vec<Device>,
    ops: HashMap<&'static str, &'static Op>,
    /// In the order in which a call asks them.
    kernels: HashMap<(String, Device), Vec<Kernel>>,
    handles: Vec<Tensor>,
    staged: Staged,
}

/// What a backend has registered and not yet committed.
#[derive(Default)]
struct Staged {
    devices: Vec<Device>,
    ops: Vec<&'static Op>,
    kernels: Vec<(String, Device, Kernel)>,
}

fn clash(argument: &'static str, got: String, rule: &'static str) -> Error {
    let remedy = "register a backend once, under names of its own";
    Error::Registration(Complaint::new("Framework::register", argument, got, rule, remedy))
}

impl Registrar for Framework {
    fn key(&mut self, spec: KeySpec) -> Result<DispatchKey> {
        Err(clash("key", format!("`{}`", spec.name), "this framework has room for known keys only"))
    }

    fn known_key(&mut self, key: DispatchKey) -> Result<()> {
        match Device::of(key) {
            Some(d) if !self.devices.contains(&d) => self.staged.devices.push(d),
            Some(d) => return Err(clash("key", format!("device {d:?}"), "the framework has this device")),
            None => return Err(clash("key", format!("`{key}`"), "no device is meant for this key")),
        }
        Ok(())
    }

    fn op(&mut self, op: &'static Op) -> Result<()> {
        if self.ops.contains_key(op.schema().name) {
            return Err(clash(
                "op",
                format!("`{}`", op.schema().name),
                "the framework has an op of this name",
            ));
        }
        self.staged.ops.push(op);
        Ok(())
    }

    fn kernel(&mut self, op: &str, key: DispatchKey, kernel: Kernel) -> Result<()> {
        let Some(device) = Device::of(key) else {
            return Err(clash("kernel", format!("`{op}` for `{key}`"), "no device is meant for this key"));
        };
        self.staged.kernels.push((op.to_string(), device, kernel));
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let Staged { devices, ops, kernels } = std::mem::take(&mut self.staged);
        self.devices.extend(devices);
        self.ops.extend(ops.into_iter().map(|op| (op.schema().name, op)));
        for (op, device, kernel) in kernels {
            self.kernels.entry((op, device)).or_default().push(kernel);
        }
        Ok(())
    }

    fn abort(&mut self) {
        self.staged = Staged::default();
    }
}

/// An argument of the framework's calls.
enum HostArg<'a> {
    Tensor(&'a HostTensor),
    Ints(&'a [i64]),
    Int(i64),
    Float(f64),
    Word(&'a str),
}

impl Framework {
    fn tensor(&self, shape: &[i64], value: impl Fn(usize) -> f32) -> HostTensor {
        let n: i64 = shape.iter().product();
        HostTensor::Cpu { numbers: Arc::new((0..n as usize).map(value).collect()), shape: shape.to_vec() }
    }

    /// The framework's tensor as a blocktensor tensor: its own memory without a copy, or the tensor of the handle.
    fn view(&self, t: &HostTensor) -> Result<Tensor> {
        match t {
            HostTensor::Blocked { handle } => Ok(self.handles[*handle].clone()),
            HostTensor::Cpu { numbers, shape } => {
                let memory = Foreign {
                    data: numbers.as_ptr().cast_mut().cast(),
                    dtype: DType::F32,
                    dims: shape,
                    strides: None,
                    writable: false,
                };
                let owner: Arc<Vec<f32>> = Arc::clone(numbers);
                // SAFETY: the vector lives as long as its owner, and the framework never writes to it.
                Ok(Tensor::Strided(unsafe { StridedTensor::from_foreign(memory, owner) }?))
            }
        }
    }

    /// Makes a result of blocktensor a tensor of the framework.
    fn keep(&mut self, t: Tensor) -> Result<HostTensor> {
        Ok(match t {
            Tensor::Strided(t) => {
                let shape = t.dims().iter().map(|&d| d as i64).collect();
                HostTensor::Cpu { numbers: Arc::new(t.to_vec::<f32>()?), shape }
            }
            other => {
                self.handles.push(other);
                HostTensor::Blocked { handle: self.handles.len() - 1 }
            }
        })
    }

    /// Moves a tensor between devices explicitly; nothing else moves data.
    fn to(&mut self, t: &HostTensor, device: Device, weights: bool) -> Result<HostTensor> {
        let moved = match (self.view(t)?, device) {
            (Tensor::Strided(s), Device::Blocked) => {
                let rank = s.rank();
                let layout = match weights {
                    true => Layout::native_weights(rank, WeightsKind::Dense)?,
                    false => Layout::native_activation(rank)?,
                };
                Tensor::Blocked(s.to_blocked(&layout)?)
            }
            (Tensor::Blocked(b), Device::Cpu) => Tensor::Strided(b.to_strided(MemoryFormat::Contiguous)?),
            (there, _) => there,
        };
        self.keep(moved)
    }

    /// The framework's dispatcher: op and device select a kernel.
    fn call(&mut self, name: &str, args: &[(&str, HostArg<'_>)]) -> Result<HostTensor> {
        let Some(&op) = self.ops.get(name) else {
            return Err(clash("op", format!("`{name}`"), "the framework has no such op"));
        };
        let tensors: HashMap<&str, Tensor> = args
            .iter()
            .filter_map(|(n, a)| if let HostArg::Tensor(t) = a { Some((*n, t)) } else { None })
            .map(|(n, t)| Ok((n, self.view(t)?)))
            .collect::<Result<_>>()?;
        let values: Vec<Arg<'_>> = op
            .schema()
            .args
            .iter()
            .map(|spec| match args.iter().find(|(n, _)| *n == spec.name) {
                Some((n, HostArg::Tensor(_))) => Arg::Tensor(tensors[n].tensor_ref()),
                Some((_, HostArg::Ints(v))) => Arg::Ints(v),
                Some((_, HostArg::Int(v))) => Arg::Int(*v),
                Some((_, HostArg::Float(v))) => Arg::Float(*v),
                Some((_, HostArg::Word(v))) => Arg::Str(v),
                None => spec.kind.default(),
            })
            .collect();
        let checked = Args::new(op, &values)?;
        let device = Device::of(checked.key());
        let kernels = device.and_then(|d| self.kernels.get(&(name.to_string(), d)));
        let mut outputs = None;
        for kernel in kernels.into_iter().flatten() {
            outputs = kernel.call(&checked)?;
            if outputs.is_some() {
                break;
            }
        }
        let outputs = match outputs {
            Some(outputs) => outputs,
            None => op.missing(&checked)?,
        };
        self.keep(outputs.into_vec().remove(0))
    }
}

impl fmt::Display for HostTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostTensor::Cpu { numbers, shape } => {
                let first: Vec<String> = numbers.iter().take(4).map(|v| format!("{v:.4}")).collect();
                write!(f, "{shape:?} on Cpu: {}, ...", first.join(", "))
            }
            HostTensor::Blocked { handle } => write!(f, "handle {handle} on Blocked"),
        }
    }
}

/// Two convolutions, a batch norm and a pooling, on the device of the operands.
fn network(
    f: &mut Framework,
    x: &HostTensor,
    weights: [&HostTensor; 2],
    norm: [&HostTensor; 2],
) -> Result<HostTensor> {
    use HostArg::{Float, Ints, Tensor, Word};
    let x = f.call(
        "conv2d",
        &[
            ("x", Tensor(x)),
            ("weights", Tensor(weights[0])),
            ("padding", Ints(&[1, 1])),
            ("post_ops", Word("relu")),
        ],
    )?;
    let x = f.call(
        "batch_norm",
        &[("x", Tensor(&x)), ("mean", Tensor(norm[0])), ("var", Tensor(norm[1])), ("eps", Float(1e-5))],
    )?;
    let x =
        f.call("max_pool2d", &[("x", Tensor(&x)), ("kernel", Ints(&[2, 2])), ("stride", Ints(&[2, 2]))])?;
    let x =
        f.call("conv2d", &[("x", Tensor(&x)), ("weights", Tensor(weights[1])), ("padding", Ints(&[1, 1]))])?;
    f.call("global_avg_pool", &[("x", Tensor(&x))])
}

fn main() -> Result<()> {
    let mut f = Framework::default();
    blocktensor::register(&mut f)?;
    println!(
        "registered: {} ops, {} kernels, devices {:?}",
        f.ops.len(),
        f.kernels.values().map(Vec::len).sum::<usize>(),
        f.devices
    );
    if let Err(e) = blocktensor::register(&mut f) {
        println!("again: {e}");
    }

    let image = f.tensor(&[1, 32, 28, 28], |i| (i % 17) as f32 / 17.0 - 0.4);
    let plain = [
        f.tensor(&[64, 32, 3, 3], |i| (i % 23) as f32 / 230.0 - 0.05),
        f.tensor(&[40, 64, 3, 3], |i| (i % 19) as f32 / 190.0 - 0.05),
    ];
    let (mean, var) = (f.tensor(&[64], |i| i as f32 / 640.0), f.tensor(&[64], |_| 1.5));
    let on_cpu = network(&mut f, &image, [&plain[0], &plain[1]], [&mean, &var])?;
    println!("on the Cpu:  {on_cpu}");

    let x = f.to(&image, Device::Blocked, false)?;
    let (w0, w1) = (f.to(&plain[0], Device::Blocked, true)?, f.to(&plain[1], Device::Blocked, true)?);
    // Nothing is reordered while the network runs: a reorder would be an error.
    let y = ledger::deny_reorders(|| network(&mut f, &x, [&w0, &w1], [&mean, &var]))?;
    println!("on Blocked:  {y}");
    let back = f.to(&y, Device::Cpu, false)?;
    println!("moved back:  {back}");
    let (HostTensor::Cpu { numbers: a, .. }, HostTensor::Cpu { numbers: b, .. }) = (&on_cpu, &back) else {
        return Err(clash("device", "results elsewhere".into(), "both are on the Cpu"));
    };
    let far = a.iter().zip(&**b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("the devices differ by at most {far:.1e}");

    let sorted =
        |f: &mut Framework| f.call("cumsum", &[("x", HostArg::Tensor(&y)), ("axis", HostArg::Int(1))]);
    match sorted(&mut f) {
        Ok(_) => println!("cumsum runs on Blocked"),
        Err(e) => println!("no kernel:   {e}"),
    }
    // A framework may allow the fallback: its user is told once per op, and the ledger records every reorder.
    let fallback = allow_fallback(Some("cumsum"), |note| println!("fallback:    {note}"));
    let (sum, book) = ledger::record(|| sorted(&mut f));
    println!("with it:     {} ({} reorders in the ledger)", sum?, book.reorders.len());
    drop(fallback);
    println!("without it:  {}", if sorted(&mut f).is_err() { "an error again" } else { "still there" });
    Ok(())
}
