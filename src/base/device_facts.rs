//! Facts about a device. They come from the device itself, a run's first line, or a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// `rocm`, `cuda`, `vulkan` or `cpu`.
    pub backend: String,
    /// The device's name.
    pub device: String,
    /// For example `gfx942`, `sm_90` or `x86_64`; `None` if the backend does not report it.
    pub arch: Option<String>,
    pub driver: Option<String>,
    /// Memory in bytes.
    pub memory: Option<u64>,
}
