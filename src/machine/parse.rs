//! Parses the text of the assembly into a [`Program`].

use std::collections::HashMap;

use crate::decode::{Decoder, Line};
use crate::error::ParseError;
use crate::memory;
use crate::operand::{ACCUMULATORS, Kind, integer};
use crate::program::{Kernel, Location, Parameter, Program, Variable, address_of};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Code,
    Data,
    Other,
}

/// The positions of symbols and labels.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub code: HashMap<String, u32>,
    pub data: HashMap<String, u64>,
}

impl Program {
    /// Decodes assembly that `clang -S` wrote for an AMD GPU.
    ///
    /// # Errors
    /// Fails if the text has no kernel, an instruction is unknown, or a line cannot be read.
    pub fn parse(assembly: &str) -> Result<Program, ParseError> {
        parse(assembly)
    }
}

impl Symbols {
    pub fn address(&self, name: &str) -> Option<u64> {
        let code = self.code.get(name).map(|index| address_of(*index));
        code.or_else(|| self.data.get(name).copied())
    }
}

/// What the compiler writes for a barrier of a wave, which takes no instruction.
const WAVE_BARRIER: &str = "; wave barrier";

/// What the compiler writes behind an instruction that saves a register or loads it again.
const SPILL: &str = "-byte Folded ";

fn parse(assembly: &str) -> Result<Program, ParseError> {
    let mut reader = Reader::default();
    for (number, line) in assembly.lines().enumerate() {
        reader.read(number + 1, line);
    }
    reader.finish()
}

