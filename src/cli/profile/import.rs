//! `profile import` and `profile compare`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::{CompareArgs, Exit, ImportArgs, ViewArgs, print};
use tinyllama_base::file::{self, path_text};
use tinyllama_base::safe_path::as_named;
use tinyllama_base::scratch::ScratchFolder;
use tinyllama_contract::flags::UsageError;
use tinyllama_lesson::CourseSource;
use tinyllama_profile::read::{Import, import as read};
use tinyllama_profile::show::comparison;
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_profile::show::report::report;
use tinyllama_profile::{NothingRecorded, export};
use tinyllama_runs::FinishedRun;
use tinyllama_runs::finished::EVENTS_FILE;

pub fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let view = &args.view;
    let sample = sample(&args.path);
    let path = sample.as_ref().map_or(&args.path, |(_, path)| path);
    let parts = view.parts(&[path])?;
    let import = read(&as_named(path))?;
    if let Some(to) = &args.perfetto {
        write_trace(&import, to)?;
    }
    match view.json {
        true => print::print_result(true, &document(&import, view, &parts), "")?,
        false => print::print_result(false, &Value::Null, &text(&import, view, &parts)?)?,
    };
    Ok(Exit::from_passed(is_sound(&import)))
}

/// Copies a sample of the built-in course into a temporary folder, for a path under `lessons/` that does not exist here.
fn sample(path: &Path) -> Option<(ScratchFolder, PathBuf)> {
    let of_course = path.strip_prefix("lessons").ok()?.to_str()?;
    if path.exists() {
        return None;
    }
    let folder = ScratchFolder::new().ok()?;
    let copy = CourseSource::BuiltIn
        .extract(of_course, folder.path())
        .ok()?;
    Some((folder, copy))
}

impl ViewArgs {
    /// Finds the model part that launched each kernel: from the user's event stream, or else from streams in the
    /// profiles' folders.
    pub fn parts(&self, profiles: &[&Path]) -> anyhow::Result<KernelParts> {
        if let Some(path) = &self.events {
            let run = FinishedRun::read(path)
                .map_err(|error| UsageError(format!("--events {}: {error}", path.display())))?;
            return Ok(KernelParts::of_kernels(run.reported.kernels.iter()));
        }
        let beside = |profile: &&Path| {
            let folders = [Some(*profile), profile.parent()];
            let streams = folders.into_iter().flatten();
            streams
                .map(|folder| folder.join(EVENTS_FILE))
                .find_map(|path| FinishedRun::read(&path).ok())
        };
        let runs: Vec<FinishedRun> = profiles.iter().filter_map(beside).collect();
        Ok(KernelParts::of_kernels(
            runs.iter().filter_map(|run| run.reported.kernels.as_ref()),
        ))
    }
}

/// True if the files are undamaged and contained something to read.
fn is_sound(import: &Import) -> bool {
    import.damage.is_empty() && !import.profile.is_empty()
}

pub fn document(import: &Import, view: &ViewArgs, parts: &KernelParts) -> Value {
    let mut document = export::json::document(&import.profile, view.options().group, parts);
    document["taken"] = import
        .taken
        .iter()
        .map(|taken| json!({"path": path_text(&taken.path), "format": taken.format.to_string(), "rows": taken.rows}))
        .collect();
    document["passed_over"] = import
        .passed_over
        .iter()
        .map(|passed| json!({"path": path_text(&passed.path), "reason": passed.reason}))
        .collect();
    document["damage"] = import
        .damage
        .iter()
        .map(|damage| {
            json!({
                "file": path_text(&damage.location.file),
                "line": damage.location.line,
                "column": damage.location.column,
                "where": damage.location.name,
                "problem": damage.problem,
            })
        })
        .collect();
    document["nothing_recorded"] = json!(NothingRecorded::explain(import));
    document
}

/// Limit for listing files one by one. For a folder with thousands of files the count is enough.
const FILES_LISTED: usize = 40;

pub fn text(import: &Import, view: &ViewArgs, parts: &KernelParts) -> anyhow::Result<String> {
    let mut text = String::new();
    for taken in import.taken.iter().take(FILES_LISTED) {
        writeln!(text, "read  {taken}")?;
    }
    let left_out = import.left_out();
    for left in left_out.iter().take(FILES_LISTED) {
        let line = format!("left  {left}");
        if line.chars().count() <= print::width() {
            writeln!(text, "{line}")?;
        } else {
            writeln!(text, "left  {}:", left.files())?;
            print::push_prose(&mut text, left.reason);
        }
    }
    let unlisted = import.taken.len().saturating_sub(FILES_LISTED)
        + left_out.len().saturating_sub(FILES_LISTED);
    if unlisted > 0 {
        writeln!(text, "and {unlisted} more files")?;
    }
    for damage in &import.damage {
        writeln!(text, "damaged  {damage}")?;
    }
    if !import.damage.is_empty() {
        writeln!(text, "The figures below do not include the damaged places.")?;
    }
    for note in &import.profile.notes {
        print::push_prose(&mut text, &format!("note: {note}"));
    }
    if let Some(nothing) = NothingRecorded::explain(import) {
        print::push_prose(&mut text, &nothing.cause);
        for remedy in nothing.remedies {
            print::push_prose(&mut text, &format!("-> {remedy}"));
        }
    }
    for table in report(&import.profile, parts, view.options()) {
        text.push('\n');
        text.push_str(&table.render(print::width()));
    }
    Ok(text)
}

fn write_trace(import: &Import, to: &Path) -> anyhow::Result<()> {
    let profile = &import.profile;
    if !profile.has_records() {
        let why = "--perfetto: the profile holds only sums, and a timeline shows single launches and calls. Profile with a trace";
        return Err(UsageError(why.into()).into());
    }
    file::write_output(to, |out| export::perfetto::write(profile, out))
        .with_context(|| format!("cannot write {}", to.display()))
}

pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (before, after, view) = (args.before.as_path(), args.after.as_path(), &args.view);
    let parts = view.parts(&[before, after])?;
    let imports = [read(before)?, read(after)?];
    let [before, after] = &imports;
    let comparison = comparison::compare(
        &before.profile,
        &after.profile,
        view.options().group,
        &parts,
    );
    let mut text = comparison.table(view.rows).render(print::width());
    for damage in imports.iter().flat_map(|import| &import.damage) {
        writeln!(text, "damaged  {damage}")?;
    }
    print::print_result(view.json, &export::json::comparison(&comparison), &text)?;
    Ok(Exit::from_passed(imports.iter().all(is_sound)))
}
