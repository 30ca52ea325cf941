//! Keeps the tree of the file that a thread indexed last.
//!
//! Trees are large, so the tree of a file that is not open is dropped after indexing. The rules about whole files need
//! the tree, too. They run directly after indexing, within [`while_keeping_tree`], so that each file is parsed only
//! once.

use std::cell::RefCell;
use std::sync::Arc;

use ruff_python_ast::{ModModule, PySourceType};
use ruff_python_parser::Parsed;

/// A tree, with everything that it depends on.
struct Recent {
    text: String,
    source_type: PySourceType,
    tree: Option<Arc<Parsed<ModModule>>>,
}

enum Slot {
    /// No [`while_keeping_tree`] is running, so trees are not kept.
    Closed,
    Open(Option<Recent>),
}

thread_local! {
    static SLOT: RefCell<Slot> = const { RefCell::new(Slot::Closed) };
}

/// Runs `work`. Until it ends, this thread keeps the tree of the file that it indexed last.
pub fn while_keeping_tree<T>(work: impl FnOnce() -> T) -> T {
    /// Drops the tree, even if the work panics.
    struct Close;
    impl Drop for Close {
        fn drop(&mut self) {
            SLOT.set(Slot::Closed);
        }
    }
    SLOT.set(Slot::Open(None));
    let _close = Close;
    work()
}

pub(super) fn keep(text: &str, source_type: PySourceType, tree: Option<Parsed<ModModule>>) {
    SLOT.with_borrow_mut(|slot| {
        if let Slot::Open(recent) = slot {
            *recent = Some(Recent { text: text.to_owned(), source_type, tree: tree.map(Arc::new) });
        }
    });
}

/// Returns the tree of a text; `None` if it is not kept.
pub(super) fn of(text: &str, source_type: PySourceType) -> Option<Arc<Parsed<ModModule>>> {
    SLOT.with_borrow(|slot| match slot {
        Slot::Open(Some(recent)) if recent.source_type == source_type && recent.text == text => {
            recent.tree.clone()
        }
        _ => None,
    })
}
