//! Sizes, strides and offsets beyond memory or beyond integers, and special values: each call gives an error or the right
//! result, and the process lives on.

use blocktensor::ops::{self, BatchNorm, BatchNormTrain, Conv2d, MaxPool, NormParams, PadMode, Resample};
use blocktensor::{
    BlockedTensor, DType, Error, Layout, MemoryFormat, PackedConv2d, Result, Source, StridedTensor,
};

use MemoryFormat::Contiguous;

const HUGE: usize = isize::MAX as usize;

fn ones(dims: &[usize]) -> StridedTensor {
    StridedTensor::full(dims, 1f32, Contiguous).unwrap()
}

/// A tensor expanded `count` times along the first axis, which takes the memory of one.
fn repeated(dims: &[usize], count: usize) -> StridedTensor {
    let mut dims = dims.to_vec();
    dims[0] = 1;
    let one = ones(&dims);
    dims[0] = count;
    one.expand(&dims).unwrap()
}

#[track_caller]
fn out_of_memory<T: std::fmt::Debug>(result: Result<T>) {
    let e = result.unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { .. } | Error::Overflow(_)), "{e}");
}

#[test]
fn conv2d_whose_window_overflows_in_bytes_is_a_typed_error() {
    for (c, padding, dilation) in [(4096, (1 << 24) - 1, (1 << 25) - 1), (16, (1 << 28) - 1, (1 << 29) - 1)] {
        let x = ones(&[1, c, 2, 2]).to_blocked(&Layout::NCHW16C).unwrap();
        let w = ones(&[16, c, 2, 2]).to_blocked(&Layout::OIHW16I16O).unwrap();
        out_of_memory(ops::conv2d(&x, &w, None, &Conv2d::new().padding(padding).dilation(dilation)));
    }
}

/// The op has no argument `dims`.
#[test]
fn a_result_of_too_many_bytes_is_named_as_the_result() {
    let e = ops::upsample_nearest(&ones(&[1, 3, 4, 4]), &Resample::to([1 << 30, 1 << 30])).unwrap_err();
    let text = "op `upsample_nearest`: argument `result`: got 3458764513820540928 elements of f32, but ";
    assert!(e.to_string().starts_with(text), "{e}");
}

/// A kernel of size 1 has no second element, so dilation has no effect.
#[test]
fn max_pool3d_of_a_window_of_one_takes_any_dilation() {
    let data: Vec<f32> = (0..27).map(|i| i as f32).collect();
    let x = StridedTensor::from_slice(&data, &[1, 1, 3, 3, 3]).unwrap();
    for dilation in [1, 5, i64::MAX as usize] {
        let y = ops::max_pool3d(&x, &MaxPool::window([1, 1, 1]).dilations([1, dilation, 1]).ceil_mode());
        assert_eq!(y.unwrap().to_vec::<f32>().unwrap(), data, "{dilation}");
    }
}

#[test]
fn ops_on_more_channels_than_memory_holds_are_errors_or_allocate_nothing() {
    let wide = ones(&[1, 1, 1, 2]).expand(&[1, 1usize << 50, 1, 2]).unwrap();
    out_of_memory(ops::instance_norm(&wide, &NormParams::default()));
    out_of_memory(ops::group_norm(&wide, 1, &NormParams::default()));
    let none = StridedTensor::zeros(&[0, 1 << 58, 1, 2], DType::F32, Contiguous).unwrap();
    assert_eq!(ops::instance_norm(&none, &NormParams::default()).unwrap().dims(), none.dims());
    assert_eq!(ops::group_norm(&none, 2, &NormParams::default()).unwrap().dims(), none.dims());
    let mean = repeated(&[1], 1 << 58);
    out_of_memory(ops::batch_norm(&none, &BatchNorm::new(&mean, &mean)));

    let x = BlockedTensor::zeros(&[0, 1 << 56, 1, 1], DType::F32, &Layout::NCHW16C).unwrap();
    assert_eq!(ops::channel_shuffle(&x, 2).unwrap().dims(), x.dims());
    assert_eq!(ops::chunk(&x, 2, 1).unwrap().len(), 2);
    assert_eq!(ops::split(&x, &[1, (1 << 56) - 1], 1).unwrap()[1].dims(), [0, (1 << 56) - 1, 1, 1]);
    assert_eq!(ops::cat(&[&x, &x], 1).unwrap().dims(), [0, 1 << 57, 1, 1]);
    assert_eq!(ops::flip(&x, &[1]).unwrap().dims(), x.dims());
    assert_eq!(ops::pad(&x, &[0, 0, 0, 0, 1, 1], PadMode::Constant(0.0)).unwrap().dims()[1], (1 << 56) + 2);
    assert!(x.to_strided(Contiguous).unwrap().to_string().starts_with("[] f32"));
}

#[test]
fn sum_and_conv2d_of_expanded_tensors_beyond_memory_are_typed_errors() {
    out_of_memory(ops::sum(&repeated(&[1, 512], 1 << 50), &[0], false));
    // Along the other axis the result is small, and so are the partial sums.
    let many = repeated(&[1, 1 << 16], 4);
    assert_eq!(ops::sum(&many, &[1], false).unwrap().to_vec::<f32>().unwrap(), [65536.0; 4]);
    let w = repeated(&[1, 1, 1, 1], 1 << 50);
    let source = Source::blocked(&[1, 1, 1, 1], &Layout::NCHW16C).unwrap();
    let packed = PackedConv2d::new(&w, None, Conv2d::new()).and_then(|p| p.pack_for(&source));
    out_of_memory(packed.map(|_| ()));
}

