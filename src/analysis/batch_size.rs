//! Finds a batch size by trials. It doubles the size until memory is full, then bisects. Every trial is a real run.

use serde::Serialize;

/// The aim of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The smallest batch whose throughput no other one beats by more than the tolerance
    Throughput,
    /// The largest batch that stays within the memory
    Memory,
}

/// A throughput within this share of the best counts as equal to it: 2 %.
pub const AS_GOOD: f64 = 0.02;

/// The outcome of one batch size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SizeTrial {
    pub batch_size: usize,
    pub fits: bool,
    /// Null if the backend does not report it and no estimate exists.
    pub bytes: Option<u64>,
    pub samples_per_s: Option<f64>,
    pub step_ms: Option<f64>,
    /// Why the size does not fit, or the source of the figures.
    pub note: String,
}

/// Bounds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub from: usize,
    /// The search never tries a larger size.
    pub to: usize,
    /// If true, the search stops when the limit is known to within one batch, otherwise to within a sixteenth.
    pub exact: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BatchSizeSearch {
    pub goal: Goal,
    /// Sorted by size.
    pub trials: Vec<SizeTrial>,
    /// Largest size that fitted. Null if not even the smallest did.
    pub largest_that_fits: Option<usize>,
    /// Smallest size that did not fit. Null if the search ended at its upper bound.
    pub smallest_that_does_not: Option<usize>,
    pub best: Option<usize>,
    /// True if the largest size allowed fitted, so that a larger one may do better.
    pub at_upper_bound: bool,
}

/// Runs `try_it` on one size after the other.
///
/// # Errors
/// Returns the first error of `try_it` together with the results so far.
pub fn search<E>(
    goal: Goal,
    bounds: Bounds,
    mut try_it: impl FnMut(usize) -> Result<SizeTrial, E>,
) -> Result<BatchSizeSearch, (BatchSizeSearch, E)> {
    let mut found = SearchState {
        goal,
        bounds,
        trials: vec![],
    };
    match found.search(&mut try_it) {
        Ok(()) => Ok(found.result()),
        Err(error) => Err((found.result(), error)),
    }
}

/// Runs a trial of one size.
type Try<'a, E> = &'a mut dyn FnMut(usize) -> Result<SizeTrial, E>;

struct SearchState {
    goal: Goal,
    bounds: Bounds,
    trials: Vec<SizeTrial>,
}

impl SearchState {
    fn try_size<E>(&mut self, size: usize, try_it: Try<'_, E>) -> Result<bool, E> {
        if let Some(known) = self.trials.iter().find(|trial| trial.batch_size == size) {
            return Ok(known.fits);
        }
        let trial = try_it(size)?;
        let fits = trial.fits;
        self.trials.push(trial);
        self.trials.sort_by_key(|trial| trial.batch_size);
        Ok(fits)
    }

    fn search<E>(&mut self, try_it: Try<'_, E>) -> Result<(), E> {
        self.double(try_it)?;
        self.bisect(try_it)?;
        match self.goal {
            Goal::Throughput => self.refine(try_it),
            Goal::Memory => Ok(()),
        }
    }

    fn double<E>(&mut self, try_it: Try<'_, E>) -> Result<(), E> {
        let mut size = self.bounds.from.max(1);
        while self.try_size(size, try_it)? && size < self.bounds.to {
            size = size.saturating_mul(2).min(self.bounds.to);
        }
        Ok(())
    }

    fn bisect<E>(&mut self, try_it: Try<'_, E>) -> Result<(), E> {
        while let (Some(low), Some(high)) = (self.largest(), self.smallest_too_large()) {
            let close_enough = match self.bounds.exact {
                true => 1,
                false => (low / 16).max(1),
            };
            if high - low <= close_enough {
                break;
            }
            self.try_size(low + (high - low) / 2, try_it)?;
        }
        Ok(())
    }

