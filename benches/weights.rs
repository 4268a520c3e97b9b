//! What weights cost before and while they run: packing them against mapping a packed file, plain file against packed
//! pages in a run, and what subnormal numbers cost. In one run and in turns, medians.
//! `cargo bench --profile dev --bench weights`

use std::path::PathBuf;
use std::time::Instant;

use blocktensor::ops::Conv2d;
use blocktensor::{Layout, MemoryFormat, PackedConv2d, PackedFile, Source, StridedTensor};
use blocktensor_nets::{Arch, Mode, Network, Weights, normal};

const ROUNDS: usize = 15;

/// A folder that goes with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Milliseconds of each side: medians over interleaved rounds.
fn compare<const N: usize>(mut sides: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let start = Instant::now();
            side();
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    })
}

fn main() -> blocktensor::Result<()> {
    let folder = Folder(std::env::temp_dir().join(format!("blocktensor-bench-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder for the files");
    loading(&folder)?;
    fading()
}

/// The file of plain weights and that of packed ones lie in the system's page cache for both sides. Primitives are made
/// anew for both.
fn loading(folder: &Folder) -> blocktensor::Result<()> {
    let arch = Arch::by_name("resnet50").expect("a known network");
    let plain = folder.0.join("plain.safetensors");
    Weights::random(&arch, 1)?.save(&plain)?;
    println!(
        "resnet50, batch 1           pack from safetensors   map packed file   ratio   run: packed   mapped   ratio"
    );
    for mode in Mode::ALL {
        let path = folder.0.join("packed");
        let pack = || -> blocktensor::Result<Network> {
            blocktensor::onednn::clear_cache();
            Network::pack(&arch, &mut Weights::load(&plain, &arch, true)?.0, mode, 1, 224)
        };
        let load = || -> blocktensor::Result<Network> {
            blocktensor::onednn::clear_cache();
            Network::load(&arch, &PackedFile::open(&path)?, mode, 1, 224)
        };
        let packed = pack()?;
        packed.save(&path, false)?;
        let mapped = load()?;
        let [slow, fast] =
            compare([&mut || drop(pack().expect("packed")), &mut || drop(load().expect("loaded"))]);
        let image = blocktensor_nets::noise(1, 224, 7)?.contiguous(mode.image_format())?;
        let run = |network: &Network| {
            blocktensor::run(|| (0..3).for_each(|_| drop(network.run(&image).expect("a run"))));
        };
        let [a, b] = compare([&mut || run(&packed), &mut || run(&mapped)]);
        println!(
            "{:<27} {slow:>18.1} ms {fast:>14.1} ms {:>7.1} {:>10.1} ms {:>5.1} ms {:>7.2}",
            mode.name(),
            slow / fast,
            a / 3.0,
            b / 3.0,
            b / a
        );
    }
    Ok(())
}

/// Twelve convolutions whose activations keep their size: with ordinary numbers, and with numbers that are subnormal all
/// the way.
fn fading() -> blocktensor::Result<()> {
    println!();
    println!("12 convolutions 3x3, 64 -> 64, 28 x 28     ordinary   subnormal   ratio   flushed   ratio");
    let dims = [1, 64, 28, 28];
    let scale = (1.0 / (64.0 * 9.0f32)).sqrt();
    let w: Vec<f32> = normal(1, 64 * 64 * 9).into_iter().map(|v| v * scale).collect();
    let w = StridedTensor::from_slice(&w, &[64, 64, 3, 3])?;
    let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(1))?;
    let act = Layout::native_activation(4)?;
    let ordinary = StridedTensor::from_slice(&normal(2, 64 * 28 * 28), &dims)?;
    let values = ordinary.to_vec::<f32>()?;
    let faded: Vec<f32> = values.iter().map(|v| v * 1e-39).collect();
    let faded = StridedTensor::from_slice(&faded, &dims)?;

    let blocked = packer.pack_for(&Source::blocked(&dims, &act)?)?;
    let through = |x: &blocktensor::BlockedTensor| {
        blocktensor::run(|| (0..12).try_fold(x.clone(), |x, _| blocked.run(&x)))
    };
    let (a, b) = (ordinary.to_blocked(&act)?, faded.to_blocked(&act)?);
    row("blocked", || drop(through(&a).expect("a run")), || drop(through(&b).expect("a run")));

    let last = MemoryFormat::ChannelsLast;
    let nhwc = packer.pack_for(&Source::strided(&dims, last)?)?;
    let through = |x: &StridedTensor| blocktensor::run(|| (0..12).try_fold(x.clone(), |x, _| nhwc.run(&x)));
    let (a, b) = (ordinary.contiguous(last)?, faded.contiguous(last)?);
    row("nhwc", || drop(through(&a).expect("a run")), || drop(through(&b).expect("a run")));
    let left = through(&b)?.contiguous(MemoryFormat::Contiguous)?.count_subnormals()?;
    println!("({left} of {} results are subnormal numbers; flushed, all are zeros)", b.numel());
    Ok(())
}

fn row(name: &str, ordinary: impl Fn(), subnormal: impl Fn()) {
    let [a, b, c] = compare([&mut || ordinary(), &mut || subnormal(), &mut || {
        blocktensor::flush_subnormals(&subnormal);
    }]);
    println!("{name:<39} {a:>9.2} ms {b:>8.2} ms {:>7.2} {c:>6.2} ms {:>7.2}", b / a, c / a);
}
