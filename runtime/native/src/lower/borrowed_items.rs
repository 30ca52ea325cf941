//! Pass: reads items of lists without copying them.
//!
//! The place of a *borrowed* item is an address in the memory of the list. Before a step changes that list, and before
//! a branch or a loop, the borrowed items that are used later are *returned*: each is copied to memory of its own. So a
//! borrowed item is used only in the region that read it, and only while the list is unchanged.

use ag_graph::ir::Value;

use super::lists::ListItem;
use super::{Item, Lowering};
use crate::pass::Pass;
use crate::program::{ListRegister, Number, Step};
use crate::view::{Place, View, contiguous};

/// The minimum size of a borrowed item. Copying a smaller item costs no more than computing its address.
const MIN_BYTES: u32 = 256;

impl Lowering<'_> {
    /// Borrows an item of a list of tensors. `None` outside of loops and branches, where values may leave the segment,
    /// so they must be copied.
    pub(super) fn borrow_item(&mut self, list: ListRegister, item: &ListItem, index: Number) -> Option<View> {
        self.borrow(list, item, |base, bytes| Step::Borrow { base, list, index, bytes })
    }

    /// Removes the last item of a list, and borrows it.
    pub(super) fn borrow_last(&mut self, list: ListRegister, item: &ListItem) -> Option<View> {
        self.borrow(list, item, |base, bytes| Step::BorrowLast { base, list, bytes })
    }

    fn borrow(
        &mut self,
        list: ListRegister,
        item: &ListItem,
        step: impl FnOnce(u32, u32) -> Step,
    ) -> Option<View> {
        self.options.passes.has(Pass::BorrowedItems).then_some(())?;
        let bytes = item.bytes().filter(|bytes| *bytes >= MIN_BYTES && self.depth > 0)?;
        let ListItem::Tensor(element, sizes) = item else { return None };
        let base = self.new_base();
        self.step(step(base, bytes));
        self.borrowed.insert(base, list);
        self.fired.count(Pass::BorrowedItems);
        Some(View {
            place: Place { base, offset: 0 },
            element: *element,
            sizes: sizes.clone(),
            strides: contiguous(sizes),
            buffer: None,
            has_torch_layout: true,
        })
    }

    pub(super) fn is_borrowed(&self, view: &View) -> bool {
        self.borrowed.contains_key(&view.place.base)
    }

    /// Returns the borrowed items of a list (of all lists, if `list` is `None`): copies those that are used later.
    pub(super) fn return_items(&mut self, list: Option<ListRegister>) -> Option<()> {
        let is_returned =
            |base: u32| self.borrowed.get(&base).is_some_and(|from| list.is_none_or(|list| list == *from));
        let mut values: Vec<(Value, View, usize)> = Vec::new();
        for value in &self.borrowers {
            if let Some((Item::Tensor(view), depth)) = self.items.get(value)
                && is_returned(view.place.base)
            {
                values.push((*value, view.clone(), *depth));
            }
        }
        for (value, view, depth) in values {
            let mut copy = self.allocate(view.element, &view.sizes)?;
            copy.has_torch_layout = view.has_torch_layout && view.is_contiguous();
            self.copy(&copy, &view)?;
            self.define(value, Item::Tensor(copy));
            if let Some(item) = self.items.get_mut(&value) {
                item.1 = depth;
            }
            self.borrowers.retain(|borrower| *borrower != value);
        }
        Some(())
    }
}
