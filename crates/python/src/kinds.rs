//! Tensors of other libraries that are not numbers in memory, and their libraries' ways to one that is.

use blocktensor::DType;
use pyo3::prelude::*;

use crate::tensor::foreign_name;

/// A kind of tensor that is not shared.
pub(crate) struct Kind {
    /// What it is.
    pub(crate) got: &'static str,
    pub(crate) remedy: &'static str,
    /// Whether it is of this kind. What is asked of it may mean another thing in another library, or raise.
    is: fn(&Bound<'_, PyAny>) -> PyResult<bool>,
}

/// Numbers of PyTorch that are those in memory with the other sign, which its `__dlpack__` does not say.
pub(crate) const NEGATED: Kind = Kind {
    got: "a tensor that PyTorch marks as negated",
    remedy: "pass `x.resolve_neg()`",
    is: |x| answer(x, "is_neg"),
};

/// Numbers of numpy of which some do not count, which neither its `__dlpack__` nor its buffer says.
pub(crate) const MASKED: Kind = Kind {
    got: "an array with masked elements, whose mask would be lost",
    remedy: "pass `x.filled(0.0)`, with a number that stands for them",
    is: |x| x.getattr("mask")?.call_method0("any")?.is_truthy(),
};

/// The kinds, in the order in which their remedies are followed: of a sparse tensor with a gradient, `x.to_dense()` has one too.
const KINDS: [Kind; 14] = [
    Kind {
        got: "a part of a tensor inside of `torch.func` (`vmap`, `grad`)",
        remedy: "call it outside of the transform, on the whole tensor",
        is: is_transformed,
    },
    Kind {
        got: "a stand-in of a trace, which has no data",
        remedy: "pass a tensor with elements, made outside of the trace",
        is: |x| x.hasattr("fake_mode"),
    },
    Kind {
        got: "a tensor on the device `meta`, which has no data",
        remedy: "make it on the CPU, with elements: `torch.zeros_like(x, device=\"cpu\")`",
        is: |x| x.getattr("is_meta")?.extract(),
    },
    Kind {
        got: "a nested tensor",
        remedy: "pass its tensors one by one (`x.unbind()`), or `torch.nested.to_padded_tensor(x, 0.0)`",
        is: |x| x.getattr("is_nested")?.extract(),
    },
    Kind {
        got: "a quantised tensor",
        remedy: "pass `x.dequantize()`",
        is: |x| x.getattr("is_quantized")?.extract(),
    },
    Kind {
        got: "a tensor that is not dense",
        remedy: "pass `x.to_dense()`",
        is: |x| Ok(x.hasattr("to_dense")? && x.getattr("layout")?.str()? != "torch.strided"),
    },
    Kind {
        got: "a tensor that PyTorch marks as conjugated, of complex numbers",
        remedy: "pass a part of its numbers: `x.resolve_conj().real.float()` or `x.resolve_conj().imag.float()`",
        is: |x| answer(x, "is_conj"),
    },
    Kind {
        got: "a tensor of complex numbers",
        remedy: "pass a part of its numbers: `x.real.float()` or `x.imag.float()`",
        is: |x| answer(x, "is_complex"),
    },
    Kind {
        got: "an array of complex numbers",
        remedy: "pass a part of its numbers: `x.real.astype(\"float32\")` or `x.imag.astype(\"float32\")`",
        is: |x| is_of_kind(x, "c"),
    },
    Kind {
        got: "an array of text",
        remedy: "make numbers of it first: `x.astype(\"float32\")` where each text is one, else codes such as \
                 `numpy.unique(x, return_inverse=True)[1]`",
        is: |x| is_of_kind(x, "UST"),
    },
    Kind {
        got: "an array of Python objects",
        remedy: "make numbers of it first: `x.astype(\"float32\")` where each object is one; of arrays in a list `numpy.stack`",
        is: |x| is_of_kind(x, "O"),
    },
    Kind {
        got: "an array of dates or times",
        remedy: "make numbers of it first, such as days since a date: `((x - x.min()) / numpy.timedelta64(1, \"D\")).astype(\"float32\")`",
        is: |x| is_of_kind(x, "Mm"),
    },
    Kind {
        got: "an array of records",
        remedy: "pass one of their fields: `x[\"name\"]`",
        is: |x| Ok(is_of_kind(x, "V")? && !x.getattr("dtype")?.getattr("names")?.is_none()),
    },
    Kind {
        got: "a tensor that requires a gradient",
        remedy: "pass `x.detach()`",
        is: |x| x.getattr("requires_grad")?.extract(),
    },
];

/// Whether it is an array of numpy whose dtype has one of these letters.
fn is_of_kind(x: &Bound<'_, PyAny>, letters: &str) -> PyResult<bool> {
    Ok(x.hasattr("astype")? && letters.contains(x.getattr("dtype")?.getattr("kind")?.extract::<char>()?))
}

fn answer(x: &Bound<'_, PyAny>, question: &str) -> PyResult<bool> {
    x.call_method0(question)?.extract()
}

fn is_transformed(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = x.py().import("sys")?.getattr("modules")?;
    let functions = modules.get_item("torch._C._functorch")?;
    functions.call_method1("is_functorch_wrapped_tensor", (x,))?.extract()
}

/// The kind of an object that could not be shared.
pub(crate) fn of(x: &Bound<'_, PyAny>) -> Option<&'static Kind> {
    const ALL: &[Kind] = &KINDS;
    ALL.iter().find(|kind| (kind.is)(x).unwrap_or(false))
}

/// Whether it is [`NEGATED`], which is asked of every tensor.
pub(crate) fn is_negated(x: &Bound<'_, PyAny>) -> bool {
    match x.getattr_opt("is_neg") {
        Ok(Some(is_neg)) => is_neg.call0().and_then(|answer| answer.extract()).unwrap_or(false),
        _ => false,
    }
}

/// Whether it is [`MASKED`], which is asked of every tensor.
pub(crate) fn is_masked(x: &Bound<'_, PyAny>) -> bool {
    matches!(x.getattr_opt("filled"), Ok(Some(_))) && (MASKED.is)(x).unwrap_or(false)
}

/// How other libraries make a tensor that this one takes of numbers of this dtype.
pub(crate) fn convert(got: &str, takes: Option<DType>) -> String {
    let taken = takes.map(|dtype| foreign_name(dtype.name()));
    let names: &[&str] = match (&taken, got) {
        (Some(taken), _) => std::slice::from_ref(taken),
        (_, "bool") => &["uint8", "float32"],
        _ if got.starts_with(['s', 'u']) => &["int32", "float32"],
        _ => &["float32"],
    };
    let all = |call: &str, quote: &str| {
        let calls = names.iter().map(|name| format!("`{call}{quote}{name}{quote})`"));
        calls.collect::<Vec<_>>().join(" or ")
    };
    let (numpy, torch) = (all(".astype(", "\""), all(".to(torch.", ""));
    // Both libraries wrap what does not fit, and say nothing.
    let fits = match (names.contains(&"int32"), got) {
        (true, "s64" | "u64" | "u32") => ", if its numbers fit into 32 bits: others would be changed",
        _ => "",
    };
    format!("convert it first: a numpy array with {numpy}, a tensor of torch with {torch}{fits}")
}
