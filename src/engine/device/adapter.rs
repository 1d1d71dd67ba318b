//! A Vulkan adapter.

use burn::tensor::DeviceKind;

use super::Backend;
use tinyllama_base::device_facts::DeviceFacts;

/// A Vulkan adapter as the loader reports it.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub name: String,
    pub driver: String,
    /// True for a Vulkan implementation on the CPU, such as llvmpipe or SwiftShader.
    pub software: bool,
    /// The adapter as burn addresses it. Burn numbers each kind of device separately.
    pub kind: DeviceKind,
}

impl From<&Adapter> for DeviceFacts {
    fn from(adapter: &Adapter) -> Self {
        DeviceFacts {
            backend: Backend::Vulkan.to_string(),
            device: adapter.name.clone(),
            arch: None,
            driver: Some(adapter.driver.clone()),
            memory: None,
        }
    }
}
