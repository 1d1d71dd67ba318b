//! Progress, attempts, answers and checks, lesson by lesson.

use std::collections::BTreeMap;

use crate::document::CommandReport;
use crate::{AnswerReport, CaseReport, CheckReport, LessonReport, StepReport};
use tinyllama_base::same_number;
use tinyllama_lesson::{Check, CommandOutputs, Course, Expect, Lesson, Step};
use tinyllama_session::case::suspicions;
use tinyllama_session::progress::progress;
use tinyllama_session::{
    AnswerGiven, CheckResult, LessonProgress, MeasuredRuns, SessionState, Standing, StepProgress,
    StepRef, StepStatus,
};

/// Explanation of a check that the course no longer has.
const GONE: &str = "This check is no longer in the course.";

/// Collects every lesson that was begun: first those of the course in its order, then those that it no longer has.
pub fn collect(state: &SessionState, course: &Course, runs: &MeasuredRuns) -> Vec<LessonReport> {
    let begun = |lesson: &&Lesson| state.lessons.contains_key(&lesson.id);
    let known = course
        .lessons()
        .filter(begun)
        .map(|lesson| of_course(state, course, lesson, runs));
    let gone = state
        .lessons
        .iter()
        .filter(|(id, _)| course.lesson(id).is_none())
        .map(|(id, steps)| no_longer(id, steps));
    known.chain(gone).collect()
}

fn of_course(
    state: &SessionState,
    course: &Course,
    lesson: &Lesson,
    runs: &MeasuredRuns,
) -> LessonReport {
    let steps = lesson.steps.iter().filter_map(|step| {
        let done = state.step(&lesson.id, &step.id)?;
        let report = step_report(&step.id, Some(step), done, runs);
        Some(StepReport {
            case: case_report(state, lesson, step, done),
            command: command_report(state, lesson, step, done, runs),
            ..report
        })
    });
    let session = course.session(&lesson.session);
    let title = [&*lesson.id, &lesson.title];
    LessonReport {
        session: session.map(|session| session.title.clone()),
        planned_minutes: Some(lesson.minutes),
        opened_early: state.opened_early.contains(&lesson.id),
        ..lesson_report(title, progress(state, lesson), steps.collect())
    }
}

fn no_longer(id: &str, steps: &BTreeMap<String, StepProgress>) -> LessonReport {
    let sum = LessonProgress::count(steps.values(), steps.len());
    let runs = MeasuredRuns::default();
    let reports = steps.iter();
    let reports = reports.map(|(id, done)| step_report(id, None, done, &runs));
    lesson_report([id, id], sum, reports.collect())
}

/// Builds a lesson's report without the parts that only the course knows.
fn lesson_report(
    [id, title]: [&str; 2],
    sum: LessonProgress,
    steps: Vec<StepReport>,
) -> LessonReport {
    LessonReport {
        id: id.into(),
        title: title.into(),
        session: None,
        planned_minutes: None,
        minutes: sum.minutes,
        finished: sum.finished,
        of: sum.count,
        skipped: sum.skipped,
        attempts: sum.attempts,
        hints: sum.hints,
        opened_early: false,
        steps,
    }
}

fn step_report(
    id: &str,
    step: Option<&Step>,
    done: &StepProgress,
    runs: &MeasuredRuns,
) -> StepReport {
    let (status, remark) = match (&done.status, &done.solved_by) {
        (StepStatus::Done, Some(by)) => ("solved", Some(format!("by {by}"))),
        (StepStatus::Done, None) => ("done", None),
        (StepStatus::Skipped(note), _) => ("skipped", Some(note.clone())),
        (StepStatus::Open, _) => ("open", None),
    };
    StepReport {
        id: id.into(),
        title: step.map_or(id, |step| &step.title).into(),
        status: status.into(),
        remark,
        minutes: done.seconds / 60.0,
        attempts: done.attempts,
        hints: done.hints.len(),
        hints_of: step.map_or(0, |step| step.hints.len()),
        answers: done
            .answers
            .iter()
            .map(|answer| answer_report(step, answer))
            .collect(),
        marked: marked(&done.answers),
        case: None,
        command: None,
        checks: match step {
            Some(step) => {
                let checks = step.checks.iter();
                let checks = checks.map(|check| check_report(check, done, runs));
                let expects = step
                    .expects()
                    .iter()
                    .map(|expect| expect_report(expect, done, runs));
                checks.chain(expects).collect()
            }
            None => done
                .checks
                .iter()
                .map(|(id, result)| reported(id, false, Some(result), GONE.into()))
                .collect(),
        },
        reflection: done.reflection.clone().filter(|text| !text.is_empty()),
        runs: done.runs.clone(),
    }
}

