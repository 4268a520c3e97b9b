//! Regions and packed convolutions beside burn's own modules.

use blocktensor_burn::{Builder, Error, Layouts, PackedConv, PlanOptions, Region, ValueId};
use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{AvgPool2dConfig, MaxPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, LinearConfig, PaddingConfig2d};
use burn::tensor::{Device, Distribution, Shape, Tensor, activation};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn blocked() -> PlanOptions {
    PlanOptions::new(Layouts::Blocked)
}

fn random<const D: usize>(sizes: [usize; D]) -> Tensor<D> {
    Tensor::random(sizes, Distribution::Normal(0.0, 1.0), &Device::flex())
}

fn assert_close<const D: usize>(ours: &Tensor<D>, theirs: &Tensor<D>) {
    assert_eq!(ours.dims(), theirs.dims());
    if theirs.dims().contains(&0) {
        return;
    }
    let largest = |t: Tensor<D>| t.abs().max().into_scalar::<f32>();
    let (difference, scale) = (largest(ours.clone() - theirs.clone()), largest(theirs.clone()));
    assert!(difference <= 1e-4 * scale.max(1.0), "{difference} of {scale}");
}

fn conv(from: usize, to: usize, kernel: usize, padding: usize, stride: usize) -> Conv2d {
    let padding = PaddingConfig2d::Explicit(padding, padding, padding, padding);
    let config = Conv2dConfig::new([from, to], [kernel, kernel]).with_padding(padding);
    config.with_stride([stride, stride]).init(&Device::flex())
}

/// A norm whose statistics are not 0 and 1.
fn norm(features: usize) -> BatchNorm {
    let norm = BatchNormConfig::new(features).with_epsilon(1e-3).init(&Device::flex());
    norm.running_mean.update(random([features]));
    norm.running_var.update(random([features]).abs() + 0.5);
    norm
}

#[test]
fn a_region_computes_what_burn_does() -> Outcome {
    for (channels, batch, size) in [
        (1, 1, 9),
        (3, 1, 9),
        (15, 1, 9),
        (16, 1, 9),
        (17, 1, 9),
        (31, 2, 8),
        (33, 1, 9),
        (17, 1, 1),
        (17, 0, 5),
    ] {
        let (first, norm, deep) =
            (conv(3, channels, 3, 1, 1), norm(channels), conv(channels, channels, 3, 1, 1));
        let side = conv(channels, channels, 1, 0, 2);
        let (mut net, x) = Builder::new(&[batch, 3, size, size])?;
        let y = net.conv2d("first", x, &first)?;
        let y = net.batch_norm("norm", y, &norm)?;
        let y = net.relu(y)?;
        let z = net.conv2d("deep", y, &deep)?;
        let y = net.add(z, y)?;
        let y = net.conv2d("side", y, &side)?;
        let region = net.region(y, &blocked())?;
        if batch == 0 {
            let nothing = Tensor::<4>::zeros([0, 3, size, size], &Device::flex());
            assert_eq!(
                region.forward::<4, 4>(nothing)?.dims(),
                [0, channels, size.div_ceil(2), size.div_ceil(2)]
            );
            continue;
        }
        let x = random([batch, 3, size, size]);
        let y = activation::relu(norm.forward(first.forward(x.clone())));
        let theirs = side.forward(deep.forward(y.clone()) + y);
        assert_close(&region.forward(x)?, &theirs);
        assert!(region.plan().to_string().contains("deep"), "nodes have their names");
    }
    Ok(())
}

