//! Copies a command, a path or a table through the terminal to the learner's own clipboard.

use crate::tui::markdown::links;
use crate::tui::{ChoiceList, Effect, Effects, Model, Snippet};

/// A longer text exceeds what terminals accept.
const MOST_BYTES: usize = 74_000;

/// Copies the item under the cursor, or lets the learner choose one of several.
pub fn copy(model: &mut Model) -> Effects {
    let mut copies = copies(model);
    match (copies.len(), copies.pop()) {
        (1, Some(copy)) => take(model, copy),
        (0, _) | (_, None) => model.notify("There is nothing to copy here."),
        (_, Some(last)) => {
            copies.push(last);
            model.open_list(ChoiceList::Copies(copies))
        }
    }
}

/// One snippet with all these texts, each in a line of its own.
pub fn together(copies: Vec<Snippet>) -> Snippet {
    let name = match copies.as_slice() {
        [one] => one.name.clone(),
        several => format!("{} texts", several.len()),
    };
    Snippet::new(
        name,
        itertools::join(copies.iter().map(|it| &it.text), "\n"),
    )
}

/// Copies a snippet and says so.
pub fn take(model: &mut Model, Snippet { name, text }: Snippet) -> Effects {
    if text.len() > MOST_BYTES {
        return model.warn(format!(
            "{name} is too long for the clipboard of a terminal."
        ));
    }
    // A terminal does not answer, so the tutor cannot know whether it worked.
    model.notify(format!(
        "Copied {name}, if your terminal supports OSC 52: {}",
        text.replace('\n', " ")
    ));
    Some(vec![Effect::Copy(text)])
}

fn copies(model: &Model) -> Vec<Snippet> {
    if let Some(panel) = model.top_panel() {
        return [panel.copies(), in_text(panel.text().unwrap_or_default())].concat();
    }
    let Some(here) = model.open_step(&model.course) else {
        return Vec::new();
    };
    let panel = model.step_panel().filter(|_| model.has_panel_open());
    let mut copies = panel.map_or(vec![], |panel| panel.copies());
    let view = model.step.as_ref();
    if let (Some(job), Some(_)) = (here.step.job(), here.step.as_run()) {
        let line = job.line(&model.flags_at(&here.at));
        copies.push(Snippet::new("the run's command", line));
    }
    if let Some(line) = view.and_then(|view| view.profile.line()) {
        copies.push(Snippet::new("the profiler's command", line.shell()));
        let folder = line.folder.display();
        copies.push(Snippet::new("the folder of its files", folder));
    }
    if let Some(kernel) = here.step.as_kernel() {
        let path = model.workbench.join(kernel.exercise.file_name());
        copies.push(Snippet::new("the kernel's path", path.display()));
    }
    let run = model.run_at(&here.at).and_then(|run| run.run.as_ref());
    copies.extend(run.map(|run| Snippet::new("the run's id", run)));
    copies.extend(in_text(&here.step.text));
    copies
}

/// Code blocks, without those that are pictures, and addresses of links that lead out of the tutor.
fn in_text(text: &str) -> Vec<Snippet> {
    let links = links(text).into_iter();
    let links = links.filter(|(_, target)| target.starts_with("http"));
    let links = links.map(|(name, target)| Snippet::new(format!("the link {name}"), target));
    let fenced = text.split("```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| {
        let (language, code) = block.split_once('\n')?;
        let code = code.trim_end();
        let is_code = language.trim() != "picture" && !code.trim().is_empty();
        is_code.then(|| {
            let first = code.lines().next().unwrap_or_default().trim();
            Snippet::new(format!("`{first}`"), code)
        })
    });
    blocks.chain(links).collect()
}