/// A question counts once. Answers after the right one change nothing.
fn marked(answers: &[AnswerGiven]) -> Option<String> {
    let right = answers.iter().position(|answer| answer.correct);
    (!answers.is_empty()).then(|| match right {
        Some(0) => "first try".into(),
        Some(_) => "later".into(),
        None => "not yet".into(),
    })
}

fn case_report(
    state: &SessionState,
    lesson: &Lesson,
    step: &Step,
    done: &StepProgress,
) -> Option<CaseReport> {
    let case = step.as_case()?;
    let standing = Standing::from_progress(case, done, state);
    let at = StepRef::new(&lesson.id, &step.id);
    let fixes = standing
        .fixed
        .iter()
        .filter_map(|index| case.suspects.get(*index));
    Some(CaseReport {
        suspicions: suspicions(case, state, &at),
        measurements: standing.measurements,
        fixes: fixes.map(|suspect| suspect.fix.clone()).collect(),
        solved: standing.is_solved(case),
    })
}

fn command_report(
    state: &SessionState,
    lesson: &Lesson,
    step: &Step,
    done: &StepProgress,
    runs: &MeasuredRuns,
) -> Option<CommandReport> {
    step.as_command()?;
    let runs_of = done.runs.iter().rev();
    let (id, run) = runs_of
        .filter_map(|id| Some((id, state.runs.get(id)?)))
        .find(|(_, run)| run.exit.is_some_and(|exit| exit.is_success()))?;
    let argv = run.command.iter().map(String::as_str);
    Some(CommandReport {
        run: id.clone(),
        command: shlex::try_join(argv).unwrap_or_default(),
        recording: run.recording.clone(),
        document: runs
            .document(&StepRef::parse(&step.id, &lesson.id))
            .cloned(),
        sha256: run.sha256.clone(),
    })
}

fn expect_report(expect: &Expect, done: &StepProgress, runs: &MeasuredRuns) -> CheckReport {
    let explanation = |result: &CheckResult| {
        let again = expect.evaluate(runs);
        (again.verdict == result.verdict).then(|| expect.explain(&again))
    };
    let asked = format!("Asked for: {}.", expect.bounds());
    let result = done.checks.get(&expect.id);
    let explanation = result.and_then(explanation).unwrap_or(asked);
    reported(&expect.id, expect.required, result, explanation)
}

fn reported(
    id: &str,
    required: bool,
    result: Option<&CheckResult>,
    explanation: String,
) -> CheckReport {
    let result = result.cloned().unwrap_or_default();
    CheckReport {
        id: id.into(),
        verdict: result.verdict,
        required,
        missed: result.missed,
        value: result.value,
        explanation,
    }
}

fn answer_report(step: Option<&Step>, given: &AnswerGiven) -> AnswerReport {
    AnswerReport {
        answer: given.answer,
        text: answer_text(step, given.answer),
        correct: given.correct,
    }
}

/// Formats an answer in the words of its quiz.
pub fn answer_text(step: Option<&Step>, answer: f64) -> String {
    match step {
        Some(step) => step.answer_text(answer),
        None => answer.to_string(),
    }
}

fn check_report(check: &Check, done: &StepProgress, runs: &MeasuredRuns) -> CheckReport {
    // The explanation belongs to the recorded verdict. Later runs may have changed what the files give.
    let explanation = |result: &CheckResult| {
        let again = check.evaluate(runs);
        match again.verdict == result.verdict && same_value(again.value, result.value) {
            true => again.explain(check),
            false => in_short(check, result),
        }
    };
    let asked = || {
        format!(
            "{}. Asked for: {}.",
            check.measure.in_a_sentence(),
            check.bounds()
        )
    };
    let result = done.checks.get(&check.id);
    let explanation = result.map_or_else(asked, explanation);
    reported(&check.id, check.required, result, explanation)
}

/// Compares a measured value with its recorded copy. Writing and reading may change the last digit.
fn same_value(again: Option<f64>, recorded: Option<f64>) -> bool {
    match (again, recorded) {
        (Some(again), Some(recorded)) => same_number(again, recorded),
        (again, recorded) => again == recorded,
    }
}

fn in_short(check: &Check, result: &CheckResult) -> String {
    let value = match result.value {
        Some(value) => check.measure.unit().show(value),
        None => "not measured".into(),
    };
    let (measure, bounds) = (check.measure.in_a_sentence(), check.bounds());
    format!("{measure}: {value}. Asked for: {bounds}.")
}
