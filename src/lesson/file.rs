//! A course file: reads its text into a document, and reports problems with their lines.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::locate::{TextPosition, locate};
use crate::{CourseSource, Problem, limits};

/// A course file with its text, which can locate problems.
pub struct CourseFile {
    name: String,
    pub text: Arc<String>,
}

impl CourseFile {
    /// # Errors
    /// If it cannot be read, or is refused unread.
    pub fn open(source: &CourseSource, path: &str) -> Result<Self, Problem> {
        let name = source.display(path);
        match source.read(path) {
            Ok(text) => match limits::refused_text(&text) {
                None => Ok(Self {
                    name,
                    text: Arc::new(text),
                }),
                Some(why) => Err(Problem::new(&name, &Arc::default(), None, why.into())),
            },
            Err(message) => Err(Problem::new(&name, &Arc::default(), None, message)),
        }
    }

    pub(super) fn parse<T: DeserializeOwned>(&self, problems: &mut Vec<Problem>) -> Option<T> {
        serde_yaml::from_str(&self.text)
            .map_err(|error| problems.push(self.unreadable(&error)))
            .ok()
    }

    fn unreadable(&self, error: &serde_yaml::Error) -> Problem {
        let position = error.location().map(|at| TextPosition {
            line: at.line(),
            column: at.column(),
        });
        let text = error.to_string();
        // The report itself shows the position.
        let message = text
            .rsplit_once(" at line ")
            .map_or(text.as_str(), |(message, _)| message)
            .to_string();
        let position =
            position.map(|start| repeated_key(&self.text, start, &message).unwrap_or(start));
        let problem = Problem::new(&self.name, &self.text, position, message);
        match nearest_key(&problem.message) {
            Some(key) => problem.with_help(format!("did you mean `{key}`?")),
            None => problem,
        }
    }

    /// `line` counts from 1.
    pub fn problem_in_line(&self, line: usize, message: String) -> Problem {
        let position = Some(TextPosition { line, column: 1 });
        Problem::new(&self.name, &self.text, position, message)
    }

    /// A problem about the node at `path`.
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        Problem::new(
            &self.name,
            &self.text,
            locate(&self.text, path),
            message.into(),
        )
    }
}

/// Position of the second occurrence of the key in serde's "duplicate field `a`", in the mapping that begins
/// at `start`.
fn repeated_key(text: &str, start: TextPosition, message: &str) -> Option<TextPosition> {
    let key = message
        .split_once("duplicate field `")?
        .1
        .trim_end_matches('`');
    let is_key = |line: &str| {
        // Only a hyphen or nothing stands before the first key of a mapping.
        let (before, rest) = line.split_at_checked(start.column - 1)?;
        (before.trim_matches([' ', '-']).is_empty() && rest.strip_prefix(key)?.starts_with(':'))
            .then_some(())
    };
    let mut lines = text
        .lines()
        .enumerate()
        .skip(start.line - 1)
        .filter(|(_, line)| is_key(line).is_some());
    let (index, _) = lines.nth(1)?;
    Some(TextPosition {
        line: index + 1,
        column: start.column,
    })
}

/// The allowed key that is most similar to the unknown one of serde's "unknown field `a`, expected one of `b`, `c`".
fn nearest_key(message: &str) -> Option<String> {
    let (_, list) = message.split_once("unknown field ")?;
    let mut names = list.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    names
        .map(|name| (strsim::jaro_winkler(unknown, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}
