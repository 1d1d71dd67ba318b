//! The sections of one learner's report.

use super::charts::{self, Bar, Point, Range};
use super::markup::{Cell, Text, section, table};
use super::{Limits, Page, page};
use crate::analysis::Metric;
use crate::report::document::{Report, RunReport, Work};
use crate::report::words::{self, NOT_REPORTED, milliseconds, moment, plural, times};

const CONTENTS: [(&str, &str); 11] = [
    ("summary", "Summary"),
    ("progress", "Progress"),
    ("predictions", "Predictions"),
    ("runs", "Runs"),
    ("stages", "Debugging stages"),
    ("work", "Work and roofline"),
    ("profiles", "Profiles"),
    ("checks", "Checks"),
    ("answers", "Answers"),
    ("reflections", "Reflections"),
    ("record", "The session's record"),
];

pub fn render(report: &Report, limits: Limits) -> String {
    let who = report.learner.as_deref().unwrap_or("name left out");
    let content = [
        summary(report),
        progress(report),
        predictions(report),
        runs(report, limits),
        stages(report),
        work(report),
        profiles(report),
        checks(report),
        answers(report),
        reflections(report, limits),
        record(report),
    ];
    let subtitle = match &report.course {
        Some(course) => format!("{who}: {} ({})", course.title, course.version),
        None => who.to_string(),
    };
    page(&Page {
        title: "Session report",
        subtitle: &subtitle,
        content: &content.concat(),
        contents: &CONTENTS,
        footer: &format!(
            "Written {} by tinyllama-tutor {}. A figure that a backend cannot report is given as \"not reported\", never as 0.",
            moment(&report.written),
            report.program
        ),
    })
}

fn summary(report: &Report) -> String {
    let (session, totals) = (&report.session, &report.totals);
    let mut facts = vec![
        (
            "Time",
            format!("{} to {}", moment(&session.begun), moment(&session.last)),
        ),
        ("Tutor", session.tutor_versions.join(", ")),
    ];
    if !session.hosts.is_empty() {
        facts.push(("Machine", session.hosts.join(", ")));
    }
    facts.extend(report.devices.iter().map(|device| {
        let text = words::device(device);
        ("Device", text.trim_start_matches("Device: ").to_string())
    }));
    facts.push((
        "Done",
        format!(
            "{} of {} steps, {} of {} lessons",
            totals.steps_finished, totals.steps, totals.lessons_finished, totals.lessons
        ),
    ));
    facts.push((
        "Attention",
        format!(
            "{}; {} planned for the lessons that were begun",
            words::minutes(totals.minutes),
            words::minutes(f64::from(totals.planned_minutes))
        ),
    ));
    facts.push((
        "Tries",
        format!(
            "{}, {}",
            plural(totals.attempts as usize, "attempt"),
            plural(totals.hints, "hint")
        ),
    ));
    let mut out = String::from("<dl class=\"facts\">");
    for (name, value) in facts {
        out.push_str(&format!("<dt>{name}</dt><dd>{}</dd>", Text(&value)));
    }
    out.push_str("</dl>\n");
    if !report.warnings.is_empty() {
        out.push_str("<div class=\"warnings\" role=\"note\"><strong>Read this first</strong><ul>");
        for warning in &report.warnings {
            out.push_str(&format!("<li>{}</li>", Text(warning)));
        }
        out.push_str("</ul></div>\n");
    }
    section("summary", "Summary", &out)
}

