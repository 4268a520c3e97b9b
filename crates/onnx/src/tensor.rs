//! Tensors of a model as constants.

use blocktensor::StridedTensor;
use blocktensor_graph::{Constant, ElementType, Integer};
use rten_onnx::onnx::{DataLocation, DataType, TensorProto};

use crate::adopt;
use crate::declared::known;
use crate::error::{Error, Result};
use crate::external::External;
use crate::lists::{collect, collect_results, numel, words};

/// The constant that a tensor of the file is. `what` names it in errors. Its data is moved out of the message.
pub(crate) fn constant(what: &str, tensor: &mut TensorProto, external: &External) -> Result<Constant> {
    let dims = tensor.dims.iter().map(|&d| usize::try_from(d)).collect::<Result<Vec<_>, _>>();
    let dims = dims.map_err(|_| {
        Error::invalid(what, format!("{:?}", tensor.dims), "sizes are not negative", "export the model again")
    })?;
    if dims.len() > blocktensor::MAX_RANK {
        let rule = format!("tensors have at most {} axes", blocktensor::MAX_RANK);
        return Err(Error::invalid(
            what,
            format!("{} axes", dims.len()),
            rule,
            "reshape it before the export",
        ));
    }
    // Strides are products too, with a size of 0 counted as 1.
    let count = numel(&dims).filter(|_| {
        let strides = dims.iter().try_fold(4usize, |n, &d| n.checked_mul(d.max(1)));
        strides.is_some_and(|n| n <= isize::MAX as usize)
    });
    let Some(count) = count else {
        let rule = "the number of elements overflows";
        return Err(Error::invalid(what, format!("{dims:?}"), rule, "export the model again"));
    };
    let of = tensor.data_type.unwrap_or(DataType(0));
    let width = match of {
        DataType::FLOAT | DataType::INT32 | DataType::UINT32 => 4,
        DataType::INT64 | DataType::UINT64 => 8,
        DataType::INT8 | DataType::UINT8 | DataType::BOOL => 1,
        DataType::INT16 | DataType::UINT16 => 2,
        other => {
            // From here on ONNX has the types of quantised models: floats of 8 bits, and what has 4 and 2.
            let remedy = match other.0 {
                17.. => "quantise the model with integers of 8 bits, or export it with f32 numbers",
                _ => "export the model with f32 numbers and integer indices",
            };
            return Err(Error::unsupported(what, format!("the data type {other}"), remedy));
        }
    };
    let bytes = if tensor.data_location == Some(DataLocation::EXTERNAL) {
        let Some(bytes) = count.checked_mul(width) else {
            return Err(Error::invalid(
                what,
                format!("{dims:?}"),
                "the bytes overflow",
                "export the model again",
            ));
        };
        let part = external.find(what, &tensor.external_data, bytes)?;
        if of == DataType::FLOAT {
            return Ok(Constant::F32(external.tensor(&part, &dims)?));
        }
        Some(external.read(&part)?)
    } else {
        // Some writers leave an empty field beside the list that is used.
        let is_listed =
            !tensor.float_data.is_empty() || !tensor.int32_data.is_empty() || !tensor.int64_data.is_empty();
        let raw = tensor.raw_data.take().map(std::cell::RefCell::into_inner);
        raw.filter(|bytes| !(bytes.is_empty() && is_listed))
    };
    let wrong = |got: usize, unit: &str| {
        let rule = format!("{of} {dims:?} has {count} elements");
        Error::invalid(what, format!("{got} {unit}"), rule, "the file is damaged: export the model again")
    };
    if let Some(bytes) = &bytes
        && Some(bytes.len()) != count.checked_mul(width)
    {
        return Err(wrong(bytes.len(), "bytes of data"));
    }
    if of == DataType::FLOAT
        && let Some(bytes) = bytes
    {
        return Ok(Constant::F32(adopt::tensor(bytes, &dims)?));
    }
    let bytes = bytes.as_deref();
    let listed = |got: usize| if got == count { Ok(()) } else { Err(wrong(got, "values")) };
    let integer = match known(of) {
        Some(ElementType::Int(integer)) => integer,
        _ => Integer::I64,
    };
    let ints = |values: Vec<i64>| Constant::Int { of: integer, dims: dims.clone(), values };
    Ok(match of {
        DataType::FLOAT => {
            let values = std::mem::take(&mut tensor.float_data);
            listed(values.len())?;
            Constant::F32(StridedTensor::from_slice(&values, &dims)?)
        }
        DataType::INT64 => {
            let values = match bytes {
                Some(bytes) => words(bytes, i64::from_le_bytes)?,
                None => std::mem::take(&mut tensor.int64_data),
            };
            listed(values.len())?;
            ints(values)
        }
        DataType::UINT64 | DataType::UINT32 if bytes.is_none() => {
            // `uint64_data`: the parser does not read it.
            let remedy = "store its data as raw bytes";
            return Err(Error::unsupported(what, format!("{of} data in a list of its own"), remedy));
        }
        DataType::UINT64 => {
            let values = words(bytes.unwrap_or_default(), u64::from_le_bytes)?;
            let narrow = values.into_iter().map(|v| {
                i64::try_from(v).map_err(|_| {
                    Error::invalid(
                        what,
                        "an integer of 2^63 or more",
                        "integers are read as i64",
                        "use smaller ones",
                    )
                })
            });
            ints(collect_results(narrow)?)
        }
        DataType::BOOL => {
            let values: Vec<bool> = match bytes {
                Some(bytes) => collect(bytes.iter().map(|&b| b != 0))?,
                None => collect(tensor.int32_data.iter().map(|&v| v != 0))?,
            };
            listed(values.len())?;
            Constant::Bool { dims, values }
        }
        _ => {
            let values: Vec<i64> = match (of, bytes) {
                (_, None) => collect(tensor.int32_data.iter().map(|&v| i64::from(v)))?,
                (DataType::INT32, Some(b)) => words(b, |w| i64::from(i32::from_le_bytes(w)))?,
                (DataType::UINT32, Some(b)) => words(b, |w| i64::from(u32::from_le_bytes(w)))?,
                (DataType::INT16, Some(b)) => words(b, |w| i64::from(i16::from_le_bytes(w)))?,
                (DataType::UINT16, Some(b)) => words(b, |w| i64::from(u16::from_le_bytes(w)))?,
                (DataType::INT8, Some(b)) => words(b, |w| i64::from(i8::from_le_bytes(w)))?,
                (_, Some(b)) => words(b, |w| i64::from(u8::from_le_bytes(w)))?,
            };
            listed(values.len())?;
            if let Some(v) = values.iter().find(|v| integer.wrap(**v) != **v) {
                let rule = format!("{integer} does not hold it");
                return Err(Error::invalid(what, v, rule, "the file is damaged: export the model again"));
            }
            ints(values)
        }
    })
}
