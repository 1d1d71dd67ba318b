//! Documents that take files to be read: the report, and the roofline of a run. On threads of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use crate::analysis::MeasuredRun;
use crate::analysis::calibration::Calibration;
use crate::analysis::gpus;
use crate::analysis::roofline::Roofline;
use crate::lesson::Course;
use crate::report::export::{self, Format};
use crate::report::{self, Report, markdown};
use crate::run::folder::state_folder;
use crate::session::event::RunExit;
use crate::session::read_only;
use crate::tui::message::{Message, Preview};
use crate::tui::panels::roofline::RooflineInput;
use crate::tutor::Options;

/// As the command writes it where no formats are named.
const FORMATS: [Format; 3] = [Format::Markdown, Format::Html, Format::Json];

/// What this work needs of the tutor.
pub struct Desk {
    pub options: Arc<Options>,
    pub course: Arc<Course>,
    pub sender: mpsc::Sender<Message>,
}

impl Desk {
    pub fn preview_report(self) {
        self.work(|desk| {
            let preview = desk.collect().map(|report| Preview {
                markdown: markdown::render(&report),
                folder: report_folder(),
            });
            Message::Report(preview.map(Box::new))
        });
    }

    pub fn export_report(self) {
        self.work(|desk| {
            let files = desk.collect().and_then(|report| {
                export::write(&report, &report_folder(), FORMATS).map_err(|error| {
                    format!("{error:#}. `tinyllama-tutor report --output DIR` writes it elsewhere.")
                })
            });
            Message::Exported(files)
        });
    }

    /// Of the run called `run` where it counted its work, else of the last one that did.
    pub fn place_under_roofline(self, run: Option<String>) {
        self.work(|desk| Message::Roofline(desk.roofline(run).map(Box::new)));
    }

    fn work(self, work: impl FnOnce(&Self) -> Message + Send + 'static) {
        thread::spawn(move || {
            let message = work(&self);
            // Nobody listens any more when the tutor ends.
            let _ = self.sender.blocking_send(message);
        });
    }

    fn collect(&self) -> Result<Report, String> {
        report::collect(
            &self.options.place,
            &self.course,
            report::Options::default(),
        )
        .map_err(|error| format!("{error}. {}", error.remedy()))
    }

    fn roofline(&self, wanted: Option<String>) -> Result<RooflineInput, String> {
        let place = &self.options.place;
        let (state, _) = read_only(place).map_err(|error| error.to_string())?;
        let mut runs: Vec<(&String, Option<&String>)> = state
            .runs
            .iter()
            .filter(|(_, run)| run.exit == Some(RunExit::Status(0)))
            .map(|(id, run)| (id, run.recording.as_ref()))
            .collect();
        // Ids begin with the time; the one that was asked for comes before all others.
        runs.sort_by(|a, b| {
            let is_wanted = |id: &String| Some(id) == wanted.as_ref();
            (is_wanted(b.0), b.0).cmp(&(is_wanted(a.0), a.0))
        });
        let counted = runs.into_iter().find_map(|(id, recording)| {
            let run = MeasuredRun::read(&place.runs().join(id)).ok()?;
            run.parts.is_some().then_some((run, recording))
        });
        let Some((run, recording)) = counted else {
            return Err(
                "No run has counted its work yet: add --flops --profile-steps 3 to the flags of a run, then come back."
                    .into(),
            );
        };
        // The ceilings of this machine say nothing of another one's run.
        let calibration = match recording {
            None => calibration(&run)?,
            Some(_) => None,
        };
        let sheet = gpus::find(&run.hello.device);
        let works = (self.options.works)(&run.hello.config);
        let roofline = Roofline::of(&run, calibration.as_ref(), sheet.as_ref(), &works);
        Ok(RooflineInput::of_run(
            &roofline,
            recording.map(String::as_str),
        ))
    }
}

fn calibration(run: &MeasuredRun) -> Result<Option<Calibration>, String> {
    let load = |root: &Path| Calibration::load(root, &run.hello.backend, &run.hello.device);
    state_folder()
        .and_then(|root| load(&root))
        .map_err(|error| format!("{error:#}"))
}

/// Where the command writes it, too: below the folder the tutor was started in.
fn report_folder() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.join("report")
}
