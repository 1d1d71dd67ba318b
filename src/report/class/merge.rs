//! From many reports to one.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{
    CheckRow, ClassReport, DeviceRow, FORMAT, LearnerRow, LessonRow, Middle, PredictionRow,
    WrongAnswerRow,
};
use super::sources::HandIn;
use crate::base::statistics::Series;
use crate::lesson::{Course, Verdict};
use crate::report::collect::now;
use crate::report::document::{LessonReport, Report, RunReport, StepReport};

/// Puts hand-ins together. Of a learner who handed in twice the one with more records counts.
pub fn merge(hand_ins: Vec<HandIn>, course: &Course, mut warnings: Vec<String>) -> ClassReport {
    let hand_ins = newest_of_each(hand_ins, &mut warnings);
    for hand_in in &hand_ins {
        let name = hand_in
            .report
            .learner
            .as_deref()
            .unwrap_or("an anonymous hand-in");
        warnings.extend(
            hand_in
                .problems
                .iter()
                .map(|problem| format!("{name}: {problem}")),
        );
    }
    let reports: Vec<&Report> = hand_ins.iter().map(|hand_in| &hand_in.report).collect();
    ClassReport {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").into(),
        written: now(),
        learners: hand_ins
            .iter()
            .zip(1..)
            .map(|(hand_in, number)| learner(hand_in, number))
            .collect(),
        lessons: lessons(&reports, course),
        checks: checks(&reports),
        wrong_answers: wrong_answers(&reports),
        predictions: predictions(&reports),
        devices: devices(&reports),
        warnings,
    }
}

fn newest_of_each(hand_ins: Vec<HandIn>, warnings: &mut Vec<String>) -> Vec<HandIn> {
    let mut named: BTreeMap<String, HandIn> = BTreeMap::new();
    let mut anonymous = Vec::new();
    for hand_in in hand_ins {
        let Some(name) = hand_in.report.learner.clone() else {
            anonymous.push(hand_in);
            continue;
        };
        match named.get(&name) {
            Some(known) => {
                warnings.push(format!(
                    "{name} handed in more than once; the longest record counts."
                ));
                if hand_in.report.chain.records > known.report.chain.records {
                    named.insert(name, hand_in);
                }
            }
            None => drop(named.insert(name, hand_in)),
        }
    }
    named.into_values().chain(anonymous).collect()
}

fn learner(hand_in: &HandIn, number: usize) -> LearnerRow {
    let report = &hand_in.report;
    let devices: Vec<&str> = report
        .devices
        .iter()
        .filter(|device| !device.recording)
        .map(|device| device.name.as_str())
        .collect();
    LearnerRow {
        name: report
            .learner
            .clone()
            .unwrap_or_else(|| format!("learner {number}")),
        steps_finished: report.totals.steps_finished,
        steps: report.totals.steps,
        lessons_finished: report.totals.lessons_finished,
        minutes: report.totals.minutes,
        attempts: report.totals.attempts,
        hints: report.totals.hints,
        runs: report.runs.len(),
        last: report.session.last.clone(),
        device: (!devices.is_empty()).then(|| devices.join(", ")),
        intact: hand_in.intact,
    }
}

/// None without numbers; those that are not finite and above zero do not count.
fn middle(values: impl IntoIterator<Item = f64>) -> Option<Middle> {
    let usable = values
        .into_iter()
        .filter(|value| value.is_finite() && *value > 0.0);
    let series = Series::new(usable.collect()).ok()?;
    Some(Middle {
        count: series.values().len(),
        median: series.median(),
        p10: series.quantile(0.1),
        p90: series.quantile(0.9),
    })
}

fn lessons(reports: &[&Report], course: &Course) -> Vec<LessonRow> {
    let of = |id: &str| -> Vec<&LessonReport> {
        let all = reports.iter().flat_map(|report| &report.lessons);
        all.filter(|lesson| lesson.id == id).collect()
    };
    let row = |id: &str, title: &str, planned_minutes: Option<u32>| {
        let begun = of(id);
        let finished = || begun.iter().filter(|lesson| lesson.is_finished());
        LessonRow {
            id: id.into(),
            title: title.into(),
            planned_minutes,
            begun: begun.len(),
            finished: finished().count(),
            minutes: middle(finished().map(|lesson| lesson.minutes)),
            hints: begun.iter().map(|lesson| lesson.hints).sum(),
            attempts: begun.iter().map(|lesson| lesson.attempts).sum(),
        }
    };
    let known = course
        .lessons()
        .map(|lesson| row(&lesson.id, &lesson.title, Some(lesson.minutes)));
    let other: BTreeSet<&str> = reports
        .iter()
        .flat_map(|report| &report.lessons)
        .map(|lesson| lesson.id.as_str())
        .filter(|id| course.lesson(id).is_none())
        .collect();
    known
        .chain(other.into_iter().map(|id| row(id, id, None)))
        .collect()
}

/// Every step of every learner, with its lesson.
fn steps<'a>(reports: &'a [&Report]) -> impl Iterator<Item = (&'a LessonReport, &'a StepReport)> {
    let lessons = reports.iter().flat_map(|report| &report.lessons);
    lessons.flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)))
}

