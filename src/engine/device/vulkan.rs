//! Lists Vulkan adapters through `wgpu`.

use burn::tensor::DeviceKind;

use super::adapter::Adapter;
use super::{Backend, DeviceError, is_compiled_in, library};
use crate::gpu;

/// Returns the adapter to use. Fails if this build or this machine has none.
pub fn find(wanted: Option<&str>) -> Result<Adapter, DeviceError> {
    let backend = Backend::Vulkan;
    if !is_compiled_in(backend) {
        return Err(DeviceError::NotCompiledIn { backend });
    }
    library::check(backend)?;
    pick(&gpu::adapters(), wanted)
}

/// Picks the adapter that `wanted` names, or the best real GPU: discrete before integrated before virtual.
fn pick(adapters: &[Adapter], wanted: Option<&str>) -> Result<Adapter, DeviceError> {
    let backend = Backend::Vulkan;
    let Some(wanted) = wanted else {
        let rank = |adapter: &&Adapter| match adapter.kind {
            DeviceKind::DiscreteGpu(_) => 0,
            DeviceKind::IntegratedGpu(_) => 1,
            _ => 2,
        };
        return adapters
            .iter()
            .filter(|adapter| !adapter.software)
            .min_by_key(rank)
            .cloned()
            .ok_or_else(|| DeviceError::NoDevice {
                backend,
                detail: (!adapters.is_empty()).then(|| {
                    let names = itertools::join(adapters.iter().map(|a| &a.name), ", ");
                    format!("only software adapters ({names})")
                }),
            });
    };
    if adapters.is_empty() {
        return Err(DeviceError::NoDevice {
            backend,
            detail: None,
        });
    }
    let by_index = wanted.parse::<usize>().ok().and_then(|i| adapters.get(i));
    let lower = wanted.to_lowercase();
    let by_name = || {
        adapters
            .iter()
            .find(|a| a.name.to_lowercase().contains(&lower))
    };
    by_index
        .or_else(by_name)
        .cloned()
        .ok_or_else(|| DeviceError::NoSuchDevice {
            backend,
            wanted: wanted.to_string(),
            present: adapters
                .iter()
                .enumerate()
                .map(|(i, adapter)| format!("{i} ({})", adapter.name))
                .collect(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, kind: DeviceKind) -> Adapter {
        Adapter {
            name: name.into(),
            driver: String::new(),
            software: kind == DeviceKind::Cpu,
            kind,
        }
    }

    #[test]
    fn software_is_used_only_when_named() {
        let adapters = [adapter("llvmpipe (LLVM 15)", DeviceKind::Cpu)];
        let error = pick(&adapters, None).unwrap_err();
        assert!(error.to_string().contains("llvmpipe"), "{error}");
        assert!(pick(&adapters, Some("LLVMPIPE")).is_ok());
    }

    #[test]
    fn a_discrete_gpu_comes_before_an_integrated_one() {
        let adapters = [
            adapter("integrated", DeviceKind::IntegratedGpu(0)),
            adapter("discrete", DeviceKind::DiscreteGpu(0)),
        ];
        assert_eq!(pick(&adapters, None).unwrap().name, "discrete");
        assert_eq!(pick(&adapters, Some("0")).unwrap().name, "integrated");
        let error = pick(&adapters, Some("7")).unwrap_err().to_string();
        assert!(error.contains("0 (integrated), 1 (discrete)"), "{error}");
    }
}
