//! Which nodes of a host's graph run here as one.

use std::collections::BTreeSet;

/// The regions of a graph that this library can run as one each: the host runs all other nodes, in between.
///
/// The nodes are in an order in which each comes after those that it reads. `reads[i]` names the nodes whose results node `i` reads,
/// and `runs[i]` says whether it runs here. Each node that does is in one region. A region is connected and convex: no path leaves it
/// and comes back, so that it can run at once, and regions do not wait for each other in a circle. None can be joined with a
/// neighbour: regions are as large as they can be made. A graph of which all nodes run is one region, connected or not. They come in an
/// order in which they can run, their nodes in the graph's.
///
/// ```
/// // 0 -> 1 -> 2 -> 4, and 0 -> 3 -> 4. The host runs 2: what reads its result waits for it, and 3 need not.
/// let reads: [&[usize]; 5] = [&[], &[0], &[1], &[0], &[2, 3]];
/// let regions = blocktensor_graph::partition(&reads, &[true, true, false, true, true]);
/// assert_eq!(regions, [vec![0, 1, 3], vec![4]]);
/// ```
///
/// # Panics
/// If the lists differ in length, or a node reads one that does not come before it.
pub fn partition(reads: &[impl AsRef<[usize]>], runs: &[bool]) -> Vec<Vec<usize>> {
    let mut parts = schedule(reads, runs);
    parts.retain(|part| runs[part[0]]);
    parts
}

/// The regions of [`partition`], and each node of the host alone, in an order in which all of them can run.
///
/// # Panics
/// As [`partition`].
pub fn schedule(reads: &[impl AsRef<[usize]>], runs: &[bool]) -> Vec<Vec<usize>> {
    assert_eq!(reads.len(), runs.len(), "one list and one answer for each node");
    let mut parts = Parts::new(reads, runs);
    if runs.iter().all(|&runs| runs) {
        return if runs.is_empty() { vec![] } else { vec![(0..runs.len()).collect()] };
    }
    while let Some((into, from)) = parts.joinable() {
        parts.join(into, from);
    }
    parts.in_order()
}

/// The nodes with the parts that they are in: a region, or a node of the host alone.
struct Parts<'a> {
    runs: &'a [bool],
    /// The part of each node: the number of one of its nodes.
    of: Vec<usize>,
    /// For each part those that read its results.
    readers: Vec<BTreeSet<usize>>,
}

impl<'a> Parts<'a> {
    /// Nodes with the same number of changes to the host and back before them, at most, as far as they are connected.
    fn new(reads: &[impl AsRef<[usize]>], runs: &'a [bool]) -> Parts<'a> {
        let mut level = vec![0usize; runs.len()];
        let mut of: Vec<usize> = (0..runs.len()).collect();
        for (i, before) in reads.iter().enumerate() {
            let before = before.as_ref();
            assert!(before.iter().all(|&j| j < i), "node {i} comes after those that it reads");
            let back = |j: usize| usize::from(runs[i] && !runs[j]);
            level[i] = before.iter().map(|&j| level[j] + back(j)).max().unwrap_or(0);
            for &j in before {
                if runs[i] && runs[j] && level[i] == level[j] && of[i] != of[j] {
                    let (from, into) = (of[i], of[j]);
                    of[..=i].iter_mut().filter(|part| **part == from).for_each(|part| *part = into);
                }
            }
        }
        let mut readers = vec![BTreeSet::new(); runs.len()];
        for (i, before) in reads.iter().enumerate() {
            for &j in before.as_ref() {
                if of[i] != of[j] {
                    readers[of[j]].insert(of[i]);
                }
            }
        }
        Parts { runs, of, readers }
    }

    /// Two regions, of which the second reads the first, that are one without a circle: no other part lies between them.
    fn joinable(&self) -> Option<(usize, usize)> {
        let pairs = (0..self.of.len()).flat_map(|a| self.readers[a].iter().map(move |&b| (a, b)));
        pairs.filter(|&(a, b)| self.runs[a] && self.runs[b]).find(|&(a, b)| !self.has_detour(a, b))
    }

    /// Whether a path from one part to the other goes through a third one.
    fn has_detour(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.of.len()];
        let mut open: Vec<usize> = self.readers[from].iter().copied().filter(|&part| part != to).collect();
        while let Some(part) = open.pop() {
            if part == to {
                return true;
            }
            if !std::mem::replace(&mut seen[part], true) {
                open.extend(&self.readers[part]);
            }
        }
        false
    }

    fn join(&mut self, into: usize, from: usize) {
        self.of.iter_mut().filter(|part| **part == from).for_each(|part| *part = into);
        let moved = std::mem::take(&mut self.readers[from]);
        self.readers[into].extend(moved);
        for readers in &mut self.readers {
            if readers.remove(&from) {
                readers.insert(into);
            }
        }
        self.readers[into].remove(&into);
    }

