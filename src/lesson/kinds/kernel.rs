//! A kernel to write: an exercise of the workbench.

use super::*;
use tinyllama_workbench::{self as workbench, Exercise};

#[derive(Clone, Debug)]
pub struct KernelStep {
    pub exercise: &'static Exercise,
    /// Lines of code between starter and solution.
    lines: usize,
}

/// Minutes for reading a task and its starter, and for a check.
const TASK_MINUTES: f64 = 3.0;

/// Minutes for a line of a kernel.
const LINE_MINUTES: f64 = 1.0;

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["exercise"],
    ..StepKeys::NONE
};

impl StepContent for KernelStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let exercise = workbench::find(step.exercise.as_deref()?);
        let exercise = reader.or_refuse("exercise", exercise)?;
        let lines = reader.or_refuse("exercise", exercise.lines_to_write())?;
        Some(Self { exercise, lines })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (TASK_MINUTES + LINE_MINUTES * self.lines as f64, 0.0)
    }

    fn hints(&self) -> &[String] {
        &self.exercise.hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Course, CourseSource};

    #[test]
    fn every_exercise_is_a_step_of_one_lesson() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        for exercise in workbench::exercises().unwrap() {
            let kernels = course.steps().filter_map(|(_, step)| step.as_kernel());
            let steps = kernels.filter(|kernel| kernel.exercise.name == exercise.name);
            assert_eq!(steps.count(), 1, "{}", exercise.name);
        }
    }

    #[test]
    fn the_first_kernels_are_required_in_the_order_of_their_texts() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let required = course.steps().filter(|(_, step)| !step.optional);
        let names = required.filter_map(|(_, step)| Some(step.as_kernel()?.exercise.name.as_str()));
        let names: Vec<_> = names.collect();
        let first = [
            "elementwise",
            "coalescing",
            "wave-sum",
            "block-sum",
            "rmsnorm",
        ];
        let places = first.map(|first| names.iter().position(|name| *name == first));
        assert!(places.is_sorted() && places[0].is_some(), "{names:?}");
    }

    #[test]
    fn minutes_grow_with_the_lines_that_are_left_to_write() {
        let lines = |name: &str| workbench::find(name).unwrap().lines_to_write().unwrap();
        // One line of the starter is completed.
        assert_eq!(lines("coalescing"), 1);
        assert!(lines("attention") > 20);
        for exercise in workbench::exercises().unwrap() {
            assert!(exercise.lines_to_write().unwrap() > 0, "{}", exercise.name);
        }
    }

    #[test]
    fn the_last_hint_leaves_a_line_open() {
        for exercise in workbench::exercises().unwrap() {
            let last = exercise.hints.last().unwrap();
            assert!(last.contains("..."), "{}: {last}", exercise.name);
        }
    }
}
