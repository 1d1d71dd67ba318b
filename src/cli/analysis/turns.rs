//! Runs that take turns: every variant once a round, so that what drifts over minutes falls on all of them.

use super::Lab;
use tinyllama_course::analysis::runner::{Failed, MeasuredRun, RunFailure, Variant};
use tinyllama_course::analysis::sweep;

impl Lab {
    /// Runs every variant once a round; the result holds, for each variant, its runs by round.
    ///
    /// # Errors
    /// The first failure ends the series; what ran until then is kept on disk.
    pub fn take_turns(
        &mut self,
        variants: &[Variant],
        rounds: usize,
    ) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
        self.take_turns_without(variants, rounds, |failed| Err(RunFailure::Failed(failed)))
    }

    /// As [`Lab::take_turns`], but a variant whose run fails is left out from then on when `on_failure` agrees.
    ///
    /// Each round starts one variant later than the one before, so that being first, after a pause, is nobody's lot.
    ///
    /// # Errors
    /// What `on_failure` makes of a failure; also when a run cannot be started or a stop was requested.
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

    /// Makes all of these several at a time where that was asked for; whoever runs them then finds them made.
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

    /// One run of a series: the how manieth, counted from 1, and of how many, 0 where nobody knows.
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
