//! Lists of tensors that all have the same shape, and lists of such lists. A node changes a list in place if this is
//! the last use of the list.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Node, Op, Operand, Type, Value};
use ag_graph::liveness::NodeLife;

use super::{Item, Lowering, known};
use crate::dtype::Element;
use crate::program::{ListRegister, Number, Step};
use crate::view::{Place, View};

/// The type of the items of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListItem {
    Tensor(Element, Vec<usize>),
    List(Box<ListItem>),
}

impl ListItem {
    /// Returns the items of a list type, if they are supported.
    pub(super) fn of_list(list: &Type) -> Option<Self> {
        let Type::List(item) = list else { return None };
        match &**item {
            Type::Tensor(tensor) => {
                let (element, sizes) = known(tensor)?;
                (sizes.iter().product::<usize>() > 0).then_some(Self::Tensor(element, sizes))
            }
            nested @ Type::List(_) => Some(Self::List(Box::new(Self::of_list(nested)?))),
            _ => None,
        }
    }

    /// Returns the bytes of an item, unless it is a list.
    pub(super) fn bytes(&self) -> Option<u32> {
        match self {
            Self::Tensor(element, sizes) => Some((sizes.iter().product::<usize>() * element.size()) as u32),
            Self::List(_) => None,
        }
    }
}