fn progress(report: &Report) -> String {
    let bars: Vec<Bar> = report
        .lessons
        .iter()
        .map(|lesson| Bar {
            name: lesson.title.clone(),
            value: lesson.minutes,
            plan: lesson.planned_minutes.map(f64::from),
            text: words::minutes(lesson.minutes),
        })
        .collect();
    let chart = charts::bars(
        "chart-time",
        "Time per lesson",
        "Bars are minutes of attention, dashed outlines what was planned",
        &bars,
    );
    let columns = [
        ("Lesson", Cell::Text),
        ("Session", Cell::Text),
        ("Steps", Cell::Number),
        ("Skipped", Cell::Number),
        ("Time", Cell::Number),
        ("Planned", Cell::Number),
        ("Attempts", Cell::Number),
        ("Hints", Cell::Number),
    ];
    let rows = report.lessons.iter().map(|lesson| {
        vec![
            lesson.title.clone(),
            lesson
                .session
                .clone()
                .unwrap_or_else(|| "no longer in the course".into()),
            format!("{} of {}", lesson.finished, lesson.of),
            lesson.skipped.to_string(),
            words::minutes(lesson.minutes),
            lesson
                .planned_minutes
                .map_or("-".into(), |planned| format!("{planned} min")),
            lesson.attempts.to_string(),
            lesson.hints.to_string(),
        ]
    });
    let remarks = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().filter_map(move |step| {
            let remark = step.remark.as_ref().filter(|remark| !remark.is_empty())?;
            Some(vec![
                lesson.title.clone(),
                step.title.clone(),
                step.status.clone(),
                remark.clone(),
            ])
        })
    });
    let remark_columns = [
        ("Lesson", Cell::Text),
        ("Step", Cell::Text),
        ("Status", Cell::Text),
        ("Remark", Cell::Text),
    ];
    let content = [
        chart,
        table("Lessons that were begun", &columns, rows),
        table(
            "Steps that were skipped or solved by an instructor",
            &remark_columns,
            remarks,
        ),
    ];
    section("progress", "Progress", &content.concat())
}

fn predictions(report: &Report) -> String {
    let columns = [
        ("Question", Cell::Text),
        ("Quantity", Cell::Code),
        ("Predicted", Cell::Number),
        ("Measured", Cell::Number),
        ("Predicted / measured", Cell::Number),
    ];
    let rows = report.predictions.iter().map(|guess| {
        vec![
            guess.title.clone(),
            guess.quantity.clone(),
            guess.predicted_text.clone(),
            guess
                .measured_text
                .clone()
                .unwrap_or_else(|| "not measured yet".into()),
            guess.ratio.map_or("-".into(), times),
        ]
    });
    section(
        "predictions",
        "Predictions",
        &table("Guesses made before measuring", &columns, rows),
    )
}

fn runs(report: &Report, limits: Limits) -> String {
    let from = report.runs.len().saturating_sub(limits.runs);
    let shown = &report.runs[from..];
    if shown.is_empty() {
        return String::new();
    }
    const MOST_CHARTED: usize = 40;
    let ranges: Vec<Range> = shown
        .iter()
        .skip(shown.len().saturating_sub(MOST_CHARTED))
        .filter_map(|run| {
            let time = run.step_time?;
            Some(Range {
                name: match &run.step {
                    Some(step) => format!("{} ({step})", run.target),
                    None => run.target.clone(),
                },
                low: time.p10,
                median: time.median,
                high: time.p90,
                text: milliseconds(Some(time.median)),
            })
        })
        .collect();
    let chart = charts::ranges(
        "chart-steps",
        "Step time of each run",
        "Ticks are medians of the measured steps, bands reach from p10 to p90; on a logarithmic axis",
        &ranges,
    );
    let columns = [
        ("Run", Cell::Code),
        ("Target", Cell::Text),
        ("Exit", Cell::Text),
        ("Step, median", Cell::Number),
        ("p10 to p90", Cell::Number),
        ("Launches", Cell::Number),
        ("Peak memory", Cell::Number),
        ("Speed-up", Cell::Number),
        ("Device", Cell::Text),
    ];
    let rows = shown.iter().map(|run| run_row(run, report));
    let commands = [
        ("Run", Cell::Code),
        ("Command", Cell::Code),
        ("Remarks", Cell::Text),
    ];
    let remarks = shown.iter().map(|run| {
        let recording = run
            .recording
            .iter()
            .map(|machine| format!("Recording of {machine}."));
        let all: Vec<String> = recording
            .chain(run.error.clone())
            .chain(run.warnings.clone())
            .collect();
        vec![run.id.clone(), run.command.clone(), all.join(" ")]
    });
    let left_out = match from {
        0 => String::new(),
        count => format!(
            "<p>{} earlier ones are in the JSON document.</p>\n",
            plural(count, "run")
        ),
    };
    let content = [
        left_out,
        chart,
        table("Every run, oldest first", &columns, rows),
        format!("<p class=\"soft\">{}</p>\n", Text(words::RATIO_NOTE)),
        table("What was started", &commands, remarks),
        loss_curve(shown),
    ];
    section("runs", "Runs", &content.concat())
}

