//! Bounds of every number on the command line that sizes something: one table, by what the number counts.
//!
//! A number outside its bounds is refused where it is parsed, with a sentence. Numbers that size nothing, such as seeds,
//! have no bounds.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::{Arg, Command};

/// A number from `least` to `most`. It parses a flag: `#[arg(value_parser = bounds::ROUNDS)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T> {
    pub least: T,
    pub most: T,
}

/// A type of bounded numbers.
pub trait BoundedNumber: FromStr + PartialOrd + Debug + Copy + Send + Sync + 'static {
    /// Its name in a sentence.
    const KIND: &'static str;
}

impl BoundedNumber for f64 {
    const KIND: &'static str = "a number";
}

macro_rules! whole_numbers {
    ($($type:ty)+) => {$(
        impl BoundedNumber for $type {
            const KIND: &'static str = "a whole number";
        }
    )+};
}

whole_numbers!(u32 usize);

impl<T: BoundedNumber> Bounds<T> {
    const fn new(least: T, most: T) -> Self {
        Bounds { least, most }
    }

    pub fn contain(&self, number: T) -> bool {
        number >= self.least && number <= self.most
    }

    /// Parses a number within the bounds.
    ///
    /// # Errors
    /// A sentence with the bounds.
    pub fn parse(&self, text: &str) -> Result<T, String> {
        let number = text.parse().ok().filter(|number| self.contain(*number));
        number.ok_or_else(|| {
            format!(
                "expected {} from {:?} to {:?}",
                T::KIND,
                self.least,
                self.most
            )
        })
    }
}

impl<T: BoundedNumber> TypedValueParser for Bounds<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let bounds = *self;
        (move |text: &str| bounds.parse(text)).parse_ref(command, arg, value)
    }
}

// With larger sizes of a model, a product of two of them would not fit the 32-bit indices of GPU kernels.
pub const VOCABULARY: Bounds<usize> = Bounds::new(2, 1 << 20);
pub const HIDDEN: Bounds<usize> = Bounds::new(2, 1 << 16);
pub const LAYERS: Bounds<usize> = Bounds::new(1, 1 << 10);
pub const HEADS: Bounds<usize> = Bounds::new(1, 1 << 10);
pub const FFN: Bounds<usize> = Bounds::new(1, 1 << 18);
/// Tokens of a sample.
pub const SEQUENCE: Bounds<usize> = Bounds::new(1, 1 << 17);
/// Samples of a step.
pub const BATCH: Bounds<usize> = Bounds::new(1, 1 << 16);

/// Steps of a run that count.
pub const STEPS: Bounds<usize> = Bounds::new(1, 1_000_000_000);
/// Steps of a run before those that count.
pub const WARMUP: Bounds<usize> = Bounds::new(0, 1_000_000);
/// Steps of which each kernel is timed; each is kept.
pub const PROFILED_STEPS: Bounds<usize> = Bounds::new(0, 1000);
/// AdamW moves a parameter by about this much in each step.
pub const LEARNING_RATE: Bounds<f64> = Bounds::new(1e-12, 10.0);
/// Bytes of text that a trained model writes.
pub const SAMPLE: Bounds<usize> = Bounds::new(0, 1 << 16);
pub const GPUS: Bounds<usize> = Bounds::new(1, 1024);
/// MiB of gradients in one sum.
pub const BUCKET: Bounds<f64> = Bounds::new(1e-6, 1e6);

/// Rounds in which everything runs once.
pub const ROUNDS: Bounds<usize> = Bounds::new(1, 1000);
/// Confidence of an interval, in per cent.
pub const CONFIDENCE: Bounds<f64> = Bounds::new(50.1, 99.999);
/// Processes at a time.
pub const JOBS: Bounds<usize> = Bounds::new(1, 64);
/// Work items of a kernel's block.
pub const BLOCK: Bounds<usize> = Bounds::new(1, 1024);
/// Runs of a search.
pub const COMBINATIONS: Bounds<usize> = Bounds::new(1, 1000);
/// How much worse a figure may become, in per cent.
pub const TOLERANCE: Bounds<f64> = Bounds::new(0.0, 1000.0);
/// A ratio of two times.
pub const FACTOR: Bounds<f64> = Bounds::new(1e-3, 1e6);
/// A part of a device's memory.
pub const SHARE: Bounds<f64> = Bounds::new(0.001, 1.0);

/// Rows of a table.
pub const ROWS: Bounds<usize> = Bounds::new(0, 1_000_000);
/// Stored runs.
pub const RUNS: Bounds<usize> = Bounds::new(0, 1_000_000);
pub const DAYS: Bounds<u32> = Bounds::new(0, 36_500);
pub const MINUTES: Bounds<f64> = Bounds::new(0.01, 1440.0);
/// Minutes after which an allocation is given back.
pub const IDLE_MINUTES: Bounds<u32> = Bounds::new(0, 1440);
/// Linux numbers processes up to 2²².
pub const PROCESS: Bounds<u32> = Bounds::new(1, 1 << 22);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_its_bounds_is_answered_with_them() {
        assert_eq!(ROUNDS.parse("1000"), Ok(1000));
        let sentence = Err("expected a whole number from 1 to 1000".to_owned());
        for text in ["0", "-1", "1001", "18446744073709551615", "1e3", "", "x"] {
            assert_eq!(ROUNDS.parse(text), sentence, "{text}");
        }
        for text in ["nan", "inf", "1e20", "0", "-1e-3"] {
            assert!(LEARNING_RATE.parse(text).is_err(), "{text}");
        }
        assert_eq!(LEARNING_RATE.parse("3e-4"), Ok(3e-4));
    }
}
