//! Global memory: buffers at addresses far from each other. Every access has to stay inside one buffer.

use crate::core::unsupported;
use crate::error::Fault;

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
    pub(crate) read_only: bool,
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
        });
        Memory {
            buffers: buffers.into(),
        }
    }

    /// Adds a buffer. Faults call it `name`.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> BufferId {
        self.buffers.push(Buffer {
            name: name.into(),
            bytes,
            read_only: false,
        });
        BufferId(self.buffers.len() - 1)
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

    pub(crate) fn prepare(&mut self, arguments: Vec<u8>, packet: Vec<u8>, data: &[u8]) -> [u64; 2] {
        self.buffers[ARGUMENTS].bytes = arguments;
        self.buffers[PACKET].bytes = packet;
        data.clone_into(&mut self.buffers[DATA].bytes);
        [ARGUMENTS, PACKET].map(address_of)
    }

    /// Finds the buffer's index and the offset in it.
    #[inline(always)]
    fn place(
        &self,
        what: &'static str,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<(usize, usize), Box<Fault>> {
        // An address slightly below a buffer belongs to it.
        let below = 1 << (SPAN - 1);
        let index = (address.wrapping_add(below) >> SPAN).wrapping_sub(1) as usize;
        let Some(buffer) = self.buffers.get(index) else {
            return Err(Box::new(Fault::Unmapped {
                what,
                lane,
                address,
                bytes,
            }));
        };
        let offset = address.wrapping_sub(address_of(index)).cast_signed();
        let length = buffer.bytes.len();
        if offset < 0 || offset as usize + bytes > length {
            let sizes = [length, bytes];
            return Err(Fault::out_of_bounds(
                what,
                &buffer.name,
                lane,
                offset,
                sizes,
            ));
        }
        Ok((index, offset as usize))
    }

    #[inline(always)]
    pub(crate) fn load(
        &self,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<&[u8], Box<Fault>> {
        let (index, offset) = self.place("a load", lane, address, bytes)?;
        Ok(&self.buffers[index].bytes[offset..offset + bytes])
    }

    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<&mut [u8], Box<Fault>> {
        let (index, offset) = self.place("a store", lane, address, bytes)?;
        let buffer = &mut self.buffers[index];
        if buffer.read_only {
            return unsupported(format!("a store of lane {lane} into {}", buffer.name));
        }
        Ok(&mut buffer.bytes[offset..offset + bytes])
    }

    /// Returns the name of the buffer that an address belongs to, and the offset in it.
    pub fn name(&self, address: u64) -> Option<(&str, u64)> {
        let index = usize::try_from((address >> SPAN).checked_sub(1)?).ok()?;
        let buffer = self.buffers.get(index)?;
        Some((&buffer.name, address - address_of(index)))
    }
}
