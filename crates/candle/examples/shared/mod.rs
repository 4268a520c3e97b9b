//! Times of several ways to compute the same, by turns.

use std::time::{Duration, Instant};

/// One way to compute: what it is called, and a round of it, which returns its time in ms.
pub type Way<'a> = (&'a str, Box<dyn FnMut() -> candle_core::Result<f64> + 'a>);

/// A round: calls for this long, at least three, and the least time of a call in ms.
pub fn round(
    length: Duration,
    mut call: impl FnMut() -> candle_core::Result<()>,
) -> candle_core::Result<f64> {
    let (start, mut least, mut calls) = (Instant::now(), f64::INFINITY, 0);
    while calls < 3 || start.elapsed() < length {
        let begin = Instant::now();
        call()?;
        least = least.min(begin.elapsed().as_secs_f64() * 1e3);
        calls += 1;
    }
    Ok(least)
}

/// The least time of each way in ms, from rounds in which they take turns.
pub fn by_turns(rounds: usize, ways: &mut [Way<'_>]) -> candle_core::Result<Vec<f64>> {
    let mut least = vec![f64::INFINITY; ways.len()];
    for _ in 0..rounds {
        for ((_, way), least) in ways.iter_mut().zip(&mut least) {
            *least = least.min(way()?);
        }
    }
    for ((name, _), ms) in ways.iter().zip(&least) {
        println!("{name:<42} {ms:9.3} ms  {:6.2}", ms / least[0]);
    }
    Ok(least)
}
