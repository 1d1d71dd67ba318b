//! How a tutor is started.

use std::path::PathBuf;

use crate::analysis::roofline::KernelWork;
use crate::lesson::Source;
use crate::recording;
use crate::run::Launcher;
use crate::session::Place;
use tinyllama_base::locale;
use tinyllama_contract::model::ModelConfig;

/// What the command line and the environment say.
#[derive(Clone, Debug)]
pub struct Options {
    pub course: Source,
    pub place: Place,
    /// Whether the session lies in a class folder, where an instructor may act on it.
    pub in_class: bool,
    /// How runs are started.
    pub launcher: Launcher,
    /// Attributes instead of colours.
    pub no_color: bool,
    /// ASCII instead of lines and symbols.
    pub ascii: bool,
    /// Whether the mouse scrolls; off, the terminal's own selection works.
    pub mouse: bool,
    /// File with keys; none where the usual place is meant.
    pub keys: Option<PathBuf>,
    /// Runs of other machines that can be played.
    pub recordings: recording::Source,
    /// What this build's kernels compute and move in a model.
    pub works: fn(&ModelConfig) -> Vec<KernelWork>,
}

impl Options {
    /// Reads from the environment what was not asked for: `NO_COLOR`, `TERM=dumb`, and a locale that is not UTF-8.
    #[must_use]
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        self.no_color |= locale::no_color(&variable);
        self.ascii |= !locale::is_utf8(variable);
        self
    }
}
