//! The sizes of a model and of its training run, with a check that they fit together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bounds::{self, Bounds};
use tinyllama_base::named;
use tinyllama_base::units::human_bytes;

/// All sizes that determine the work of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelConfig {
    /// Size of the vocabulary, V.
    pub vocabulary: usize,
    /// Width of the residual stream, D.
    pub hidden: usize,
    /// Number of transformer blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Width of the feed-forward network.
    pub ffn: usize,
    /// Tokens per sample, S.
    pub sequence_length: usize,
    /// Samples per step, B.
    pub batch_size: usize,
}

named! {
    /// A named set of sizes. Flags can override each of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Preset {
        /// 256 hidden, 4 layers, ffn 512, sequence 128: fast enough for a laptop's CPU.
        Tiny = "tiny",
        /// 512 hidden, 8 layers, ffn 2048, sequence 128: used in the workshop.
        Small = "small",
        /// 1024 hidden, 12 layers, ffn 4096, sequence 512: needs a GPU.
        Medium = "medium",
    }
}

impl Preset {
    /// The preset's sizes.
    pub fn config(self) -> ModelConfig {
        let (hidden, layers, ffn, sequence_length, batch_size) = match self {
            Preset::Tiny => (256, 4, 512, 128, 8),
            Preset::Small => (512, 8, 2048, 128, 8),
            Preset::Medium => (1024, 12, 4096, 512, 16),
        };
        ModelConfig {
            vocabulary: 1000,
            hidden,
            layers,
            heads: 8,
            kv_heads: 4,
            ffn,
            sequence_length,
            batch_size,
        }
    }
}

/// An invalid size with the reason.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    #[error("{flag} is {value}: it has to be at least {least}")]
    TooSmall {
        flag: &'static str,
        value: usize,
        least: usize,
    },
    #[error("{flag} is {value}: the largest supported value is {most}")]
    TooLarge {
        flag: &'static str,
        value: usize,
        most: usize,
    },
    #[error(
        "--hidden {hidden} cannot be split over --heads {heads}: {hidden} / {heads} leaves {rest}; \
         try --hidden {down} or --hidden {up}, or a number of heads that divides {hidden}"
    )]
    HeadsDoNotDivideHidden {
        hidden: usize,
        heads: usize,
        rest: usize,
        down: usize,
        up: usize,
    },
    #[error(
        "--heads {heads} cannot be grouped over --kv-heads {kv_heads}: every key and value head serves \
         the same number of query heads, so kv-heads must divide heads (for {heads}: {allowed})"
    )]
    KvHeadsDoNotDivideHeads {
        heads: usize,
        kv_heads: usize,
        allowed: String,
    },
    #[error(
        "each head would be {head_dim} wide (--hidden {hidden} / --heads {heads}): rotary embedding turns \
         pairs, so it must be even; try --hidden {up}"
    )]
    OddHeadDim {
        head_dim: usize,
        hidden: usize,
        heads: usize,
        up: usize,
    },
    #[error(
        "this model needs about {needed} and {device} has {available}: lower --batch-size, --seq-len, \
         --hidden or --layers"
    )]
    OutOfMemory {
        needed: String,
        device: String,
        available: String,
    },
}

impl ModelConfig {
    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// Total width of queries, keys and values.
    pub fn qkv_width(&self) -> usize {
        self.hidden + 2 * self.kv_heads * self.head_dim()
    }

    /// Tokens in one step, B x S.
    pub fn tokens(&self) -> usize {
        self.batch_size * self.sequence_length
    }

    /// Scalars the optimizer updates. The output head is the embedding, so it counts once.
    pub fn parameters(&self) -> u64 {
        let (d, f) = (self.hidden as u64, self.ffn as u64);
        let kv = (self.kv_heads * self.head_dim()) as u64;
        let attention = 2 * d * d + 2 * d * kv;
        let feed_forward = 3 * d * f;
        let norms = 2 * d;
        self.vocabulary as u64 * d + self.layers as u64 * (attention + feed_forward + norms) + d
    }

