//! The parts of a product that kernels with vectors compute at a time. A tile is a part of the result, and stays in
//! registers; a panel is the part of the right operand `b` that a column of tiles reads.

/// A panel: its address, and the distance of its rows in elements.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) first: *const f32,
    pub(super) stride: usize,
    /// The number of rows.
    pub(super) count: usize,
}

/// A part of a product: its first row and column, and the first row of `b`.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) depth: usize,
}

/// Returns the height of tiles of nearly equal height, at most `most`: a tile with few rows is slow.
pub(super) fn tile_height(rows: usize, most: usize) -> usize {
    rows.div_ceil(rows.div_ceil(most).max(1))
}
