//! The backend of another crate, through the same registration and dispatch as ours.

use std::sync::Arc;

use blocktensor::dispatch::{self, DispatchKey, Kernel, KeySpec, Reorders, register_backend};
use blocktensor::{
    DType, Error, Layout, MemoryFormat, OpaqueTensor, Operand, Quantization, StridedTensor, Tensor,
    TensorDesc, ledger, ops, testing,
};
use blocktensor_third_backend::{Reversed, key};

use crate::support::alone;

fn reversed(values: &[f32]) -> Reversed {
    Reversed::from_strided(&StridedTensor::from_slice(values, &[values.len()]).unwrap()).unwrap()
}

#[test]
fn typed_calls_and_calls_by_name_reach_the_kernels_of_another_backend() {
    let x = reversed(&[-1.0, 2.0, -3.0]);
    let y: Reversed = ops::relu(&x).unwrap();
    assert_eq!(y.to_strided().unwrap().to_vec::<f32>().unwrap(), [0.0, 2.0, 0.0]);
    let t = x.tensor_ref().to_tensor();
    let y = dispatch::call("reversed_shift", &[("x", t.into()), ("by", 0.5.into())]).unwrap();
    let y = Reversed::from_tensor(y[0].clone()).unwrap();
    assert_eq!(y.to_strided().unwrap().to_vec::<f32>().unwrap(), [-0.5, 2.5, -2.5]);
}

/// From every kind of tensor to every other, through the reorders that the backend registered; the ledger has each.
#[test]
fn tensors_are_reordered_to_another_backend_and_back() {
    let dims = [1, 17, 3, 2];
    let values: Vec<f32> = (0..102).map(|v| v as f32).collect();
    let plain = StridedTensor::from_slice(&values, &dims).unwrap();
    let descs = [
        TensorDesc::strided(&dims, DType::F32, MemoryFormat::Contiguous).unwrap(),
        TensorDesc::strided(&dims, DType::F32, MemoryFormat::ChannelsLast).unwrap(),
        TensorDesc::blocked(&dims, DType::F32, &Layout::NCHW16C).unwrap(),
        TensorDesc::opaque(&dims, DType::F32, key(), "back_to_front").unwrap(),
    ];
    for from in &descs {
        let x = Tensor::from(plain.clone()).reorder(from).unwrap();
        assert_eq!(TensorDesc::of(x.tensor_ref()), *from);
        for to in &descs {
            let (y, book) = ledger::record(|| x.reorder(to).unwrap());
            assert_eq!(TensorDesc::of(y.tensor_ref()), *to);
            let is_row_major = |desc: &TensorDesc| desc == &descs[0];
            let foreign = |desc: &TensorDesc| desc.key() == key();
            let twice =
                (foreign(from) && !is_row_major(to)) || (foreign(to) && from.key() == DispatchKey::BLOCKED);
            let want = if from == to { 0 } else { 1 + usize::from(twice) };
            assert_eq!(book.reorders.len(), want, "{from} to {to}: {book}");
            let Tensor::Strided(back) = y.reorder(&descs[0]).unwrap() else { panic!("row-major") };
            assert_eq!(back.to_vec::<f32>().unwrap(), values, "{from} to {to}");
        }
    }
    let foreign = Tensor::from(plain).reorder(&descs[3]).unwrap();
    let denied = ledger::deny_reorders(|| foreign.reorder(&descs[0])).unwrap_err();
    assert!(matches!(denied, Error::ReorderDenied(_)), "{denied}");
    let other = TensorDesc::strided(&[102], DType::F32, MemoryFormat::Contiguous).unwrap();
    assert!(matches!(foreign.reorder(&other), Err(Error::ShapeMismatch(_))));
    let other = TensorDesc::strided(&dims, DType::S32, MemoryFormat::Contiguous).unwrap();
    assert!(matches!(foreign.reorder(&other), Err(Error::DTypeMismatch(_))));
}

