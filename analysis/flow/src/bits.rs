//! Bit sets of small integers: the rows of a matrix in a single allocation.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BitMatrix {
    /// The number of words in a row.
    width: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let width = columns.div_ceil(64);
        Self { width, words: vec![0; rows * width] }
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        self.words.get(row * self.width..(row + 1) * self.width).unwrap_or_default()
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        self.words.get_mut(row * self.width..(row + 1) * self.width).unwrap_or_default()
    }

    /// Adds the members of row `other` to row `row`. Returns whether `row` changed.
    pub(super) fn union_rows(&mut self, row: usize, other: usize) -> bool {
        let mut changed = false;
        for column in 0..self.width {
            let added = self.words[other * self.width + column];
            let word = &mut self.words[row * self.width + column];
            changed |= added & !*word != 0;
            *word |= added;
        }
        changed
    }

    pub(super) fn insert(&mut self, row: usize, column: u32) {
        insert(self.row_mut(row), column);
    }

    pub(super) fn empty_row(&self) -> Vec<u64> {
        vec![0; self.width]
    }
}

pub(super) fn insert(row: &mut [u64], column: u32) {
    if let Some(word) = row.get_mut(column as usize / 64) {
        *word |= 1 << (column % 64);
    }
}

pub(super) fn remove(row: &mut [u64], column: u32) {
    if let Some(word) = row.get_mut(column as usize / 64) {
        *word &= !(1 << (column % 64));
    }
}

pub(super) fn contains(row: &[u64], column: u32) -> bool {
    row.get(column as usize / 64).is_some_and(|word| word & (1 << (column % 64)) != 0)
}

/// Adds the members of `other` to `row`. Returns whether `row` changed.
#[inline]
pub(super) fn union(row: &mut [u64], other: &[u64]) -> bool {
    let mut added = 0;
    for (word, other) in row.iter_mut().zip(other) {
        added |= other & !*word;
        *word |= other;
    }
    added != 0
}

/// Iterates over the members in ascending order.
pub(super) fn iter(row: &[u64]) -> impl Iterator<Item = u32> + Clone + '_ {
    row.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(index as u32 * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_independent_sets() {
        let mut matrix = BitMatrix::new(2, 130);
        for column in [129, 0, 64, 63] {
            matrix.insert(1, column);
        }
        assert_eq!(iter(matrix.row(1)).collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(iter(matrix.row(0)).count(), 0);
        remove(matrix.row_mut(1), 64);
        assert!(!contains(matrix.row(1), 64) && contains(matrix.row(1), 63));
    }

    #[test]
    fn union_returns_whether_it_added_a_member() {
        let mut row = [0b01, 0];
        assert!(union(&mut row, &[0b10, 1]));
        assert!(!union(&mut row, &[0b11, 0]));
        assert_eq!(row, [0b11, 1]);
    }

    #[test]
    fn columns_out_of_range_are_ignored() {
        let mut matrix = BitMatrix::new(0, 0);
        matrix.insert(3, 70);
        assert!(!contains(matrix.row(3), 70));
    }
}
