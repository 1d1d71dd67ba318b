//! Results as JUnit XML, which continuous integration shows: one suite per target, one case per figure.

use std::fmt::Write;
use std::io;
use std::path::Path;

use itertools::Itertools;

use tinyllama_analysis::regression::{FigureOutcome, RegressionVerdict};
use tinyllama_base::{HtmlWriter, plain};

/// The result of a test case, and its reason.
enum CaseOutcome {
    Passed,
    Skipped(String),
    Failed(String),
}

struct TestCase {
    name: String,
    outcome: CaseOutcome,
}

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

fn document(name: &str, suites: &[(&str, Vec<TestCase>)]) -> String {
    let cases = suites.iter().flat_map(|(_, cases)| cases);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
        attribute(name),
        counts(cases)
    );
    for (name, cases) in suites {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_messages_cannot_leave_their_quotes() {
        let case = |name: &str, outcome| TestCase {
            name: name.to_owned(),
            outcome,
        };
        let bad = CaseOutcome::Failed("a<b & \"c\"\u{1b}[1m\u{ffff}".to_owned());
        let cases = vec![case("fine", CaseOutcome::Passed), case("\"x\"", bad)];
        let xml = document("all", &[("one", cases)]);
        for part in [
            "<testsuites name=\"all\" tests=\"2\" failures=\"1\"",
            "<testcase name=\"&quot;x&quot;\">",
            "message=\"a&lt;b &amp; &quot;c&quot;^[[1m\"/>",
        ] {
            assert!(xml.contains(part), "no {part} in\n{xml}");
        }
    }
}
