//! Planned regions beside candle's own layers.

use blocktensor_candle::{Builder, Error, Layouts, PlanOptions, Region};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, D, DType, Device, Layout, Module, ModuleT, Tensor, Var,
};
use candle_nn::{
    Activation, BatchNormConfig, Conv1dConfig, Conv2dConfig, ConvTranspose2dConfig, VarBuilder, VarMap,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn blocked() -> PlanOptions {
    PlanOptions::new(Layouts::Blocked)
}

fn image<S: Into<candle_core::Shape>>(sizes: S) -> candle_core::Result<Tensor> {
    Tensor::randn(0f32, 1.0, sizes, &Device::Cpu)
}

/// Weights that layers make when they first ask for them.
fn weights(map: &VarMap) -> VarBuilder<'static> {
    VarBuilder::from_varmap(map, DType::F32, &Device::Cpu)
}

/// Values for the statistics of batch norms, which would be 0 and 1.
fn trained(map: &VarMap, norm: &str, features: usize) -> candle_core::Result<()> {
    let set = |name: &str, values: Tensor| {
        let vars = map.data().lock().expect("no other thread");
        vars[&format!("{norm}.{name}")].set(&values)
    };
    for name in ["running_mean", "weight", "bias"] {
        set(name, image(features)?)?;
    }
    set("running_var", (image(features)?.abs()? + 0.5)?)
}

/// The largest difference is a small part of the largest value.
fn assert_close(ours: &Tensor, theirs: &Tensor) -> candle_core::Result<()> {
    assert_eq!(ours.dims(), theirs.dims());
    if theirs.elem_count() == 0 {
        return Ok(());
    }
    let largest = |t: Tensor| t.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>();
    let (difference, scale) = (largest((ours - theirs)?)?, largest(theirs.clone())?);
    assert!(difference <= 1e-4 * scale.max(1.0), "{difference} of {scale}");
    Ok(())
}

/// A residual block with a stride, and a classifier, of these channels.
fn network(channels: usize, batch: usize, size: usize) -> Outcome {
    let map = VarMap::new();
    let vb = weights(&map);
    let config = Conv2dConfig { padding: 1, ..Default::default() };
    let strided = Conv2dConfig { stride: 2, ..Default::default() };
    let first = candle_nn::conv2d_no_bias(3, channels, 3, config, vb.pp("first"))?;
    let norm = candle_nn::batch_norm(channels, 1e-3, vb.pp("norm"))?;
    let deep = candle_nn::conv2d(channels, channels, 3, config, vb.pp("deep"))?;
    let side = candle_nn::conv2d(channels, channels, 1, strided, vb.pp("side"))?;
    let last = candle_nn::linear(channels, 5, vb.pp("last"))?;
    trained(&map, "norm", channels)?;
    // `norm` has copies of the first statistics.
    let norm_again = candle_nn::batch_norm(channels, 1e-3, vb.pp("norm"))?;
    drop(norm);

    let x = image((batch, 3, size, size))?;
    let y = norm_again.forward_t(&first.forward(&x)?, false)?.relu()?;
    let y = (deep.forward(&y)? + &y)?.silu()?;
    let y = side.forward(&y)?;
    let theirs = last.forward(&y.mean((2, 3))?)?;

    let (mut net, input) = Builder::new((batch, 3, size, size))?;
    let y = net.conv2d_no_bias(input, 3, channels, 3, config, vb.pp("first"))?;
    let y = net.batch_norm(y, channels, 1e-3, vb.pp("norm"))?;
    let y = net.relu(y)?;
    let z = net.conv2d_of("deep", y, &deep)?;
    let y = net.add(z, y)?;
    let y = net.activation(y, Activation::Silu)?;
    let y = net.conv2d(y, channels, channels, 1, strided, vb.pp("side"))?;
    let y = net.mean(y, &[2, 3])?;
    let y = net.linear(y, channels, 5, vb.pp("last"))?;
    let region = net.region(y, &blocked())?;
    assert_close(&region.forward(&x)?, &theirs)?;
    assert_close(&region.run(&x)?, &theirs)?;
    assert_close(&x.apply_op1(region.clone())?, &theirs)?;
    assert!(region.plan().to_string().contains("deep"), "nodes have the names of their weights");
    Ok(())
}

