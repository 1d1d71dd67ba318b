//! A program: the instructions, kernels and constants of one assembly file.

use std::collections::HashMap;

use serde::Serialize;

use crate::instruction::Instruction;
use crate::memory;

/// The architectures whose instructions the emulator knows: CDNA 2 to 4 with waves of 64 lanes, RDNA 3 and 4 with waves of 32.
pub const ARCHITECTURES: [&str; 5] = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"];

/// Address of the first instruction, for calls. Each instruction takes eight bytes, as the compiler's relocations
/// assume.
pub(crate) const CODE_ADDRESS: u64 = 0x7_0000_0000;

pub(crate) fn address_of(index: u32) -> u64 {
    CODE_ADDRESS + u64::from(index) * 8
}

/// The source line that the compiler names for an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// Index into [`Program::files`].
    pub file: u16,
    /// Line number from 1; 0 if the compiler names none.
    pub line: u32,
}

/// One argument in a kernel's argument segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    pub offset: usize,
    pub size: usize,
    /// LLVM's name of the kind: `global_buffer`, `by_value`, `hidden_block_count_x`.
    pub kind: String,
}

/// The compiler's decisions about one kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: String,
    /// Index of its first instruction.
    pub entry: u32,
    pub parameters: Vec<Parameter>,
    pub argument_bytes: usize,
    /// Bytes of LDS whose size is fixed in the code.
    pub lds_bytes: usize,
    /// Bytes of private memory per lane.
    pub scratch_bytes: usize,
    pub dynamic_stack: bool,
    pub wave_size: usize,
    pub vector_registers: u32,
    pub scalar_registers: u32,
    /// The `.amdhsa_` directives.
    pub(crate) descriptor: HashMap<String, i64>,
}

impl Kernel {
    pub(crate) fn directive(&self, name: &str) -> i64 {
        self.descriptor.get(name).copied().unwrap_or(0)
    }
}

/// A constant or a variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub symbol: String,
    /// First byte in the module's data.
    pub offset: usize,
    pub bytes: usize,
}

/// The assembly of a program, decoded once.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Architecture, such as `gfx942`.
    pub architecture: String,
    pub wave_size: usize,
    pub instructions: Vec<Instruction>,
    pub kernels: Vec<Kernel>,
    /// Names of source files, without folders.
    pub files: Vec<String>,
    /// Number of vector registers that the code names. Accumulation registers follow them.
    pub vectors: u16,
    pub accumulators: u16,
    /// Constants and variables of the module.
    pub(crate) data: Vec<u8>,
    /// Their symbols, in the order of their places.
    pub(crate) variables: Vec<Variable>,
    /// Functions that the code names and does not have, and where it names them first.
    pub externals: Vec<(String, Location)>,
}

impl Program {
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Returns the source location of an instruction.
    pub fn location(&self, pc: u32) -> Location {
        let instruction = self.instructions.get(pc as usize);
        instruction.map_or(Location::default(), |one| one.location)
    }

    /// Returns bytes of the module's constants from an address on, which a kernel has as a pointer.
    pub fn constants(&self, address: u64) -> Option<&[u8]> {
        let offset = address.checked_sub(memory::DATA_ADDRESS)?;
        self.data.get(usize::try_from(offset).ok()?..)
    }

    /// Formats a location such as `kernel.hip:12`.
    pub fn place(&self, location: Location) -> String {
        let file = self.files.get(usize::from(location.file));
        match (file, location.line) {
            (Some(file), line) if line > 0 => format!("{file}:{line}"),
            _ => "no source line".into(),
        }
    }

    pub(crate) fn is_rdna(&self) -> bool {
        self.wave_size == 32
    }
}
