//! Bad calls by name, numbered as in the maintainers' catalogue of bad input. The tests of the C interface use them too.

use blocktensor::dispatch::Value;
use blocktensor::{BlockedTensor, DType, Layout, StridedTensor};

/// The arguments of a case, by name.
pub type Given = Vec<(&'static str, Value)>;

/// Row of the catalogue (0: none), op, arguments, code of the error, and parts that its text must contain.
pub struct Case(pub u32, pub &'static str, pub Given, pub i32, pub &'static [&'static str]);

fn strided(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 11) as f32 - 5.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

pub fn plain(dims: &[usize]) -> Value {
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

/// A convolution of 8 channels into 12, with these arguments added or replaced.
pub fn conv(change: &[(&'static str, Value)]) -> Given {
    let mut given = vec![("x", plain(&[1, 8, 6, 5])), ("weights", plain(&[12, 8, 3, 3]))];
    for (name, value) in change {
        given.retain(|(n, _)| n != name);
        given.push((name, value.clone()));
    }
    given
}

pub fn cases() -> Vec<Case> {
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
        Case(19, "conv2d", conv(&[("stride", ints(&[-1, 1]))]), 8, &["counts from 1"]),
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
