//! The cost of weights: packing compared with reading or mapping a packed file, a run on mapped pages compared with one on
//! packed storage, and subnormal numbers. In one process and in turns; medians.
//! `cargo bench --bench weights`

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use blocktensor::ops::Conv2d;
use blocktensor::{Layout, MemoryFormat, PackedConv2d, PackedFile, Source, StridedTensor};
use blocktensor_nets::{Arch, Mode, Network, Weights, normal};

const ROUNDS: usize = 15;

/// A folder that is deleted when it is dropped.
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
    times.map(median)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> blocktensor::Result<()> {
    if let Ok(asked) = std::env::var(CHILD) {
        return child(&asked);
    }
    let folder = Folder(std::env::temp_dir().join(format!("blocktensor-bench-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder for the files");
    loading(&folder.0)?;
    fading()
}

/// How a process obtains its packed weights.
#[derive(Clone, Copy)]
enum Way {
    Pack,
    Read,
    Map,
    MapUnchecked,
}

impl Way {
    const ALL: [Way; 4] = [Way::Pack, Way::Read, Way::Map, Way::MapUnchecked];

    fn network(self, folder: &Path, mode: Mode) -> blocktensor::Result<Network> {
        let arch = Arch::by_name("resnet50").expect("a known network");
        let packed = folder.join(mode.name());
        match self {
            Way::Pack => {
                let (mut weights, _) = Weights::load(&folder.join("plain"), &arch, true)?;
                Network::pack(&arch, &mut weights, mode, 1, 224)
            }
            Way::Read => Network::load(&arch, &PackedFile::read(packed)?, mode, 1, 224),
            // SAFETY: the file is in this benchmark's own folder, and nothing changes it.
            Way::Map => Network::load(&arch, &unsafe { PackedFile::map(packed) }?, mode, 1, 224),
            Way::MapUnchecked => {
                // SAFETY: as above.
                Network::load(&arch, &unsafe { PackedFile::map_unchecked(packed) }?, mode, 1, 224)
            }
        }
    }

    fn time(self, folder: &Path, mode: Mode) -> blocktensor::Result<f64> {
        let start = Instant::now();
        let network = self.network(folder, mode)?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        drop(network);
        Ok(took)
    }

    /// In a new process, like a program that starts.
    fn time_of_start(self, folder: &Path, mode: Mode) -> f64 {
        let out = Command::new(std::env::current_exe().expect("this program"))
            .env(CHILD, format!("{} {} {}", self as usize, mode as usize, folder.display()))
            .output()
            .expect("a child");
        String::from_utf8_lossy(&out.stdout).trim().parse().expect("a time")
    }
}

const CHILD: &str = "BLOCKTENSOR_BENCH_CHILD";

fn child(asked: &str) -> blocktensor::Result<()> {
    let mut words = asked.splitn(3, ' ');
    let mut number = || words.next().and_then(|w| w.parse::<usize>().ok()).expect("a number");
    let (way, mode) = (Way::ALL[number()], Mode::ALL[number()]);
    println!("{}", way.time(Path::new(words.next().expect("a folder")), mode)?);
    Ok(())
}

/// For all sides the files are in the system's page cache. Once as a program that starts, and once in a process that has
/// already done it: its storage is warm, and oneDNN's code is generated.
fn loading(folder: &Path) -> blocktensor::Result<()> {
    let arch = Arch::by_name("resnet50").expect("a known network");
    Weights::random(&arch, 1)?.save(&folder.join("plain"))?;
    println!(
        "resnet50, batch 1     pack from safetensors      read, checked    map, checked   map, unchecked"
    );
    for mode in Mode::ALL {
        let packed = Way::Pack.network(folder, mode)?;
        packed.save(&folder.join(mode.name()), false)?;
        let mut times = [const { Vec::new() }; 8];
        for _ in 0..ROUNDS {
            for way in Way::ALL {
                times[way as usize].push(way.time_of_start(folder, mode));
                times[4 + way as usize].push(way.time(folder, mode)?);
            }
        }
        let t = times.map(median);
        for (what, t) in [("a program starts", &t[..4]), ("done before", &t[4..])] {
            let name = format!("{}, {what}", mode.name());
            print!("{name:<26} {:>13.1} ms", t[0]);
            t[1..].iter().for_each(|way| print!(" {way:>9.1} ms {:>5.1}", t[0] / way));
            println!();
        }
        let mapped = Way::Map.network(folder, mode)?;
        let image = blocktensor_nets::noise(1, 224, 7)?.contiguous(mode.image_format())?;
        let run = |network: &Network| {
            blocktensor::run(|| (0..5).for_each(|_| drop(network.run(&image).expect("a run"))));
        };
        let [a, b] = compare([&mut || run(&packed), &mut || run(&mapped)]);
        println!("{}: a run on mapped weights takes {:.3} of one on packed weights", mode.name(), b / a);
    }
    Ok(())
}

/// Twelve convolutions whose activations keep their magnitude: with ordinary numbers, and with numbers that are subnormal
/// throughout.
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
        blocktensor::flush_engine_subnormals(&subnormal);
    }]);
    println!("{name:<39} {a:>9.2} ms {b:>8.2} ms {:>7.2} {c:>6.2} ms {:>7.2}", b / a, c / a);
}
