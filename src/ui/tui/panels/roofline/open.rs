//! Shows a run of this session in the roofline of its device.

use std::path::Path;

use crate::tui::{Effects, Handler, KeyBinding, Model, RooflinePanel, TaskContext};
use tinyllama_analysis::MeasuredRun;
use tinyllama_analysis::calibration::Calibration;
use tinyllama_analysis::roofline;
use tinyllama_runs::recording::label;
use tinyllama_runs::{RunExit, state_folder};
use tinyllama_session::read_only;
use tinyllama_tutor_core::Action;

pub const PANEL: KeyBinding = (
    Action::Panel("roofline"),
    "F",
    "roofline of the last run",
    Handler::Any(open),
);

/// Takes the run of the open step if it succeeded, else the last run that counted its work.
fn open(model: &mut Model) -> Effects {
    let here = model.step.as_ref().and_then(|view| {
        let runs = &model.state.step(&view.at.lesson, &view.at.step)?.runs;
        let ended_well = |id: &&String| {
            let run = model.state.runs.get(*id);
            run.is_some_and(|run| run.exit == Some(RunExit::SUCCESS))
        };
        runs.iter().rev().find(ended_well).cloned()
    });
    model.open_later(
        "Placing the run under the device's ceilings…",
        move |context| Ok(Box::new(load(context, here.as_ref())?)),
    )
}

fn load(context: &TaskContext, wanted: Option<&String>) -> Result<RooflinePanel, String> {
    let place = &context.options.location;
    let (state, _) = read_only(place).map_err(|error| error.to_string())?;
    let mut runs: Vec<_> = state
        .runs
        .iter()
        .filter(|(_, run)| run.exit == Some(RunExit::SUCCESS))
        .collect();
    // Ids begin with the time. The requested run comes before all others.
    runs.sort_by_key(|(id, _)| std::cmp::Reverse((Some(*id) == wanted, *id)));
    let counted = runs.into_iter().find_map(|(id, run)| {
        let known = context.runs.get(id).ok()??;
        known.reported.parts.as_ref()?;
        let measured = MeasuredRun::read(&known.path).ok()?;
        Some((measured, run.recording.as_ref()))
    });
    let Some((run, recording)) = counted else {
        return Err(
            "No run has counted its work yet: add --flops --profile-steps 3 to the flags of a run, then come back."
                .into(),
        );
    };
    // The ceilings of this machine do not apply to a run of another machine.
    let calibration = match recording {
        None => calibration(&run)?,
        Some(_) => None,
    };
    let works = (context.options.works)(&run.hello.config);
    let mut roofline = roofline::of_run(&run, calibration.as_ref(), &works);
    if let Some(origin) = recording {
        roofline.title = format!("{} ({})", run.hello.target, label(origin));
    }
    let is_bare = calibration.is_none() && recording.is_none();
    let panel = RooflinePanel::new(roofline);
    Ok(match is_bare {
        true => panel.without_ceilings(&run.hello.backend),
        false => panel,
    })
}

fn calibration(run: &MeasuredRun) -> Result<Option<Calibration>, String> {
    let load = |root: &Path| Calibration::load(root, &run.hello.backend, &run.hello.device);
    state_folder()
        .and_then(|root| load(&root))
        .map_err(|error| format!("{error:#}"))
}
