//! A step, and the findings about it so far.

use tinyllama_lesson::{CourseSource, Lesson, Problem, Step, Verdict, problem_in};
use tinyllama_session::{CheckResultText, StepRef};

pub(crate) struct Visit<'a> {
    pub source: &'a CourseSource,
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub index: usize,
    pub problems: Vec<Problem>,
    pub checks: Vec<CheckResultText>,
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl Visit<'_> {
    pub fn step_ref(&self) -> StepRef {
        StepRef::new(&self.lesson.id, &self.step.id)
    }

    /// Adds a problem about the node at `path` in the step, such as `checks/0/measure`.
    pub fn problem(&mut self, path: &str, message: impl Into<String>) {
        let path = format!("steps/{}/{path}", self.index);
        let problem = problem_in(self.source, self.lesson, &path, message);
        self.problems.push(problem);
    }

    /// Records a check's outcome. A check that is `needed` has to pass; others may fail, because they depend
    /// on the machine.
    pub fn judge(
        &mut self,
        index: usize,
        checked: &CheckResultText,
        needed: bool,
        (key, complaint): (&'static str, &str),
    ) {
        self.checks.push(checked.clone());
        let said: Vec<&str> = checked.text.split_whitespace().collect();
        let said = said.join(" ");
        match checked.verdict {
            Verdict::Passed => {}
            Verdict::NotEvaluated => self.notes.push(format!("`{}` needs a GPU", checked.check)),
            _ if needed => {
                let message = format!("{complaint} does not pass this check. {said}");
                self.problem(&format!("checks/{index}/{key}"), message);
            }
            verdict => {
                let note = format!("`{}`: {}. {said}", checked.check, verdict.name());
                self.notes.push(note);
            }
        }
    }
}