    /// Tries sizes between the best one and its neighbours, because throughput may fall again before the largest size.
    fn refine<E>(&mut self, try_it: Try<'_, E>) -> Result<(), E> {
        let fitting: Vec<&SizeTrial> = self.fitting().collect();
        let rates = fitting.iter().enumerate();
        let rates = rates.filter_map(|(at, trial)| Some((at, trial.samples_per_s?)));
        let Some((top, _)) = rates.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Ok(());
        };
        let between = |(a, b): (usize, usize)| (b - a > 1).then(|| a + (b - a) / 2);
        let size = |at: usize| fitting.get(at).map(|trial| trial.batch_size);
        let here = size(top);
        let below = top.checked_sub(1).and_then(size).zip(here);
        let (below, above) = (
            below.and_then(between),
            here.zip(size(top + 1)).and_then(between),
        );
        for size in [below, above].into_iter().flatten() {
            self.try_size(size, try_it)?;
        }
        Ok(())
    }

    fn largest(&self) -> Option<usize> {
        let too_large = self.smallest_too_large().unwrap_or(usize::MAX);
        let sizes = self.fitting().map(|trial| trial.batch_size);
        sizes.filter(|size| *size < too_large).max()
    }

    fn smallest_too_large(&self) -> Option<usize> {
        let too_large = self.trials.iter().filter(|trial| !trial.fits);
        too_large.map(|trial| trial.batch_size).min()
    }

    fn fitting(&self) -> impl Iterator<Item = &SizeTrial> {
        self.trials.iter().filter(|trial| trial.fits)
    }

    fn result(self) -> BatchSizeSearch {
        let largest = self.largest();
        let best = match self.goal {
            Goal::Memory => largest,
            Goal::Throughput => self.smallest_as_good(),
        };
        BatchSizeSearch {
            goal: self.goal,
            largest_that_fits: largest,
            smallest_that_does_not: self.smallest_too_large(),
            best,
            at_upper_bound: largest == Some(self.bounds.to),
            trials: self.trials,
        }
    }

    fn smallest_as_good(&self) -> Option<usize> {
        let rate = |trial: &SizeTrial| Some((trial.batch_size, trial.samples_per_s?));
        let rates = || self.fitting().filter_map(rate);
        let top = rates().map(|(_, rate)| rate).fold(0.0, f64::max);
        let as_good = rates().find(|(_, rate)| *rate >= top * (1.0 - AS_GOOD));
        as_good.map(|(size, _)| size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that holds `capacity` samples and is fastest at `peak`.
    fn device(capacity: usize, peak: usize) -> impl FnMut(usize) -> Result<SizeTrial, String> {
        move |batch_size| {
            let fits = batch_size <= capacity;
            let rate = 1000.0 / (1.0 + (batch_size as f64 / peak as f64).ln().abs());
            Ok(SizeTrial {
                batch_size,
                fits,
                bytes: None,
                samples_per_s: fits.then_some(rate),
                step_ms: None,
                note: String::new(),
            })
        }
    }

    const ALL: Bounds = Bounds {
        from: 1,
        to: 4096,
        exact: true,
    };

    #[test]
    fn the_largest_batch_is_found_exactly_and_with_few_runs() {
        for capacity in [1, 2, 3, 100, 777, 4095] {
            let found = search(Goal::Memory, ALL, device(capacity, 8)).unwrap();
            assert_eq!(found.best, Some(capacity), "{capacity}");
            assert_eq!(found.smallest_that_does_not, Some(capacity + 1));
            assert!(found.trials.len() <= 24, "{}", found.trials.len());
        }
        let roughly = Bounds {
            exact: false,
            ..ALL
        };
        let found = search(Goal::Memory, roughly, device(777, 8)).unwrap();
        assert!((730..=777).contains(&found.best.unwrap()), "{found:?}");
        assert!(found.trials.len() <= 16, "{}", found.trials.len());
    }

    #[test]
    fn the_ends_of_the_range_are_said_to_be_ends() {
        let found = search(Goal::Memory, ALL, device(0, 8)).unwrap();
        assert_eq!((found.best, found.smallest_that_does_not), (None, Some(1)));
        let found = search(Goal::Memory, ALL, device(1_000_000, 8)).unwrap();
        assert_eq!((found.best, found.at_upper_bound), (Some(4096), true));
    }

    #[test]
    fn throughput_prefers_the_smallest_of_equals_and_looks_between_powers_of_two() {
        let found = search(Goal::Throughput, ALL, device(500, 48)).unwrap();
        assert_eq!(found.best, Some(48), "{found:?}");
        let flat = |batch_size: usize| -> Result<SizeTrial, String> {
            let mut trial = device(500, 48)(batch_size)?;
            trial.samples_per_s = trial.fits.then_some(if batch_size < 8 {
                10.0
            } else {
                100.0 + batch_size as f64 / 1e3
            });
            Ok(trial)
        };
        let found = search(Goal::Throughput, ALL, flat).unwrap();
        assert_eq!(found.best, Some(8), "{found:?}");
    }

    #[test]
    fn results_before_an_error_are_kept() {
        let mut left = 3;
        let (found, error) = search(Goal::Memory, ALL, |size| {
            left -= 1;
            if left == 0 {
                Err("interrupted")
            } else {
                device(100, 8)(size).map_err(|_| "")
            }
        })
        .unwrap_err();
        assert_eq!(
            (error, found.trials.len(), found.best),
            ("interrupted", 2, Some(2))
        );
    }
}
