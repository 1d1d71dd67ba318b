//! The cost of summing gradients over several GPUs: bytes sent and the time they take.

use serde::Serialize;

use super::{MeasuredRun, gpus};
use tinyllama_contract::model::ModelConfig;
use tinyllama_contract::targets::v4;

/// The sums of one step on each of several GPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WireTime {
    pub gpus: usize,
    /// Size of all gradients.
    pub gradient_bytes: f64,
    /// Bytes that each GPU sends: 2 (n - 1)/n times the gradients, half of them as updated parameters. It receives as many
    /// at the same time.
    pub wire_bytes: f64,
    /// Rate in one direction. Null if no run measured it and no data sheet has it.
    pub link: Option<Link>,
    pub wire_ms: Option<f64>,
}

/// Bandwidth between GPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    pub bytes_per_s: f64,
    /// Source as text: the run that measured it, or a data sheet.
    pub source: String,
}

impl WireTime {
    /// For a model whose gradients have `bytes` bytes each.
    pub fn estimate(config: &ModelConfig, bytes: f64, gpus: usize, link: Option<Link>) -> Self {
        let gradient_bytes = config.parameters() as f64 * bytes;
        let wire_bytes = v4::ring_share(gpus) * gradient_bytes;
        WireTime {
            gpus,
            gradient_bytes,
            wire_bytes,
            wire_ms: link
                .as_ref()
                .map(|link| 1e3 * wire_bytes / link.bytes_per_s),
            link,
        }
    }
}

impl Link {
    /// Reads the rate from a run over several GPUs that timed its sums one by one (`--profile-steps`).
    pub fn measured(run: &MeasuredRun) -> Option<Link> {
        let ranks = run.hello.ranks.as_ref()?;
        let kernels = &run.kernels.as_ref()?.kernels;
        let exchanges = kernels
            .iter()
            .filter(|kernel| v4::EXCHANGES.contains(&&*kernel.name));
        let (mut bytes, mut ms) = (0.0, 0.0);
        for exchange in exchanges {
            bytes += exchange.bytes_per_step?;
            ms += exchange.device_ms_per_step?;
        }
        let folder = run.path.file_name().unwrap_or_default().display();
        (bytes > 0.0 && ms > 0.0).then(|| Link {
            bytes_per_s: 1e3 * bytes / ms,
            source: format!("measured between {} GPUs in run {folder}", ranks.ranks),
        })
    }

    pub fn of_data_sheet(device: &str) -> Option<Link> {
        let sheet = gpus::find(device)?;
        Some(Link {
            bytes_per_s: sheet.link? * 1e9,
            source: format!("data sheet of {}, which no program reaches", sheet.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_contract::model::Preset;

    #[test]
    fn a_ring_sends_twice_the_gradients_less_a_share_of_each() {
        let config = Preset::Small.config();
        let link = Link {
            bytes_per_s: 1e11,
            source: String::new(),
        };
        for (gpus, share) in [(1, 0.0), (2, 1.0), (4, 1.5), (8, 1.75)] {
            let wire = WireTime::estimate(&config, 4.0, gpus, Some(link.clone()));
            let bytes = 4.0 * config.parameters() as f64 * share;
            assert_eq!(wire.wire_bytes, bytes);
            assert_eq!(wire.wire_ms, Some(bytes / 1e8));
        }
        assert_eq!(WireTime::estimate(&config, 4.0, 2, None).wire_ms, None);
    }

    #[test]
    fn a_data_sheet_says_that_it_is_one() {
        let link = Link::of_data_sheet("NVIDIA H200").unwrap();
        assert_eq!(link.bytes_per_s, 4.5e11);
        assert!(link.source.contains("data sheet"));
        assert_eq!(Link::of_data_sheet("some GPU"), None);
    }
}
