//! Results as JUnit XML: one suite per target, one case per figure.

use std::io;
use std::path::Path;

use itertools::Itertools;

use tinyllama_analysis::regression::{FigureOutcome, RegressionVerdict};
use tinyllama_report::junit::{CaseOutcome, TestCase, document};

/// Writes `outcomes` to `path`. An inconclusive outcome is skipped, or failed if `strict`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, outcomes: &[FigureOutcome], strict: bool) -> io::Result<()> {
    let targets = outcomes.iter().map(|outcome| &*outcome.target).unique();
    let suites = targets.map(|target| {
        let cases = outcomes.iter().filter(|outcome| *outcome.target == *target);
        (target, cases.map(|outcome| case(outcome, strict)).collect())
    });
    let suites: Vec<(&str, Vec<TestCase>)> = suites.collect();
    std::fs::write(path, document("tinyllama-tutor regress", &suites))
}

fn case(outcome: &FigureOutcome, strict: bool) -> TestCase {
    let message = || outcome.message.clone();
    TestCase {
        class: None,
        name: outcome.figure.name().to_owned(),
        outcome: match outcome.verdict {
            RegressionVerdict::Passed => CaseOutcome::Passed,
            RegressionVerdict::Inconclusive if !strict => CaseOutcome::Skipped(message()),
            RegressionVerdict::NotCompared => CaseOutcome::Skipped(message()),
            RegressionVerdict::Regression | RegressionVerdict::Inconclusive => {
                CaseOutcome::Failed(message())
            }
        },
    }
}
