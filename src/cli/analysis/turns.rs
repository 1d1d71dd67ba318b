//! Runs that take turns: every variant once per round, so that a drift over minutes affects all of them.

use super::Lab;
use tinyllama_course::analysis::runner::{Failed, MeasuredRun, RunFailure, Variant};
use tinyllama_course::analysis::sweep;

impl Lab {
    /// Runs every variant once per round. The result has the runs of each variant by round.
    ///
    /// # Errors
    /// The first failure ends the series. Earlier runs stay on disk.
    pub fn take_turns(
        &mut self,
        variants: &[Variant],
        rounds: usize,
    ) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
        self.take_turns_without(variants, rounds, |failed| Err(RunFailure::Failed(failed)))
    }

    /// Like [`Lab::take_turns`], but `on_failure` may agree to leave out a variant after it fails.
    ///
    /// Each round begins one variant later than the previous one, so that no variant always runs first after a pause.
    ///
    /// # Errors
    /// Returns the error of `on_failure`. Also fails if a run cannot be started or a stop was requested.
    pub fn take_turns_without(
        &mut self,
        variants: &[Variant],
        rounds: usize,
        mut on_failure: impl FnMut(Box<Failed>) -> Result<(), RunFailure>,
    ) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
        let mut runs: Vec<Vec<MeasuredRun>> = vec![vec![]; variants.len()];
        let mut left_out = vec![false; variants.len()];
        let of = variants.len() * rounds;
        let turn = |run: usize| (run / variants.len() + run % variants.len()) % variants.len();
        let ahead: Vec<Variant> = (0..of).map(|run| variants[turn(run)].clone()).collect();
        self.make_ahead(&ahead)?;
        for run in 0..of {
            let at = turn(run);
            if left_out[at] {
                continue;
            }
            match self.run(&variants[at], (run + 1, of)) {
                Ok(measured) => runs[at].push(measured),
                Err(RunFailure::Failed(failed)) => {
                    on_failure(failed)?;
                    left_out[at] = true;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(runs)
    }

    /// Executes all these runs in parallel if the flags ask for that. Later calls use the results.
    ///
    /// # Errors
    /// As [`sweep::make`].
    pub fn make_ahead(&mut self, pieces: &[Variant]) -> Result<(), RunFailure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let (watch, of) = (&mut self.watch, pieces.len());
        sweep::make(&self.runner, pieces, jobs, &mut |run, name| {
            watch.starts((run, of), name);
            watch.ended += 1;
        })
    }

    /// Executes one run of a series. `turn` is its number from 1 and the number of runs, 0 if unknown.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn run(
        &mut self,
        variant: &Variant,
        turn: (usize, usize),
    ) -> Result<MeasuredRun, RunFailure> {
        if self.jobs.is_none() {
            self.watch.starts(turn, &variant.name);
        }
        let watch = &mut self.watch;
        let result = self.runner.run(variant, &mut |event| watch.event(event));
        self.watch.ended += 1;
        if let Ok(MeasuredRun { hello, .. }) = &result
            && let Some(node) = &hello.node
        {
            self.places.insert((node.clone(), hello.device.clone()));
        }
        result
    }
}
