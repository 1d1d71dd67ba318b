//! Runs that take turns: every variant once a round, so that what drifts over minutes falls on all of them.

use std::ffi::OsString;

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

/// Nobody looks on.
impl Watch for () {
    fn starts(&mut self, _: Turn<'_>) {}
    fn event(&mut self, _: &Event) {}
    fn ends(&mut self) {}
}

/// Runs every variant once a round; the result holds, for each variant, its runs by round.
///
/// Each round starts one variant later than the one before, so that being first, after a pause, is nobody's lot.
///
/// # Errors
/// The first failure ends the series; what ran until then is kept on disk.
pub fn take_turns(
    runner: &Runner,
    variants: &[Variant],
    rounds: usize,
    watch: &mut dyn Watch,
) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
    let fail = |failed| Err(RunFailure::Failed(failed));
    take_turns_without(runner, variants, rounds, watch, fail)
}

/// As [`take_turns`], but a variant whose run fails is left out from then on when `on_failure` agrees.
///
/// # Errors
/// What `on_failure` makes of a failure; also when a run cannot be started or a stop was requested.
pub fn take_turns_without(
    runner: &Runner,
    variants: &[Variant],
    rounds: usize,
    watch: &mut dyn Watch,
    mut on_failure: impl FnMut(Box<Failed>) -> Result<(), RunFailure>,
) -> Result<Vec<Vec<MeasuredRun>>, RunFailure> {
    let of = variants.len() * rounds;
    let mut runs: Vec<Vec<MeasuredRun>> = variants.iter().map(|_| Vec::new()).collect();
    let mut left_out = vec![false; variants.len()];
    let mut run = 0;
    for round in 0..rounds {
        for place in 0..variants.len() {
            let index = (round + place) % variants.len();
            run += 1;
            if left_out[index] {
                continue;
            }
            let turn = Turn {
                run,
                of,
                name: &variants[index].name,
            };
            match run_one(runner, &variants[index], &[], turn, watch) {
                Ok(measured) => runs[index].push(measured),
                Err(RunFailure::Failed(failed)) => {
                    on_failure(failed)?;
                    left_out[index] = true;
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok(runs)
}

/// One run of a series.
///
/// # Errors
/// As [`Runner::run`].
pub fn run_one(
    runner: &Runner,
    variant: &Variant,
    more: &[OsString],
    turn: Turn<'_>,
    watch: &mut dyn Watch,
) -> Result<MeasuredRun, RunFailure> {
    watch.starts(turn);
    let result = runner.run(variant, more, &mut |event| watch.event(event));
    watch.ends();
    result
}
