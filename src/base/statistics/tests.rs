use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::finding::Further;
use super::*;

/// Generates step times around 10 ms: log-normal with 5 % noise and some outliers. `memory` is the share of a step's
/// deviation that the next step keeps.
struct Noise {
    memory: f64,
    outliers: f64,
}

impl Noise {
    fn series(&self, random: &mut ChaCha8Rng, steps: usize, factor: f64) -> Series {
        let mut state = normal(random);
        let values = (0..steps).map(|_| {
            state = self.memory * state + (1.0 - self.memory.powi(2)).sqrt() * normal(random);
            let outlier = if random.random::<f64>() < self.outliers {
                1.5
            } else {
                1.0
            };
            factor * outlier * 10.0 * (0.05 * state).exp()
        });
        Series::new(values.collect()).unwrap()
    }
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Share of comparisons that call the second side faster if it takes `1 / speedup` of the time.
fn share_called_faster(noise: &Noise, steps: usize, speedup: f64, comparisons: usize) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(steps as u64);
    let called = (0..comparisons).filter(|_| {
        let slow = noise.series(&mut random, steps, speedup);
        let fast = noise.series(&mut random, steps, 1.0);
        ratio_of_medians(&[slow], &[fast], 0.95)
            .is_ok_and(|ratio| ratio.judge(Some(1.0), None) == BoundVerdict::Passed)
    });
    called.count() as f64 / comparisons as f64
}

const INDEPENDENT: Noise = Noise {
    memory: 0.0,
    outliers: 0.02,
};
const DEPENDENT: Noise = Noise {
    memory: 0.6,
    outliers: 0.02,
};
const SLUGGISH: Noise = Noise {
    memory: 0.9,
    outliers: 0.05,
};
/// A host whose pace wanders during the measurement: the steps of one run hardly count as more than one measurement.
const WANDERING: Noise = Noise {
    memory: 0.95,
    outliers: 0.05,
};

#[test]
fn equal_programs_are_seldom_called_faster() {
    for (name, noise) in [
        ("independent", INDEPENDENT),
        ("dependent", DEPENDENT),
        ("sluggish", SLUGGISH),
        ("wandering", WANDERING),
    ] {
        for steps in [10, 20, 50, 200] {
            let share = share_called_faster(&noise, steps, 1.0, 3000);
            println!(
                "{name}, {steps} steps: called faster in {:.2} %",
                100.0 * share
            );
            assert!(share < 0.06, "{name}, {steps} steps: {share}");
        }
    }
}

#[test]
fn a_real_speedup_is_found() {
    for (name, noise, steps, speedup, least) in [
        ("independent", INDEPENDENT, 30, 1.10, 0.80),
        ("independent", INDEPENDENT, 50, 1.05, 0.80),
        ("dependent", DEPENDENT, 50, 1.10, 0.80),
        ("dependent", DEPENDENT, 200, 1.05, 0.80),
        ("wandering", WANDERING, 60, 1.6, 0.80),
    ] {
        let share = share_called_faster(&noise, steps, speedup, 500);
        println!(
            "{name}, {steps} steps, {speedup} times faster: found in {:.1} %",
            100.0 * share
        );
        assert!(share > least, "{name}, {steps} steps, {speedup}: {share}");
    }
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let comparisons = 2000;
    let held = (0..comparisons).filter(|_| {
        let a = INDEPENDENT.series(&mut random, 60, 1.3);
        let b = INDEPENDENT.series(&mut random, 60, 1.0);
        ratio_of_medians(&[a], &[b], 0.95).is_ok_and(|ratio| ratio.low <= 1.3 && 1.3 <= ratio.high)
    });
    let share = held.count() as f64 / f64::from(comparisons);
    assert!((0.94..0.995).contains(&share), "{share}");
}