fn checks(reports: &[&Report]) -> Vec<CheckRow> {
    let mut rows: BTreeMap<(&str, &str, &str), CheckRow> = BTreeMap::new();
    for (lesson, step) in steps(reports) {
        for check in step
            .checks
            .iter()
            .filter(|check| check.verdict != Verdict::NotEvaluated)
        {
            let row = rows
                .entry((&lesson.id, &step.id, &check.id))
                .or_insert_with(|| CheckRow {
                    lesson: lesson.id.clone(),
                    step: step.id.clone(),
                    check: check.id.clone(),
                    learners: 0,
                    missed_by: 0,
                    misses: 0,
                    passed: 0,
                });
            row.learners += 1;
            row.missed_by += usize::from(check.missed > 0);
            row.misses += check.missed;
            row.passed += usize::from(check.verdict == Verdict::Passed);
        }
    }
    let mut rows: Vec<CheckRow> = rows.into_values().collect();
    rows.sort_by_key(|row| {
        std::cmp::Reverse((row.missed_by, row.misses, row.learners - row.passed))
    });
    rows
}

fn wrong_answers(reports: &[&Report]) -> Vec<WrongAnswerRow> {
    let mut asked: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut rows: BTreeMap<(&str, &str, &str), WrongAnswerRow> = BTreeMap::new();
    for (lesson, step) in steps(reports).filter(|(_, step)| !step.answers.is_empty()) {
        *asked.entry((&lesson.id, &step.id)).or_default() += 1;
        let wrong: BTreeSet<&str> = step
            .answers
            .iter()
            .filter(|given| !given.correct)
            .map(|given| given.text.as_str())
            .collect();
        for answer in wrong {
            let row = rows
                .entry((&lesson.id, &step.id, answer))
                .or_insert_with(|| WrongAnswerRow {
                    lesson: lesson.id.clone(),
                    step: step.id.clone(),
                    title: step.title.clone(),
                    answer: answer.into(),
                    learners: 0,
                    of: 0,
                });
            row.learners += 1;
        }
    }
    let mut rows: Vec<WrongAnswerRow> = rows
        .into_values()
        .map(|row| WrongAnswerRow {
            of: asked
                .get(&(row.lesson.as_str(), row.step.as_str()))
                .copied()
                .unwrap_or(row.learners),
            ..row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.learners));
    rows
}

fn predictions(reports: &[&Report]) -> Vec<PredictionRow> {
    let mut ratios: BTreeMap<(&str, &str), (&str, Vec<f64>)> = BTreeMap::new();
    for guess in reports.iter().flat_map(|report| &report.predictions) {
        let entry = ratios
            .entry((&guess.lesson, &guess.step))
            .or_insert_with(|| (&guess.title, Vec::new()));
        entry.1.extend(guess.ratio);
    }
    let rows = ratios
        .into_iter()
        .filter_map(|((lesson, step), (title, ratios))| {
            Some(PredictionRow {
                lesson: lesson.into(),
                step: step.into(),
                title: title.into(),
                ratio: middle(ratios)?,
            })
        });
    rows.collect()
}

/// What makes the runs of different learners comparable: device, backend, target, model, precision, origin.
type Circumstances = (String, String, String, String, String, bool);

fn devices(reports: &[&Report]) -> Vec<DeviceRow> {
    let mut groups: BTreeMap<Circumstances, Vec<&RunReport>> = BTreeMap::new();
    for report in reports {
        // The newest run of each kind: `runs` is in the order of time.
        let mut own: BTreeMap<Circumstances, &RunReport> = BTreeMap::new();
        for run in report
            .runs
            .iter()
            .filter(|run| run.complete && run.step_time.is_some())
        {
            if let Some(circumstances) = circumstances(run, report) {
                own.insert(circumstances, run);
            }
        }
        for (circumstances, run) in own {
            groups.entry(circumstances).or_default().push(run);
        }
    }
    let rows = groups.into_iter().filter_map(|(circumstances, runs)| {
        let (device, backend, model, dtype, target, recording) = circumstances;
        let times = runs.iter().filter_map(|run| Some(run.step_time?.median));
        let speedups = runs
            .iter()
            .filter_map(|run| Some(run.ratio.as_ref()?.speedup));
        Some(DeviceRow {
            device,
            backend,
            target,
            model,
            dtype,
            recording,
            learners: runs.len(),
            step_ms: middle(times)?,
            speedup: middle(speedups),
        })
    });
    rows.collect()
}

fn circumstances(run: &RunReport, report: &Report) -> Option<Circumstances> {
    let device = report.devices.get(run.device?)?;
    let config = run.config?;
    let model = format!(
        "{} x {}, ffn {}, {}/{} heads, vocabulary {}, {} x {} tokens",
        config.layers,
        config.hidden,
        config.ffn,
        config.heads,
        config.kv_heads,
        config.vocabulary,
        config.batch_size,
        config.sequence_length
    );
    Some((
        device.name.clone(),
        device.backend.clone(),
        model,
        run.dtype.clone().unwrap_or_default(),
        run.target.clone(),
        run.recording.is_some(),
    ))
}
