//! The list of bad calls by name through Rust and through C: the same code and text, and operands are unchanged.

use std::ffi::{CStr, CString};

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, MemoryFormat, Operand, Tensor};
use blocktensor_c::words::C;
use blocktensor_c::*;

#[path = "../../tests/catalogue/cases.rs"]
mod cases;
mod support;

use cases::{Case, cases, plain};

/// An argument as C passes it. `kept` keeps alive what it points to.
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
    let export = t.to_dlpack().unwrap();
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
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().unwrap();
    support::words::check(text);
    (bt_last_error_code(), text.to_string())
}

#[test]
fn bad_calls_by_name_give_the_same_error_in_rust_and_c() {
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
        let text = e.told(&C("bt_call"));
        assert_eq!((status, last()), (e.code(), (e.code(), text)), "{what}");
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