    /// The parts, each after those that it waits for.
    fn in_order(&self) -> Vec<Vec<usize>> {
        let mut waits = vec![0usize; self.of.len()];
        self.readers.iter().flatten().for_each(|&part| waits[part] += 1);
        let mut open: BTreeSet<usize> =
            (0..self.of.len()).filter(|&part| self.of[part] == part && waits[part] == 0).collect();
        let mut parts = Vec::new();
        while let Some(part) = open.pop_first() {
            parts.push((0..self.of.len()).filter(|&i| self.of[i] == part).collect());
            for &reader in &self.readers[part] {
                waits[reader] -= 1;
                if waits[reader] == 0 {
                    open.insert(reader);
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::{partition, schedule};

    /// All pairs of which the second can be reached from the first.
    fn reach(reads: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let n = reads.len();
        let mut reach = vec![vec![false; n]; n];
        for (i, before) in reads.iter().enumerate() {
            for &j in before {
                for (from, row) in reach.iter_mut().enumerate() {
                    row[i] |= from == j || row[j];
                }
            }
        }
        reach
    }

    fn is_convex(region: &[usize], reach: &[Vec<bool>]) -> bool {
        let inside = |i: &usize| region.contains(i);
        let outside = (0..reach.len()).filter(|i| !inside(i));
        !outside.clone().any(|x| region.iter().any(|&a| reach[a][x]) && region.iter().any(|&b| reach[x][b]))
    }

    /// Whether all nodes can run, where a region runs at once.
    fn runs_to_the_end(regions: &[Vec<usize>], reads: &[Vec<usize>]) -> bool {
        let mut left: Vec<Vec<usize>> = regions.to_vec();
        left.extend((0..reads.len()).filter(|i| !regions.iter().flatten().any(|j| j == i)).map(|i| vec![i]));
        let mut done = vec![false; reads.len()];
        loop {
            let ready = |part: &Vec<usize>| {
                part.iter().all(|&i| reads[i].iter().all(|j| done[*j] || part.contains(j)))
            };
            let Some(at) = left.iter().position(ready) else { return left.is_empty() };
            left.swap_remove(at).iter().for_each(|&i| done[i] = true);
        }
    }

    #[test]
    fn regions_of_random_graphs_are_convex_and_cannot_be_joined() {
        let mut state = 1u64;
        let mut below = move |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let (mut counts, mut largest) = (0, 0);
        for _ in 0..2000 {
            let n = 1 + below(14);
            let reads: Vec<Vec<usize>> = (0..n)
                .map(|i| if i == 0 { vec![] } else { (0..below(3)).map(|_| below(i)).collect() })
                .collect();
            let (share, mut runs) = (1 + below(4), vec![false; n]);
            runs.iter_mut().for_each(|runs| *runs = below(5) < share);
            let regions = partition(&reads, &runs);
            let mut all: Vec<usize> = regions.iter().flatten().copied().collect();
            all.sort_unstable();
            let wanted: Vec<usize> = (0..n).filter(|&i| runs[i]).collect();
            assert_eq!(all, wanted);
            let reach = reach(&reads);
            assert!(regions.iter().all(|region| is_convex(region, &reach)), "{reads:?} {runs:?} {regions:?}");
            assert!(runs_to_the_end(&regions, &reads), "{reads:?} {runs:?} {regions:?}");
            // In this order: what a part reads of other parts has run.
            let mut done = vec![false; n];
            for part in schedule(&reads, &runs) {
                assert!(
                    part.iter().all(|&i| reads[i].iter().all(|j| done[*j] || part.contains(j))),
                    "{part:?}"
                );
                part.iter().for_each(|&i| done[i] = true);
            }
            assert!(done.iter().all(|done| *done));
            for (k, region) in regions.iter().enumerate() {
                let later: Vec<usize> = regions[k + 1..].iter().flatten().copied().collect();
                assert!(!region.iter().any(|&i| later.iter().any(|&j| reach[j][i])), "{regions:?}");
            }
            let neighbours =
                |a: &[usize], b: &[usize]| a.iter().any(|i| b.iter().any(|j| reads[*j].contains(i)));
            for a in 0..regions.len() {
                for b in 0..regions.len() {
                    if a == b || !neighbours(&regions[a], &regions[b]) {
                        continue;
                    }
                    let mut joined = regions.clone();
                    let other = joined[b].clone();
                    joined[a].extend(other);
                    joined.remove(b);
                    assert!(!runs_to_the_end(&joined, &reads), "{reads:?} {runs:?} {regions:?}: {a} and {b}");
                }
            }
            counts += regions.len();
            largest = largest.max(regions.iter().map(Vec::len).max().unwrap_or(0));
        }
        assert!(counts > 3000 && largest > 8, "{counts} regions, the largest has {largest} nodes");
    }

    #[test]
    fn a_graph_that_runs_whole_is_one_region() {
        assert_eq!(partition(&[vec![], vec![], vec![0]], &[true; 3]), [[0, 1, 2]]);
        assert_eq!(partition(&[vec![], vec![], vec![0]], &[true, true, false]), [[0], [1]]);
        assert!(partition(&[] as &[Vec<usize>], &[]).is_empty());
    }

    /// A chain of which every tenth node is the host's, and many branches: quick on graphs of the usual sizes.
    #[test]
    fn large_graphs_take_no_time_to_speak_of() {
        let reads: Vec<Vec<usize>> = (0..3000usize)
            .map(|i| if i == 0 { vec![] } else { vec![i - 1, i.saturating_sub(7).min(i - 1)] })
            .collect();
        let runs: Vec<bool> = (0..3000).map(|i| i % 10 != 9).collect();
        assert_eq!(partition(&reads, &runs).len(), 300);
    }
}
