//! Allocates the buffers of a segment. A buffer is freed after the last use of the values in it.

use rustc_hash::FxHashMap;

use crate::view::BufferId;

const LINE: usize = 64;

#[derive(Debug)]
struct Buffer {
    offset: usize,
    /// The size, with padding to a cache line.
    bytes: usize,
    /// The size without padding.
    used: usize,
    /// The number of its users. A user is a value in the buffer, or a node, branch or loop that needs the buffer.
    users: u32,
}

#[derive(Debug, Default)]
pub(super) struct Arena {
    buffers: Vec<Buffer>,
    /// Offsets of free buffers by size.
    free: FxHashMap<usize, Vec<usize>>,
    bytes: usize,
}

impl Arena {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Allocates a buffer with one user, and returns its offset.
    pub(super) fn allocate(&mut self, bytes: usize) -> (BufferId, usize) {
        let used = bytes;
        let bytes = bytes.div_ceil(LINE) * LINE;
        let offset = self.free.get_mut(&bytes).and_then(Vec::pop).unwrap_or_else(|| {
            self.bytes += bytes;
            self.bytes - bytes
        });
        self.buffers.push(Buffer { offset, bytes, used, users: 1 });
        (BufferId((self.buffers.len() - 1) as u32), offset)
    }

    /// Returns the offset and the bytes of a buffer.
    pub(super) fn extent(&self, id: BufferId) -> (usize, usize) {
        let buffer = &self.buffers[id.0 as usize];
        (buffer.offset, buffer.used)
    }

    pub(super) fn is_free(&self, id: BufferId) -> bool {
        self.buffers[id.0 as usize].users == 0
    }

    pub(super) fn users(&self, id: BufferId) -> u32 {
        self.buffers[id.0 as usize].users
    }

    /// Returns whether the buffer has one user.
    pub(super) fn has_one_user(&self, id: BufferId) -> bool {
        self.buffers[id.0 as usize].users == 1
    }

    /// Returns whether two offsets are or have been in the same buffer.
    pub(super) fn is_same_buffer(&self, a: usize, b: usize) -> bool {
        self.buffers.iter().any(|buffer| {
            let range = buffer.offset..buffer.offset + buffer.bytes;
            range.contains(&a) && range.contains(&b)
        })
    }

    pub(super) fn retain(&mut self, id: BufferId) {
        self.buffers[id.0 as usize].users += 1;
    }

    pub(super) fn release(&mut self, id: BufferId) {
        let buffer = &mut self.buffers[id.0 as usize];
        buffer.users -= 1;
        if buffer.users == 0 {
            self.free.entry(buffer.bytes).or_default().push(buffer.offset);
        }
    }
}
