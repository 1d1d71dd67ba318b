use super::dependencies::conflicts;
use super::*;
use crate::model::Preset;
use crate::targets::v4::operation::Activate;

fn schedules() -> Vec<Schedule> {
    let config = Preset::Tiny.config();
    let mut list = Vec::new();
    for lanes in 1..=3 {
        for update_early in [false, true] {
            for layers_together in [1, 2, 3, 4] {
                list.push(Schedule::new(
                    &config,
                    Concurrency {
                        lanes,
                        update_early,
                        layers_together,
                    },
                ));
            }
        }
    }
    for overlap in [false, true] {
        list.extend([1, 20_000, usize::MAX].map(|bucket| over_two(bucket, overlap)));
    }
    list
}

/// Returns the schedule of one of two ranks on a GPU.
fn over_two(bucket: usize, overlap: bool) -> Schedule {
    let concurrency = Concurrency {
        lanes: 2,
        update_early: true,
        layers_together: 1,
    };
    let sums = Sums {
        rank: 1,
        ranks: 2,
        bucket,
        overlap,
    };
    Schedule::over_ranks(&Preset::Tiny.config(), concurrency, Some(sums))
}

#[test]
fn every_gradient_is_summed_once_between_its_last_product_and_its_update() {
    for (bucket, overlap) in [(1, true), (20_000, true), (usize::MAX, true), (1, false)] {
        let schedule = over_two(bucket, overlap);
        let position = |wanted: &dyn Fn(&Operation) -> bool| {
            let nodes = schedule.nodes.iter().enumerate();
            let found = nodes.filter(|(_, node)| wanted(&node.operation));
            found.map(|(at, _)| at).collect::<Vec<_>>()
        };
        let blocks = schedule.layout.qkv(0)..schedule.layout.norm(0);
        for parameter in 0..schedule.layout.parameters.len() {
            let (gradient, weight) = (
                BufferHandle::Gradient(parameter),
                BufferHandle::Weight(parameter),
            );
            let sums = position(
                &|op| matches!(op, Operation::Sum(sum) if sum.gradients.contains(&gradient)),
            );
            let made =
                position(&|op| !matches!(op, Operation::Sum(_)) && op.writes().contains(&gradient));
            let updated = position(
                &|op| matches!(op, Operation::UpdateOperation(op) if op.weights.contains(&weight)),
            );
            assert_eq!((sums.len(), updated.len()), (1, 1));
            assert!(made.iter().all(|at| *at < sums[0]) && sums[0] < updated[0]);
            let gathered =
                position(&|op| matches!(op, Operation::Gather(op) if op.weights.contains(&weight)));
            let read =
                position(&|op| !matches!(op, Operation::Gather(_)) && op.reads().contains(&weight));
            assert_eq!(gathered.len(), usize::from(blocks.contains(&parameter)));
            assert!(gathered.iter().all(|at| *at < read[0]));
        }
        let sums = position(&|op| matches!(op, Operation::Sum(_)));
        let buckets = if bucket == usize::MAX { 2 } else { 3 };
        assert!(sums.len() >= buckets, "{bucket}: {}", sums.len());
        let last_of_backward = position(&|op| matches!(op, Operation::Scatter(_)))[0];
        // With overlap, some sums start before the backward pass has ended; without it, none do.
        assert_eq!(sums[0] < last_of_backward, overlap, "{bucket} {overlap}");
        let elements: usize = sums
            .iter()
            .map(|at| match &schedule.nodes[*at].operation {
                Operation::Sum(sum) => sum.elements(),
                _ => 0,
            })
            .sum();
        assert_eq!(elements, schedule.layout.length);
    }
}

/// Returns whether `later` is certain to start after `earlier` has ended if only nodes for which `counts` is true wait.
fn ordered(nodes: &[Node], earlier: usize, later: usize, counts: impl Fn(&Node) -> bool) -> bool {
    let mut reached = vec![false; nodes.len()];
    reached[earlier] = true;
    for index in earlier + 1..=later {
        if !counts(&nodes[index]) {
            continue;
        }
        let lane = nodes[index].lane;
        let in_lane = (earlier..index).any(|i| reached[i] && nodes[i].lane == lane);
        reached[index] = in_lane || nodes[index].after.iter().any(|i| reached[*i]);
    }
    reached[later]
}

#[test]
fn conflicting_launches_are_ordered_on_any_number_of_lanes() {
    for schedule in schedules() {
        let nodes = &schedule.nodes;
        for later in 0..nodes.len() {
            assert!(nodes[later].after.iter().all(|earlier| *earlier < later));
            for earlier in 0..later {
                if conflicts(&nodes[earlier].operation, &nodes[later].operation) {
                    assert!(
                        ordered(nodes, earlier, later, |_| true),
                        "{} lanes: {later} {:?} after {earlier} {:?}",
                        schedule.lanes,
                        nodes[later].operation,
                        nodes[earlier].operation
                    );
                }
            }
        }
    }
}

