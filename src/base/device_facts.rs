//! What is known of a device, wherever it comes from: the device itself, a run's first line, a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// `rocm`, `cuda`, `vulkan` or `cpu`.
    pub backend: String,
    /// Its name.
    pub device: String,
    /// `gfx942`, `sm_90`, `x86_64`; `None` where the backend does not say.
    pub arch: Option<String>,
    pub driver: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
}