/// What has been read of an assembly text, line by line.
#[derive(Default)]
struct Reader<'a> {
    program: Program,
    symbols: Symbols,
    lines: Vec<Line<'a>>,
    files: HashMap<u32, u16>,
    descriptors: HashMap<String, HashMap<String, i64>>,
    /// The kernel whose descriptor is being read.
    kernel: Option<String>,
    section: Section,
    location: Location,
    /// Lines of metadata while they are being read.
    metadata: Option<Vec<&'a str>>,
    /// Words of the data that hold an address: their offset, a symbol, and what is added to it.
    addresses: Vec<(usize, String, u64)>,
    sizes: HashMap<&'a str, usize>,
    is_after_wave_barrier: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self, number: usize, line: &'a str) {
        if let Some(text) = self.metadata.as_mut() {
            if line.trim() == ".end_amdgpu_metadata" {
                read_metadata(&mut self.program, text);
                self.metadata = None;
            } else {
                text.push(line);
            }
            return;
        }
        let text = without_comment(line).trim();
        if text.is_empty() {
            self.is_after_wave_barrier |= line.trim() == WAVE_BARRIER;
        } else if let Some(label) = label(text) {
            self.read_label(label);
        } else if let Some(directive) = text.strip_prefix('.') {
            let (name, rest) = directive
                .split_once(char::is_whitespace)
                .unwrap_or((directive, ""));
            self.read_directive(name, rest.trim());
        } else if self.section == Section::Code {
            self.lines.push(Line {
                number,
                text,
                location: self.location,
                is_after_wave_barrier: std::mem::take(&mut self.is_after_wave_barrier),
                is_spill: line.contains(SPILL),
            });
        }
    }

    fn read_label(&mut self, label: &str) {
        match self.section {
            Section::Code => {
                let index = self.lines.len() as u32;
                self.symbols.code.insert(label.to_owned(), index);
            }
            Section::Data => {
                let address = memory::DATA_ADDRESS + self.program.data.len() as u64;
                self.symbols.data.insert(label.to_owned(), address);
            }
            Section::Other => {}
        }
    }

    fn read_directive(&mut self, name: &str, rest: &'a str) {
        match name {
            "text" => self.section = Section::Code,
            "section" => self.section = section_of(rest),
            "data" | "bss" => self.section = Section::Data,
            "amdgcn_target" => {
                let target = rest.trim_matches('"');
                let name = target.rsplit("--").next().unwrap_or(target);
                self.program.architecture = name.split(':').next().unwrap_or(name).to_owned();
            }
            "file" => add_file(&mut self.program, &mut self.files, rest),
            "loc" => {
                let mut words = rest.split_whitespace().filter_map(|word| word.parse().ok());
                if let (Some(file), Some(line)) = (words.next(), words.next()) {
                    let file = self.files.get(&file).copied().unwrap_or(0);
                    // Line 0 means that the compiler names no line. The instruction then belongs to the line before it.
                    if line > 0 {
                        self.location = Location { file, line };
                    }
                }
            }
            "size" => {
                if let Some((symbol, Ok(bytes))) = rest
                    .split_once(',')
                    .map(|(symbol, bytes)| (symbol, bytes.trim().parse()))
                {
                    self.sizes.insert(symbol, bytes);
                }
            }
            "amdhsa_kernel" => self.kernel = Some(rest.to_owned()),
            "end_amdhsa_kernel" => self.kernel = None,
            "amdgpu_metadata" => self.metadata = Some(vec![]),
            _ => {
                if let (Some(kernel), Some(name)) = (&self.kernel, name.strip_prefix("amdhsa_")) {
                    let value = rest.parse().unwrap_or(0);
                    let descriptor = self.descriptors.entry(kernel.clone()).or_default();
                    descriptor.insert(name.to_owned(), value);
                } else if self.section == Section::Data {
                    let start = self.program.data.len();
                    add_data(&mut self.program.data, name, rest);
                    if name == "quad" {
                        self.addresses.extend(addresses_in(start, rest));
                    }
                }
            }
        }
    }

    /// Decodes the instructions, now that all symbols are known.
    fn finish(mut self) -> Result<Program, ParseError> {
        let (mut program, lines) = (self.program, self.lines);
        for kernel in &mut program.kernels {
            let entry = self.symbols.code.get(&kernel.name);
            kernel.entry = entry.copied().unwrap_or(u32::MAX);
            kernel.descriptor = self.descriptors.remove(&kernel.name).unwrap_or_default();
        }
        program.kernels.retain(|kernel| {
            (kernel.entry as usize) < lines.len() && matches!(kernel.wave_size, 32 | 64)
        });
        let first = program.kernels.first().ok_or(ParseError::NoKernel)?;
        program.wave_size = first.wave_size;
        program.variables = variables(&self.symbols, &self.sizes);
        for (offset, name, addend) in self.addresses {
            if let (Some(address), Some(place)) = (
                self.symbols.address(&name),
                program.data.get_mut(offset..offset + 8),
            ) {
                place.copy_from_slice(&address.wrapping_add(addend).to_le_bytes());
            }
        }
        let mut decoder = Decoder::new(&program, &self.symbols, lines.len());
        let instructions = lines
            .iter()
            .enumerate()
            .map(|(index, line)| decoder.decode(index as u32, line))
            .collect::<Result<Vec<_>, _>>()?;
        let decoded = decoder.finish();
        if !decoded.got.is_empty() {
            let start = program.data.len().next_multiple_of(8);
            program.data.resize(start, 0);
            program.data.extend(decoded.got);
        }
        program.externals = decoded.externals;
        program.instructions = instructions;
        number_accumulators(&mut program);
        Ok(program)
    }
}

/// Returns the symbols of the data whose sizes are known, in their order.
fn variables(symbols: &Symbols, sizes: &HashMap<&str, usize>) -> Vec<Variable> {
    let sized = symbols.data.iter().filter_map(|(symbol, address)| {
        Some(Variable {
            symbol: symbol.clone(),
            offset: usize::try_from(address - memory::DATA_ADDRESS).ok()?,
            bytes: *sizes.get(&**symbol)?,
        })
    });
    let mut variables: Vec<Variable> = sized.collect();
    variables.sort_by_key(|variable| variable.offset);
    variables
}

