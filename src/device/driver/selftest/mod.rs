//! Trials of the driver layer: what it computes, not only that calls return. Tests run them on the recording double.

mod gemms;
mod launches;

use super::{Driver, DriverError, Stream};

type Result<T> = std::result::Result<T, DriverError>;

/// What came of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub name: String,
    pub passed: bool,
    /// What was found, measured here.
    pub detail: String,
}

/// All trials on one device.
#[derive(Clone, Debug)]
pub struct SelfTest {
    pub trials: Vec<Trial>,
}

impl SelfTest {
    pub fn passed(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|trial| trial.passed)
    }
}

/// Runs every trial. One that fails does not stop the others, unless the device is lost with it.
///
/// `progress` hears of each trial as it ends.
///
/// # Errors
/// Only what keeps it from starting; a failed call within a trial is that trial's result.
pub fn selftest(driver: &Driver, mut progress: impl FnMut(&Trial)) -> Result<SelfTest> {
    let mut trials = Vec::new();
    let before = driver.memory_use();
    {
        let bench = Bench {
            driver,
            stream: driver.stream(WORKSPACE)?,
        };
        let mut attempt = |name: String, result: Result<std::result::Result<String, String>>| {
            let (passed, detail) = match result {
                Ok(Ok(detail)) => (true, detail),
                Ok(Err(detail)) => (false, detail),
                Err(error) => (false, format!("{error}. {}", error.remedy())),
            };
            let trial = Trial {
                name,
                passed,
                detail,
            };
            progress(&trial);
            trials.push(trial);
        };
        launches::try_all(&bench, &mut attempt);
        gemms::try_all(&bench, &mut attempt);
    }
    let trial = given_back(driver, before.allocated + before.pinned);
    progress(&trial);
    trials.push(trial);
    Ok(SelfTest { trials })
}

/// Scratch memory for the matrix library.
const WORKSPACE: usize = 32 << 20;

/// What a trial works with.
struct Bench<'a> {
    driver: &'a Driver,
    stream: Stream,
}

/// A trial's outcome: what was found, as a success or as a failure.
type Outcome = std::result::Result<String, String>;
type Attempt<'a> = dyn FnMut(String, Result<Outcome>) + 'a;

/// `detail` as a success where `condition` holds.
fn expect(condition: bool, detail: String) -> Outcome {
    if condition { Ok(detail) } else { Err(detail) }
}

fn given_back(driver: &Driver, held_before: usize) -> Trial {
    let now = driver.memory_use();
    let failures = driver.take_failures();
    let held = now.allocated + now.pinned;
    Trial {
        name: "everything is given back".into(),
        passed: held == held_before && failures.is_empty(),
        detail: match failures.first() {
            Some(error) => format!("{} calls failed while giving back: {error}", failures.len()),
            None => format!("{} bytes held, {} at most", held - held_before, now.peak),
        },
    }
}

/// Numbers between -1 and 1 that are the same on every run: a linear congruential generator (Knuth's MMIX constants).
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Whether two lists have the same bits.
fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
