//! The commands of the plain dialogue.

use crate::run::Speed;

/// A parsed line of input.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Does the step's task, or goes on.
    Go,
    Next,
    Back,
    Hint,
    Skip(String),
    /// Starts the run, with these flags if any are given.
    Run(Option<Vec<String>>),
    /// Plays the recording for this step at this speed.
    Recording(Speed),
    Check,
    Outline,
    Open(String),
    Page(String),
    Import(String),
    Again,
    Messages,
    Help,
    Quit,
    /// Any other text: an answer, if the step asks for one.
    Text(String),
}

pub const HELP: &str = "\
enter          do what the step asks, or go on
next, back     the next step, the one before
hint           the next hint
run [FLAGS]    start the step's run, with other flags if given
recording [N]  play the step's run from another machine, N times as fast: 1, 4, 16, or end
check          evaluate the checks again
skip [NOTE]    leave this step undone
import FILE    read a profile made elsewhere
again          say this step once more
outline        all lessons with their state
open LESSON    open a lesson, by its id or number
page NAME      a page of reference, such as glossary
messages       an instructor's messages
help, quit
A question is answered with its number or the letter in front of a choice.
Ctrl-C stops the current run.";

/// Parses a line. `accepts_text` says that the step waits for free text, which may begin with any word.
pub fn parse(line: &str, accepts_text: bool) -> Result<Command, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if accepts_text && !rest.is_empty() && !matches!(word, "skip" | "open" | "page") {
        return Ok(Command::Text(line.into()));
    }
    Ok(match word.to_lowercase().as_str() {
        "" => Command::Go,
        "next" | "n" => Command::Next,
        "back" | "previous" | "p" => Command::Back,
        "hint" | "h" => Command::Hint,
        "skip" => Command::Skip(rest.into()),
        "run" | "r" if rest.is_empty() => Command::Run(None),
        "run" | "r" => match shlex::split(rest) {
            Some(flags) => Command::Run(Some(flags)),
            None => return Err("A quotation mark is not closed.".into()),
        },
        "recording" if rest.is_empty() => Command::Recording(Speed::Sixteen),
        "recording" => Command::Recording(rest.parse()?),
        "check" => Command::Check,
        "outline" | "o" => Command::Outline,
        "open" if !rest.is_empty() => Command::Open(rest.into()),
        "page" if !rest.is_empty() => Command::Page(rest.into()),
        "import" if !rest.is_empty() => Command::Import(rest.into()),
        "open" | "page" | "import" => return Err(format!("`{word}` needs a name after it.")),
        "again" => Command::Again,
        "messages" => Command::Messages,
        "help" | "?" => Command::Help,
        "quit" | "exit" | "q" => Command::Quit,
        _ => Command::Text(line.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_begins_like_a_command_is_a_sentence_where_text_is_asked_for() {
        assert_eq!(parse("run", false), Ok(Command::Run(None)));
        let flags = vec!["--num-steps".to_string(), "5".into()];
        assert_eq!(
            parse("run --num-steps 5", false),
            Ok(Command::Run(Some(flags)))
        );
        let sentence = "run time is spent in backward";
        assert_eq!(parse(sentence, true), Ok(Command::Text(sentence.into())));
        assert_eq!(parse("", true), Ok(Command::Go));
        assert_eq!(parse("QUIT", true), Ok(Command::Quit));
        assert_eq!(
            parse("recording end", false),
            Ok(Command::Recording(Speed::End))
        );
        assert!(parse("recording 3", false).is_err());
        assert!(parse("run 'x", false).is_err());
        assert!(parse("open", false).is_err());
    }
}
