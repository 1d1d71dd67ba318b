//! Outcomes as JUnit XML, which continuous integration shows.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::Result;
use itertools::Itertools;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use tinyllama_course::analysis::regression::{Outcome, Verdict};

/// One suite a target, one case a figure. What cannot be told is skipped, or failed when `strict`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, outcomes: &[Outcome], strict: bool) -> Result<()> {
    let mut report = Report::new("tinyllama-tutor regress");
    for target in outcomes.iter().map(|outcome| &outcome.target).unique() {
        let mut suite = TestSuite::new(target);
        let cases = outcomes.iter().filter(|outcome| outcome.target == *target);
        let case = |it: &Outcome| TestCase::new(it.figure.name(), status(it, strict));
        suite.add_test_cases(cases.map(case));
        report.add_test_suite(suite);
    }
    report.serialize(BufWriter::new(File::create(path)?))?;
    Ok(())
}

fn status(outcome: &Outcome, strict: bool) -> TestCaseStatus {
    let mut status = match outcome.verdict {
        Verdict::Passed => return TestCaseStatus::success(),
        Verdict::Inconclusive if !strict => TestCaseStatus::skipped(),
        Verdict::NotCompared => TestCaseStatus::skipped(),
        Verdict::Regression | Verdict::Inconclusive => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
    };
    status.set_message(outcome.message.clone());
    status
}