fn run_row(run: &RunReport, report: &Report) -> Vec<String> {
    let device = run.device.and_then(|place| report.devices.get(place));
    vec![
        run.id.clone(),
        run.target.clone(),
        run.exit.clone(),
        milliseconds(run.step_time.map(|time| time.median)),
        run.step_time.map_or_else(
            || NOT_REPORTED.into(),
            |time| {
                format!(
                    "{} to {}",
                    milliseconds(Some(time.p10)),
                    milliseconds(Some(time.p90))
                )
            },
        ),
        words::figure(run, Metric::LaunchesPerStep),
        words::figure(run, Metric::PeakBytesInUse),
        words::ratio(run.ratio.as_ref()),
        device.map_or_else(|| NOT_REPORTED.into(), |device| device.name.clone()),
    ]
}

/// Of the newest run that has one.
fn loss_curve(runs: &[RunReport]) -> String {
    let Some(run) = runs.iter().rev().find(|run| run.samples.loss.len() > 1) else {
        return String::new();
    };
    let values: Vec<f64> = run
        .samples
        .loss
        .iter()
        .map(|loss| loss.unwrap_or(f64::NAN))
        .collect();
    charts::curve(
        "chart-loss",
        &format!("Loss of the newest run, {} ({})", run.target, run.id),
        "In nats, over all steps, warm-up included",
        &values,
    )
}

fn stages(report: &Report) -> String {
    let bars: Vec<Bar> = report
        .stages
        .iter()
        .filter_map(|row| {
            let value = row.step_ms?;
            Some(Bar {
                name: row.stage.clone(),
                value,
                plan: None,
                text: milliseconds(Some(value)),
            })
        })
        .collect();
    let chart = charts::bars(
        "chart-stages",
        "Step time of the stages",
        "Median of the measured steps",
        &bars,
    );
    let columns = words::STAGE_HEAD.map(|name| {
        (
            name,
            if name == "Stage" {
                Cell::Text
            } else {
                Cell::Number
            },
        )
    });
    let rows = report.stages.iter().map(words::stage_row);
    let content = [
        chart,
        table("The newest complete run of each stage", &columns, rows),
    ];
    section("stages", "Debugging stages", &content.concat())
}

fn work(report: &Report) -> String {
    let counted = report
        .runs
        .iter()
        .rev()
        .filter_map(|run| Some((run, run.work.as_ref()?)));
    let parts = counted
        .take(words::MOST_ROOFLINES)
        .enumerate()
        .map(|(place, (run, work))| one_work(place, run, work));
    section("work", "Work and roofline", &parts.collect::<String>())
}

fn one_work(place: usize, run: &RunReport, work: &Work) -> String {
    let points: Vec<Point> = work
        .parts
        .iter()
        .filter_map(|part| {
            Some(Point {
                name: part.part.clone(),
                intensity: part.flops / part.bytes,
                rate: part.flops / (part.device_ms? / 1e3),
            })
        })
        .collect();
    let chart = charts::roofline(
        &format!("chart-roofline-{place}"),
        &format!("Parts of {} on the roofline's axes", run.target),
        "FLOP per byte counted from shapes, FLOP/s over the measured device time; both logarithmic",
        &points,
    );
    let columns = words::WORK_HEAD.map(|name| {
        (
            name,
            if name == "Part" {
                Cell::Text
            } else {
                Cell::Number
            },
        )
    });
    let sum = format!(
        "<p>A step needs {} and moves at least {}; over its median that is {}. Work: {}.</p>\n",
        Text(&Metric::FlopsPerStep.unit().show(work.flops_per_step)),
        Text(&Metric::BytesPerStep.unit().show(work.bytes_per_step)),
        Text(&work.achieved_flops_per_s.map_or_else(
            || NOT_REPORTED.into(),
            |rate| Metric::AchievedFlopsPerS.unit().show(rate)
        )),
        Text(&work.source),
    );
    let rows = work.parts.iter().map(words::work_row);
    let title = format!("<h3>{} ({})</h3>\n", Text(&run.target), Text(&run.id));
    [
        title,
        sum,
        chart,
        table("Work per step and part of the model", &columns, rows),
    ]
    .concat()
}