/// One node, beside what burn computes.
fn one<const D: usize>(
    sizes: [usize; D],
    node: impl FnOnce(&mut Builder, ValueId) -> blocktensor_burn::Result<ValueId>,
    theirs: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Outcome {
    let (mut net, x) = Builder::new(&sizes)?;
    let y = node(&mut net, x)?;
    let region = net.region(y, &blocked())?;
    let x = random(sizes);
    assert_close(&region.forward(x.clone())?, &theirs(x));
    Ok(())
}

#[test]
fn every_module_of_the_builder_computes_what_burns_does() -> Outcome {
    let device = Device::flex();
    let sizes = [2, 6, 8, 10];
    for padding in [PaddingConfig2d::Same, PaddingConfig2d::Valid, PaddingConfig2d::Explicit(1, 2, 3, 0)] {
        let layer = Conv2dConfig::new([6, 10], [4, 3]).with_padding(padding).with_groups(2).init(&device);
        one(sizes, |net, x| net.conv2d("conv", x, &layer), |x| layer.forward(x))?;
        let packed = PackedConv::new(&layer, sizes)?;
        let x = random(sizes);
        assert_close(&packed.forward(x.clone())?, &layer.forward(x));
    }
    let dilated = Conv2dConfig::new([6, 4], [3, 3]).with_dilation([2, 1]).with_bias(false).init(&device);
    one(sizes, |net, x| net.conv2d("conv", x, &dilated), |x| dilated.forward(x))?;
    let norm = norm(6);
    one(sizes, |net, x| net.batch_norm("norm", x, &norm), |x| norm.forward(x))?;
    let linear = LinearConfig::new(6, 4).init(&device);
    one([3, 6], |net, x| net.linear("linear", x, &linear), |x| linear.forward(x))?;
    let pool =
        MaxPool2dConfig::new([3, 2]).with_strides([2, 1]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
    let pool = pool.init();
    one(sizes, |net, x| net.max_pool2d(x, &pool), |x| pool.forward(x))?;
    let pool = AvgPool2dConfig::new([2, 2]).with_strides([2, 2]).init();
    one(sizes, |net, x| net.avg_pool2d(x, &pool), |x| pool.forward(x))?;
    one(sizes, |net, x| net.op("", "sigmoid", &[("x", x)], &[]), activation::sigmoid)?;
    Ok(())
}

#[test]
fn a_padding_that_depends_on_the_image_is_an_error() -> Outcome {
    let layer = Conv2dConfig::new([3, 4], [3, 3]).with_padding(PaddingConfig2d::Same).with_stride([2, 2]);
    let layer = layer.init(&Device::flex());
    let error = PackedConv::new(&layer, [1, 3, 8, 8]).unwrap_err();
    assert!(error.to_string().contains("say `PaddingConfig2d::Explicit`"), "{error}");
    Ok(())
}

#[test]
fn nothing_is_copied_to_make_an_input_fit() -> Outcome {
    let layer = conv(3, 17, 3, 1, 1);
    let (mut net, x) = Builder::new(&[1, 3, 8, 8])?;
    let y = net.conv2d("conv", x, &layer)?;
    let region = net.region(y, &blocked())?;
    let packed = PackedConv::new(&layer, [1, 3, 8, 8])?;
    let view = random([1, 3, 8, 8]).swap_dims(2, 3);
    let error = region.forward::<4, 4>(view.clone()).unwrap_err().to_string();
    assert!(error.contains("call `blocktensor_burn::contiguous(x)?`"), "{error}");
    let error = packed.forward(view.clone()).unwrap_err();
    assert!(matches!(error, Error::Engine(blocktensor::Error::PackMismatch(_))), "{error}");
    let copy = blocktensor_burn::contiguous(view)?;
    assert_close(&region.forward(copy.clone())?, &packed.forward(copy)?);

    let error = region.forward::<4, 4>(random([2, 3, 8, 8])).unwrap_err().to_string();
    assert!(error.contains("this plan is for [1, 3, 8, 8]"), "{error}");
    let error = region.forward::<4, 2>(random([1, 3, 8, 8])).unwrap_err().to_string();
    assert!(error.contains("Tensor<2>") && error.contains("[1, 17, 8, 8]"), "{error}");
    let half = random([1, 3, 8, 8]).cast(burn::tensor::DType::F16);
    let error = region.forward::<4, 4>(half).unwrap_err().to_string();
    assert!(error.contains("cast(DType::F32)"), "{error}");
    Ok(())
}

#[test]
fn a_layout_beyond_the_storage_is_an_error() -> Outcome {
    let packed = PackedConv::new(&conv(3, 4, 3, 1, 1), [1, 3, 8, 8])?;
    let storage = FlexTensor::zeros(Shape::from([1, 3, 8, 8]), burn::tensor::DType::F32);
    for (strides, start) in
        [(vec![192, 64, 8, 1], 1), (vec![192, isize::MAX, 8, 1], 0), (vec![192, 64, 9, 1], 0)]
    {
        let layout = Layout::new(Shape::from([1, 3, 8, 8]), strides, start);
        let x = FlexTensor::from_arc(storage.data_arc(), layout, burn::tensor::DType::F32);
        let error = packed.forward(Tensor::from_primitive::<Flex>(x)).unwrap_err().to_string();
        assert!(error.contains("the storage has 192 elements"), "{error}");
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_node() -> Outcome {
    let (mut net, x) = Builder::new(&[1, 4, 8, 8])?;
    let y = net.conv2d("stage.conv", x, &conv(3, 17, 3, 1, 1))?;
    let error = net.region(y, &blocked()).unwrap_err().to_string();
    assert!(error.contains("node `stage.conv` (conv2d)"), "{error}");
    let mut graph = blocktensor_graph::Graph::new();
    let a = graph.input("a", &[2.into()])?;
    let b = graph.input("b", &[2.into()])?;
    let y = graph.op("y", "add", &[("a", a), ("b", b)], &[])?;
    graph.output("y", y)?;
    let error = Region::new(graph.plan(&blocked())?).unwrap_err().to_string();
    assert!(error.contains("(f32, f32) -> (f32)"), "{error}");
    Ok(())
}
