//! Finds out whether runs of this tutor could find a GPU.

use std::path::Path;

use crate::TutorOptions;

/// Device files of GPUs: AMD's and NVIDIA's compute drivers, any graphics driver, and the GPU of a Windows host.
const DEVICES: [&str; 4] = [
    "/dev/kfd",
    "/dev/nvidiactl",
    "/dev/dri/renderD128",
    "/dev/dxg",
];

/// Returns whether runs may find a GPU. It only looks at device files: a driver call would load the driver, and the
/// tutor itself uses no GPU. A launcher may start runs on a machine with a GPU, so the answer for it is yes.
pub fn may_be_found(options: &TutorOptions) -> bool {
    if !options.launcher.is_local() {
        return true;
    }
    if std::env::var("TINYLLAMA_BACKEND").is_ok_and(|backend| backend == "cpu") {
        return false;
    }
    cfg!(not(target_os = "linux")) || DEVICES.iter().any(|path| Path::new(path).exists())
}