impl Lowering<'_> {
    /// Lowers an operation on lists.
    pub(super) fn list(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        let operands = &node.operands[..];
        match (&node.op, operands) {
            (Op::ListNew, items) => {
                let item = ListItem::of_list(self.function.ty(node.outputs[0]))?;
                let list = self.new_list();
                self.step(Step::NewList { out: list, bytes: item.bytes().unwrap_or(0) });
                self.note_new_list(list);
                for operand in items {
                    // A list that occurs twice, as in `[row, row]`, cannot be moved.
                    let is_once = items.iter().filter(|item| *item == operand).count() == 1;
                    self.push(list, &item, operand, is_once && is_last_use(operand, &life.operands))?;
                }
                self.define(node.outputs[0], Item::List(list, item));
            }
            (Op::ListFilled, [length, operand]) => {
                let item = ListItem::of_list(self.function.ty(node.outputs[0]))?;
                let count = self.number(length)?.0;
                if *operand == Operand::None {
                    let (list, bytes) = (self.new_list(), item.bytes()?);
                    self.step(Step::FillMissing { list, count, bytes });
                    self.define(node.outputs[0], Item::List(list, item));
                    return Some(());
                }
                let view = self.list_tensor(&item, operand)?;
                let list = self.new_list();
                let bytes = (view.count() * view.element.size()) as u32;
                self.step(Step::Repeat { list, count, a: view.place, bytes });
                self.define(node.outputs[0], Item::List(list, item));
            }
            (Op::ListAppend, [list, operand]) => {
                (list != operand).then_some(())?;
                let (list, item) = self.changed(list, life)?;
                self.push(list, &item, operand, is_last_use(operand, &life.operands))?;
                self.define(node.outputs[0], Item::List(list, item));
            }
            (Op::ListGet, [list, index]) => {
                let (list, item) = self.known_list(list.value()?)?;
                let index = self.number(index)?.0;
                if let Some(view) = self.borrow_item(list, &item, index) {
                    self.define(node.outputs[0], Item::Tensor(view));
                    return Some(());
                }
                let out = self.item(&item, |step, out| match step {
                    ItemStep::Tensor(bytes) => Step::Get { out: out.0, list, index, bytes },
                    ItemStep::List => Step::GetList { out: out.1, list, index },
                })?;
                self.define(node.outputs[0], out);
            }
            (Op::ListPop, [list, index]) => {
                let index = self.number(index)?.0;
                let (list, item) = self.changed(list, life)?;
                let last =
                    (index == Number::Const(u64::MAX)).then(|| self.borrow_last(list, &item)).flatten();
                if let (Some(view), [rest, popped]) = (last, &node.outputs[..]) {
                    self.define(*rest, Item::List(list, item));
                    self.define(*popped, Item::Tensor(view));
                    return Some(());
                }
                let out = self.item(&item, |step, out| match step {
                    ItemStep::Tensor(bytes) => Step::Pop { out: out.0, list, index, bytes },
                    ItemStep::List => Step::PopList { out: out.1, list, index },
                })?;
                let [rest, popped] = node.outputs[..] else { return None };
                self.define(rest, Item::List(list, item));
                self.define(popped, out);
            }
            (Op::ListSet, [list, index, operand]) => {
                let index = self.number(index)?.0;
                let (list, item) = self.changed(list, life)?;
                let ListItem::Tensor(..) = item else { return None };
                let view = self.list_tensor(&item, operand)?;
                let bytes = (view.count() * view.element.size()) as u32;
                self.step(Step::Set { list, index, a: view.place, bytes });
                self.define(node.outputs[0], Item::List(list, item));
            }
            (Op::ListLen, [list]) => {
                let (list, item) = self.known_list(list.value()?)?;
                let out = self.new_register();
                self.step(match item.bytes() {
                    Some(bytes) => Step::Length { out, list, bytes },
                    None => Step::LengthOfLists { out, list },
                });
                let number = Item::Number(Number::Register(out), Kind::Int);
                self.define(node.outputs[0], number);
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the register and the items of a list of the segment.
    pub(super) fn known_list(&self, value: Value) -> Option<(ListRegister, ListItem)> {
        match self.items.get(&value)? {
            (Item::List(list, item), _) => Some((*list, item.clone())),
            _ => None,
        }
    }

    /// Returns a list that the node may change: the list itself if this is its last use, or a copy.
    fn changed(&mut self, operand: &Operand, life: &NodeLife) -> Option<(ListRegister, ListItem)> {
        let value = operand.value()?;
        let (list, item) = self.known_list(value)?;
        match item {
            ListItem::Tensor(..) => self.return_items(Some(list))?,
            // A list that is moved out of another list may contain borrowed items.
            ListItem::List(_) => self.return_items(None)?,
        }
        if life.operands.contains(&value) {
            return Some((list, item));
        }
        let out = self.new_list();
        self.step(Step::MoveList { out, a: list, is_last: false });
        Some((out, item))
    }

    fn push(&mut self, list: ListRegister, item: &ListItem, operand: &Operand, is_last: bool) -> Option<()> {
        match item {
            ListItem::Tensor(..) => {
                let view = self.list_tensor(item, operand)?;
                let bytes = (view.count() * view.element.size()) as u32;
                self.step(Step::Push { list, a: view.place, bytes });
            }
            ListItem::List(inner) => {
                let (pushed, found) = self.known_list(operand.value()?)?;
                (found == **inner).then_some(())?;
                self.step(Step::PushList { list, item: pushed, is_last });
            }
        }
        Some(())
    }

    /// Returns a contiguous tensor of the type of the items.
    fn list_tensor(&mut self, item: &ListItem, operand: &Operand) -> Option<View> {
        let ListItem::Tensor(element, sizes) = item else { return None };
        let view = self.tensor(operand)?;
        (view.element == *element && view.sizes == *sizes).then_some(())?;
        self.as_contiguous(&view)
    }

    /// Emits the step that reads an item, and returns the item.
    fn item(
        &mut self,
        item: &ListItem,
        step: impl FnOnce(ItemStep, (Place, ListRegister)) -> Step,
    ) -> Option<Item> {
        let nowhere = Place { base: 0, offset: 0 };
        Some(match item {
            ListItem::Tensor(element, sizes) => {
                let out = self.allocate(*element, sizes)?;
                let bytes = (out.count() * element.size()) as u32;
                self.step(step(ItemStep::Tensor(bytes), (out.place, ListRegister(0))));
                Item::Tensor(out)
            }
            ListItem::List(inner) => {
                let out = self.new_list();
                self.step(step(ItemStep::List, (nowhere, out)));
                Item::List(out, (**inner).clone())
            }
        })
    }
}

/// Returns whether an operand is a value that dies at the node.
pub(super) fn is_last_use(operand: &Operand, dies: &[Value]) -> bool {
    operand.value().is_some_and(|value| dies.contains(&value))
}

/// The kind of item that a step reads: a tensor of this many bytes, or a list.
enum ItemStep {
    Tensor(u32),
    List,
}
