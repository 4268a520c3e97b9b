//! Negative axes and bounds, scalars, crops, rings, vectors: calls by name, with PyTorch 2.15's answers.

use blocktensor::dispatch::{self, Value};
use blocktensor::{Operand, Result, StridedTensor, Tensor};

fn tensor(values: &[f32], dims: &[usize]) -> Value {
    StridedTensor::from_slice(values, dims).unwrap().into()
}

fn counted(dims: &[usize]) -> Value {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| i as f32).collect();
    tensor(&values, dims)
}

fn scalar(value: f32) -> Value {
    tensor(&[value], &[])
}

fn indices(values: &[i32], dims: &[usize]) -> Value {
    StridedTensor::from_slice(values, dims).unwrap().into()
}

fn ints(values: &[i64]) -> Value {
    values.into()
}

fn list(tensors: &[Value]) -> Value {
    let of = |v: &Value| if let Value::Tensor(t) = v { t.clone() } else { unreachable!() };
    Value::Tensors(tensors.iter().map(of).collect())
}

fn call(op: &str, given: &[(&str, Value)]) -> Result<Vec<Tensor>> {
    dispatch::call(op, given)
}

/// The sizes and elements of the first result.
fn answer(op: &str, given: &[(&str, Value)]) -> Option<(Vec<usize>, Vec<f32>)> {
    let first = call(op, given).ok()?.remove(0);
    let Tensor::Strided(first) = first else { unreachable!("strided operands") };
    let values = first.to_dtype(blocktensor::DType::F32).unwrap().to_vec::<f32>().unwrap();
    Some((first.dims().to_vec(), values))
}

#[track_caller]
fn same(op: &str, given: &[(&str, Value)], dims: &[usize], values: &[f32]) {
    let got = answer(op, given).unwrap_or_else(|| panic!("{op}: {:?}", call(op, given).err()));
    assert_eq!(got, (dims.to_vec(), values.to_vec()), "{op}");
}

#[track_caller]
fn refused(op: &str, given: &[(&str, Value)]) {
    let error = call(op, given).expect_err(op);
    assert!(error.complaint().is_some_and(|c| !c.remedy.is_empty()), "{op}: {error}");
}

