//! Elements of a tensor: casts, slices, printing, factories.

use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor};
use half::{bf16, f16};

use MemoryFormat::{ChannelsLast, Contiguous};

#[test]
fn to_dtype_gives_the_numbers_of_pytorch() {
    let x =
        StridedTensor::from_slice(&[0.0f32, -0.0, 1.9, -1.9, 255.0, 1e-3, 70000.0, 0.1], &[2, 2, 2]).unwrap();
    let ints = x.to_dtype(DType::S32).unwrap();
    assert_eq!(ints.to_vec::<i32>().unwrap(), [0, 0, 1, -1, 255, 0, 70000, 0]);
    // torch.tensor([...], dtype=torch.int32).to(torch.uint8) and to(torch.int8): the low bits.
    assert_eq!(ints.to_dtype(DType::U8).unwrap().to_vec::<u8>().unwrap(), [0, 0, 1, 255, 255, 0, 112, 0]);
    assert_eq!(ints.to_dtype(DType::S8).unwrap().to_vec::<i8>().unwrap(), [0, 0, 1, -1, -1, 0, 112, 0]);
    // torch.tensor([0.1]).bfloat16() is 0.10009765625, 70000 becomes 70144; to half 0.0999755859375 and inf.
    let b = x.to_dtype(DType::BF16).unwrap().to_vec::<bf16>().unwrap();
    assert_eq!((b[7].to_f32(), b[6].to_f32()), (0.100_097_656, 70144.0));
    let h = x.to_dtype(DType::F16).unwrap().to_vec::<f16>().unwrap();
    assert_eq!((h[7].to_f32(), h[6].to_f32()), (0.099_975_586, f32::INFINITY));
    assert!(x.to_dtype(DType::F32).unwrap().shares_storage(&x));
    let edge = StridedTensor::from_slice(&[f32::NAN, f32::INFINITY, -1e9, 300.0], &[4]).unwrap();
    assert_eq!(edge.to_dtype(DType::U8).unwrap().to_vec::<u8>().unwrap(), [0, 255, 0, 255]);
}

#[test]
fn to_dtype_of_every_pair_agrees_with_f64_and_keeps_the_layout() {
    let numbers: Vec<f32> = (0..2 * 17 * 3 * 5).map(|i| (i % 120) as f32).collect();
    let x = StridedTensor::from_slice(&numbers, &[2, 17, 3, 5]).unwrap().contiguous(ChannelsLast).unwrap();
    for from in DType::ALL {
        let a = x.to_dtype(from).unwrap();
        assert_eq!((a.dtype(), a.strides()), (from, x.strides()));
        let blocked = a.to_blocked(&Layout::native().0).unwrap();
        for to in DType::ALL {
            // Whole numbers below 128 are the same in every dtype.
            let b = a.to_dtype(to).unwrap().to_dtype(DType::F32).unwrap();
            assert_eq!(b.to_vec::<f32>().unwrap(), numbers, "{from} to {to}");
            let b = blocked.to_dtype(to).unwrap();
            b.check_tail().unwrap();
            assert_eq!((b.dtype(), b.layout()), (to, blocked.layout()));
            let b = b.to_strided(Contiguous).unwrap().to_dtype(DType::F32).unwrap();
            assert_eq!(b.to_vec::<f32>().unwrap(), numbers, "{from} to {to}, blocked");
        }
    }
}

#[test]
fn as_slice_borrows_contiguous_tensors_alone() {
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    assert_eq!(x.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(x.narrow(0, 1, 1).unwrap().as_slice::<f32>().unwrap(), [4.0, 5.0, 6.0]);
    assert!(x.narrow(0, 0, 0).unwrap().as_slice::<f32>().unwrap().is_empty());
    let e = x.transpose(0, 1).unwrap().as_slice::<f32>().unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("to_vec"), "{e}");
    let e = x.as_slice::<i32>().unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("to_dtype"), "{e}");
}

#[test]
fn tensors_print_their_elements_in_logical_order() {
    let x = StridedTensor::from_slice(&[1f32, -2.0, 0.5, 4.0], &[2, 2]).unwrap();
    assert_eq!(x.to_string(), "[[1.0000, -2.0000],\n [0.5000, 4.0000]] f32 [2, 2]");
    let turned = x.transpose(0, 1).unwrap().to_dtype(DType::S32).unwrap();
    assert_eq!(turned.to_string(), "[[1, 0],\n [-2, 4]] s32 [2, 2]");
    assert_eq!(format!("{:.1}", x.select(0, 1).unwrap().select(0, 0).unwrap()), "0.5 f32 []");
    let long = StridedTensor::full(&[2000], 1u8, Contiguous).unwrap();
    assert_eq!(long.to_string(), "[1, 1, 1, ..., 1, 1, 1] u8 [2000]");
    assert_eq!(StridedTensor::zeros(&[0, 3], DType::F32, Contiguous).unwrap().to_string(), "[] f32 [0, 3]");
}

#[test]
fn factories_and_their_like_forms_inherit_layout_and_dtype() {
    use blocktensor::BlockedTensor;
    let dims = [2, 17, 3, 2];
    let layout = Layout::native().0;
    for dtype in DType::ALL {
        let like = StridedTensor::empty(&dims, dtype, ChannelsLast).unwrap();
        let blocked = BlockedTensor::empty(&dims, dtype, &layout).unwrap();
        blocked.empty_like().unwrap().check_tail().unwrap();
        let strided = [
            (0.0, StridedTensor::zeros(&dims, dtype, ChannelsLast).unwrap()),
            (1.0, StridedTensor::ones(&dims, dtype, ChannelsLast).unwrap()),
            (0.0, like.zeros_like(MemoryFormat::Preserve).unwrap()),
            (1.0, like.ones_like(MemoryFormat::Preserve).unwrap()),
        ];
        for (value, t) in strided {
            assert_eq!((t.dtype(), t.strides(), t.dims()), (dtype, like.strides(), &dims[..]));
            assert_eq!(
                t.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap(),
                [value; 2 * 17 * 6],
                "{dtype}"
            );
        }
        let of_blocked = [
            (0.0, BlockedTensor::zeros(&dims, dtype, &layout).unwrap()),
            (1.0, BlockedTensor::ones(&dims, dtype, &layout).unwrap()),
            (0.0, blocked.zeros_like().unwrap()),
            (1.0, blocked.ones_like().unwrap()),
        ];
        for (value, t) in of_blocked {
            t.check_tail().unwrap();
            assert_eq!((t.dtype(), t.layout(), t.dims()), (dtype, &layout, &dims[..]));
            let t = t.to_strided(Contiguous).unwrap().to_dtype(DType::F32).unwrap();
            assert_eq!(t.to_vec::<f32>().unwrap(), [value; 2 * 17 * 6], "{dtype}");
        }
    }
    let x = StridedTensor::full(&dims, 2f32, ChannelsLast).unwrap();
    assert_eq!(x.full_like(3f32, MemoryFormat::Preserve).unwrap().get::<f32>(&[1, 16, 2, 1]), Some(3.0));
    assert!(matches!(x.full_like(3u8, MemoryFormat::Preserve), Err(Error::DTypeMismatch(_))));
}

/// Printing takes no time for the elements that it leaves out.
#[test]
fn printing_does_not_visit_the_middle_of_a_long_axis() {
    let x = StridedTensor::from_slice(&[2i32], &[1]).unwrap().expand(&[1usize << 50]).unwrap();
    assert_eq!(x.to_string(), "[2, 2, 2, ..., 2, 2, 2] s32 [1125899906842624]");
}
