//! Reorders between strided and blocked layouts, compared with a parallel copy of the same bytes.
//!
//! `cargo bench --bench reorder` measures each with criterion, then prints a table of ratios. For the table, copy and
//! reorder take turns on the same team of threads, so that machine noise affects both.
//! `cargo bench --bench reorder -- table` prints only the table.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use blocktensor::{BlockedTensor, DType, Layout, MemoryFormat, StridedTensor};
use criterion::{Criterion, Throughput};

const SHAPES: [[usize; 4]; 5] =
    [[1, 64, 56, 56], [1, 256, 56, 56], [16, 64, 56, 56], [16, 256, 56, 56], [16, 512, 7, 7]];
const FORMATS: [(&str, MemoryFormat); 2] =
    [("nchw", MemoryFormat::Contiguous), ("nhwc", MemoryFormat::ChannelsLast)];

/// The four tensors of a pair of reorders; allocated once, so that no page is fresh.
struct Case {
    shape: [usize; 4],
    format: &'static str,
    from: StridedTensor,
    blocked: BlockedTensor,
    to_blocked: BlockedTensor,
    to_strided: StridedTensor,
}

impl Case {
    fn all() -> Vec<Case> {
        let layout = Layout::NCHW16C;
        let mut cases = Vec::new();
        for shape in SHAPES {
            for (format, memory_format) in FORMATS {
                // Written pages: pages that are zero and never written may share physical memory.
                let ones = BlockedTensor::full(&shape, 1f32, &layout).unwrap();
                let x = ones.to_strided(memory_format).unwrap();
                cases.push(Case {
                    shape,
                    format,
                    blocked: x.to_blocked(&layout).unwrap(),
                    to_blocked: BlockedTensor::zeros(&shape, DType::F32, &layout).unwrap(),
                    to_strided: StridedTensor::zeros(&shape, DType::F32, memory_format).unwrap(),
                    from: x,
                });
            }
        }
        cases
    }

    fn name(&self, to_blocked: bool) -> String {
        let shape = self.shape.map(|d| d.to_string()).join("x");
        match to_blocked {
            true => format!("{shape} {} -> nChw16c", self.format),
            false => format!("{shape} nChw16c -> {}", self.format),
        }
    }

    fn reorder(&mut self, to_blocked: bool) {
        match to_blocked {
            true => self.from.to_blocked_into(black_box(&mut self.to_blocked)).unwrap(),
            false => self.blocked.to_strided_into(black_box(&mut self.to_strided)).unwrap(),
        }
    }

    fn bytes(&self) -> usize {
        self.blocked.bytes()
    }
}

/// Memory like that of tensors: huge pages if the system has them.
struct Pages {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Pages {
    fn new(len: usize) -> Pages {
        const HUGE: usize = 2 << 20;
        let memory: Vec<u8> = Vec::with_capacity(len + HUGE);
        let start = memory.as_ptr().align_offset(if len >= 1 << 20 { 4096 } else { 64 });
        #[cfg(target_os = "linux")]
        // SAFETY: advice about memory that the vector owns and nothing has accessed; it does not change the content.
        unsafe {
            if len >= 1 << 20 {
                libc::madvise(memory.as_ptr().add(start) as *mut _, len, libc::MADV_HUGEPAGE);
            }
        }
        let mut pages = Pages { memory, start, len };
        pages.memory.resize(start + len, 0);
        pages
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// A copy by the same team that reorders; each thread copies a part.
fn parallel_copy(src: &[u8], dst: &mut [u8]) {
    let share = src.len().div_ceil(blocktensor::current_threads()).next_multiple_of(4096);
    let shares: Vec<_> = src.chunks(share).zip(dst.chunks_mut(share)).map(Mutex::new).collect();
    blocktensor::parallel_for(shares.len(), |i| {
        let mut share = shares[i].lock().unwrap();
        let (src, dst) = &mut *share;
        dst.copy_from_slice(src);
    });
    drop(shares);
    black_box(dst);
}

/// The shortest of many runs of each, taking turns.
fn fastest(mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    let until = Instant::now() + Duration::from_millis(600);
    while Instant::now() < until {
        for _ in 0..4 {
            let t = Instant::now();
            a();
            best.0 = best.0.min(t.elapsed());
        }
        for _ in 0..4 {
            let t = Instant::now();
            b();
            best.1 = best.1.min(t.elapsed());
        }
    }
    best
}

fn table(cases: &mut [Case]) {
    println!("{} threads; GB/s counts the bytes of the blocked tensor once", blocktensor::current_threads());
    println!("{:<36} {:>12} {:>12} {:>7}", "reorder", "copy GB/s", "reorder GB/s", "ratio");
    for case in cases {
        let bytes = case.bytes();
        let (mut src, mut dst) = (Pages::new(bytes), Pages::new(bytes));
        src.bytes_mut().fill(1);
        dst.bytes_mut().fill(2);
        for to_blocked in [true, false] {
            let (copy, reorder) =
                fastest(|| parallel_copy(src.bytes(), dst.bytes_mut()), || case.reorder(to_blocked));
            let rate = |t: Duration| bytes as f64 / t.as_secs_f64() / 1e9;
            println!(
                "{:<36} {:>12.1} {:>12.1} {:>7.2}",
                case.name(to_blocked),
                rate(copy),
                rate(reorder),
                rate(reorder) / rate(copy)
            );
        }
    }
}

fn main() {
    let mut cases = Case::all();
    if !std::env::args().any(|a| a == "table") {
        let mut criterion = Criterion::default()
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        let mut group = criterion.benchmark_group("reorder");
        for case in &mut cases {
            group.throughput(Throughput::Bytes(case.bytes() as u64));
            for to_blocked in [true, false] {
                group.bench_function(case.name(to_blocked), |b| b.iter(|| case.reorder(to_blocked)));
            }
        }
        group.finish();
        criterion.final_summary();
    }
    blocktensor::run(|| table(&mut cases));
}
