use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn switches(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).into()).collect()
}

/// 10 ms. Switch 0 multiplies the time by 0.8, switch 1 by 1, switch 2 by 0.9, and switches 0 and 2 together by another
/// 0.95.
fn truth(combination: usize) -> f64 {
    let mut ms = 10.0;
    if States(combination).has(0) {
        ms *= 0.8;
    }
    if States(combination).has(2) {
        ms *= 0.9;
    }
    if States(combination).has(0) && States(combination).has(2) {
        ms *= 0.95;
    }
    ms
}

fn experiment(random: &mut ChaCha8Rng, rounds: usize, noise: f64) -> Vec<Vec<f64>> {
    let round: Vec<f64> = (0..rounds)
        .map(|_| 1.0 + 0.2 * random.random::<f64>())
        .collect();
    (0..8)
        .map(|combination| {
            round
                .iter()
                .map(|round| {
                    let scatter: f64 = (0..12).map(|_| random.random::<f64>() - 0.5).sum();
                    truth(combination) * round * (noise * scatter).exp()
                })
                .collect()
        })
        .collect()
}

#[test]
fn effects_without_noise_are_exact_and_rounds_drop_out() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let times = experiment(&mut random, 2, 0.0);
    let ablation = analyse("v2", &switches(&["a", "b", "c"]), &times, 0.95).unwrap();
    // The main effect is the mean over the states of the other switch: 0.8 without c and 0.8 * 0.95 with it.
    let expected = [0.8 * 0.95_f64.sqrt(), 1.0, 0.9 * 0.95_f64.sqrt()];
    for (effect, expected) in ablation.main_effects.iter().zip(expected) {
        assert!((effect.time_ratio - expected).abs() < 1e-9, "{effect:?}");
    }
    let with: Vec<f64> = ablation.interactions.iter().map(|e| e.time_ratio).collect();
    for (found, expected) in with.iter().zip([1.0, 0.95, 1.0]) {
        assert!((found - expected).abs() < 1e-9, "{with:?}");
    }
    let all = ablation.combinations.last().unwrap();
    assert_eq!(all.on, ["a", "b", "c"]);
    assert!(
        (all.speedup - 1.0 / (0.8 * 0.9 * 0.95)).abs() < 0.1,
        "{all:?}"
    );
}

#[test]
fn intervals_hold_together_as_often_as_they_say_and_find_real_effects() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let names = switches(&["a", "b", "c"]);
    let (mut all_hold, mut found, mut widths) = (0, 0, 0.0);
    let experiments = 1000;
    for _ in 0..experiments {
        let times = experiment(&mut random, 3, 0.03);
        let ablation = analyse("v2", &names, &times, 0.95).unwrap();
        let truths = [
            0.8 * 0.95_f64.sqrt(),
            1.0,
            0.9 * 0.95_f64.sqrt(),
            1.0,
            0.95,
            1.0,
        ];
        let holds = ablation
            .main_effects
            .iter()
            .chain(&ablation.interactions)
            .zip(truths)
            .all(|(effect, truth)| {
                let interval = effect.interval.unwrap();
                interval.low <= truth && truth <= interval.high
            });
        all_hold += usize::from(holds);
        widths += ablation.main_effects[0].interval.unwrap().half_width();
        found += usize::from(ablation.main_effects[0].finding == Some(Finding::Faster));
    }
    let share = f64::from(u32::try_from(all_hold).unwrap()) / f64::from(experiments);
    println!("all intervals hold in {:.1} %", 100.0 * share);
    assert!((0.93..=1.0).contains(&share), "{share}");
    assert!(found > 990, "{found}");
    // t(14) at 1 - 0.05 / 6, times 2 x 0.03 / root of 24. The part that rounds share has dropped out.
    let width = widths / f64::from(experiments);
    assert!((0.030..0.045).contains(&width), "{width}");
}

#[test]
fn one_round_of_two_switches_gives_no_interval_and_holes_are_refused() {
    let names = switches(&["a", "b"]);
    let times = vec![vec![4.0], vec![2.0], vec![4.0], vec![2.0]];
    let ablation = analyse("v2", &names, &times, 0.95).unwrap();
    assert!(ablation.main_effects[0].interval.is_none());
    assert!((ablation.main_effects[0].time_ratio - 0.5).abs() < 1e-12);
    assert!(analyse("v2", &names, &times[..3], 0.95).is_err());
    let mut bad = times;
    bad[1][0] = f64::NAN;
    assert_eq!(
        analyse("v2", &names, &bad, 0.95),
        Err(AblationError::NotPositive { combination: 1 })
    );
    assert_eq!(analyse("v2", &[], &bad, 0.95), Err(AblationError::NoSwitch));
}

#[test]
fn combinations_are_written_as_flags() {
    let switches = switches(&["qkv-fusion", "graph-fusion"]);
    let all: Vec<States> = States::all_states(2).collect();
    assert_eq!(all.len(), 4);
    assert_eq!(
        all[2].flags(&switches),
        ["--qkv-fusion=off", "--graph-fusion=on"]
    );
    assert!(all[0].switched_on(&switches).is_empty());
    assert_eq!(
        all[3].switched_on(&switches),
        ["qkv-fusion", "graph-fusion"]
    );
}
