//! Writes checks and their results as JUnit XML, which continuous integration shows.

use std::fmt::Write;

use tinyllama_base::{HtmlWriter, plain};

use crate::{CheckReport, Report};
use tinyllama_lesson::Verdict;

/// The result of a test case, and its reason.
#[derive(Clone, Debug)]
pub enum CaseOutcome {
    Passed,
    Skipped(String),
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct TestCase {
    /// Groups the cases of a suite.
    pub class: Option<String>,
    pub name: String,
    pub outcome: CaseOutcome,
}

/// Renders one suite per lesson and one case per check. A missed check fails if it is required. An undecided, optional or
/// unevaluated check counts as skipped.
pub fn render(report: &Report) -> String {
    let suites = report.lessons.iter().map(|lesson| {
        let checks = lesson.steps.iter().flat_map(|step| {
            step.checks.iter().map(|check| TestCase {
                class: Some(format!("{}.{}", lesson.id, step.id)),
                name: check.id.clone(),
                outcome: outcome(check),
            })
        });
        (lesson.id.as_str(), checks.collect())
    });
    let suites: Vec<(&str, Vec<TestCase>)> = suites.collect();
    document("tinyllama-tutor", &suites)
}

fn outcome(check: &CheckReport) -> CaseOutcome {
    let message = || format!("{}: {}", check.verdict.name(), check.explanation);
    match check.verdict {
        Verdict::Passed => CaseOutcome::Passed,
        Verdict::NotYet if check.required => CaseOutcome::Failed(message()),
        _ => CaseOutcome::Skipped(message()),
    }
}

/// Renders the document. Suites without cases are left out.
pub fn document(name: &str, suites: &[(&str, Vec<TestCase>)]) -> String {
    let cases = suites.iter().flat_map(|(_, cases)| cases);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
        attribute(name),
        counts(cases)
    );
    for (name, cases) in suites.iter().filter(|(_, cases)| !cases.is_empty()) {
        let (name, counts) = (attribute(name), counts(cases.iter()));
        let _ = writeln!(xml, "    <testsuite name=\"{name}\" {counts}>");
        for case in cases {
            push_case(&mut xml, case);
        }
        xml.push_str("    </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn counts<'a>(cases: impl Iterator<Item = &'a TestCase>) -> String {
    let (mut tests, mut skipped, mut failures) = (0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Skipped(_) => skipped += 1,
            CaseOutcome::Failed(_) => failures += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
}

fn push_case(xml: &mut String, case: &TestCase) {
    let _ = write!(xml, "        <testcase name=\"{}\"", attribute(&case.name));
    if let Some(class) = &case.class {
        let _ = write!(xml, " classname=\"{}\"", attribute(class));
    }
    let (element, message) = match &case.outcome {
        CaseOutcome::Passed => return xml.push_str("/>\n"),
        CaseOutcome::Skipped(message) => ("skipped", message),
        CaseOutcome::Failed(message) => ("failure", message),
    };
    let message = attribute(message);
    let _ = writeln!(
        xml,
        ">\n            <{element} message=\"{message}\"/>\n        </testcase>"
    );
}

/// Escapes text for double quotes. Characters that XML cannot contain are removed.
fn attribute(text: &str) -> String {
    let text = plain(text).replace(['\u{fffe}', '\u{ffff}'], "");
    HtmlWriter(&text).to_string()
}
