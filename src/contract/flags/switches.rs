//! Switches that turn a target's optimizations on and off one by one.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::Tuning;
use crate::flags::UsageError;
use crate::model::{Attention, Operations, Projection, Recipe, Swiglu};
use crate::targets::fixes::Fix;
use crate::targets::{Target, TargetKind};
use crate::{BlockForm, Gemm, MatmulPrecision};

/// The value of an on/off flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// The implementation of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlashAttention {
    /// As in the target; in v1, as in v2
    On,
    /// Write the scores to memory
    Off,
    /// Use this project's kernels
    Own,
}

impl FlashAttention {
    fn attention(self, target: Target) -> Attention {
        match self {
            FlashAttention::Off => Attention::Materialised,
            FlashAttention::Own => Attention::Kernel,
            FlashAttention::On => match target.recipe.attention {
                Attention::Materialised => Attention::Kernel,
                other => other,
            },
        }
    }
}

/// The block size for a kernel: `rmsnorm=256`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSize {
    pub kernel: String,
    pub units: usize,
}

impl FromStr for BlockSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is not KERNEL=UNITS, such as rmsnorm=256");
        let (kernel, units) = text.split_once('=').ok_or_else(wanted)?;
        let units: usize = units.trim().parse().map_err(|_| wanted())?;
        tinyllama_kernel_catalog::tunables::check(kernel, units)
            .map_err(|error| error.to_string())?;
        Ok(BlockSize {
            kernel: kernel.to_string(),
            units,
        })
    }
}

/// Optimizations of a version. A switch that is not set keeps the target's value.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Optimizations")]
pub struct Switches {
    /// Compute query, key and value in one product
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub qkv_fusion: Option<Switch>,
    /// Compute attention without writing the scores to memory
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub flash_attention: Option<FlashAttention>,
    /// Compute gate and up in one product; in v3 also use the activation's kernel
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub swiglu_fusion: Option<Switch>,
    /// Let burn fuse neighbouring operations into one kernel
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub graph_fusion: Option<Switch>,
    /// Block size for one of this project's kernels, as KERNEL=UNITS; may be repeated (`kernels` lists the kernels)
    #[arg(long, value_name = "KERNEL=UNITS")]
    pub block_size: Vec<BlockSize>,
    /// Apply a fix to a stage or case of the debugging scenario; a wrong fix is accepted, but changes nothing
    #[arg(long, value_name = "NAME")]
    pub fix: Option<Fix>,
    /// Capture a step that goes through burn as a graph and replay it, on CUDA and ROCm: v1, v2, v3, the stages, v4 with
    /// --gemm cubek; burn's optimizer gives way to this project's
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "off")]
    pub graph: Switch,
    /// v4: capture the step as a graph and replay it
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub ultra: Switch,
    /// v4: precision of f32 products on a GPU
    #[arg(long, value_enum, value_name = "PRECISION", default_value = "auto")]
    pub matmul_precision: MatmulPrecision,
    /// Library for matrix products
    #[arg(long, value_enum, value_name = "LIBRARY", default_value = "auto")]
    pub gemm: Gemm,
    /// How many of burn's kernels to try before choosing one (default: none on CUDA and Vulkan, where rules
    /// decide; all on ROCm; checks of numbers use the plainest kernel)
    #[arg(long, value_enum, value_name = "HOW MUCH")]
    pub tuning: Option<Tuning>,
    /// v4: compare another form of a block with the schedule's form at the end
    #[arg(long, value_enum, value_name = "FORM")]
    pub block: Option<BlockForm>,
}

