//! Dependencies between the nodes of a schedule.

use super::Node;
use crate::targets::v4::operation::Operation;

/// Moves each of the `wanted` nodes directly behind the last node on which it depends, so that its lane starts it early.
pub(super) fn move_up(nodes: &mut Vec<Node>, wanted: impl Fn(&Node) -> bool) {
    let (early, mut rest): (Vec<Node>, Vec<Node>) = nodes.drain(..).partition(wanted);
    for node in early {
        let place = rest
            .iter()
            .rposition(|earlier| conflicts(&earlier.operation, &node.operation));
        rest.insert(place.map_or(0, |place| place + 1), node);
    }
    *nodes = rest;
}

/// Returns whether the later operation has to wait for the earlier one, because one of them writes a buffer that the
/// other uses.
pub(super) fn conflicts(earlier: &Operation, later: &Operation) -> bool {
    let (writes, reads) = (earlier.writes(), earlier.reads());
    let touched = later.reads().into_iter().chain(later.writes());
    let mut overwritten = later.writes().into_iter();
    touched.into_iter().any(|handle| writes.contains(&handle))
        || overwritten.any(|handle| reads.contains(&handle))
}

/// Fills in [`Node::after`]: from each other lane the latest node that conflicts, unless an earlier wait covers it.
pub(super) fn find_dependencies(nodes: &mut [Node]) {
    let lanes = nodes.iter().map(|node| node.lane + 1).max().unwrap_or(0);
    // waited[a][b]: how far lane a knows lane b to be done, as the index after the last such node.
    let mut waited = vec![vec![0usize; lanes]; lanes];
    // The lanes' progress that each node knows at its start. A node that waits for it knows the same.
    let mut known: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    for index in 0..nodes.len() {
        let lane = nodes[index].lane;
        let mut after = Vec::new();
        for other in (0..lanes).filter(|other| *other != lane) {
            let latest = (waited[lane][other]..index).rev().find(|earlier| {
                nodes[*earlier].lane == other
                    && conflicts(&nodes[*earlier].operation, &nodes[index].operation)
            });
            if let Some(earlier) = latest {
                after.push(earlier);
            }
        }
        for earlier in &after {
            let other = nodes[*earlier].lane;
            waited[lane][other] = waited[lane][other].max(earlier + 1);
            for (mine, theirs) in waited[lane].iter_mut().zip(&known[*earlier]) {
                *mine = (*mine).max(*theirs);
            }
        }
        // A wait is left out if another one implies it.
        let implied: Vec<usize> = after
            .iter()
            .copied()
            .filter(|earlier| {
                after
                    .iter()
                    .any(|later| later != earlier && known[*later][nodes[*earlier].lane] > *earlier)
            })
            .collect();
        after.retain(|earlier| !implied.contains(earlier));
        known.push(waited[lane].clone());
        nodes[index].after = after;
    }
}
