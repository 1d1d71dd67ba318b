//! Decides how often to draw: at once after a key, seldom while a run prints, never if nothing changed.

use std::time::Duration;

use tokio::time::Instant;

const LOCAL: Duration = Duration::from_millis(100);
/// Bytes cost more over a network, and four pictures a second still look alive.
const OVER_SSH: Duration = Duration::from_millis(250);
/// Bytes a second that the frames of a running run may take.
const BUDGET: f64 = 3500.0;
/// The longest interval. Without it, large frames would come so seldom that the run seems to hang.
const SLOWEST: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    /// The earliest time for a frame that answers no key.
    next: Option<Instant>,
    hurry: bool,
}

impl Pace {
    pub fn from_environment() -> Self {
        let is_remote = std::env::var_os("SSH_CONNECTION").is_some();
        Self {
            interval: if is_remote { OVER_SSH } else { LOCAL },
            next: None,
            hurry: false,
        }
    }

    /// Draws the next frame at once, because it answers a key.
    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    pub fn may_draw(&self) -> bool {
        self.hurry || self.next_frame() <= Instant::now()
    }

    pub fn next_frame(&self) -> Instant {
        match self.next {
            Some(next) if !self.hurry => next,
            _ => Instant::now(),
        }
    }

    /// Notes that a frame of `bytes` was sent, and sets the time of the next one.
    pub fn drawn(&mut self, bytes: usize) {
        let paid_for = Duration::from_secs_f64(bytes as f64 / BUDGET);
        self.next = Some(Instant::now() + paid_for.clamp(self.interval, SLOWEST));
        self.hurry = false;
    }
}

/// Waits until `moment`. Waits for ever without waking up if it is `None`.
pub async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_redraw_at_once_and_large_frames_are_drawn_less_often() {
        let mut pace = Pace {
            interval: LOCAL,
            next: None,
            hurry: false,
        };
        assert!(pace.may_draw(), "the first frame");
        let before = Instant::now();
        pace.drawn(1000);
        let wait = pace.next_frame() - before;
        assert!(wait > Duration::from_millis(250), "{wait:?}");
        assert!(!pace.may_draw());
        pace.hurry();
        assert!(pace.may_draw());
        let before = Instant::now();
        pace.drawn(100_000);
        assert!(pace.next_frame() - before < SLOWEST * 2);
    }
}