#[test]
fn a_backend_brings_the_reorders_of_its_own_key_once() {
    // In a process of its own: other tests do not know the key that stays.
    alone("dispatch::third_backend::a_backend_brings_the_reorders_of_its_own_key_once", &[], || {
        let reorders = key().reorders().unwrap();
        let error = register_backend(|r| r.reorders(key(), reorders)).unwrap_err();
        assert!(matches!(&error, Error::Registration(_)) && error.to_string().contains("own key"), "{error}");
        let error = register_backend(|r| {
            let own = r.key(KeySpec { name: "of reorders", to_strided: "-", from_strided: "-" })?;
            r.reorders(own, reorders)?;
            r.reorders(own, reorders)
        });
        assert!(error.unwrap_err().to_string().contains("again"));
        assert!(DispatchKey::BLOCKED.reorders().is_none());
        // A key without reorders.
        let mut made = None;
        register_backend(|r| {
            made = Some(r.key(KeySpec { name: "without reorders", to_strided: "-", from_strided: "-" })?);
            Ok(())
        })
        .unwrap();
        let desc = TensorDesc::opaque(&[1], DType::F32, made.unwrap(), "any").unwrap();
        let x: Tensor = StridedTensor::from_slice(&[1f32], &[1]).unwrap().into();
        let error = x.reorder(&desc).unwrap_err().to_string();
        assert!(error.contains("without reorders") && error.contains("Registrar::reorders"), "{error}");
    });
}

/// A plain tensor behind a key of another crate, which keeps scales and zero points if its layout says so.
#[derive(Debug)]
struct Wrapped {
    desc: TensorDesc,
    x: StridedTensor,
}

impl OpaqueTensor for Wrapped {
    fn key(&self) -> DispatchKey {
        self.desc.key()
    }
    fn dims(&self) -> &[usize] {
        self.desc.dims()
    }
    fn dtype(&self) -> DType {
        self.desc.dtype()
    }
    fn layout_name(&self) -> String {
        self.desc.layout_name()
    }
    fn quantization(&self) -> Option<&Quantization> {
        self.x.quantization().filter(|_| self.layout_name() == "keeps")
    }
}

#[test]
fn reorders_of_a_backend_keep_scales_and_zero_points_or_the_tensor_is_refused() {
    const TEST: &str =
        "dispatch::third_backend::reorders_of_a_backend_keep_scales_and_zero_points_or_the_tensor_is_refused";
    const REORDERS: Reorders = Reorders {
        from_strided: |x, to| {
            Ok(Tensor::Opaque(Arc::new(Wrapped {
                desc: to.clone(),
                x: x.contiguous(MemoryFormat::Contiguous)?,
            })))
        },
        to_strided: |x| {
            let any: &dyn std::any::Any = &**x;
            Ok(any.downcast_ref::<Wrapped>().expect("its own").x.clone())
        },
    };
    alone(TEST, &[], || {
        let mut made = None;
        register_backend(|r| {
            let own = r.key(KeySpec { name: "wrapped", to_strided: "-", from_strided: "-" })?;
            made = Some(own);
            r.reorders(own, REORDERS)
        })
        .unwrap();
        let plain = StridedTensor::from_slice(&[1u8, 2, 3], &[3]).unwrap();
        let x: Tensor = plain.quantized(Quantization::per_tensor(0.5, 3)).unwrap().into();
        let like = |layout| TensorDesc::opaque(&[3], DType::U8, made.unwrap(), layout).unwrap();
        let there = x.reorder(&like("keeps")).unwrap();
        assert_eq!(there.quantization(), x.quantization());
        assert_eq!(TensorDesc::of(there.tensor_ref()).quantization(), x.quantization());
        assert!(there.tensor_ref().describe().ends_with("keeps, quantised"));
        let strided = TensorDesc::strided(&[3], DType::U8, MemoryFormat::Contiguous).unwrap();
        assert_eq!(there.reorder(&strided).unwrap().quantization(), x.quantization());
        let e = x.reorder(&like("loses")).unwrap_err();
        assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
        assert!(
            e.to_string().contains("does not keep") && e.to_string().contains("without_quantization"),
            "{e}"
        );
        x.without_quantization().reorder(&like("loses")).unwrap();
    });
}

