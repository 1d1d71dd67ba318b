//! What a launch must move and compute, from its shape alone.

/// Bytes and floating point operations of one operation, counted once each however the kernel runs.
///
/// This is the floor: every input is read once and every output written once. Reading a tile again from a cache is
/// not counted, so measured bandwidth derived from it can never flatter a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Additions, multiplications, divisions and transcendental functions, each counted as one.
    pub flops: u64,
}

impl Cost {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Arithmetic intensity in operations per byte; `None` where nothing is moved.
    pub fn intensity(&self) -> Option<f64> {
        match self.bytes() {
            0 => None,
            bytes => Some(self.flops as f64 / bytes as f64),
        }
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            flops: self.flops + other.flops,
        }
    }
}
