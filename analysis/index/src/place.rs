//! Places that stay the same while text elsewhere moves.

use ruff_text_size::{TextRange, TextSize};

use crate::index::FileIndex;

/// A place inside a scope: in a function it counts from the `def`, in the module's own code from the
/// start of the statement around it. So an edit inside one function moves no place outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The number of the statement, for module code.
    pub statement: u32,
    pub range: TextRange,
}

impl Place {
    /// A place in a function, from its `def`.
    pub fn in_function(range: TextRange) -> Self {
        Self { statement: 0, range }
    }
}

impl FileIndex {
    /// The place of a range of the file in the scope that it lies in.
    pub fn place(&self, scope: u32, range: TextRange) -> Place {
        let (statement, start) = match self.definitions.functions.get(scope as usize) {
            Some(entry) => (0, entry.range.start()),
            None => {
                let after = self.statements.partition_point(|start| *start <= range.start());
                let statement = after.saturating_sub(1);
                (statement as u32, self.statements.get(statement).copied().unwrap_or_default())
            }
        };
        let start = start.min(range.start());
        Place { statement, range: range.checked_sub(start).unwrap_or(TextRange::empty(TextSize::default())) }
    }
}
