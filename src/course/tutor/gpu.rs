//! Whether runs of this tutor could find a GPU.

use std::path::Path;

use crate::tutor::Options;

/// Where the system keeps GPUs: AMD's and NVIDIA's compute drivers, any that draws, and those of a Windows host.
const DEVICES: [&str; 4] = [
    "/dev/kfd",
    "/dev/nvidiactl",
    "/dev/dri/renderD128",
    "/dev/dxg",
];

/// By what the system shows of them: asking a driver would load it, and the tutor itself leaves GPUs alone. Runs behind a
/// launcher may well start where there is one.
pub fn may_be_found(options: &Options) -> bool {
    if !options.launcher.is_local() {
        return true;
    }
    if std::env::var("TINYLLAMA_BACKEND").is_ok_and(|backend| backend == "cpu") {
        return false;
    }
    cfg!(not(target_os = "linux")) || DEVICES.iter().any(|path| Path::new(path).exists())
}
