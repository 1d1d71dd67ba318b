//! The effect of each instruction, by name.
//!
//! Every module has a function `find` that returns the executing function for a name, written for waves of `N` lanes.
//! The effects come from AMD's ISA manuals (CDNA 2, CDNA 3, RDNA 3).

mod compare;
mod flow;
mod lanes;
mod matrix;
mod memory;
mod packed;
mod places;
mod scalar;
mod vector;
mod wide;

pub use matrix::MatrixPart;

use crate::instruction::{MemoryOp, Run};

/// The way in which an instruction is executed.
pub(crate) struct Entry {
    pub run: Run,
    /// Number of operands that the instruction writes.
    pub destinations: u8,
    /// The least number of operands.
    pub operands: usize,
    pub extra: [u32; 4],
    pub memory: Option<MemoryOp>,
    /// True for a hint, whose operands are not read.
    pub ignores_operands: bool,
}

impl Entry {
    pub fn new(run: Run, destinations: u8, operands: usize) -> Entry {
        Entry {
            run,
            destinations,
            operands,
            extra: [0; 4],
            memory: None,
            ignores_operands: false,
        }
    }

    pub fn with(self, extra: [u32; 4]) -> Entry {
        Entry { extra, ..self }
    }
}

/// Builds a table of names. Each line has the names of one effect, and a closure that returns the first operand from
/// the values of the others. The types of the closure's arguments say how the others are read.
macro_rules! table {
    ($entry:ident, $name:expr; $($($text:literal)|+ => |$($a:ident: $A:ty),+| $result:expr;)*) => {
        match $name {
            $($($text)|+ => Some($entry!(|$($a: $A),+| $result)),)*
            _ => None,
        }
    };
}
use table;

/// Finds the entry of an instruction without the suffix of its encoding.
pub(crate) fn find(name: &str, lanes: usize) -> Option<Entry> {
    match lanes {
        32 => search::<32>(name),
        _ => search::<64>(name),
    }
}

fn search<const N: usize>(name: &str) -> Option<Entry> {
    let found = || match name.get(..2)? {
        "s_" => scalar::find(name),
        "v_" => vector::find::<N>(name)
            .or_else(|| wide::find::<N>(name))
            .or_else(|| compare::find::<N>(name))
            .or_else(|| lanes::find::<N>(name))
            .or_else(|| packed::find::<N>(name))
            .or_else(|| matrix::find::<N>(name))
            .or_else(|| scalar::find_in_vector_unit(name)),
        _ => None,
    };
    let found = found().or_else(|| memory::find::<N>(name));
    found.or_else(|| flow::find(name))
}
