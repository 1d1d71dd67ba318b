//! A command line whose every word can be explained.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Request;
use super::installed::Installed;
use super::version::Flag;
use crate::base::table::push_wrapped;

/// A flag with its values, or another part of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub words: Vec<OsString>,
    pub explanation: String,
}

/// A command ready to print, edit or run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub parts: Vec<Part>,
    /// Files that must be there before it runs.
    pub files: Vec<(PathBuf, String)>,
    /// Folder the output goes to, which is made first.
    pub folder: PathBuf,
    /// What a reader should know: flags this version lacks, replays.
    pub notes: Vec<String>,
}

impl CommandLine {
    /// All words, the program first.
    pub fn words(&self) -> Vec<OsString> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.words.clone()).collect()
    }

    /// The line as a shell takes it.
    pub fn shell(&self) -> String {
        quoted(&self.words())
    }

    /// The line as the user changed it; `None` when a quotation mark is left open. Explanations end with the edit.
    pub fn edited(&self, shell: &str) -> Option<CommandLine> {
        let words = shlex::split(shell)?;
        Some(CommandLine {
            parts: vec![Part {
                words: words.into_iter().map(OsString::from).collect(),
                explanation: "as you changed it".to_owned(),
            }],
            ..self.clone()
        })
    }

    /// The line, then each part with what it does.
    pub fn explained(&self, width: usize) -> String {
        let mut text = format!("{}\n\n", self.shell());
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", quoted(&part.words));
            push_wrapped(&mut text, &part.explanation, width);
        }
        for (path, content) in &self.files {
            let _ = writeln!(text, "\n{} is written first:", path.display());
            for line in content.lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        for note in &self.notes {
            text.push('\n');
            push_wrapped(&mut text, note, width);
        }
        text
    }
}

fn quoted(words: &[OsString]) -> String {
    // Only a word with a zero byte cannot be quoted, and no command line can hold one.
    let bytes = shlex::bytes::try_join(words.iter().map(|word| word.as_bytes()));
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Builds a line part by part, leaving out the flags the installed version does not know.
pub struct Builder<'a> {
    line: CommandLine,
    request: &'a Request,
    installed: &'a Installed,
}

impl<'a> Builder<'a> {
    pub fn new(request: &'a Request, installed: &'a Installed, program: &Path, does: &str) -> Self {
        let mut builder = Builder {
            line: CommandLine {
                folder: request.folder.clone(),
                ..CommandLine::default()
            },
            request,
            installed,
        };
        if !request.launcher.is_empty() {
            let does = "launches the profiler where the GPU is";
            builder.part(request.launcher.clone(), does);
        }
        builder.part(vec![program.into()], does);
        builder
    }

    pub fn part(&mut self, words: Vec<OsString>, explanation: &str) {
        self.line.parts.push(Part {
            words,
            explanation: explanation.to_owned(),
        });
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.line.notes.push(note.into());
    }

    pub fn file(&mut self, path: PathBuf, content: String) {
        self.line.files.push((path, content));
    }

    /// Adds a flag; false when the installed version lacks it.
    pub fn flag<V: Into<OsString>>(
        &mut self,
        flag: &Flag,
        values: impl IntoIterator<Item = V>,
    ) -> bool {
        if !self.installed.knows(flag) {
            return false;
        }
        let mut words = vec![OsString::from(flag.name)];
        words.extend(values.into_iter().map(Into::into));
        self.part(words, flag.explanation);
        true
    }

    /// Adds a flag without a value.
    pub fn switch(&mut self, flag: &Flag) -> bool {
        self.flag::<OsString>(flag, [])
    }

    pub fn target(&mut self) {
        let does = "ends the profiler's own flags; without it the profiler takes the program's name for a value";
        self.part(vec!["--".into()], does);
        let does = "the program to profile, with its own flags";
        self.part(self.request.target.clone(), does);
    }

    pub fn finish(self) -> CommandLine {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_a_shell_would_take_apart_are_quoted() {
        let line = CommandLine {
            parts: vec![Part {
                words: ["rocprofv3", "-o", "a b", "it's", "$HOME", "--x=[1-2]"]
                    .map(OsString::from)
                    .to_vec(),
                explanation: String::new(),
            }],
            ..CommandLine::default()
        };
        let back = shlex::split(&line.shell()).unwrap();
        assert_eq!(
            back,
            ["rocprofv3", "-o", "a b", "it's", "$HOME", "--x=[1-2]"]
        );
    }
}
