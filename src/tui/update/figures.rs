//! Figures that belong to no step: this project's kernels, the session's report, the roofline.

use std::path::PathBuf;
use std::sync::Arc;

use crate::session::event::RunExit;
use crate::tui::message::{Effect, Preview};
use crate::tui::model::Model;
use crate::tui::model::overlay::{Figures, Overlay};
use crate::tui::panels::kernels::{KernelsPanel, kernels as kernels_of_this_project};
use crate::tui::panels::report::ReportPanel;
use crate::tui::panels::roofline::{RooflineInput, RooflinePanel};

fn open(model: &mut Model, figures: Figures) {
    model.overlay = Some(Overlay::Figures(Box::new(figures)));
}

pub fn kernels(model: &mut Model) -> Vec<Effect> {
    let mut panel = KernelsPanel::new(kernels_of_this_project());
    if let Some(highlighter) = &model.highlighter {
        panel.set_highlighter(Arc::clone(highlighter));
    }
    open(model, Figures::Kernels(panel));
    Vec::new()
}

pub fn report(model: &mut Model) -> Vec<Effect> {
    model.tell("Collecting your report…");
    vec![Effect::PreviewReport]
}

pub fn collected(model: &mut Model, preview: Result<Box<Preview>, String>) -> Vec<Effect> {
    model.notice = None;
    match preview {
        Ok(preview) => {
            let mut panel = ReportPanel::new(preview.markdown, preview.folder);
            if let Some(highlighter) = &model.highlighter {
                panel.set_highlighter(Arc::clone(highlighter));
            }
            open(model, Figures::Report(panel));
        }
        Err(problem) => model.warn(problem),
    }
    Vec::new()
}

/// What Enter does over figures; none where the panel itself knows.
pub fn select(model: &mut Model) -> Option<Vec<Effect>> {
    let Some(Overlay::Figures(figures)) = &model.overlay else {
        return None;
    };
    matches!(figures.as_ref(), Figures::Report(_)).then(|| {
        model.tell("Writing your report…");
        vec![Effect::ExportReport]
    })
}

pub fn exported(model: &mut Model, files: Result<Vec<PathBuf>, String>) -> Vec<Effect> {
    match files {
        Ok(files) => {
            let names: Vec<String> = files
                .iter()
                .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
                .collect();
            let folder = files.first().and_then(|file| file.parent());
            let folder = folder.map_or_else(String::new, |folder| folder.display().to_string());
            model.tell(format!("Wrote {} to {folder}", names.join(", ")));
        }
        Err(problem) => model.warn(problem),
    }
    Vec::new()
}

/// Of the run whose step is open where it ended well, else of the last one that counted its work.
pub fn roofline(model: &mut Model) -> Vec<Effect> {
    let here = model.step.as_ref().and_then(|view| {
        let runs = &model.state.step(&view.at.lesson, &view.at.step)?.runs;
        let ended_well = |id: &&String| {
            let run = model.state.runs.get(*id);
            run.is_some_and(|run| run.exit == Some(RunExit::Status(0)))
        };
        runs.iter().rev().find(ended_well).cloned()
    });
    model.tell("Placing the run under the device's ceilings…");
    vec![Effect::PlaceUnderRoofline(here)]
}

pub fn placed(model: &mut Model, input: Result<Box<RooflineInput>, String>) -> Vec<Effect> {
    model.notice = None;
    match input {
        Ok(input) => open(model, Figures::Roofline(RooflinePanel::new(*input))),
        Err(problem) => model.warn(problem),
    }
    Vec::new()
}