    /// Checks every size, then their combination.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("--vocab", self.vocabulary, bounds::VOCABULARY),
            ("--hidden", self.hidden, bounds::HIDDEN),
            ("--layers", self.layers, bounds::LAYERS),
            ("--heads", self.heads, bounds::HEADS),
            ("--kv-heads", self.kv_heads, bounds::HEADS),
            ("--ffn", self.ffn, bounds::FFN),
            ("--seq-len", self.sequence_length, bounds::SEQUENCE),
            ("--batch-size", self.batch_size, bounds::BATCH),
        ];
        for (flag, value, Bounds { least, most }) in sizes {
            if value < least {
                return Err(ConfigError::TooSmall { flag, value, least });
            }
            if value > most {
                return Err(ConfigError::TooLarge { flag, value, most });
            }
        }
        self.validate_heads()
    }

    fn validate_heads(&self) -> Result<(), ConfigError> {
        let (hidden, heads, kv_heads) = (self.hidden, self.heads, self.kv_heads);
        if !hidden.is_multiple_of(heads) {
            let down = (hidden / heads).max(1) * heads;
            return Err(ConfigError::HeadsDoNotDivideHidden {
                hidden,
                heads,
                rest: hidden % heads,
                down,
                up: down + heads,
            });
        }
        if !heads.is_multiple_of(kv_heads) {
            let allowed = (1..=heads).filter(|n| heads.is_multiple_of(*n));
            return Err(ConfigError::KvHeadsDoNotDivideHeads {
                heads,
                kv_heads,
                allowed: itertools::join(allowed, ", "),
            });
        }
        let head_dim = self.head_dim();
        if !head_dim.is_multiple_of(2) {
            return Err(ConfigError::OddHeadDim {
                head_dim,
                hidden,
                heads,
                up: hidden + heads,
            });
        }
        Ok(())
    }

    /// Refuses a model that cannot fit into `available` bytes of `device`.
    pub fn validate_memory(&self, available: u64, device: &str) -> Result<(), ConfigError> {
        let needed = self.estimated_bytes();
        if needed <= available {
            return Ok(());
        }
        Err(ConfigError::OutOfMemory {
            needed: human_bytes(needed),
            device: device.to_string(),
            available: human_bytes(available),
        })
    }

    /// Estimates from shapes how many bytes a training step of the baseline holds at its peak.
    ///
    /// The sum has three parts: parameters, gradients and two AdamW moments (4 x 4 bytes per parameter); the f32
    /// activations that autodiff keeps for the backward pass; the logits with their gradient. Workspaces and
    /// fragmentation are not included. So it refuses a model that cannot fit, but a model that just fits may still
    /// fail.
    pub fn estimated_bytes(&self) -> u64 {
        // u128, because the largest valid sizes overflow 64 bits when multiplied.
        let tokens = self.tokens() as u128;
        let (d, f) = (self.hidden as u128, self.ffn as u128);
        let scores = (self.batch_size * self.heads) as u128 * (self.sequence_length as u128).pow(2);
        let per_layer = tokens * (10 * d + 4 * f) + 2 * scores;
        let activations = self.layers as u128 * per_layer + 3 * tokens * self.vocabulary as u128;
        let bytes = 16 * u128::from(self.parameters()) + 4 * activations;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_have_the_workshops_parameter_counts() {
        for preset in [Preset::Tiny, Preset::Small, Preset::Medium] {
            assert_eq!(preset.config().validate(), Ok(()), "{preset:?}");
        }
        // small: 1000*512 + 8*(2*512*512 + 2*512*256 + 3*512*2048 + 2*512) + 512
        assert_eq!(Preset::Small.config().parameters(), 31_977_984);
    }

    #[test]
    fn indivisible_heads_are_named_with_a_way_out() {
        let mut config = Preset::Tiny.config();
        config.heads = 7;
        let message = config.validate().unwrap_err().to_string();
        assert!(message.contains("--hidden 256") && message.contains("--hidden 252"));

        let mut config = Preset::Tiny.config();
        config.kv_heads = 3;
        let message = config.validate().unwrap_err().to_string();
        assert!(message.contains("1, 2, 4, 8"), "{message}");
    }

    #[test]
    fn an_odd_head_cannot_be_rotated() {
        let mut config = Preset::Tiny.config();
        (config.hidden, config.heads, config.kv_heads) = (24, 8, 4);
        assert!(matches!(
            config.validate(),
            Err(ConfigError::OddHeadDim { head_dim: 3, .. })
        ));
    }

    #[test]
    fn zero_and_huge_are_refused_by_name() {
        let mut config = Preset::Tiny.config();
        config.layers = 0;
        assert!(
            config
                .validate()
                .unwrap_err()
                .to_string()
                .contains("--layers is 0")
        );
        let mut config = Preset::Tiny.config();
        config.sequence_length = usize::MAX;
        assert!(
            config
                .validate()
                .unwrap_err()
                .to_string()
                .contains("--seq-len")
        );
    }

    #[test]
    fn a_model_larger_than_the_device_is_refused() {
        let config = Preset::Medium.config();
        assert!(config.validate_memory(1 << 30, "small").is_err());
        assert!(config.validate_memory(1 << 40, "large").is_ok());
    }
}
