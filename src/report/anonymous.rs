//! Leaving out who and where: the names of people and machines, and the folders of paths that tell them.
//!
//! What is left out follows from the report alone, so that it can be derived again anywhere.

use crate::report::Report;

const SOMEBODY: &str = "(name left out)";

/// Takes names out of everything the program wrote itself. Reflections are kept as they were written, except for names.
pub fn strip(report: &mut Report) {
    let mut names: Vec<String> = report.session.hosts.clone();
    names.extend(report.learner.clone());
    names.extend(report.runs.iter().filter_map(|run| run.host.clone()));
    names.retain(|name| name.len() > 2);
    // Longer ones first: a path before the name within it.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    let clean = |text: &mut String| {
        *text = without_folders(text);
        for name in &names {
            *text = without(text, name);
        }
    };
    report.anonymous = true;
    report.learner = None;
    report.session.hosts.clear();
    report.chain.lines = None;
    report.chain.streams = None;
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
        if let Some(command) = &mut step.command {
            clean(&mut command.command);
            let text = command.document.as_ref().map(ToString::to_string);
            command.document = text.and_then(|mut text| {
                clean(&mut text);
                serde_json::from_str(&text).ok()
            });
        }
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

/// `text` with the last part alone of every path that begins at the root.
fn without_folders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let ends_path =
        |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ';' | ':' | ')');
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        let path = &from[..from.find(ends_path).unwrap_or(from.len())];
        let begins = before.chars().next_back().or(out.chars().next_back());
        let is_root =
            begins.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/')));
        out.push_str(before);
        match path.rfind('/') {
            Some(last) if is_root && last > 0 => {
                out.push_str("(folder)");
                out.push_str(&path[last..]);
            }
            _ => out.push_str(path),
        }
        rest = &from[path.len()..];
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

    #[test]
    fn of_a_path_only_its_last_part_is_told() {
        assert_eq!(
            without_folders(
                "run '/home/jo/a b' --data=/scratch/jo/x.txt: no, see lessons/a/b, 3 MB/s, /etc"
            ),
            "run '(folder)/a b' --data=(folder)/x.txt: no, see lessons/a/b, 3 MB/s, /etc"
        );
        assert_eq!(without_folders("//x/y"), "(folder)/y");
    }
}