#[test]
fn a_region_computes_what_candle_does() -> Outcome {
    for channels in [1, 3, 15, 16, 17, 31, 33] {
        network(channels, 1, 9)?;
    }
    network(17, 2, 8)?;
    network(17, 1, 1)
}

#[test]
fn a_batch_of_nothing_gives_nothing() -> Outcome {
    let map = VarMap::new();
    let config = Conv2dConfig { padding: 1, ..Default::default() };
    let (mut net, x) = Builder::new((0, 3, 5, 5))?;
    let y = net.conv2d(x, 3, 17, 3, config, weights(&map).pp("conv"))?;
    let region = net.region(y, &blocked())?;
    assert_eq!(
        region.forward(&Tensor::zeros((0, 3, 5, 5), DType::F32, &Device::Cpu)?)?.dims(),
        [0, 17, 5, 5]
    );
    Ok(())
}

/// One node, beside what candle computes.
fn one(
    sizes: &[usize],
    node: impl FnOnce(
        &mut Builder,
        blocktensor_candle::ValueId,
    ) -> blocktensor_candle::Result<blocktensor_candle::ValueId>,
    theirs: impl FnOnce(&Tensor) -> candle_core::Result<Tensor>,
) -> Outcome {
    let (mut net, x) = Builder::new(sizes)?;
    let y = node(&mut net, x)?;
    let region = net.region(y, &blocked())?;
    let x = image(sizes)?;
    assert_close(&region.forward(&x)?, &theirs(&x)?)?;
    Ok(())
}

#[test]
fn every_layer_of_the_builder_computes_what_candles_does() -> Outcome {
    let map = VarMap::new();
    let vb = weights(&map);
    let sizes = [2, 6, 8, 10];
    let grouped = Conv2dConfig { padding: 2, stride: 1, dilation: 2, groups: 2, ..Default::default() };
    one(
        &sizes,
        |net, x| net.conv2d(x, 6, 10, 3, grouped, vb.pp("grouped")),
        |x| candle_nn::conv2d(6, 10, 3, grouped, vb.pp("grouped"))?.forward(x),
    )?;
    let line = Conv1dConfig { padding: 1, stride: 2, ..Default::default() };
    one(
        &[2, 6, 9],
        |net, x| net.conv1d(x, 6, 4, 3, line, vb.pp("line")),
        |x| candle_nn::conv1d(6, 4, 3, line, vb.pp("line"))?.forward(x),
    )?;
    let up = ConvTranspose2dConfig { padding: 1, output_padding: 1, stride: 2, dilation: 1 };
    one(
        &sizes,
        |net, x| net.conv_transpose2d(x, 6, 4, 3, up, vb.pp("up")),
        |x| candle_nn::conv_transpose2d(6, 4, 3, up, vb.pp("up"))?.forward(x),
    )?;
    let plain = BatchNormConfig { affine: false, ..Default::default() };
    one(
        &sizes,
        |net, x| net.batch_norm(x, 6, plain, vb.pp("plain")),
        |x| candle_nn::batch_norm(6, plain, vb.pp("plain"))?.forward_t(x, false),
    )?;
    one(
        &sizes,
        |net, x| net.group_norm(x, 3, 6, 1e-5, vb.pp("group")),
        |x| candle_nn::group_norm(3, 6, 1e-5, vb.pp("group"))?.forward(x),
    )?;
    one(
        &sizes,
        |net, x| net.layer_norm(x, 10, 1e-6, vb.pp("layer")),
        |x| candle_nn::layer_norm(10, 1e-6, vb.pp("layer"))?.forward(x),
    )?;
    one(
        &[4, 6],
        |net, x| net.linear_no_bias(x, 6, 3, vb.pp("linear")),
        |x| candle_nn::linear_no_bias(6, 3, vb.pp("linear"))?.forward(x),
    )?;
    one(&sizes, |net, x| net.max_pool2d(x, 2), |x| x.max_pool2d(2))?;
    one(
        &sizes,
        |net, x| net.max_pool2d_with_stride(x, (3, 2), (2, 1)),
        |x| x.max_pool2d_with_stride((3, 2), (2, 1)),
    )?;
    one(&sizes, |net, x| net.avg_pool2d(x, 2), |x| x.avg_pool2d(2))?;
    one(&sizes, |net, x| net.avg_pool2d_with_stride(x, 3, 2), |x| x.avg_pool2d_with_stride(3, 2))?;
    one(&sizes, |net, x| net.upsample_nearest2d(x, 16, 30), |x| x.upsample_nearest2d(16, 30))?;
    one(&sizes, |net, x| net.pad_with_zeros(x, D::Minus2, 1, 2), |x| x.pad_with_zeros(D::Minus2, 1, 2))?;
    one(&sizes, |net, x| net.pad_with_zeros(x, D::Minus1, 3, 0), |x| x.pad_with_zeros(D::Minus1, 3, 0))?;
    one(&sizes, |net, x| net.flatten_from(x, 1), |x| x.flatten_from(1))?;
    one(&sizes, |net, x| net.cat(&[x, x], 1), |x| Tensor::cat(&[x, x], 1))?;
    one(&sizes, |net, x| net.mul(x, x), |x| x * x)?;
    Ok(())
}

