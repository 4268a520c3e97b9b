//! An order of nodes in which every value is computed before it is used.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Orders nodes by the values that they use. `uses` and `makes` are the names of each node's inputs and outputs; names that no
/// node makes are ignored. Nodes keep their order where they can. A cycle is the error: the number of a node on it.
pub(crate) fn topological(uses: &[Vec<&str>], makes: &[Vec<&str>]) -> Result<Vec<usize>, usize> {
    let mut maker = HashMap::new();
    for (i, names) in makes.iter().enumerate() {
        names.iter().for_each(|name| {
            maker.entry(*name).or_insert(i);
        });
    }
    let before: Vec<Vec<usize>> = uses
        .iter()
        .map(|names| {
            let mut list: Vec<usize> = names.iter().filter_map(|name| maker.get(name).copied()).collect();
            list.sort_unstable();
            list.dedup();
            list
        })
        .collect();
    let mut after = vec![Vec::new(); uses.len()];
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    for (i, list) in before.iter().enumerate() {
        list.iter().for_each(|&j| after[j].push(i));
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..uses.len()).filter(|&i| waits[i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(uses.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &j in &after[i] {
            waits[j] -= 1;
            if waits[j] == 0 {
                ready.push(Reverse(j));
            }
        }
    }
    match waits.iter().position(|&n| n > 0) {
        None => Ok(order),
        // A node that waits has a node before it that waits; after as many steps as there are nodes, the node is on a cycle.
        Some(start) => Err((0..uses.len())
            .fold(start, |i, _| before[i].iter().copied().find(|&j| waits[j] > 0).unwrap_or(i))),
    }
}

#[cfg(test)]
mod tests {
    use super::topological;

    #[test]
    fn nodes_are_sorted_and_cycles_found() {
        let uses = vec![vec!["b"], vec!["x"], vec!["a", "b"]];
        let makes = vec![vec!["c"], vec!["b"], vec!["d"]];
        assert_eq!(topological(&uses, &makes), Ok(vec![1, 0, 2]));
        let uses = vec![vec!["x", "c"], vec!["a"], vec!["b"], vec!["c"]];
        let makes = vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"]];
        assert!(topological(&uses, &makes).is_err_and(|i| i < 3));
        assert_eq!(topological(&[vec!["a"]], &[vec!["a"]]), Err(0));
    }
}
