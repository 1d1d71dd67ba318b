//! A program with a mistake: the learner measures, names a suspect, and runs a fix.

use super::*;
use tinyllama_base::plural;
use tinyllama_lesson::case::ANSWERS;
use tinyllama_lesson::{Case, CaseMove, live};
use tinyllama_session::{Evidence, Standing};

impl StepBehavior for Case {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[(Action::View, "figures"), (Action::Play, "recording")]
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::Run)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let standing = Standing::from_progress(self, &context.progress, context.state);
        let mut blocks = vec![
            Block::Job(self.flags.clone()),
            Block::Offer,
            Block::RunPhase,
        ];
        let evidence = standing.evidence(self);
        if !evidence.is_empty() {
            blocks.extend([Block::News, Block::strong("What you know")]);
        }
        for Evidence { text, run } in evidence {
            let seen = context.measured.seen(run);
            let text = live::fill(&text, context.lesson, seen);
            blocks.extend([Block::Markdown(text), Block::Blank]);
        }
        let taken = plural(standing.measurements, "measurement");
        let missing = standing.missing(self);
        blocks.extend([
            Block::Blank,
            Block::strong(format!("{taken} taken. {missing}")),
            Block::Menu(menu(self, &standing, context.marked)),
        ]);
        let primary = PrimaryAction::Choose {
            does: "choose what to do",
            first: "Move to a line first, with the arrow keys or its number.",
            by_digit: false,
        };
        (blocks, primary)
    }

    fn solution(&self, at: StepRef, _: &Golden) -> Option<SessionEvent> {
        let suspect = self.guilty()?.id.clone();
        Some(SessionEvent::Suspected { at, suspect })
    }
}

/// The menu: the answers to an open question about a measurement, else all measurements, all suspects, and the fix
/// of the current suspect.
fn menu(case: &Case, standing: &Standing, marked: Option<&MarkedAnswer>) -> Vec<MenuLine> {
    if let Some(asked) = standing.asked(case) {
        let choices = case.measurements[asked].choices.iter().enumerate();
        let choices = choices.map(|(index, choice)| {
            let answer = QuizAnswer::Choice(asked * ANSWERS + index);
            let marked = marked.filter(|marked| marked.answer == answer);
            MenuLine {
                text: choice.text.clone(),
                mark: marked.map_or(Mark::None, |_| Mark::Wrong),
                comment: marked.map_or(String::new(), |it| format!("Not so. {}", it.because)),
                does: "answer",
                act: MenuAction::Give(Given::Answer(answer)),
            }
        });
        return choices.collect();
    }
    let line = |text, mark, does, act| MenuLine {
        text,
        mark,
        comment: String::new(),
        does,
        act,
    };
    let done = |done| if done { Mark::Done } else { Mark::None };
    let run = |case_move| MenuAction::Run(case_move, case.flags_of(case_move).unwrap_or_default());
    let measurements = case.measurements.iter().enumerate();
    let measurements = measurements.map(|(index, measurement)| {
        let text = format!("Measure: {}", measurement.text);
        line(
            text,
            done(standing.taken.contains(&index)),
            "take this measurement",
            run(CaseMove::Measure(index)),
        )
    });
    let suspects = case.suspects.iter().enumerate();
    let suspects = suspects.map(|(index, suspect)| {
        // A mark is a verdict, which only the run with the fix gives.
        let text = match standing.suspect == Some(index) {
            true => format!("Suspect (named): {}", suspect.text),
            false => format!("Suspect: {}", suspect.text),
        };
        let mark = match (standing.fixed.contains(&index), suspect.guilty) {
            (false, _) => Mark::None,
            (true, true) => Mark::Done,
            (true, false) => Mark::Wrong,
        };
        let act = MenuAction::Give(Given::Suspect(suspect.id.clone()));
        line(text, mark, "name this suspect", act)
    });
    let fix = standing.suspect.and_then(|index| {
        let suspect = case.suspects.get(index)?;
        let text = format!("Fix it: run {} --fix {}", case.target, suspect.fix);
        Some(line(
            text,
            done(standing.fixed.contains(&index)),
            "run with this fix",
            run(CaseMove::Fix(index)),
        ))
    });
    measurements.chain(suspects).chain(fix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::QuizChoice;
    use tinyllama_lesson::case::{Measurement, Suspect};
    use tinyllama_session::{AnswerGiven, SessionState, StepProgress};

    fn case() -> Case {
        let suspect = |id: &str, guilty| Suspect {
            id: id.into(),
            text: id.into(),
            fix: id.into(),
            guilty,
            recording: None,
            because: String::new(),
        };
        let choice = |text: &str, correct| QuizChoice {
            text: text.into(),
            correct,
            when: None,
            because: String::new(),
        };
        Case {
            target: "stage2".into(),
            flags: Vec::new(),
            suspects: vec![suspect("init", false), suspect("layout", true)],
            measurements: vec![Measurement {
                id: "kernels".into(),
                text: "kernels".into(),
                flags: Vec::new(),
                recording: None,
                shows: String::new(),
                choices: vec![choice("first", false), choice("second", true)],
                convicts: true,
            }],
        }
    }

    fn texts(standing: &Standing) -> Vec<String> {
        let lines = menu(&case(), standing, None).into_iter();
        lines.map(|line| line.text).collect()
    }

    #[test]
    fn the_answers_to_an_open_question_come_before_the_next_moves() {
        let mut standing = Standing::default();
        standing.taken = vec![0];
        assert_eq!(texts(&standing), ["first", "second"]);
        let mut progress = StepProgress::default();
        progress.answers.push(AnswerGiven {
            answer: 1.0,
            correct: true,
        });
        let mut standing = Standing::from_progress(&case(), &progress, &SessionState::default());
        standing.taken = vec![0];
        assert_eq!(texts(&standing)[0], "Measure: kernels");
    }

    #[test]
    fn only_the_fix_of_the_suspect_is_on_the_menu() {
        let mut standing = Standing::default();
        let has_fix = |lines: &[String]| lines.iter().any(|line| line.contains("--fix"));
        assert!(!has_fix(&texts(&standing)));
        standing.suspect = Some(0);
        let lines = texts(&standing);
        assert!(lines.last().unwrap().contains("run stage2 --fix init"));
    }
}
