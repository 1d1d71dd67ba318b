//! The names of the kinds of steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tinyllama_base::named;

named! {
    /// What a step is
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        /// Markdown to read
        Read = "read",
        /// A number to guess before it is measured
        Predict = "predict",
        /// A training run
        Run = "run",
        /// A command of the tutor, whose document is checked and asked about
        Command = "command",
        /// A program with a mistake: suspected, convicted, fixed
        Investigate = "investigate",
        /// Runs side by side
        Compare = "compare",
        /// A profiler's command, run here or elsewhere
        Profile = "profile",
        /// A question with one right answer
        Quiz = "quiz",
        /// A kernel to write
        Kernel = "kernel",
        /// A question without one
        Reflect = "reflect",
    }
}