/// An executor lets skipped nodes wait, too. Otherwise gradients without updates would not be in order.
#[test]
fn a_run_without_updates_needs_the_waits_of_updates() {
    let concurrency = Concurrency {
        lanes: 2,
        update_early: true,
        layers_together: 1,
    };
    let schedule = Schedule::new(&Preset::Tiny.config(), concurrency);
    let nodes = &schedule.nodes;
    let runs = |node: &Node| node.phase != StepPhase::Optimizer;
    let out_of_order = |counts: &dyn Fn(&Node) -> bool| {
        let places: Vec<usize> = (0..nodes.len()).filter(|at| runs(&nodes[*at])).collect();
        let mut pairs = Vec::new();
        for (rank, later) in places.iter().enumerate() {
            for earlier in &places[..rank] {
                if conflicts(&nodes[*earlier].operation, &nodes[*later].operation)
                    && !ordered(nodes, *earlier, *later, counts)
                {
                    pairs.push((
                        nodes[*earlier].operation.name(),
                        nodes[*later].operation.name(),
                    ));
                }
            }
        }
        pairs
    };
    assert_eq!(out_of_order(&|_| true), []);
    let lost = out_of_order(&runs);
    assert!(
        lost.contains(&("normalize_backward", "norm_gradients")),
        "{lost:?}"
    );
}

#[test]
fn writing_conflicts_with_reading_and_writing_and_reading_with_nothing() {
    let activate = |from: usize, to: usize| {
        Operation::Activate(Activate {
            gate_up: BufferHandle::Buffer(from),
            activated: BufferHandle::Buffer(to),
        })
    };
    assert!(
        conflicts(&activate(0, 1), &activate(1, 2)),
        "read after write"
    );
    assert!(
        conflicts(&activate(0, 1), &activate(2, 0)),
        "write after read"
    );
    assert!(
        conflicts(&activate(0, 1), &activate(2, 1)),
        "write after write"
    );
    assert!(!conflicts(&activate(0, 1), &activate(0, 2)), "both read");
    assert!(!conflicts(&activate(0, 1), &activate(2, 3)));
}

#[test]
fn every_parameter_gets_a_gradient_and_one_update() {
    for schedule in schedules() {
        for parameter in 0..schedule.layout.parameters.len() {
            let touching = |phase: StepPhase, handle: BufferHandle| {
                let nodes = schedule.nodes.iter().filter(|node| node.phase == phase);
                nodes
                    .filter(|node| node.operation.writes().contains(&handle))
                    .count()
            };
            assert!(touching(StepPhase::Backward, BufferHandle::Gradient(parameter)) >= 1);
            assert_eq!(
                touching(StepPhase::Optimizer, BufferHandle::Weight(parameter)),
                1
            );
        }
        let mut elements: Vec<_> = schedule
            .nodes
            .iter()
            .filter_map(|node| match &node.operation {
                Operation::UpdateOperation(update) => Some(update.elements.clone()),
                _ => None,
            })
            .collect();
        elements.sort_by_key(|range| range.start);
        assert_eq!(elements.first().unwrap().start, 0);
        assert_eq!(elements.last().unwrap().end, schedule.layout.length);
        // Without the parts of other ranks the updates leave nothing out.
        let kept = |element: usize| {
            let shards = schedule.shards.as_ref();
            shards.map_or(element, |shards| shards.index(element))
        };
        let follows =
            |pair: &[std::ops::Range<usize>]| kept(pair[0].end - 1) + 1 == kept(pair[1].start);
        assert!(elements.windows(2).all(follows));
        assert_eq!(schedule.shards.is_some(), schedule.sums.is_some());
    }
}

#[test]
fn products_by_shape_are_all_products_of_the_step() {
    let config = Preset::Small.config();
    let schedule = Schedule::new(&config, Concurrency::NONE);
    let kinds = schedule.products();
    let operations: f64 = kinds
        .iter()
        .map(|(p, count)| 2.0 * (p.m * p.n * p.k * count) as f64)
        .sum();
    let matrices = (config.parameters() as usize - (2 * config.layers + 1) * config.hidden) as f64;
    assert_eq!(operations, 6.0 * config.tokens() as f64 * matrices);
    let together = Concurrency {
        layers_together: config.layers,
        ..Concurrency::NONE
    };
    let count = |kinds: &[(MatrixProduct, usize)]| kinds.iter().map(|kind| kind.1).sum::<usize>();
    assert_eq!(
        count(&Schedule::new(&config, together).products()),
        count(&kinds)
    );
}

#[test]
fn layers_whose_gradients_go_together_are_as_many_each_time() {
    let together = |layers, most| {
        let config = ModelConfig {
            layers,
            ..Preset::Tiny.config()
        };
        let concurrency = Concurrency {
            layers_together: most,
            ..Concurrency::NONE
        };
        let schedule = Schedule::new(&config, concurrency);
        let nodes = schedule.nodes.iter();
        let lists = nodes.filter_map(|node| match &node.operation {
            Operation::WeightGradients(list) => Some(list.len()),
            _ => None,
        });
        // Takes each of the four weights of a block.
        lists.step_by(4).collect::<Vec<_>>()
    };
    assert_eq!(together(12, 8), [6, 6]);
    assert_eq!(together(8, 8), [8]);
    // The backward pass begins with the last layer.
    assert_eq!(together(5, 2), [1, 2, 2]);
}

#[test]
fn nothing_reads_what_nothing_wrote() {
    for schedule in schedules() {
        let mut written = vec![schedule.tokens, schedule.targets];
        // Counters are read and written by the same launch, and are zero at the start.
        written.extend([schedule.losses, schedule.factors]);
        for node in &schedule.nodes {
            for handle in node.operation.reads() {
                let known = matches!(handle, BufferHandle::Weight(_)) || written.contains(&handle);
                assert!(known, "{handle:?} in {:?}", node.operation);
            }
            written.extend(node.operation.writes());
        }
    }
}
