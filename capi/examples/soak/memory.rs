//! Memory over time, and whether it is flat.

use std::time::Duration;

pub const MIB: f64 = (1 << 20) as f64;
/// The growth that is allowed, in MiB per hour.
const LIMIT: f64 = 1.0;
/// A run of at least this many hours is also judged by its slope; the slope of a shorter run says too little.
const LONG: f64 = 6.0;

/// Resident memory of this process, in MiB.
pub fn resident() -> Result<f64, String> {
    let path = "/proc/self/statm";
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}; this needs Linux"))?;
    let pages =
        text.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok()).ok_or(format!("{path}: {text}"))?;
    // SAFETY: asks for a number.
    Ok(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64 / MIB)
}

/// Heap memory that this process holds, in MiB. Freed memory that glibc keeps, for each of its arenas, is not counted.
#[cfg(target_env = "gnu")]
pub fn held() -> f64 {
    // SAFETY: reads the heap's own statistics, under its locks.
    let info = unsafe { libc::mallinfo() };
    (info.uordblks as u32 as f64 + info.hblkhd as u32 as f64) / MIB
}

#[cfg(not(target_env = "gnu"))]
pub fn held() -> f64 {
    0.0
}

/// Returns freed memory between live allocations to the system. The size of such gaps varies: once, in half an hour and
/// 500,000 shapes, they took 13 MiB more while the heap in use was flat. They would hide a leak of that size.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: works on the heap's own data, under its locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The measurements: hours and MiB.
pub struct Samples {
    name: &'static str,
    /// The difference in MiB between the means of two parts of a run that does not leak: no two rounds do exactly the same.
    noise: f64,
    warm_up: usize,
    all: Vec<(f64, f64)>,
}

fn mean(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|v| v.1).sum::<f64>() / values.len() as f64
}

/// Slope by least squares, and its standard error, in MiB per hour.
fn slope(samples: &[(f64, f64)]) -> (f64, f64) {
    let n = samples.len() as f64;
    let (t, m) = (samples.iter().map(|s| s.0).sum::<f64>() / n, mean(samples));
    let tt: f64 = samples.iter().map(|s| (s.0 - t).powi(2)).sum();
    let slope = samples.iter().map(|s| (s.0 - t) * (s.1 - m)).sum::<f64>() / tt;
    let rest: f64 = samples.iter().map(|s| (s.1 - m - slope * (s.0 - t)).powi(2)).sum();
    (slope, (rest / (n - 2.0) / tt).sqrt())
}

impl Samples {
    pub fn new(name: &'static str, noise: f64) -> Samples {
        Samples { name, noise, warm_up: 0, all: Vec::new() }
    }

    pub fn add(&mut self, at: Duration, mib: f64, warming_up: bool) {
        self.warm_up += usize::from(warming_up);
        self.all.push((at.as_secs_f64() / 3600.0, mib));
    }

    /// Whether memory is flat after the warm-up: the given one, or a third of the time if that is longer.
    pub fn verdict(&self) -> (bool, String) {
        let after = &self.all[self.warm_up.max(self.all.len() / 3)..];
        let third = after.len() / 3;
        let (early, late) = (&after[..third], &after[after.len() - third..]);
        let (from, to) = (mean(early), mean(late));
        let hours = after[after.len() - 1].0 - after[0].0;
        let (slope, error) = slope(after);
        let allowed = LIMIT * hours + self.noise;
        let flat = to - from <= allowed && (hours < LONG || slope <= LIMIT);
        let text = format!(
            "{}, {} samples in the last {:.0} minutes: {from:.2} MiB in their first third, {to:.2} in their last, {:+.2} (at \
             most {allowed:.2}); slope {slope:+.2} MiB/h, standard error {error:.2}{}",
            self.name,
            after.len(),
            hours * 60.0,
            to - from,
            if hours < LONG { String::new() } else { format!(" (at most {LIMIT})") },
        );
        (flat, text)
    }
}
