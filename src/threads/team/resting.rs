//! The team of a thread between two of its runs.
//!
//! The members stay for about as long as a program in Python takes from one run to the next, so that no run has to wake them. Waking
//! takes 20 to 70 us, and on a machine of few cores the woken thread may first meet its leader on one of them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use super::Team;

/// How long a member spins for the next run of its leader: about 300 us. Behind a run that swept the caches, Python and a host take up
/// to 200.
pub(super) const SPINS_AT_REST: usize = 15_000;

thread_local! {
    /// The team of this thread's last run.
    static RESTING: Resting = const { Resting(RefCell::new(None)) };
}

/// A team that may be led again. Its members leave with its thread.
struct Resting(RefCell<Option<Arc<Team>>>);

impl Drop for Resting {
    fn drop(&mut self) {
        self.0.get_mut().iter().for_each(|team| team.close());
    }
}

/// The team that rests, if it is one of so many threads.
pub(super) fn take(threads: usize) -> Option<Arc<Team>> {
    let team = RESTING.try_with(|resting| resting.0.take()).ok().flatten()?;
    if team.threads != threads {
        team.close();
        return None;
    }
    team.rests.store(false, SeqCst);
    Some(team)
}

/// Lets a team rest, in place of the one before.
pub(super) fn put(team: Arc<Team>) {
    team.rests.store(true, SeqCst);
    match RESTING.try_with(|resting| resting.0.replace(Some(Arc::clone(&team)))) {
        Ok(before) => before.iter().for_each(|before| before.close()),
        Err(_) => team.close(),
    }
}
