//! What the estimated time of a step is made of, for somebody who does it for the first time.

/// Words a minute of technical text, read once and understood.
pub(super) const WORDS_PER_MINUTE: f64 = 180.0;

/// Minutes of thinking before an answer, and after a wrong one.
pub(super) const THOUGHT_MINUTES: f64 = 0.7;

/// Minutes for starting something small and reading its results.
pub(super) const RUN_MINUTES: f64 = 1.3;

pub(super) fn word_count(text: &str) -> f64 {
    text.split_whitespace().count() as f64
}
