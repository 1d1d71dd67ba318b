//! Takes readings at intervals in a separate thread.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::energy::PowerSample;
use super::{GpuStatus, GpuStatusSource};

/// All GPUs at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReading {
    pub at: Instant,
    pub gpus: Vec<GpuStatus>,
}

/// Largest number of readings: half a day at one a second. The oldest are dropped first.
const MOST_READINGS: usize = 43_200;

/// Takes readings until it is dropped.
pub struct Monitor {
    readings: Arc<Mutex<Vec<GpuReading>>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    description: Arc<OnceLock<&'static str>>,
}

impl Monitor {
    /// Starts the thread. It calls `find`, which may be slow, and ends if there is no source.
    pub fn start(
        find: impl FnOnce() -> Option<Box<dyn GpuStatusSource>> + Send + 'static,
        period: Duration,
    ) -> Self {
        let readings = Arc::new(Mutex::new(Vec::new()));
        let description = Arc::new(OnceLock::new());
        let (stop, stopped) = mpsc::channel();
        let (shared, update) = (readings.clone(), description.clone());
        let thread = thread::spawn(move || {
            let Some(mut source) = find() else {
                return;
            };
            update.get_or_init(|| source.describe());
            let mut due = Instant::now();
            loop {
                let reading = GpuReading {
                    at: Instant::now(),
                    gpus: source.read(),
                };
                keep(&shared, reading);
                // Counted from the start of a reading, so that a slow source does not stretch the period.
                due += period;
                let wait = due.saturating_duration_since(Instant::now());
                if wait.is_zero() {
                    due = Instant::now();
                }
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Monitor {
            readings,
            stop: Some(stop),
            thread: Some(thread),
            description,
        }
    }

    /// Name of the source. `None` until it is known, or if there is none.
    pub fn describe(&self) -> Option<&'static str> {
        self.description.get().copied()
    }

    pub fn latest(&self) -> Option<GpuReading> {
        lock(&self.readings).last().cloned()
    }

    #[cfg(test)]
    pub fn readings(&self) -> Vec<GpuReading> {
        lock(&self.readings).clone()
    }

    /// Power of the GPU called `id`, in seconds since `origin`, for readings that have it.
    pub fn power(&self, id: &str, origin: Instant) -> Vec<PowerSample> {
        lock(&self.readings)
            .iter()
            .filter_map(|reading| {
                let gpu = reading.gpus.iter().find(|gpu| gpu.id == id)?;
                Some(PowerSample {
                    t: reading.at.checked_duration_since(origin)?.as_secs_f64(),
                    watts: gpu.power?,
                })
            })
            .collect()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread ends itself. If it panicked, the message was already printed.
            let _ = thread.join();
        }
    }
}

fn keep(readings: &Mutex<Vec<GpuReading>>, reading: GpuReading) {
    let mut readings = lock(readings);
    if readings.len() >= MOST_READINGS {
        readings.drain(..MOST_READINGS / 2);
    }
    readings.push(reading);
}

fn lock(readings: &Mutex<Vec<GpuReading>>) -> std::sync::MutexGuard<'_, Vec<GpuReading>> {
    readings.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u64);

    impl GpuStatusSource for Counting {
        fn read(&mut self) -> Vec<GpuStatus> {
            self.0 += 1;
            vec![GpuStatus {
                memory_used: Some(self.0),
                power: (self.0 != 2).then_some(100.0 * self.0 as f64),
                ..GpuStatus::default()
            }]
        }

        fn describe(&self) -> &'static str {
            "test"
        }
    }

    #[test]
    fn readings_come_in_order_and_stop_with_the_monitor() {
        let origin = Instant::now();
        let monitor = Monitor::start(|| Some(Box::new(Counting(0))), Duration::from_millis(1));
        while monitor.readings().len() < 3 {
            thread::yield_now();
        }
        let readings = monitor.readings();
        let counts: Vec<_> = readings
            .iter()
            .map(|reading| reading.gpus[0].memory_used)
            .collect();
        assert_eq!(counts[..3], [Some(1), Some(2), Some(3)]);
        assert!(readings.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert_eq!(monitor.describe(), Some("test"));
        let power = monitor.power("", origin);
        assert_eq!(
            (power[0].watts, power[1].watts),
            (100.0, 300.0),
            "the second was not reported"
        );
        assert!(power[0].t >= 0.0 && power[0].t <= power[1].t);
        assert!(monitor.power("another", origin).is_empty());
        let shared = monitor.readings.clone();
        drop(monitor);
        assert_eq!(Arc::strong_count(&shared), 1, "the thread has ended");
    }
}
