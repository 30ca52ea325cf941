//! The largest and smallest elements with their indices.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand, Value};

use super::{Item, Lowering, known};
use crate::dtype::Element;
use crate::kernels::selection::{self, MAX_SELECTED, Selection, Ties};
use crate::program::Step;
use crate::view::View;

impl Lowering<'_> {
    /// Lowers operators that select elements.
    pub(super) fn selection_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let outputs = &node.outputs[..];
        match (name, &node.operands[..], outputs) {
            (
                "topk.default",
                [a, Operand::Int(count), Operand::Int(dim), Operand::Bool(is_largest), Operand::Bool(true)],
                [values, indices],
            ) => {
                let count = usize::try_from(*count).ok()?;
                self.selection(a, Some(*dim), *is_largest, count, true, Some(*values), *indices)
            }
            ("max.dim" | "min.dim", [a, Operand::Int(dim), _], [values, indices]) => {
                self.selection(a, Some(*dim), name == "max.dim", 1, false, Some(*values), *indices)
            }
            ("argmax.default" | "argmin.default", [a, dim, _], [indices]) => {
                let dim = match dim {
                    Operand::None => None,
                    Operand::Int(dim) => Some(*dim),
                    _ => return None,
                };
                self.selection(a, dim, name == "argmax.default", 1, false, None, *indices)
            }
            _ => None,
        }
    }

    /// Selects along a dimension, or in the whole tensor.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operator")]
    fn selection(
        &mut self,
        a: &Operand,
        dim: Option<i64>,
        is_largest: bool,
        selected: usize,
        is_topk: bool,
        values: Option<Value>,
        indices: Value,
    ) -> Option<()> {
        let a = self.tensor(a)?;
        let (mut columns, mut inner) = (a.count(), 1);
        if let Some(dim) = dim {
            let dim = dimension(dim, a.rank())?;
            columns = a.sizes[dim];
            inner = a.sizes[dim + 1..].iter().product();
        }
        (1..=columns.min(MAX_SELECTED)).contains(&selected).then_some(())?;
        (inner == 1 || selected == 1).then_some(())?;
        let kernel = selection::kernel(a.element, is_largest)?;
        let rows = a.count() / columns;
        let a = self.as_contiguous(&a)?;
        let (value_places, index_places) = (
            self.result_of(values, a.element, rows * selected)?,
            self.result_of(Some(indices), Element::I64, rows * selected)?,
        );
        let ties = if is_topk { Ties::of_topk(columns, selected) } else { Ties::LowerIndex };
        let selection = Selection { kernel, rows, columns, selected, inner, ties };
        self.program.selections.push(selection);
        let selection = (self.program.selections.len() - 1) as u32;
        let outs = [value_places.place, index_places.place];
        self.step(Step::TopK { selection, outs, a: a.place });
        if let Some(values) = values {
            self.define(values, Item::Tensor(value_places));
        }
        self.define(indices, Item::Tensor(index_places));
        Some(())
    }

    /// Returns memory for a result with `count` elements: that of `value`, or a temporary if `value` is `None`.
    fn result_of(&mut self, value: Option<Value>, element: Element, count: usize) -> Option<View> {
        let Some(value) = value else { return self.allocate(element, &[count]) };
        let (wanted, sizes) = known(self.function.ty(value).tensor()?)?;
        (wanted == element && sizes.iter().product::<usize>() == count).then_some(())?;
        self.allocate(element, &sizes)
    }
}
