//! Compares kernels with their references.

mod host;
#[cfg(feature = "gpu")]
mod trial;

pub use host::check_on_cpu;
#[cfg(feature = "gpu")]
pub(crate) use trial::{INDEX, KernelTrial};

/// One output of one kernel on one shape, compared with its reference.
#[derive(Debug, Clone)]
pub struct OutputCheck {
    pub kernel: &'static str,
    pub output: &'static str,
    /// The shape, as text.
    pub case: String,
    /// Relative l2 distance ‖kernel - reference‖ / ‖reference‖; infinite if any value is not finite.
    pub error: f64,
    pub tolerance: f64,
}

impl OutputCheck {
    /// Returns whether the output agrees with its reference. NaN never does.
    pub fn passed(&self) -> bool {
        self.error <= self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_is_a_failure() {
        let check = |error| OutputCheck {
            kernel: "k",
            output: "o",
            case: String::new(),
            error,
            tolerance: 1e-5,
        };
        assert!(check(1e-6).passed());
        assert!(!check(f64::NAN).passed());
        assert!(!check(f64::INFINITY).passed());
    }
}
