//! A section: tasks that the threads of a team share.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use super::subnormals;

thread_local! {
    /// Whether this thread is inside a task of a section.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a task of a section.
pub(crate) fn in_task() -> bool {
    IN_TASK.get()
}

/// One part of a range that is divided into `parts`. The first ones have one more where they do not divide evenly.
pub(crate) fn share(all: Range<usize>, part: usize, parts: usize) -> Range<usize> {
    let (least, rest) = (all.len() / parts, all.len() % parts);
    let start = all.start + part * least + part.min(rest);
    start..start + least + usize::from(part < rest)
}

/// The place of one thread in a team, in cache lines of its own: neighbours write theirs all the time.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Place {
    /// The next task of its share of the open section.
    next: AtomicUsize,
    /// Whether a member has the place. The leader has the first one.
    pub(super) taken: AtomicBool,
}

/// Which tasks are a place's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A range: what a thread wrote in one section is in its core's cache in the next.
    Ranges,
    /// Every so many: tasks that follow each other run at about the same time.
    Turns,
}

/// The tasks of one section. It is on the leader's stack, and outlives every member's use of it.
pub(super) struct Section<'a> {
    tasks: usize,
    order: Order,
    /// The team's places. Tasks are shared among them.
    places: &'a [Place],
    /// Places whose tasks are all claimed.
    empty: AtomicUsize,
    /// Whether a task panicked. The leader panics once all tasks are done.
    pub(super) panicked: AtomicBool,
    flush: bool,
    task: &'a (dyn Fn(usize) + Sync),
}

impl<'a> Section<'a> {
    /// A section whose tasks are shared among these places. No member is inside of another one with them. `flush` says whether the
    /// leader has requested that oneDNN treat subnormal numbers as zeros.
    pub(super) fn new(
        tasks: usize,
        order: Order,
        places: &'a [Place],
        flush: bool,
        task: &'a (dyn Fn(usize) + Sync),
    ) -> Section<'a> {
        let (empty, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
        let section = Section { tasks, order, places, empty, panicked, flush, task };
        section.give_shares();
        section
    }

    fn give_shares(&self) {
        for (at, place) in self.places.iter().enumerate() {
            let share = self.share_of(at);
            place.next.store(share.start, SeqCst);
            self.empty.fetch_add(usize::from(share.is_empty()), SeqCst);
        }
    }

    /// The numbers of a place's tasks, in the order in which the places have them.
    fn share_of(&self, at: usize) -> Range<usize> {
        share(0..self.tasks, at, self.places.len())
    }

    /// Claims a task of a place, if one is left there.
    fn claim(&self, at: usize) -> Option<usize> {
        let (next, own) = (&self.places[at].next, self.share_of(at));
        if next.load(SeqCst) >= own.end {
            return None;
        }
        let i = next.fetch_add(1, SeqCst);
        if i + 1 == own.end {
            self.empty.fetch_add(1, SeqCst);
        }
        let task = match self.order {
            Order::Ranges => i,
            Order::Turns => (i - own.start) * self.places.len() + at,
        };
        (i < own.end).then_some(task)
    }

    /// Claims a task: of a place's own, otherwise of the next place that has one.
    fn claim_for(&self, own: usize) -> Option<usize> {
        let count = self.places.len();
        (0..count)
            .take_while(|_| self.empty.load(SeqCst) < count)
            .find_map(|further| self.claim((own + further) % count))
    }

    /// Claims and runs tasks until none is left. `place` is the thread's.
    pub(super) fn work(&self, place: usize) {
        struct RestoreInTask(bool);
        impl Drop for RestoreInTask {
            fn drop(&mut self) {
                IN_TASK.set(self.0);
            }
        }
        let _restore = RestoreInTask(IN_TASK.replace(true));
        let _setting = subnormals::Scope::new(self.flush);
        while let Some(i) = self.claim_for(place) {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.task)(i)));
            if let Err(payload) = done {
                self.panicked.store(true, SeqCst);
                // Nothing may unwind from here: the leader would leave while members still use the section. If dropping the
                // payload panics, drop that payload too; leak it if that panics.
                let drop_payload =
                    |payload| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(payload)));
                drop_payload(payload).or_else(drop_payload).unwrap_or_else(std::mem::forget);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_claims_its_own_tasks_first() {
        let places: Vec<Place> = (0..3).map(|_| Place::default()).collect();
        let section = Section::new(7, Order::Ranges, &places, false, &|_| ());
        // The shares are 0..3, 3..5 and 5..7.
        assert_eq!([0, 1, 2].map(|place| section.claim_for(place)), [Some(0), Some(3), Some(5)]);
        assert_eq!([1, 1, 1].map(|place| section.claim_for(place)), [Some(4), Some(6), Some(1)]);
        assert_eq!([2, 0, 1, 2].map(|place| section.claim_for(place)), [Some(2), None, None, None]);
        // Some places have no task.
        let section = Section::new(1, Order::Ranges, &places, false, &|_| ());
        assert_eq!([2, 0, 1].map(|place| section.claim_for(place)), [Some(0), None, None]);
    }

    #[test]
    fn places_take_turns() {
        let places: Vec<Place> = (0..3).map(|_| Place::default()).collect();
        let section = Section::new(7, Order::Turns, &places, false, &|_| ());
        // The places have 0, 3 and 6; 1 and 4; 2 and 5.
        assert_eq!([2, 0, 1, 2].map(|place| section.claim_for(place)), [Some(2), Some(0), Some(1), Some(5)]);
        assert_eq!([2, 2, 1, 0].map(|place| section.claim_for(place)), [Some(3), Some(6), Some(4), None]);
    }
}
