//! Removes names of people and machines from a report, and the folders of paths that reveal them.
//!
//! The result depends on the report alone, so that anyone can derive it again.

use serde_json::Value;

use crate::Report;

const SOMEBODY: &str = "(name left out)";

/// Removes names from all text that the program wrote. Reflections keep their text, except for names.
pub fn strip(report: &mut Report) {
    let hosts = report.session.hosts.iter().cloned();
    let hosts = hosts.chain(report.runs.iter().filter_map(|run| run.host.clone()));
    let hosts = hosts.flat_map(|host| spellings_of_host(&host));
    let learner = report.learner.iter();
    let learner = learner.flat_map(|learner| spellings_of_learner(learner));
    let mut names: Vec<String> = hosts.chain(learner).collect();
    names.retain(|name| !name.is_empty());
    // Longer names come first, so that a name is removed before its parts.
    names.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    names.dedup();
    let clean = |text: &mut String| {
        *text = without_folders(text);
        for name in &names {
            *text = without_name(text, name);
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
            command
                .document
                .iter_mut()
                .for_each(|document| in_texts(document, &clean));
        }
    }
    for profile in &mut report.profiles {
        profile.notes.iter_mut().for_each(clean);
    }
}

/// A machine's name, with and without its domain.
fn spellings_of_host(host: &str) -> Vec<String> {
    let short = host.split('.').next().unwrap_or_default();
    vec![host.into(), short.into()]
}

/// Spellings of `ada.lovelace`: unchanged, with other signs between its parts, and each part that can be a name.
fn spellings_of_learner(learner: &str) -> Vec<String> {
    let parts: Vec<&str> = learner.split(['.', '_', '-']).collect();
    let joined = [".", "_", "-", " ", ""].map(|sign| parts.join(sign));
    let is_name = |part: &&&str| part.len() > 1 && part.contains(char::is_alphabetic);
    let own = parts.iter().filter(is_name).map(ToString::to_string);
    own.chain(joined).chain([learner.into()]).collect()
}

/// Changes every text of a document. Keys and numbers stay.
fn in_texts(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| in_texts(value, change)),
        Value::Object(map) => map.values_mut().for_each(|value| in_texts(value, change)),
        _ => {}
    }
}

/// Removes `name` from `text` in upper and lower case, but only as a separate word: `ada` stays inside `adam`.
fn without_name(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // ASCII lower case keeps all byte positions.
    let lower = text.to_ascii_lowercase();
    let name = &name.to_ascii_lowercase();
    while let Some(at) = lower[text.len() - rest.len()..].find(name) {
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
        out.push_str(if inside {
            &from[..name.len()]
        } else {
            SOMEBODY
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Shortens every absolute path in `text` to its last part.
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
            without_name("ada's /home/ada/x, adamw and Kada by ada", "ada"),
            format!("{SOMEBODY}'s /home/{SOMEBODY}/x, adamw and Kada by {SOMEBODY}")
        );
        assert_eq!(without_name("", "ada"), "");
        assert_eq!(
            without_name("Ä Ada, ADA and bo@host", "ada"),
            format!("Ä {SOMEBODY}, {SOMEBODY} and bo@host")
        );
    }

    #[test]
    fn a_name_is_known_in_other_spellings() {
        let names = spellings_of_learner("ada.lovelace");
        for name in [
            "ada.lovelace",
            "ada_lovelace",
            "ada lovelace",
            "adalovelace",
            "ada",
            "lovelace",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(spellings_of_learner("bo").contains(&"bo".to_string()));
        // A number alone is not a name.
        assert!(!spellings_of_learner("user-7").contains(&"7".to_string()));
        assert_eq!(
            spellings_of_host("vm.cluster.org"),
            ["vm.cluster.org", "vm"]
        );
    }

    #[test]
    fn anonymous_documents_differ_in_texts_only() {
        let mut document = serde_json::json!({"ms": 3, "by": ["ms", {"text": "for ms 7"}]});
        in_texts(&mut document, &|text| *text = without_name(text, "ms"));
        let expected =
            serde_json::json!({"ms": 3, "by": [SOMEBODY, {"text": format!("for {SOMEBODY} 7")}]});
        assert_eq!(document, expected);
    }

    #[test]
    fn an_anonymous_path_keeps_its_last_part_only() {
        assert_eq!(
            without_folders(
                "run '/home/jo/a b' --data=/scratch/jo/x.txt: no, see lessons/a/b, 3 MB/s, /etc"
            ),
            "run '(folder)/a b' --data=(folder)/x.txt: no, see lessons/a/b, 3 MB/s, /etc"
        );
        assert_eq!(without_folders("//x/y"), "(folder)/y");
    }
}
