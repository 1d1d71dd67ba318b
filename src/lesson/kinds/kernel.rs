//! A kernel to write: an exercise of the workbench.

use super::*;
use tinyllama_workbench::{self as workbench, Exercise};

#[derive(Clone, Debug)]
pub struct KernelStep {
    pub exercise: &'static Exercise,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["exercise"],
    ..StepKeys::NONE
};

impl StepContent for KernelStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let exercise = workbench::find(step.exercise.as_deref()?);
        let exercise = reader.or_refuse("exercise", exercise)?;
        Some(Self { exercise })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (10.0, 0.0)
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
        let expected = [
            "elementwise",
            "coalescing",
            "wave-sum",
            "block-sum",
            "rmsnorm",
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_last_hint_leaves_a_line_open() {
        for exercise in workbench::exercises().unwrap() {
            let last = exercise.hints.last().unwrap();
            assert!(last.contains("..."), "{}: {last}", exercise.name);
        }
    }
}
