//! The sections of one learner's report.

mod learning;
mod runs;
mod work;

use super::markup::{Text, items, section};
use super::{Limits, Page, page};
use crate::report::document::Report;
use crate::report::words::{self, moment, plural};

const CONTENTS: [(&str, &str); 13] = [
    ("summary", "Summary"),
    ("progress", "Progress"),
    ("predictions", "Predictions"),
    ("runs", "Runs"),
    ("energy", "Energy"),
    ("stages", "Debugging stages"),
    ("work", "Work and roofline"),
    ("profiles", "Profiles"),
    ("checks", "Checks"),
    ("answers", "Answers"),
    ("kernels", "Kernels written"),
    ("reflections", "Reflections"),
    ("record", "The session's record"),
];

pub fn render(report: &Report, limits: Limits) -> String {
    let who = report.learner.as_deref().unwrap_or("name left out");
    let content = [
        summary(report),
        learning::progress(report),
        learning::predictions(report),
        runs::runs(report, limits),
        runs::energy(report),
        runs::stages(report),
        work::work(report),
        work::profiles(report),
        learning::checks(report),
        learning::answers(report),
        learning::kernels(report),
        learning::reflections(report, limits),
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
        out.push_str(&format!(
            "<div class=\"warnings\" role=\"note\"><strong>Read this first</strong><ul>{}</ul></div>\n",
            items(&report.warnings)
        ));
    }
    section("summary", "Summary", &out)
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
        out.push_str(&format!("<h3>{title}</h3>\n<ul>{}</ul>\n", items(lines)));
    }
    section("record", "The session's record", &out)
}