#[test]
fn every_activation_is_candles() -> Outcome {
    for activation in [
        Activation::Gelu,
        Activation::NewGelu,
        Activation::Relu,
        Activation::Relu2,
        Activation::Relu6,
        Activation::Silu,
        Activation::Sigmoid,
        Activation::HardSigmoid,
        Activation::Swish,
        Activation::Mish,
        Activation::HardSwish,
        Activation::Elu(0.7),
        Activation::LeakyRelu(0.2),
        Activation::GeluPytorchTanh,
    ] {
        one(&[2, 5, 4, 4], |net, x| net.activation(x, activation), |x| activation.forward(x))
            .map_err(|e| format!("{activation:?}: {e}"))?;
    }
    let (mut net, x) = Builder::new((1, 4))?;
    let error = net.activation(x, Activation::Swiglu).unwrap_err();
    assert!(error.to_string().contains("candle_nn::ops::swiglu"), "{error}");
    Ok(())
}

/// A convolution that is ready to run.
fn convolution() -> Result<Region, Error> {
    let map = VarMap::new();
    let (mut net, x) = Builder::new((1, 3, 8, 8))?;
    let y = net.conv2d(x, 3, 17, 3, Conv2dConfig::default(), weights(&map).pp("conv"))?;
    net.region(y, &blocked())
}

#[test]
fn a_region_copies_nothing_to_make_an_input_fit() -> Outcome {
    let region = convolution()?;
    let x = image((1, 3, 8, 8))?;
    let view = x.transpose(2, 3)?;
    let error = region.forward(&view).unwrap_err().to_string();
    assert!(error.contains("call `contiguous()?`"), "{error}");
    assert_close(&region.forward(&view.contiguous()?)?, &region.forward(&view.force_contiguous()?)?)?;
    let error = region.forward(&image((2, 3, 8, 8))?).unwrap_err().to_string();
    assert!(error.contains("[2, 3, 8, 8]") && error.contains("this plan is for [1, 3, 8, 8]"), "{error}");
    let error = region.run(&x.to_dtype(DType::F16)?).unwrap_err();
    assert!(
        matches!(error, Error::Graph(_)) && error.to_string().contains("`to_dtype(DType::F32)?`"),
        "{error}"
    );
    let error = region.run(&x.to_dtype(DType::F64)?).unwrap_err();
    assert!(matches!(error, Error::DType { .. }), "{error}");
    // A part of a batch is row-major, and begins inside its storage.
    let batch = image((3, 3, 8, 8))?;
    let middle = batch.narrow(0, 1, 1)?;
    assert_close(&region.forward(&middle)?, &region.forward(&middle.force_contiguous()?)?)?;
    Ok(())
}