/// Numbers the rows of registers: vector registers first, accumulation registers after them.
fn number_accumulators(program: &mut Program) {
    let all = |program: &mut Program, work: &mut dyn FnMut(&mut crate::Operand)| {
        for instruction in &mut program.instructions {
            let second = instruction.special.as_mut().and_then(|s| s.second.as_mut());
            let second = second.into_iter().flat_map(|second| &mut second.operands);
            for operand in instruction.operands.iter_mut().chain(second) {
                if operand.kind == Kind::Vector {
                    work(operand);
                }
            }
        }
    };
    // `v0` holds the work-item number even if no instruction names it.
    let (mut vectors, mut accumulators) = (1, 0);
    all(
        program,
        &mut |operand| match operand.index.checked_sub(ACCUMULATORS) {
            None => vectors = vectors.max(operand.index + operand.width),
            Some(index) => accumulators = accumulators.max(index + operand.width),
        },
    );
    all(program, &mut |operand| {
        if let Some(index) = operand.index.checked_sub(ACCUMULATORS) {
            operand.index = vectors + index;
        }
    });
    (program.vectors, program.accumulators) = (vectors, accumulators);
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ';' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

fn label(text: &str) -> Option<&str> {
    let label = text.strip_suffix(':')?;
    (!label.contains(char::is_whitespace)).then_some(label)
}

fn section_of(rest: &str) -> Section {
    let name = rest.split(',').next().unwrap_or(rest).trim_matches('"');
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if starts(&[".text"]) {
        Section::Code
    } else if starts(&[".rodata", ".data", ".bss"]) {
        Section::Data
    } else {
        Section::Other
    }
}

/// Reads `.file 1 "folder" "name" md5 …`.
fn add_file(program: &mut Program, files: &mut HashMap<u32, u16>, rest: &str) {
    let number = rest.split_whitespace().next().map(str::parse);
    let Some(Ok(number)) = number else {
        return;
    };
    let names: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
    let name = names.get(1).or(names.first()).copied().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    // The compiled file appears twice: as 0, and under another number.
    let known = program.files.iter().position(|file| file == name);
    let index = known.unwrap_or_else(|| {
        program.files.push(name.to_owned());
        program.files.len() - 1
    });
    files.insert(number, index as u16);
}

fn add_data(data: &mut Vec<u8>, directive: &str, rest: &str) {
    let words = || rest.split(',').map(str::trim);
    let first = || {
        words()
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0_usize)
    };
    let mut numbers = |bytes: usize| {
        for word in words() {
            let value = integer(word).unwrap_or(0);
            data.extend(&value.to_le_bytes()[..bytes]);
        }
    };
    match directive {
        "byte" => numbers(1),
        "short" | "value" => numbers(2),
        "long" | "int" => numbers(4),
        "quad" => numbers(8),
        "zero" | "skip" => data.resize(data.len() + first().min(1 << 24), 0),
        "p2align" => data.resize(data.len().next_multiple_of(1 << first().min(12)), 0),
        "asciz" | "ascii" => {
            data.extend(rest.trim_matches('"').bytes());
            data.push(0);
        }
        _ => {}
    }
}

/// Returns the words of `.quad name+8` that are addresses: the offset in the data, the symbol, and what is added.
fn addresses_in(start: usize, rest: &str) -> impl Iterator<Item = (usize, String, u64)> {
    let words = rest.split(',').map(str::trim).enumerate();
    words.filter_map(move |(at, word)| {
        let (name, addend) = word.split_once('+').unwrap_or((word, "0"));
        let is_number = name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        (!is_number).then(|| {
            (
                start + 8 * at,
                name.to_owned(),
                integer(addend).unwrap_or(0),
            )
        })
    })
}

/// Reads the YAML that clang writes, which has one value per line.
fn read_metadata(program: &mut Program, lines: &[&str]) {
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim();
        let (begins, text) = text
            .strip_prefix("- ")
            .map_or((false, text), |text| (true, text));
        let Some((key, value)) = text.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['\'', '"']);
        let size = || value.parse().unwrap_or(0);
        // Items of the first level are kernels; those of the next level are their arguments.
        if begins && indent == 2 && key.starts_with('.') {
            program.kernels.push(Kernel::default());
        }
        let Some(kernel) = program.kernels.last_mut() else {
            continue;
        };
        if indent > 4 {
            if begins {
                kernel.parameters.push(Parameter::default());
            }
            let Some(parameter) = kernel.parameters.last_mut() else {
                continue;
            };
            match key {
                ".offset" => parameter.offset = size(),
                ".size" => parameter.size = size(),
                ".value_kind" => value.clone_into(&mut parameter.kind),
                _ => {}
            }
            continue;
        }
        match key {
            ".name" => value.clone_into(&mut kernel.name),
            ".kernarg_segment_size" => kernel.argument_bytes = size(),
            ".group_segment_fixed_size" => kernel.lds_bytes = size(),
            ".private_segment_fixed_size" => kernel.scratch_bytes = size(),
            ".uses_dynamic_stack" => kernel.dynamic_stack = value == "true",
            ".wavefront_size" => kernel.wave_size = size(),
            ".vgpr_count" => kernel.vector_registers = value.parse().unwrap_or(0),
            ".sgpr_count" => kernel.scalar_registers = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}
