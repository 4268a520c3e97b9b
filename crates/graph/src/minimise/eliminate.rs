//! Eliminates the variables, each time the one that leaves the smallest table.

use std::collections::{BTreeMap, BTreeSet};

use super::Table;

/// A variable that was eliminated.
pub(super) struct Bucket {
    pub(super) variable: usize,
    /// The tables that named it then.
    pub(super) tables: Vec<Table>,
    /// What became of them: tables without the variable. More than one if the tables were split, none if nothing is left.
    pub(super) messages: Vec<Table>,
}

/// Eliminates all variables. Gives the buckets in that order, and the sum of the least costs.
pub(super) fn eliminate(sizes: &[usize], tables: &[Table], largest: usize) -> (Vec<Bucket>, f64) {
    let mut live: BTreeMap<usize, Table> = tables.iter().cloned().enumerate().collect();
    let mut next = live.len();
    // Which tables name each variable, and which other variables they name.
    let mut tables_of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); sizes.len()];
    for (i, table) in &live {
        table.scope.iter().for_each(|&v| {
            tables_of[v].insert(*i);
        });
    }
    let neighbours = |v: usize, tables_of: &[BTreeSet<usize>], live: &BTreeMap<usize, Table>| {
        let scopes = tables_of[v].iter().flat_map(|i| &live[i].scope);
        scopes.copied().filter(|&other| other != v).collect::<BTreeSet<usize>>()
    };
    let entries = |scope: &BTreeSet<usize>| scope.iter().fold(1usize, |n, &v| n.saturating_mul(sizes[v]));
    let mut waiting: BTreeSet<(usize, usize)> =
        (0..sizes.len()).map(|v| (entries(&neighbours(v, &tables_of, &live)), v)).collect();
    let mut size_of: Vec<usize> = vec![0; sizes.len()];
    waiting.iter().for_each(|&(size, v)| size_of[v] = size);

    let mut buckets = Vec::with_capacity(sizes.len());
    let mut sum: f64 = live.values().filter_map(Table::constant).sum();
    while let Some((_, variable)) = waiting.pop_first() {
        let around = neighbours(variable, &tables_of, &live);
        let own: Vec<Table> = tables_of[variable].iter().filter_map(|i| live.remove(i)).collect();
        let gone = std::mem::take(&mut tables_of[variable]);
        around.iter().for_each(|&v| tables_of[v].retain(|i| !gone.contains(i)));
        let mut messages = Vec::new();
        for group in groups(&own, variable, sizes, largest) {
            let scope: BTreeSet<usize> = group.iter().flat_map(|t| t.scope.iter().copied()).collect();
            let scope: Vec<usize> = scope.into_iter().filter(|&v| v != variable).collect();
            let message = Table::least_sum(&group, scope, variable, sizes);
            match message.constant() {
                Some(cost) => sum += cost,
                None => {
                    message.scope.iter().for_each(|&v| {
                        tables_of[v].insert(next);
                    });
                    live.insert(next, message.clone());
                    next += 1;
                }
            }
            messages.push(message);
        }
        for &v in &around {
            waiting.remove(&(size_of[v], v));
            size_of[v] = entries(&neighbours(v, &tables_of, &live));
            waiting.insert((size_of[v], v));
        }
        buckets.push(Bucket { variable, tables: own, messages });
    }
    (buckets, sum)
}

/// The tables in groups, each of whose sum has at most `largest` entries: one group if possible.
fn groups<'a>(tables: &'a [Table], variable: usize, sizes: &[usize], largest: usize) -> Vec<Vec<&'a Table>> {
    let mut groups: Vec<(BTreeSet<usize>, Vec<&Table>)> = Vec::new();
    let mut order: Vec<&Table> = tables.iter().collect();
    order.sort_by_key(|t| std::cmp::Reverse(t.scope.len()));
    for table in order {
        let fits = |scope: &BTreeSet<usize>| {
            let both = scope.iter().chain(&table.scope).copied().collect::<BTreeSet<usize>>();
            both.iter().filter(|v| **v != variable).fold(1usize, |n, &v| n.saturating_mul(sizes[v]))
                <= largest
        };
        match groups.iter_mut().find(|(scope, _)| fits(scope)) {
            Some((scope, list)) => {
                scope.extend(table.scope.iter().copied());
                list.push(table);
            }
            None => groups.push((table.scope.iter().copied().collect(), vec![table])),
        }
    }
    groups.into_iter().map(|(_, list)| list).collect()
}
