//! Local memory of a workgroup (LDS): its arrays, its bytes, and the last uses of each word.

use crate::error::Fault;
use crate::instruction::Space;
use crate::mistake::Place;
use crate::order::{Order, Use};
use crate::shadow::{Clash, Shadow, UseKind};
use crate::wave::UNWRITTEN;

/// An array in LDS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalArray {
    /// Empty if the launch sets its size.
    pub name: String,
    /// First byte in LDS.
    pub address: usize,
    pub bytes: usize,
    /// Bytes of an element.
    pub element: usize,
}

impl LocalArray {
    /// Returns how many bytes lie between the array and an address.
    fn distance(&self, address: i64) -> i64 {
        let (start, end) = (
            self.address as i64,
            (self.address + self.bytes.max(1)) as i64,
        );
        (start - address).max(address + 1 - end).max(0)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Lds {
    pub bytes: Vec<u8>,
    /// Without any, all of LDS is one array.
    arrays: Vec<LocalArray>,
    shadow: Shadow,
}

impl Lds {
    pub(crate) fn new(bytes: usize, arrays: &[LocalArray]) -> Lds {
        let end = arrays.iter().map(|array| array.address + array.bytes).max();
        let words = end.unwrap_or(bytes).div_ceil(4);
        Lds {
            bytes: (0..words).flat_map(|_| UNWRITTEN.to_le_bytes()).collect(),
            arrays: arrays.to_vec(),
            shadow: Shadow::new(4 * words, false),
        }
    }

    pub fn word(&self, index: usize) -> u32 {
        let word = self.bytes.get(index * 4..index * 4 + 4);
        word.and_then(|word| word.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    /// Returns whether a wave wrote the word.
    pub fn is_written(&self, index: usize) -> bool {
        self.shadow.is_written(index)
    }

    /// Returns the array to which an address belongs, or which it misses by the least.
    pub(crate) fn place(&self, address: usize, bytes: usize) -> Place {
        let at = address as i64;
        let nearest = self.arrays.iter().min_by_key(|array| array.distance(at));
        let (array, start, length, element) = match nearest {
            Some(array) => (
                array.name.clone(),
                array.address,
                array.bytes,
                array.element,
            ),
            None => ("LDS".into(), 0, self.bytes.len(), 4),
        };
        Place {
            space: Space::Lds,
            array,
            offset: at - start as i64,
            bytes,
            length,
            element,
        }
    }

    /// Returns the bytes, if they lie in one array.
    #[inline(always)]
    pub(crate) fn bytes(
        &mut self,
        kind: UseKind,
        lane: usize,
        address: usize,
        bytes: usize,
    ) -> Result<&mut [u8], Box<Fault>> {
        let end = address + bytes;
        let is_inside = match &*self.arrays {
            [] => end <= self.bytes.len(),
            arrays => arrays
                .iter()
                .any(|array| array.address <= address && end <= array.address + array.bytes),
        };
        if !is_inside {
            let place = self.place(address, bytes);
            return Err(Box::new(Fault::OutOfBounds { kind, place, lane }));
        }
        Ok(&mut self.bytes[address..end])
    }

    #[inline]
    pub(crate) fn touch(
        &mut self,
        address: usize,
        bytes: usize,
        kind: UseKind,
        now: &Use,
        order: &Order,
    ) -> Option<(usize, Clash)> {
        self.shadow.touch(address, bytes, kind, now, order)
    }
}
