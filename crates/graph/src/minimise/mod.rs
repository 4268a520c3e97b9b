//! The smallest sum of tables: each variable has a few values, each table a cost for the values of a few variables.
//!
//! Variables are eliminated one after another (R. Dechter, "Bucket elimination", 1999): all tables that name a variable become
//! one table without it, of the least cost over its values. That is exact.
//!
//! Where that table would be too large, the tables are split in groups that fit (mini-buckets). The sum of the groups' least
//! costs is then a lower bound. A beam search that the tables guide finds the values.

mod eliminate;
mod table;

pub(crate) use table::Table;

use eliminate::Bucket;

/// The cost of what cannot be. Finite, so that sums and differences stay numbers.
pub(crate) const IMPOSSIBLE: f64 = 1e6;

/// How many partial solutions the beam search keeps.
const BEAM: usize = 256;

/// Variables, and the tables whose sum is to be small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problem {
    /// How many values each variable has: at least one.
    sizes: Vec<usize>,
    tables: Vec<Table>,
}

/// A value for each variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Solution {
    pub(crate) values: Vec<usize>,
    /// The sum of the tables at these values.
    pub(crate) cost: f64,
    /// No values have a smaller sum than this.
    pub(crate) lower_bound: f64,
    /// Whether every table was small enough: then no other values have a smaller sum.
    pub(crate) proven: bool,
}

impl Problem {
    /// Adds a variable with this many values; gives its number.
    pub(crate) fn variable(&mut self, values: usize) -> usize {
        self.sizes.push(values.max(1));
        self.sizes.len() - 1
    }

    /// Adds a table for these variables, all different: its cost for each combination of their values.
    pub(crate) fn table(&mut self, scope: &[usize], cost: impl FnMut(&[usize]) -> f64) {
        let sizes: Vec<usize> = scope.iter().map(|&v| self.sizes[v]).collect();
        self.tables.push(Table::new(scope.to_vec(), sizes, cost));
    }

    /// The sum of all tables at these values.
    pub(crate) fn cost(&self, values: &[usize]) -> f64 {
        self.tables.iter().map(|t| t.at(values)).sum()
    }

    /// The values of the smallest sum; of nearly the smallest, if a table would need more than `largest` entries.
    pub(crate) fn solve(&self, largest: usize) -> Solution {
        let (buckets, lower_bound) = eliminate::eliminate(&self.sizes, &self.tables, largest);
        let proven = buckets.iter().all(|b| b.messages.len() <= 1);
        let values = if proven { self.read_back(&buckets) } else { self.search(&buckets) };
        let cost = self.cost(&values);
        Solution { values, cost, lower_bound: lower_bound.min(cost), proven }
    }

    /// Gives the variables values, the last eliminated first. Where no table was split, the best value is the one at which its
    /// tables cost least.
    fn read_back(&self, buckets: &[Bucket]) -> Vec<usize> {
        let mut values = vec![0usize; self.sizes.len()];
        for bucket in buckets.iter().rev() {
            let mut best = (f64::INFINITY, 0);
            for value in 0..self.sizes[bucket.variable] {
                values[bucket.variable] = value;
                let own: f64 = bucket.tables.iter().map(|t| t.at(&values)).sum();
                if own < best.0 {
                    best = (own, value);
                }
            }
            values[bucket.variable] = best.1;
        }
        values
    }

