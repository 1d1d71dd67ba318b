//! Two runs in turns: a few steps of one, then of the other, so that both meet the same neighbours.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::train::StopSignal;
use tinyllama_contract::turns::{FIRST, TURN};

/// Least steps of a turn: the first meets a device that did something else just before, which a median passes over.
const STEPS: usize = 4;
/// Shorter turns would be decided by whose slice of a shared device they fall into: those last some milliseconds.
const LONG_ENOUGH: Duration = Duration::from_millis(50);
/// How often a run that waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The other run. Each hands on a byte when its turn is over, and goes on alone once the other has ended.
pub struct Turns {
    other: UnixStream,
    /// Whether the first turn is this one's.
    begins: bool,
    long_enough: Duration,
    /// When the turn that goes on began, and its steps.
    turn: Option<(Instant, usize)>,
}

impl Turns {
    /// None for a run that is alone.
    ///
    /// # Errors
    /// When the other one cannot be reached.
    pub fn of_this_process() -> Result<Option<Self>> {
        let Some(turn) = std::env::var_os(TURN) else {
            return Ok(None);
        };
        let open = || {
            let other = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
            Self::new(other, turn == FIRST, LONG_ENOUGH)
        };
        let why = || format!("{TURN} is set, but the standard input is no other run: unset it");
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

    /// Before a counted step: waits for a turn where none goes on.
    pub fn wait(&mut self, stop: &StopSignal) {
        if self.turn.is_none() {
            if !self.begins {
                self.hand_on();
                self.begins = true;
            }
            self.hear(stop);
        }
        let (_, steps) = self.turn.get_or_insert((Instant::now(), 0));
        *steps += 1;
    }

    /// After a counted step.
    pub fn step_over(&mut self) {
        let is_over = |(since, steps): (Instant, usize)| {
            steps >= STEPS && since.elapsed() >= self.long_enough
        };
        if self.turn.is_some_and(is_over) {
            self.turn = None;
            self.hand_on();
        }
    }

    /// After the last: what a run does then would disturb the other's last steps.
    pub fn end(mut self, stop: &StopSignal) {
        // Fails where the other has ended, and then there is nothing to wait for.
        if self.other.shutdown(Shutdown::Write).is_ok() {
            while self.hear(stop) {}
        }
    }

    fn hand_on(&mut self) {
        // Nobody hears it where the other has ended.
        drop(self.other.write_all(b"."));
    }

    /// Whether the other handed on; false once it has ended, or this one is to stop.
    fn hear(&mut self, stop: &StopSignal) -> bool {
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

    /// The steps of both in the order in which they were made; `steps` of each.
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
                turns.end(&stop);
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
        alone.end(&stop);
        let [mut stopped, _silent] = pair();
        stop.request(crate::train::StopReason::Signal(libc::SIGTERM));
        stopped.wait(&stop);
        stopped.end(&stop);
    }
}
