//! The convolution of huggingface/candle#3119 (2 images of 3x320x320, 16 output channels, 3x3, padding 1, no bias), by turns.
//!
//! `cargo run --release --example conv2d_3119`, with `TORCH_PYTHON=/an/environment/bin/python` beside PyTorch too. Without it, only
//! candle and blocktensor are measured.

mod shared;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use blocktensor::ops::Conv2d;
use blocktensor::{PackedConv2d, Source};
use blocktensor_candle::{Builder, Error, PlanOptions, to_blocked, to_candle, to_strided};
use candle_core::{DType, Device, Module, Tensor};
use candle_nn::{Conv2dConfig, VarBuilder, VarMap};
use shared::{Way, by_turns, round};

/// PyTorch's side: a round for each line that it gets.
const TORCH: &str = r"
import sys, time, torch
torch.set_grad_enabled(False)
conv, x = torch.nn.Conv2d(3, 16, 3, padding=1, bias=False), torch.randn(2, 3, 320, 320)
if sys.argv[1] == 'channels_last':
    conv, x = conv.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
print(torch.__version__, torch.get_num_threads(), flush=True)
for _ in sys.stdin:
    start, least = time.perf_counter(), float('inf')
    while time.perf_counter() - start < 0.5:
        begin = time.perf_counter()
        conv(x)
        least = min(least, time.perf_counter() - begin)
    print(least * 1e3, flush=True)
";

/// Rounds of PyTorch in a process of its own.
fn torch(format: &str) -> std::io::Result<Option<Way<'static>>> {
    let Ok(python) = std::env::var("TORCH_PYTHON") else { return Ok(None) };
    let mut child = Command::new(python)
        .args(["-c", TORCH, format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else { return Ok(None) };
    let mut from = BufReader::new(from);
    let mut line = String::new();
    from.read_line(&mut line)?;
    println!("PyTorch {} threads, {format}", line.trim());
    let name = if format == "channels_last" { "PyTorch, channels_last" } else { "PyTorch" };
    let round = move || {
        writeln!(to)?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        line.trim().parse().map_err(|_| candle_core::Error::msg(format!("PyTorch said `{}`", line.trim())))
    };
    Ok(Some((name, Box::new(round))))
}

fn main() -> candle_core::Result<()> {
    let weights = VarMap::new();
    let vb = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
    let config = Conv2dConfig { padding: 1, ..Default::default() };
    let conv = candle_nn::conv2d_no_bias(3, 16, 3, config, vb.pp("conv"))?;
    let x = Tensor::randn(0f32, 1.0, (2, 3, 320, 320), &Device::Cpu)?;

    let (mut net, input) = Builder::new((2, 3, 320, 320))?;
    let y = net.conv2d_no_bias(input, 3, 16, 3, config, vb.pp("conv"))?;
    let region = net.region(y, &PlanOptions::default())?;
    println!("{}", region.plan());

    let blocked = to_blocked(&x)?;
    let source = Source::of(&blocked).map_err(Error::from)?;
    let packed = PackedConv2d::new(&to_strided(conv.weight())?, None, Conv2d::new().padding(1));
    let packed = packed.and_then(|conv| conv.pack_for(&source)).map_err(Error::from)?;

    let theirs = conv.forward(&x)?;
    let run = || blocktensor::run(|| packed.run(&blocked)).map_err(Error::from);
    for ours in [region.forward(&x)?, to_candle(&run()?)?] {
        let error = (ours - &theirs)?.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?;
        println!(
            "largest difference {error:.1e}, of {:.1e}",
            theirs.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?
        );
        if error > 1e-4 {
            return Err(candle_core::Error::msg("the results differ"));
        }
    }

    let length = Duration::from_millis(500);
    let mut ways: Vec<Way<'_>> = vec![
        ("candle", Box::new(|| round(length, || conv.forward(&x).map(drop)))),
        ("region: candle's tensor in and out", Box::new(|| round(length, || region.forward(&x).map(drop)))),
        ("packed convolution on blocked tensors", Box::new(|| round(length, || Ok(run().map(drop)?)))),
    ];
    for format in ["contiguous", "channels_last"] {
        ways.extend(torch(format)?);
    }
    by_turns(5, &mut ways)?;
    Ok(())
}
