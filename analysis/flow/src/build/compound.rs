//! Graph of `if`, loops, `with` and `match`.

use ruff_python_ast::{self as ast, ElifElseClause, Expr, Number, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::{Builder, Frame, Jump, Pending, Syntax};
use crate::cfg::{BlockKind, NodeKind, StatementKind, StmtId};

impl<'a> Builder<'a> {
    fn test(&mut self, stmt: StmtId, test: &'a Expr) -> Pending {
        self.branch(NodeKind::Test, stmt, test.range(), Syntax::Evaluate(test))
    }

    pub(super) fn if_(&mut self, node: &'a ast::StmtIf) {
        let end = node.range.end();
        let outer = self.parent;
        let mut chain = vec![self.open(StatementKind::If, node.range)];
        let mut complete = Vec::new();
        let mut otherwise = self.test(chain[0], &node.test);
        self.block(chain[0], BlockKind::Body, &node.body);
        complete.append(&mut self.frontier);
        self.frontier.push(otherwise);
        for clause in &node.elif_else_clauses {
            let inner = chain[chain.len() - 1];
            match clause {
                ElifElseClause { test: Some(test), body, range, .. } => {
                    self.parent = Some(inner);
                    let stmt =
                        self.open(StatementKind::If, TextRange::new(range.start(), end.max(range.end())));
                    chain.push(stmt);
                    otherwise = self.test(stmt, test);
                    self.block(stmt, BlockKind::Body, body);
                    complete.append(&mut self.frontier);
                    self.frontier.push(otherwise);
                }
                ElifElseClause { body, .. } => self.block(inner, BlockKind::Else, body),
            }
        }
        self.parent = outer;
        self.frontier.append(&mut complete);
        let join = self.join(chain[0], node.range);
        for (index, &stmt) in chain.iter().enumerate() {
            if let Some(&elif) = chain.get(index + 1) {
                self.end_block(stmt, BlockKind::Else, elif);
            }
            self.close(stmt, join);
        }
    }

    pub(super) fn while_(&mut self, node: &'a ast::StmtWhile) {
        let stmt = self.open(StatementKind::While, node.range);
        let exhausted = self.test(stmt, &node.test);
        let exhausted = (!is_always_true(&node.test)).then_some(exhausted);
        self.loop_(stmt, node.range, exhausted, None, &node.body, &node.orelse);
    }

    pub(super) fn for_(&mut self, node: &'a ast::StmtFor) {
        let stmt = self.open(StatementKind::For, node.range);
        self.node(NodeKind::Iter, stmt, node.iter.range(), Syntax::Evaluate(&node.iter));
        let exhausted = self.branch(NodeKind::Next, stmt, node.range, Syntax::Next(node));
        // `next()` of the iterator may raise an exception.
        self.raise_from(exhausted.0);
        let target = Syntax::Target(&node.target, &node.iter);
        let target = Some((node.target.range(), target));
        self.loop_(stmt, node.range, Some(exhausted), target, &node.body, &node.orelse);
    }

    /// Builds a loop, except its head.
    fn loop_(
        &mut self,
        stmt: StmtId,
        range: TextRange,
        exhausted: Option<Pending>,
        target: Option<(TextRange, Syntax<'a>)>,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
    ) {
        let Some(&(head, _)) = self.frontier.first() else { return };
        self.frames.push(Frame::Loop { head, breaks: Vec::new() });
        if let Some((range, syntax)) = target {
            self.node(NodeKind::Target, stmt, range, syntax);
        }
        self.block(stmt, BlockKind::Body, body);
        self.jump(Jump::Continue);
        let breaks = match self.frames.pop() {
            Some(Frame::Loop { breaks, .. }) => breaks,
            _ => Vec::new(),
        };
        self.frontier.extend(exhausted);
        if !orelse.is_empty() {
            self.block(stmt, BlockKind::Else, orelse);
        }
        self.frontier.extend(breaks);
        let join = self.join(stmt, range);
        self.close(stmt, join);
    }

    pub(super) fn with(&mut self, node: &'a ast::StmtWith) {
        let stmt = self.open(StatementKind::With, node.range);
        if node.items.is_empty() {
            self.node(NodeKind::Enter, stmt, node.range, Syntax::Nothing);
        }
        for (index, item) in node.items.iter().enumerate() {
            self.node(NodeKind::WithItem(index as u32), stmt, item.range, Syntax::WithItem(item));
        }
        if self.with_may_suppress {
            self.frames.push(Frame::With { suppressed: Vec::new() });
        }
        self.block(stmt, BlockKind::Body, &node.body);
        if self.with_may_suppress
            && let Some(Frame::With { suppressed }) = self.frames.pop()
        {
            self.frontier.extend(suppressed);
        }
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }

    pub(super) fn match_(&mut self, node: &'a ast::StmtMatch) {
        let stmt = self.open(StatementKind::Match, node.range);
        self.node(NodeKind::Subject, stmt, node.subject.range(), Syntax::Evaluate(&node.subject));
        let mut complete = Vec::new();
        for (index, case) in node.cases.iter().enumerate() {
            let index = index as u32;
            let range = case.pattern.range();
            let mut unmatched =
                vec![self.branch(NodeKind::Pattern(index), stmt, range, Syntax::Pattern(&case.pattern))];
            if case.pattern.is_irrefutable() {
                unmatched.clear();
            }
            let capture = Syntax::Capture(&case.pattern, &node.subject);
            self.node(NodeKind::Capture(index), stmt, range, capture);
            if let Some(guard) = &case.guard {
                let syntax = Syntax::Evaluate(guard);
                unmatched.push(self.branch(NodeKind::Guard(index), stmt, guard.range(), syntax));
            }
            self.block(stmt, BlockKind::Case(index), &case.body);
            complete.append(&mut self.frontier);
            self.frontier = unmatched;
        }
        self.frontier.append(&mut complete);
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }
}

/// Returns whether the test is a constant that is true. Control leaves `while True:` only by `break`, `return` or an
/// exception.
fn is_always_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(int) => int.as_i64().is_none_or(|value| value != 0),
            _ => false,
        },
        _ => false,
    }
}
