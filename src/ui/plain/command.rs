//! The commands of the plain dialogue.

use tinyllama_runs::Speed;

/// A parsed line of input.
#[derive(Clone, Debug, PartialEq)]
pub enum DialogueCommand {
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
    /// Lets Enter play recordings instead of starting runs, or start them again.
    Recordings(bool),
    Check,
    /// Asks earlier questions again.
    Recall,
    Outline,
    Open(String),
    Page(String),
    /// Takes this path; lists the paths if the name is empty.
    Path(String),
    SkipLesson(String),
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
recording [N]  play the step's run from another machine, N times as fast (16), such as 4 or 0.5, or end
recordings on  let enter play recordings instead of starting runs; `recordings off` ends it
check          evaluate the checks again
skip [NOTE]    leave this step undone
skip-lesson [NOTE]
               leave the open steps of this lesson undone
import FILE    read a profile made elsewhere
again          say this step once more
recall         answer earlier questions again; after the last step, a test
outline        all lessons with their state
open LESSON    open a lesson, by its id or number
path [NAME]    list the parts of the course, or take one
page NAME      a page of reference, such as glossary
messages       an instructor's messages
help, quit
A question is answered with its number or the letter in front of a choice.
Ctrl-C stops the current run.";

/// Parses a line. `accepts_text` says that the step waits for free text, which may begin with any word.
pub fn parse(line: &str, accepts_text: bool) -> Result<DialogueCommand, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if accepts_text
        && !rest.is_empty()
        && !matches!(word, "skip" | "skip-lesson" | "open" | "page" | "path")
    {
        return Ok(DialogueCommand::Text(line.into()));
    }
    Ok(match word.to_lowercase().as_str() {
        "" => DialogueCommand::Go,
        "next" | "n" => DialogueCommand::Next,
        "back" | "previous" | "p" => DialogueCommand::Back,
        "hint" | "h" => DialogueCommand::Hint,
        "skip" => DialogueCommand::Skip(rest.into()),
        "skip-lesson" => DialogueCommand::SkipLesson(rest.into()),
        "path" => DialogueCommand::Path(rest.into()),
        "run" | "r" if rest.is_empty() => DialogueCommand::Run(None),
        "run" | "r" => match shlex::split(rest) {
            Some(flags) => DialogueCommand::Run(Some(flags)),
            None => return Err("A quotation mark is not closed.".into()),
        },
        "recording" if rest.is_empty() => DialogueCommand::Recording(Speed::SIXTEEN),
        "recording" => DialogueCommand::Recording(rest.parse()?),
        "recordings" => match rest {
            "on" => DialogueCommand::Recordings(true),
            "off" => DialogueCommand::Recordings(false),
            _ => return Err("Write `recordings on` or `recordings off`.".into()),
        },
        "check" => DialogueCommand::Check,
        "recall" => DialogueCommand::Recall,
        "outline" | "o" => DialogueCommand::Outline,
        "open" if !rest.is_empty() => DialogueCommand::Open(rest.into()),
        "page" if !rest.is_empty() => DialogueCommand::Page(rest.into()),
        "import" if !rest.is_empty() => DialogueCommand::Import(rest.into()),
        "open" | "page" | "import" => return Err(format!("`{word}` needs a name after it.")),
        "again" => DialogueCommand::Again,
        "messages" => DialogueCommand::Messages,
        "help" | "?" => DialogueCommand::Help,
        "quit" | "exit" | "q" => DialogueCommand::Quit,
        _ => DialogueCommand::Text(line.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_begins_like_a_command_is_a_sentence_where_text_is_asked_for() {
        assert_eq!(parse("run", false), Ok(DialogueCommand::Run(None)));
        let flags = vec!["--num-steps".to_string(), "5".into()];
        assert_eq!(
            parse("run --num-steps 5", false),
            Ok(DialogueCommand::Run(Some(flags)))
        );
        let sentence = "run time is spent in backward";
        assert_eq!(
            parse(sentence, true),
            Ok(DialogueCommand::Text(sentence.into()))
        );
        assert_eq!(parse("", true), Ok(DialogueCommand::Go));
        assert_eq!(parse("QUIT", true), Ok(DialogueCommand::Quit));
        assert_eq!(
            parse("recording end", false),
            Ok(DialogueCommand::Recording(Speed::END))
        );
        assert!(parse("recording -3", false).is_err());
        assert!(parse("run 'x", false).is_err());
        assert!(parse("open", false).is_err());
    }
}
