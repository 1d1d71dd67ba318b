//! Plays a recorded stream at a chosen speed.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::control::RunActivity;
use super::supervise::NextLine;
use crate::Control;

/// A multiple of the original speed. An infinite one means no waiting at all.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Speed(f64);

impl Speed {
    pub const REAL: Self = Speed(1.0);
    pub const SIXTEEN: Self = Speed(16.0);
    /// Straight to the end.
    pub const END: Self = Speed(f64::INFINITY);

    /// The speeds that the keys of the screen step through.
    const STEPS: [Self; 4] = [Self::REAL, Speed(4.0), Self::SIXTEEN, Self::END];

    /// Returns `None` if the player does not wait.
    fn factor(self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }

    pub fn faster(self) -> Self {
        let mut steps = Self::STEPS.into_iter();
        steps.find(|other| *other > self).unwrap_or(self)
    }

    pub fn slower(self) -> Self {
        let mut steps = Self::STEPS.into_iter().rev();
        steps.find(|other| *other < self).unwrap_or(self)
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::REAL
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.factor() {
            Some(factor) => factor.fmt(f),
            None => f.write_str("end"),
        }
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Reads `end` or a factor: `4`, `x4`, `4x`, `0.5`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "end" {
            return Ok(Self::END);
        }
        let factor = text.strip_prefix('x').or_else(|| text.strip_suffix('x'));
        let factor = factor.unwrap_or(text).parse().ok();
        let factor = factor.filter(|it: &f64| it.is_finite() && *it > 0.0);
        factor.map(Speed).ok_or_else(|| {
            format!("`{text}` is not a speed: a factor above 0, such as 4 or 0.5, or end")
        })
    }
}

/// The position of a player in the recorded time. Its speed may change.
#[derive(Clone, Copy, Debug)]
pub struct Playhead {
    /// Recorded seconds at `since`.
    position: f64,
    since: Duration,
    speed: Speed,
}

impl Playhead {
    /// Starts at the beginning. `now` is a time of a clock that is never set.
    pub fn new(speed: Speed, now: Duration) -> Self {
        Self {
            position: 0.0,
            since: now,
            speed,
        }
    }

    /// Recorded seconds that were played.
    pub fn position(&self, now: Duration) -> f64 {
        let elapsed = now.saturating_sub(self.since).as_secs_f64();
        self.position + elapsed * self.speed.factor().unwrap_or(0.0)
    }

    pub fn set_speed_at(&mut self, speed: Speed, now: Duration) {
        self.position = self.position(now);
        self.since = now;
        self.speed = speed;
    }

    /// Notes that the line recorded at `t` is shown. Moves the position forward to `t` if the wait was cut short.
    pub fn advance_to(&mut self, t: f64, now: Duration) {
        if self.position(now) < t {
            self.position = t;
            self.since = now;
        }
    }

    /// How long to wait for the line recorded at `t` seconds.
    pub fn wait(&self, t: f64, now: Duration) -> Duration {
        let Some(factor) = self.speed.factor() else {
            return Duration::ZERO;
        };
        let seconds = (t - self.position(now)) / factor;
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// Plays a tape line by line, each at its time.
#[derive(Debug)]
pub struct Player<'a> {
    rest: std::slice::Iter<'a, (f64, String)>,
    control: &'a Control,
    begun: Instant,
    head: Playhead,
}

impl<'a> Player<'a> {
    pub fn new(lines: &'a [(f64, String)], control: &'a Control) -> Self {
        control.set_activity(Some(RunActivity::Recording));
        Self {
            rest: lines.iter(),
            control,
            begun: Instant::now(),
            head: Playhead::new(control.speed(), Duration::ZERO),
        }
    }

    /// Returns whether every line was played.
    pub(super) fn is_over(&self) -> bool {
        self.rest.as_slice().is_empty()
    }

    /// Recorded seconds that were played.
    pub(super) fn seconds(&self) -> f64 {
        self.head.position(self.begun.elapsed())
    }

    /// Waits for the next line, at most until `until` or a change of speed.
    pub(super) fn next_before(&mut self, until: Instant) -> NextLine<&'a str> {
        let Some((t, text)) = self.rest.as_slice().first() else {
            return NextLine::End;
        };
        if self.control.stopped().is_some() {
            return NextLine::End;
        }
        let (now, speed) = (self.begun.elapsed(), self.control.speed());
        self.head.set_speed_at(speed, now);
        let wait = self.head.wait(*t, now);
        if !wait.is_zero() {
            let left = until.saturating_duration_since(Instant::now());
            self.control.wait(wait.min(left), speed);
            return NextLine::Nothing;
        }
        self.head.advance_to(*t, now);
        self.rest.next();
        NextLine::Line(text)
    }
}

impl Drop for Player<'_> {
    fn drop(&mut self) {
        self.control.set_activity(None);
    }
}

impl<'a> Iterator for Player<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            match self.next_before(Instant::now() + Duration::from_secs(1)) {
                NextLine::Line(text) => return Some(text),
                NextLine::Nothing => {}
                NextLine::End => return None,
            }
        }
    }
}
