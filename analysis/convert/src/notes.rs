//! A side table of data about statements, written by one pass and read by another.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, AtomicNodeIndex, HasNodeIndex};

use super::tree;

/// The data of one `if`, `while` or `for`.
#[derive(Clone, Debug, Default)]
pub(super) struct Note {
    /// The flags that end the loop once they are set: `break_`, `do_return`.
    pub(super) stop_flags: Vec<Name>,
    /// The keyword arguments of `set_loop_options`.
    pub(super) loop_options: Vec<ast::Keyword>,
    /// Whether the statement remains a Python statement: see `keep`.
    pub(super) kept: bool,
}

#[derive(Default)]
pub(super) struct Notes {
    notes: RefCell<Vec<Note>>,
    /// Unreachable statements that have been removed. The names that they bind and declare still count for the scopes
    /// of names.
    unreached: RefCell<ast::Suite>,
}

impl Notes {
    /// Updates the note of a statement, and creates it if necessary.
    pub(super) fn add(&self, index: &mut AtomicNodeIndex, write: impl FnOnce(&mut Note)) {
        let mut notes = self.notes.borrow_mut();
        let id = match index.load().as_u32().and_then(|index| index.checked_sub(1)) {
            Some(id) => id,
            None => {
                notes.push(Note::default());
                let id = notes.len() as u32 - 1;
                *index = tree::with_note(id);
                id
            }
        };
        if let Some(note) = notes.get_mut(id as usize) {
            write(note);
        }
    }

    pub(super) fn record_unreached(&self, unreached: impl Iterator<Item = ast::Stmt>) {
        self.unreached.borrow_mut().extend(unreached);
    }

    pub(super) fn take_unreached(&self) -> ast::Suite {
        std::mem::take(&mut self.unreached.borrow_mut())
    }

    pub(super) fn take(&self, node: &impl HasNodeIndex) -> Note {
        let id = tree::note_of(node);
        let mut notes = self.notes.borrow_mut();
        id.and_then(|id| notes.get_mut(id as usize)).map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn stop_flags(&self, node: &impl HasNodeIndex) -> Vec<Name> {
        let id = tree::note_of(node);
        let notes = self.notes.borrow();
        id.and_then(|id| notes.get(id as usize)).map_or_else(Vec::new, |note| note.stop_flags.clone())
    }

    pub(super) fn is_kept(&self, node: &impl HasNodeIndex) -> bool {
        let id = tree::note_of(node);
        id.is_some_and(|id| self.notes.borrow().get(id as usize).is_some_and(|note| note.kept))
    }
}
