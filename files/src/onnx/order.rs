//! The order in which a graph's nodes run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::model::Node;

/// The indices of the nodes in an order in which each node follows the nodes that make its inputs; `None` if the nodes are
/// in such an order already. `values` is the number of values, and at most one node makes each value. The error is the
/// index of a node that is part of a cycle.
pub(super) fn order(nodes: &[Node], values: usize) -> Result<Option<Vec<usize>>, usize> {
    let mut makers: Vec<Option<usize>> = vec![None; values];
    nodes.iter().enumerate().for_each(|(index, node)| makers[node.output] = Some(index));
    let waits_for = |index: usize| nodes[index].inputs().filter_map(|input| makers[input]);
    if (0..nodes.len()).all(|index| waits_for(index).all(|maker| maker < index)) {
        return Ok(None);
    }
    let mut waiting: Vec<usize> = (0..nodes.len()).map(|index| waits_for(index).count()).collect();
    let followers = Followers::new(nodes.len(), waits_for);
    // Of the nodes that wait for nothing, the first in the graph's order comes next, so that nodes keep the graph's order
    // where they can.
    let ready = (0..nodes.len()).filter(|&index| waiting[index] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        for &after in followers.of(index) {
            waiting[after] -= 1;
            if waiting[after] == 0 {
                ready.push(Reverse(after));
            }
        }
    }
    let Some(index) = waiting.iter().position(|&waiting| waiting > 0) else { return Ok(Some(order)) };
    // This node may wait for a cycle without being part of it. Each step goes to a node for which the current one waits.
    // After as many steps as there are nodes, the current node is inside a cycle.
    let step = |index: usize, _| waits_for(index).find(|&maker| waiting[maker] > 0).unwrap_or(index);
    Err((0..nodes.len()).fold(index, step))
}

/// The nodes that wait for each node. They are in one list, because a list for each node would be an allocation for each.
struct Followers {
    /// The index in `list` of each node's first follower, and at the end the length of `list`.
    starts: Vec<usize>,
    list: Vec<usize>,
}

impl Followers {
    fn new<I: Iterator<Item = usize>>(nodes: usize, waits_for: impl Fn(usize) -> I) -> Self {
        let mut starts = vec![0; nodes];
        (0..nodes).flat_map(&waits_for).for_each(|maker| starts[maker] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        starts.push(end);
        // `starts` has the end of each node's followers. The list is filled from the back, which moves it to their start.
        let mut list = vec![0; end];
        for index in (0..nodes).rev() {
            for maker in waits_for(index) {
                starts[maker] -= 1;
                list[starts[maker]] = index;
            }
        }
        Self { starts, list }
    }

    fn of(&self, node: usize) -> &[usize] {
        &self.list[self.starts[node]..self.starts[node + 1]]
    }
}
