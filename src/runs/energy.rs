//! The energy of a run, measured by the process that keeps its files.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use tinyllama_contract::{Body, Event, Hello, Step};
use tinyllama_profile::live::choose::{Chosen, choose};
use tinyllama_profile::live::energy::energy;
use tinyllama_profile::live::monitor::Monitor;
use tinyllama_profile::live::{GpuStatus, find_source};

/// Energy that the whole device took during the measured steps, including other programs on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnergy {
    pub joules: f64,
    /// Half the width of the 95 % interval. Errors of the sensor are not included.
    pub uncertainty: f64,
    /// Number of power samples behind it.
    pub power_samples: usize,
    /// Number of measured steps.
    pub steps: u64,
    /// Training samples in those steps.
    pub samples: u64,
    /// Source of the power readings.
    pub source: String,
}

/// Joules for a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joules {
    pub joules: f64,
    /// Half the width of the 95 % interval. Errors of the sensor are not included.
    pub uncertainty: f64,
}

impl fmt::Display for Joules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prints only the decimals that the uncertainty leaves meaningful.
        let decimals = match self.uncertainty.abs().max(self.joules.abs() / 1e3) {
            size if size >= 10.0 => 0,
            size if size >= 1.0 => 1,
            size if size >= 0.1 => 2,
            size if size >= 0.01 => 3,
            _ => 4,
        };
        write!(
            f,
            "{:.decimals$} J +/- {:.decimals$} J",
            self.joules, self.uncertainty
        )
    }
}

impl RunEnergy {
    /// Adds several runs up. Returns `None` without any. Their errors are independent.
    pub fn together<'a>(runs: impl IntoIterator<Item = &'a RunEnergy>) -> Option<RunEnergy> {
        let add = |all: RunEnergy, one: RunEnergy| RunEnergy {
            joules: all.joules + one.joules,
            uncertainty: all.uncertainty.hypot(one.uncertainty),
            power_samples: all.power_samples + one.power_samples,
            steps: all.steps + one.steps,
            samples: all.samples + one.samples,
            source: all.source,
        };
        runs.into_iter().cloned().reduce(add)
    }

    pub fn per_step(&self) -> Option<Joules> {
        self.divided_by(self.steps)
    }

    pub fn per_sample(&self) -> Option<Joules> {
        self.divided_by(self.samples)
    }

    fn divided_by(&self, count: u64) -> Option<Joules> {
        let count = (count > 0).then_some(count as f64)?;
        Some(Joules {
            joules: self.joules / count,
            uncertainty: self.uncertainty / count,
        })
    }
}

/// Time between two readings: short enough for a run of seconds, long enough not to disturb it.
const PERIOD: Duration = Duration::from_secs(1);

/// Follows a run's events and samples the power meanwhile.
pub struct EnergyMeter {
    monitor: Monitor,
    /// True if the run is on this machine.
    is_local: bool,
    begin: Instant,
    /// Seconds from `begin` to zero on the clock of the run, by the event with the least delay.
    zero: f64,
    /// `None` for a run on the CPU, because a GPU of this machine would only idle.
    run: Option<Box<Hello>>,
    /// Start and end of the measured steps, in seconds on the clock of the run.
    interval: Option<(f64, f64)>,
    steps: u64,
}

impl EnergyMeter {
    /// Starts a meter for a run. A launcher may place the run on another machine, whose power cannot be read here.
    pub fn start(is_local: bool) -> Self {
        Self {
            is_local,
            ..Self::from_monitor(Monitor::start(find_source, PERIOD))
        }
    }

    fn from_monitor(monitor: Monitor) -> Self {
        Self {
            monitor,
            is_local: true,
            begin: Instant::now(),
            zero: f64::INFINITY,
            run: None,
            interval: None,
            steps: 0,
        }
    }

    /// Latest state of this machine's GPUs, and the source of the figures.
    pub fn gpus(&self) -> Option<(Vec<GpuStatus>, &'static str)> {
        let (reading, source) = self.monitor.latest().zip(self.monitor.describe())?;
        Some((reading.gpus, source))
    }

    /// Takes an event as it arrives.
    pub fn on_event(&mut self, event: &Event) {
        self.zero = self.zero.min(self.begin.elapsed().as_secs_f64() - event.t);
        match &event.body {
            Body::Hello(hello) => self.run = (hello.backend != "cpu").then(|| hello.clone()),
            Body::Step(step) if step.measured => self.measured(event.t, step),
            _ => {}
        }
    }

    fn measured(&mut self, t: f64, step: &Step) {
        let (_, end) = self.interval.get_or_insert((t - step.total_ms / 1e3, t));
        *end = t;
        self.steps += 1;
    }