#[test]
fn offsets_and_strides_that_no_element_uses_do_no_harm() {
    let x = BlockedTensor::zeros(&[1, 0, 2, 2], DType::F32, &Layout::NCHW16C).unwrap();
    let none = ones(&[4]).as_strided(&[0], &[1], HUGE).unwrap();
    assert_eq!(ops::add_channel(&x, &none).unwrap().dims(), x.dims());
    assert_eq!(ops::mul_channel(&x, &none).unwrap().dims(), x.dims());
    // SAFETY: a live export of ours, given back once.
    unsafe {
        let out = none.to_dlpack().unwrap();
        assert_eq!(out.as_ref().dl_tensor.byte_offset, 0);
        StridedTensor::from_dlpack(out).unwrap();
    }
    let a = ones(&[4]).as_strided(&[4, 2, 0], &[HUGE, 1, 1], 0).unwrap();
    let b = StridedTensor::zeros(&[4, 0, 2], DType::F32, Contiguous).unwrap();
    assert_eq!(ops::matmul(&a, &b).unwrap().to_vec::<f32>().unwrap(), [0.0; 16]);
    let row = ones(&[3]).as_strided(&[1, 3], &[HUGE, 1], 0).unwrap();
    let column = ones(&[3]).as_strided(&[3, 1], &[1, HUGE], 0).unwrap();
    assert_eq!(ops::matmul(&row, &column).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    assert_eq!(ops::matmul(&column, &row).unwrap().to_vec::<f32>().unwrap(), [1.0; 9]);
    assert_eq!(ops::linear(&ones(&[2, 3]), &row, None).unwrap().to_vec::<f32>().unwrap(), [3.0; 2]);
    let single = ones(&[3]).as_strided(&[3, 1], &[1, HUGE], 0).unwrap();
    assert_eq!(ops::linear(&ones(&[1, 1]), &single, None).unwrap().to_vec::<f32>().unwrap(), [1.0; 3]);
    // Padding a tensor without elements, at an offset within its storage, gives elements.
    let nothing = StridedTensor::zeros(&[2, 0, 3], DType::F32, Contiguous).unwrap().select(2, 1).unwrap();
    let padded = ops::pad(&nothing, &[0, 2], ops::PadMode::Constant(4.0)).unwrap();
    assert_eq!((padded.dims(), padded.to_vec::<f32>().unwrap()), (&[2, 2][..], vec![4.0; 4]));
}

#[test]
fn index_select_takes_the_largest_i32_index() {
    let x = StridedTensor::full(&[1], 7u8, Contiguous).unwrap().expand(&[1usize << 31]).unwrap();
    let index = StridedTensor::from_slice(&[i32::MAX, 0, i32::MAX], &[3]).unwrap();
    assert_eq!(ops::index_select(&x, 0, &index).unwrap().to_vec::<u8>().unwrap(), [7; 3]);
}

#[test]
fn pow_scalar_of_special_values_matches_pytorch() {
    let x = StridedTensor::from_slice(&[-0.0f32, f32::NEG_INFINITY, 0.0, 4.0, -1.0], &[5]).unwrap();
    let power = |y| ops::pow_scalar(&x, y).unwrap().to_vec::<f32>().unwrap();
    // PyTorch 2.15.
    for (y, want) in [
        (0.5, [-0.0f32, f32::NAN, 0.0, 2.0, f32::NAN]),
        (-0.5, [f32::NEG_INFINITY, f32::NAN, f32::INFINITY, 0.5, f32::NAN]),
        (2.0, [0.0, f32::INFINITY, 0.0, 16.0, 1.0]),
    ] {
        let same = |(g, w): (f32, f32)| g.to_bits() == w.to_bits() || g.is_nan() && w.is_nan();
        assert!(power(y).into_iter().zip(want).all(same), "{y}: {:?}", power(y));
    }
}

#[test]
fn batch_norm_train_mean_of_an_infinity_is_infinite_at_every_index() {
    let (zero, one) = (StridedTensor::from_slice(&[0f32; 2], &[2]).unwrap(), ones(&[2]));
    for at in 0..6 {
        for (n, pixels) in [(1, 6), (2, 3), (3, 2), (6, 1)] {
            for sign in [1.0, -1.0] {
                // Channel 1 has an infinity, channel 0 has none.
                let mut data: Vec<f32> = (0..12).map(|i| i as f32).collect();
                data[(at / pixels * 2 + 1) * pixels + at % pixels] = sign * f32::INFINITY;
                let x = StridedTensor::from_slice(&data, &[n, 2, 1, pixels]).unwrap();
                for x in [x.clone(), x.contiguous(MemoryFormat::ChannelsLast).unwrap()] {
                    let params = BatchNormTrain { momentum: 1.0, ..BatchNormTrain::new(&zero, &one) };
                    let mean =
                        ops::batch_norm_train(&x, &params).unwrap().running_mean.to_vec::<f32>().unwrap();
                    assert!(mean[0].is_finite() && mean[1] == sign * f32::INFINITY, "{at} of {n}: {mean:?}");
                }
            }
        }
    }
}

#[test]
fn batch_norm_subtracts_an_infinite_mean() {
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 4, 1, 1]).unwrap();
    let mean = StridedTensor::from_slice(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0], &[4]).unwrap();
    let y = ops::batch_norm(&x, &BatchNorm::new(&mean, &ones(&[4]))).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(y[..2], [f32::NEG_INFINITY, f32::INFINITY]);
    assert!(y[2].is_nan() && (y[3] - 4.0).abs() < 1e-4, "{y:?}");
}
