//! `TensorDesc`: quantisation parameters.

use blocktensor::{DType, Error, Layout, MemoryFormat, Quantization, TensorDesc};

fn quantization(axis: Option<usize>, scales: usize, zero_points: usize) -> Quantization {
    Quantization { axis, scales: vec![0.5; scales], zero_points: vec![100; zero_points] }
}

#[test]
fn quantized_takes_one_scale_and_zero_point_for_the_tensor_or_for_each_index_of_an_axis() {
    let dims = [1, 3, 4, 5];
    let strided = TensorDesc::strided(&dims, DType::U8, MemoryFormat::ChannelsLast).unwrap();
    let blocked = TensorDesc::blocked(&dims, DType::S8, &Layout::NCHW16C).unwrap();
    for desc in [strided, blocked] {
        assert_eq!(desc.quantization(), None);
        for (axis, count) in [(None, 1), (Some(0), 1), (Some(1), 3), (Some(3), 5)] {
            let wanted = quantization(axis, count, count);
            let quantized = desc.clone().quantized(wanted.clone()).unwrap();
            assert_eq!(quantized.quantization(), Some(&wanted));
            assert_eq!((quantized.dims(), quantized.layout_name()), (desc.dims(), desc.layout_name()));
            assert_eq!(quantized.bytes().unwrap(), desc.bytes().unwrap());
            assert_ne!(quantized, desc, "quantised and not");
            // The logical sizes count, not those that blocks are padded to.
            for (scales, zero_points) in
                [(count + 1, count + 1), (count, count + 1), (count - 1, count), (16, 16)]
            {
                let e = desc.clone().quantized(quantization(axis, scales, zero_points)).unwrap_err();
                assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
                assert!(
                    e.to_string().contains(&format!("{scales} scales and {zero_points} zero points")),
                    "{e}"
                );
            }
        }
        for axis in [4, usize::MAX] {
            let e = desc.clone().quantized(quantization(Some(axis), 1, 1)).unwrap_err();
            assert!(
                matches!(e, Error::InvalidArgument(_)) && e.to_string().contains(&axis.to_string()),
                "{e}"
            );
        }
    }
}

#[test]
fn quantized_descriptions_compare_hash_and_print() {
    use std::collections::HashSet;
    let desc = TensorDesc::strided(&[2, 2], DType::U8, MemoryFormat::Contiguous).unwrap();
    let with = |q: Quantization| desc.clone().quantized(q).unwrap();
    let per_tensor = with(quantization(None, 1, 1));
    let per_axis = with(quantization(Some(1), 2, 2));
    let other_scale = with(Quantization { axis: None, scales: vec![0.25], zero_points: vec![100] });
    let other_zero = with(Quantization { axis: None, scales: vec![0.5], zero_points: vec![0] });
    let other_axis = with(quantization(Some(0), 2, 2));
    let all = [&desc, &per_tensor, &per_axis, &other_scale, &other_zero, &other_axis];
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    assert_eq!(per_axis, with(quantization(Some(1), 2, 2)));
    assert_eq!(desc.to_string(), "[2, 2] u8 contiguous");
    assert_eq!(per_tensor.to_string(), "[2, 2] u8 contiguous, quantised");
    assert_eq!(per_axis.to_string(), "[2, 2] u8 contiguous, quantised along axis 1");
}
