//! Batches loops while a graph is built.

use std::collections::HashMap;

use ag_graph::batching::{Batched, batch};
use ag_graph::ir::{Builder, Node, Op, Operand, Value};

use super::passes::batches_loops;

pub(super) struct LoopBatching {
    /// Whether loops are batched; otherwise only `has_independent_loops` is set.
    applies: bool,
    pub(super) has_independent_loops: bool,
    /// The lists that batched loops have made, and for each a tensor whose rows are its items.
    rows: HashMap<Value, Value>,
}

impl LoopBatching {
    pub(super) fn new(applies: bool) -> Self {
        Self { applies, has_independent_loops: false, rows: HashMap::new() }
    }

    /// Replaces the last node of the innermost region if it is a loop that can be batched, or joins the items of a list that
    /// such a loop has made. Returns the values that replace its results.
    pub(super) fn after_node(&mut self, builder: &mut Builder) -> Option<Vec<Value>> {
        let node = builder.open.last()?.nodes.last()?;
        match &node.op {
            Op::For if batches_loops() => self.after_loop(builder),
            Op::Operator(operator) if !self.rows.is_empty() => {
                let is_stack = match operator.text() {
                    "aten.cat.default" => false,
                    "aten.stack.default" => true,
                    _ => return None,
                };
                self.after_join(builder, is_stack)
            }
            _ => None,
        }
    }

    fn after_loop(&mut self, builder: &mut Builder) -> Option<Vec<Value>> {
        let Builder { values, open, .. } = builder;
        let node = open.last_mut()?.nodes.pop()?;
        let count = values.len();
        let Some(batched) = batch(values, &node, &|value| is_empty_list(open, value)) else {
            open.last_mut()?.nodes.push(node);
            return None;
        };
        self.has_independent_loops = true;
        let innermost = open.last_mut()?;
        if !self.applies {
            values.truncate(count);
            innermost.nodes.push(node);
            return None;
        }
        let Batched { nodes, outputs, rows } = batched;
        innermost.nodes.extend(nodes);
        self.rows.extend(rows);
        Some(outputs)
    }

    /// `torch.cat(items)` and `torch.stack(items)` of items that are rows of one tensor: a view of this tensor. Only the first
    /// of several results is this view, because the program may change one of them in place.
    fn after_join(&mut self, builder: &mut Builder, is_stack: bool) -> Option<Vec<Value>> {
        let Builder { values, open, .. } = builder;
        let node = open.last_mut()?.nodes.last_mut()?;
        let ([Operand::Value(list), Operand::Int(0)], [output]) = (&node.operands[..], &node.outputs[..])
        else {
            return None;
        };
        let sizes = values.get(output.index())?.ty.tensor()?.sizes()?;
        let rows = self.rows.remove(list)?;
        let size = |size: u64| i64::try_from(size).map(Operand::Int).ok();
        let sizes = Operand::List(sizes.into_iter().map(size).collect::<Option<_>>()?);
        let (op, operands) = if is_stack {
            (Op::aten("alias.default"), vec![rows.into()])
        } else {
            (Op::aten("view.default"), vec![rows.into(), sizes])
        };
        *node = Node { op, operands, ..node.clone() };
        None
    }
}

fn is_empty_list(open: &[ag_graph::ir::Region], list: Value) -> bool {
    let nodes = open.iter().flat_map(|region| &region.nodes);
    nodes.rev().any(|node| node.op == Op::ListNew && node.operands.is_empty() && node.outputs == [list])
}
