//! Device memory and page-locked host memory, freed when dropped.

use std::ptr;
use std::rc::Rc;

use super::handle::DriverState;
use super::interface::Opaque;
use super::{Driver, DriverError, Result};

/// An address in device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// Returns the address `bytes` further on.
    pub fn offset(self, bytes: usize) -> Self {
        Address(self.0 + bytes as u64)
    }
}

/// Numbers that may be copied to and from a device byte by byte.
///
/// # Safety
/// Implement it only for types without padding for which every bit pattern is valid.
pub unsafe trait Plain: Copy + Default {}

macro_rules! plain {
    ($($number:ty),+) => {$(
        // SAFETY: a primitive number has no padding and no invalid bit pattern.
        unsafe impl Plain for $number {}
    )+};
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Returns the bytes of `numbers`.
pub(super) fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: `Plain` has no padding, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Returns the bytes of `numbers` for writing.
pub(super) fn bytes_of_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and all bytes form valid numbers.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// A range of device memory. It is valid while its [`DeviceBuffer`] lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    address: Address,
    bytes: usize,
}

impl Slice {
    pub fn address(&self) -> Address {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the `bytes` bytes from `offset` on.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] if the range reaches past the end.
    pub fn slice(&self, offset: usize, bytes: usize) -> Result<Slice> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => {
                let address = self.address.offset(offset);
                Ok(Slice { address, bytes })
            }
            _ => {
                let (end, all) = (offset.saturating_add(bytes), self.bytes);
                let what = format!("bytes {offset}..{end} of a buffer of {all} bytes");
                Err(DriverError::Invalid(what))
            }
        }
    }
}

/// Device memory, aligned to at least 256 bytes, uninitialised until written.
pub struct DeviceBuffer {
    slice: Slice,
    shared: Rc<DriverState>,
}

impl Driver {
    /// Allocates `bytes` bytes on the device. It is slow and may wait for the device, so allocate once.
    ///
    /// # Errors
    /// [`DriverError::Call`] with the refusal `OutOfMemory` if there is not enough memory; the message has the
    /// requested size.
    pub fn allocate(&self, bytes: usize) -> Result<DeviceBuffer> {
        if bytes == 0 {
            return Err(DriverError::Invalid("a buffer of no bytes".into()));
        }
        let mut address = 0;
        // SAFETY: the pointer to the address is valid for writing.
        unsafe { self.shared.calls.allocate(&mut address, bytes) }
            .map_err(|error| error.during(|| asking_for(bytes)))?;
        let address = Address(address);
        self.shared.accounts.change(|held| held.allocated += bytes);
        Ok(DeviceBuffer {
            slice: Slice { address, bytes },
            shared: Rc::clone(&self.shared),
        })
    }

    /// Allocates page-locked host memory for `count` numbers, all zero.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] for no numbers or too many; [`DriverError::Call`] if there is not enough memory.
    pub fn allocate_pinned<T: Plain>(&self, count: usize) -> Result<Pinned<T>> {
        let bytes = count
            .checked_mul(size_of::<T>())
            .filter(|bytes| *bytes > 0)
            .ok_or_else(|| DriverError::Invalid(format!("{count} numbers of pinned memory")))?;
        let mut pointer: Opaque = ptr::null_mut();
        // SAFETY: the pointer to the address is valid for writing.
        unsafe { self.shared.calls.allocate_pinned(&mut pointer, bytes, 0) }
            .map_err(|error| error.during(|| asking_for(bytes)))?;
        // SAFETY: the driver just allocated these bytes for us.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        self.shared.accounts.change(|held| held.pinned += bytes);
        Ok(Pinned {
            pointer: pointer.cast(),
            count,
            shared: Rc::clone(&self.shared),
        })
    }
}

fn asking_for(bytes: usize) -> String {
    format!("asking for {bytes} bytes")
}

impl DeviceBuffer {
    /// Returns the whole buffer.
    pub fn as_slice(&self) -> Slice {
        self.slice
    }

    pub fn address(&self) -> Address {
        self.slice.address
    }

    pub fn bytes(&self) -> usize {
        self.slice.bytes
    }

    /// See [`Slice::slice`].
    pub fn slice(&self, offset: usize, bytes: usize) -> Result<Slice> {
        self.slice.slice(offset, bytes)
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated by this driver and freed only here.
        let freed = unsafe { self.shared.calls.free(self.slice.address.0) };
        self.shared.note(freed);
        let bytes = self.slice.bytes;
        self.shared.accounts.change(|held| held.allocated -= bytes);
    }
}

/// Page-locked host memory for copies that do not wait, and that a graph may contain.
///
/// The device writes it without the compiler's knowledge, so it is read and written as a whole, by value.
pub struct Pinned<T: Plain> {
    pointer: *mut T,
    count: usize,
    shared: Rc<DriverState>,
}

impl<T: Plain> Pinned<T> {
    pub fn bytes(&self) -> usize {
        self.count * size_of::<T>()
    }

    /// Replaces the content. Copies to the device that are still running may see the old or the new numbers.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] if there are more numbers than room.
    pub fn write(&mut self, numbers: &[T]) -> Result<()> {
        if numbers.len() > self.count {
            let (given, places) = (numbers.len(), self.count);
            let what = format!("{given} numbers for {places} places of pinned memory");
            return Err(DriverError::Invalid(what));
        }
        for (index, number) in numbers.iter().enumerate() {
            // SAFETY: the index is within the count, as just checked.
            unsafe { self.pointer.add(index).write_volatile(*number) };
        }
        Ok(())
    }

    pub(super) fn pointer(&self) -> Opaque {
        self.pointer.cast()
    }
}

impl<T: Plain> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by this driver and freed only here.
        let freed = unsafe { self.shared.calls.free_pinned(self.pointer.cast()) };
        self.shared.note(freed);
        let bytes = self.bytes();
        self.shared.accounts.change(|held| held.pinned -= bytes);
    }
}
