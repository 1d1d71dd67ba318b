//! The checks as JUnit XML: one suite a lesson, one case a check.

use quick_junit::{
    NonSuccessKind, Report as JUnit, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use crate::lesson::Verdict;
use crate::report::{CheckReport, Report};

/// A check that is not met fails where it is required; one that is undecided, optional or not evaluated counts as skipped.
///
/// # Errors
/// When the XML cannot be written.
pub fn render(report: &Report) -> Result<String, SerializeError> {
    let mut junit = JUnit::new("tinyllama-tutor");
    for lesson in &report.lessons {
        let mut suite = TestSuite::new(lesson.id.as_str());
        for step in &lesson.steps {
            suite.add_test_cases(step.checks.iter().map(|check| {
                let mut case = TestCase::new(check.id.as_str(), status(check));
                case.set_classname(format!("{}.{}", lesson.id, step.id));
                case
            }));
        }
        if !suite.test_cases.is_empty() {
            junit.add_test_suite(suite);
        }
    }
    junit.to_string()
}

fn status(check: &CheckReport) -> TestCaseStatus {
    let mut status = match check.verdict {
        Verdict::Passed => return TestCaseStatus::success(),
        Verdict::NotYet if check.required => TestCaseStatus::non_success(NonSuccessKind::Failure),
        _ => TestCaseStatus::skipped(),
    };
    status.set_message(format!("{}: {}", check.verdict.name(), check.explanation));
    status
}
