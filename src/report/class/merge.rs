//! Merges many reports into one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use super::document::{
    DeviceRow, FORMAT, LearnerRow, LessonRow, Middle, PredictionRow, WrongAnswerRow,
};
use super::sources::{HandIn, IdentityMark};
use crate::{CheckRow, ClassReport, LessonReport, Report, RunReport, StepReport, some_of};
use tinyllama_base::{Series, now, plural};
use tinyllama_lesson::{Course, Verdict};

/// Merges hand-ins. If a session was handed in more than once, the one with more records counts.
pub fn merge(hand_ins: Vec<HandIn>, course: &Course, mut warnings: Vec<String>) -> ClassReport {
    let hand_ins = named(longest_of_each(hand_ins, &mut warnings), &mut warnings);
    for (name, hand_in) in &hand_ins {
        let about = |problem: &String| format!("{name}: {problem}");
        warnings.extend(hand_in.problems.iter().map(about));
        let unchecked = hand_in.unchecked.iter();
        warnings.extend(unchecked.map(|what| format!("{name}: not checked: {what}")));
    }
    warnings.extend(copies(&hand_ins));
    let reports: Vec<&Report> = hand_ins
        .iter()
        .map(|(_, hand_in)| &hand_in.report)
        .collect();
    ClassReport {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").into(),
        written: now(),
        learners: hand_ins
            .iter()
            .map(|(name, hand_in)| learner(name, hand_in))
            .collect(),
        lessons: lessons(&reports, course),
        checks: checks(&reports),
        wrong_answers: wrong_answers(&reports),
        predictions: predictions(&reports),
        devices: devices(&reports),
        warnings,
    }
}

/// Keeps the longest hand-in of each session. Records identify a session, not the name in them. Two folders of a class are
/// two learners, even if one holds a copy of the other's records.
fn longest_of_each(hand_ins: Vec<HandIn>, warnings: &mut Vec<String>) -> Vec<HandIn> {
    let mut kept: Vec<HandIn> = Vec::new();
    for mut hand_in in hand_ins {
        let known = kept
            .iter_mut()
            .find(|known| is_of_same_session(known, &hand_in));
        let Some(known) = known else {
            kept.push(hand_in);
            continue;
        };
        if known.folder.is_some() && hand_in.folder.is_some() {
            warnings.push(format!(
                "{} and {} hold the same records: one is a copy.",
                called(known),
                called(&hand_in)
            ));
            kept.push(hand_in);
            continue;
        }
        let name = match hand_in.report.learner.is_some() {
            true => called(known),
            false => "somebody".into(),
        };
        warnings.push(format!(
            "{name} handed in more than once; the longest record counts."
        ));
        if hand_in.report.chain.records > known.report.chain.records
            && hand_in.report.learner.is_some()
        {
            hand_in.folder = hand_in.folder.or(known.folder.take());
            std::mem::swap(known, &mut hand_in);
        } else {
            known.folder = known.folder.take().or(hand_in.folder.take());
        }
        // The shorter hand-in has to be the beginning of the longer one.
        let (longer, shorter) = (&*known, &hand_in);
        let last = shorter.chain.hashes.last();
        if last.is_some_and(|last| !longer.chain.hashes.contains(last)) {
            warnings.push(format!(
                "{name}: the hand-ins start the same and then differ."
            ));
        }
    }
    kept
}

/// Finds hand-ins that share marks which no two sessions can share. Returns one sentence for each group.
fn copies(hand_ins: &[(String, HandIn)]) -> Vec<String> {
    let mut holders: BTreeMap<&IdentityMark, Vec<usize>> = BTreeMap::new();
    for (index, (_, hand_in)) in hand_ins.iter().enumerate() {
        for mark in &hand_in.chain.marks {
            holders.entry(mark).or_default().push(index);
        }
    }
    holders.retain(|_, holders| holders.len() > 1);
    let mut groups: Vec<(BTreeSet<usize>, Vec<&IdentityMark>)> = Vec::new();
    for (mark, holders) in holders {
        let mut group = (BTreeSet::from_iter(holders), vec![mark]);
        let is_apart = |(others, _): &(BTreeSet<usize>, _)| others.is_disjoint(&group.0);
        let (apart, joined): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_apart);
        groups = apart;
        for (others, marks) in joined {
            group.0.extend(others);
            group.1.extend(marks);
        }
        groups.push(group);
    }
    let sentence = |(holders, marks): (BTreeSet<usize>, Vec<&IdentityMark>)| {
        let names: Vec<&str> = holders
            .iter()
            .map(|index| hand_ins[*index].0.as_str())
            .collect();
        let count = |is: fn(&IdentityMark) -> bool| marks.iter().filter(|mark| is(mark)).count();
        let shared = [
            (
                count(|mark| matches!(mark, IdentityMark::Session(_))),
                "session",
            ),
            (count(|mark| matches!(mark, IdentityMark::Run(_))), "run"),
            (
                count(|mark| matches!(mark, IdentityMark::Stream(_))),
                "stream of a run",
            ),
        ];
        let shared = shared.into_iter().filter(|(count, _)| *count > 0);
        let shared = shared.map(|(count, what)| match what {
            "stream of a run" if count > 1 => format!("{count} streams of runs"),
            what => plural(count, what),
        });
        format!(
            "{} are not the work of different people: they have {} in common, regardless of their names.",
            some_of(&names),
            shared.collect::<Vec<_>>().join(", ")
        )
    };
    groups.into_iter().map(sentence).collect()
}

