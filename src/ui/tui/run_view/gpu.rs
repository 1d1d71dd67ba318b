//! The state of the GPU during a run, and the energy computed from its power.

use std::collections::VecDeque;

use tinyllama_profile::live::GpuStatus;
pub use tinyllama_profile::live::choose::Chosen;
use tinyllama_profile::live::choose::choose;
use tinyllama_profile::live::energy::{Energy, PowerSample, energy};

/// Power samples kept: two hours at one per second. A longer run keeps every second one, then every fourth,
/// and so on.
const MOST_SAMPLES: usize = 7200;

/// Readings kept for the plot of temperature, load and memory.
const MOST_READINGS: usize = 240;

#[derive(Clone, Debug, Default)]
pub struct GpuTrack {
    pub latest: Option<(GpuStatus, Chosen)>,
    /// Seconds since the start, and the state.
    pub readings: VecDeque<(f64, GpuStatus)>,
    power: Vec<PowerSample>,
    /// Readings skipped between two kept power samples.
    stride: usize,
    since_kept: usize,
    pub source: Option<&'static str>,
}

impl GpuTrack {
    /// Adds a reading of all GPUs, `t` seconds after the run's start. `device` is the name that the run
    /// reported, if any yet.
    pub fn add(&mut self, t: f64, gpus: &[GpuStatus], device: Option<&str>, source: &'static str) {
        self.source = Some(source);
        let Some((gpu, chosen)) = choose(gpus, device) else {
            return;
        };
        if let (Chosen::TheOne, Some(watts)) = (chosen, gpu.power) {
            self.keep_power(PowerSample { t, watts });
        }
        if self.readings.len() == MOST_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((t, gpu.clone()));
        self.latest = Some((gpu.clone(), chosen));
    }

    fn keep_power(&mut self, sample: PowerSample) {
        if self.since_kept < self.stride {
            self.since_kept += 1;
            return;
        }
        self.since_kept = 0;
        if self.power.len() == MOST_SAMPLES {
            let mut odd = false;
            self.power.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride = self.stride * 2 + 1;
        }
        self.power.push(sample);
    }

    /// Energy for each of `count` equal pieces of the work between `start` and `end`, in seconds since the
    /// run's start.
    pub fn energy_per(&self, start: f64, end: f64, count: u64) -> Option<Energy> {
        energy(&self.power, start, end)?.divided_by(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str, busy: f64) -> GpuStatus {
        GpuStatus {
            id: name.to_owned(),
            name: Some(name.to_owned()),
            busy: Some(busy),
            power: Some(300.0),
            ..GpuStatus::default()
        }
    }

    #[test]
    fn the_runs_own_gpu_is_shown_and_a_guess_is_called_one() {
        let gpus = [gpu("MI300X", 3.0), gpu("iGPU", 90.0)];
        let mut track = GpuTrack::default();
        track.add(0.0, &gpus, Some("AMD Instinct MI300X"), "test");
        let (chosen, how) = track.latest.as_ref().unwrap();
        assert_eq!((chosen.id.as_str(), *how), ("MI300X", Chosen::TheOne));
        let alike = [gpu("MI300X", 3.0), gpu("MI300X", 70.0)];
        track.add(1.0, &alike, Some("MI300X"), "test");
        let (chosen, how) = track.latest.as_ref().unwrap();
        assert_eq!((chosen.busy, *how), (Some(70.0), Chosen::BusiestOf(2)));
        track.add(2.0, &[], Some("MI300X"), "test");
        assert!(track.latest.is_some());
    }

    #[test]
    fn energy_per_step_survives_thinning() {
        let mut track = GpuTrack::default();
        let seconds = 20_000;
        for t in 0..=seconds {
            track.add(f64::from(t), &[gpu("one", 50.0)], None, "test");
        }
        assert!(track.power.len() <= MOST_SAMPLES);
        let step = track.energy_per(0.0, f64::from(seconds), 1000).unwrap();
        assert!((step.joules - 300.0 * 20.0).abs() < 1e-6, "{step:?}");
        assert_eq!(track.energy_per(0.0, 1.0, 0), None);
    }

    /// If the GPU is only a guess among several, its power must not become joules.
    #[test]
    fn power_of_a_guessed_gpu_is_no_energy() {
        let mut track = GpuTrack::default();
        for t in 0..100 {
            let gpus = [gpu("same", 1.0), gpu("same", 2.0)];
            track.add(f64::from(t), &gpus, None, "test");
        }
        assert_eq!(track.energy_per(0.0, 99.0, 10), None);
    }
}
