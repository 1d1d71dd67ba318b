//! Times work on the device's clock.

use super::{Driver, Event, Result, Stream};

/// Two events, recorded before and after the work.
pub struct Timer {
    start: Event,
    end: Event,
}

impl Driver {
    pub fn timer(&self) -> Result<Timer> {
        Ok(Timer {
            start: self.timed_event()?,
            end: self.timed_event()?,
        })
    }
}

impl Timer {
    /// Returns the milliseconds of what `work` puts into `stream`, and waits for it.
    pub fn time(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        stream.record(&self.start)?;
        let handed_over = work();
        let recorded = stream.record(&self.end);
        // Synchronises in any case, because the caller frees its buffers after an error.
        stream.synchronize()?;
        handed_over.and(recorded)?;
        Ok(f64::from(self.end.milliseconds_since(&self.start)?))
    }

    /// Returns the shortest time of `rounds` runs of `work`.
    pub fn shortest(
        &self,
        stream: &Stream,
        rounds: usize,
        work: impl Fn() -> Result<()>,
    ) -> Result<f64> {
        (0..rounds).try_fold(f64::INFINITY, |least, _| {
            Ok(self.time(stream, &work)?.min(least))
        })
    }

    /// Returns how many passes of `work` take at least `least` milliseconds, but `most` at most. `work` gets their number.
    pub fn passes(
        &self,
        stream: &Stream,
        least: f64,
        most: u32,
        mut work: impl FnMut(u32) -> Result<()>,
    ) -> Result<u32> {
        let mut passes = 1;
        loop {
            let ms = self.time(stream, || work(passes))?;
            if ms >= least || passes >= most {
                return Ok(passes);
            }
            let wanted = (f64::from(passes) * 2.0 * least / ms).ceil();
            passes = (wanted as u32).max(passes.saturating_mul(2)).min(most);
        }
    }
}
