//! Finds the elements of arguments that a kernel writes, and those of written arrays that it reads.

use super::EverySize;
use super::distinct::Index;
use super::ir::Instruction;
use super::kernel::{Kernel, last_word};
use super::poly::Poly;
use super::symbols::SymbolKind;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// One element that an instruction accesses.
pub struct Access {
    pub line: Option<u32>,
    pub kind: AccessKind,
    /// Position of the array among the arguments.
    pub array: usize,
    pub index: Index,
    /// Whether the index was shown to be computed without leaving its bits.
    pub is_exact: bool,
}

impl Access {
    /// Whether two threads must not access one element so.
    pub fn may_race(&self, other: &Access) -> bool {
        let harmless = self.kind == other.kind && self.kind != AccessKind::Write;
        self.array == other.array && !harmless
    }
}

/// Collects the accesses of a kernel in its order.
///
/// # Errors
/// Returns the first access that cannot be followed.
pub fn accesses(kernel: &mut Kernel<'_>) -> Result<Vec<Access>, EverySize> {
    let function = kernel.function;
    let blocks = function.order.iter();
    let all = blocks.flat_map(|block| {
        function.blocks[*block]
            .instructions
            .iter()
            .map(move |one| (*block, one))
    });
    let (reads, writes): (Vec<_>, Vec<_>) = all.partition(|(_, one)| one.operation == "load");
    let mut accesses = vec![];
    for (block, instruction) in writes.into_iter().chain(reads) {
        // Reads come last, when it is known which arrays are written.
        accesses.extend(accesses_of(kernel, block, instruction, &accesses)?);
    }
    Ok(accesses)
}

fn accesses_of<'a>(
    kernel: &mut Kernel<'a>,
    block: usize,
    instruction: &'a Instruction<'a>,
    before: &[Access],
) -> Result<Vec<Access>, EverySize> {
    let line = kernel.module.line(instruction);
    let fail = |why: &str| Err(EverySize::not_proven(line, why));
    let type_of = |value: &'a str| value.rsplit_once(' ').map_or(value, |(kind, _)| kind);
    let (kind, pointer, value) = match (instruction.operation, &instruction.operands[..]) {
        ("load", [value, pointer, ..]) => (AccessKind::Read, *pointer, *value),
        ("store", [value, pointer, ..]) => (AccessKind::Write, *pointer, type_of(value)),
        ("atomicrmw" | "cmpxchg", [pointer, value, ..]) => (
            AccessKind::Atomic,
            *pointer,
            value.split(' ').next().unwrap_or_default(),
        ),
        ("call", _) => {
            let name = instruction.callee().unwrap_or("assembly");
            return match kernel.module.is_harmless(name) {
                true => Ok(vec![]),
                false => fail(&format!("what `{name}` writes is not followed")),
            };
        }
        ("invoke" | "callbr" | "indirectbr", _) => return fail("a call is not followed"),
        _ => return Ok(vec![]),
    };
    // Local memory, constants, and a thread's own memory.
    let space = pointer
        .split_once("ptr addrspace(")
        .map_or("", |(_, space)| space);
    if space.starts_with(['3', '4', '5']) {
        return Ok(vec![]);
    }
    let address = kernel.value(last_word(pointer));
    let symbols = &kernel.symbols;
    let array_of = |symbol| match symbols.kinds[symbol] {
        SymbolKind::Array(array) => Some((array, symbol)),
        _ => None,
    };
    let unknown = address
        .poly
        .symbols()
        .find_map(|symbol| match symbols.kinds[symbol] {
            SymbolKind::Unknown { reason, .. } => Some(reason),
            _ => None,
        });
    let depends = |reason: &str| fail(&format!("the index depends on {reason}"));
    let arrays: Vec<_> = address.poly.symbols().filter_map(array_of).collect();
    let [(array, symbol)] = arrays[..] else {
        return depends(unknown.unwrap_or("more than one array"));
    };
    if kind == AccessKind::Read
        && !before
            .iter()
            .any(|one| one.array == array && one.kind != kind)
    {
        return Ok(vec![]);
    }
    let (offset, rest) = (&address.poly - &Poly::symbol(symbol)).split(4, &vec![]);
    let bytes = kernel
        .module
        .size_of(value)
        .filter(|bytes| bytes % 4 == 0 && rest == Poly::default());
    let Some(bytes) = bytes else {
        return fail("parts of elements are not followed");
    };
    let mut facts = kernel.facts[block].clone();
    let is_exact = kernel.admits(&address.steps, &mut facts);
    if let (Some(reason), false) = (unknown, is_exact) {
        return depends(reason);
    }
    let index = |element| Index::new(offset.plus_number(element), facts.clone());
    let access = |element| Access {
        line,
        kind,
        array,
        index: index(element),
        is_exact,
    };
    Ok((0..bytes / 4).map(access).collect())
}
