//! A text that can be copied.

/// A text for the learner's clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// A name such as `the run's command`.
    pub name: String,
    pub text: String,
}

impl Snippet {
    pub fn new(name: impl Into<String>, text: impl ToString) -> Self {
        Self {
            name: name.into(),
            text: text.to_string(),
        }
    }
}
