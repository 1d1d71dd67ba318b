//! Shows a report before it is written, with its path.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use ratatui::text::Span;

use crate::tui::{
    Effect, Effects, Handler, KeyBinding, Message, Model, Pane, Panel, PanelCommand, Scroll,
    Snippet, TaskContext, both_ends,
};
use tinyllama_base::{Share, whole_percent};
use tinyllama_report as report;
use tinyllama_report::export::ReportFormat;
use tinyllama_report::{Report, export, markdown as text};
use tinyllama_tutor_core::{Action, PanelAction};

pub const PANEL: KeyBinding = (
    Action::Panel("report"),
    "R",
    "your report",
    Handler::Any(open),
);

/// Lines that a page key moves by.
const PAGE: usize = 15;

/// The formats that the command writes if the user names none.
const FORMATS: [ReportFormat; 3] = [
    ReportFormat::Markdown,
    ReportFormat::Html,
    ReportFormat::Json,
];

#[derive(Clone, Debug)]
pub struct ReportPanel {
    markdown: String,
    path: PathBuf,
    scroll: Scroll,
}

impl ReportPanel {
    /// `path` is the file that the report will be written to.
    pub fn new(markdown: String, path: PathBuf) -> Self {
        ReportPanel {
            markdown,
            path,
            scroll: Scroll::default(),
        }
    }
}

impl Panel for ReportPanel {
    fn title(&self) -> String {
        "Your report".into()
    }

    fn paint(&self, pane: &mut Pane) {
        if pane.area.is_empty() {
            return;
        }
        let lines = pane.markdown(&self.markdown);
        let room = usize::from(pane.area.height) - 1;
        let first = self.scroll.first(lines.len(), room);
        let place = match lines.len().saturating_sub(room) {
            0 => "all of it".to_owned(),
            last => whole_percent(Share(first as f64 / last as f64)),
        };
        let path = format!("To be written to {}", self.path.display());
        let theme = pane.theme;
        pane.put([both_ends(
            vec![Span::styled(path, theme.emphasis())],
            Span::styled(place, theme.muted()),
            1,
            pane.area.width,
            theme,
        )]);
        pane.put(lines.into_iter().skip(first));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        self.scroll.act(action, PAGE)
    }

    fn effects(&self, action: PanelAction) -> Effects {
        match action {
            PanelAction::Select => Some(vec![Effect::background_work(
                "Writing your report…",
                |context| Message::WorkDone(write(context)),
            )]),
            _ => None,
        }
    }

    fn copies(&self) -> Vec<Snippet> {
        vec![Snippet::new("the report's path", self.path.display())]
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![
            (PanelAction::Select, "write it"),
            (PanelAction::PageDown, "next page"),
        ]
    }
}

fn open(model: &mut Model) -> Effects {
    model.open_later("Collecting your report…", |context| {
        let markdown = text(&collect(context)?);
        Ok(Box::new(ReportPanel::new(markdown, folder())))
    })
}

fn collect(context: &TaskContext) -> Result<Report, String> {
    let options = report::CollectOptions::default();
    report::collect(&context.options.location, &context.course, options)
        .map_err(|error| format!("{error}. {}", error.remedy()))
}

/// Writes the report and returns a line with the names of its files.
fn write(context: &TaskContext) -> Result<String, String> {
    let files = export::write(&collect(context)?, &folder(), FORMATS).map_err(|error| {
        format!("{error:#}. `tinyllama-tutor report --output DIR` writes it elsewhere.")
    })?;
    let names = files.iter().filter_map(|file| file.file_name());
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    let folder = files.first().and_then(|file| file.parent());
    let folder = folder.map_or_else(String::new, |folder| folder.display().to_string());
    Ok(format!("Wrote {} to {folder}", names.join(", ")))
}

/// The command's default folder, too: below the folder in which the tutor was started.
fn folder() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.join("report")
}
