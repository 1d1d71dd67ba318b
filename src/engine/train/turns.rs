//! Lets two runs take turns: a few steps of one, then a few of the other. Both then meet the same other load on the device.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::train::StopSignal;
use tinyllama_contract::turns::{FIRST, TURN};

/// Least number of steps in a turn. The first step finds the device changed by the other run; the median passes over it.
const STEPS: usize = 4;
/// Least duration of a turn. A shared device gives slices of some milliseconds, which would decide the result of shorter turns.
const LONG_ENOUGH: Duration = Duration::from_millis(50);
/// How often a waiting run checks for a stop request.
const LOOK: Duration = Duration::from_millis(100);

/// Connection to the other run. Each run sends a byte when its turn is over. A run continues alone once the other has ended.
pub struct Turns {
    other: UnixStream,
    /// True if this run has the first turn.
    begins: bool,
    long_enough: Duration,
    /// Start of the current turn and the steps made in it.
    turn: Option<(Instant, usize)>,
}

impl Turns {
    /// Opens the connection to the other run; `None` if this run takes no turns.
    ///
    /// # Errors
    /// Fails if the other run cannot be reached.
    pub fn from_environment() -> Result<Option<Self>> {
        let Some(turn) = std::env::var_os(TURN) else {
            return Ok(None);
        };
        let open = || {
            let other = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
            Self::new(other, turn == FIRST, LONG_ENOUGH)
        };
        let why = || format!("{TURN} is set, but the standard input is not another run: unset it");
        open().with_context(why).map(Some)
    }

    fn new(other: UnixStream, begins: bool, long_enough: Duration) -> io::Result<Self> {
        other.set_read_timeout(Some(LOOK))?;
        Ok(Self {
            other,
            begins,
            long_enough,
            turn: None,
        })
    }

    /// Call it before a counted step: waits for a turn unless this run already has it.
    pub fn wait(&mut self, stop: &StopSignal) {
        if self.turn.is_none() {
            if !self.begins {
                self.pass_turn();
                self.begins = true;
            }
            self.wait_for_turn(stop);
        }
        let (_, steps) = self.turn.get_or_insert((Instant::now(), 0));
        *steps += 1;
    }

    /// Call it after a counted step: ends the turn if it was long enough.
    pub fn step_over(&mut self) {
        let is_over = |(since, steps): (Instant, usize)| {
            steps >= STEPS && since.elapsed() >= self.long_enough
        };
        if self.turn.is_some_and(is_over) {
            self.turn = None;
            self.pass_turn();
        }
    }

    /// Call it after the last step. It waits for the other run to end, because this run's later work would disturb the
    /// other's steps.
    pub fn finish(mut self, stop: &StopSignal) {
        // This fails if the other run has ended, and then there is nothing to wait for.
        if self.other.shutdown(Shutdown::Write).is_ok() {
            while self.wait_for_turn(stop) {}
        }
    }

    fn pass_turn(&mut self) {
        // The write fails if the other run has ended, which does not matter here.
        drop(self.other.write_all(b"."));
    }

    /// Waits for the other run's byte. Returns false if the other run has ended or this one has to stop.
    fn wait_for_turn(&mut self, stop: &StopSignal) -> bool {
        while stop.reason().is_none() {
            match self.other.read(&mut [0]) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                heard => return heard.is_ok_and(|bytes| bytes > 0),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    fn pair() -> [Turns; 2] {
        let (first, second) = UnixStream::pair().unwrap();
        let turns = |other, begins| Turns::new(other, begins, Duration::ZERO).unwrap();
        [turns(first, true), turns(second, false)]
    }

    /// Returns the steps of both runs in the order in which they were made; each run makes `steps`.
    fn order(steps: [usize; 2]) -> String {
        let (sender, made) = channel();
        let runs = pair().into_iter().zip(steps).zip(["A", "B"]);
        let runs = runs.map(|((mut turns, steps), name)| {
            let made = sender.clone();
            thread::spawn(move || {
                let stop = StopSignal::default();
                for _ in 0..steps {
                    turns.wait(&stop);
                    made.send(name).unwrap();
                    turns.step_over();
                }
                turns.finish(&stop);
                made.send("|").unwrap();
            })
        });
        runs.collect::<Vec<_>>()
            .into_iter()
            .for_each(|run| run.join().unwrap());
        drop(sender);
        made.iter().collect()
    }

    #[test]
    fn each_makes_four_steps_while_the_other_waits_and_both_end_together() {
        assert_eq!(order([10, 10]), "AAAABBBBAAAABBBBAABB||");
        assert_eq!(order([4, 12]), "AAAABBBBBBBBBBBB||");
        assert_eq!(order([9, 2]), "AAAABBAAAAA||");
    }

    #[test]
    fn a_run_whose_other_is_gone_goes_on_and_one_that_is_to_stop_does_not_wait() {
        let [mut alone, other] = pair();
        drop(other);
        let stop = StopSignal::default();
        for _ in 0..9 {
            alone.wait(&stop);
            alone.step_over();
        }
        alone.finish(&stop);
        let [mut stopped, _silent] = pair();
        stop.request(crate::train::StopReason::Signal(libc::SIGTERM));
        stopped.wait(&stop);
        stopped.finish(&stop);
    }
}
