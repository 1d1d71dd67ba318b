//! A stream for measurements, and the timing of a repeat.

use super::super::super::driver::{
    DeviceModule, Driver, DriverError, LaunchSettings, Slice, Stream, Timer,
};
use super::{GpuEffort, Result, THREADS};

pub(super) struct CeilingBench<'a> {
    pub driver: &'a Driver,
    pub effort: &'a GpuEffort,
    pub stream: Stream,
    timer: Timer,
}

impl<'a> CeilingBench<'a> {
    pub fn open(driver: &'a Driver, effort: &'a GpuEffort) -> Result<Self> {
        Ok(CeilingBench {
            driver,
            effort,
            stream: driver.stream(effort.workspace)?,
            timer: driver.timer()?,
        })
    }

    /// Returns the device's milliseconds for the work that `work` puts into the stream. It waits until the work is done.
    pub fn timed(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        let ms = self.timer.time(&self.stream, work)?;
        if !(ms.is_finite() && ms > 0.0) {
            let what = format!("the device's clock says that work took {ms} ms");
            return Err(DriverError::Invalid(what));
        }
        Ok(ms)
    }

    /// Returns the milliseconds per pass of each repeat. `work` puts a number of passes, at most `most`, into the
    /// stream. The function first finds out how many make a repeat long enough, which also warms clocks and caches.
    pub fn sample(&self, most: u32, mut work: impl FnMut(u32) -> Result<()>) -> Result<Vec<f64>> {
        // A clock that stands still never says that a repeat is long enough.
        self.timed(|| work(1))?;
        let (timer, least) = (&self.timer, self.effort.repeat_ms / 2.0);
        let passes = timer.passes(&self.stream, least, most, &mut work)?;
        (0..self.effort.repeats)
            .map(|_| Ok(self.timed(|| work(passes))? / f64::from(passes)))
            .collect()
    }

    /// Fills `slice` with numbers between -1 and 1, in f32 or in bf16 (`halves`).
    pub fn fill_random(&self, module: &DeviceModule, slice: Slice, halves: bool) -> Result<()> {
        let kernel = module.kernel("fill_random")?;
        let words = u32::try_from(slice.bytes() / 4).map_err(|_| {
            DriverError::Invalid(format!("{} bytes are too many to fill", slice.bytes()))
        })?;
        let blocks = words.div_ceil(THREADS).min(65_535);
        let launch = LaunchSettings::linear(blocks, THREADS);
        let arguments = [slice.into(), words.into(), u32::from(halves).into()];
        // SAFETY: the arguments match the kernel's declaration, and the stream is waited for.
        unsafe { self.stream.launch(&kernel, &launch, &arguments)? };
        self.stream.synchronize()
    }
}
