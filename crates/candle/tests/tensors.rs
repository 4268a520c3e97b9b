//! candle's tensors to blocked ones and back.

use blocktensor::{DType as Ours, Layout, MemoryFormat, StridedTensor, ledger};
use blocktensor_candle::{Error, to_blocked, to_blocked_in, to_candle, to_strided};
use candle_core::{DType, Device, Tensor};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Distinct numbers that f16 and bf16 hold exactly.
fn numbers(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let values: Vec<f32> = (0..count).map(|i| (i % 251) as f32 - 100.0).collect();
    Tensor::from_vec(values, dims, &Device::Cpu).expect("as many values as the sizes say")
}

fn values(x: &Tensor) -> Vec<f32> {
    let x = x.to_dtype(DType::F32).and_then(|x| x.flatten_all());
    x.and_then(|x| x.to_vec1()).expect("a tensor of numbers")
}

fn assert_same(x: &Tensor, y: &Tensor) {
    assert_eq!(x.dims(), y.dims());
    assert_eq!(x.dtype(), y.dtype());
    assert_eq!(values(x), values(y));
}

/// There and back, with one reorder each way, and every padding lane zero.
fn round_trip(x: &Tensor) -> Outcome {
    let (blocked, there) = ledger::record(|| to_blocked(x));
    let blocked = blocked?;
    blocked.check_tail()?;
    let (back, book) = ledger::record(|| to_candle(&blocked));
    let back = back?;
    assert_same(x, &back);
    assert!(back.is_contiguous());
    assert_eq!((there.reorders.len(), book.reorders.len()), (1, 1), "{:?}", x.dims());
    Ok(())
}

#[test]
fn channel_tails_batches_and_single_pixels_come_back() -> Outcome {
    for channels in [1, 3, 15, 16, 17, 31, 33] {
        for batch in [0, 1, 2] {
            for (h, w) in [(1, 1), (5, 7)] {
                round_trip(&numbers(&[batch, channels, h, w]))?;
            }
        }
        round_trip(&numbers(&[2, channels, 5]))?;
        round_trip(&numbers(&[1, channels, 2, 3, 4]))?;
    }
    Ok(())
}

#[test]
fn views_are_read_where_they_are() -> Outcome {
    let x = numbers(&[3, 17, 6, 5]);
    for view in [
        x.transpose(2, 3)?,
        x.transpose(0, 1)?,
        x.narrow(0, 1, 2)?,
        x.narrow(1, 3, 9)?,
        x.narrow(2, 2, 1)?.narrow(3, 4, 1)?,
        x.permute((0, 3, 1, 2))?.narrow(1, 1, 3)?,
        x.narrow(1, 2, 1)?.broadcast_as((3, 20, 6, 5))?,
        x.narrow(0, 2, 0)?,
    ] {
        round_trip(&view)?;
        let strided = to_strided(&view)?;
        assert_eq!(strided.to_vec::<f32>()?, values(&view));
        assert_same(&to_candle(&strided)?, &view);
    }
    Ok(())
}

#[test]
fn every_common_type_goes_both_ways() -> Outcome {
    let x = numbers(&[2, 17, 3, 2]).abs()?;
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::U8, DType::I32] {
        round_trip(&x.to_dtype(dtype)?)?;
    }
    Ok(())
}

#[test]
fn a_result_owns_its_memory() -> Outcome {
    let x = numbers(&[1, 17, 4, 4]);
    let wanted = values(&x);
    let blocked = to_blocked(&x)?;
    drop(x);
    let back = to_candle(&blocked)?;
    drop(blocked);
    assert_eq!(values(&back), wanted);
    Ok(())
}

#[test]
fn a_layout_may_be_chosen() -> Outcome {
    let x = numbers(&[2, 9, 4, 4]);
    let blocked = to_blocked_in(&x, &Layout::NCHW8C)?;
    assert_eq!(blocked.layout(), &Layout::NCHW8C);
    assert_same(&to_candle(&blocked)?, &x);
    Ok(())
}

#[test]
fn the_ledger_names_the_program_and_may_refuse() -> Outcome {
    let x = numbers(&[1, 3, 4, 4]);
    let (_, book) = ledger::record(|| to_blocked(&x));
    assert!(book.to_string().contains("tests/tensors.rs"), "{book}");
    let refused = ledger::deny_reorders(|| to_blocked(&x)).unwrap_err();
    assert!(matches!(refused, Error::Engine(blocktensor::Error::ReorderDenied(_))), "{refused}");
    Ok(())
}

#[test]
fn other_types_and_ranks_are_errors_with_candles_own_remedy() -> Outcome {
    let x = numbers(&[1, 3, 4, 4]);
    for dtype in [DType::F64, DType::I64, DType::U32] {
        let error = to_blocked(&x.to_dtype(dtype)?).unwrap_err();
        assert!(matches!(error, Error::DType { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(dtype.as_str()) && text.contains("`to_dtype(DType::F32)?`"), "{text}");
        round_trip(&x.to_dtype(dtype)?.to_dtype(DType::F32)?)?;
    }
    let error = to_blocked(&numbers(&[4, 4])).unwrap_err();
    assert!(matches!(error, Error::Engine(blocktensor::Error::RankMismatch(_))), "{error}");
    let signed = StridedTensor::zeros(&[2], Ours::S8, MemoryFormat::Contiguous)?;
    let error = to_candle(&signed).unwrap_err();
    assert!(matches!(error, Error::DType { .. }), "{error}");
    assert_eq!(values(&to_candle(&signed.to_dtype(Ours::S32)?)?), [0.0, 0.0]);
    Ok(())
}