/// Ops that take axes, with what else they need.
fn with_axes() -> Vec<(&'static str, &'static str, Vec<(&'static str, Value)>, bool)> {
    let x = |dims: &[usize]| ("x", counted(dims));
    let dims = &[2, 3, 4];
    vec![
        ("softmax", "axis", vec![x(dims)], false),
        ("log_softmax", "axis", vec![x(dims)], false),
        ("cumsum", "axis", vec![x(dims)], false),
        ("sort", "axis", vec![x(dims), ("descending", true.into())], false),
        ("topk", "axis", vec![x(dims), ("k", 2.into())], false),
        ("sum", "axes", vec![x(dims)], true),
        ("mean", "axes", vec![x(dims)], true),
        ("prod", "axes", vec![x(dims)], true),
        ("amax", "axes", vec![x(dims)], true),
        ("amin", "axes", vec![x(dims)], true),
        ("argmax", "axis", vec![x(dims)], true),
        ("flip", "axes", vec![x(dims)], true),
        ("roll", "axes", vec![x(dims), ("shifts", ints(&[1]))], true),
        ("cat", "axis", vec![("tensors", list(&[counted(dims), counted(dims)]))], false),
        ("chunk", "axis", vec![x(dims), ("chunks", 2.into())], false),
        ("split", "axis", vec![x(dims), ("sizes", ints(&[1]))], false),
        ("narrow", "axis", vec![x(dims), ("start", 1.into()), ("length", 1.into())], false),
        ("slice", "axis", vec![x(dims), ("start", 1.into())], false),
        ("select", "axis", vec![x(dims), ("index", 1.into())], false),
        ("squeeze", "axis", vec![x(&[1, 1, 1])], false),
        ("flatten", "end", vec![x(dims)], false),
        ("gather", "axis", vec![x(dims), ("index", indices(&[1, 0], &[2, 1, 1]))], false),
        ("index_select", "axis", vec![x(dims), ("index", indices(&[1, 0], &[2]))], false),
    ]
}

#[test]
fn negative_axes_count_from_the_last() {
    for (op, name, given, is_list) in with_axes() {
        let with = |axis: i64| {
            let axis = if is_list { ints(&[axis]) } else { axis.into() };
            answer(op, &[given.clone(), vec![(name, axis)]].concat())
        };
        for axis in 0..3 {
            let front = with(axis);
            assert!(front.is_some(), "{op} {axis}");
            assert_eq!(front, with(axis - 3), "{op} {axis}");
        }
        for axis in [3, -4, i64::MAX, i64::MIN] {
            let axis = if is_list { ints(&[axis]) } else { axis.into() };
            refused(op, &[given.clone(), vec![(name, axis)]].concat());
        }
    }
    for (op, axis, dims) in [("stack", -1, [2, 2]), ("stack", -2, [2, 2]), ("stack", 1, [2, 2])] {
        let want = if axis == -2 { [0.0, 1.0, 0.0, 1.0] } else { [0.0, 0.0, 1.0, 1.0] };
        let given = [("tensors", list(&[counted(&[2]), counted(&[2])])), ("axis", axis.into())];
        same(op, &given, &dims, &want);
    }
    let x = || ("x", counted(&[2, 3]));
    same("unsqueeze", &[x(), ("axis", (-1).into())], &[2, 3, 1], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    refused("unsqueeze", &[x(), ("axis", (-4).into())]);
    let turned = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    same("permute", &[x(), ("axes", ints(&[-1, 0]))], &[3, 2], &turned);
    same("transpose", &[x(), ("a", (-2).into()), ("b", (-1).into())], &[3, 2], &turned);
    for op in ["permute", "flip", "sum"] {
        refused(op, &[x(), ("axes", ints(&[-1, 1]))]);
    }
}

#[test]
fn scalars_have_one_axis_where_they_have_it_in_pytorch() {
    let x = || ("x", scalar(3.0));
    for axis in [0, -1] {
        for (op, want) in [("softmax", 1.0), ("log_softmax", 0.0), ("cumsum", 3.0), ("sort", 3.0)] {
            same(op, &[x(), ("axis", axis.into())], &[], &[want]);
        }
        same("topk", &[x(), ("k", 1.into()), ("axis", axis.into())], &[], &[3.0]);
        for op in ["sum", "mean", "prod", "amax", "amin", "flip"] {
            same(op, &[x(), ("axes", ints(&[axis]))], &[], &[3.0]);
        }
        same("sum", &[x(), ("axes", ints(&[axis])), ("keepdim", true.into())], &[], &[3.0]);
        same("argmax", &[x(), ("axis", ints(&[axis]))], &[], &[0.0]);
        same("transpose", &[x(), ("a", axis.into()), ("b", axis.into())], &[], &[3.0]);
        same("squeeze", &[x(), ("axis", axis.into())], &[], &[3.0]);
        same("unsqueeze", &[x(), ("axis", axis.into())], &[1], &[3.0]);
        same("flatten", &[x(), ("start", axis.into()), ("end", axis.into())], &[1], &[3.0]);
        same("gather", &[x(), ("axis", axis.into()), ("index", indices(&[0], &[]))], &[], &[3.0]);
        same("index_select", &[x(), ("axis", axis.into()), ("index", indices(&[0], &[1]))], &[], &[3.0]);
        let both = || ("tensors", list(&[scalar(3.0), scalar(4.0)]));
        same("stack", &[both(), ("axis", axis.into())], &[2], &[3.0, 4.0]);
        refused("cat", &[both(), ("axis", axis.into())]);
        refused("chunk", &[x(), ("chunks", 1.into()), ("axis", axis.into())]);
        refused("split", &[x(), ("sizes", ints(&[1])), ("axis", axis.into())]);
        refused("roll", &[x(), ("shifts", ints(&[1])), ("axes", ints(&[axis]))]);
        refused("narrow", &[x(), ("axis", axis.into()), ("start", 0.into()), ("length", 1.into())]);
        refused("slice", &[x(), ("axis", axis.into())]);
        refused("select", &[x(), ("axis", axis.into()), ("index", 0.into())]);
    }
    for axis in [1, -2] {
        refused("softmax", &[x(), ("axis", axis.into())]);
        refused("sum", &[x(), ("axes", ints(&[axis]))]);
        refused("transpose", &[x(), ("a", axis.into()), ("b", 0.into())]);
    }
    same("permute", &[x(), ("axes", ints(&[]))], &[], &[3.0]);
}

#[test]
fn minus_one_stands_for_a_size() {
    let x = || ("x", counted(&[2, 3]));
    let all = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    for op in ["view", "reshape"] {
        same(op, &[x(), ("dims", ints(&[-1]))], &[6], &all);
        same(op, &[x(), ("dims", ints(&[3, -1]))], &[3, 2], &all);
        same(op, &[("x", counted(&[0, 3])), ("dims", ints(&[-1, 3]))], &[0, 3], &[]);
        same(op, &[("x", scalar(3.0)), ("dims", ints(&[-1]))], &[1], &[3.0]);
        for dims in [&[-1, -1][..], &[-2, 3], &[-1, 4], &[7]] {
            refused(op, &[x(), ("dims", ints(dims))]);
        }
        for dims in [[0, -1], [-1, 0]] {
            refused(op, &[("x", counted(&[0, 3])), ("dims", ints(&dims))]);
        }
    }
    same("expand", &[x(), ("dims", ints(&[-1, 3]))], &[2, 3], &all);
    same("expand", &[x(), ("dims", ints(&[2, -1, -1]))], &[2, 2, 3], &[all, all].concat());
    refused("expand", &[x(), ("dims", ints(&[-1, 2, 3]))]);
    refused("expand", &[x(), ("dims", ints(&[-2, 3]))]);
}

#[test]
fn bounds_count_from_the_end() {
    let x = || ("x", counted(&[2, 3]));
    let slice =
        |start: i64, end: i64| [x(), ("axis", 1.into()), ("start", start.into()), ("end", end.into())];
    same("slice", &slice(-2, -1), &[2, 1], &[1.0, 4.0]);
    same("slice", &slice(-20, -1), &[2, 2], &[0.0, 1.0, 3.0, 4.0]);
    same("slice", &slice(2, -3), &[2, 0], &[]);
    same("slice", &slice(i64::MIN, i64::MAX), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let narrow = |start: i64, length: i64| {
        [x(), ("axis", 1.into()), ("start", start.into()), ("length", length.into())]
    };
    same("narrow", &narrow(-2, 1), &[2, 1], &[1.0, 4.0]);
    same("narrow", &narrow(-3, 3), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    same("narrow", &narrow(3, 0), &[2, 0], &[]);
    refused("narrow", &narrow(-4, 1));
    refused("narrow", &narrow(-1, 2));
    same("select", &[x(), ("axis", 1.into()), ("index", (-1).into())], &[2], &[2.0, 5.0]);
    refused("select", &[x(), ("axis", 1.into()), ("index", (-4).into())]);
}

/// Mode, padding of the last axis of [1, 1, 2, 4], the first row of the result; `None` where PyTorch refuses, or reads memory
/// that nobody wrote.
type Padded = (&'static str, [i64; 4], Option<&'static [f32]>);

const PADDED: &[Padded] = &[
    ("constant", [-1, 1, 0, 0], Some(&[1.0, 2.0, 3.0, 0.0])),
    ("constant", [-4, 4, 0, 0], Some(&[0.0; 4])),
    ("constant", [3, -4, 0, 0], Some(&[0.0; 3])),
    ("constant", [2, -5, 0, 0], None),
    ("constant", [-5, 5, 0, 0], None),
    ("constant", [-2, -2, 0, 0], Some(&[])),
    ("constant", [-2, -3, 0, 0], None),
    ("constant", [-1, -2, 0, 0], Some(&[1.0])),
    ("constant", [3, -2, 0, 0], Some(&[0.0, 0.0, 0.0, 0.0, 1.0])),
    ("constant", [-3, 2, 0, 0], Some(&[3.0, 0.0, 0.0])),
    ("constant", [0, 0, -1, 1], Some(&[4.0, 5.0, 6.0, 7.0])),
    ("reflect", [-1, 1, 0, 0], Some(&[1.0, 2.0, 3.0, 2.0])),
    ("reflect", [-4, 4, 0, 0], None),
    ("reflect", [-4, 3, 0, 0], Some(&[2.0, 1.0, 0.0])),
    ("reflect", [3, -4, 0, 0], Some(&[3.0, 2.0, 1.0])),
    ("reflect", [2, -5, 0, 0], Some(&[2.0])),
    ("reflect", [-5, 5, 0, 0], None),
    ("reflect", [-2, -2, 0, 0], None),
    ("reflect", [-1, -2, 0, 0], Some(&[1.0])),
    ("reflect", [4, 4, 0, 0], None),
    ("reflect", [3, 3, 0, 0], Some(&[3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0])),
    ("reflect", [3, -2, 0, 0], Some(&[3.0, 2.0, 1.0, 0.0, 1.0])),
    ("reflect", [-3, 2, 0, 0], Some(&[3.0, 2.0, 1.0])),
    ("reflect", [0, 0, -1, 1], Some(&[4.0, 5.0, 6.0, 7.0])),
    ("reflect", [0, 0, 2, 2], None),
    ("replicate", [-1, 1, 0, 0], Some(&[1.0, 2.0, 3.0, 3.0])),
    ("replicate", [-4, 4, 0, 0], Some(&[3.0; 4])),
    ("replicate", [3, -4, 0, 0], Some(&[0.0; 3])),
    ("replicate", [2, -5, 0, 0], Some(&[0.0])),
    ("replicate", [-5, 5, 0, 0], Some(&[3.0; 4])),
    ("replicate", [-2, -2, 0, 0], None),
    ("replicate", [-1, -2, 0, 0], Some(&[1.0])),
    ("replicate", [3, -2, 0, 0], Some(&[0.0, 0.0, 0.0, 0.0, 1.0])),
    ("circular", [-1, 1, 0, 0], Some(&[1.0, 2.0, 3.0, 1.0])),
    ("circular", [-4, 4, 0, 0], None),
    ("circular", [3, -4, 0, 0], None),
    ("circular", [2, -5, 0, 0], None),
    ("circular", [-5, 5, 0, 0], None),
    ("circular", [-2, -2, 0, 0], Some(&[])),
    ("circular", [-1, -2, 0, 0], Some(&[1.0])),
    ("circular", [4, 4, 0, 0], Some(&[0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0])),
    ("circular", [5, 0, 0, 0], None),
    ("circular", [1, -2, 0, 0], Some(&[1.0, 0.0, 1.0])),
    ("circular", [2, -2, 0, 0], Some(&[0.0, 1.0, 0.0, 1.0])),
    ("circular", [3, -2, 0, 0], None),
    ("circular", [0, 0, 2, 2], Some(&[0.0, 1.0, 2.0, 3.0])),
    ("circular", [0, 0, 1, 1], Some(&[4.0, 5.0, 6.0, 7.0])),
];

#[test]
fn negative_padding_crops_and_rings_go_round() {
    for (mode, padding, want) in PADDED {
        let given = [("x", counted(&[1, 1, 2, 4])), ("padding", ints(padding)), ("mode", (*mode).into())];
        match (answer("pad", &given), want) {
            (Some((dims, values)), Some(want)) => {
                assert_eq!(dims[3] as i64, 4 + padding[0] + padding[1], "{mode} {padding:?}");
                assert_eq!(&values[..dims[3]], *want, "{mode} {padding:?}");
            }
            (got, want) => assert_eq!(got.is_some(), want.is_some(), "{mode} {padding:?}: {got:?}"),
        }
    }
    // In blocks, along the channels too.
    let x = StridedTensor::from_slice(&(0..18 * 6).map(|i| i as f32).collect::<Vec<_>>(), &[1, 18, 2, 3])
        .unwrap();
    let blocked = x.to_blocked(&blocktensor::Layout::NCHW16C).unwrap();
    for mode in ["constant", "reflect", "replicate", "circular"] {
        let padding = [("padding", ints(&[-1, 1, 1, -1, -2, 3])), ("mode", mode.into())];
        let of = |x: Value| call("pad", &[vec![("x", x)], padding.to_vec()].concat()).unwrap().remove(0);
        let (a, b) = (of(x.clone().into()), of(blocked.clone().into()));
        assert_eq!(a.tensor_ref().dims(), [1, 19, 2, 3]);
        assert_eq!(crate::support::element_bytes(&a), crate::support::element_bytes(&b), "{mode}");
    }
}

#[test]
fn vectors_are_rows_and_columns() {
    let (m, v) = (|| counted(&[2, 3]), || counted(&[3]));
    let matmul = |a: Value, b: Value| [("a", a), ("b", b)];
    same("matmul", &matmul(v(), v()), &[], &[5.0]);
    same("matmul", &matmul(m(), v()), &[2], &[5.0, 14.0]);
    same("matmul", &matmul(v(), tensor(&[1.0; 12], &[2, 3, 2])), &[2, 2], &[3.0; 4]);
    same("matmul", &matmul(tensor(&[1.0; 12], &[2, 2, 3]), v()), &[2, 2], &[3.0; 4]);
    same("matmul", &matmul(counted(&[0]), counted(&[0])), &[], &[0.0]);
    refused("matmul", &matmul(scalar(1.0), v()));
    refused("matmul", &matmul(v(), counted(&[2])));
    let linear = |x: Value, w: Value| [("x", x), ("weights", w)];
    same("linear", &linear(m(), v()), &[2], &[5.0, 14.0]);
    same("linear", &linear(v(), v()), &[], &[5.0]);
    same("linear", &linear(v(), m()), &[2], &[5.0, 14.0]);
    refused("linear", &linear(scalar(1.0), v()));
    refused("linear", &[linear(m(), v()).to_vec(), vec![("bias", tensor(&[1.0], &[1]))]].concat());
}

#[test]
fn slopes_of_scalars_and_norms_of_empty_images() {
    let prelu = |x: Value, w: Value| [("x", x), ("weights", w)];
    same("prelu", &prelu(scalar(-3.0), tensor(&[0.5], &[1])), &[], &[-1.5]);
    same("prelu", &prelu(scalar(-3.0), scalar(0.5)), &[], &[-1.5]);
    same("prelu", &prelu(tensor(&[-1.0, -2.0], &[2]), tensor(&[0.5], &[1])), &[2], &[-0.5, -1.0]);
    refused("prelu", &prelu(scalar(-3.0), tensor(&[0.5, 1.0], &[2])));
    refused("prelu", &prelu(counted(&[3]), counted(&[3])));
    let group = |dims: &[usize], groups: i64| [("x", counted(dims)), ("groups", groups.into())];
    for (dims, accepted) in [
        (&[0, 4, 2, 2][..], true),
        (&[0, 4, 1, 1], true),
        (&[0, 4], true),
        (&[2, 4, 0, 2], false),
        (&[0, 4, 0, 2], false),
        (&[2, 4, 0], false),
        (&[2, 0, 2, 2], false),
        (&[0, 0], false),
    ] {
        for groups in [1, 2, 4] {
            let got = answer("group_norm", &group(dims, groups));
            assert_eq!(got.is_some(), accepted, "group_norm {dims:?}");
        }
    }
    for (dims, accepted) in
        [(&[2, 4, 0, 2][..], true), (&[2, 0, 2, 2], true), (&[0, 4, 2, 2], true), (&[2, 4, 1, 1], false)]
    {
        let got = answer("instance_norm", &[("x", counted(dims))]);
        assert_eq!(got.is_some(), accepted, "instance_norm {dims:?}");
    }
}