    /// The same where tables were split: the best few partial solutions stay. What a variable's tables cost at a value, less
    /// what was expected of it before, is what the value costs.
    fn search(&self, buckets: &[Bucket]) -> Vec<usize> {
        let mut states = vec![(0.0, vec![0usize; self.sizes.len()])];
        for bucket in buckets.iter().rev() {
            let mut next: Vec<(f64, usize, usize)> = Vec::new();
            for (i, (cost, values)) in states.iter_mut().enumerate() {
                let expected: f64 = bucket.messages.iter().map(|t| t.at(values)).sum();
                for value in 0..self.sizes[bucket.variable] {
                    values[bucket.variable] = value;
                    let own: f64 = bucket.tables.iter().map(|t| t.at(values)).sum();
                    next.push((*cost + own - expected, i, value));
                }
            }
            next.sort_by(|a, b| a.0.total_cmp(&b.0));
            next.truncate(BEAM);
            states = next
                .into_iter()
                .map(|(cost, i, value)| {
                    let mut values = states[i].1.clone();
                    values[bucket.variable] = value;
                    (cost, values)
                })
                .collect();
        }
        let best = states.into_iter().min_by(|a, b| self.cost(&a.1).total_cmp(&self.cost(&b.1)));
        best.map(|(_, values)| values).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % n
        }
    }

    /// A random problem: a tree with some more edges, and single costs.
    fn problem(random: &mut Random, variables: usize, extra: usize) -> Problem {
        let mut p = Problem::default();
        for _ in 0..variables {
            let values = 1 + random.below(4);
            p.variable(values);
        }
        let costs = |p: &mut Problem, scope: &[usize], random: &mut Random| {
            p.table(
                scope,
                |_| if random.below(9) == 0 { IMPOSSIBLE } else { random.below(1000) as f64 / 64.0 },
            );
        };
        for v in 0..variables {
            costs(&mut p, &[v], random);
            if v > 0 {
                let parent = random.below(v);
                costs(&mut p, &[parent, v], random);
            }
        }
        for _ in 0..extra {
            let (a, b) = (random.below(variables), random.below(variables));
            if a != b {
                costs(&mut p, &[a, b], random);
            }
        }
        p
    }

    fn least(p: &Problem) -> f64 {
        let mut values = vec![0; p.sizes.len()];
        let mut least = f64::INFINITY;
        loop {
            least = least.min(p.cost(&values));
            let Some(at) = (0..values.len()).find(|&v| values[v] + 1 < p.sizes[v]) else { return least };
            values[at] += 1;
            values[..at].fill(0);
        }
    }

    #[test]
    fn elimination_finds_what_brute_force_finds() {
        let mut random = Random(3);
        for round in 0..300 {
            let variables = 1 + random.below(8);
            let p = problem(&mut random, variables, round % 6);
            let solution = p.solve(1 << 20);
            assert!(solution.proven);
            assert_eq!(solution.cost, p.cost(&solution.values));
            assert!(
                (solution.cost - least(&p)).abs() < 1e-6,
                "round {round}: {solution:?} and {}",
                least(&p)
            );
            assert!((solution.lower_bound - solution.cost).abs() < 1e-6, "round {round}: {solution:?}");
        }
    }

    #[test]
    fn small_tables_give_a_lower_bound_and_a_solution_near_it() {
        let mut random = Random(4);
        let (mut split, mut best) = (0, 0);
        for round in 0..300 {
            let p = problem(&mut random, 8, 14);
            let solution = p.solve(6);
            let least = least(&p);
            assert!(solution.lower_bound <= least + 1e-6, "round {round}: {solution:?} and {least}");
            assert!(least <= solution.cost + 1e-6, "round {round}: {solution:?} and {least}");
            split += usize::from(!solution.proven);
            best += usize::from(solution.cost <= least + 1e-6);
        }
        assert!(split > 100, "{split} problems were split");
        assert!(best > 280, "{best} solutions are the best");
    }

    #[test]
    fn a_long_chain_takes_no_large_table() {
        let mut random = Random(5);
        let p = problem(&mut random, 2000, 0);
        let solution = p.solve(16);
        assert!(solution.proven && (solution.cost - solution.lower_bound).abs() < 1e-3, "{}", solution.cost);
    }

    #[test]
    fn nothing_to_choose_costs_nothing() {
        let solution = Problem::default().solve(1);
        assert_eq!((solution.values.len(), solution.cost, solution.proven), (0, 0.0, true));
    }
}
