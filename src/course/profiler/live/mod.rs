//! The state of the GPUs beside a run: memory, load, temperature, power.
//!
//! Read by the tutor's own process once a second, from files of the kernel driver or the vendor's library, so that the run
//! itself is left alone.

pub mod amd_smi;
pub mod choose;
pub mod energy;
pub mod monitor;
pub mod nvidia;
pub mod sysfs;

/// One GPU at one moment. `None` is what the driver does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuStatus {
    /// Where on the bus, or the driver's own number: stays the same between readings.
    pub id: String,
    pub name: Option<String>,
    /// Percent of the time some kernel ran.
    pub busy: Option<f64>,
    /// Bytes.
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    /// Degrees Celsius, of the hottest sensor on the die where there are several.
    pub temperature: Option<f64>,
    /// Watts of the whole package.
    pub power: Option<f64>,
}

/// Something that can be asked for the state of all GPUs.
pub trait Source: Send {
    fn read(&mut self) -> Vec<GpuStatus>;

    /// What the figures come from, for a caption.
    fn describe(&self) -> &'static str;
}

/// The best source of this machine: the driver's files, then the vendors' libraries and programs; `None` without a GPU.
pub fn find_source() -> Option<Box<dyn Source>> {
    let sysfs = sysfs::Sysfs::of_this_machine();
    if !sysfs.is_empty() {
        return Some(Box::new(sysfs));
    }
    if let Some(nvidia) = nvidia::Nvidia::open() {
        return Some(Box::new(nvidia));
    }
    amd_smi::AmdSmi::find().map(|tool| Box::new(tool) as Box<dyn Source>)
}
