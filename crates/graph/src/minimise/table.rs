//! A cost for each combination of the values of a few variables.

/// A cost for each combination of values. The last variable of the scope is the fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(super) scope: Vec<usize>,
    sizes: Vec<usize>,
    costs: Vec<f64>,
}

impl Table {
    /// A table whose entries are asked for in order.
    pub(super) fn new(scope: Vec<usize>, sizes: Vec<usize>, mut cost: impl FnMut(&[usize]) -> f64) -> Table {
        let mut costs = Vec::with_capacity(sizes.iter().product());
        let mut values = vec![0; scope.len()];
        loop {
            costs.push(cost(&values));
            if !step(&mut values, &sizes) {
                return Table { scope, sizes, costs };
            }
        }
    }

    /// Its cost where each variable has the value that `values` has for it.
    pub(super) fn at(&self, values: &[usize]) -> f64 {
        let place = self.scope.iter().zip(&self.sizes).fold(0, |at, (&v, size)| at * size + values[v]);
        self.costs[place]
    }

    /// How far apart entries are whose values of this variable differ by one; 0 if the table does not depend on it.
    fn stride(&self, variable: usize) -> usize {
        match self.scope.iter().position(|&v| v == variable) {
            Some(at) => self.sizes[at + 1..].iter().product(),
            None => 0,
        }
    }

    /// For each combination of values of `scope`, the least sum of the tables over the values of `variable`.
    pub(super) fn least_sum(tables: &[&Table], scope: Vec<usize>, variable: usize, all: &[usize]) -> Table {
        let sizes: Vec<usize> = scope.iter().map(|&v| all[v]).collect();
        let strides: Vec<Vec<usize>> =
            tables.iter().map(|t| scope.iter().map(|&v| t.stride(v)).collect()).collect();
        let own: Vec<usize> = tables.iter().map(|t| t.stride(variable)).collect();
        let mut costs = Vec::with_capacity(sizes.iter().product());
        let mut values = vec![0; scope.len()];
        let mut places = vec![0usize; tables.len()];
        loop {
            let sum = |value: usize| -> f64 {
                tables
                    .iter()
                    .zip(places.iter().zip(&own))
                    .map(|(t, (at, own))| t.costs[at + own * value])
                    .sum()
            };
            costs.push((0..all[variable]).map(sum).fold(f64::INFINITY, f64::min));
            if !step(&mut values, &sizes) {
                return Table { scope, sizes, costs };
            }
            for (place, strides) in places.iter_mut().zip(&strides) {
                *place = values.iter().zip(strides).map(|(value, stride)| value * stride).sum();
            }
        }
    }

    /// The only cost of a table without variables.
    pub(super) fn constant(&self) -> Option<f64> {
        if self.scope.is_empty() { self.costs.first().copied() } else { None }
    }
}

/// The next combination, the last value first. `false` after the last combination.
fn step(values: &mut [usize], sizes: &[usize]) -> bool {
    for (value, size) in values.iter_mut().zip(sizes).rev() {
        *value += 1;
        if *value < *size {
            return true;
        }
        *value = 0;
    }
    false
}
