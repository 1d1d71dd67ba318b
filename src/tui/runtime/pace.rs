//! How often to draw: at once for the learner, seldom for what streams, never for nothing.

use std::time::Duration;

use tokio::time::Instant;

const LOCAL: Duration = Duration::from_millis(100);
/// Bytes over a network cost more, and four pictures a second still look alive.
const OVER_SSH: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    last: Option<Instant>,
    hurry: bool,
}

impl Pace {
    pub fn from_environment() -> Self {
        let is_remote = std::env::var_os("SSH_CONNECTION").is_some();
        Self {
            interval: if is_remote { OVER_SSH } else { LOCAL },
            last: None,
            hurry: false,
        }
    }

    /// The next frame answers a key.
    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    pub fn may_draw(&self) -> bool {
        self.hurry || self.next_frame() <= Instant::now()
    }

    pub fn next_frame(&self) -> Instant {
        match self.last {
            Some(last) if !self.hurry => last + self.interval,
            _ => Instant::now(),
        }
    }

    pub fn drawn(&mut self) {
        self.last = Some(Instant::now());
        self.hurry = false;
    }
}

/// Waits for a moment; for ever where there is none, without ever waking up.
pub async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
