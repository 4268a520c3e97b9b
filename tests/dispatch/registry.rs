//! Calls by name run the same kernels and give the same errors as typed calls.

use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::ops::{self, Conv2d};
use blocktensor::{Error, Layout, MemoryFormat, StridedTensor, Tensor};

fn ones(dims: &[usize]) -> StridedTensor {
    StridedTensor::full(dims, 1f32, MemoryFormat::Contiguous).unwrap()
}

#[test]
fn calls_by_name_and_typed_calls_give_the_same_result() {
    let (x, w) = (ones(&[1, 3, 4, 4]), ones(&[2, 3, 3, 3]));
    let typed = ops::conv2d(&x, &w, None, &Conv2d::new().padding(1).relu()).unwrap();
    let named = dispatch::call(
        "conv2d",
        &[("x", x.into()), ("weights", w.into()), ("padding", 1i64.into()), ("post_ops", "relu".into())],
    )
    .unwrap();
    let Tensor::Strided(named) = &named[0] else { panic!("{named:?}") };
    assert_eq!(typed.to_vec::<f32>().unwrap(), named.to_vec::<f32>().unwrap());
    // Computed by hand: 27 products inside, 18 at an edge, 12 in a corner.
    assert_eq!(typed.get::<f32>(&[0, 1, 1, 1]), Some(27.0));
    assert_eq!(typed.get::<f32>(&[0, 0, 0, 1]), Some(18.0));
    assert_eq!(typed.get::<f32>(&[0, 0, 3, 3]), Some(12.0));
}

#[test]
fn calls_by_name_refuse_bad_arguments_with_a_remedy() {
    let x = || Value::from(ones(&[1, 3, 4, 4]));
    let cases: Vec<(Vec<(&str, Value)>, &str, &str)> = vec![
        (vec![("x", x())], "weights", "a data tensor"),
        (vec![("x", x()), ("weights", 3i64.into())], "weights", "a data tensor"),
        (vec![("x", x()), ("weights", x()), ("strides", 1i64.into())], "strides", "stride, padding"),
        (vec![("x", x()), ("weights", x()), ("x", x())], "x", "two values"),
        (vec![("x", x()), ("weights", x()), ("stride", vec![-1i64].into())], "stride", "counts from 1"),
        (vec![("x", x()), ("weights", x()), ("stride", vec![1i64, 2, 3].into())], "stride", "1 or 2 values"),
        (vec![("x", x()), ("weights", x()), ("groups", (-1i64).into())], "groups", "counts from 1"),
        (vec![("x", x()), ("weights", x()), ("post_ops", "gulp".into())], "post_ops", "gulp"),
        (vec![("x", x()), ("weights", x()), ("stride", vec![1i64; 40].into())], "stride", "12"),
    ];
    for (args, argument, part) in cases {
        let e = dispatch::call("conv2d", &args).unwrap_err();
        let text = e.to_string();
        assert!(text.contains(argument) && text.contains(part), "{text}: expected {argument}, {part}");
    }
    let e = dispatch::call("conv9d", &[]).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("conv9d"), "{e}");
}

#[test]
fn batch_norm_refuses_a_blocked_parameter() {
    let bias = ones(&[1, 16, 1, 1]).to_blocked(&Layout::native().0).unwrap();
    let (x, w) = (ones(&[1, 16, 4, 4]), ones(&[16, 16, 1, 1]));
    let args = [("x", x.into()), ("weights", w.into()), ("bias", bias.into())];
    let e = dispatch::call("conv2d", &args).unwrap_err();
    assert!(matches!(e, Error::KeyMismatch(_)) && e.to_string().contains("bias"), "{e}");
}

#[test]
fn registry_lists_ops_keys_and_dtypes() {
    let conv = dispatch::op("conv2d").unwrap();
    assert_eq!(conv.schema().args[0].name, "x");
    assert!(conv.keys().contains(&DispatchKey::STRIDED));
    let kernel = conv.kernel(DispatchKey::STRIDED).unwrap();
    assert_eq!(kernel.dtypes_of(conv.schema(), "x").unwrap(), [blocktensor::DType::F32]);
    assert!(dispatch::op("conv9d").is_none());
    assert!(dispatch::ops().len() >= 5);
    assert_eq!(DispatchKey::by_name("blocked"), Some(DispatchKey::BLOCKED));
}
