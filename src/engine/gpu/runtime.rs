//! Burn's process-wide settings: fusion, and the caches that make a second start fast.
//!
//! A process reads both once, before its first tensor exists.

use std::path::PathBuf;

use burn::BurnConfig;
use burn::cubecl::config::autotune::AutotuneLevel;
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};

use tinyllama_base::file;
use tinyllama_contract::{FORGET_TUNING, Tuning};

use crate::device::CacheSettings;

/// Samples per candidate kernel when the speed of the choice does not matter.
const FEWEST_SAMPLES: usize = 2;

/// Returns the folder of compiled kernels and tuning results: `$XDG_CACHE_HOME/tinyllama-tutor/kernels`.
fn folder() -> Option<PathBuf> {
    file::cached("kernels")
}

/// Applies `settings` and turns the persistent caches on.
pub fn configure(settings: CacheSettings) {
    let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
    config.compilation.cache = true;
    config.autotune.disable_cache |= std::env::var_os(FORGET_TUNING).is_some();
    super::tuning::record_decisions(&mut config);
    let hurried = matches!(settings.tuning, Tuning::Minimal | Tuning::Off);
    if hurried {
        config.autotune.level = AutotuneLevel::Minimal;
        config.autotune.bench.min_samples = FEWEST_SAMPLES;
        config.autotune.bench.max_samples = FEWEST_SAMPLES;
    }
    if settings.tuning == Tuning::Rules {
        // Only reductions still need tuning. The lower levels first measure the device's best rate, which takes longer
        // than all their candidates. On an H200 with six processes at once, a cold v1 took 17.2 s instead of 22.5, v2
        // 17.7 instead of 20.6.
        config.autotune.level = AutotuneLevel::Full;
    }
    let cubecl_is_new = CubeClRuntimeConfig::try_set(config);
    if cubecl_is_new && let Some(folder) = folder() {
        // A choice from few samples must not serve later runs.
        burn::cubecl::environment::set_root(match hurried {
            false => folder,
            true => folder.join("hurried"),
        });
    }
    if !settings.fusion {
        BurnConfig::try_set(without_fusion(
            BurnConfig::from_current_dir().override_from_env(),
        ));
    }
}

/// Burn's fusion settings have private fields, so this function changes their serialised form.
fn without_fusion(config: BurnConfig) -> BurnConfig {
    let mut json = serde_json::to_value(&config).unwrap_or_default();
    json["fusion"]["beam_search"]["max_explorations"] = 0.into();
    serde_json::from_value(json).unwrap_or(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusion_can_be_switched_off() {
        let config = without_fusion(BurnConfig::default());
        assert_eq!(config.fusion().beam_search.max_explorations, Some(0));
        assert_eq!(
            BurnConfig::default().fusion().beam_search.max_explorations,
            None
        );
    }
}
