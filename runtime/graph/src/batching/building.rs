//! Batches the loops that a builder emits.

use std::collections::HashMap;

use super::{Batched, batch, size_list};
use crate::ir::build::Builder;
use crate::ir::graph::{Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

/// The treatment of loops whose iterations are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Ignore,
    /// The loops stay as they are. [`LoopBatching::found`] is set if there is one.
    Find,
    Batch,
}

/// The state of loop batching while a function is built.
#[derive(Debug)]
pub struct LoopBatching {
    mode: Mode,
    /// Whether there is a loop whose iterations are independent.
    pub found: bool,
    /// The lists that batched loops have made, each with a tensor whose rows are its items.
    rows: HashMap<Value, Value>,
}

impl LoopBatching {
    pub fn new(mode: Mode) -> Self {
        Self { mode, found: false, rows: HashMap::new() }
    }

    /// Replaces the last node of the innermost region if it is a loop that can be batched, or if it joins the items of a
    /// list that such a loop has made. Returns the values that replace its results, if they change.
    pub fn after_node(&mut self, builder: &mut Builder) -> Option<Vec<Value>> {
        match &builder.open.last()?.nodes.last()?.op {
            Op::For if self.mode != Mode::Ignore => self.after_loop(builder),
            Op::Operator(_) if !self.rows.is_empty() => {
                self.after_join(builder);
                None
            }
            _ => None,
        }
    }

    fn after_loop(&mut self, builder: &mut Builder) -> Option<Vec<Value>> {
        let Builder { values, open, .. } = builder;
        let node = open.last_mut()?.nodes.pop()?;
        let count = values.len();
        let batched = batch(values, &node, &|value| is_empty_list(open, value));
        self.found |= batched.is_some();
        let innermost = open.last_mut()?;
        match batched.filter(|_| self.mode == Mode::Batch) {
            Some(Batched { nodes, outputs, rows }) => {
                innermost.nodes.extend(nodes);
                self.rows.extend(rows);
                Some(outputs)
            }
            None => {
                values.truncate(count);
                innermost.nodes.push(node);
                None
            }
        }
    }

    /// `torch.cat(items)` and `torch.stack(items)` of items that are rows of one tensor: a view of this tensor. Only the first
    /// of several results is this view, because the program may change one of them in place.
    fn after_join(&mut self, builder: &mut Builder) -> Option<()> {
        let node = builder.open.last_mut()?.nodes.last_mut()?;
        let Op::Operator(operator) = &node.op else { return None };
        if !matches!(operator.text(), "aten.cat.default" | "aten.stack.default") {
            return None;
        }
        let ([Operand::Value(list), Operand::Int(0)], [output]) = (&node.operands[..], &node.outputs[..])
        else {
            return None;
        };
        let sizes = builder.values.get(output.index())?.ty.tensor()?.sizes()?;
        let rows = self.rows.remove(list)?;
        (node.op, node.operands) = (Op::aten("view.default"), vec![rows.into(), size_list(&sizes)]);
        Some(())
    }
}

fn is_empty_list(open: &[Region], list: Value) -> bool {
    let nodes = open.iter().flat_map(|region| &region.nodes);
    nodes.rev().any(|node| node.op == Op::ListNew && node.operands.is_empty() && node.outputs == [list])
}
