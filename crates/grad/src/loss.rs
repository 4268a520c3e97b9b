//! Losses: ops that this crate registers with their gradients, through the same door as any other crate.

use std::sync::OnceLock;

use blocktensor::dispatch::schema::{data, plain};
use blocktensor::dispatch::{
    self, Args, Backward, DispatchKey, Engine, Gradients, Kernel, KernelResult, Op, Results, Schema,
    register_backend,
};
use blocktensor::{
    BoundOp, Complaint, DType, Error, FormatRule, MemoryFormat, Result, StridedTensor, elementwise,
};

use crate::{Tape, Var};

static CROSS_ENTROPY: Schema = Schema::new(
    "cross_entropy",
    &[data("x").f32(), plain("target").with_fixed_dtypes(&[DType::S32], "it is s32: one class for each row")],
);
static MSE_LOSS: Schema = Schema::new("mse_loss", &[data("x").f32(), data("target").f32()]);

/// The registered loss of this name, `cross_entropy` or `mse_loss`: for calls by name. The first call registers both.
///
/// # Errors
/// `Registration` if a program registered an op of such a name before, and for another name.
pub fn loss(name: &str) -> Result<&'static Op> {
    static REGISTERED: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let done = REGISTERED.get_or_init(|| {
        register_backend(|to| {
            for (schema, run, gradient) in [
                (&CROSS_ENTROPY, Kernel::rust(&run_cross_entropy), Kernel::gradient(&cross_entropy_gradient)),
                (&MSE_LOSS, Kernel::rust(&run_mse), Kernel::gradient(&mse_gradient)),
            ] {
                let [run, gradient] = [run, gradient].map(|kernel| kernel.with_engine(Engine::Other));
                to.op(Box::leak(Box::new(Op::new(schema))))?;
                to.kernel(schema.name, DispatchKey::STRIDED, run)?;
                to.kernel(schema.name, DispatchKey::STRIDED, gradient)?;
            }
            Ok(())
        })
        .map_err(|e| e.to_string())
    });
    let failed = |got: String| {
        let rule = "the losses are registered once";
        Error::Registration(Complaint::new(
            "register_backend",
            "op",
            got,
            rule,
            "register no op of that name",
        ))
    };
    done.clone().map_err(failed)?;
    dispatch::op(name).ok_or_else(|| failed(format!("`{name}`")))
}

/// The mean over images and pixels of `log(sum over classes of exp(x)) - x[target]`, as `torch.nn.functional.cross_entropy` with class
/// indices.
///
/// # Shapes
/// `x` [N, C, ...] of logits, `target` [N, ...]; the result has no dimensions. Without rows or pixels it is NaN.
///
/// # Dtypes
/// `x` f32, `target` s32; computed in f64 and rounded once.
///
/// # Layouts
/// Strided: any strides; the gradient has those of `x`.
///
/// # Errors
/// `ShapeMismatch`, `DTypeMismatch`; `InvalidArgument` for a class that is not there; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn cross_entropy(tape: &mut Tape, x: &Var, target: &Var) -> Result<Var> {
    tape.call(&BoundOp::of(loss("cross_entropy")?, &["x", "target"], &[])?, &[x, target])
}

/// The mean of `(x - target)^2`, as `torch.nn.functional.mse_loss`.
///
/// # Shapes
/// `x` and `target` of the same sizes; the result has no dimensions. Without elements it is NaN.
///
/// # Dtypes
/// f32; computed in f64 and rounded once.
///
/// # Errors
/// `ShapeMismatch`; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn mse_loss(tape: &mut Tape, x: &Var, target: &Var) -> Result<Var> {
    tape.call(&BoundOp::of(loss("mse_loss")?, &["x", "target"], &[])?, &[x, target])
}

fn complaint(args: &Args<'_>, name: &'static str, got: String, rule: String, remedy: &str) -> Box<Complaint> {
    Complaint::new(args.op(), name, got, rule, remedy)
}

/// Logits in row-major order, and the class of each pixel, checked.
struct Logits {
    values: Vec<f32>,
    classes: Vec<usize>,
    c: usize,
    /// Pixels of an image: the distance of its classes in `values`.
    pixels: usize,
}

impl Logits {
    fn of(args: &Args<'_>) -> Result<Logits> {
        let (x, target) = (args.strided(0)?, args.strided(1)?);
        let fits = x.rank() >= 2
            && target.rank() + 1 == x.rank()
            && target.dims()[0] == x.dims()[0]
            && target.dims()[1..] == x.dims()[2..];
        if !fits {
            let got = format!("x {:?} and target {:?}", x.dims(), target.dims());
            let rule = "x is [N, C, ...], and target [N, ...]".to_string();
            let remedy = "reshape the target to the sizes of x without its channels";
            return Err(Error::ShapeMismatch(complaint(args, "target", got, rule, remedy)));
        }
        let (c, pixels) = (x.dims()[1], x.dims()[2..].iter().product());
        let class = |v: i32| usize::try_from(v).ok().filter(|&v| v < c);
        let classes = target.to_vec::<i32>()?;
        if c == 0 && !classes.is_empty() {
            let (got, rule) = (
                format!("{:?}", x.dims()),
                "its second size is the number of classes, and there are some".into(),
            );
            return Err(Error::InvalidArgument(complaint(
                args,
                "x",
                got,
                rule,
                "pass a logit for each class",
            )));
        }
        if let Some(at) = classes.iter().position(|&v| class(v).is_none()) {
            let got = format!("{} at element {at}", classes[at]);
            let rule = format!("classes are 0 to {}", c.saturating_sub(1));
            let remedy = "pass indices of classes";
            return Err(Error::InvalidArgument(complaint(args, "target", got, rule, remedy)));
        }
        let classes = classes.iter().filter_map(|&v| class(v)).collect();
        Ok(Logits { values: x.to_vec()?, classes, c, pixels })
    }