#[test]
fn tensors_of_another_backend_do_not_mix_with_ours() {
    let x = reversed(&[1.0]).tensor_ref().to_tensor();
    let y: Tensor = StridedTensor::from_slice(&[1f32], &[1]).unwrap().into();
    let e = dispatch::call("add", &[("a", x.into()), ("b", y.into())]).unwrap_err();
    // The other backend has no kernel for it, so a reorder to it would not help.
    assert!(matches!(e, Error::UnsupportedOp(_)), "{e}");
    for part in ["`add`", "`reversed`", "strided", "Reversed::to_strided()"] {
        assert!(e.to_string().contains(part), "{e} lacks {part}");
    }
}

#[test]
fn an_op_without_a_kernel_of_the_backend_names_the_keys_that_have_one() {
    let e = ops::linear(&reversed(&[1.0]), &reversed(&[1.0]), None).unwrap_err();
    let text = e.to_string();
    assert!(
        text.contains("`reversed`") && text.contains("strided") && text.contains("Reversed::to_strided()"),
        "{text}"
    );
}

/// An opaque tensor that claims to be of one of our keys, whose kernels know their tensors by type.
#[test]
fn an_opaque_tensor_that_claims_one_of_our_keys_is_refused() {
    #[derive(Debug)]
    struct Posing(dispatch::DispatchKey);
    impl OpaqueTensor for Posing {
        fn key(&self) -> dispatch::DispatchKey {
            self.0
        }
        fn dims(&self) -> &[usize] {
            &[1, 4]
        }
        fn dtype(&self) -> DType {
            DType::F32
        }
        fn layout_name(&self) -> String {
            "none".into()
        }
    }
    for k in [dispatch::DispatchKey::STRIDED, dispatch::DispatchKey::BLOCKED] {
        let fake = Tensor::Opaque(std::sync::Arc::new(Posing(k)));
        let real: Tensor = StridedTensor::from_slice(&[1f32; 4], &[1, 4]).unwrap().into();
        let mut into = real.clone();
        for e in [
            ops::flip(&fake, &[0]).unwrap_err(),
            ops::cat(&[&real, &fake], 0).unwrap_err(),
            ops::add(&fake, &real).unwrap_err(),
            ops::relu_into(&fake, &mut into).unwrap_err(),
        ] {
            assert!(matches!(e, Error::KeyMismatch(_)) && e.to_string().contains("opaque tensor"), "{e}");
        }
    }
}

#[test]
fn register_backend_inside_another_registration_is_an_error() {
    let e = register_backend(|_| register_backend(|_| Ok(()))).unwrap_err();
    assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("inside another"), "{e}");
    register_backend(|_| Ok(())).unwrap();
}

/// For registrations that fail.
const NEVER_RUN: Kernel = Kernel::rust(&|_, _| unreachable!("it was not registered"));

#[test]
fn a_key_of_a_failed_registration_gets_no_kernels() {
    let mut lost = None;
    let spec = KeySpec { name: "turned_down", to_strided: "a", from_strided: "b" };
    register_backend(|r| {
        lost = Some(r.key(spec)?);
        r.kernel("no_such_op", lost.unwrap(), NEVER_RUN)
    })
    .unwrap_err();
    let e = register_backend(|r| r.kernel("relu", lost.unwrap(), NEVER_RUN)).unwrap_err();
    assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("not registered"), "{e}");
}

#[test]
fn kernel_call_refuses_dtypes_that_it_does_not_take() {
    let x = StridedTensor::from_slice(&[1u8; 4], &[1, 4]).unwrap();
    let (op, key) = (dispatch::op("softmax").unwrap(), dispatch::DispatchKey::STRIDED);
    let values = [dispatch::Arg::Tensor(x.tensor_ref()), dispatch::Arg::Int(1)];
    let args = dispatch::Args::new(op, &values).unwrap();
    let e = op.kernel(key).unwrap().call(&args).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("to_dtype(DType::F32)"), "{e}");
}