    /// Returns the energy of the run. Returns `None` if the power of its GPU is not known, or too few samples fell into
    /// its measured steps.
    pub fn finish(self) -> Option<RunEnergy> {
        let (run, monitor) = (self.run.filter(|_| self.is_local)?, self.monitor);
        let (start, end) = self.interval?;
        let latest = monitor.latest()?;
        // A guess among several GPUs must not become joules.
        let (gpu, Chosen::TheOne) = choose(&latest.gpus, Some(&run.device))? else {
            return None;
        };
        let power = monitor.power(&gpu.id, self.begin);
        let energy = energy(&power, start + self.zero, end + self.zero)?;
        Some(RunEnergy {
            joules: energy.joules,
            uncertainty: energy.uncertainty,
            power_samples: energy.samples,
            steps: self.steps,
            samples: self.steps * run.config.batch_size as u64,
            source: monitor.describe()?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Line, read_line};
    use tinyllama_profile::live::GpuStatusSource;

    struct Steady(usize);

    impl GpuStatusSource for Steady {
        fn read(&mut self) -> Vec<GpuStatus> {
            let gpu = |number| GpuStatus {
                id: format!("{number}"),
                name: Some("Imagined".into()),
                power: Some(300.0),
                ..GpuStatus::default()
            };
            (0..self.0).map(gpu).collect()
        }

        fn describe(&self) -> &'static str {
            "test"
        }
    }

    fn hello(backend: &str) -> Event {
        let stream = include_str!("../ui/tui/script/run.jsonl");
        let Some(Line::Event(mut event)) = stream.lines().next().map(read_line) else {
            panic!("the recorded run begins with no event");
        };
        let Body::Hello(hello) = &mut event.body else {
            panic!("the recorded run begins with no hello");
        };
        hello.backend = backend.into();
        hello.device = "Imagined GPU".into();
        hello.config.batch_size = 4;
        event.t = 0.0;
        *event
    }

    fn step(t: f64, total_ms: f64) -> Event {
        let line = format!(
            r#"{{"t":{t},"event":"step","n":1,"of":2,"measured":true,"loss":7.0,"total_ms":{total_ms},"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}}"#
        );
        match read_line(&line) {
            Line::Event(event) => *event,
            other => panic!("{other:?}"),
        }
    }

    /// Two steps, far enough apart for some readings between them.
    fn measure(backend: &str, gpus: usize) -> (Option<RunEnergy>, f64) {
        let source = move || Some(Box::new(Steady(gpus)) as Box<dyn GpuStatusSource>);
        let mut meter = EnergyMeter::from_monitor(Monitor::start(source, Duration::from_millis(1)));
        let count = |meter: &EnergyMeter| meter.monitor.power("0", meter.begin).len();
        meter.on_event(&hello(backend));
        // In this test, the run's clock is that of the meter.
        let zero = meter.zero;
        let now = |meter: &EnergyMeter| meter.begin.elapsed().as_secs_f64() - zero;
        let start = now(&meter);
        while count(&meter) < 5 {
            std::thread::yield_now();
        }
        let first = now(&meter);
        meter.on_event(&step(first, (first - start) * 1e3));
        let before = count(&meter);
        while count(&meter) < before + 5 {
            std::thread::yield_now();
        }
        let second = now(&meter);
        meter.on_event(&step(second, (second - first) * 1e3));
        (meter.finish(), second - start)
    }

    #[test]
    fn steady_power_is_power_times_the_time_of_the_measured_steps() {
        let (energy, seconds) = measure("rocm", 1);
        let energy = energy.unwrap();
        assert!(
            (energy.joules - 300.0 * seconds).abs() < 1e-6 * energy.joules,
            "{energy:?} over {seconds} s"
        );
        assert_eq!((energy.steps, energy.samples), (2, 8));
        assert!(energy.power_samples >= 3 && energy.uncertainty == 0.0);
        assert_eq!(energy.per_step().unwrap().joules, energy.joules / 2.0);
        assert_eq!(energy.per_sample().unwrap().joules, energy.joules / 8.0);
    }

    #[test]
    fn an_idle_gpu_beside_a_run_on_the_cpu_and_a_guess_among_several_are_no_energy() {
        assert_eq!(measure("cpu", 1).0, None);
        assert_eq!(measure("rocm", 2).0, None);
    }

    #[test]
    fn energy_of_runs_adds_up_and_its_errors_add_as_independent_ones() {
        let run = |joules, uncertainty| RunEnergy {
            joules,
            uncertainty,
            power_samples: 5,
            steps: 10,
            samples: 80,
            source: "test".into(),
        };
        let both = RunEnergy::together(&[run(100.0, 3.0), run(140.0, 4.0)]).unwrap();
        assert_eq!((both.joules, both.uncertainty), (240.0, 5.0));
        assert_eq!(both.per_step().unwrap().to_string(), "12.00 J +/- 0.25 J");
        assert_eq!(
            both.per_sample().unwrap().to_string(),
            "1.500 J +/- 0.031 J"
        );
        assert_eq!(RunEnergy::together([]), None);
        let none = RunEnergy {
            steps: 0,
            ..run(1.0, 1.0)
        };
        assert_eq!(none.per_step(), None);
    }
}
