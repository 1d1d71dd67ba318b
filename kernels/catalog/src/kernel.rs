//! The descriptor of a kernel: the source of lists, costs, checks, timings, emitted sources and budgets.

/// One operation: a constant of its folder, which [`KERNELS`](crate::KERNELS) lists.
#[derive(Clone, Copy, Debug)]
pub struct KernelDescriptor {
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Launches of one run: forward, then backward.
    pub launches: &'static str,
    pub role: Role,
    /// Meaning of the letters in [`KernelPass::formulas`].
    pub shape: &'static str,
    /// Its launches, in the order of a training step.
    pub passes: &'static [KernelPass],
    /// The block size that `--block-size` sets; `None` if it uses another kernel's.
    pub block_size: Option<BlockSizeOption>,
    /// Names and descriptions of the numbers that are compiled into its kernels.
    pub block: &'static [[&'static str; 2]],
    /// Limits for each of its kernels on an AMD compute unit, at any size, in any element type.
    pub budgets: &'static [ResourceBudget],
}

impl KernelDescriptor {
    /// Returns the passes of a training step, each with its number of runs.
    pub fn step_passes(
        &self,
        sizes: &StepSizes,
    ) -> impl Iterator<Item = (&'static KernelPass, usize)> {
        let passes = self.passes.iter();
        passes.filter_map(|pass| Some((pass, pass.runs?(sizes))))
    }
}

/// The purpose for which a model calls a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Attention,
    /// Norms, loss and optimizer.
    Operations,
    Activation,
    /// The activation together with the products before it: the mistake of stage 4.
    NaiveActivation,
    /// Every product of two matrices that goes through burn, on CUDA and Vulkan.
    Product,
}

/// One way to launch a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelPass {
    pub name: &'static str,
    /// Number of runs in a step of v3. `None` for an alternative way to the same result, or too little work to count.
    pub runs: Option<fn(&StepSizes) -> usize>,
    /// Cost in f32.
    pub cost: fn(&StepSizes) -> Cost,
    /// The formulas of its cost: bytes read, bytes written, operations.
    pub formulas: [&'static str; 3],
}

/// The least that one launch must move and compute: every input is read once and every output written once. Repeated
/// reads from a cache do not count, so a bandwidth derived from this cost never exceeds the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Additions, multiplications, divisions and transcendental functions, each counted as one.
    pub flops: u64,
}

impl Cost {
    /// Returns the bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Returns the arithmetic intensity in operations per byte; `None` if no bytes move.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes() > 0).then(|| self.flops as f64 / self.bytes() as f64)
    }
}

/// The number that `--block-size` sets for a kernel.
#[derive(Clone, Copy, Debug)]
pub struct BlockSizeOption {
    /// Description of what it counts.
    pub counts: &'static str,
    /// Sizes worth trying. A device may refuse the largest.
    pub sizes: &'static [usize],
    /// Blocks that are compiled without a GPU in addition to the default: the number that a workload takes, and a description.
    pub compiled: fn(&StepSizes) -> Vec<(usize, String)>,
    /// True if the blocks depend on the sizes of the model, so that those of all named models have to be compiled.
    pub depends_on_sizes: bool,
}

/// Units in a cube, for kernels in which each unit handles its own elements.
pub const UNITS_PER_CUBE: BlockSizeOption = BlockSizeOption {
    counts: "units in a cube",
    sizes: &[32, 64, 128, 256, 512, 1024],
    compiled: |_| {
        COMPILED_UNITS
            .map(|units| (units, format!("{units} units")))
            .into()
    },
    depends_on_sizes: false,
};

/// Units that share a row, for kernels in which a team handles a row.
pub const UNITS_PER_ROW: BlockSizeOption = BlockSizeOption {
    counts: "units that share a row",
    sizes: &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    compiled: |_| {
        COMPILED_UNITS
            .map(|units| (units, format!("{units} units a row")))
            .into()
    },
    depends_on_sizes: false,
};

const COMPILED_UNITS: [usize; 5] = [64, 128, 256, 512, 1024];

/// The most that any variant of a kernel may take on any AMD architecture. Consider the cost before you raise a number:
/// with 64 registers a compute unit of CDNA holds all 32 waves, with 128 half of them.
#[derive(Clone, Copy, Debug)]
pub struct ResourceBudget {
    /// Name of the device function.
    pub kernel: &'static str,
    /// Vector registers per lane.
    pub vgprs: u32,
    /// Bytes of local memory (LDS) per workgroup.
    pub lds_bytes: u32,
    /// Variants that are known to spill; no other variant may.
    pub spills: &'static [Spill],
}

impl ResourceBudget {
    pub const fn new(kernel: &'static str, vgprs: u32, lds_bytes: u32) -> ResourceBudget {
        ResourceBudget {
            kernel,
            vgprs,
            lds_bytes,
            spills: &[],
        }
    }
}

/// Registers that one variant of a kernel may spill, and why that is acceptable.
#[derive(Clone, Copy, Debug)]
pub struct Spill {
    /// Sizes and block sizes, as in the recorded table.
    pub case: &'static str,
    pub vgpr_spills: u32,
    pub scratch_bytes: u32,
    pub reason: &'static str,
}

/// Sizes of a model's step, as far as kernels depend on them.
#[derive(Clone, Copy, Debug)]
pub struct StepSizes {
    pub batch: usize,
    pub sequence: usize,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub ffn: usize,
    pub vocabulary: usize,
}

impl StepSizes {
    pub fn tokens(&self) -> usize {
        self.batch * self.sequence
    }

    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// Returns the number of norms in a step.
    pub fn norms(&self) -> usize {
        2 * self.layers + 1
    }
}

/// Declares the passes of a kernel: `(name, runs: …, reads: …, writes: …, flops: …)`, with letters that are defined by
/// the sizes of a model. The same formula is computed and shown.
macro_rules! passes {
    (|$sizes:ident| $letters:tt =>
     $(($name:literal, $(runs: $runs:expr,)? reads: $reads:expr, writes: $writes:expr, flops: $flops:expr)),+ $(,)?) => {
        &[$($crate::kernel::KernelPass {
            name: $name,
            runs: passes!(@runs $sizes $($runs)?),
            cost: |$sizes: &$crate::kernel::StepSizes| {
                passes!(@let $letters);
                $crate::kernel::Cost { bytes_read: $reads, bytes_written: $writes, flops: $flops }
            },
            formulas: [stringify!($reads), stringify!($writes), stringify!($flops)],
        }),+]
    };
    (@let { $($letter:ident = $value:expr),+ }) => {
        $(let $letter = $value as u64;)+
        let _ = ($($letter,)+);
    };
    (@runs $sizes:ident) => { None };
    (@runs $sizes:ident $runs:expr) => { Some(|$sizes: &$crate::kernel::StepSizes| { let _ = $sizes; $runs }) };
}
