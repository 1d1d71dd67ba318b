//! Formats the workbench's lists and pages as text.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::super::Exit;
use super::super::print_result::{print_document, print_text};
use super::exercise_progress;
use tinyllama_base::untrusted::plain;
use tinyllama_base::{TableColumns, TextTable, errln, outln, wrapped};
use tinyllama_session::SessionState;
use tinyllama_workbench::Exercise;

const WIDTH: usize = 80;

pub fn list(exercises: &[Exercise], state: &SessionState, as_json: bool) -> Result<Exit> {
    let list = exercises.iter().map(|exercise| {
        let (checks, passed, best) = exercise_progress(state, exercise);
        json!({
            "number": exercise.number,
            "name": exercise.name,
            "title": exercise.title,
            "learns": exercise.learns,
            "after": exercise.after,
            "checks": checks,
            "passed": passed,
            "best_milliseconds": best,
        })
    });
    let table = TableColumns::titled("Kernels to write", exercises)
        .right("nr", |exercise| exercise.number.to_string())
        .left("name", |exercise| exercise.name.clone())
        .left("what", |exercise| exercise.title.clone())
        .right("checks", |exercise| exercise_progress(state, exercise).0.to_string())
        .left("passed", |exercise| {
            (if exercise_progress(state, exercise).1 { "yes" } else { "" }).to_owned()
        })
        .right("best ms", |exercise| {
            exercise_progress(state, exercise).2.map_or(String::new(), |ms| format!("{ms:.4}"))
        })
        .note("`workbench start NAME` begins one, `workbench check NAME` checks it: no GPU is needed.");
    let table = TextTable::from(table).render(WIDTH);
    print_document(as_json, &list.collect::<Vec<_>>(), |out| {
        write!(out, "{table}")
    })
}

/// Prints the task and the path of the file.
pub fn start(
    out: &mut impl Write,
    exercise: &Exercise,
    path: &Path,
    is_new: bool,
    is_elsewhere: bool,
) -> io::Result<()> {
    let (number, title) = (exercise.number, &exercise.title);
    writeln!(out, "{number}. {title}\n{}\n", exercise.learns)?;
    writeln!(out, "{}", exercise.text.trim_end())?;
    if !exercise.after.is_empty() {
        writeln!(out, "\nComes after: {}", exercise.after.join(", "))?;
    }
    for launch in &exercise.launches {
        let head = wrapped(&exercise.signature(launch), 70).join("\n        ");
        writeln!(out, "\n    {head}")?;
    }
    let state = match is_new {
        true => "written",
        false => "exists already, not changed",
    };
    let (name, path) = (&exercise.name, plain(&path.display().to_string()));
    writeln!(out, "\nYour file ({state}): {path}")?;
    let named = match is_elsewhere {
        true => format!(" --file {path}"),
        false => String::new(),
    };
    writeln!(
        out,
        "Open it in an editor. `tinyllama-tutor workbench watch {name}{named}` checks it on every save."
    )
}

/// Prints the next hint, or the requested one. The file `counter` in the session's workbench folder stores how many were
/// shown.
pub fn hint(
    exercise: &Exercise,
    number: Option<usize>,
    counter: &Path,
    as_json: bool,
) -> Result<Exit> {
    let shown: usize = std::fs::read_to_string(counter)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    let of = exercise.hints.len();
    let number = number.unwrap_or(shown + 1).clamp(1, of.max(1));
    let Some(hint) = exercise.hints.get(number - 1) else {
        outln!("There are no hints.");
        return Ok(Exit::Ok);
    };
    if number > shown
        && let Some(folder) = counter.parent()
    {
        // If the counter cannot be written, the next call shows the same hint again.
        let kept = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(counter, number.to_string()));
        if let Err(error) = kept {
            errln!("{}: {error}", counter.display());
        }
    }
    let document = json!({ "number": number, "of": of, "hint": hint });
    let text = format!("Hint {number} of {of}: {}", hint.trim());
    print_text(as_json, &document, &text)
}
