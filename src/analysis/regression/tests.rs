use super::baseline::BaselineError;
use super::*;

/// Runs around `ms`. Each run differs a little in its mean, and steps differ less.
fn runs(ms: f64, spread: f64) -> Vec<RunFigures> {
    [-1.0, 0.3, 0.7, 0.0]
        .iter()
        .map(|start| RunFigures {
            step_ms: (0..20)
                .map(|step| ms * (1.0 + spread * start) * (1.0 + 0.001 * f64::from(step % 5)))
                .collect(),
            batch_size: 8,
            launches: Some(500.0),
            peak_bytes: Some(1e9),
            final_loss: Some(6.5),
        })
        .collect()
}

fn verdicts(today: &[RunFigures], baseline: &[RunFigures]) -> Vec<RegressionVerdict> {
    check("v1", today, baseline, 0.05, 0.95)
        .iter()
        .map(|outcome| outcome.verdict)
        .collect()
}

#[test]
fn a_slow_run_is_caught_and_an_equal_one_passes() {
    use RegressionVerdict::{Passed, Regression};
    let baseline = runs(10.0, 0.005);
    assert_eq!(verdicts(&runs(10.1, 0.005), &baseline), [Passed; 5]);
    assert_eq!(
        verdicts(&runs(11.0, 0.005), &baseline),
        [Regression, Regression, Passed, Passed, Passed]
    );
    // Faster is never a regression.
    assert_eq!(verdicts(&runs(5.0, 0.005), &baseline), [Passed; 5]);
}

#[test]
fn noise_larger_than_the_tolerance_is_inconclusive_and_not_a_regression() {
    let outcomes = check("v1", &runs(10.8, 0.1), &runs(10.0, 0.1), 0.05, 0.95);
    assert_eq!(outcomes[0].verdict, RegressionVerdict::Inconclusive);
    assert!(
        outcomes[0].message.contains("further steps"),
        "{}",
        outcomes[0].message
    );
}

#[test]
fn counts_and_losses_are_held_to_the_tolerance_and_nan_never_passes() {
    let baseline = runs(10.0, 0.005);
    let mut today = baseline.clone();
    today[1].launches = Some(526.0);
    today[2].peak_bytes = Some(1.049e9);
    today[3].final_loss = Some(f64::NAN);
    assert_eq!(
        verdicts(&today, &baseline)[2..],
        [
            RegressionVerdict::Passed,
            RegressionVerdict::Regression,
            RegressionVerdict::Regression
        ]
    );
    today[0].launches = None;
    assert_eq!(
        verdicts(&today, &baseline)[3],
        RegressionVerdict::NotCompared
    );
}

#[test]
fn a_speedup_is_asked_of_the_interval_not_of_the_median() {
    let series = |ms: f64, spread: f64| -> Vec<Series> {
        runs(ms, spread)
            .iter()
            .map(|run| Series::new(run.step_ms.clone()).unwrap())
            .collect()
    };
    let verdict = |ms, spread| {
        check_speedup(
            "v2",
            &series(ms, spread),
            "v1",
            &series(10.0, 0.0),
            1.3,
            0.95,
        )
        .verdict
    };
    assert_eq!(verdict(5.0, 0.01), RegressionVerdict::Passed);
    assert_eq!(verdict(9.0, 0.01), RegressionVerdict::Regression);
    assert_eq!(verdict(7.5, 0.2), RegressionVerdict::Inconclusive);
}

#[test]
fn a_baseline_comes_back_from_its_file_and_a_wrong_one_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    let missing = Baseline::read(&path).unwrap_err().to_string();
    assert!(missing.contains("--save"), "{missing}");
    Baseline::new(vec!["--config=tiny".into()], 7)
        .write(&path)
        .unwrap();
    let read = Baseline::read(&path).unwrap();
    assert_eq!((read.saved, read.flags.len()), (7, 1));
    std::fs::write(&path, r#"{"version": 9}"#).unwrap();
    assert!(matches!(
        Baseline::read(&path),
        Err(BaselineError::Version { version: 9, .. })
    ));
}
