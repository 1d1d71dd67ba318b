//! Reads NVIDIA GPUs through the driver's management library.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;

use super::{GpuStatus, GpuStatusSource};

pub struct Nvidia {
    library: Nvml,
}

impl Nvidia {
    /// Returns `None` if the library or the driver is missing.
    pub fn open() -> Option<Self> {
        let library = Nvml::init().ok()?;
        let count = library.device_count().ok()?;
        (count > 0).then_some(Nvidia { library })
    }

    fn status(&self, index: u32) -> Option<GpuStatus> {
        let device = self.library.device_by_index(index).ok()?;
        let (memory, busy) = (device.memory_info().ok(), device.utilization_rates().ok());
        let temperature = device.temperature(TemperatureSensor::Gpu).ok();
        let milliwatts = device.power_usage().ok().map(f64::from);
        Some(GpuStatus {
            id: device.uuid().unwrap_or_else(|_| index.to_string()),
            name: device.name().ok(),
            busy: busy.map(|rates| f64::from(rates.gpu)),
            memory_used: memory.map(|memory| memory.used),
            temperature: temperature.map(f64::from),
            power: milliwatts.map(|milliwatts| milliwatts / 1e3),
        })
    }
}

impl GpuStatusSource for Nvidia {
    fn read(&mut self) -> Vec<GpuStatus> {
        let count = self.library.device_count().unwrap_or(0);
        (0..count).filter_map(|index| self.status(index)).collect()
    }

    fn describe(&self) -> &'static str {
        "NVIDIA driver (NVML)"
    }
}
