//! Code that tests share: data, oracles from the definitions in f64, comparisons, child processes.

pub mod activation;
pub mod conv;
pub mod norm;
pub mod pool;
pub mod resample;

use blocktensor::dispatch::schema::ArgKind;
use blocktensor::dispatch::{self, DispatchKey, Op, Value};
use blocktensor::ops::{self, PadMode};
use blocktensor::{MemoryFormat, StridedTensor, Tensor};

/// A small deterministic generator (SplitMix64), so that every failure can be repeated from its seed.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Uniform in -1 to 1.
    pub fn real(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// `n` uniform numbers in -1 to 1.
    pub fn reals(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.real()).collect()
    }

    /// `n` integers from -8 to 8: products and sums of them are exact in f32 up to 2^18 terms.
    pub fn integers(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.below(17) as f32 - 8.0).collect()
    }
}

/// Fails with the place and size of the largest difference unless `|got - want| <= limit(i)` everywhere.
#[track_caller]
pub fn assert_close(what: &str, got: &[f32], want: &[f64], limit: impl Fn(usize) -> f64) {
    assert_eq!(got.len(), want.len(), "{what}: number of elements");
    let mut worst = (0.0, 0);
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        assert_eq!(g.is_nan(), w.is_nan(), "{what}: NaN at {i}: got {g}, want {w}");
        let excess = if w.is_nan() || f64::from(g) == w {
            0.0
        } else {
            (f64::from(g) - w).abs() / limit(i).max(f64::MIN_POSITIVE)
        };
        if excess > worst.0 {
            worst = (excess, i);
        }
    }
    let i = worst.1;
    assert!(
        worst.0 <= 1.0,
        "{what}: element {i} is {} instead of {}, {:.2} times the limit",
        got[i],
        want[i],
        worst.0
    );
}

/// Runs the body of the test of this name in a process of its own. In the parent, returns what the child printed; in the
/// child, `None`.
pub fn alone(test: &str, set: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    const CHILD: &str = "BLOCKTENSOR_TEST_ALONE";
    if std::env::var_os(CHILD).is_some_and(|t| t == test) {
        body();
        return None;
    }
    Some(child(test, &[set, &[(CHILD, test)]].concat()))
}

/// Runs one test of this binary in a process of its own, and returns what it printed.
pub fn child(test: &str, set: &[(&str, &str)]) -> String {
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs(set.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains("1 passed"), "no such test: {text}");
    text
}

/// The bytes of a tensor's elements in logical order. The padding of a blocked tensor must be zero.
pub fn element_bytes(t: &Tensor) -> Vec<u8> {
    fn of<E: blocktensor::Element>(t: &StridedTensor) -> Vec<u8> {
        bytemuck::cast_slice(&t.to_vec::<E>().unwrap()).to_vec()
    }
    use blocktensor::DType;
    match t {
        Tensor::Strided(t) => match t.dtype() {
            DType::F32 => of::<f32>(t),
            DType::BF16 => of::<half::bf16>(t),
            DType::F16 => of::<half::f16>(t),
            DType::U8 => of::<u8>(t),
            DType::S8 => of::<i8>(t),
            DType::S32 => of::<i32>(t),
            other => panic!("{other}"),
        },
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            element_bytes(&t.to_strided(MemoryFormat::Contiguous).unwrap().into())
        }
        Tensor::Opaque(_) => unreachable!("no key but ours"),
    }
}

/// A view of the elements of `x` in a larger tensor, which has `beside[0]` values of `around` in front of them along `axis`, and
/// `beside[1]` behind them.
pub fn amid(
    x: &StridedTensor,
    axis: usize,
    beside: [usize; 2],
    around: f32,
    format: MemoryFormat,
) -> StridedTensor {
    let pads: Vec<usize> =
        (0..x.rank()).rev().flat_map(|d| if d == axis { beside } else { [0; 2] }).collect();
    let wide = ops::pad(x, &pads, PadMode::Constant(around.into())).unwrap();
    wide.contiguous(format).unwrap().narrow(axis, beside[0], x.dims()[axis]).unwrap()
}

/// A grid for `grid_sample`: one point of each image of `t`, which reads several pixels.
fn grid_for(t: &Tensor) -> StridedTensor {
    let dims = blocktensor::Operand::tensor_ref(t).dims();
    let spatial = dims.len().saturating_sub(2);
    let batch = dims.first().copied().unwrap_or(1);
    let grid = [&[batch][..], &vec![1; spatial], &[spatial]].concat();
    StridedTensor::full(&grid, 0.3f32, MemoryFormat::Contiguous).unwrap()
}

/// A value for every argument of an op that has no default: `t` for data operands, 17 numbers for parameters.
pub fn arguments(op: &Op, t: &Tensor) -> Vec<(&'static str, Value)> {
    let vector = StridedTensor::from_slice(&[1f32; 17], &[17]).unwrap();
    let mut values = Vec::new();
    for a in op.schema().args {
        let value: Value = match a.kind {
            ArgKind::Param if a.name.ends_with("zero_point") => {
                StridedTensor::from_slice(&[0i32; 17], &[17]).unwrap().into()
            }
            _ if a.name == "values" && op.schema().name == "lookup" => {
                StridedTensor::from_slice(&[7u8; 256], &[256]).unwrap().into()
            }
            // Some take no numbers: what is dequantised, or looked up.
            ArgKind::Data if a.dtypes.list().is_some_and(|list| !list.contains(&blocktensor::DType::F32)) => {
                ops::to_dtype(t, blocktensor::DType::U8).unwrap_or_else(|_| t.clone()).into()
            }
            ArgKind::Data => t.clone().into(),
            ArgKind::DataList => vec![t.clone(), t.clone()].into(),
            ArgKind::Param => vector.clone().into(),
            ArgKind::Plain => grid_for(t).into(),
            ArgKind::Int(None) => 1i64.into(),
            ArgKind::Ints(None) => vec![1i64].into(),
            ArgKind::Float(None) => 1f64.into(),
            ArgKind::Bool(None) => false.into(),
            ArgKind::Str(None) => "".into(),
            _ => continue,
        };
        values.push((a.name, value));
    }
    values
}

/// Every element-wise op of one operand, except `prelu`: its arguments are `x` and numbers with defaults.
pub fn unary_ops() -> impl Iterator<Item = &'static Op> {
    dispatch::ops().into_iter().filter(|op| {
        // Ops of other crates, which other tests register, have no kernel for this key.
        let is_ours = op.kernel(DispatchKey::STRIDED).is_some();
        let mut params = op.schema().args.iter().skip(1);
        let takes_numbers = params.all(|p| matches!(p.kind, ArgKind::Float(Some(_))));
        is_ours && takes_numbers && crate::readme::is_unary(op)
    })
}
