//! burn's tensors to blocked ones and back.

use blocktensor::{DType as Ours, Layout, MemoryFormat, StridedTensor, ledger};
use blocktensor_burn::{Error, contiguous, to_blocked, to_blocked_in, to_burn, to_strided};
use burn::tensor::{DType, Device, Tensor};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Distinct numbers that f16 and bf16 hold exactly.
fn numbers<const D: usize>(dims: [usize; D]) -> Tensor<D> {
    let count: usize = dims.iter().product();
    let values: Vec<f32> = (0..count).map(|i| (i % 251) as f32 - 100.0).collect();
    Tensor::<1>::from_floats(&values[..], &Device::flex()).reshape(dims)
}

fn values<const D: usize>(x: &Tensor<D>) -> Vec<f32> {
    x.clone().cast(DType::F32).into_data().try_to_vec().expect("f32")
}

fn assert_same<const D: usize>(x: &Tensor<D>, y: &Tensor<D>) {
    assert_eq!((x.dims(), x.dtype()), (y.dims(), y.dtype()));
    assert_eq!(values(x), values(y));
}

/// There and back, with one reorder each way, and every padding lane zero.
fn round_trip<const D: usize>(x: &Tensor<D>) -> Outcome {
    let (blocked, there) = ledger::record(|| to_blocked(x));
    let blocked = blocked?;
    blocked.check_tail()?;
    let (back, book) = ledger::record(|| to_burn::<D, _>(&blocked));
    assert_same(x, &back?);
    assert_eq!((there.reorders.len(), book.reorders.len()), (1, 1), "{:?}", x.dims());
    Ok(())
}

#[test]
fn channel_tails_batches_and_single_pixels_come_back() -> Outcome {
    for channels in [1, 3, 15, 16, 17, 31, 33] {
        for batch in [1, 2] {
            for (h, w) in [(1, 1), (5, 7)] {
                round_trip(&numbers([batch, channels, h, w]))?;
            }
        }
        round_trip(&numbers([2, channels, 5]))?;
        round_trip(&numbers([1, channels, 2, 3, 4]))?;
        round_trip(&Tensor::<4>::zeros([0, channels, 5, 7], &Device::flex()))?;
    }
    Ok(())
}

#[test]
fn views_are_read_where_they_are() -> Outcome {
    let x = numbers([3, 17, 6, 5]);
    for view in [
        x.clone().swap_dims(2, 3),
        x.clone().swap_dims(0, 1),
        x.clone().narrow(0, 1, 2),
        x.clone().narrow(1, 3, 9),
        x.clone().narrow(2, 2, 1).narrow(3, 4, 1),
        x.clone().permute([0, 3, 1, 2]).narrow(1, 1, 3),
        x.clone().narrow(1, 2, 1).expand([3, 20, 6, 5]),
    ] {
        round_trip(&view)?;
        let strided = to_strided(&view)?;
        assert_eq!(strided.to_vec::<f32>()?, values(&view));
        assert_same(&to_burn::<4, _>(&strided)?, &view);
    }
    Ok(())
}

#[test]
fn half_precision_goes_both_ways() -> Outcome {
    let x = numbers([2, 17, 3, 2]);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        round_trip(&x.clone().cast(dtype))?;
    }
    Ok(())
}

#[test]
fn what_is_shared_is_copied_before_burn_writes() -> Outcome {
    let x = numbers([1, 3, 4, 4]);
    let wanted = values(&x);
    let shared = to_strided(&x)?;
    let x = x.add_scalar(1.0).mul_scalar(2.0);
    assert_eq!(shared.to_vec::<f32>()?, wanted);
    assert_eq!(values(&x)[0], (wanted[0] + 1.0) * 2.0);
    drop(x);
    assert_eq!(shared.to_vec::<f32>()?, wanted, "the memory outlives burn's tensor");
    Ok(())
}

#[test]
fn a_layout_may_be_chosen_and_a_reorder_refused() -> Outcome {
    let x = numbers([2, 9, 4, 4]);
    let blocked = to_blocked_in(&x, &Layout::NCHW8C)?;
    assert_eq!(blocked.layout(), &Layout::NCHW8C);
    assert_same(&to_burn::<4, _>(&blocked)?, &x);
    let (_, book) = ledger::record(|| to_blocked(&x));
    assert!(book.to_string().contains("tests/tensors.rs"), "{book}");
    let refused = ledger::deny_reorders(|| to_blocked(&x)).unwrap_err();
    assert!(matches!(refused, Error::Engine(blocktensor::Error::ReorderDenied(_))), "{refused}");
    Ok(())
}

#[test]
fn negative_strides_are_an_error_until_they_are_copied() -> Outcome {
    let x = numbers([1, 3, 4, 4]).flip([2]);
    let error = to_blocked(&x).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert!(error.to_string().contains("blocktensor_burn::contiguous(x)?"), "{error}");
    round_trip(&contiguous(x.clone())?)?;
    assert_same(&contiguous(x.clone())?, &x);
    Ok(())
}

#[test]
fn other_types_ranks_and_backends_are_errors() -> Outcome {
    let error = to_blocked(&numbers([1, 3, 4, 4]).cast(DType::F64)).unwrap_err();
    assert!(
        matches!(error, Error::DType { .. }) && error.to_string().contains("cast(DType::F32)"),
        "{error}"
    );
    let error = to_blocked(&numbers([4, 4])).unwrap_err();
    assert!(matches!(error, Error::Engine(blocktensor::Error::RankMismatch(_))), "{error}");
    let bytes = StridedTensor::zeros(&[2], Ours::U8, MemoryFormat::Contiguous)?;
    let error = to_burn::<1, _>(&bytes).unwrap_err();
    assert!(matches!(error, Error::DType { .. }), "{error}");
    let error =
        to_burn::<2, _>(&StridedTensor::ones(&[2], Ours::F32, MemoryFormat::Contiguous)?).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    Ok(())
}
