//! Options of a tutor.

use std::path::PathBuf;

use tinyllama_analysis::roofline::KernelWork;
use tinyllama_base::locale;
use tinyllama_contract::model::ModelConfig;
use tinyllama_lesson::CourseSource;
use tinyllama_runs::Launcher;
use tinyllama_runs::recording;
use tinyllama_session::SessionLocation;

/// Options from the command line and the environment.
#[derive(Clone, Debug)]
pub struct TutorOptions {
    pub course: CourseSource,
    /// The lesson or session to start with, instead of the learner's last position.
    pub from: Option<String>,
    pub location: SessionLocation,
    /// True if the session lies in a class folder, where an instructor may act on it.
    pub in_class: bool,
    /// Starts the runs.
    pub launcher: Launcher,
    /// True if the tutor uses attributes instead of colours.
    pub no_color: bool,
    /// True if the tutor uses ASCII instead of lines and symbols.
    pub ascii: bool,
    /// True if the mouse scrolls. Without it, the terminal's own selection works.
    pub mouse: bool,
    /// Names of this program's commands, which the palette takes with their flags.
    pub commands: Vec<String>,
    /// The file of keys; `None` for the default path.
    pub keys: Option<PathBuf>,
    /// Recordings of other machines that can be played.
    pub recordings: recording::RecordingSource,
    /// Returns the operations and bytes of this build's kernels in a model.
    pub works: fn(&ModelConfig) -> Vec<KernelWork>,
}

impl TutorOptions {
    /// Adds what the environment asks for: `NO_COLOR`, `TERM=dumb`, and a locale that is not UTF-8.
    #[must_use]
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        self.no_color |= locale::no_color(&variable);
        self.ascii |= !locale::is_utf8(variable);
        self
    }
}
