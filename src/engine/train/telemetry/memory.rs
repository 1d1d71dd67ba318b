//! Device memory as the allocator reports it, and process memory as the system reports it.

use burn::backend::DispatchDevice;
use burn::tensor::Device;

use super::heap_in_use;

/// Bytes held at one moment; `None` if the backend does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolMemory {
    /// Bytes of live tensors. On a CPU, of the whole heap.
    pub in_use: Option<u64>,
    /// Bytes taken from the device, including pages kept for reuse.
    pub reserved: Option<u64>,
}

impl PoolMemory {
    pub fn read(device: &Device) -> Self {
        if let DispatchDevice::Flex(_) = device.clone().inner().as_dispatch() {
            return PoolMemory {
                in_use: heap_in_use(),
                reserved: None,
            };
        }
        let usage = device.memory_pool_usage();
        PoolMemory {
            in_use: usage.as_ref().map(|usage| usage.bytes_in_use),
            reserved: usage.as_ref().map(|usage| usage.bytes_reserved),
        }
    }

    /// Returns the larger of each of two readings.
    pub fn max(self, other: PoolMemory) -> PoolMemory {
        PoolMemory {
            in_use: self.in_use.max(other.in_use),
            reserved: self.reserved.max(other.reserved),
        }
    }
}

/// Returns the peak memory of this process in bytes; `None` if the system does not report it.
pub fn process_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
