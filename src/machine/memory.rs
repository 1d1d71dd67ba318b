//! Global memory: buffers at addresses far from each other. Every access has to stay inside one buffer.

use crate::core::unsupported;
use crate::error::Fault;
use crate::instruction::Space;
use crate::mistake::Place;
use crate::order::{Order, Use};
use crate::program::{Program, Variable};
use crate::shadow::{Clash, Shadow, UseKind};
use crate::wave::UNWRITTEN;

/// Number of address bits per buffer: buffer `n`, counted from 1, begins at `n << SPAN`.
const SPAN: u32 = 38;

const ARGUMENTS: usize = 0;
const PACKET: usize = 1;
const DATA: usize = 2;

pub(crate) const DATA_ADDRESS: u64 = address_of(DATA);

const fn address_of(index: usize) -> u64 {
    (index as u64 + 1) << SPAN
}

/// Bytes that a kernel reaches through a pointer.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub name: String,
    pub bytes: Vec<u8>,
    read_only: bool,
    is_filled: bool,
    shadow: Option<Shadow>,
}

impl Buffer {
    pub fn words(&self) -> impl Iterator<Item = u32> {
        let (words, _) = self.bytes.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }

    pub fn floats(&self) -> impl Iterator<Item = f32> {
        self.words().map(f32::from_bits)
    }
}

/// Identifies a buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(usize);

/// All buffers that kernels may reach.
#[derive(Clone, Debug)]
pub struct Memory {
    buffers: Vec<Buffer>,
    /// The variables of the module.
    variables: Vec<Variable>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

impl Memory {
    pub fn new() -> Memory {
        let own = [
            "the arguments",
            "the dispatch packet",
            "the constants of the module",
        ];
        let buffers = own.map(|name| Buffer {
            name: name.into(),
            bytes: vec![],
            read_only: name != own[DATA],
            is_filled: true,
            shadow: None,
        });
        Memory {
            buffers: buffers.into(),
            variables: vec![],
        }
    }

    /// Adds a buffer. Faults call it `name`.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> BufferId {
        self.buffers.push(Buffer {
            name: name.into(),
            bytes,
            read_only: false,
            is_filled: true,
            shadow: None,
        });
        BufferId(self.buffers.len() - 1)
    }

    /// Adds a buffer of words that nothing has written. Each holds a NaN that is easy to recognise.
    pub fn add_unwritten(&mut self, name: impl Into<String>, words: usize) -> BufferId {
        let id = self.add_words(name, &vec![UNWRITTEN; words]);
        self.buffers[id.0].is_filled = false;
        id
    }

    pub fn add_words(&mut self, name: impl Into<String>, words: &[u32]) -> BufferId {
        self.add(
            name,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        )
    }