#[test]
fn runs_that_differ_from_start_to_start_are_compared_by_run() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut by_runs = 0;
    let mut by_steps = 0;
    let comparisons = 1000;
    for _ in 0..comparisons {
        // The same program on both sides: starts differ by a few per cent, far more than steps do.
        let mut side = || -> Vec<Series> {
            (0..4)
                .map(|_| {
                    let start = (0.04 * normal(&mut random)).exp();
                    let quiet = (0..30).map(|_| 10.0 * start * (0.004 * normal(&mut random)).exp());
                    Series::new(quiet.collect()).unwrap()
                })
                .collect()
        };
        let (a, b) = (side(), side());
        let passed = |a: &[Series], b: &[Series], basis| {
            let Ok(ratio) = ratio_of_medians(a, b, 0.95) else {
                return 0;
            };
            assert_eq!(ratio.basis, basis);
            usize::from(ratio.judge(Some(1.0), None) == BoundVerdict::Passed)
        };
        by_runs += passed(&a, &b, Basis::Runs);
        by_steps += passed(&a[..1], &b[..1], Basis::Steps);
    }
    assert!(by_runs as f64 / f64::from(comparisons) < 0.06, "{by_runs}");
    // The lesson on repeating runs shows this: the steps of one run cannot tell how runs differ.
    assert!(by_steps > 300, "{by_steps}");
}

#[test]
fn the_closed_form_agrees_with_resampling() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let series = INDEPENDENT.series(&mut random, 31, 1.0);
    let resamples: Vec<f64> = (0..20_000)
        .map(|_| {
            let drawn = (0..31).map(|_| series.values[random.random_range(0..31)]);
            Series::new(drawn.collect()).unwrap().median()
        })
        .collect();
    let mean = resamples.iter().sum::<f64>() / resamples.len() as f64;
    let drawn = resamples.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / resamples.len() as f64;
    let closed = bootstrap_variance_of_median(&series.sorted, |value| value);
    assert!(
        (drawn / closed - 1.0).abs() < 0.05,
        "{drawn} against {closed}"
    );
}

#[test]
fn dependent_steps_count_for_fewer() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let independent = INDEPENDENT
        .series(&mut random, 2000, 1.0)
        .independent_steps();
    let sluggish = Noise {
        memory: 0.9,
        outliers: 0.0,
    }
    .series(&mut random, 2000, 1.0)
    .independent_steps();
    assert!(independent > 1500.0, "{independent}");
    // The signs of a Gaussian process with memory 0.9 have an autocorrelation time near 12.
    assert!((80.0..320.0).contains(&sluggish), "{sluggish}");
}

#[test]
fn quantiles_interpolate_and_survive_one_value() {
    let series = Series::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
    assert_eq!(series.median(), 2.5);
    assert!((series.quantile(0.1) - 1.3).abs() < 1e-12);
    assert_eq!(series.quantile(1.0), 4.0);
    assert_eq!(Series::new(vec![5.0]).unwrap().quantile(0.9), 5.0);
}

#[test]
fn a_value_that_is_no_measurement_is_refused_with_its_place() {
    assert_eq!(Series::new(vec![]), Err(SeriesError::Empty));
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(
            Series::new(vec![1.0, bad]),
            Err(SeriesError::NotPositive { position: 2 }),
            "{bad}"
        );
    }
}

#[test]
fn identical_steps_give_an_exact_ratio() {
    let side = |value| [Series::new(vec![value; 20]).unwrap()];
    let ratio = ratio_of_medians(&side(4.0), &side(2.0), 0.95).unwrap();
    assert!((ratio.low - 2.0).abs() < 1e-12 && (ratio.high - 2.0).abs() < 1e-12);
}

#[test]
fn a_bound_inside_the_interval_is_inconclusive_and_says_how_long_to_measure() {
    let interval = Interval {
        value: 1.05,
        low: 0.95,
        high: 1.16,
        confidence: 0.95,
        basis: Basis::Steps,
        steps: 20,
        runs: 1,
    };
    assert_eq!(interval.judge(Some(0.9), None), BoundVerdict::Passed);
    assert_eq!(interval.judge(Some(1.2), None), BoundVerdict::NotYet);
    assert_eq!(interval.judge(None, Some(1.2)), BoundVerdict::Passed);
    assert_eq!(interval.judge(None, Some(0.9)), BoundVerdict::NotYet);
    assert_eq!(interval.judge(Some(0.9), Some(1.2)), BoundVerdict::Passed);
    // 20 * ((ln(1.16 / 0.95) / 2) / ln 1.05)^2 - 20
    assert_eq!(
        interval.judge(Some(1.0), None),
        BoundVerdict::Inconclusive {
            further_steps: Some(64)
        }
    );
    assert_eq!(
        interval.judge(None, Some(1.05)),
        BoundVerdict::Inconclusive {
            further_steps: None
        }
    );
}

