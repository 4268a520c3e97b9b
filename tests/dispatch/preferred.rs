//! The formats that kernels prefer: tensors in them run without a reorder, on the kernel that was meant.

use blocktensor::dispatch::DispatchKey;
use blocktensor::{
    BoundOp, DType, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorDesc, TensorRef, ledger,
};

use crate::support::Rng;

fn plain(dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(&Rng(7).reals(dims.iter().product()), dims).unwrap()
}

fn descs(tensors: &[&StridedTensor]) -> Vec<TensorDesc> {
    tensors.iter().map(|&t| TensorDesc::of(TensorRef::Strided(t))).collect()
}

#[test]
fn convolutions_run_without_a_reorder_on_operands_in_their_preferred_layouts() {
    let (dense, grouped, depthwise) = (1, 2, 32);
    for (groups, o) in [(dense, 20), (grouped, 32), (depthwise, 32)] {
        let (x, w) = (plain(&[2, 32, 9, 7]), plain(&[o, 32 / groups, 3, 3]));
        let conv = BoundOp::new("conv2d", &["x", "weights"], &[("groups", (groups as i64).into())]).unwrap();
        let want = conv.run(&[x.tensor_ref(), w.tensor_ref()]).unwrap().remove(0);
        let Tensor::Strided(want) = want else { panic!("strided operands give a strided result") };
        let wanted = conv.preferred(DispatchKey::BLOCKED, &descs(&[&x, &w])).unwrap().unwrap();
        let xb = x.to_blocked(wanted[0].layout().unwrap()).unwrap();
        let wb = w.reshape(wanted[1].dims()).unwrap().to_blocked(wanted[1].layout().unwrap()).unwrap();
        let (y, book) = ledger::record(|| conv.run(&[xb.tensor_ref(), wb.tensor_ref()]));
        assert!(book.reorders.is_empty(), "{groups} groups: {book}");
        let Tensor::Blocked(y) = y.unwrap().remove(0) else {
            panic!("blocked operands give a blocked result")
        };
        let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
        for (y, want) in y.iter().zip(want.to_vec::<f32>().unwrap()) {
            assert!((y - want).abs() <= 1e-4 * want.abs().max(1.0), "{groups} groups: {y} {want}");
        }
    }
}

#[test]
fn strided_convolutions_prefer_channels_last_sources_and_residuals() {
    let (x, w) = (plain(&[1, 8, 5, 5]), plain(&[8, 8, 1, 1]));
    let inputs = descs(&[&x, &w, &x]);
    let conv =
        BoundOp::new("conv2d", &["x", "weights", "residual"], &[("post_ops", "residual".into())]).unwrap();
    let wanted = conv.preferred(DispatchKey::STRIDED, &inputs).unwrap().unwrap();
    assert_eq!(wanted[0].layout_name(), "channels_last");
    assert_eq!(wanted[1], inputs[1]);
    assert_eq!(wanted[2].layout_name(), "channels_last");
}

#[test]
fn ops_without_a_kernel_for_a_key_prefer_nothing_and_other_backends_state_their_layout() {
    let x = TensorDesc::strided(&[2, 3], DType::F32, MemoryFormat::Contiguous).unwrap();
    let cumsum = BoundOp::new("cumsum", &["x"], &[("axis", 1i64.into())]).unwrap();
    assert_eq!(cumsum.preferred(DispatchKey::BLOCKED, std::slice::from_ref(&x)).unwrap(), None);
    let key = blocktensor_third_backend::key();
    let shift = BoundOp::new("reversed_shift", &["x"], &[]).unwrap();
    let wanted = shift.preferred(key, std::slice::from_ref(&x)).unwrap().unwrap();
    assert_eq!((wanted[0].key(), wanted[0].layout_name()), (key, "back_to_front".to_string()));
    assert_eq!(shift.infer(&wanted).unwrap(), wanted);
    let relu = BoundOp::new("relu", &["x"], &[]).unwrap();
    assert_eq!(relu.preferred(DispatchKey::STRIDED, std::slice::from_ref(&x)).unwrap(), Some(vec![x]));
}
