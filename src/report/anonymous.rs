//! Leaving out who and where: the names of people and machines, and paths that tell them.

use super::document::Report;
use crate::session::Place;

const SOMEBODY: &str = "(name left out)";

/// Takes names out of everything the program wrote itself. Reflections are kept as they were written, except for the name.
pub fn strip(report: &mut Report, place: &Place) {
    let mut names: Vec<String> = report.session.hosts.clone();
    names.extend(report.learner.clone());
    names.push(place.folder.display().to_string());
    names.extend(report.runs.iter().filter_map(|run| run.host.clone()));
    names.extend(std::env::var("HOME").ok());
    names.retain(|name| name.len() > 2);
    // Longer ones first: a path before the name within it.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    let clean = |text: &mut String| {
        for name in &names {
            *text = without(text, name);
        }
    };
    report.anonymous = true;
    report.learner = None;
    report.session.hosts.clear();
    report.chain.lines = None;
    report.session.notes.iter_mut().for_each(clean);
    report.warnings.iter_mut().for_each(clean);
    for run in &mut report.runs {
        run.host = None;
        clean(&mut run.command);
        run.error.iter_mut().for_each(clean);
        run.warnings.iter_mut().for_each(clean);
        run.recording.iter_mut().for_each(clean);
    }
    for step in report
        .lessons
        .iter_mut()
        .flat_map(|lesson| &mut lesson.steps)
    {
        if step.status == "solved" {
            step.remark = Some("by an instructor".into());
        }
        step.remark.iter_mut().for_each(clean);
        step.reflection.iter_mut().for_each(clean);
    }
    for profile in &mut report.profiles {
        profile.notes.iter_mut().for_each(clean);
    }
}

/// `text` without `name` where it stands as a word of its own; `ada` stays within `adam`.
fn without(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let after = &from[name.len()..];
        let of_word = |c: char| c.is_alphanumeric();
        let inside = before
            .chars()
            .next_back()
            .or(out.chars().next_back())
            .is_some_and(of_word)
            || after.chars().next().is_some_and(of_word);
        out.push_str(before);
        out.push_str(if inside { name } else { SOMEBODY });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_out_as_a_word_only() {
        assert_eq!(
            without("ada's /home/ada/x, adamw and Kada by ada", "ada"),
            format!("{SOMEBODY}'s /home/{SOMEBODY}/x, adamw and Kada by {SOMEBODY}")
        );
        assert_eq!(without("", "ada"), "");
    }
}
