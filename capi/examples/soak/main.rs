//! Runs a long-lived process's work for the given time: 5,000 shapes in turn, models that are loaded and dropped, C handles,
//! threads that start and end. It checks every result, and exits with 1 if resident memory grew after warm-up or a handle is
//! still alive.
//!
//! `scripts/soak.sh MINUTES`

mod handles;
mod memory;
mod models;
mod scoped;
mod shapes;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use memory::Samples;

/// Distinct shapes in one cycle: more than the 1,024 primitives that our cache and oneDNN's hold.
const SHAPES: usize = 5000;
/// Cycles until the caches and the heap between them reach their full size; a shorter run says nothing.
const WARM_UP: usize = 4;
const LEAST: usize = 8;
/// Shapes between two measurements of memory. Every round starts new threads.
const ROUND: usize = 250;
const THREADS: usize = 3;

fn main() -> ExitCode {
    let minutes =
        std::env::args().nth(1).and_then(|m| m.parse::<f64>().ok()).filter(|m| *m > 0.0 && *m < 1e5);
    let Some(minutes) = minutes else {
        eprintln!("soak: pass the minutes to run, 20 or more to learn something: soak 20");
        return ExitCode::from(2);
    };
    match soak(Duration::from_secs_f64(minutes * 60.0)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("soak: {message}");
            ExitCode::FAILURE
        }
    }
}

fn soak(time: Duration) -> Result<bool, String> {
    let start = Instant::now();
    let folder = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let models = models::Models::new(folder.path())?;
    let (mut resident, mut held) = (Samples::new("resident", 10.0), Samples::new("heap in use", 2.0));
    let (mut done, mut printed) = (0, 0);
    println!(
        "{:>8}{:>10}{:>15}{:>18}{:>14}{:>9}",
        "minute", "shapes", "resident MiB", "heap in use MiB", "recycled MiB", "handles"
    );
    while start.elapsed() < time || done < LEAST * SHAPES {
        round(done, &models)?;
        done += ROUND;
        memory::give_back();
        let (at, now, heap) = (start.elapsed(), memory::resident()?, memory::held());
        resident.add(at, now, done <= WARM_UP * SHAPES);
        held.add(at, heap, done <= WARM_UP * SHAPES);
        let minute = at.as_secs() / 60;
        if minute >= printed {
            printed = minute + 1;
            let recycled = blocktensor::recycled_bytes() as f64 / memory::MIB;
            let (minute, handles) = (at.as_secs_f64() / 60.0, blocktensor_c::bt_live_handles());
            println!("{minute:>8.1}{done:>10}{now:>15.1}{heap:>18.2}{recycled:>14.1}{handles:>9}");
        }
    }
    drop(models);
    println!("{done} shapes in {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    let mut passed = true;
    for samples in [resident, held] {
        let (flat, text) = samples.verdict();
        println!("{text}");
        passed &= flat;
    }
    let handles = blocktensor_c::bt_live_handles();
    println!("live handles: {handles}");
    passed &= handles == 0;
    blocktensor_c::bt_clear_cache();
    blocktensor::set_recycle_limit(0);
    memory::give_back();
    println!(
        "our caches emptied: {:.1} MiB resident, {:.2} of the heap in use",
        memory::resident()?,
        memory::held()
    );
    println!("{}", if passed { "flat" } else { "NOT FLAT" });
    Ok(passed)
}

/// Runs the shapes from `first` on, and models beside them, on threads that end with the round.
fn round(first: usize, models: &models::Models) -> Result<(), String> {
    let next = AtomicUsize::new(first);
    let failed = Mutex::new(None);
    let note = |result: Result<(), String>| {
        if let Err(e) = result {
            failed.lock().unwrap().get_or_insert(e);
        }
    };
    let work = || {
        loop {
            let i = next.fetch_add(1, Relaxed);
            if i >= first + ROUND || failed.lock().unwrap().is_some() {
                break;
            }
            // In an order that mixes small and large shapes.
            let shape = i * 1237 % SHAPES;
            let one = || {
                shapes::run(shape).map_err(|e| format!("shape {shape}: {e}"))?;
                handles::run(shape).map_err(|e| format!("C interface, shape {shape}: {e}"))?;
                scoped::run(shape).map_err(|e| format!("C scope, shape {shape}: {e}"))
            };
            // With a team, and without.
            note(if i.is_multiple_of(2) { blocktensor::run(one) } else { one() });
        }
    };
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(work);
        }
        s.spawn(|| note(models.run(first / ROUND)));
    });
    failed.into_inner().unwrap().map_or(Ok(()), Err)
}
