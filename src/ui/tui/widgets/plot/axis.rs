//! Axes of a plot: bounds, scale, and round numbers for the ticks.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Decades have equal distances. Bounds and values must be above zero.
    Log,
}

impl Scale {
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct PlotAxis {
    pub low: f64,
    pub high: f64,
    pub scale: Scale,
    /// The unit as well: `ms`, `FLOP/byte`, `step`.
    pub label: String,
}

impl PlotAxis {
    /// From 0 to 5 % above `high`.
    pub fn from_zero(high: f64, label: impl Into<String>) -> Self {
        let high = if high > 0.0 && high.is_finite() {
            high * 1.05
        } else {
            1.0
        };
        PlotAxis::exactly(0.0, high, label)
    }

    /// From `low` to `high` with a margin of 5 % of the range on both sides. It does not pass zero.
    pub fn fitted(low: f64, high: f64, label: impl Into<String>) -> Self {
        let air = match high - low {
            air if air > 0.0 && air.is_finite() => 0.05 * air,
            _ => 0.5 * low.abs().max(1e-9),
        };
        let least = if low < 0.0 { f64::NEG_INFINITY } else { 0.0 };
        PlotAxis::exactly((low - air).max(least), high + air, label)
    }

    /// From `low` to `high` exactly; a range of one value gets some width.
    pub fn exactly(low: f64, high: f64, label: impl Into<String>) -> Self {
        PlotAxis {
            low,
            high: if high > low { high } else { low + 1.0 },
            scale: Scale::Linear,
            label: label.into(),
        }
    }

    /// Position of `value` between the bounds, from 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.place(self.low), self.scale.place(self.high));
        (self.scale.place(value) - low) / (high - low)
    }

    /// At most `most` round values between the bounds.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(1);
        if self.scale == Scale::Log {
            let (low, high) = (self.low.log10().ceil(), self.high.log10().floor());
            let decades = (high - low).max(0.0) as usize + 1;
            let every = decades.div_ceil(most).max(1);
            return (0..decades)
                .step_by(every)
                .map(|decade| 10f64.powf(low + decade as f64))
                .collect();
        }
        let span = self.high - self.low;
        if !(span > 0.0 && span.is_finite()) {
            return vec![self.low];
        }
        let step = round_step(span / most as f64);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

/// The smallest of 1, 2, 5, 10 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

/// A short label for a tick: `0.25`, `12`, `1.5k`, `20M`.
pub fn tick_label(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e18 || (size > 0.0 && size < 1e-4) => return format!("{value:.0e}"),
        _ if size >= 1e15 => (value / 1e15, "P"),
        _ if size >= 1e12 => (value / 1e12, "T"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are round numbers, so the shortest form without trailing zeros is exact.
    let text = format!("{scaled:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

/// A label for an end of an axis, which need not be round: three significant digits.
pub(super) fn end_label(value: f64) -> String {
    let size = value.abs();
    if !(1e-4..1e15).contains(&size) {
        return tick_label(value);
    }
    let digits = 2 - size.log10().floor() as i32;
    let factor = 10_f64.powi(digits.min(2 + 4));
    // Whole numbers below ten thousand are step numbers and stay complete.
    let rounded = match value.fract() == 0.0 && size < 1e4 {
        true => value,
        false => (value * factor).round() / factor,
    };
    tick_label(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_short_whatever_they_are() {
        for (value, label) in [
            (23.593_5, "23.6"),
            (1033.0, "1033"),
            (0.0, "0"),
            (6.948_91, "6.95"),
            (25_412.0, "25.4k"),
        ] {
            assert_eq!(end_label(value), label);
        }
    }

    #[test]
    fn the_margin_of_an_axis_does_not_pass_zero() {
        assert_eq!(PlotAxis::fitted(0.02, 7.0, "nats").low, 0.0);
        assert!(PlotAxis::fitted(5.9, 7.0, "nats").low > 5.8);
        assert!(PlotAxis::fitted(-1.0, 7.0, "").low < -1.0);
    }

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        let axis = |low, high| PlotAxis::exactly(low, high, "");
        assert_eq!(axis(0.0, 22.47).ticks(5), [0.0, 5.0, 10.0, 15.0, 20.0]);
        let loss: Vec<String> = axis(3.68, 4.17)
            .ticks(3)
            .into_iter()
            .map(tick_label)
            .collect();
        assert_eq!(loss, ["3.8", "4"]);
        assert_eq!(axis(0.0, 1.0).ticks(2), [0.0, 0.5, 1.0]);
        let decades = PlotAxis {
            low: 0.01,
            high: 1000.0,
            scale: Scale::Log,
            label: String::new(),
        };
        let decades = decades.ticks(10);
        assert!(
            (decades[0] - 0.01).abs() < 1e-12 && decades.len() == 6,
            "{decades:?}"
        );
        for label in [
            (0.0, "0"),
            (0.25, "0.25"),
            (12.0, "12"),
            (1500.0, "1500"),
            (25_000.0, "25k"),
            (2.5e9, "2.5G"),
            (-0.00001, "-1e-5"),
        ] {
            assert_eq!(tick_label(label.0), label.1);
        }
    }
}
