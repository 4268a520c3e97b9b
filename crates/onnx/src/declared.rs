//! What a model says about its values: types and sizes.

use blocktensor_graph::{Constant, Dim, ElementType, Integer};
use rten_onnx::onnx::{DataType, ValueInfoProto};

use crate::error::{Error, Result};

/// The type of the elements of a tensor, in the words of [`ElementType`]. `None` if it is not said: a type may also be empty.
pub(crate) fn element_type(value: &ValueInfoProto) -> Option<String> {
    let of = value.r#type.as_ref()?;
    let Some(tensor) = of.tensor_type.as_ref() else {
        return of.sequence.as_ref().map(|_| "no tensor".to_string());
    };
    let of = tensor.elem_type?;
    match of {
        DataType(0) => None,
        of => Some(known(of).map_or_else(|| of.to_string(), |of| of.to_string())),
    }
}

/// The element type that stands for one of ONNX's, where there is one.
pub(crate) fn known(of: DataType) -> Option<ElementType> {
    let integer = match of {
        DataType::FLOAT => return Some(ElementType::F32),
        DataType::BOOL => return Some(ElementType::Bool),
        DataType::INT8 => Integer::I8,
        DataType::INT16 => Integer::I16,
        DataType::INT32 => Integer::I32,
        DataType::INT64 => Integer::I64,
        DataType::UINT8 => Integer::U8,
        DataType::UINT16 => Integer::U16,
        DataType::UINT32 => Integer::U32,
        DataType::UINT64 => Integer::U64,
        _ => return None,
    };
    Some(ElementType::Int(integer))
}

/// Compares an initializer with the input of its name.
pub(crate) fn check_initializer(
    name: &str,
    constant: &Constant,
    of: ElementType,
    dims: &[Dim],
) -> Result<()> {
    let agrees = constant.dims().len() == dims.len()
        && dims.iter().zip(constant.dims()).all(|(dim, &size)| match dim {
            Dim::Size(own) => *own == size,
            Dim::Named(_) => true,
        });
    if agrees && of == constant.element_type() {
        return Ok(());
    }
    let got = format!("{} {:?}", constant.element_type(), constant.dims());
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let rule = format!("the input of this name is {of} [{}]", dims.join(", "));
    Err(Error::invalid(format!("initializer `{name}`"), got, rule, "export the model again"))
}

/// The type and the sizes of a graph's input.
pub(crate) fn input_type(name: &str, input: &ValueInfoProto) -> Result<(ElementType, Vec<Dim>)> {
    let what = format!("input `{name}`");
    check_name(name)?;
    let Some(tensor) = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
        return Err(Error::unsupported(
            what,
            "an input that is not a tensor",
            "export the model with tensors",
        ));
    };
    let given = tensor.elem_type.unwrap_or(DataType(0));
    // Runs hold integers as s32, and bytes as u8.
    let is_held =
        |of: &ElementType| !matches!(of, ElementType::Int(Integer::U16 | Integer::U32 | Integer::U64));
    let Some(of) = known(given).filter(is_held) else {
        let remedy = "export the model with f32 numbers, or an input of integers as INT32 or INT64";
        return Err(Error::unsupported(what, format!("the data type {given}"), remedy));
    };
    let Some(shape) = &tensor.shape else {
        return Err(Error::unsupported(
            what,
            "an input of unknown rank",
            "export the model with a shape for it",
        ));
    };
    if shape.dim.len() > blocktensor::MAX_RANK {
        let rule = format!("tensors have at most {} axes", blocktensor::MAX_RANK);
        return Err(Error::invalid(
            what,
            format!("{} axes", shape.dim.len()),
            rule,
            "reshape it before the model",
        ));
    }
    shape.dim.iter().filter_map(|dim| dim.dim_param.as_deref()).try_for_each(check_name)?;
    let dims =
        shape.dim.iter().enumerate().map(|(axis, dim)| match (dim.dim_value, dim.dim_param.as_deref()) {
            (Some(size), _) if size >= 0 => Dim::Size(size as usize),
            (_, Some(name)) if !name.is_empty() => Dim::Named(name.to_string()),
            _ => Dim::Named(format!("{name}_{axis}")),
        });
    Ok((of, dims.collect()))
}

/// Names stand in errors of one line, in lists and in plans.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if !name.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::invalid(
        format!("the name {name:?}"),
        "a control character",
        "names have none",
        "rename it, or export the model again",
    ))
}