    pub fn add_floats(&mut self, name: impl Into<String>, floats: &[f32]) -> BufferId {
        self.add(
            name,
            floats
                .iter()
                .flat_map(|float| float.to_le_bytes())
                .collect(),
        )
    }

    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }

    /// Returns a pointer to the buffer's first byte.
    pub fn address(&self, id: BufferId) -> u64 {
        address_of(id.0)
    }

    /// Returns the index of the instruction that wrote a word of a buffer last, if launches were checked.
    pub fn writer(&self, id: BufferId, word: usize) -> Option<u32> {
        self.buffers[id.0].shadow.as_ref()?.writer(word)
    }

    /// Returns whether the host or a launch that was checked wrote the word.
    pub fn is_written(&self, id: BufferId, word: usize) -> bool {
        let buffer = &self.buffers[id.0];
        let shadow = buffer.shadow.as_ref();
        shadow.map_or(buffer.is_filled, |shadow| shadow.is_written(word))
    }

    /// Sets the segments of a launch. Variables of the module keep what earlier launches left in them.
    pub(crate) fn prepare(
        &mut self,
        arguments: Vec<u8>,
        packet: Vec<u8>,
        program: &Program,
        is_tracked: bool,
    ) -> [u64; 2] {
        self.buffers[ARGUMENTS].bytes = arguments;
        self.buffers[PACKET].bytes = packet;
        if self.buffers[DATA].bytes.len() != program.data.len() {
            program.data.clone_into(&mut self.buffers[DATA].bytes);
            program.variables.clone_into(&mut self.variables);
        }
        for buffer in self.buffers.iter_mut().filter(|buffer| !buffer.read_only) {
            if is_tracked && buffer.shadow.is_none() {
                buffer.shadow = Some(Shadow::new(buffer.bytes.len(), buffer.is_filled));
            }
        }
        [ARGUMENTS, PACKET].map(address_of)
    }

    /// Returns the index of the buffer that an address belongs to or misses by less than half a span, and the offset.
    #[inline(always)]
    fn find(&self, address: u64) -> Option<(usize, i64)> {
        let below = 1 << (SPAN - 1);
        let index = (address.wrapping_add(below) >> SPAN).wrapping_sub(1) as usize;
        // An address below the first buffer has an index above all.
        (index < self.buffers.len()).then(|| {
            let offset = address.wrapping_sub(address_of(index)).cast_signed();
            (index, offset)
        })
    }

    /// Finds the buffer's index and the offset in it.
    #[inline(always)]
    fn place(
        &self,
        kind: UseKind,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<(usize, usize), Box<Fault>> {
        let Some((index, offset)) = self.find(address) else {
            return Err(Box::new(Fault::Unmapped {
                kind,
                lane,
                address,
                bytes,
            }));
        };
        let length = self.buffers[index].bytes.len();
        let is_outside = offset < 0 || offset as usize + bytes > length;
        if is_outside || (index == DATA && self.leaves_variable(offset as usize, bytes)) {
            let place = self.described(index, offset, bytes);
            return Err(Box::new(Fault::OutOfBounds { kind, place, lane }));
        }
        Ok((index, offset as usize))
    }

    /// Returns the last variable of the module that begins at or before an offset.
    fn variable(&self, offset: usize) -> Option<&Variable> {
        let after = self.variables.partition_point(|one| one.offset <= offset);
        self.variables.get(after.checked_sub(1)?)
    }

    /// Returns whether bytes of the module's data belong to no variable, or to more than one. What lies behind the last
    /// one is the linker's.
    #[cold]
    fn leaves_variable(&self, offset: usize, bytes: usize) -> bool {
        let is_last = |one: &Variable| Some(one) == self.variables.last();
        self.variable(offset).is_some_and(|one| {
            let end = one.offset + one.bytes;
            offset + bytes > end && !(is_last(one) && offset >= end)
        })
    }

    fn described(&self, index: usize, offset: i64, bytes: usize) -> Place {
        let buffer = &self.buffers[index];
        let variable = match (index, usize::try_from(offset)) {
            (DATA, Ok(offset)) => self.variable(offset),
            _ => None,
        };
        let (array, start, length) = match variable {
            Some(variable) => (&variable.symbol, variable.offset, variable.bytes),
            None => (&buffer.name, 0, buffer.bytes.len()),
        };
        Place {
            space: Space::Global,
            array: array.clone(),
            offset: offset - start as i64,
            bytes,
            length,
            element: 4,
        }
    }

    #[inline(always)]
    pub(crate) fn load(
        &self,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<&[u8], Box<Fault>> {
        let (index, offset) = self.place(UseKind::Read, lane, address, bytes)?;
        Ok(&self.buffers[index].bytes[offset..offset + bytes])
    }

    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        kind: UseKind,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<&mut [u8], Box<Fault>> {
        let (index, offset) = self.place(kind, lane, address, bytes)?;
        let buffer = &mut self.buffers[index];
        if buffer.read_only {
            return unsupported(format!("a store of lane {lane} into {}", buffer.name));
        }
        Ok(&mut buffer.bytes[offset..offset + bytes])
    }

    /// Notes a use of bytes that exist. Returns the place and its first clash.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        address: u64,
        bytes: usize,
        kind: UseKind,
        now: &Use,
        order: &Order,
    ) -> Option<(Place, Clash)> {
        let (index, offset) = self.find(address)?;
        let shadow = self.buffers[index].shadow.as_mut()?;
        let (_, clash) = shadow.touch(usize::try_from(offset).ok()?, bytes, kind, now, order)?;
        Some((self.described(index, offset, bytes), clash))
    }

    /// Returns the name of the buffer that an address belongs to, and the offset in it.
    pub fn name(&self, address: u64) -> Option<(&str, u64)> {
        let index = usize::try_from((address >> SPAN).checked_sub(1)?).ok()?;
        let buffer = self.buffers.get(index)?;
        let offset = address - address_of(index);
        match self.variable(offset as usize).filter(|_| index == DATA) {
            Some(variable) => Some((&variable.symbol, offset - variable.offset as u64)),
            None => Some((&buffer.name, offset)),
        }
    }
}
