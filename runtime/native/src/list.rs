//! Lists of tensors that all have the same size at run time, and lists of such lists.
#![allow(unsafe_code, reason = "lists copy tensors by address")]

use crate::segment::Stopped;

/// The maximum size in bytes of a list whose tensors are all missing. With a larger list, the run stops and libtorch
/// runs the nodes: for a missing tensor, Python needs only a pointer, but this tier needs the memory of the tensor.
const MAX_MISSING_BYTES: usize = 1 << 26;

#[derive(Debug, Default)]
pub(crate) struct List {
    /// The elements of its tensors, one tensor after the other, in units of eight bytes.
    pub(crate) data: Vec<u64>,
    /// The memory of the tensors, if it does not belong to this list.
    pub(crate) borrowed: Option<BorrowedMemory>,
    /// The length of the data in bytes.
    pub(crate) bytes: usize,
    /// The size in bytes of the tensors for which the memory of the data was allocated.
    pub(crate) item_bytes: u32,
    /// The items of a list of lists.
    pub(crate) lists: Vec<List>,
    /// Whether each tensor is missing, as in `[None] * n`. Tensors beyond the end of this vector are not missing.
    pub(crate) missing: Vec<bool>,
    /// The number of tensors that are missing.
    pub(crate) missing_count: usize,
}

/// Memory that belongs to a tensor, and contains the items of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BorrowedMemory {
    pub(crate) address: *mut u8,
    pub(crate) bytes: usize,
    /// Whether the memory contains the joined tensor, so that the list must not change it.
    pub(crate) is_read_only: bool,
}

impl Clone for List {
    /// Returns a copy in memory of its own.
    fn clone(&self) -> Self {
        let mut copy = Self {
            data: self.data.clone(),
            borrowed: self.borrowed,
            bytes: self.bytes,
            item_bytes: self.item_bytes,
            lists: self.lists.clone(),
            missing: self.missing.clone(),
            missing_count: self.missing_count,
        };
        copy.own();
        copy
    }
}

impl List {
    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.borrowed = None;
        self.bytes = 0;
        self.lists.clear();
        self.missing.clear();
        self.missing_count = 0;
    }

    /// Returns the offset in bytes of the tensor at an index. Each tensor has `bytes` bytes.
    pub(crate) fn start(&self, index: u64, bytes: usize) -> Result<usize, Stopped> {
        let index = position(index, self.bytes / bytes)?;
        if self.missing_count > 0 && self.missing.get(index) == Some(&true) {
            Err(Stopped)
        } else {
            Ok(index * bytes)
        }
    }

    /// Fills an empty list with tensors that are missing.
    pub(crate) fn fill_missing(&mut self, count: i64, bytes: usize) -> Result<(), Stopped> {
        let count = usize::try_from(count.max(0)).map_err(|_| Stopped)?;
        self.bytes = count.checked_mul(bytes).filter(|bytes| *bytes <= MAX_MISSING_BYTES).ok_or(Stopped)?;
        self.data.resize(self.bytes.div_ceil(8), 0);
        self.missing.resize(count, true);
        self.missing_count = count;
        Ok(())
    }

    /// Returns the offset of a tensor that will be written. Marks it as no longer missing.
    pub(crate) fn mark_present(&mut self, index: u64, bytes: usize) -> Result<usize, Stopped> {
        let index = position(index, self.bytes / bytes)?;
        if self.missing_count > 0 && self.missing.get(index) == Some(&true) {
            self.missing[index] = false;
            self.missing_count -= 1;
        }
        Ok(index * bytes)
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.borrowed.map_or_else(|| self.data.as_ptr().cast(), |borrowed| borrowed.address.cast_const())
    }

    pub(crate) fn address_mut(&mut self) -> *mut u8 {
        self.borrowed.map_or_else(|| self.data.as_mut_ptr().cast(), |borrowed| borrowed.address)
    }

    /// Returns the address for changes of the items.
    pub(crate) fn writable(&mut self) -> *mut u8 {
        if self.borrowed.is_some_and(|borrowed| borrowed.is_read_only) {
            self.own();
        }
        self.address_mut()
    }

    /// Copies the tensors to memory of the list.
    pub(crate) fn own(&mut self) {
        if let Some(borrowed) = self.borrowed.take() {
            let bytes = std::mem::take(&mut self.bytes);
            self.data.clear();
            // SAFETY: the borrowed memory contains the tensors.
            unsafe { self.push(borrowed.address, bytes) };
        }
    }

    /// Returns whether this list, or a list in it, is in this memory.
    pub(crate) fn is_in(&self, address: *mut u8) -> bool {
        self.borrowed.is_some_and(|borrowed| borrowed.address == address)
            || self.lists.iter().any(|list| list.is_in(address))
    }

    /// # Safety
    /// `from` must be valid for `bytes` bytes outside of this list.
    pub(crate) unsafe fn push(&mut self, from: *const u8, bytes: usize) {
        let end = self.bytes + bytes;
        if let Some(borrowed) = self.borrowed {
            if end <= borrowed.bytes && !borrowed.is_read_only {
                // SAFETY: the memory is valid for this number of bytes. The caller guarantees the source.
                unsafe { from.copy_to_nonoverlapping(borrowed.address.add(self.bytes), bytes) };
                self.bytes = end;
                return;
            }
            self.own();
        }
        let (length, words) = (self.data.len(), end.div_ceil(8));
        if words > self.data.capacity() {
            self.data.reserve(words);
        }
        // SAFETY: the data has the capacity; its last word is initialized here, and the copied tensor initializes the
        // other words. The caller guarantees the source.
        unsafe {
            if words > length {
                self.data.as_mut_ptr().add(words - 1).write(0);
            }
            from.copy_to_nonoverlapping(self.address_mut().add(self.bytes), bytes);
            self.data.set_len(words.max(length));
        }
        self.bytes = end;
    }
}

/// Returns the position of a list item. As in Python, negative indices count from the end.
pub(crate) fn position(index: u64, length: usize) -> Result<usize, Stopped> {
    let index = index.cast_signed();
    let index = if index < 0 { index.checked_add(length as i64).ok_or(Stopped)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length).ok_or(Stopped)
}
