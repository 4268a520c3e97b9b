//! Scales and zero points of tensors, as Python gives and reads them.

use blocktensor::{Complaint, Error, Quantization, Tensor, TensorRef};
use pyo3::IntoPyObjectExt;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{Outcome, invalid};
use crate::number::{self, Number};

/// One number, or a sequence of numbers: one for each index of an axis.
pub(crate) struct OneOrMore<T> {
    is_one: bool,
    list: Vec<Number<T>>,
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for OneOrMore<T>
where
    T: FromPyObjectOwned<'py>,
{
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<OneOrMore<T>> {
        match number::items(&x) {
            Some(items) => {
                let list = items.map(|item| item?.extract()).collect::<PyResult<_>>()?;
                Ok(OneOrMore { is_one: false, list })
            }
            None => Ok(OneOrMore { is_one: true, list: vec![x.extract()?] }),
        }
    }
}

/// The default of an argument.
impl<T> From<T> for OneOrMore<T> {
    fn from(number: T) -> OneOrMore<T> {
        OneOrMore { is_one: true, list: vec![number.into()] }
    }
}

/// The parameters of a call for a tensor of this rank. A single number beside a list is for all of its indices.
pub(crate) fn parameters(
    op: &'static str,
    rank: usize,
    scale: OneOrMore<f64>,
    zero_point: OneOrMore<i64>,
    axis: Option<Number<i64>>,
) -> Outcome<Quantization> {
    let (one_scale, one_zero_point) = (scale.is_one, zero_point.is_one);
    let in_f32 = |scale: f64| {
        let narrow = scale as f32;
        if narrow.is_finite() || !scale.is_finite() {
            return Ok(narrow);
        }
        let rule = "scales are numbers of f32".to_string();
        Err(invalid(op, "scale", format!("{scale:e}"), rule, "pass a number that is nearer to 0"))
    };
    let mut scales: Vec<f32> =
        number::all(op, "scale", scale.list)?.into_iter().map(in_f32).collect::<Outcome<_>>()?;
    let narrow = |zero_point: i64| {
        i32::try_from(zero_point).map_err(|_| {
            let rule = "zero points are integers of the tensor's dtype".to_string();
            invalid(op, "zero_point", zero_point.to_string(), rule, "pass a number that is nearer to 0")
        })
    };
    let mut zero_points: Vec<i32> =
        number::all(op, "zero_point", zero_point.list)?.into_iter().map(narrow).collect::<Outcome<_>>()?;
    match (one_scale, one_zero_point) {
        (false, true) => zero_points = vec![zero_points[0]; scales.len()],
        (true, false) => scales = vec![scales[0]; zero_points.len()],
        _ => {}
    }
    let axis = match number::maybe(op, "axis", axis)? {
        None if one_scale && one_zero_point => None,
        None => {
            let rule = "lists have one number for each index of an axis".to_string();
            let got = format!("None beside {} scales and zero points", scales.len());
            return Err(invalid(op, "axis", got, rule, "pass the axis, or one number of each"));
        }
        Some(axis) => {
            let from_front = if axis < 0 { axis + rank as i64 } else { axis };
            let Some(found) = usize::try_from(from_front).ok().filter(|&axis| axis < rank) else {
                let rule = format!("the tensor has {rank} axes");
                return Err(invalid(op, "axis", axis.to_string(), rule, "name an existing axis"));
            };
            Some(found)
        }
    };
    Ok(Quantization { axis, scales, zero_points })
}

/// Numbers as a property: one if they are for the whole tensor, otherwise a tuple.
fn property<'py, T>(py: Python<'py>, of: &Quantization, numbers: &[T]) -> PyResult<Bound<'py, PyAny>>
where
    T: Copy + IntoPyObject<'py>,
{
    match of.axis {
        None => numbers[0].into_bound_py_any(py),
        Some(_) => PyTuple::new(py, numbers.iter().copied())?.into_bound_py_any(py),
    }
}

/// The property `scale`.
pub(crate) fn scale<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    t.quantization().map(|of| property(py, of, &of.scales)).transpose()
}

/// The property `zero_point`.
pub(crate) fn zero_point<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    t.quantization().map(|of| property(py, of, &of.zero_points)).transpose()
}

/// What a representation says of a tensor's scales and zero points; nothing if it has none.
pub(crate) fn shown(t: &Tensor) -> String {
    match t.quantization() {
        None => String::new(),
        Some(Quantization { axis: Some(axis), .. }) => format!("scales along axis {axis}"),
        Some(of) => format!("scale {}, zero point {}", of.scales[0], of.zero_points[0]),
    }
}

/// Refuses a tensor with scales and zero points, where they would get lost.
pub(crate) fn check_absent(op: &'static str, t: TensorRef<'_>) -> Outcome<()> {
    if t.quantization().is_none() {
        return Ok(());
    }
    let rule = "scales and zero points would get lost: only tensors of this package have them";
    Err(Error::UnsupportedDType(Complaint::new(op, "self", t.describe(), rule, Quantization::way_out()))
        .into())
}
