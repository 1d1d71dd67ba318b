//! The descriptor of a kernel. Lists, costs, checks, timings, emitted sources and budgets are read from here.

/// One operation: a constant of its folder, entered in [`KERNELS`](crate::KERNELS).
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What one run launches: forward, then backward.
    pub launches: &'static str,
    pub role: Role,
    /// What the letters of [`Pass::formulas`] stand for.
    pub shape: &'static str,
    /// Its launches, in the order a training step makes them.
    pub passes: &'static [Pass],
    /// What `--block-size` chooses; `None` where it takes another kernel's.
    pub block_size: Option<BlockSize>,
    /// Numbers that are compiled into its kernels, and what each counts.
    pub block: &'static [[&'static str; 2]],
    /// What each of its kernels may take of an AMD compute unit, at any size, in any element type.
    pub budgets: &'static [Budget],
}

impl Kernel {
    /// The passes of a training step, and how often it makes each.
    pub fn step_passes(&self, sizes: &Sizes) -> impl Iterator<Item = (&'static Pass, usize)> {
        let passes = self.passes.iter();
        passes.filter_map(|pass| Some((pass, pass.runs?(sizes))))
    }
}

/// What a model calls a kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Attention,
    /// Norms, loss and optimizer.
    Operations,
    Activation,
    /// The activation with the products before it, by the mistake of stage 4.
    NaiveActivation,
    /// No model calls it: it is here to be measured.
    None,
}

/// One way to launch a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    pub name: &'static str,
    /// How often a step of v3 makes it. `None` where it stands beside the others: another way to the same result, or too
    /// little work to count.
    pub runs: Option<fn(&Sizes) -> usize>,
    /// In f32.
    pub cost: fn(&Sizes) -> Cost,
    /// The formulas of its cost: bytes read, bytes written, operations.
    pub formulas: [&'static str; 3],
}

/// The least that one launch must move and compute: every input is read once and every output written once. Reading a
/// tile again from a cache is not counted, so measured bandwidth derived from it can never flatter a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Additions, multiplications, divisions and transcendental functions, each counted as one.
    pub flops: u64,
}

impl Cost {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Arithmetic intensity in operations per byte; `None` where nothing is moved.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes() > 0).then(|| self.flops as f64 / self.bytes() as f64)
    }
}

/// The number that `--block-size` sets for a kernel.
#[derive(Clone, Copy, Debug)]
pub struct BlockSize {
    /// What it counts.
    pub counts: &'static str,
    /// Sizes worth trying. A device may refuse the largest.
    pub sizes: &'static [usize],
    /// Blocks that are compiled without a GPU besides the default: the number that a workload takes, and a description.
    pub compiled: fn(&Sizes) -> Vec<(usize, String)>,
    /// Whether they depend on the sizes of the model, so that all named ones have to be compiled.
    pub depends_on_sizes: bool,
}

/// Units in a cube, for kernels in which each handles an element by itself.
pub const UNITS_PER_CUBE: BlockSize = BlockSize {
    counts: "units in a cube",
    sizes: &[32, 64, 128, 256, 512, 1024],
    compiled: |_| {
        COMPILED_UNITS
            .map(|units| (units, format!("{units} units")))
            .into()
    },
    depends_on_sizes: false,
};

/// Units that share a row, for kernels in which a team of them does.
pub const UNITS_PER_ROW: BlockSize = BlockSize {
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

/// The most that any variant of a kernel may take on any AMD architecture. Raise a number only knowing what it costs: at 64
/// registers a compute unit of CDNA holds all 32 waves, at 128 half of them.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The device function.
    pub kernel: &'static str,
    /// Vector registers a lane.
    pub vgprs: u32,
    /// Bytes of local memory a workgroup.
    pub lds_bytes: u32,
    /// Variants that are known to spill; no other may.
    pub spills: &'static [Spill],
}

impl Budget {
    pub const fn new(kernel: &'static str, vgprs: u32, lds_bytes: u32) -> Budget {
        Budget {
            kernel,
            vgprs,
            lds_bytes,
            spills: &[],
        }
    }
}

/// What one variant of a kernel may spill, and why nobody minds.
#[derive(Clone, Copy, Debug)]
pub struct Spill {
    /// Sizes and block sizes, as the recorded table has them.
    pub case: &'static str,
    pub vgpr_spills: u32,
    pub scratch_bytes: u32,
    pub reason: &'static str,
}

/// Sizes of a model's step, as far as kernels care.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub batch: usize,
    pub sequence: usize,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub ffn: usize,
    pub vocabulary: usize,
}

impl Sizes {
    pub fn tokens(&self) -> usize {
        self.batch * self.sequence
    }

    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// Norms in a step.
    pub fn norms(&self) -> usize {
        2 * self.layers + 1
    }
}

/// The passes of a kernel: `(name, runs: …, reads: …, writes: …, flops: …)`, with letters that are defined by the sizes of a
/// model. A formula is computed as it stands, and shown as it stands.
macro_rules! passes {
    (|$sizes:ident| $letters:tt =>
     $(($name:literal, $(runs: $runs:expr,)? reads: $reads:expr, writes: $writes:expr, flops: $flops:expr)),+ $(,)?) => {
        &[$($crate::kernel::Pass {
            name: $name,
            runs: passes!(@runs $sizes $($runs)?),
            cost: |$sizes: &$crate::kernel::Sizes| {
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
    (@runs $sizes:ident $runs:expr) => { Some(|$sizes: &$crate::kernel::Sizes| { let _ = $sizes; $runs }) };
}
