//! A command line in which every part has an explanation.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ProfileRequest;
use super::installed::Installed;
use super::version::ToolFlag;
use tinyllama_base::push_wrapped;

/// A flag with its values, or another part of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePart {
    pub args: Vec<OsString>,
    pub explanation: String,
}

/// A command line to print, edit or run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub parts: Vec<LinePart>,
    /// Files that have to exist before the command runs.
    pub files: Vec<(PathBuf, String)>,
    /// Folder of the output. It is created before the run.
    pub folder: PathBuf,
    /// Notes for the reader, such as flags that this version lacks, or replays.
    pub notes: Vec<String>,
}

impl CommandLine {
    /// All arguments, the program first.
    pub fn args(&self) -> Vec<OsString> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.args.clone()).collect()
    }

    /// The line in a shell's syntax.
    pub fn shell(&self) -> String {
        quoted(&self.args())
    }

    /// Replaces the line by the user's edit. Returns `None` if a quotation mark is left open. An edited line has no
    /// explanations.
    pub fn edited(&self, shell: &str) -> Option<CommandLine> {
        let args = shlex::split(shell)?;
        Some(CommandLine {
            parts: vec![LinePart {
                args: args.into_iter().map(OsString::from).collect(),
                explanation: "as you changed it".to_owned(),
            }],
            ..self.clone()
        })
    }

    /// Prints the line, then each part with its explanation.
    pub fn explained(&self, width: usize) -> String {
        let mut text = format!("{}\n\n", self.shell());
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", quoted(&part.args));
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

fn quoted(args: &[OsString]) -> String {
    // Only a zero byte cannot be quoted, and no command line can contain one.
    let bytes = shlex::bytes::try_join(args.iter().map(|word| word.as_bytes()));
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// The tool lacks a flag that the task needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tool} has no {flag}, which {does}: {why}")]
pub struct LacksFlag {
    tool: String,
    flag: String,
    does: &'static str,
    why: String,
    program: PathBuf,
}

impl LacksFlag {
    fn new(request: &ProfileRequest, installed: &Installed, flag: &ToolFlag) -> Self {
        let name = request.task.tool().name();
        let tool = match installed.version {
            Some(version) => format!("{name} {version}"),
            None => format!("{name} of an unknown version"),
        };
        let why = match (flag.present_since(), installed.version) {
            (Some(since), Some(version)) if version < since => format!("it came with {since}"),
            _ => "its help does not name it".to_owned(),
        };
        LacksFlag {
            tool,
            flag: flag.names(),
            does: flag.explanation,
            why,
            program: installed.program.clone(),
        }
    }

    pub fn remedy(&self) -> String {
        format!(
            "Use a version that has it, or write the command yourself: `{} --help` lists the flags of this one. `--for-rocm X.Y` shows the command for another version.",
            self.program.display()
        )
    }
}

/// For flags without a value.
pub const NO_VALUE: &[&str] = &[];

/// Builds a line part by part. A flag that the installed version lacks never disappears silently: either the line ends
/// with an error, or a note says how its output differs.
pub struct LineBuilder<'a> {
    line: CommandLine,
    request: &'a ProfileRequest,
    installed: &'a Installed,
    lacking: Option<LacksFlag>,
}

impl<'a> LineBuilder<'a> {
    pub fn new(
        request: &'a ProfileRequest,
        installed: &'a Installed,
        program: &Path,
        does: &str,
    ) -> Self {
        let mut builder = LineBuilder {
            line: CommandLine {
                folder: request.folder.clone(),
                ..CommandLine::default()
            },
            request,
            installed,
            lacking: None,
        };
        if !request.launcher.is_empty() {
            let does = "launches the profiler where the GPU is";
            builder.part(request.launcher.clone(), does);
        }
        builder.part(vec![program.into()], does);
        if let Some(rocm) = installed.assumed_rocm {
            let tool = request.task.tool();
            builder.note(format!(
                "Written for {}, because no installed tool said its version. Add `--for-rocm X.Y` to `tinyllama-tutor profile` for another version.",
                tool.release(rocm)
            ));
        }
        builder
    }

    pub fn part(&mut self, args: Vec<OsString>, explanation: &str) {
        self.line.parts.push(LinePart {
            args,
            explanation: explanation.to_owned(),
        });
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.line.notes.push(note.into());
    }

    pub fn file(&mut self, path: PathBuf, content: String) {
        self.line.files.push((path, content));
    }

    /// Adds a flag that the task cannot do without.
    pub fn require(&mut self, flag: &ToolFlag, values: &[impl AsRef<OsStr>]) {
        match self.installed.spelling(flag) {
            Some(word) => self.flag(word, flag, values),
            None => {
                let lacking = LacksFlag::new(self.request, self.installed, flag);
                self.lacking.get_or_insert(lacking);
            }
        }
    }

    /// Adds a flag that the task can do without.
    pub fn add_if_supported(&mut self, flag: &ToolFlag, values: &[impl AsRef<OsStr>]) {
        match self.installed.spelling(flag) {
            Some(word) => self.flag(word, flag, values),
            None => self.note(format!(
                "There is no {} here: {}",
                flag.names(),
                flag.without
            )),
        }
    }

    /// Adds a flag that is needed in the versions that have it. Others work without it.
    pub fn require_if_known(&mut self, flag: &ToolFlag, values: &[impl AsRef<OsStr>]) {
        let version = self.installed.version;
        let exists = version
            .and_then(|version| flag.spelling_in(version))
            .is_some();
        if exists || self.installed.knows(flag) {
            self.require(flag, values);
        }
    }

    fn flag(&mut self, word: &str, flag: &ToolFlag, values: &[impl AsRef<OsStr>]) {
        let mut args = vec![OsString::from(word)];
        args.extend(values.iter().map(|value| value.as_ref().to_owned()));
        self.part(args, flag.explanation);
    }

    pub fn target(&mut self) {
        let does = "ends the profiler's own flags; without it the profiler takes the program's name for a value";
        self.part(vec!["--".into()], does);
        let does = "the program to profile, with its own flags";
        self.part(self.request.target.clone(), does);
    }

    /// Returns the finished line.
    ///
    /// # Errors
    /// Fails if the tool lacks a flag that the task needs.
    pub fn finish(self) -> Result<CommandLine, LacksFlag> {
        match self.lacking {
            Some(lacking) => Err(lacking),
            None => Ok(self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_a_shell_would_take_apart_are_quoted() {
        let line = CommandLine {
            parts: vec![LinePart {
                args: ["rocprofv3", "-o", "a b", "it's", "$HOME", "--x=[1-2]"]
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
