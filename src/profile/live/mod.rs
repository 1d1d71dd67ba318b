//! Reads the state of the GPUs during a run: memory, load, temperature, power.
//!
//! The tutor's process reads it once a second from files of the kernel driver or the vendor's library, so the run is not
//! disturbed.

pub mod choose;
pub mod energy;
pub mod monitor;
pub mod nvidia;
pub mod sysfs;

/// One GPU at one moment. `None` means that the driver does not report the figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuStatus {
    /// Bus address or the driver's number. It is the same in all readings.
    pub id: String,
    pub name: Option<String>,
    /// Percent of the time in which some kernel ran.
    pub busy: Option<f64>,
    /// Bytes.
    pub memory_used: Option<u64>,
    /// Degrees Celsius. If the die has several sensors, that of the hottest one.
    pub temperature: Option<f64>,
    /// Watts of the whole package.
    pub power: Option<f64>,
}

/// A source for the state of all GPUs.
pub trait GpuStatusSource: Send {
    fn read(&mut self) -> Vec<GpuStatus>;

    /// Name of the source, for a caption.
    fn describe(&self) -> &'static str;
}

/// Finds the source of this machine: the driver's files, or else NVIDIA's library. `None` without a GPU.
pub fn find_source() -> Option<Box<dyn GpuStatusSource>> {
    let sysfs = sysfs::Sysfs::from_system();
    if !sysfs.is_empty() {
        return Some(Box::new(sysfs));
    }
    nvidia::Nvidia::open().map(|library| Box::new(library) as Box<dyn GpuStatusSource>)
}
