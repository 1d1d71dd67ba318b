//! Runs that take turns: every variant once per round, so that a drift over minutes affects all of them.

use super::AnalysisRunner;
use tinyllama_analysis::runner::{FailedRun, MeasuredRun, RunFailure, RunVariant};
use tinyllama_analysis::sweep;

impl AnalysisRunner {
    /// Runs every variant once per round. The result has the runs of each variant by round.
    ///
    /// # Errors
    /// The first failure ends the series. Earlier runs stay on disk.
    pub fn run_rounds(
        &mut self,
        variants: &[RunVariant],
        rounds: usize,
    ) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
        self.run_rounds_skipping(variants, rounds, |failed| {
            Err(RunFailure::FailedRun(failed))
        })
    }

    /// Like [`AnalysisRunner::run_rounds`], but `on_failure` may agree to leave out a variant after it fails.
    ///
    /// Each round begins one variant later than the previous one, so that no variant always runs first after a pause.
    ///
    /// # Errors
    /// Returns the error of `on_failure`. Also fails if a run cannot be started or a stop was requested.
    pub fn run_rounds_skipping(
        &mut self,
        variants: &[RunVariant],
        rounds: usize,
        mut on_failure: impl FnMut(Box<FailedRun>) -> Result<(), RunFailure>,
    ) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
        let mut runs: Vec<Vec<MeasuredRun>> = vec![vec![]; variants.len()];
        let mut left_out = vec![false; variants.len()];
        let of = variants.len() * rounds;
        let turn = |run: usize| (run / variants.len() + run % variants.len()) % variants.len();
        let ahead: Vec<RunVariant> = (0..of).map(|run| variants[turn(run)].clone()).collect();
        self.submit_ahead(&ahead)?;
        for run in 0..of {
            let at = turn(run);
            if left_out[at] {
                continue;
            }
            match self.run(&variants[at], (run + 1, of)) {
                Ok(measured) => runs[at].push(measured),
                Err(RunFailure::FailedRun(failed)) => {
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
    pub fn submit_ahead(&mut self, pieces: &[RunVariant]) -> Result<(), RunFailure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let (watch, of) = (&mut self.watch, pieces.len());
        sweep::make(&self.runner, pieces, jobs, &mut |run, name| {
            watch.on_run_start((run, of), name);
            watch.ended += 1;
        })
    }

    /// Executes one run of a series. `turn` is its number from 1 and the number of runs, 0 if unknown.
    ///
    /// # Errors
    /// As `Runner::run`.
    pub fn run(
        &mut self,
        variant: &RunVariant,
        turn: (usize, usize),
    ) -> Result<MeasuredRun, RunFailure> {
        if self.jobs.is_none() {
            self.watch.on_run_start(turn, &variant.name);
        }
        let watch = &mut self.watch;
        let result = self.runner.run(variant, &mut |event| watch.event(event));
        self.watch.ended += 1;
        if let Ok(MeasuredRun { hello, .. }) = &result
            && let Some(node) = &hello.node
        {
            self.nodes_note.insert((node.clone(), hello.device.clone()));
        }
        result
    }
}
