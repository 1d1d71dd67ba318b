//! Edits LLVM's own text of a kernel between the compiler's front end and its optimiser, so that the machine code still
//! shows each thread's uses of memory.
//!
//! - Arrays in LDS get fixed addresses with free space between them. So the emulator knows their names and bounds.
//! - Functions get `sanitize_thread`. With it, LLVM loads nothing that the source does not load.
//! - Atomic operations get the scope of the device, and a fence that the source asks for stays visible in the code.

use std::collections::{BTreeMap, BTreeSet};

use tinyllama_machine::LocalArray;

/// Most bytes of LDS in a workgroup.
pub(super) const MOST_LDS: usize = 64 << 10;

/// Free bytes behind each array, if there is room. They keep the banks that an array begins in.
const GAP: usize = 1024;

/// An edited text, and the arrays of each kernel in it.
#[derive(Debug)]
pub(super) struct EditedText {
    pub text: String,
    pub arrays: BTreeMap<String, KernelArrays>,
}

/// The arrays in LDS that a kernel uses.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelArrays {
    pub fixed: Vec<LocalArray>,
    /// Address of the memory whose size the launch sets, if the kernel uses it.
    pub dynamic: Option<usize>,
}

/// An array as the text declares it.
struct Declared<'a> {
    symbol: &'a str,
    bytes: usize,
    align: usize,
    /// Bytes of an element.
    element: usize,
    is_dynamic: bool,
}

pub(super) fn edit(text: &str) -> EditedText {
    let types = Types::new(text);
    let declared: Vec<Declared<'_>> = text
        .lines()
        .filter_map(|line| declaration(&types, line))
        .collect();
    let uses = uses_by_kernel(text, &declared);
    let gap = gap(&declared, &uses);
    let (addresses, arrays, size) = lay_out(&declared, &uses, gap);
    let kernel_groups = kernel_groups(text);
    let mut edited = String::with_capacity(text.len() + 4096);
    let first = first_free_number(text);
    for line in text.lines() {
        let symbol = symbol_of(line).and_then(|symbol| {
            declared
                .iter()
                .position(|declared| declared.symbol == symbol)
        });
        if let Some(at) = symbol {
            edited += &format!("{line}, !absolute_symbol !{}\n", first + at);
        } else if let Some((group, rest)) = attribute_group(line) {
            let of_kernel = kernel_groups.contains(group);
            let lds = match of_kernel && size > 0 {
                true => format!(" \"amdgpu-lds-size\"=\"{size}\""),
                false => String::new(),
            };
            edited += &format!("attributes {group} = {{ sanitize_thread{lds}{rest}\n");
        } else {
            push_instruction(&mut edited, line);
        }
    }
    for (at, address) in addresses.iter().enumerate() {
        let end = address + 1;
        edited += &format!("!{} = !{{i32 {address}, i32 {end}}}\n", first + at);
    }
    EditedText {
        text: edited,
        arrays,
    }
}

/// Copies an instruction. Atomic operations without a scope get the device's, and releases get a fence before them.
fn push_instruction(edited: &mut String, line: &str) {
    const ORDERS: [&str; 5] = [" monotonic", " acquire", " release", " acq_rel", " seq_cst"];
    let text = line.trim_start();
    let operation = text.split_once(" = ").map_or(text, |(_, rest)| rest);
    let is_atomic = ["load atomic ", "store atomic ", "atomicrmw ", "cmpxchg "]
        .iter()
        .any(|start| operation.starts_with(start));
    let is_fence = operation.starts_with("fence ");
    if (!is_atomic && !is_fence) || has_narrow_scope(operation) {
        *edited += line;
        edited.push('\n');
        return;
    }
    if is_fence {
        *edited += "  fence syncscope(\"agent\") seq_cst\n";
        return;
    }
    if let Some(exchange) = exchange_of_store(operation, edited.len()) {
        *edited += "  fence syncscope(\"agent\") seq_cst\n";
        *edited += &exchange;
        return;
    }
    let order = ORDERS.iter().filter_map(|order| line.find(order)).min();
    let order = order.unwrap_or(line.len());
    let releases = [" release", " acq_rel", " seq_cst"]
        .iter()
        .any(|order| line.contains(order));
    if releases {
        *edited += "  fence syncscope(\"agent\") seq_cst\n";
    }
    let (before, after) = line.split_at(order);
    let scope = match line.contains("syncscope(") {
        true => "",
        false => " syncscope(\"agent\")",
    };
    *edited += &format!("{before}{scope}{after}\n");
}

