//! Logarithmic axes: equal distances are equal ratios.

/// A logarithmic axis between two coordinates of the drawing.
pub(super) struct LogAxis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// Extends a little beyond the values, so that none lies on the edge.
    pub fn new(least: f64, most: f64, from: f64, to: f64) -> Self {
        Self {
            low: least.log10() - 0.05,
            high: most.log10() + 0.05,
            from,
            to,
        }
    }

    pub fn position(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Values with few digits on the axis, with their coordinates.
    pub fn ticks(&self) -> Vec<(f64, f64)> {
        let digits: &[f64] = if self.high - self.low > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        decades
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|value| (self.low..=self.high).contains(&value.log10()))
            .map(|value| (value, self.position(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_within_and_decades_are_marked() {
        let axis = LogAxis::new(3.0, 4000.0, 0.0, 100.0);
        assert!(
            (0.0..100.0).contains(&axis.position(3.0))
                && (0.0..100.0).contains(&axis.position(4000.0))
        );
        assert!(axis.ticks().iter().any(|(value, _)| *value == 100.0));
    }
}
