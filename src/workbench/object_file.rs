//! Checks what a compiled file contains apart from its kernels (ELF64). No code may run at loading or reach the host, and
//! no data may be executed. Field offsets are those of System V's ABI: `Elf64_Ehdr`, `Elf64_Shdr`, `Elf64_Sym` and
//! `Elf64_Rela`.

use include_dir::File;

/// The functions that a kernel may call. The stand-in binds them by the same list.
fn mathematics(list: &File<'_>) -> Vec<String> {
    let text = list.contents_utf8().unwrap_or_default();
    let body = text
        .split_once('{')
        .and_then(|(_, body)| body.split_once('{'));
    let body = body.map_or("", |(_, body)| body);
    body.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Sections that compilers and linkers make of a kernel's code, tables and local memory.
const KNOWN_SECTIONS: [&str; 17] = [
    ".text",
    ".plt",
    ".rodata",
    ".data",
    ".bss",
    ".got",
    ".dynamic",
    ".dynsym",
    ".dynstr",
    ".hash",
    ".gnu",
    ".rela",
    ".eh_frame",
    ".eh_frame_hdr",
    ".note",
    ".relro_padding",
    "hip_local_memory",
];

/// Sections of functions that a loader calls.
const RUN_BY_ITSELF: [&str; 7] = [
    ".init_array",
    ".preinit_array",
    ".fini_array",
    ".ctors",
    ".dtors",
    ".init",
    ".fini",
];

/// The constants of a kernel are far smaller.
const MOST_BYTES: u64 = 64 << 20;

const ALLOC: u64 = 2;
const EXECUTABLE: u64 = 4;
const WRITABLE: u64 = 1;
const THREAD_LOCAL: u64 = 0x400;
const RELA: u32 = 4;
const DYNSYM: u32 = 11;
const SYMTAB: u32 = 2;
const OBJECT: u8 = 1;
const IFUNC: u8 = 10;
const IRELATIVE: u32 = 37;

#[derive(Debug)]
struct ObjectSection {
    name: String,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

#[derive(Debug)]
struct Symbol {
    name: String,
    kind: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// A name in the file and its fault.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedSymbol {
    /// The name in the source, if it has one there.
    pub name: String,
    pub why: String,
}

impl RefusedSymbol {
    fn new(symbol: &str, why: impl FnOnce(&str) -> String) -> Option<RefusedSymbol> {
        let name = plain_name(symbol);
        let why = why(&name);
        Some(RefusedSymbol { name, why })
    }
}

struct ObjectFile<'a> {
    bytes: &'a [u8],
    sections: Vec<ObjectSection>,
}

/// Finds a reason not to run the module. `list` names the functions that it may call.
pub fn refused(bytes: &[u8], list: &File<'_>) -> Option<RefusedSymbol> {
    let Some(file) = ObjectFile::read(bytes) else {
        return RefusedSymbol::new("", |_| {
            "the compiled file cannot be read: use another clang (17 or later)".into()
        });
    };
    let known = mathematics(list);
    file.calls_the_host(&known)
        .or_else(|| file.runs_by_itself())
        .or_else(|| file.is_chosen_when_loaded())
        .or_else(|| file.is_misplaced())
        .or_else(|| file.is_too_large())
}

impl<'a> ObjectFile<'a> {
    fn read(bytes: &'a [u8]) -> Option<ObjectFile<'a>> {
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let mut file = ObjectFile {
            bytes,
            sections: vec![],
        };
        let (table, count, names) = (file.u64(40)?, file.u16(60)?, file.u16(62)?);
        let raw = (0..u64::from(count)).map(|index| {
            let at = table.checked_add(index * 64)?;
            let section = ObjectSection {
                name: file.u32(at)?.to_string(),
                kind: file.u32(at + 4)?,
                flags: file.u64(at + 8)?,
                address: file.u64(at + 16)?,
                offset: file.u64(at + 24)?,
                size: file.u64(at + 32)?,
                link: file.u32(at + 40)?,
            };
            Some(section)
        });
        let mut sections = raw.collect::<Option<Vec<ObjectSection>>>()?;
        let strings = sections.get(usize::from(names))?.offset;
        for section in &mut sections {
            section.name = file.text(strings, section.name.parse().ok()?)?;
        }
        file.sections = sections;
        Some(file)
    }

    fn read_bytes<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes
            .get(start..start.checked_add(N)?)?
            .try_into()
            .ok()
    }

    fn u16(&self, offset: u64) -> Option<u16> {
        self.read_bytes(offset).map(u16::from_le_bytes)
    }

    fn u32(&self, offset: u64) -> Option<u32> {
        self.read_bytes(offset).map(u32::from_le_bytes)
    }

    fn u64(&self, offset: u64) -> Option<u64> {
        self.read_bytes(offset).map(u64::from_le_bytes)
    }

    fn text(&self, table: u64, offset: u32) -> Option<String> {
        let start = usize::try_from(table.checked_add(u64::from(offset))?).ok()?;
        let text = self.bytes.get(start..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Offsets of a section's entries of `size` bytes each.
    fn entries(&self, section: &ObjectSection, size: u64) -> impl Iterator<Item = u64> + use<> {
        let (start, count) = (
            section.offset,
            section.size.min(self.bytes.len() as u64) / size,
        );
        (0..count).filter_map(move |index| start.checked_add(index * size))
    }

    fn symbols(&self, kind: u32) -> Vec<Symbol> {
        let table = self.sections.iter().find(|section| section.kind == kind);
        let Some((table, names)) =
            table.and_then(|table| Some((table, self.sections.get(table.link as usize)?)))
        else {
            return vec![];
        };
        let symbol = |at: u64| {
            Some(Symbol {
                name: self.text(names.offset, self.u32(at)?)?,
                kind: self.read_bytes::<1>(at + 4)?[0] & 15,
                section: self.u16(at + 6)?,
                value: self.u64(at + 8)?,
                size: self.u64(at + 16)?,
            })
        };
        // The first entry is always empty.
        self.entries(table, 24).skip(1).filter_map(symbol).collect()
    }

    /// Offset, kind and addend of each value that a loader writes into the module.
    fn relocations(&self) -> Vec<(u64, u32, u64)> {
        let tables = self
            .sections
            .iter()
            .filter(|section| section.kind == RELA && section.flags & ALLOC != 0);
        let entries = tables.flat_map(|table| self.entries(table, 24));
        entries
            .filter_map(|at| Some((self.u64(at)?, self.u32(at + 8)?, self.u64(at + 16)?)))
            .collect()
    }

    /// Finds the symbol that contains `address`.
    fn symbol_at(&self, address: u64) -> String {
        let all = self.symbols(SYMTAB);
        let holds = |symbol: &&Symbol| {
            symbol.section != 0
                && symbol.value <= address
                && address < symbol.value + symbol.size.max(1)
        };
        all.iter()
            .find(holds)
            .map_or(String::new(), |symbol| symbol.name.clone())
    }

    fn calls_the_host(&self, known: &[String]) -> Option<RefusedSymbol> {
        let all = self.symbols(DYNSYM);
        let unknown = all
            .iter()
            .find(|symbol| symbol.section == 0 && !known.contains(&symbol.name))?;
        RefusedSymbol::new(&unknown.name, |name| {
            format!(
                "uses `{name}`, which does not exist on a GPU: a kernel reaches its arguments and local \
                 memory, no files and no system. Remove it; functions such as `sinf` need no declaration"
            )
        })
    }

    fn runs_by_itself(&self) -> Option<RefusedSymbol> {
        let is_one = |section: &&ObjectSection| {
            section.size > 0 && RUN_BY_ITSELF.contains(&base_name(&section.name))
        };
        let section = self.sections.iter().find(is_one)?;
        let inside = |at: u64| at >= section.address && at - section.address < section.size;
        let first = self
            .relocations()
            .into_iter()
            .find(|(offset, _, _)| inside(*offset));
        let function = first.map_or(String::new(), |(_, _, addend)| self.symbol_at(addend));
        RefusedSymbol::new(&function, |name| {
            let what = match name {
                "" => "a function".to_owned(),
                name if function.starts_with("_GLOBAL__") => {
                    format!("the first value of a variable (`{name}`)")
                }
                name => format!("`{name}`"),
            };
            format!(
                "{what} would run before the kernel, as a constructor does: a GPU runs what is launched and nothing else. Call it \
                 from the kernel, or give the variable a constant"
            )
        })
    }

    fn is_chosen_when_loaded(&self) -> Option<RefusedSymbol> {
        let of_symbol = self
            .symbols(SYMTAB)
            .into_iter()
            .find(|symbol| symbol.kind == IFUNC);
        let name = of_symbol.map(|symbol| symbol.name).or_else(|| {
            let all = self.relocations();
            let one = all.iter().find(|(_, kind, _)| *kind == IRELATIVE)?;
            Some(self.symbol_at(one.2))
        })?;
        RefusedSymbol::new(&name, |name| {
            format!(
                "a function would choose between versions of `{name}` before the kernel runs (ifunc, target_clones): write one function"
            )
        })
    }

    fn is_misplaced(&self) -> Option<RefusedSymbol> {
        let all = self.symbols(SYMTAB);
        for symbol in &all {
            let Some(section) = self.sections.get(usize::from(symbol.section)) else {
                continue;
            };
            if section.flags & EXECUTABLE != 0 && symbol.kind == OBJECT {
                return RefusedSymbol::new(&symbol.name, |name| {
                    format!(
                        "`{name}` is data in the place of code (section `{}`): leave the attribute out",
                        section.name
                    )
                });
            }
        }
        let unknown = |section: &&ObjectSection| {
            let known = KNOWN_SECTIONS.contains(&base_name(&section.name));
            let is_code = section.flags & EXECUTABLE != 0;
            let both = is_code
                && (section.flags & WRITABLE != 0
                    || ![".text", ".plt"].contains(&base_name(&section.name)));
            section.flags & ALLOC != 0 && (!known || both || section.flags & THREAD_LOCAL != 0)
        };
        let section = self.sections.iter().find(unknown)?;
        let inside = all.iter().find(|symbol| {
            self.sections
                .get(usize::from(symbol.section))
                .is_some_and(|of| of.name == section.name)
        });
        RefusedSymbol::new(inside.map_or("", |symbol| &symbol.name), |name| {
            format!(
                "`{name}` is put into section `{}`, which a kernel does not have: leave the attribute, or `thread_local`, out",
                section.name
            )
        })
    }

    fn is_too_large(&self) -> Option<RefusedSymbol> {
        let in_memory = self
            .sections
            .iter()
            .filter(|section| section.flags & ALLOC != 0);
        let bytes = in_memory.fold(0u64, |sum, section| sum.saturating_add(section.size));
        let all = self.symbols(SYMTAB);
        let largest = all.iter().max_by_key(|symbol| symbol.size)?;
        if bytes <= MOST_BYTES {
            return None;
        }
        RefusedSymbol::new(&largest.name, |name| {
            format!(
                "the file's own variables take {} MiB, most of it `{name}`, and a kernel's may take {}: use the arguments or \
                 `__shared__` memory",
                bytes >> 20,
                MOST_BYTES >> 20
            )
        })
    }
}

/// Returns `.text` for `.text.hot`, and `.rela` for `.rela.dyn`.
fn base_name(section: &str) -> &str {
    let end = section.get(1..).and_then(|rest| rest.find('.'));
    end.map_or(section, |end| &section[..=end])
}

/// Returns the last name in a C++ symbol: `go` for `_ZL2go`, `code` for `_ZZ9scale_addE4code`.
fn plain_name(symbol: &str) -> String {
    let Some(mut rest) = symbol.strip_prefix("_Z") else {
        return symbol.to_owned();
    };
    let mut last = symbol;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let length = rest[..digits].parse().unwrap_or(usize::MAX);
        rest = &rest[digits..];
        let Some(name) = rest.get(..length) else {
            break;
        };
        if length > 0 {
            last = name;
        }
        rest = &rest[length..];
    }
    last.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("system", "system"),
            ("_ZL2gov", "go"),
            ("_ZZ9scale_addE4code", "code"),
            ("_ZN1a4codeE", "code"),
            ("_ZL99999go", "_ZL99999go"),
        ] {
            assert_eq!(plain_name(symbol), name);
        }
        assert_eq!(base_name(".rela.dyn"), ".rela");
        assert_eq!(base_name("hip_local_memory"), "hip_local_memory");
        assert_eq!(base_name(".gnu.hash"), ".gnu");
    }

    #[test]
    fn a_damaged_file_is_refused_without_a_panic() {
        let list = File::new("list", b"names { \"sinf\" }");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for bytes in [
            &b""[..],
            b"\x7fELF\x02\x01",
            &own[..64],
            &own[..own.len() / 2],
        ] {
            assert!(refused(bytes, &list).is_some());
        }
        // A normal program contains much that a kernel may not.
        let why = refused(&own, &list).unwrap().why;
        let name = why.split('`').nth(1).unwrap();
        insta::assert_snapshot!(
            why.replacen(name, "[name]", 1),
            @"uses `[name]`, which does not exist on a GPU: a kernel reaches its arguments and local memory, no files and no system. Remove it; functions such as `sinf` need no declaration"
        );
    }
}
