//! The devices of burn's GPU backends.

use burn::tensor::Device;
#[cfg(feature = "vulkan")]
use burn::tensor::DeviceKind;

use crate::device::Backend;
use crate::device::adapter::Adapter;

/// Returns every Vulkan adapter in the loader's order; empty if there is no loader.
#[cfg(feature = "vulkan")]
pub fn adapters() -> Vec<Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let found = burn::cubecl::future::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let (mut discrete, mut integrated, mut virtualised) = (0, 0, 0);
    let next = |counter: &mut usize| {
        *counter += 1;
        *counter - 1
    };
    found
        .into_iter()
        .map(|adapter| adapter.get_info())
        .filter_map(|info| {
            let kind = match info.device_type {
                wgpu::DeviceType::DiscreteGpu => DeviceKind::DiscreteGpu(next(&mut discrete)),
                wgpu::DeviceType::IntegratedGpu => DeviceKind::IntegratedGpu(next(&mut integrated)),
                wgpu::DeviceType::VirtualGpu => DeviceKind::VirtualGpu(next(&mut virtualised)),
                wgpu::DeviceType::Cpu => DeviceKind::Cpu,
                wgpu::DeviceType::Other => return None,
            };
            Some(Adapter {
                software: kind == DeviceKind::Cpu,
                name: info.name,
                driver: format!("{} {}", info.driver, info.driver_info)
                    .trim()
                    .to_string(),
                kind,
            })
        })
        .collect()
}

#[cfg(not(feature = "vulkan"))]
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}

/// Opens a Vulkan adapter. Returns `None` in a build without Vulkan.
#[cfg_attr(
    not(feature = "vulkan"),
    allow(unused_variables, reason = "only Vulkan has adapters")
)]
pub fn open_adapter(adapter: &Adapter) -> Option<Device> {
    #[cfg(feature = "vulkan")]
    return Some(Device::vulkan(adapter.kind.clone()));
    #[cfg(not(feature = "vulkan"))]
    None
}

/// Returns the number of devices of CUDA or ROCm.
pub fn count(backend: Backend) -> usize {
    match backend {
        #[cfg(feature = "cuda")]
        Backend::Cuda => Device::enumerate(burn::tensor::DeviceType::Cuda)
            .into_vec()
            .len(),
        #[cfg(feature = "rocm")]
        Backend::Rocm => Device::enumerate(burn::tensor::DeviceType::Rocm)
            .into_vec()
            .len(),
        _ => 0,
    }
}

/// Opens device `index` of CUDA or ROCm. Returns the device, its name, and the fingerprint of its code generator.
/// The fingerprint contains the architecture. Returns `None` if this build does not have the backend.
#[cfg_attr(
    not(any(feature = "cuda", feature = "rocm")),
    allow(
        unused_variables,
        unreachable_code,
        reason = "only CUDA and ROCm number their devices"
    )
)]
pub fn open_indexed(backend: Backend, index: usize) -> Option<(Device, String, String)> {
    let device: Device = match backend {
        #[cfg(feature = "cuda")]
        Backend::Cuda => Device::cuda(index),
        #[cfg(feature = "rocm")]
        Backend::Rocm => Device::rocm(index),
        _ => return None,
    };
    let identity = device.identity().unwrap_or_default();
    Some((device, identity.name, identity.fingerprint))
}
