//! Runs that take turns: every variant once a round, so that what drifts over minutes falls on all of them.

use super::runner::{Failed, MeasuredRun, RunFailure, Runner, Variant};
use crate::train::event::Event;

/// Where a series of runs stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// Counted from 1.
    pub run: usize,
    /// 0 where nobody knows.
    pub of: usize,
    pub name: &'a str,
}

/// Someone who looks on while runs are made.
pub trait Watch {
    fn starts(&mut self, turn: Turn<'_>);
    fn event(&mut self, event: &Event);
    /// The run just started has ended, well or not.
    fn ends(&mut self);
}

/// Where runs are made, one at a time, and who looks on.
pub struct Lab<W> {
    pub runner: Runner,
    pub watch: W,
}

impl<W: Watch> Lab<W> {
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
        for run in 0..of {
            let (round, place) = (run / variants.len(), run % variants.len());
            let at = (round + place) % variants.len();
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

    /// One run of a series: the how manieth, counted from 1, and of how many, 0 where nobody knows.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn run(
        &mut self,
        variant: &Variant,
        (run, of): (usize, usize),
    ) -> Result<MeasuredRun, RunFailure> {
        self.watch.starts(Turn {
            run,
            of,
            name: &variant.name,
        });
        let watch = &mut self.watch;
        let result = self.runner.run(variant, &mut |event| watch.event(event));
        self.watch.ends();
        result
    }
}