impl Switches {
    /// Returns the recipe of `target` with these switches.
    pub fn apply(&self, target: Target) -> Result<Recipe> {
        let mut recipe = target.recipe;
        let changed = self.qkv_fusion.is_some()
            || self.flash_attention.is_some()
            || self.swiglu_fusion.is_some();
        if target.kind != TargetKind::Version && changed {
            bail!(UsageError(format!(
                "{target} takes no fusion switches, because you are to find what is wrong with it; they are for v1, v2 and v3"
            )));
        }
        if let Some(fix) = self.fix {
            if target.kind == TargetKind::Version {
                bail!(UsageError(format!(
                    "--fix {}: {target} has no mistake to fix; it is for the stages and cases",
                    fix.name
                )));
            }
            (recipe, _) = fix.apply_to(recipe, target.timing);
        }
        if let Some(switch) = self.qkv_fusion {
            recipe.qkv = projection(switch);
        }
        if let Some(choice) = self.flash_attention {
            recipe.attention = choice.attention(target);
        }
        if let Some(switch) = self.swiglu_fusion {
            recipe.gate_up = projection(switch);
            recipe.swiglu = match (switch, recipe.operations) {
                (Switch::On, Operations::Kernels) => Swiglu::Kernel,
                _ => Swiglu::Library,
            };
        }
        if let Some(switch) = self.graph_fusion {
            recipe.graph_fusion = switch.is_on();
        }
        Ok(recipe)
    }
}

fn projection(switch: Switch) -> Projection {
    match switch {
        Switch::On => Projection::Fused,
        Switch::Off => Projection::Separate,
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::targets::{stage4, v1, v2, v3};

    fn none() -> Switches {
        let command = Switches::augment_args(clap::Command::new("run"));
        let given = command.get_matches_from(["run"]);
        Switches::from_arg_matches(&given).unwrap()
    }

    #[test]
    fn v2_with_everything_off_is_the_baseline() {
        let off = Some(Switch::Off);
        let switches = Switches {
            qkv_fusion: off,
            flash_attention: Some(FlashAttention::Off),
            swiglu_fusion: off,
            graph_fusion: off,
            ..none()
        };
        assert_eq!(switches.apply(v2::TARGET).unwrap(), v1::TARGET.recipe);
        assert_eq!(none().apply(v2::TARGET).unwrap(), v2::TARGET.recipe);
    }

    #[test]
    fn attention_can_be_this_projects() {
        let attention = |choice, target| {
            let switches = Switches {
                flash_attention: Some(choice),
                ..none()
            };
            switches.apply(target).unwrap().attention
        };
        assert_eq!(
            attention(FlashAttention::Own, v2::TARGET),
            Attention::Kernel
        );
        for target in [v1::TARGET, v2::TARGET] {
            let on = attention(FlashAttention::On, target);
            assert_eq!(on, v2::TARGET.recipe.attention);
        }
    }

    #[test]
    fn a_stage_keeps_its_mistakes() {
        let switches = Switches {
            swiglu_fusion: Some(Switch::On),
            ..none()
        };
        let error = switches.apply(stage4::TARGET).unwrap_err().to_string();
        assert!(error.contains("stage4"), "{error}");
        let fixed = |name: &str, target| {
            let fix = Some(name.parse().unwrap());
            Switches { fix, ..none() }.apply(target)
        };
        let layout = fixed("layout", stage4::TARGET).unwrap();
        assert_eq!(layout, stage4::TARGET.recipe, "a wrong fix changes nothing");
        let products = fixed("products", stage4::TARGET).unwrap();
        assert_eq!(products, v3::TARGET.recipe);
        assert!(fixed("layout", v3::TARGET).is_err());
    }

    #[test]
    fn block_sizes_name_a_kernel_and_a_number() {
        let size: BlockSize = "rmsnorm=128".parse().unwrap();
        assert_eq!((size.kernel.as_str(), size.units), ("rmsnorm", 128));
        for wrong in [
            "rmsnorm",
            "rmsnorm=many",
            "gelu=64",
            "rmsnorm=0",
            "rope=48x",
        ] {
            assert!(wrong.parse::<BlockSize>().is_err(), "{wrong}");
        }
    }
}
