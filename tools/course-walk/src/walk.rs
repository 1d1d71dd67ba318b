//! Walks through a lesson as a learner does, step by step, and records the problems.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::report::{WalkOutcome, WalkedLesson, WalkedStep};
use crate::visit::Visit;
use crate::{Progress, VerifyOptions};
use tinyllama_base::ScratchFolder;
use tinyllama_lesson::Job;
use tinyllama_lesson::kinds::StepKind;
use tinyllama_lesson::{
    CaseMove, Course, CourseSource, Lesson, Problem, Step, Undecided, exact, problem_in,
};
use tinyllama_session::progress::progress;
use tinyllama_session::{
    Access, CheckedKernel, MeasuredRuns, Session, StepRef, StepStatus, access,
};
use tinyllama_workbench::Exercise;

/// A lesson whose planned time exceeds this multiple of its estimate counts as a mistake.
const MOST_SLACK: f64 = 2.5;

pub(crate) struct LessonWalker<'a> {
    pub(crate) course: &'a Course,
    pub(crate) source: &'a CourseSource,
    pub(crate) options: &'a VerifyOptions,
    pub session: Session,
    /// Lessons that were walked from end to end.
    pub(crate) walked: BTreeSet<String>,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

impl LessonWalker<'_> {
    /// Makes a run that other lessons refer to.
    pub fn needed(&mut self, lesson: &Lesson, step: &Step) -> Result<()> {
        (self.progress)(Progress::Needed {
            lesson: &lesson.id,
            step: &step.id,
        });
        let at = StepRef::new(&lesson.id, &step.id);
        let flags = step.golden_flags();
        match step.job() {
            Some(Job::Run(target)) => {
                self.start(at.clone(), &target, flags)?;
            }
            Some(Job::Command(command)) => {
                self.command_run(at.clone(), command, flags)?;
            }
            None => {}
        }
        if let Some(case) = step.as_case() {
            let guilty = case.suspects.iter().position(|suspect| suspect.guilty);
            let fix = guilty.and_then(|index| case.flags_of(CaseMove::Fix(index)));
            self.start(at, &case.target, &fix.unwrap_or_default())?;
        }
        Ok(())
    }

    pub fn lesson(&mut self, lesson: &Lesson) -> Result<WalkedLesson> {
        let mut problems = self.needed_before(lesson);
        let mut steps = Vec::new();
        let path = self.options.path.as_ref();
        let on_path = |step: &Step| path.is_none_or(|it| it.has_step(&lesson.id, &step.id));
        let on_path = lesson
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| on_path(step));
        for (index, step) in on_path {
            let report = self.step(lesson, index, step)?;
            (self.progress)(Progress::Step { step: &report });
            steps.push(report);
        }
        self.predictions(lesson, &mut steps)?;
        let is_sound = steps.iter().all(|step| step.problems.is_empty());
        if is_sound && !progress(self.session.state(), lesson).is_finished() {
            let message = "every step was done, and the lesson is not finished";
            problems.push(problem_in(self.source, lesson, "steps", message));
        }
        self.walked.insert(lesson.id.clone());
        Ok(WalkedLesson {
            id: lesson.id.clone(),
            steps,
            problems,
        })
    }

    /// Problems that are visible before the lesson is walked.
    fn needed_before(&self, lesson: &Lesson) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |key, message: String| {
            problems.push(problem_in(self.source, lesson, key, message));
        };
        if f64::from(lesson.minutes) > MOST_SLACK * lesson.estimated_minutes() {
            refuse("minutes", lesson.minutes_problem());
        }
        // Nothing is known about lessons that were not walked.
        let all_walked = lesson.requires.iter().all(|id| self.walked.contains(id));
        if (all_walked || self.options.path.is_some())
            && let Access::Locked(missing) = access(self.course, self.session.state(), lesson)
        {
            let message = format!(
                "it is still locked when its turn comes: {} is not finished",
                missing.join(", ")
            );
            refuse("requires", message);
        }
        problems
    }

    fn step(&mut self, lesson: &Lesson, index: usize, step: &Step) -> Result<WalkedStep> {
        let mut visit = Visit {
            source: self.source,
            lesson,
            step,
            index,
            problems: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
            seconds: 0.0,
        };
        self.session.enter(lesson, step)?;
        self.text(&mut visit)?;
        let skipped = self.take(&mut visit)?;
        self.hints(&mut visit)?;
        if let Some(why) = &skipped {
            self.session.skip(visit.step_ref(), why)?;
        }
        let status = self.session.state().progress(&visit.step_ref()).status;
        if visit.problems.is_empty() && status == StepStatus::Open {
            visit.problem("", "everything it asks for was done, and it is still open");
        }
        Ok(WalkedStep {
            id: step.id.clone(),
            kind: step.kind().name(),
            result: match skipped {
                _ if !visit.problems.is_empty() => WalkOutcome::Failed,
                Some(why) if step.as_run().is_some() => WalkOutcome::InPart(why),
                Some(why) => WalkOutcome::Skipped(why),
                None => WalkOutcome::Done,
            },
            problems: visit.problems,
            checks: visit.checks,
            notes: visit.notes,
            seconds: visit.seconds,
        })
    }

    /// Takes the step: every wrong way, then the right one. Returns the reason if it was skipped.
    fn take(&mut self, visit: &mut Visit) -> Result<Option<String>> {
        let (step, golden) = (visit.step, &visit.step.golden);
        match &step.kind {
            StepKind::Read(_) => Ok(None),
            StepKind::Predict(_) => {
                if let Some(guess) = golden.number {
                    self.session.predict(visit.step_ref(), guess)?;
                }
                Ok(None)
            }
            StepKind::Run(_) => self.run(visit),
            StepKind::Command(command) => self.command(visit, command),
            StepKind::Investigate(case) => self.investigate(visit, case),
            StepKind::Compare(compare) => self.compare(visit, compare),
            StepKind::Profile(_) => {
                self.sample(visit)?;
                Ok(Some("needs AMD's profilers and an AMD GPU".into()))
            }
            StepKind::Quiz(quiz) => self.quiz(visit, quiz),
            StepKind::Kernel(kernel) => self.kernel(visit, kernel.exercise),
            StepKind::Reflect(_) => {
                let text = golden.text.as_deref().unwrap_or_default();
                self.session.reflect(visit.step_ref(), text)?;
                Ok(None)
            }
        }
    }

    /// Checks that the solution passes its check, if kernels can be compiled here.
    pub fn kernel(&mut self, visit: &Visit<'_>, exercise: &Exercise) -> Result<Option<String>> {
        let folder = ScratchFolder::new()?;
        let path = folder.path().join(exercise.file_name());
        std::fs::write(&path, exercise.solution()?)?;
        match CheckedKernel::without_gpu(exercise, &path, &mut |_| {}) {
            Ok(tried) => {
                self.session.check_kernel(visit.step_ref(), &tried)?;
                // Commands of later steps read the learner's file.
                let own = self.session.location.workbench().join(exercise.file_name());
                std::fs::write(own, exercise.solution()?)?;
                Ok(None)
            }
            Err(error) => Ok(Some(format!("{error:#}"))),
        }
    }

    /// Checks that every predicted quantity has been measured by the end of the lesson.
    fn predictions(&self, lesson: &Lesson, steps: &mut [WalkedStep]) -> Result<()> {
        let runs = self.measured()?;
        for (index, step) in lesson.steps.iter().enumerate() {
            let report = steps.iter_mut().find(|report| report.id == step.id);
            let (Some(predict), Some(report)) = (step.as_predict(), report) else {
                continue;
            };
            match exact(&predict.measure, &runs) {
                Ok(_) => {}
                Err(Undecided::NotReported(figure)) => report.notes.push(format!(
                    "the guess stays open: {figure} is not reported here"
                )),
                Err(_) => {
                    let path = format!("steps/{index}/measure");
                    let message = "what is guessed here was not measured in this lesson";
                    let problem = problem_in(self.source, lesson, &path, message);
                    report.problems.push(problem);
                    report.result = WalkOutcome::Failed;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn measured(&self) -> Result<MeasuredRuns> {
        Ok(self.session.measured(self.course)?)
    }
}
