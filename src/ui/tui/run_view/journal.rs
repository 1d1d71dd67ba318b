//! The text output of a run: notes, log lines, its error stream, samples of text. When it is full, the oldest
//! lines go.

use std::collections::VecDeque;

use tinyllama_base::named;

/// Lines kept.
const MAX_ENTRIES: usize = 2000;

/// Longest line kept. A learner needs its start, and a binary dump must not fill memory.
const LONGEST: usize = 2000;

named! {
    /// The source of a line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Voice {
        /// The run: a remark about its own figures.
        Note = "note",
        /// The trained model.
        Sample = "sample",
        /// Output that is no event.
        Output = "output",
        /// The error stream.
        Stderr = "stderr",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    pub voice: Voice,
    /// One line without control characters.
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Journal {
    pub entries: VecDeque<JournalEntry>,
}

impl Journal {
    pub fn add(&mut self, voice: Voice, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.entries.len() == MAX_ENTRIES {
                self.entries.pop_front();
            }
            let text = printable(line);
            self.entries.push_back(JournalEntry { voice, text });
        }
    }

    pub fn entries_of(&self, voice: Voice) -> impl DoubleEndedIterator<Item = &JournalEntry> {
        self.entries
            .iter()
            .filter(move |entry| entry.voice == voice)
    }
}

/// Removes colours, bells and tabs. They would move the terminal's cursor without the tutor's knowledge.
fn printable(line: &str) -> String {
    console::strip_ansi_codes(line)
        .replace('\t', "    ")
        .chars()
        .filter(|character| !character.is_control())
        .take(LONGEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_printable_and_the_oldest_go_first() {
        let mut journal = Journal::default();
        journal.add(Voice::Output, "\x1b[31mred\x1b[0m\tand\u{7} bell\n\nsecond");
        let texts: Vec<&str> = journal
            .entries
            .iter()
            .map(|entry| entry.text.as_str())
            .collect();
        assert_eq!(texts, ["red    and bell", "second"]);
        for n in 0..3000 {
            journal.add(Voice::Output, &format!("line {n}"));
        }
        assert_eq!(journal.entries.len(), MAX_ENTRIES);
        assert_eq!(
            journal.entries.iter().next_back().unwrap().text,
            "line 2999"
        );
        journal.add(Voice::Stderr, "a\nb\nc");
        assert_eq!(journal.entries_of(Voice::Stderr).count(), 3);
    }
}
