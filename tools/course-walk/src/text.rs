//! The progress and the result of a walk, as text and as a document.

use std::io::{self, Write};

use serde_json::{Value, json};
use tinyllama_base::plural;
use tinyllama_lesson::Style;

use crate::Progress;
use crate::report::{WalkOutcome, WalkReport, WalkedStep};

/// Prints the progress line by line.
pub fn print_progress(progress: Progress) {
    match progress {
        Progress::Lesson { id, number, of } => eprintln!("lesson {number} of {of}: {id}"),
        Progress::Needed { lesson, step } => eprintln!("needed later: {lesson}/{step}"),
        Progress::Run { argv } => {
            let argv = argv.iter().skip(1).map(|word| word.to_string_lossy());
            eprintln!("  running  {}", itertools::join(argv, " "));
        }
        Progress::Step { step } => print_step(step),
    }
}

fn print_step(step: &WalkedStep) {
    let (result, why) = match &step.result {
        WalkOutcome::Done => ("ok", String::new()),
        WalkOutcome::InPart(why) => ("in part", format!(": {why}")),
        WalkOutcome::Skipped(why) => ("skipped", format!(": {why}")),
        WalkOutcome::Failed => ("FAILED", String::new()),
    };
    let time = match step.seconds {
        seconds if seconds > 0.0 => format!(", {seconds:.1} s"),
        _ => String::new(),
    };
    eprintln!("  {result:<8} {} ({}{time}){why}", step.id, step.kind);
    for note in &step.notes {
        eprintln!("             {note}");
    }
}

impl WalkReport {
    /// Writes the problems, and a line that counts the steps by their outcomes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, out: &mut impl Write, style: Style) -> io::Result<()> {
        for problem in self.problems() {
            writeln!(out, "{}", problem.render(style))?;
        }
        let count = |wanted: fn(&WalkOutcome) -> bool| {
            let steps = self.steps();
            steps.filter(|(_, step)| wanted(&step.result)).count()
        };
        let lessons = plural(self.lessons.len(), "lesson");
        let problems = plural(self.problems().count(), "problem");
        let done = count(|result| *result == WalkOutcome::Done);
        let part = count(|result| matches!(result, WalkOutcome::InPart(_)));
        let skipped = count(|result| matches!(result, WalkOutcome::Skipped(_)));
        let failed = count(|result| *result == WalkOutcome::Failed);
        writeln!(
            out,
            "{lessons}: {done} steps done, {part} in part, {skipped} skipped, {failed} failed; {problems}"
        )
    }

    /// The report as JSON.
    pub fn document(&self) -> Value {
        let step = |step: &WalkedStep| {
            json!({
                "id": step.id,
                "kind": step.kind,
                "outcome": step.result,
                "seconds": step.seconds,
                "checks": step.checks,
                "notes": step.notes,
                "problems": step.problems,
            })
        };
        let lessons = self.lessons.iter().map(|lesson| {
            let steps: Vec<_> = lesson.steps.iter().map(step).collect();
            json!({ "id": lesson.id, "problems": lesson.problems, "steps": steps })
        });
        let lessons: Vec<_> = lessons.collect();
        json!({ "sound": self.is_sound(), "lessons": lessons })
    }
}
