//! One list of bad calls, run through Rust and through C: the same code, the same text, and nothing changed.

use std::ffi::{CStr, CString};

use blocktensor::dispatch::{self, Value};
use blocktensor::{BlockedTensor, DType, Layout, MemoryFormat, Operand, StridedTensor, Tensor};
use blocktensor_c::*;

/// What a case is given, by name.
type Given = Vec<(&'static str, Value)>;

/// Row of the catalogue, op, arguments, code, and what the text must hold.
struct Case(u32, &'static str, Given, i32, &'static [&'static str]);

fn strided(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 11) as f32 - 5.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

fn plain(dims: &[usize]) -> Value {
    strided(dims).into()
}

fn typed(dims: &[usize], dtype: DType) -> Value {
    strided(dims).to_dtype(dtype).unwrap().into()
}

fn blocked(dims: &[usize], block: usize) -> Value {
    let b: BlockedTensor =
        strided(dims).to_blocked(&Layout::blocked_activation(dims.len(), block).unwrap()).unwrap();
    b.into()
}

fn list(tensors: Vec<Value>) -> Value {
    Value::Tensors(
        tensors.into_iter().map(|t| if let Value::Tensor(t) = t { t } else { unreachable!() }).collect(),
    )
}

fn ints(values: &[i64]) -> Value {
    values.into()
}

/// A convolution of 8 channels into 12 with one argument more, or another.
fn conv(change: &[(&'static str, Value)]) -> Given {
    let mut given = vec![("x", plain(&[1, 8, 6, 5])), ("weights", plain(&[12, 8, 3, 3]))];
    for (name, value) in change {
        given.retain(|(n, _)| n != name);
        given.push((name, value.clone()));
    }
    given
}

fn cases() -> Vec<Case> {
    let x = || ("x", plain(&[2, 8, 6, 5]));
    let xb = || ("x", blocked(&[2, 8, 6, 5], 16));
    vec![
        Case(
            1,
            "cumsum",
            vec![xb(), ("axis", 1.into())],
            1,
            &["cumsum", "nChw16c", "[2, 8, 6, 5]", "to_strided"],
        ),
        Case(
            1,
            "matmul",
            vec![("a", blocked(&[1, 8, 4, 4], 8)), ("b", blocked(&[1, 8, 4, 4], 8))],
            1,
            &["nChw8c"],
        ),
        Case(
            7,
            "add",
            vec![("a", plain(&[1, 8, 2, 2])), ("b", blocked(&[1, 8, 2, 2], 16))],
            2,
            &["strided", "blocked"],
        ),
        Case(
            7,
            "batch_norm",
            vec![x(), ("mean", blocked(&[1, 8, 1, 1], 8)), ("var", plain(&[8]))],
            2,
            &["mean", "parameters"],
        ),
        Case(
            8,
            "add",
            vec![("a", blocked(&[1, 8, 2, 2], 8)), ("b", blocked(&[1, 8, 2, 2], 16))],
            3,
            &["nChw8c", "nChw16c"],
        ),
        Case(11, "relu", vec![("x", typed(&[4], DType::U8))], 4, &["u8", "f32"]),
        Case(11, "conv2d", conv(&[("x", typed(&[1, 8, 6, 5], DType::F16))]), 4, &["f16"]),
        Case(
            12,
            "cat",
            vec![("tensors", list(vec![plain(&[2, 2]), typed(&[2, 2], DType::S32)])), ("axis", 0.into())],
            5,
            &["s32"],
        ),
        Case(14, "conv2d", conv(&[("x", plain(&[8, 6]))]), 6, &["rank 2", "rank 4"]),
        Case(14, "conv2d", conv(&[("x", plain(&[1, 1, 1, 8, 6, 5]))]), 6, &["rank 6"]),
        Case(15, "conv2d", conv(&[("weights", plain(&[12, 7, 3, 3]))]), 7, &["8 channels", "7"]),
        Case(16, "conv2d", conv(&[("bias", plain(&[11]))]), 7, &["[11]", "12"]),
        Case(17, "conv2d", conv(&[("groups", 0.into())]), 8, &["groups", "0"]),
        Case(17, "conv2d", conv(&[("groups", (-2).into())]), 8, &["-2"]),
        Case(
            18,
            "conv2d",
            conv(&[("groups", 8.into()), ("weights", plain(&[12, 1, 3, 3]))]),
            8,
            &["12", "8 groups"],
        ),
        Case(19, "conv2d", conv(&[("stride", ints(&[1, 0]))]), 8, &["stride", "axis 1"]),
        Case(19, "conv2d", conv(&[("stride", ints(&[-1, 1]))]), 8, &["negative"]),
        Case(20, "conv2d", conv(&[("dilation", ints(&[0, 1]))]), 8, &["dilation", "1"]),
        Case(21, "conv2d", conv(&[("padding", ints(&[-1, 1]))]), 8, &["negative"]),
        Case(22, "conv2d", conv(&[("weights", plain(&[12, 8, 0, 3]))]), 8, &["axis 0"]),
        Case(23, "conv2d", conv(&[("weights", plain(&[12, 8, 7, 3]))]), 7, &["7", "6"]),
        Case(24, "conv2d", conv(&[("dilation", ints(&[i64::MAX, 1]))]), 9, &["dilation"]),
        Case(
            25,
            "conv2d",
            conv(&[("x", plain(&[1, 0, 6, 5])), ("weights", plain(&[12, 0, 3, 3]))]),
            8,
            &["channel"],
        ),
        Case(26, "max_pool2d", vec![x(), ("kernel", ints(&[2, 2])), ("padding", ints(&[2, 0]))], 8, &["2"]),
        Case(
            19,
            "max_pool2d",
            vec![x(), ("kernel", ints(&[2, 2])), ("stride", ints(&[0, 1]))],
            8,
            &["stride"],
        ),
        Case(22, "avg_pool2d", vec![x(), ("kernel", ints(&[0, 2]))], 8, &["kernel"]),
        Case(27, "batch_norm", vec![x(), ("mean", plain(&[7])), ("var", plain(&[8]))], 7, &["mean", "[7]"]),
        Case(
            28,
            "batch_norm",
            vec![x(), ("mean", plain(&[8])), ("var", plain(&[8])), ("eps", f64::NAN.into())],
            8,
            &["NaN"],
        ),
        Case(
            28,
            "batch_norm",
            vec![x(), ("mean", plain(&[8])), ("var", plain(&[8])), ("eps", 0.0.into())],
            8,
            &["var"],
        ),
        Case(
            29,
            "cat",
            vec![("tensors", list(vec![plain(&[2, 3]), plain(&[2, 4])])), ("axis", 0.into())],
            7,
            &["[2, 4]"],
        ),
        Case(29, "cat", vec![("tensors", list(vec![plain(&[2, 3])])), ("axis", 5.into())], 8, &["axis"]),
        Case(30, "add", vec![("a", plain(&[2, 3])), ("b", plain(&[4]))], 7, &["[2, 3]", "[4]"]),
        Case(31, "pad", vec![x(), ("padding", ints(&[i64::MAX / 8, 0]))], 9, &["pad"]),
        Case(0, "no_such_op", vec![x()], 8, &["no_such_op", "ops()"]),
        Case(0, "relu", vec![x(), ("alpha", 1.0.into())], 8, &["alpha", "no such argument"]),
        Case(0, "relu", vec![], 8, &["x", "nothing"]),
        Case(0, "relu", vec![("x", 3.into())], 8, &["a data tensor"]),
        Case(0, "softmax", vec![x(), ("axis", 4.into())], 8, &["axis", "4"]),
        Case(0, "conv2d", conv(&[("post_ops", "gelu!".into())]), 8, &["gelu!", "hardswish"]),
        Case(0, "conv2d", conv(&[("post_ops", "residual".into())]), 8, &["residual"]),
        Case(0, "linear", vec![("x", plain(&[2, 5])), ("weights", plain(&[3, 4]))], 7, &["5", "4"]),
        Case(0, "matmul", vec![("a", plain(&[2, 5])), ("b", plain(&[4, 3]))], 7, &["[2, 5]"]),
        Case(0, "pixel_shuffle", vec![x(), ("factor", 3.into())], 8, &["factor"]),
        Case(0, "channel_shuffle", vec![x(), ("groups", 3.into())], 8, &["groups", "3"]),
        Case(0, "group_norm", vec![x(), ("groups", 3.into())], 8, &["groups"]),
        Case(0, "topk", vec![x(), ("k", 99.into()), ("axis", 1.into())], 8, &["99"]),
    ]
}

/// The argument as C passes it; what it points to is kept alive in `kept`.
struct Passed {
    arg: bt_arg,
    _name: CString,
    _text: CString,
    _ints: Vec<i64>,
    handles: Vec<bt_handle>,
}

fn give(t: &Tensor) -> bt_handle {
    let (t, layout) = match t {
        Tensor::Strided(s) => (s.clone(), None),
        Tensor::Blocked(b) => (b.to_strided(MemoryFormat::Contiguous).unwrap(), Some(b.layout().to_string())),
        Tensor::Opaque(_) => unreachable!(),
    };
    let dims: Vec<i64> = t.dims().iter().map(|&d| d as i64).collect();
    let dtype = DType::ALL.iter().position(|&d| d == t.dtype()).unwrap() as i32;
    let export = t.to_dlpack();
    let (mut plain, mut blocked) = (0, 0);
    // SAFETY: a live tensor of ours, given back below; places for results.
    unsafe {
        let d = export.as_ref().dl_tensor;
        let bytes = t.numel() * t.dtype().size_bytes();
        let made = bt_tensor_from_data(
            dtype,
            dims.len(),
            dims.as_ptr(),
            std::ptr::null(),
            d.data,
            bytes,
            &mut plain,
        );
        assert_eq!(made, 0);
        export.as_ref().deleter.unwrap()(export.as_ptr());
        let Some(layout) = layout else { return plain };
        let layout = CString::new(layout).unwrap();
        assert_eq!(bt_to_blocked(plain, layout.as_ptr(), &mut blocked), 0);
    }
    assert_eq!(bt_free(plain), 0);
    blocked
}

fn pass(name: &str, value: &Value) -> Passed {
    let mut p = Passed {
        arg: bt_arg {
            name: std::ptr::null(),
            kind: 0,
            number: 0,
            real: 0.0,
            text: std::ptr::null(),
            integers: std::ptr::null(),
            tensors: std::ptr::null(),
            count: 0,
        },
        _name: CString::new(name).unwrap(),
        _text: CString::default(),
        _ints: Vec::new(),
        handles: Vec::new(),
    };
    match value {
        Value::Tensor(t) => (p.handles, p.arg.kind) = (vec![give(t)], 1),
        Value::Tensors(l) => (p.handles, p.arg.kind) = (l.iter().map(give).collect(), 2),
        Value::Int(v) => (p.arg.number, p.arg.kind) = (*v, 3),
        Value::Ints(v) => (p._ints, p.arg.kind) = (v.clone(), 4),
        Value::Float(v) => (p.arg.real, p.arg.kind) = (*v, 5),
        Value::Bool(v) => (p.arg.number, p.arg.kind) = (i64::from(*v), 6),
        Value::Str(v) => (p._text, p.arg.kind) = (CString::new(v.as_str()).unwrap(), 7),
        _ => unreachable!(),
    }
    p.arg.count = p.handles.len().max(p._ints.len());
    (p.arg.name, p.arg.text) = (p._name.as_ptr(), p._text.as_ptr());
    (p.arg.integers, p.arg.tensors) = (p._ints.as_ptr(), p.handles.as_ptr());
    p
}

fn last() -> (i32, String) {
    // SAFETY: the text is this thread's, until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) };
    (bt_last_error_code(), text.to_str().unwrap().to_string())
}

#[test]
fn rust_and_c_say_the_same() {
    let all = cases();
    assert!(all.len() >= 30, "{}", all.len());
    let good = pass("x", &plain(&[2, 2]));
    let mut wrong = Vec::new();
    for Case(row, op, given, code, holds) in all {
        let what = format!("row {row}, {op}");
        let e = match dispatch::call(op, &given) {
            Err(e) => e,
            Ok(_) => {
                wrong.push(format!("{what}: no error"));
                continue;
            }
        };
        if e.code() != code || !holds.iter().all(|part| e.to_string().contains(part)) {
            wrong.push(format!("{what}: {} is not {code}, or it lacks one of {holds:?}: {e}", e.code()));
        }
        let passed: Vec<Passed> = given.iter().map(|(name, value)| pass(name, value)).collect();
        let args: Vec<bt_arg> = passed.iter().map(|p| p.arg).collect();
        let name = CString::new(op).unwrap();
        let (mut out, mut count) = ([0; 4], 77);
        let live = bt_live_handles();
        // SAFETY: arguments and places as they say.
        let status = unsafe {
            bt_call(name.as_ptr(), args.as_ptr(), args.len(), out.as_mut_ptr(), out.len(), &mut count)
        };
        assert_eq!((status, last()), (e.code(), (e.code(), e.to_string())), "{what}");
        assert_eq!((out, count, bt_live_handles()), ([0; 4], 77, live), "{what}: nothing is given");
        // Operands are as they were.
        for (p, (_, value)) in passed.iter().zip(&given) {
            if let Value::Tensor(t) = value {
                let mut text = [0; 256];
                // SAFETY: a place of that length.
                let status =
                    unsafe { bt_describe(p.handles[0], text.as_mut_ptr(), text.len(), std::ptr::null_mut()) };
                assert_eq!(status, 0);
                // SAFETY: written above, NUL included.
                let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_string();
                assert_eq!(text, t.tensor_ref().describe(), "{what}");
            }
            p.handles.iter().for_each(|&h| assert_eq!(bt_free(h), 0));
        }
        // The next valid call works.
        let none = std::ptr::null_mut();
        // SAFETY: as above.
        let status = unsafe { bt_call(c"relu".as_ptr(), &good.arg, 1, out.as_mut_ptr(), 1, none) };
        assert_eq!(status, 0);
        assert_eq!(bt_free(out[0]), 0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