fn profiles(report: &Report) -> String {
    let columns = words::HOTSPOT_HEAD.map(|name| match name {
        "Kernel" => (name, Cell::Code),
        "Part of the model" => (name, Cell::Text),
        _ => (name, Cell::Number),
    });
    let mut out = String::new();
    for profile in &report.profiles {
        let caption = format!("Kernels by time, run {} ({})", profile.run, profile.folder);
        out.push_str(&table(
            &caption,
            &columns,
            profile.hotspots.iter().map(words::hotspot_row),
        ));
        for note in &profile.notes {
            out.push_str(&format!("<p class=\"soft\">{}</p>", Text(note)));
        }
    }
    section("profiles", "Profiles", &out)
}

fn checks(report: &Report) -> String {
    let columns = [
        ("Step", Cell::Text),
        ("Check", Cell::Code),
        ("Verdict", Cell::Verdict),
        ("Missed", Cell::Number),
        ("Measured", Cell::Text),
    ];
    let rows = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().flat_map(move |step| {
            step.checks.iter().map(move |check| {
                vec![
                    format!("{}: {}", lesson.title, step.title),
                    check.id.clone(),
                    check.verdict.clone(),
                    check.missed.to_string(),
                    check.explanation.clone(),
                ]
            })
        })
    });
    section(
        "checks",
        "Checks",
        &table("Checks of the steps that were begun", &columns, rows),
    )
}

fn answers(report: &Report) -> String {
    let columns = [
        ("Question", Cell::Text),
        ("Answer", Cell::Text),
        ("Right", Cell::Verdict),
    ];
    let rows = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().flat_map(move |step| {
            step.answers.iter().map(move |given| {
                let right = if given.correct { "right" } else { "wrong" };
                vec![
                    format!("{}: {}", lesson.title, step.title),
                    given.text.clone(),
                    right.into(),
                ]
            })
        })
    });
    section(
        "answers",
        "Answers",
        &table("Answers in the order they were given", &columns, rows),
    )
}

fn reflections(report: &Report, limits: Limits) -> String {
    let mut out = String::new();
    for lesson in &report.lessons {
        for step in &lesson.steps {
            let Some(text) = &step.reflection else {
                continue;
            };
            let shown: String = text.chars().take(limits.reflection).collect();
            let more = if shown.len() < text.len() {
                " … (the rest is in the JSON document)"
            } else {
                ""
            };
            out.push_str(&format!(
                "<h3>{}: {}</h3>\n<blockquote>{}{more}</blockquote>",
                Text(&lesson.title),
                Text(&step.title),
                Text(&shown)
            ));
        }
    }
    section("reflections", "Reflections", &out)
}

fn record(report: &Report) -> String {
    let mut out = format!(
        "<p>{}; hash of the last one:<br><code>{}</code></p>\n<p class=\"soft\">{}</p>\n",
        plural(report.chain.records, "record"),
        Text(&report.chain.last_hash),
        Text(crate::report::hand_in::NOT_PROVEN)
    );
    for (title, lines) in [
        ("Notes", &report.session.notes),
        ("Damaged lines", &report.session.damaged_lines),
    ] {
        if lines.is_empty() {
            continue;
        }
        out.push_str(&format!("<h3>{title}</h3>\n<ul>"));
        for line in lines {
            out.push_str(&format!("<li>{}</li>", Text(line)));
        }
        out.push_str("</ul>\n");
    }
    section("record", "The session's record", &out)
}