/// Returns an atomic store of 32 or 64 bits as an exchange, which is an instruction of its own on every architecture.
/// `number` makes its name unique.
fn exchange_of_store(operation: &str, number: usize) -> Option<String> {
    let rest = operation.strip_prefix("store atomic ")?;
    let rest = rest.trim_start_matches("volatile ");
    let (value, rest) = rest.split_once(", ptr")?;
    let is_whole = ["i32 ", "i64 ", "float ", "double "]
        .iter()
        .any(|kind| value.starts_with(kind));
    let (address, after) = rest.split_once(", align ")?;
    let address = address.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '_');
    let address = address.trim_end().trim_end_matches("syncscope(\"agent\")");
    let bytes = after.split(',').next()?;
    is_whole.then(|| {
        format!(
            "  %tutor.exchange.{number} = atomicrmw xchg ptr{}, {value} syncscope(\"agent\") release, align {bytes}\n",
            address.trim_end()
        )
    })
}

fn has_narrow_scope(operation: &str) -> bool {
    ["workgroup", "wavefront", "singlethread"]
        .iter()
        .any(|scope| operation.contains(&format!("syncscope(\"{scope}")))
}

/// Returns the symbol that a line defines.
fn symbol_of(line: &str) -> Option<&str> {
    let (symbol, _) = line.strip_prefix('@')?.split_once(" = ")?;
    Some(symbol)
}

/// Reads `@tile = internal addrspace(3) global [16 x float] undef, align 16`.
fn declaration<'a>(types: &Types<'a>, line: &'a str) -> Option<Declared<'a>> {
    let symbol = symbol_of(line)?;
    let (_, rest) = line.split_once(" addrspace(3) global ")?;
    let (kind, after) = types.parse(rest)?;
    let align = after
        .split_once("align ")
        .and_then(|(_, align)| align.split(',').next()?.trim().parse().ok());
    Some(Declared {
        symbol,
        bytes: kind.bytes,
        align: align.unwrap_or(kind.align).max(4),
        element: kind.element,
        is_dynamic: kind.bytes == 0,
    })
}

/// Returns the numbers of the attributes that kernels have: `#0`.
fn kernel_groups(text: &str) -> BTreeSet<&str> {
    let kernels = text
        .lines()
        .filter(|line| line.starts_with("define ") && line.contains(" amdgpu_kernel "));
    kernels
        .filter_map(|line| line.split(' ').find(|word| word.starts_with('#')))
        .collect()
}

/// Splits `attributes #0 = { convergent ... }`.
fn attribute_group(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("attributes ")?.split_once(" = {")
}

/// Returns a number above those of all metadata.
fn first_free_number(text: &str) -> usize {
    let numbers = text.lines().filter_map(|line| {
        let (number, _) = line.strip_prefix('!')?.split_once(" = ")?;
        number.parse::<usize>().ok()
    });
    numbers.max().map_or(0, |last| last + 1)
}

/// Returns the name of a function that a line begins to define.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("define ")?;
    let (_, rest) = rest.split_once('@')?;
    Some(symbol_in(rest).0)
}

/// Splits a symbol, without its `@`, from what follows it.
fn symbol_in(text: &str) -> (&str, &str) {
    let end = match text.strip_prefix('"') {
        Some(quoted) => quoted.find('"').map_or(text.len(), |end| end + 2),
        None => text
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_.$-".contains(c)))
            .unwrap_or(text.len()),
    };
    text.split_at(end)
}

