//! A program with a mistake: the learner measures, names a suspect, and runs a fix.

use super::*;
use crate::QuizChoice;
use crate::case::Measurement;
use crate::contradictions::quiz_problems;

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["target", "suspects", "measurements"],
    may: &["flags", "recording", "checks"],
    ..StepKeys::NONE
};

impl StepContent for Case {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let target = step.target.clone()?;
        let flags = shlex::split(step.flags.as_deref().unwrap_or_default())?;
        let mut measurements = Vec::new();
        for (i, measurement) in step.measurements.iter().flatten().enumerate() {
            let Some(flags) = shlex::split(&measurement.flags) else {
                let path = format!("measurements/{i}");
                reader.refuse(&path, "a quote in its flags is not closed");
                return None;
            };
            let of = reader.run_name(&step.id);
            let choices = measurement.choices.iter().enumerate().map(|(c, choice)| {
                let path = format!("measurements/{i}/choices/{c}");
                quiz::choice(reader, path, choice, &of)
            });
            let choices = choices.collect::<Option<_>>()?;
            measurements.push(Measurement {
                choices,
                id: measurement.id.clone(),
                text: measurement.text.clone(),
                flags,
                recording: measurement.recording.clone(),
                shows: measurement.shows.clone(),
                convicts: measurement.convicts,
            });
        }
        let case = Case {
            target,
            flags,
            suspects: step.suspects.clone().unwrap_or_default(),
            measurements,
        };
        for (key, message) in case.problems(reader.commands) {
            reader.refuse(key, message);
        }
        Some(case)
    }

    /// Counts two measurements and a fix, each of them a run.
    fn minutes(&self, _: &Step) -> (f64, f64) {
        let suspects = self.suspects.iter();
        let suspects = suspects.map(|it| word_count(&it.text) + word_count(&it.because) / 2.0);
        let shows = self.measurements.iter();
        let read = |choice: &QuizChoice| {
            let share = if choice.correct { 1.0 } else { 0.25 };
            word_count(&choice.text) + share * word_count(&choice.because)
        };
        let shows = shows.map(|it| {
            let choices = it.choices.iter().map(read).sum::<f64>();
            word_count(&it.text) + word_count(&it.shows) + choices
        });
        let minutes = 2.0 * RUN_MINUTES + 2.0 * THOUGHT_MINUTES;
        (minutes, suspects.sum::<f64>() + shows.sum::<f64>())
    }

    fn demands(&self) -> Vec<Demand<'_>> {
        let mut demands = Vec::new();
        for (m, measurement) in self.measurements.iter().enumerate() {
            demands.push(Demand::TextAfter(&measurement.shows));
            if !measurement.choices.is_empty() {
                let problems = quiz_problems(&Quiz::Choices(measurement.choices.clone()));
                demands.extend(problems.into_iter().map(|(path, message)| {
                    Demand::Fault(format!("measurements/{m}/{path}"), message)
                }));
            }
        }
        demands
    }

    fn mark(&self, answer: QuizAnswer, _: &dyn CommandOutputs) -> Option<MarkedAnswer> {
        let QuizAnswer::Choice(number) = answer else {
            return None;
        };
        let choice = self.answer(number)?;
        Some(MarkedAnswer {
            answer,
            correct: choice.correct,
            because: choice.because.trim().into(),
        })
    }

    fn answer_text(&self, answer: f64) -> String {
        let choice = self.answer(answer as usize);
        choice.map_or_else(|| answer.to_string(), |choice| choice.text.clone())
    }

    fn job(&self, step: &Step) -> Option<Job> {
        step.target.clone().map(Job::Run)
    }
}