#[test]
fn storage_that_cannot_be_read_is_an_error() -> Outcome {
    let region = convolution()?;
    let storage = CpuStorage::F32(vec![0.0; 3 * 8 * 8]);
    for layout in [
        Layout::contiguous_with_offset((1, 3, 8, 8), 1),
        Layout::new((1, 3, 8, 8).into(), vec![usize::MAX, 65, 8, 1], 0),
        Layout::new((1, 3, 8, 8).into(), vec![192, usize::MAX, 8, 1], 0),
        Layout::new((1, 3, 8, 8).into(), vec![1], 0),
    ] {
        let error = region.cpu_fwd(&storage, &layout).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("the storage has 192 elements"), "{error}");
    }
    assert!(region.cpu_fwd(&storage, &Layout::contiguous((1, 3, 8, 8))).is_ok());
    let error = region.cuda_fwd(&CudaStorage, &Layout::contiguous((1, 3, 8, 8))).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("`to_device(&Device::Cpu)?`"), "{error}");
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_layer() -> Outcome {
    let map = VarMap::new();
    let vb = weights(&map);
    let (mut net, x) = Builder::new((1, 4, 8, 8))?;
    let y = net.conv2d(x, 3, 17, 3, Conv2dConfig::default(), vb.pp("stage.conv"))?;
    let error = net.region(y, &blocked()).unwrap_err();
    assert!(matches!(error, Error::Graph(blocktensor_graph::Error::Operator { .. })), "{error}");
    assert!(error.to_string().contains("node `stage.conv` (conv2d)"), "{error}");

    let empty = VarBuilder::from_tensors(Default::default(), DType::F32, &Device::Cpu);
    let (mut net, x) = Builder::new((1, 3, 8, 8))?;
    let error = net.conv2d(x, 3, 17, 3, Conv2dConfig::default(), empty.pp("conv")).unwrap_err();
    assert!(matches!(error, Error::Candle(_)) && error.to_string().contains("conv.weight"), "{error}");

    let half = VarBuilder::from_varmap(&VarMap::new(), DType::F16, &Device::Cpu);
    let error = net.conv2d(x, 3, 17, 3, Conv2dConfig::default(), half.pp("conv")).unwrap_err();
    assert!(matches!(error, Error::DType { .. }) && error.to_string().contains("conv.weight"), "{error}");
    Ok(())
}

#[test]
fn a_backward_pass_is_refused_and_not_cut() -> Outcome {
    let region = convolution()?;
    let x = Var::from_tensor(&image((1, 3, 8, 8))?)?;
    let loss = region.forward(x.as_tensor())?.sum_all()?;
    let error = loss.backward().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("a region has no gradients") && error.contains("detach()"), "{error}");
    assert!(region.forward(&x.as_tensor().detach())?.sum_all()?.backward().is_ok());
    Ok(())
}

#[test]
fn a_region_has_one_input_and_one_output() -> Outcome {
    let mut graph = blocktensor_graph::Graph::new();
    let a = graph.input("a", &[2.into()])?;
    let b = graph.input("b", &[2.into()])?;
    let y = graph.op("y", "add", &[("a", a), ("b", b)], &[])?;
    graph.output("y", y)?;
    let error = Region::new(graph.plan(&blocked())?).unwrap_err();
    assert!(error.to_string().contains("(f32, f32) -> (f32)"), "{error}");
    Ok(())
}

#[test]
fn many_threads_run_one_region() -> Outcome {
    let region = convolution()?;
    let x = image((1, 3, 8, 8))?;
    let wanted = region.forward(&x)?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_close(&region.forward(&x).unwrap(), &wanted).unwrap();
                }
            });
        }
    });
    Ok(())
}