#[test]
fn registering_a_key_or_a_kernel_twice_fails_and_adds_nothing() {
    let k = key();
    let spec = |name| KeySpec { name, to_strided: "a", from_strided: "b" };
    for name in ["reversed", "strided", "blocked"] {
        let e = register_backend(|r| r.key(spec(name)).map(|_| ())).unwrap_err();
        assert!(matches!(e, Error::Registration(_)) && e.to_string().contains(name), "{e}");
    }
    let before = dispatch::DispatchKey::all().len();
    for name in ["", " ", "a ", "a\0", "a\nb", "a`b"] {
        let e = register_backend(|r| r.key(spec(name)).map(|_| ())).unwrap_err();
        assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("argument `name`"), "{e}");
    }
    let e = register_backend(|r| {
        let fresh = r.key(spec("fresh"))?;
        r.kernel("add", fresh, NEVER_RUN)?;
        r.kernel("relu", k, NEVER_RUN)
    })
    .unwrap_err();
    assert!(matches!(e, Error::Registration(_)) && e.to_string().contains("relu"), "{e}");
    assert_eq!(dispatch::DispatchKey::all().len(), before, "the key of a failed registration is not there");
    let e = register_backend(|r| r.kernel("no_such_op", k, NEVER_RUN)).unwrap_err();
    assert!(e.to_string().contains("no_such_op"), "{e}");
}

/// The backend in tests/third_backend, as its author would test it.
struct UnderTest;

impl testing::Backend for UnderTest {
    fn key(&self) -> dispatch::DispatchKey {
        key()
    }
    fn data(&self, t: &StridedTensor, _: usize) -> blocktensor::Result<Tensor> {
        Ok(Reversed::from_strided(t)?.tensor_ref().to_tensor())
    }
    fn back(&self, t: &Tensor) -> blocktensor::Result<StridedTensor> {
        Reversed::from_tensor(t.clone()).map_err(|t| panic!("{t:?}")).and_then(|t| t.to_strided())
    }
}

#[test]
fn conformance_of_another_backend_passes_or_says_unsupported() {
    let report = testing::conformance(&UnderTest, &testing::Cases::ours()).unwrap();
    assert!(report.wrong().is_empty(), "{report}");
    let relus: Vec<_> = report.cases.iter().filter(|c| c.1 == "relu").collect();
    assert!(!relus.is_empty() && relus.iter().all(|c| c.2 == testing::Outcome::Passed), "{report}");
    // The backend has a kernel for relu alone. Every other case says why it did not run.
    assert_eq!(report.passed(), relus.len());
    assert_eq!(report.unsupported().values().sum::<usize>() + relus.len(), report.cases.len());
    assert!(report.to_string().contains("x conv2d: NoKernel"), "{report}");
    testing::assert_unsupported(ops::tanh(&reversed(&[1.0])), "tanh", key());
    let wrong =
        std::panic::catch_unwind(|| testing::assert_unsupported(ops::relu(&reversed(&[1.0])), "relu", key()));
    assert!(wrong.is_err());
}

#[test]
fn conformance_finds_a_wrong_kernel() {
    struct Doubling;
    impl testing::Backend for Doubling {
        fn key(&self) -> dispatch::DispatchKey {
            dispatch::DispatchKey::STRIDED
        }
        fn data(&self, t: &StridedTensor, _: usize) -> blocktensor::Result<Tensor> {
            ops::mul_scalar(t, 1.001).map(Tensor::from)
        }
        fn back(&self, t: &Tensor) -> blocktensor::Result<StridedTensor> {
            Ok(StridedTensor::from_tensor(t.clone()).ok().unwrap())
        }
    }
    let report = testing::conformance(&Doubling, &testing::Cases::ours()).unwrap();
    assert!(report.wrong().len() > 50, "{report}");
}