/// Returns for each kernel which of the declared arrays it uses, itself or through functions.
fn uses_by_kernel<'a>(
    text: &'a str,
    declared: &[Declared<'a>],
) -> BTreeMap<&'a str, BTreeSet<usize>> {
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut kernels = vec![];
    let mut current = None;
    for line in text.lines() {
        if let Some(name) = defined(line) {
            current = Some(name);
            if line.contains(" amdgpu_kernel ") {
                kernels.push(name);
            }
        } else if line == "}" {
            current = None;
        } else if let Some(function) = current {
            let names = named.entry(function).or_default();
            let mut rest = line;
            while let Some((_, after)) = rest.split_once('@') {
                let (symbol, after) = symbol_in(after);
                names.insert(symbol);
                rest = after;
            }
        }
    }
    let used = kernels.into_iter().map(|kernel| {
        let (mut seen, mut left) = (BTreeSet::from([kernel]), vec![kernel]);
        while let Some(function) = left.pop() {
            let names = named.get(function).into_iter().flatten();
            left.extend(names.filter(|name| seen.insert(name)));
        }
        let used = (0..declared.len()).filter(|at| seen.contains(declared[*at].symbol));
        (kernel, used.collect())
    });
    used.collect()
}

/// Returns the free space behind each array, less if it would not fit beside all arrays of a kernel.
fn gap(declared: &[Declared<'_>], uses: &BTreeMap<&str, BTreeSet<usize>>) -> usize {
    let free = uses.values().map(|used| {
        let arrays = used.iter().map(|at| &declared[*at]);
        let bytes: usize = arrays
            .map(|array| array.bytes.next_multiple_of(array.align))
            .sum();
        // Kernels that share arrays may need more, so half of the free space is enough for the gaps.
        MOST_LDS.saturating_sub(bytes) / 2 / (used.len() + 1)
    });
    let gap = free.min().unwrap_or(GAP).min(GAP);
    gap / 128 * 128
}

/// Gives each array an address that is free in all kernels that use it. Returns the addresses, the arrays by kernel, and
/// where the memory begins whose size a launch sets: in every kernel at the same address, as LLVM has it.
fn lay_out(
    declared: &[Declared<'_>],
    uses: &BTreeMap<&str, BTreeSet<usize>>,
    gap: usize,
) -> (Vec<usize>, BTreeMap<String, KernelArrays>, usize) {
    let mut ends: BTreeMap<&str, usize> = uses.keys().map(|kernel| (*kernel, 0)).collect();
    let mut addresses = vec![0; declared.len()];
    let mut arrays: BTreeMap<String, KernelArrays> = BTreeMap::new();
    let (dynamic, fixed): (Vec<usize>, Vec<usize>) =
        (0..declared.len()).partition(|at| declared[*at].is_dynamic);
    let users = |at: usize| uses.iter().filter(move |(_, used)| used.contains(&at));
    for at in fixed {
        let array = &declared[at];
        let free = users(at).map(|(kernel, _)| ends[kernel]).max();
        let address = free.unwrap_or(0).next_multiple_of(array.align.max(16));
        addresses[at] = address;
        for (kernel, _) in users(at) {
            ends.insert(kernel, address + array.bytes + gap);
            let of_kernel = arrays.entry((*kernel).to_owned()).or_default();
            of_kernel.fixed.push(LocalArray {
                name: source_name(array.symbol),
                address,
                bytes: array.bytes,
                element: array.element,
            });
        }
    }
    let size = ends.into_values().max().unwrap_or(0).next_multiple_of(16);
    for at in dynamic {
        addresses[at] = size;
        for (kernel, _) in users(at) {
            let of_kernel = arrays.entry((*kernel).to_owned()).or_default();
            of_kernel.dynamic = Some(size);
        }
    }
    (addresses, arrays, size)
}

/// Returns the name in the source: `tile` for `_ZZ6matmulE4tile` and for `_ZZ6matmulE4tile_0`.
pub(super) fn source_name(symbol: &str) -> String {
    let without_number = symbol
        .rsplit_once('_')
        .filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    for symbol in [Some(symbol), without_number.map(|(name, _)| name)]
        .into_iter()
        .flatten()
    {
        for (at, _) in symbol.char_indices().rev() {
            let name = &symbol[at..];
            let digits = symbol[..at].len()
                - symbol[..at]
                    .trim_end_matches(|c: char| c.is_ascii_digit())
                    .len();
            let is_length = |count: usize| symbol[at - count..at].parse() == Ok(name.len());
            if (1..=digits).any(is_length) && !name.starts_with(|c: char| c.is_ascii_digit()) {
                return name.to_owned();
            }
        }
    }
    symbol.to_owned()
}

/// Size of a type.
#[derive(Clone, Copy)]
struct Size {
    bytes: usize,
    align: usize,
    /// Bytes of the innermost element of an array.
    element: usize,
}

/// The named types of a text.
struct Types<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Types<'a> {
    fn new(text: &'a str) -> Types<'a> {
        let named = text.lines().filter_map(|line| {
            let (name, kind) = line.strip_prefix('%')?.split_once(" = type ")?;
            Some((name, kind))
        });
        Types(named.collect())
    }

    /// Parses a type at the start of a text. Returns its size, and what follows it.
    fn parse<'t>(&self, text: &'t str) -> Option<(Size, &'t str)> {
        let scalar = |bytes, rest| {
            let size = Size {
                bytes,
                align: bytes,
                element: bytes,
            };
            Some((size, rest))
        };
        if let Some(rest) = text.strip_prefix('[') {
            let (count, rest) = rest.split_once(" x ")?;
            let (element, rest) = self.parse(rest)?;
            let size = Size {
                bytes: count.parse::<usize>().ok()?.checked_mul(element.bytes)?,
                ..element
            };
            return Some((size, rest.strip_prefix(']')?));
        }
        if let Some(rest) = text.strip_prefix("<{") {
            let (size, rest) = self.members(rest, true)?;
            return Some((size, rest.strip_prefix("}>")?));
        }
        if let Some(rest) = text.strip_prefix('<') {
            let (count, rest) = rest.split_once(" x ")?;
            let (element, rest) = self.parse(rest)?;
            let bytes = (count.parse::<usize>().ok()? * element.bytes).next_power_of_two();
            let size = Size {
                bytes,
                align: bytes,
                element: bytes,
            };
            return Some((size, rest.strip_prefix('>')?));
        }
        if let Some(rest) = text.strip_prefix('{') {
            let (size, rest) = self.members(rest, false)?;
            return Some((size, rest.strip_prefix('}')?));
        }
        if let Some(rest) = text.strip_prefix('%') {
            let (name, rest) = symbol_in(rest);
            let (size, _) = self.parse(self.0.get(name)?)?;
            return Some((
                Size {
                    element: size.bytes,
                    ..size
                },
                rest,
            ));
        }
        for (name, bytes) in [
            ("ptr addrspace(3)", 4),
            ("ptr addrspace(5)", 4),
            ("ptr", 8),
            ("float", 4),
            ("double", 8),
            ("half", 2),
            ("bfloat", 2),
            ("i128", 16),
            ("i64", 8),
            ("i32", 4),
            ("i16", 2),
            ("i8", 1),
            ("i1", 1),
        ] {
            if let Some(rest) = text.strip_prefix(name) {
                return scalar(bytes, rest);
            }
        }
        None
    }

    /// Parses the members of a structure.
    fn members<'t>(&self, text: &'t str, is_packed: bool) -> Option<(Size, &'t str)> {
        let (mut bytes, mut align, mut rest) = (0_usize, 1, text.trim_start());
        while !rest.starts_with('}') {
            let (member, after) = self.parse(rest)?;
            let own = if is_packed { 1 } else { member.align.max(1) };
            bytes = bytes.next_multiple_of(own) + member.bytes;
            align = align.max(own);
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        let bytes = bytes.next_multiple_of(align);
        let size = Size {
            bytes,
            align,
            element: bytes,
        };
        Some((size, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"
%struct.Pair = type { float, [3 x i32], double }

@_ZZ6matmulE6tile_a = internal addrspace(3) global [16 x [16 x float]] undef, align 16
@_ZZ5twiceIfET_S0_E4keep = linkonce_odr hidden addrspace(3) global [5 x %struct.Pair] undef, comdat, align 16
@dyn = external hidden addrspace(3) global [0 x float], align 4
@.str = private unnamed_addr addrspace(4) constant [10 x i8] c"workgroup\00", align 1

define protected amdgpu_kernel void @matmul(ptr addrspace(1) noundef %0) #0 !dbg !9 {
  %1 = getelementptr inbounds [16 x [16 x float]], ptr addrspacecast (ptr addrspace(3) @_ZZ6matmulE6tile_a to ptr), i64 0, i64 %104, !dbg !81
  call void @_Z5twicev() #5, !dbg !44
  store atomic i32 %43, ptr %42 release, align 4, !dbg !46
  %45 = load atomic i32, ptr %44 acquire, align 4, !dbg !48
  fence syncscope("workgroup") release
}
define internal void @_Z5twicev() #1 {
  %1 = load float, ptr addrspacecast (ptr addrspace(3) @_ZZ5twiceIfET_S0_E4keep to ptr)
}
define protected amdgpu_kernel void @other() #0 {
  %1 = load float, ptr addrspacecast (ptr addrspace(3) @dyn to ptr)
}
attributes #0 = { convergent "x"="y" }
attributes #1 = { nounwind }
!9 = distinct !DISubprogram(name: "matmul")
"##;

    #[test]
    fn arrays_get_addresses_with_space_between_them() {
        let edited = edit(TEXT);
        let matmul = &edited.arrays["matmul"];
        let arrays: Vec<(&str, usize, usize)> = matmul
            .fixed
            .iter()
            .map(|array| (&*array.name, array.address, array.bytes))
            .collect();
        assert_eq!(arrays, [("tile_a", 0, 1024), ("keep", 2048, 120)]);
        assert_eq!(matmul.dynamic, None);
        let other = &edited.arrays["other"];
        assert_eq!((other.fixed.len(), other.dynamic), (0, Some(3200)));
        let text = edited.text;
        for line in [
            "@_ZZ6matmulE6tile_a = internal addrspace(3) global [16 x [16 x float]] undef, align 16, !absolute_symbol !10",
            "!10 = !{i32 0, i32 1}",
            "!11 = !{i32 2048, i32 2049}",
            "attributes #0 = { sanitize_thread \"amdgpu-lds-size\"=\"3200\" convergent \"x\"=\"y\" }",
            "attributes #1 = { sanitize_thread nounwind }",
            "ptr %42, i32 %43 syncscope(\"agent\") release, align 4",
            "  %45 = load atomic i32, ptr %44 syncscope(\"agent\") acquire, align 4, !dbg !48",
            "  fence syncscope(\"workgroup\") release",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
        assert!(!text.contains("store atomic"), "{text}");
    }

    #[test]
    fn names_and_sizes_are_those_of_the_source() {
        for (symbol, name) in [
            ("_ZZ11row_largestPKfPfiiE5parts", "parts"),
            ("_ZZ6matmulE6tile_a", "tile_a"),
            ("_ZZ6matmulE6tile_b_0", "tile_b"),
            ("_ZZ1kE5part1", "part1"),
            ("dyn", "dyn"),
        ] {
            assert_eq!(source_name(symbol), name);
        }
        let types = Types::new("%struct.Pair = type { float, [3 x i32], double }\n");
        for (text, bytes, element) in [
            ("[5 x %struct.Pair] undef", 120, 24),
            ("[3 x <4 x float>]", 48, 16),
            ("[10 x i8]", 10, 1),
            ("<{ i8, i32 }>", 5, 5),
            ("{ i8, i32 }", 8, 8),
            ("[0 x float], align 4", 0, 4),
        ] {
            let (size, _) = types.parse(text).unwrap();
            assert_eq!((size.bytes, size.element), (bytes, element), "{text}");
        }
    }
}
