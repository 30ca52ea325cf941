//! Locations that are stable under edits elsewhere in the file.

use ruff_text_size::{TextRange, TextSize};

use crate::ids::Code;
use crate::index::FileIndex;

/// A location in a scope. In a function it is relative to the `def`, in module code to the start of the enclosing
/// statement. So an edit inside one function changes no location outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScopeLocation {
    /// The index of the statement in module code.
    pub statement: u32,
    pub range: TextRange,
}

impl ScopeLocation {
    /// Returns a location in a function, relative to its `def`.
    pub fn in_function(range: TextRange) -> Self {
        Self { statement: 0, range }
    }
}

impl FileIndex {
    /// Converts a range of the file to a location in `scope`, which contains it.
    pub fn location(&self, scope: Code, range: TextRange) -> ScopeLocation {
        let (statement, start) = match self.function(scope) {
            Some(entry) => (0, entry.range.start()),
            None => {
                let after = self.statements.partition_point(|start| *start <= range.start());
                let statement = after.saturating_sub(1);
                (statement as u32, self.statements.get(statement).copied().unwrap_or_default())
            }
        };
        let start = start.min(range.start());
        ScopeLocation {
            statement,
            range: range.checked_sub(start).unwrap_or(TextRange::empty(TextSize::default())),
        }
    }
}