fn is_of_same_session(a: &HandIn, b: &HandIn) -> bool {
    let last = |hand_in: &HandIn| hand_in.report.chain.last_hash.clone();
    match (a.chain.hashes.first(), b.chain.hashes.first()) {
        (Some(first), Some(other)) => first == other,
        (Some(_), None) => a.chain.hashes.contains(&last(b)),
        (None, Some(_)) => b.chain.hashes.contains(&last(a)),
        (None, None) => last(a) == last(b),
    }
}

fn called(hand_in: &HandIn) -> String {
    let recorded = hand_in.report.learner.as_deref();
    hand_in
        .folder
        .as_deref()
        .or(recorded)
        .unwrap_or("an anonymous hand-in")
        .to_string()
}

/// Sorts hand-ins by name and gives each a unique one.
fn named(hand_ins: Vec<HandIn>, warnings: &mut Vec<String>) -> Vec<(String, HandIn)> {
    let (mut known, anonymous): (Vec<HandIn>, Vec<HandIn>) = hand_ins
        .into_iter()
        .partition(|hand_in| hand_in.folder.is_some() || hand_in.report.learner.is_some());
    // Folders come first, because their names are already unique.
    known.sort_by_key(|hand_in| (called(hand_in), hand_in.folder.is_none()));
    let mut named: Vec<(String, HandIn)> = Vec::new();
    for hand_in in known {
        let name = called(&hand_in);
        if let (Some(folder), Some(recorded)) = (&hand_in.folder, &hand_in.report.learner)
            && folder != recorded
        {
            warnings.push(format!(
                "{folder}: the records in this folder say that they are {recorded}'s."
            ));
        }
        let count = named
            .iter()
            .filter(|(_, other)| called(other) == name)
            .count();
        if count == 1 {
            warnings.push(format!(
                "Different sessions carry the name {name}; each is listed."
            ));
        }
        let name = match count {
            0 => name,
            count => format!("{name} ({})", count + 1),
        };
        named.push((name, hand_in));
    }
    for hand_in in anonymous {
        named.push((format!("learner {}", named.len() + 1), hand_in));
    }
    named
}

fn learner(name: &str, hand_in: &HandIn) -> LearnerRow {
    let report = &hand_in.report;
    let devices: Vec<&str> = report
        .devices
        .iter()
        .filter(|device| !device.recording)
        .map(|device| device.name.as_str())
        .collect();
    LearnerRow {
        name: name.into(),
        steps_finished: report.totals.steps_finished,
        steps_skipped: report.lessons.iter().map(|lesson| lesson.skipped).sum(),
        steps: report.totals.steps,
        lessons_finished: report.totals.lessons_finished,
        minutes: report.totals.minutes,
        attempts: report.totals.attempts,
        hints: report.totals.hints,
        runs: report.runs.len(),
        last: report.session.last.clone(),
        device: (!devices.is_empty()).then(|| devices.join(", ")),
        consistent: hand_in.consistent,
        unchecked: hand_in.unchecked.clone(),
    }
}

/// Returns `None` without numbers. Numbers that are not finite and above zero do not count.
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
    reports.iter().flat_map(|report| report.steps())
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
                    ..CheckRow::default()
                });
            row.learners += 1;
            row.missed_by += usize::from(check.missed > 0);
            row.misses += check.missed;
            row.passed += usize::from(check.verdict == Verdict::Passed);
        }
    }
    let worst = |row: &CheckRow| Reverse((row.missed_by, row.misses, row.learners - row.passed));
    rows.into_values().sorted_by_key(worst).collect()
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
    let rows = rows
        .into_iter()
        .map(|((lesson, step, _), row)| WrongAnswerRow {
            of: asked[&(lesson, step)],
            ..row
        });
    rows.sorted_by_key(|row| Reverse(row.learners)).collect()
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

/// Runs of different learners are comparable if these agree: device, backend, target, model, precision, origin.
type Circumstances = (String, String, String, String, String, bool);

fn devices(reports: &[&Report]) -> Vec<DeviceRow> {
    let mut groups: BTreeMap<Circumstances, Vec<&RunReport>> = BTreeMap::new();
    for report in reports {
        // `runs` is in the order of time, so this keeps the newest run of each kind.
        let timed = report.runs.iter();
        let timed = timed.filter(|run| run.complete && run.step_time.is_some());
        let own: BTreeMap<Circumstances, &RunReport> = timed
            .filter_map(|run| Some((circumstances(run, report)?, run)))
            .collect();
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