    /// The class of each pixel of all images, and where its logits are.
    fn rows(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize> + Clone)> {
        self.classes.iter().enumerate().map(move |(i, &class)| {
            let first = i / self.pixels * self.c * self.pixels + i % self.pixels;
            (class, (0..self.c).map(move |c| first + c * self.pixels))
        })
    }

    /// Reads the logits at these places into `row`.
    fn read(&self, at: impl Iterator<Item = usize>, row: &mut Vec<f32>) {
        row.clear();
        row.extend(at.map(|at| self.values[at]));
    }
}

/// The probabilities of a row and the logarithm of its sum.
fn softmax(row: &[f32]) -> (Vec<f64>, f64) {
    let largest = row.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
    let exp: Vec<f64> = row.iter().map(|&v| f64::from(v - largest).exp()).collect();
    let sum: f64 = exp.iter().sum();
    (exp.iter().map(|e| e / sum).collect(), sum.ln() + f64::from(largest))
}

/// Writes a result without dimensions.
fn write(args: &Args<'_>, results: &mut Results<'_>, value: impl FnOnce() -> Result<f64>) -> KernelResult {
    let dst = results.by_rule(FormatRule::Contiguous, &[args.strided(0)?], &[], DType::F32)?;
    let value = StridedTensor::from_slice(&[value()? as f32], &[])?;
    Ok(elementwise::copy_into(args.op(), dst, &value)?)
}

fn run_cross_entropy(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    write(args, results, || {
        let x = Logits::of(args)?;
        let (mut row, mut sum) = (Vec::new(), 0.0);
        for (class, at) in x.rows() {
            x.read(at, &mut row);
            sum += softmax(&row).1 - f64::from(row[class]);
        }
        Ok(sum / x.classes.len() as f64)
    })
}

/// `(softmax(x) - 1 at the target) / count`.
fn cross_entropy_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let x = Logits::of(&call.args)?;
    let scale = scale(call)? / x.classes.len() as f64;
    let (mut row, mut made) = (Vec::new(), vec![0f32; x.values.len()]);
    for (class, at) in x.rows() {
        x.read(at.clone(), &mut row);
        for ((i, p), at) in softmax(&row).0.iter().enumerate().zip(at) {
            made[at] = ((p - f64::from(u8::from(i == class))) * scale) as f32;
        }
    }
    call.each(|i| Ok(in_format_of(call.args.op(), call.args.strided(i)?, &made)?.into()))
}

/// Elements in logical order as a tensor in the format of an operand.
fn in_format_of(op: &'static str, of: &StridedTensor, elements: &[f32]) -> Result<StridedTensor> {
    let rows = StridedTensor::from_slice(elements, of.dims())?;
    if !of.is_non_overlapping_and_dense() || of.is_contiguous(MemoryFormat::Contiguous) {
        return Ok(rows);
    }
    let mut made = of.empty_like(MemoryFormat::Preserve)?;
    elementwise::copy_into(op, &mut made, &rows)?;
    Ok(made)
}

/// The gradient of the loss, a number.
fn scale(call: &Backward<'_>) -> Result<f64> {
    match call.diff()? {
        blocktensor::TensorRef::Strided(diff) => Ok(diff.get::<f32>(&[]).unwrap_or(1.0).into()),
        _ => unreachable!("it has the key of the result"),
    }
}

/// The differences of both operands, checked.
fn differences(args: &Args<'_>) -> Result<Vec<f64>> {
    let (x, target) = (args.strided(0)?, args.strided(1)?);
    if x.dims() != target.dims() {
        let rule = format!("x is {:?}", x.dims());
        let got = format!("{:?}", target.dims());
        return Err(Error::ShapeMismatch(complaint(args, "target", got, rule, "pass the same sizes")));
    }
    let (x, target) = (x.to_vec::<f32>()?, target.to_vec::<f32>()?);
    Ok(x.iter().zip(&target).map(|(x, t)| f64::from(*x) - f64::from(*t)).collect())
}

fn run_mse(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    write(args, results, || {
        let all = differences(args)?;
        Ok(all.iter().map(|d| d * d).sum::<f64>() / all.len() as f64)
    })
}

/// `2 (x - target) / count`, and its negative by the target.
fn mse_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let all = differences(&call.args)?;
    let scale = 2.0 * scale(call)? / all.len() as f64;
    call.each(|i| {
        let sign = if i == 0 { scale } else { -scale };
        let made: Vec<f32> = all.iter().map(|d| (d * sign) as f32).collect();
        Ok(in_format_of(call.args.op(), call.args.strided(i)?, &made)?.into())
    })
}
