//! `raise` and `assert`. A program that raises an exception stops.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Node, Op, Operand};

use super::Lowering;
use crate::program::Step;

impl Lowering<'_> {
    pub(super) fn raise(&mut self, node: &Node) -> Option<()> {
        if node.op != Op::Assert {
            self.step(Step::Stop);
            return Some(());
        }
        let (condition, Kind::Bool) = self.number(node.operands.first()?)? else { return None };
        let failed = self.next() + 2;
        self.step(Step::JumpIfFalse { condition, to: failed });
        self.step(Step::Jump { to: failed + 1 });
        self.step(Step::Stop);
        Some(())
    }
}

/// Returns the text of an exception: its class, and its message if that is a constant.
pub(super) fn described(class: &str, arguments: &[Operand]) -> Box<str> {
    match arguments {
        [Operand::Str(message)] => format!("{class}: {message}").into(),
        _ => class.into(),
    }
}