#[test]
fn too_few_steps_and_silly_confidences_are_refused() {
    let few = [Series::new(vec![1.0, 2.0, 1.0, 2.0]).unwrap()];
    assert!(matches!(
        ratio_of_medians(&few, &few, 0.95),
        Err(CompareError::TooFewSteps { steps: 4, .. })
    ));
    for confidence in [f64::NAN, 0.0, 0.5, 1.0, 95.0] {
        assert_eq!(
            ratio_of_medians(&few, &few, confidence),
            Err(CompareError::Confidence)
        );
    }
    assert_eq!(ratio_of_medians(&few, &[], 0.95), Err(CompareError::NoRun));
}

/// Simulates rounds on a shared machine. The session drifts, each round has an offset that both sides share, each
/// start has an offset, and steps depend on the previous ones.
fn take_turns(random: &mut ChaCha8Rng, rounds: usize, speedup: f64) -> (Vec<Series>, Vec<Series>) {
    let drift = 0.03 * normal(random);
    (0..rounds)
        .map(|round| {
            let shared = (drift * round as f64 + 0.05 * normal(random)).exp();
            let mut side = |factor: f64| {
                let start = (0.02 * normal(random)).exp();
                DEPENDENT.series(random, 20, factor * shared * start)
            };
            (side(speedup), side(1.0))
        })
        .unzip()
}

#[test]
fn programs_that_take_turns_are_seldom_called_faster_and_real_differences_are_found() {
    for rounds in [3, 5, 10] {
        let mut random = ChaCha8Rng::seed_from_u64(rounds as u64);
        let mut share = |speedup: f64, comparisons: usize| {
            let called = (0..comparisons).filter(|_| {
                let (slow, fast) = take_turns(&mut random, rounds, speedup);
                let ratio = ratio_in_rounds(&fast, &slow, Series::median, 0.95).unwrap();
                assert_eq!((ratio.basis, ratio.runs), (Basis::Rounds, rounds));
                ratio.finding(0.02) == Finding::Faster
            });
            called.count() as f64 / comparisons as f64
        };
        let (null, real) = (share(1.0, 3000), share(1.3, 500));
        println!(
            "{rounds} rounds: called faster in {:.2} %, 1.3 times faster found in {:.1} %",
            100.0 * null,
            100.0 * real
        );
        assert!(null < 0.06, "{rounds} rounds: {null}");
        assert!(real > 0.8, "{rounds} rounds: {real}");
    }
}

#[test]
fn the_rounds_that_were_proposed_settle_it_more_often_than_not() {
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let (mut settled, mut proposals) = (0, 0);
    for _ in 0..600 {
        let (slow, fast) = take_turns(&mut random, 4, 1.06);
        let ratio = ratio_in_rounds(&fast, &slow, Series::median, 0.95).unwrap();
        let Finding::TooNoisy {
            further: Some(Further::Rounds(further)),
        } = ratio.finding(0.02)
        else {
            continue;
        };
        proposals += 1;
        let (slow, fast) = take_turns(&mut random, 4 + further, 1.06);
        let longer = ratio_in_rounds(&fast, &slow, Series::median, 0.95).unwrap();
        settled += usize::from(longer.finding(0.02) == Finding::Faster);
    }
    assert!(proposals > 100, "{proposals}");
    assert!(
        settled as f64 > 0.5 * f64::from(proposals),
        "{settled} of {proposals}"
    );
}

#[test]
fn a_finding_tells_nothing_there_from_nothing_known() {
    let interval = |low: f64, high: f64| Interval {
        value: (low * high).sqrt(),
        low,
        high,
        confidence: 0.95,
        basis: Basis::Rounds,
        steps: 20,
        runs: 4,
    };
    assert_eq!(interval(0.90, 0.95).finding(0.02), Finding::Faster);
    assert_eq!(interval(1.05, 1.20).finding(0.02), Finding::Slower);
    assert_eq!(interval(0.99, 1.01).finding(0.02), Finding::NoDifference);
    assert!(matches!(
        interval(0.90, 1.05).finding(0.02),
        Finding::TooNoisy {
            further: Some(Further::Rounds(2..=40))
        }
    ));
    // The value lies exactly between "faster" and "no difference" at a margin of zero, so more measuring cannot help.
    assert_eq!(
        interval(0.5, 2.0).finding(0.0),
        Finding::TooNoisy { further: None }
    );
}
